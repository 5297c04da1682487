//! `Plain`: a scalar function as two free functions and a record, for those that need nothing more.

use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};

pub struct Plain {
    pub record: Record,
    /// Gets the function's name, so that several functions can share it.
    pub bind: fn(&'static str, &[Argument], &Context) -> Result<Bound>,
    pub execute: fn(&Call) -> Result<Column>,
}

impl ScalarFunction for &'static Plain {
    fn record(&self) -> &'static Record {
        let function: &'static Plain = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        (self.bind)(self.record.name, args, ctx)
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        (self.execute)(call)
    }
}
