//! `timeSeriesGroupArray`: samples in order of time.

use super::samples::{Input, Samples, Shape, push_samples};
use crate::check::no_parameters;
use chalet_base::Result;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "timeSeriesGroupArray",
    summary: "Samples in order of time, one per time: of several the greatest.",
    syntax: "timeSeriesGroupArray(timestamp, value)",
    examples: &[Example {
        sql: "SELECT timeSeriesGroupArray([120, 110, 110]::Array(UInt32), [3., 1., 2.]) \
              SETTINGS enable_time_series_aggregate_functions = 1",
        result: "[(110,2),(120,3)]",
    }],
    nulls: AggregateNulls::Skip,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

pub struct GroupArray;

impl AggregateFunction for GroupArray {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        super::check_enabled(RECORD.name, ctx)?;
        let shape = Shape::of(RECORD.name, args)?;
        shape.check(RECORD.name, "1st argument (timestamp)", "2nd argument (value)")?;
        let result = match args {
            [samples] => samples.ty.clone(),
            _ => DataType::tuple(vec![shape.time.clone(), shape.value.clone()]).array(),
        };
        Ok(EachState::of(InOrder { shape, result }))
    }
}

struct InOrder {
    shape: Shape,
    result: DataType,
}

impl RowAggregate for InOrder {
    type State = Samples;
    type Input<'a> = Input<'a>;

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn empty(&self) -> Samples {
        Samples::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Input<'a>> {
        self.shape.input(args)
    }

    fn add(&self, state: &mut Samples, input: &Input<'_>, row: usize) -> Result<()> {
        input.each(row, |sample| state.push(sample))
    }

    fn merge(&self, state: &mut Samples, other: Samples) -> Result<()> {
        state.append(other);
        Ok(())
    }

    fn serialise(&self, state: &Samples, out: &mut Vec<u8>) {
        state.serialise(out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Samples> {
        Samples::deserialise(bytes)
    }

    fn finish(&self, state: &mut Samples, out: &mut Builder) -> Result<()> {
        push_samples(state.in_order().iter(), out)
    }

    fn heap_memory(&self, state: &Samples) -> usize {
        state.memory()
    }
}
