//! A function that is one [`Operation`] of two arguments.

use super::operation::Operation;
use super::states;
use crate::lanes::Operand;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::{DataType, Value};

pub struct Binary {
    pub record: &'static Record,
    pub operation: Operation,
}

impl ScalarFunction for Binary {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 2..=2)?;
        if let Some(result) = states::result(&self.operation, &args[0], &args[1])? {
            return Ok(result.into());
        }
        let divides_alike = args[0].ty.bare() == args[1].ty.bare();
        match self.operation.name {
            "modulo" => refuse_least_divisor(&args[0], &args[1])?,
            "positiveModulo" if divides_alike => refuse_least_divisor(&args[0], &args[1])?,
            _ => {}
        }
        Ok(self.operation.result(&args[0].ty, &args[1].ty, ctx)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        if let DataType::AggregateFunction(ty) = call.result {
            return states::run(ty, a, b, call.n_rows).map(Column::from);
        }
        Ok(self.operation.run(a, b, call.result, call.n_rows, call.ctx)?.into())
    }
}

/// The kernel divides by constants with a method that has no place for the least number of a type.
fn refuse_least_divisor(dividend: &Argument, divisor: &Argument) -> Result<()> {
    let (a, b) = (dividend.ty.bare(), divisor.ty.bare());
    let is_fast = match a {
        DataType::Int32 => matches!(b, DataType::Int8 | DataType::Int16 | DataType::Int32),
        DataType::Int64 => matches!(b, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64),
        _ => false,
    };
    let Some(range) = b.integer_range().filter(|_| is_fast && dividend.constant.is_none()) else {
        return Ok(());
    };
    let divisor = divisor.constant.as_ref().and_then(Value::as_i64);
    let is_least = divisor.is_some_and(|divisor| i128::from(divisor) == *range.start());
    ensure!(!is_least, ILLEGAL_DIVISION, "Division by the most negative number");
    Ok(())
}
