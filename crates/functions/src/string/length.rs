//! `length`: bytes of a string, elements of an array or a map.

use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "length",
    aliases: &["OCTET_LENGTH", "CARDINALITY"],
    case_insensitive: true,
    summary: "The length of a string in bytes, or the number of elements of an array, a map or a QBit.",
    syntax: "length(x)",
    examples: &[Example {
        sql: "SELECT length('añb'), length([1, 2]), length(map(1, 2))",
        result: "4\t2\t1",
    }],
    total: true,
    only_length: true,
    ..Record::DEFAULT
};

pub struct Length;

impl ScalarFunction for Length {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        match &args[0].ty {
            DataType::String
            | DataType::FixedString(_)
            | DataType::Array(_)
            | DataType::Map(..)
            | DataType::QBit(_) => Ok(DataType::UInt64.into()),
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function length"),
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        if let DataType::QBit(vectors) = call.args[0].ty {
            return Ok(Vector::from(vec![vectors.dimension() as u64; call.n_rows]).into());
        }
        let lengths: Vec<u64> = match &call.vector(0).data {
            // The low 32 bits of a view are the length.
            Data::Str(strings) => strings.views().iter().map(|view| u64::from(*view as u32)).collect(),
            Data::Fixed(fixed) => vec![fixed.width as u64; call.n_rows],
            _ => call.vector(0).list()?.ranges().map(|range| range.len() as u64).collect(),
        };
        Ok(Vector::from(lengths).into())
    }
}
