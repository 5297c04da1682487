//! `initializeAggregation`: an aggregate over one row.

use super::array_reduce::Found;
use super::named::named;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};

const RECORD: Record = Record {
    name: "initializeAggregation",
    summary: "The result of an aggregate function, named by a constant string with its parameters, over the row alone.",
    syntax: "initializeAggregation('aggregate', x1, ...)",
    examples: &[Example { sql: "SELECT initializeAggregation('sum', 5)", result: "5" }],
    nulls: Nulls::Seen,
    ..Record::DEFAULT
};

pub struct InitializeAggregation;

impl ScalarFunction for InitializeAggregation {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 2..=usize::MAX)?;
        let types = args[1..].iter().map(|arg| arg.ty.clone()).collect();
        let found = named(RECORD.name, &args[0], types, ctx)?;
        Ok(Bound::with_state(found.result, Found(found.aggregate)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Found(aggregate) = call.state()?;
        let rows: Vec<u32> = (0..call.n_rows as u32).collect();
        let args: Vec<Vector> = call.args[1..].iter().map(|arg| Vector::clone(&arg.vector)).collect();
        let mut states = aggregate.states();
        states.grow(call.n_rows);
        states.add_groups(&rows, &args)?;
        Ok(states.finish(call.n_rows)?.into())
    }
}
