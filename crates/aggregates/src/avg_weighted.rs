//! `avgWeighted`: the mean of numbers with weights.

use crate::check::{no_parameters, two_arguments};
use crate::floats::Floats;
use crate::stats::real::{put_all, take_all};
use chalet_base::{Result, bail};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "avgWeighted",
    summary: "The mean of numbers, each with a weight; NaN when the weights add up to 0.",
    syntax: "avgWeighted(x, weight)",
    examples: &[Example {
        sql: "SELECT avgWeighted(x, w) FROM values('x Int8, w Float64', (4, 1), (1, 0), (10, 2))",
        result: "8",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct AvgWeighted;

impl AggregateFunction for AvgWeighted {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        two_arguments(RECORD.name, args)?;
        let known = |ty: &DataType| ty.is_integer() || matches!(ty, DataType::Float32 | DataType::Float64);
        if args.iter().any(|arg| !known(&arg.ty)) {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Types {} and {} are non-conforming as arguments for aggregate function avgWeighted",
                args[0].ty,
                args[1].ty
            );
        }
        Ok(EachState::of(Weighted))
    }
}

struct Weighted;

impl RowAggregate for Weighted {
    /// Sum of values times weights, sum of weights.
    type State = [f64; 2];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> [f64; 2] {
        [0.0; 2]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?])
    }

    #[inline]
    fn add(&self, state: &mut [f64; 2], [values, weights]: &[Floats; 2], row: usize) -> Result<()> {
        let weight = weights.get(row);
        state[0] += values.get(row) * weight;
        state[1] += weight;
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 2], other: [f64; 2]) -> Result<()> {
        state[0] += other[0];
        state[1] += other[1];
        Ok(())
    }

    fn serialise(&self, state: &[f64; 2], out: &mut Vec<u8>) {
        put_all(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 2]> {
        take_all(bytes)
    }

    fn finish(&self, state: &mut [f64; 2], out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(state[0] / state[1]);
        Ok(())
    }
}
