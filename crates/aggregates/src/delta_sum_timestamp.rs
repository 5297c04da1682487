//! `deltaSumTimestamp`: as `deltaSum`, with timestamps that say which of two parts of the rows comes first.

use crate::check::{illegal_type, no_parameters, two_arguments};
use crate::delta_sum::Number;
use crate::floats::{Floats, put_float, take_float};
use chalet_base::Result;
use chalet_columns::wire::take_u8;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::marker::PhantomData;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "deltaSumTimestamp",
    summary: "The sum of the rises from row to row; parts that are added up separately follow each other as their timestamps do.",
    syntax: "deltaSumTimestamp(x, timestamp)",
    examples: &[Example {
        sql: "SELECT deltaSumTimestamp(x, t) FROM values('x Int32, t UInt32', (1, 1), (4, 2), (3, 3), (5, 4))",
        result: "5",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

pub struct DeltaSumTimestamp;

impl AggregateFunction for DeltaSumTimestamp {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        two_arguments(RECORD.name, args)?;
        let wide = |ty: &DataType| ty.physical().width().is_none_or(|width| width > 8);
        let ty = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            ty @ (DataType::Float32 | DataType::Float64) => ty.clone(),
            ty if ty.is_integer() && !wide(ty) => ty.clone(),
            ty => return Err(illegal_type(RECORD.name, ty)),
        };
        use DataType::{Date, DateTime, Float32, Float64, Int32, Int64, UInt32, UInt64};
        let timestamp = &args[1].ty;
        match timestamp {
            Int32 | Int64 | UInt32 | UInt64 | Float32 | Float64 | Date | DateTime(_) => {}
            _ => return Err(illegal_type(RECORD.name, timestamp)),
        }
        let time = timestamp.clone();
        Ok(if ty.is_float() {
            EachState::of(Rises::<f64> { ty, time, number: PhantomData })
        } else {
            EachState::of(Rises::<i128> { ty, time, number: PhantomData })
        })
    }
}

struct Rises<N> {
    ty: DataType,
    time: DataType,
    number: PhantomData<N>,
}

/// Values and timestamps of a block.
struct Input<'a, N: Number> {
    values: N::Values<'a>,
    times: Times<'a>,
}

enum Times<'a> {
    Integers(&'a Vector),
    Floats(Floats<'a>),
}

impl Times<'_> {
    /// A number that sorts as the timestamp does.
    fn get(&self, row: usize) -> i128 {
        match self {
            Times::Integers(vector) => i128::get(vector, row),
            Times::Floats(floats) => in_order(floats.get(row).to_bits() as i64).into(),
        }
    }
}

/// Rows that follow each other: what they rose, and their ends.
#[derive(Clone, Copy, Default)]
struct State<N> {
    sum: N,
    first: N,
    last: N,
    begin: i128,
    end: i128,
    seen: bool,
}

impl<N> State<N> {
    fn is_before(&self, other: &State<N>) -> bool {
        self.end < other.begin || self.end == other.begin && (self.end < other.end || self.begin < self.end)
    }
}

impl<N> Rises<N> {
    fn put_time(&self, time: i128, out: &mut Vec<u8>) {
        match self.time.is_float() {
            true => put_float(f64::from_bits(in_order(time as i64) as u64), self.time.physical(), out),
            false => time.put(&self.time, out),
        }
    }

    fn take_time(&self, bytes: &mut &[u8]) -> Result<i128> {
        match self.time.is_float() {
            true => Ok(in_order(take_float(self.time.physical(), bytes)?.to_bits() as i64).into()),
            false => i128::take(&self.time, bytes),
        }
    }
}

/// The bits of a float as an integer that sorts as it does. Its own inverse.
fn in_order(bits: i64) -> i64 {
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

impl<N: Number> RowAggregate for Rises<N> {
    type State = State<N>;
    type Input<'a> = Input<'a, N>;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> State<N> {
        State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Input<'a, N>> {
        let times = if self.time.is_float() {
            Times::Floats(Floats::of(&args[1], 1.0)?)
        } else {
            Times::Integers(&args[1])
        };
        Ok(Input { values: N::view(&args[0])?, times })
    }

    fn add(&self, state: &mut State<N>, input: &Input<'_, N>, row: usize) -> Result<()> {
        let (x, time) = (N::get(&input.values, row), input.times.get(row));
        if state.seen && x > state.last {
            state.sum = state.sum + (x - state.last);
        }
        if !state.seen {
            (state.first, state.begin, state.seen) = (x, time, true);
        }
        (state.last, state.end) = (x, time);
        Ok(())
    }

    fn merge(&self, state: &mut State<N>, other: State<N>) -> Result<()> {
        if !other.seen {
            return Ok(());
        }
        if !state.seen {
            *state = other;
        } else if state.is_before(&other) {
            *state = joined(*state, other);
        } else if other.is_before(state) {
            *state = joined(other, *state);
        } else if other.first > state.first {
            // Neither comes first: the kernel keeps the greater ends.
            (state.first, state.last) = (other.first, other.last);
        }
        Ok(())
    }

    fn serialise(&self, state: &State<N>, out: &mut Vec<u8>) {
        state.sum.put(&self.ty, out);
        for (x, time) in [(state.first, state.begin), (state.last, state.end)] {
            x.put(&self.ty, out);
            self.put_time(time, out);
        }
        out.push(u8::from(state.seen));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State<N>> {
        let sum = N::take(&self.ty, bytes)?;
        let mut end_of_rows =
            || Ok::<_, chalet_base::Error>((N::take(&self.ty, bytes)?, self.take_time(bytes)?));
        let ((first, begin), (last, end)) = (end_of_rows()?, end_of_rows()?);
        Ok(State { sum, first, last, begin, end, seen: take_u8(bytes)? != 0 })
    }

    fn finish(&self, state: &mut State<N>, out: &mut Builder) -> Result<()> {
        state.sum.push(out)
    }
}

/// Two parts of the rows, one behind the other.
fn joined<N: Number>(left: State<N>, right: State<N>) -> State<N> {
    let mut sum = left.sum + right.sum;
    if right.first > left.last {
        sum = sum + (right.first - left.last);
    }
    State { sum, last: right.last, end: right.end, ..left }
}
