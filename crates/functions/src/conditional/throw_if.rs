//! `throwIf`: fails when its argument is true.

use crate::lanes::Operand;
use crate::ternary_logic::as_bools;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, ScalarFunction};
use chalet_types::{DataType, Value};

const RECORD: Record = Record {
    name: "throwIf",
    summary: "Fails with the given message when the first argument is not zero, else 0.",
    syntax: "throwIf(condition[, message])",
    examples: &[Example { sql: "SELECT throwIf(1 = 2, 'Too many')", result: "0" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub struct ThrowIf;

impl ScalarFunction for ThrowIf {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=2)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function throwIf must be a number (passed: {ty})"
        );
        let message = match args.get(1) {
            None => "Value passed to 'throwIf' function is non-zero".to_string(),
            Some(arg) => match &arg.constant {
                Some(Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned(),
                _ => bail!(ILLEGAL_COLUMN, "Second argument of function throwIf must be a constant string"),
            },
        };
        Ok(Bound::with_state(DataType::UInt8, message))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let message: &String = call.state()?;
        let operand = Operand::of(call, 0);
        if as_bools(operand, call.n_rows)?.contains(&1) {
            bail!(FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, "{message}");
        }
        Ok(Vector::from(vec![0u8; call.n_rows]).into())
    }
}
