//! `dumpColumnStructure`: how a value is held, with the numbers of rows.

use super::types::column_name;
use crate::ids::ids;
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::{DataType, Value};
use std::collections::HashSet;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "dumpColumnStructure",
        several_types: SeveralTypes::Seen,
        summary: "The type of the argument and the representation of its column in the kernel's terms, with numbers of rows.",
        syntax: "dumpColumnStructure(x)",
        examples: &[Example {
            sql: "SELECT dumpColumnStructure('a')",
            result: "String, Const(size = 1, String(size = 1))",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::InTypes,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct IsConstant(bool);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    Ok(Bound::with_state(DataType::String, IsConstant(args[0].constant.is_some())))
}

fn execute(call: &Call) -> Result<Column> {
    let IsConstant(constant) = *call.state()?;
    let (ty, vector) = (call.args[0].ty, call.vector(0));
    let structure = if constant && !vector.is_empty() {
        format!("Const(size = {}, {})", call.n_rows, structure(ty, &vector.slice(0, 1)))
    } else {
        structure(ty, vector)
    };
    let value = Vector::of_value(&Value::string(format!("{ty}, {structure}")), &DataType::String)?;
    Ok(Column::constant(value, call.n_rows))
}

/// The kernel's description of a column: numbers and texts by their width, containers with what they hold.
fn structure(ty: &DataType, vector: &Vector) -> String {
    let n = vector.len();
    match (ty, &vector.data) {
        (DataType::LowCardinality(inner), _) => {
            // The kernel's dictionaries begin with the default, behind NULL where there may be one.
            let plain = Vector::new(vector.data.clone(), None);
            let default = Vector::defaults(inner.without_nullable(), 1);
            let numbers = ids(&Vector::concat(&[&default, &plain]));
            let rows = (0..n).filter(|&row| !vector.is_null(row)).map(|row| numbers[row + 1]);
            let values: HashSet<u64> = rows.filter(|number| *number != numbers[0]).collect();
            let size = values.len() + 1 + usize::from(inner.is_nullable());
            let index = match size {
                0..=0x100 => "UInt8",
                0x101..=0x1_0000 => "UInt16",
                _ => "UInt32",
            };
            let held = column_name(inner.without_nullable());
            let unique = format!("Unique(size = {size}, {}(size = {size}))", bare_name(&held));
            format!("LowCardinality(size = {n}, {index}(size = {n}), {unique})")
        }
        (DataType::Nullable(inner), _) => {
            format!("Nullable(size = {n}, {}, UInt8(size = {n}))", structure(inner, vector))
        }
        (DataType::Array(inner), Data::List(list)) => {
            let list = list.normalised();
            format!("Array(size = {n}, UInt64(size = {n}), {})", structure(inner, &list.values))
        }
        (DataType::Map(key, value), Data::List(list)) => {
            let pair = DataType::tuple([key.as_ref().clone(), value.as_ref().clone()]);
            let pairs = structure(&pair, &list.normalised().values);
            format!("Map(size = {n}, Array(size = {n}, UInt64(size = {n}), {pairs}))")
        }
        (DataType::Tuple(fields), Data::Struct(tuple)) => {
            let parts = fields.iter().zip(&tuple.fields).map(|(field, part)| structure(&field.ty, part));
            format!("Tuple(size = {n}, {})", parts.collect::<Vec<_>>().join(", "))
        }
        (DataType::QBit(vectors), _) => {
            let plane = format!("FixedString(size = {n})");
            format!("QBit(size = {n}, Tuple(size = {n}, {}))", vec![plane; vectors.planes()].join(", "))
        }
        _ => format!("{}(size = {n})", bare_name(&column_name(ty))),
    }
}

/// `FixedString` of `FixedString(2)`.
fn bare_name(name: &str) -> &str {
    name.split_once('(').map_or(name, |(bare, _)| bare)
}
