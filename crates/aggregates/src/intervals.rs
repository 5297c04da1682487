//! Intervals: `intervalLengthSum`, `maxIntersections`, `maxIntersectionsPosition`.

use crate::check::{illegal_type, no_parameters, two_arguments};
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, Unsigned, push_integer};
use crate::quantile::{push_float, sort_grown};
use chalet_base::Result;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, I256, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

const LENGTH: AggregateRecord = AggregateRecord {
    name: "intervalLengthSum",
    summary: "The length of the union of all intervals.",
    syntax: "intervalLengthSum(start, end)",
    examples: &[Example {
        sql: "SELECT intervalLengthSum(a, b) FROM values('a Int32, b Int32', (1, 5), (3, 8), (10, 12))",
        result: "9",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

const INTERSECTIONS: AggregateRecord = AggregateRecord {
    name: "maxIntersections",
    summary: "How many intervals overlap at most.",
    syntax: "maxIntersections(start, end)",
    examples: &[Example {
        sql: "SELECT maxIntersections(a, b) FROM values('a UInt32, b UInt32', (1, 5), (3, 8), (4, 12), (5, 6))",
        result: "3",
    }],
    ..AggregateRecord::DEFAULT
};

const POSITION: AggregateRecord = AggregateRecord {
    name: "maxIntersectionsPosition",
    summary: "Where most intervals overlap first.",
    syntax: "maxIntersectionsPosition(start, end)",
    examples: &[Example {
        sql: "SELECT maxIntersectionsPosition(a, b) FROM values('a UInt32, b UInt32', (1, 5), (3, 8), (4, 12), (5, 6))",
        result: "4",
    }],
    ..AggregateRecord::DEFAULT
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Length,
    Count,
    Position,
}

pub struct Intervals {
    record: &'static AggregateRecord,
    measure: Measure,
}

impl Intervals {
    pub const ALL: [Intervals; 3] = [
        Intervals { record: &LENGTH, measure: Measure::Length },
        Intervals { record: &INTERSECTIONS, measure: Measure::Count },
        Intervals { record: &POSITION, measure: Measure::Position },
    ];
}

impl AggregateFunction for Intervals {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        two_arguments(name, args)?;
        let narrow = |ty: &DataType| {
            (ty.is_integer() && ty.physical().width().is_some_and(|w| w <= 8))
                || matches!(ty, DataType::Float32 | DataType::Float64)
        };
        let timestamps = self.measure == Measure::Length;
        for arg in args {
            let timestamp = timestamps && matches!(arg.ty, DataType::Date | DataType::DateTime(_));
            if !narrow(&arg.ty) && !timestamp {
                return Err(illegal_type(name, &arg.ty));
            }
        }
        if args[0].ty != args[1].ty {
            return Err(illegal_type(name, &args[1].ty));
        }
        let first = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            ty => ty.clone(),
        };
        let result = match self.measure {
            Measure::Length if first.is_float() => DataType::Float64,
            Measure::Position => first.clone(),
            _ => DataType::UInt64,
        };
        let (float, signed) = (args[0].ty.is_float(), args[0].ty.is_signed());
        Ok(collecting(Bound { measure: self.measure, float, signed, result }, args))
    }
}

struct Bound {
    measure: Measure,
    float: bool,
    /// Integers with a sign.
    signed: bool,
    result: DataType,
}

/// The length of the union. Intervals of no length add nothing, and are better left out.
fn union<T: Copy + PartialOrd>(
    mut intervals: Vec<(T, T)>,
    zero: T,
    minus: fn(T, T) -> T,
    plus: fn(T, T) -> T,
) -> T {
    for interval in &mut intervals {
        if interval.1 < interval.0 {
            *interval = (interval.1, interval.0);
        }
    }
    // Rows often come in the order of time.
    if !intervals.is_sorted() {
        intervals.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    }
    let mut total = zero;
    let mut current: Option<(T, T)> = None;
    for (start, end) in intervals {
        match &mut current {
            Some((_, until)) if start <= *until => {
                if end > *until {
                    *until = end;
                }
            }
            _ => {
                if let Some((from, until)) = current {
                    total = plus(total, minus(until, from));
                }
                current = Some((start, end));
            }
        }
    }
    current.map_or(total, |(from, until)| plus(total, minus(until, from)))
}

/// Intervals that do not touch each other: the union of those that came, by where they start.
struct Union<T>(BTreeMap<T, T>);

impl<T: Copy + Ord> Union<T> {
    /// Adds an interval; calls `lost` and `won` with intervals that go and the one that comes.
    fn add(&mut self, (start, end): (T, T), mut lost: impl FnMut(T, T), won: impl FnOnce(T, T)) {
        let (mut start, mut end) = if start <= end { (start, end) } else { (end, start) };
        if start == end {
            return;
        }
        while let Some((&from, &until)) =
            self.0.range(..=end).next_back().filter(|(_, until)| **until >= start)
        {
            if from <= start && until >= end {
                return;
            }
            self.0.remove(&from);
            lost(from, until);
            (start, end) = (start.min(from), end.max(until));
        }
        self.0.insert(start, end);
        won(start, end);
    }
}

/// A float with the order of numbers; NaN has been left out.
#[derive(Clone, Copy, PartialEq)]
struct Place(f64);

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

/// An interval opens (1) or closes (-1) at a place.
type Event<T> = (T, i64);

fn event_order<T: PartialOrd>(a: &Event<T>, b: &Event<T>) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

/// The largest number of open intervals, and where it is reached first.
fn deepest<T: Copy + PartialOrd>(intervals: impl Iterator<Item = (T, T)>) -> (i64, Option<T>) {
    let mut events: Vec<Event<T>> = intervals.flat_map(|(start, end)| [(start, 1), (end, -1)]).collect();
    events.sort_unstable_by(event_order);
    deepest_of(&events)
}

/// The same of events in order.
fn deepest_of<T: Copy>(events: &[Event<T>]) -> (i64, Option<T>) {
    let (mut open, mut most, mut place) = (0, 0, None);
    for &(at, change) in events {
        open += change;
        if open > most {
            (most, place) = (open, Some(at));
        }
    }
    (most, place)
}

/// The deepest of a group that grows, after each of `ends`. `interval` gives that of a row, if it counts.
fn growing_depths<T: Copy + PartialOrd>(
    rows: &[u32],
    ends: &[usize],
    interval: impl Fn(usize) -> Option<(T, T)>,
    mut result: impl FnMut((i64, Option<T>)) -> Result<()>,
) -> Result<()> {
    let (mut events, mut from) = (Vec::new(), 0);
    for &end in ends {
        let known = events.len();
        let intervals = rows[from..end].iter().filter_map(|&row| interval(row as usize));
        events.extend(intervals.flat_map(|(start, end)| [(start, 1), (end, -1)]));
        sort_grown(&mut events, known, event_order);
        from = end;
        result(deepest_of(&events))?;
    }
    Ok(())
}

impl Collector for Bound {
    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        if self.float {
            let (starts, ends) = (Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?);
            let pairs = rows.iter().map(|&row| (starts.get(row as usize), ends.get(row as usize)));
            let pairs = pairs.filter(|(start, end)| !start.is_nan() && !end.is_nan());
            return match self.measure {
                Measure::Length => {
                    let pairs = pairs.filter(|(start, end)| start != end).collect();
                    push_float(union(pairs, 0.0, |a, b| a - b, |a, b| a + b), out)
                }
                _ => self.push_floats(deepest(pairs), out),
            };
        }
        let shift = self.shift();
        let (starts, ends) = (Unsigned::of(&args[0]), Unsigned::of(&args[1]));
        let pairs = rows.iter().map(|&row| {
            (starts.get(row as usize).wrapping_add(shift), ends.get(row as usize).wrapping_add(shift))
        });
        match self.measure {
            Measure::Length => {
                let pairs = pairs.filter(|(start, end)| start != end).collect();
                push_integer(union(pairs, 0, u64::wrapping_sub, u64::wrapping_add).into(), out)
            }
            _ => self.push_integers(deepest(pairs), out),
        }
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        if self.measure != Measure::Length {
            return self.growing_depth(args, rows, ends);
        }
        if self.float {
            return self.growing_floats(args, rows, ends);
        }
        let shift = self.shift();
        let (starts, stops) = (Unsigned::of(&args[0]), Unsigned::of(&args[1]));
        let (mut union, mut total, mut results) =
            (Union(BTreeMap::new()), 0u64, Vec::with_capacity(ends.len()));
        let mut from = 0;
        for &end in ends {
            for &row in &rows[from..end] {
                let moved = |x: u64| x.wrapping_add(shift);
                let interval = (moved(starts.get(row as usize)), moved(stops.get(row as usize)));
                let mut lost = 0u64;
                union.add(
                    interval,
                    |a, b| lost = lost.wrapping_add(b - a),
                    |a, b| total = total.wrapping_add(b - a),
                );
                total = total.wrapping_sub(lost);
            }
            from = end;
            results.push(total);
        }
        Ok(results.into())
    }
}

