//! `histogram(n)`: bars of adaptive width, by merging the nearest of weighted points.

use crate::check::{illegal_type, one_argument};
use crate::floats::Floats;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::{put_len, take_count, take_f64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "histogram",
    summary: "At most `n` bars of a histogram, each with lower and upper bound and (approximate) height.",
    syntax: "histogram(n)(x)",
    examples: &[Example {
        sql: "SELECT histogram(3)(number) FROM numbers(10)",
        result: "[(0,3,3.75),(3,6,2.5),(6,9,3.75)]",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

/// The largest number of bars.
const MAX: u64 = 250;

pub struct Histogram;

impl AggregateFunction for Histogram {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            parameters.len() == 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function {name} requires single parameter: bins count"
        );
        let bins = match parameters[0].as_u64() {
            Some(bins @ 1..=MAX) => bins as usize,
            Some(0) => bail!(BAD_ARGUMENTS, "Bin count must be greater than zero"),
            _ => bail!(BAD_ARGUMENTS, "Unsupported bins count"),
        };
        one_argument(name, args)?;
        let ty = &args[0].ty;
        if !ty.is_integer() && !ty.is_float() && !ty.is_enum() {
            return Err(illegal_type(name, ty));
        }
        Ok(EachState::of(Bins(bins)))
    }
}

struct Bins(usize);

#[derive(Clone, Copy)]
struct Point {
    mean: f64,
    weight: f64,
}

impl Point {
    fn join(self, other: Point) -> Point {
        let weight = other.weight + self.weight;
        Point { mean: self.mean + other.weight * (other.mean - self.mean) / weight, weight }
    }
}

struct State {
    points: Vec<Point>,
    low: f64,
    high: f64,
}

impl State {
    fn insert(&mut self, point: Point, bins: usize) {
        self.points.push(point);
        if self.points.len() >= bins * 2 {
            self.compress(bins);
        }
    }

    /// Joins the two nearest points, of several such pairs the first, until few enough are left.
    fn compress(&mut self, bins: usize) {
        let points = &mut self.points;
        points.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        while points.len() > bins {
            let gap = |i: usize| points[i + 1].mean - points[i].mean;
            let nearest = (0..points.len() - 1).reduce(|best, i| if gap(i) < gap(best) { i } else { best });
            let Some(nearest) = nearest else { break };
            points[nearest] = points[nearest].join(points[nearest + 1]);
            points.remove(nearest + 1);
        }
    }

    /// Joins points that differ in their last digit only.
    fn unique(&self) -> Vec<Point> {
        let mut unique: Vec<Point> = Vec::with_capacity(self.points.len());
        for &point in &self.points {
            match unique.last_mut() {
                Some(last) if last.mean + 10.0 * (last.mean + point.mean) * f64::EPSILON >= point.mean => {
                    *last = last.join(point);
                }
                _ => unique.push(point),
            }
        }
        unique
    }
}

impl RowAggregate for Bins {
    type State = State;
    type Input<'a> = Floats<'a>;

    fn result_type(&self) -> DataType {
        DataType::tuple([DataType::Float64, DataType::Float64, DataType::Float64]).array()
    }

    fn empty(&self) -> State {
        State { points: Vec::new(), low: f64::MAX, high: f64::MIN }
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Floats<'a>> {
        Floats::of(&args[0], 1.0)
    }

    fn add(&self, state: &mut State, values: &Floats, row: usize) -> Result<()> {
        let x = values.get(row);
        ensure!(
            x.is_finite(),
            INCORRECT_DATA,
            "Invalid value (inf or nan) for aggregation by 'histogram' function"
        );
        state.low = state.low.min(x);
        state.high = state.high.max(x);
        state.insert(Point { mean: x, weight: 1.0 }, self.0);
        Ok(())
    }

    fn merge(&self, state: &mut State, other: State) -> Result<()> {
        state.low = state.low.min(other.low);
        state.high = state.high.max(other.high);
        other.points.into_iter().for_each(|point| state.insert(point, self.0));
        Ok(())
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        put_len(state.points.len(), out);
        let points = state.points.iter().flat_map(|point| [point.mean, point.weight]);
        points.chain([state.low, state.high]).for_each(|x| out.extend(x.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let n = take_count(bytes, 16)?;
        let mut state = self.empty();
        for _ in 0..n {
            let point = Point { mean: take_f64(bytes)?, weight: take_f64(bytes)? };
            state.insert(point, self.0);
        }
        state.low = take_f64(bytes)?;
        state.high = take_f64(bytes)?;
        Ok(state)
    }

    fn finish(&self, state: &mut State, out: &mut Builder) -> Result<()> {
        state.compress(self.0);
        let points = state.unique();
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "histogram does not make a list");
        };
        let Values::Struct { fields, len } = &mut list.values.values else {
            bail!(LOGICAL_ERROR, "histogram does not make tuples");
        };
        let last = points.len().wrapping_sub(1);
        for (i, point) in points.iter().enumerate() {
            let low = if i == 0 { state.low } else { (point.mean + points[i - 1].mean) / 2.0 };
            let high = if i == last { state.high } else { (point.mean + points[i + 1].mean) / 2.0 };
            // The height falls and rises in a straight line to those beside.
            let towards = |other: Option<&Point>| match other {
                Some(other) => (other.weight + point.weight * 3.0) / 4.0,
                None => point.weight,
            };
            let before = i.checked_sub(1).and_then(|before| points.get(before));
            let weight = (towards(before) + towards(points.get(i + 1))) / 2.0;
            for (field, x) in fields.iter_mut().zip([low, high, weight]) {
                field.natives::<f64>()?.push(x);
            }
            *len += 1;
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &State) -> usize {
        state.points.capacity() * size_of::<Point>()
    }
}
