//! `not`: negation.

use super::and::has_truth;
use crate::lanes::Operand;
use crate::ternary_logic::as_bools;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "not",
    case_insensitive: true,
    summary: "1 for zero, 0 for every other number.",
    syntax: "NOT x",
    examples: &[Example { sql: "SELECT NOT 0, NOT 5, NOT true", result: "1\t0\tfalse" }],
    total: true,
    ..Record::DEFAULT
};

pub struct Not;

impl ScalarFunction for Not {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(has_truth(ty), ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type ({ty}) of argument of function not");
        Ok(if *ty == DataType::Bool { DataType::Bool } else { DataType::UInt8 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut values = as_bools(Operand::of(call, 0), call.n_rows)?;
        values.iter_mut().for_each(|value| *value ^= 1);
        Ok(Vector::from(values).into())
    }
}