impl Bound {
    /// Integers have at most 64 bits; moved up by half the range, those with a sign have the order of unsigned ones.
    fn shift(&self) -> u64 {
        if self.signed { 1 << 63 } else { 0 }
    }

    fn growing_depth(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        let mut out = Builder::new(&self.result);
        if self.float {
            let (starts, stops) = (Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?);
            let interval = |row| Some((starts.get(row), stops.get(row)));
            let interval = |row| interval(row).filter(|(start, end)| !start.is_nan() && !end.is_nan());
            growing_depths(rows, ends, interval, |found| self.push_floats(found, &mut out))?;
        } else {
            let shift = self.shift();
            let (starts, stops) = (Unsigned::of(&args[0]), Unsigned::of(&args[1]));
            let moved = |x: u64| x.wrapping_add(shift);
            let interval = |row| Some((moved(starts.get(row)), moved(stops.get(row))));
            growing_depths(rows, ends, interval, |found| self.push_integers(found, &mut out))?;
        }
        Ok(out.finish())
    }

    fn push_floats(&self, (most, place): (i64, Option<f64>), out: &mut Builder) -> Result<()> {
        match self.measure {
            Measure::Position => push_float(place.unwrap_or(0.0), out),
            _ => push_integer(most.into(), out),
        }
    }

    fn push_integers(&self, (most, place): (i64, Option<u64>), out: &mut Builder) -> Result<()> {
        let place = place.map_or(0, |place| place.wrapping_sub(self.shift()));
        push_integer(
            match self.measure {
                Measure::Position if self.signed => I256::from(place as i64),
                Measure::Position => place.into(),
                _ => most.into(),
            },
            out,
        )
    }

    /// Sums of floats are taken anew for each result, in the order of the intervals: so they round as that of all at once.
    fn growing_floats(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        let (starts, stops) = (Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?);
        let (mut union, mut from, mut total) = (Union(BTreeMap::new()), 0, 0.0);
        let mut results = Vec::with_capacity(ends.len());
        for &end in ends {
            let mut grew = false;
            for &row in &rows[from..end] {
                let (a, b) = (starts.get(row as usize), stops.get(row as usize));
                if !a.is_nan() && !b.is_nan() {
                    union.add((Place(a), Place(b)), |_, _| {}, |_, _| grew = true);
                }
            }
            from = end;
            if grew {
                total = union.0.iter().map(|(a, b)| b.0 - a.0).fold(0.0, |sum, length| sum + length);
            }
            results.push(total);
        }
        Ok(results.into())
    }
}
