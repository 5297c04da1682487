//! `pi`, `e`.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const PI: Record = Record {
    name: "pi",
    case_insensitive: true,
    summary: "The ratio of a circle's circumference to its diameter.",
    syntax: "pi()",
    examples: &[Example { sql: "SELECT pi()", result: "3.141592653589793" }],
    total: true,
    ..Record::DEFAULT
};

const E: Record = Record {
    name: "e",
    summary: "The base of the natural logarithm.",
    syntax: "e()",
    examples: &[Example { sql: "SELECT e()", result: "2.718281828459045" }],
    total: true,
    ..Record::DEFAULT
};

pub struct Constant {
    record: &'static Record,
    value: f64,
}

pub const PI_FUNCTION: Constant = Constant { record: &PI, value: std::f64::consts::PI };
pub const E_FUNCTION: Constant = Constant { record: &E, value: std::f64::consts::E };

impl ScalarFunction for Constant {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 0..=0)?;
        Ok(DataType::Float64.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(Column::constant(Vector::from(vec![self.value]), call.n_rows))
    }
}
