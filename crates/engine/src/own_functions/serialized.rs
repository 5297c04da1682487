//! `blockSerializedSize`, `getTypeSerializationStreams`: how columns are written where the kernel keeps them.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_formats::native::{serialized_size, streams};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes, Volatility,
};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};

const BASE: Record = Record {
    nulls: Nulls::Seen,
    several_types: SeveralTypes::Seen,
    dictionaries: Dictionaries::Decoded,
    ..Record::DEFAULT
};

pub static SIZE: Plain = Plain {
    record: Record {
        name: "blockSerializedSize",
        summary: "How many bytes the values of the block's columns take when they are written without compression.",
        syntax: "blockSerializedSize(x, ...)",
        examples: &[Example { sql: "SELECT blockSerializedSize(toUInt32(1), 'abc')", result: "8" }],
        volatility: Volatility::PerRow,
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        ensure!(
            args.iter().all(|arg| !arg.is_lambda),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} can't have lambda-expressions as arguments"
        );
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| {
        let columns = call.args.iter().map(|arg| serialized_size(arg.ty, &arg.vector));
        let bytes: u64 = columns.sum::<Result<u64>>()?;
        Ok(Column::constant(Vector::from(vec![bytes]), call.n_rows))
    },
};

pub static STREAMS: Plain = Plain {
    record: Record {
        name: "getTypeSerializationStreams",
        summary: "The streams that values of a type are written to, of the type of the argument or of the one that a constant text names.",
        syntax: "getTypeSerializationStreams(x)",
        examples: &[Example {
            sql: "SELECT getTypeSerializationStreams('Nullable(UInt8)')",
            result: "['{NullMap}','{NullableElements, Regular}']",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        check_arity(name, args.len(), 1..=1)?;
        let named =
            args[0].constant.as_ref().filter(|_| args[0].ty == DataType::String).and_then(Value::as_str);
        let ty = named.map_or_else(|| Ok(args[0].ty.clone()), str::parse)?;
        let list = streams(&ty).into_iter().map(Value::string).collect();
        let result = DataType::String.array();
        let is_null = matches!(args[0].ty.bare(), DataType::Nothing) && args[0].ty != DataType::Nothing;
        if is_null {
            return Ok(Bound::with_state(DataType::Nothing.nullable(), Listed(Value::Null)));
        }
        Ok(Bound::with_state(result, Listed(Value::Array(list))))
    },
    execute: |call: &Call| {
        let Listed(list) = call.state()?;
        Ok(Column::constant(Vector::of_value(list, call.result)?, call.n_rows))
    },
};

struct Listed(Value);
