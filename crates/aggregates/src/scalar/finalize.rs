//! `finalizeAggregation`: the results of states.

use super::array_reduce::Found;
use super::named::aggregate_of;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "finalizeAggregation",
    summary: "The result of an aggregate function over the rows that a state was made of.",
    syntax: "finalizeAggregation(state)",
    examples: &[Example {
        sql: "SELECT finalizeAggregation(initializeAggregation('sumState', 5))",
        result: "5",
    }],
    nulls: Nulls::Seen,
    ..Record::DEFAULT
};

pub struct FinalizeAggregation;

impl ScalarFunction for FinalizeAggregation {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        if args[0].ty.is_only_null() {
            return Ok(Bound::from(args[0].ty.clone()));
        }
        let DataType::AggregateFunction(ty) = &args[0].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument for function '{}' must have type AggregateFunction - state of aggregate function. Got {}.",
                RECORD.name,
                args[0].ty
            );
        };
        let found = aggregate_of(ty, ctx)?;
        Ok(Bound::with_state(found.result, Found(found.aggregate)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        if call.state.is_none() {
            return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
        }
        let Found(aggregate) = call.state()?;
        let mut states = aggregate.states();
        states.grow(call.n_rows);
        for (row, mut bytes) in call.vector(0).strings()?.iter().enumerate() {
            states.deserialise(row, &mut bytes)?;
        }
        Ok(states.finish(call.n_rows)?.into())
    }
}
