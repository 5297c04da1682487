//! `retention`: which conditions were met at all, given that the first was.

use crate::check::no_parameters;
use crate::events::{check_conditions, conditions};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::take_array;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "retention",
    summary: "An array of 1 and 0: was the first condition met by any row, and were the others, too.",
    syntax: "retention(cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT retention(x = 1, x = 2, x = 3) FROM values('x Int8', 1, 3)",
        result: "[1,0,1]",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    ..AggregateRecord::DEFAULT
};

pub struct Retention;

impl AggregateFunction for Retention {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        ensure!(
            args.len() >= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Not enough event arguments for aggregate function retention"
        );
        check_conditions(RECORD.name, args, 0)?;
        Ok(EachState::of(Met(args.len())))
    }
}

struct Met(usize);

impl RowAggregate for Met {
    /// One bit per condition.
    type State = u32;
    type Input<'a> = &'a [Vector];

    fn result_type(&self) -> DataType {
        DataType::UInt8.array()
    }

    fn empty(&self) -> u32 {
        0
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [Vector]> {
        Ok(args)
    }

    fn add(&self, state: &mut u32, args: &&[Vector], row: usize) -> Result<()> {
        *state |= conditions(args, row)?;
        Ok(())
    }

    fn merge(&self, state: &mut u32, other: u32) -> Result<()> {
        *state |= other;
        Ok(())
    }

    fn serialise(&self, state: &u32, out: &mut Vec<u8>) {
        out.extend(state.to_le_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<u32> {
        Ok(u32::from_le_bytes(take_array(bytes)?))
    }

    fn finish(&self, state: &mut u32, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "retention does not make a list");
        };
        let bits = if *state & 1 == 1 { *state } else { 0 };
        let results = list.values.natives::<u8>()?;
        results.extend((0..self.0).map(|i| (bits >> i & 1) as u8));
        list.close();
        Ok(())
    }
}
