//! `JSONAllValues`: the values of JSON objects as text.

use crate::conversion::cast::cast_column;
use crate::lists::list;
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector, json};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "JSONAllValues",
        summary: "The values of a JSON object as text, in the order of their paths.",
        syntax: "JSONAllValues(json)",
        examples: &[Example {
            sql: "SELECT JSONAllValues('{\"b\":1,\"a\":{\"c\":\"x\"}}'::JSON)",
            result: "['x','1']",
        }],
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            matches!(args[0].ty.without_nullable(), DataType::Json(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} requires argument with type JSON, got: {}",
            args[0].ty
        );
        Ok(DataType::String.array().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (mut values, mut offsets) = (StringBuilder::default(), vec![0i64]);
        let vector = call.vector(0);
        for (row, object) in vector.strings()?.iter().enumerate() {
            if !vector.is_null(row) {
                let entries = json::entries(object)?;
                entries.iter().for_each(|(_, value)| values.push(value));
            }
            offsets.push(values.len() as i64);
        }
        let values = Column::Flat(Vector::from(values.finish()));
        let texts = cast_column(&values, &DataType::DYNAMIC, &DataType::String, call.ctx)?;
        Ok(list(offsets, texts.into_flat()).into())
    },
};
