//! A function that is one [`Operation`] of two arguments.

use super::operation::Operation;
use crate::lanes::Operand;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};

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
        Ok(self.operation.result(&args[0].ty, &args[1].ty, ctx)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        Ok(self.operation.run(a, b, call.result, call.n_rows, call.ctx)?.into())
    }
}
