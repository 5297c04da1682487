//! `timeSeriesLastTwoSamples`: the last two samples, the later first.

use super::samples::{SIGN, Sample, greater, push_samples};
use crate::check::two_arguments;
use crate::floats::Floats;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_f64};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "timeSeriesLastTwoSamples",
    summary: "The last two samples, the later first; of several at a time the greatest.",
    syntax: "timeSeriesLastTwoSamples(timestamp, value)",
    examples: &[Example {
        sql: "SELECT timeSeriesLastTwoSamples(number::UInt32, number + 0.5) FROM numbers(5) \
              SETTINGS enable_time_series_aggregate_functions = 1",
        result: "[(4,4.5),(3,3.5)]",
    }],
    nulls: AggregateNulls::Skip,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

pub struct LastTwoSamples;

impl AggregateFunction for LastTwoSamples {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            parameters.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} does not accept parameters"
        );
        super::check_enabled(name, ctx)?;
        two_arguments(name, args)?;
        let (time, value) = (&args[0].ty, &args[1].ty);
        ensure!(
            matches!(value, DataType::Float32 | DataType::Float64),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {value} of 2nd argument (value) for aggregate function {name}"
        );
        let short = time.is_integer() && time.physical().width().is_some_and(|width| width <= 8);
        ensure!(
            short || matches!(time, DataType::DateTime(_) | DataType::DateTime64(..)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {time} of 1st argument (timestamp) for aggregate function {name}"
        );
        Ok(EachState::of(LastTwo { time: time.clone(), value: value.clone() }))
    }
}

struct LastTwo {
    time: DataType,
    value: DataType,
}

fn time(data: &Data, row: usize) -> i64 {
    match data {
        Data::U8(v) => v[row].into(),
        Data::U16(v) => v[row].into(),
        Data::U32(v) => v[row].into(),
        Data::U64(v) => (v[row] ^ SIGN) as i64,
        Data::I8(v) => v[row].into(),
        Data::I16(v) => v[row].into(),
        Data::I32(v) => v[row].into(),
        Data::I64(v) => v[row],
        _ => 0,
    }
}

/// Takes a sample where it is among the last two.
fn take(state: &mut Vec<Sample>, sample: Sample) {
    let at = state.partition_point(|known| known.0 > sample.0);
    match state.get_mut(at) {
        Some(known) if known.0 == sample.0 => known.1 = greater(known.1, sample.1),
        _ if at < 2 => {
            state.insert(at, sample);
            state.truncate(2);
        }
        _ => {}
    }
}

impl RowAggregate for LastTwo {
    type State = Vec<Sample>;
    type Input<'a> = (&'a Data, Floats<'a>);

    fn result_type(&self) -> DataType {
        DataType::tuple(vec![self.time.clone(), self.value.clone()]).array()
    }

    fn empty(&self) -> Vec<Sample> {
        Vec::new()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((&args[0].data, Floats::of(&args[1], 1.0)?))
    }

    fn add(&self, state: &mut Vec<Sample>, input: &Self::Input<'_>, row: usize) -> Result<()> {
        take(state, (time(input.0, row), input.1.get(row)));
        Ok(())
    }

    fn merge(&self, state: &mut Vec<Sample>, other: Vec<Sample>) -> Result<()> {
        other.into_iter().for_each(|sample| take(state, sample));
        Ok(())
    }

    fn serialise(&self, state: &Vec<Sample>, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for (time, value) in state {
            out.extend(time.to_le_bytes());
            out.extend(value.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Vec<Sample>> {
        let mut state = Vec::new();
        for _ in 0..take_count(bytes, 16)? {
            let time = i64::from_le_bytes(take_array(bytes)?);
            take(&mut state, (time, take_f64(bytes)?));
        }
        Ok(state)
    }

    fn finish(&self, state: &mut Vec<Sample>, out: &mut Builder) -> Result<()> {
        push_samples(state.iter(), out)
    }

    fn heap_memory(&self, state: &Vec<Sample>) -> usize {
        state.capacity() * size_of::<Sample>()
    }
}
