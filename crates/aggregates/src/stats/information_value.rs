//! `categoricalInformationValue`: how much each of several categories tells of a yes or no.

use crate::check::no_parameters;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::take_u64;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "categoricalInformationValue",
    zero_when_only_null: true,
    summary: "The information value of each category, which is 1 or 0, for a tag, which is 1 or 0.",
    syntax: "categoricalInformationValue(category1[, category2, ...], tag)",
    examples: &[Example {
        sql: "SELECT arrayMap(x -> round(x, 4), categoricalInformationValue(number < 40, number % 4 = 0 OR number < 20)) \
              FROM numbers(100)",
        result: "[0.3436]",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct InformationValue;

impl AggregateFunction for InformationValue {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        no_parameters(name, parameters)?;
        ensure!(
            args.len() >= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires two or more arguments"
        );
        ensure!(
            args.iter().all(|arg| matches!(arg.ty, DataType::UInt8 | DataType::Bool)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "All the arguments of aggregate function {name} should be UInt8"
        );
        Ok(EachState::of(Counts { n_categories: args.len() - 1 }))
    }
}

struct Counts {
    n_categories: usize,
}

impl RowAggregate for Counts {
    /// Rows without and with the tag: of each category, and in the end of all.
    type State = Vec<[u64; 2]>;
    type Input<'a> = Vec<&'a [u8]>;

    fn result_type(&self) -> DataType {
        DataType::Float64.array()
    }

    fn empty(&self) -> Vec<[u64; 2]> {
        vec![[0; 2]; self.n_categories + 1]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Vec<&'a [u8]>> {
        args.iter().map(|arg| arg.values::<u8>()).collect()
    }

    fn add(&self, state: &mut Vec<[u64; 2]>, input: &Vec<&[u8]>, row: usize) -> Result<()> {
        let tag = usize::from(input[self.n_categories][row] != 0);
        for (category, counts) in input.iter().zip(&mut state[..self.n_categories]) {
            counts[tag] += u64::from(category[row] != 0);
        }
        state[self.n_categories][tag] += 1;
        Ok(())
    }

    fn merge(&self, state: &mut Vec<[u64; 2]>, other: Vec<[u64; 2]>) -> Result<()> {
        for (to, from) in state.iter_mut().zip(other) {
            *to = [to[0].wrapping_add(from[0]), to[1].wrapping_add(from[1])];
        }
        Ok(())
    }

    fn serialise(&self, state: &Vec<[u64; 2]>, out: &mut Vec<u8>) {
        state.iter().flatten().for_each(|count| out.extend(count.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Vec<[u64; 2]>> {
        let mut state = self.empty();
        for count in state.iter_mut().flatten() {
            *count = take_u64(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, state: &mut Vec<[u64; 2]>, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Information values are not a list");
        };
        let [all_no, all_yes] = state[self.n_categories].map(|count| count as f64);
        let values = list.values.natives::<f64>()?;
        for [no, yes] in &state[..self.n_categories] {
            let (no, yes) = (*no as f64 / all_no, *yes as f64 / all_yes);
            values.push((no - yes) * (no / yes).ln());
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Vec<[u64; 2]>) -> usize {
        state.capacity() * 16
    }
}
