//! `sparkbar(width[, low, high])`: a histogram drawn with eight block characters.

use crate::floats::{Floats, integer};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure, err};
use chalet_columns::wire::{put_len, take_array, take_count, take_f64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "sparkbar",
    aliases: &["sparkBar"],
    summary: "Draws a histogram of the sums y at the positions x, in `width` bars between the smallest and the largest x, or between \
              `low` and `high`.",
    syntax: "sparkbar(width[, low, high])(x, y)",
    examples: &[Example {
        sql: "SELECT sparkbar(5)(number, number) FROM numbers(10)", result: "▁▂▄▆█"
    }],
    ..AggregateRecord::DEFAULT
};

const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Steps between the lowest bar and the highest one.
const LEVELS: i128 = 7;

const WIDTHS: std::ops::RangeInclusive<u64> = 2..=1024;

pub struct Sparkbar;

impl AggregateFunction for Sparkbar {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            args.len() == 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires two arguments"
        );
        ensure!(
            matches!(parameters.len(), 1 | 3),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "The number of params does not match for aggregate function '{name}', expected 1 or 3, got {}",
            parameters.len()
        );
        let (x, y) = (&args[0].ty, &args[1].ty);
        ensure!(
            x.is_unsigned() || matches!(x, DataType::Date | DataType::DateTime(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The first argument type must be UInt or Date or DateTime for aggregate function {name}"
        );
        ensure!(
            y.is_integer() || y.is_float(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The second argument type must be numeric for aggregate function {name}"
        );
        let width = parameters[0].as_u64().filter(|width| WIDTHS.contains(width));
        let width = width.ok_or_else(|| {
            err!(BAD_ARGUMENTS, "Parameter width must be in range [{}, {}]", WIDTHS.start(), WIDTHS.end())
        })?;
        let bound = |value: &Value| {
            value.as_u64().map(u128::from).ok_or_else(|| {
                err!(BAD_ARGUMENTS, "Parameters `min_x` and `max_x` of {name} must be values of the type {x}")
            })
        };
        let range = match parameters {
            [_, low, high] => Some((bound(low)?, bound(high)?)),
            _ => None,
        };
        if let Some((low, high)) = range {
            ensure!(low < high, BAD_ARGUMENTS, "Parameter `min_x` must be less than `max_x`");
        }
        let limit = match y.physical().width().unwrap_or(16) {
            _ if y.is_float() => None,
            width @ ..=8 => Some((1i128 << (8 * width - usize::from(!y.is_unsigned()))) - 1),
            _ => Some(i128::MAX),
        };
        Ok(EachState::of(Bars { width: width as usize, range, limit }))
    }
}

struct Bars {
    width: usize,
    range: Option<(u128, u128)>,
    /// The largest value of the type of `y`, if that is an integer: sums stay below.
    limit: Option<i128>,
}

/// A sum in the kind of `y`.
#[derive(Clone, Copy)]
enum Sum {
    Integer(i128),
    Float(f64),
}

impl Sum {
    fn is_positive(self) -> bool {
        match self {
            Sum::Integer(y) => y > 0,
            Sum::Float(y) => y > 0.0,
        }
    }

    fn plus(self, other: Sum, limit: Option<i128>) -> Sum {
        match (self, other) {
            (Sum::Integer(a), Sum::Integer(b)) => {
                Sum::Integer(a.saturating_add(b).min(limit.unwrap_or(i128::MAX)))
            }
            (Sum::Float(a), Sum::Float(b)) => Sum::Float(a + b),
            (sum, _) => sum,
        }
    }
}

#[derive(Default)]
struct State {
    /// What the positions have in sum; only what is above 0.
    points: HashMap<u128, Sum>,
    /// The smallest and the largest position, also of values that are not above 0.
    range: Option<(u128, u128)>,
}

impl State {
    fn insert(&mut self, x: u128, y: Sum, limit: Option<i128>) {
        if y.is_positive() {
            self.points.entry(x).and_modify(|sum| *sum = sum.plus(y, limit)).or_insert(y);
        }
    }

    fn widen(&mut self, low: u128, high: u128) {
        self.range = Some(self.range.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
    }
}

impl Bars {
    /// The mean of the sums of each bar.
    fn heights(&self, state: &State, low: u128, high: u128) -> Vec<Option<Sum>> {
        let mut bars: Vec<Option<(Sum, i128)>> = vec![None; self.width];
        let span = (high - low) as f64 + 1.0;
        let mut points: Vec<(u128, Sum)> = state.points.iter().map(|(x, y)| (*x, *y)).collect();
        // Sums of floats depend on the order.
        points.sort_unstable_by_key(|point| point.0);
        for (x, y) in points {
            if x < low || x > high {
                continue;
            }
            let index = (self.width as f64 / span * (x - low) as f64) as usize;
            let bar = &mut bars[index.min(self.width - 1)];
            *bar = Some(bar.map_or((y, 1), |(sum, n)| (sum.plus(y, self.limit), n + 1)));
        }
        let mean = |(sum, n): (Sum, i128)| match sum {
            Sum::Integer(sum) => Sum::Integer(sum / n),
            Sum::Float(sum) => Sum::Float(sum / n as f64),
        };
        bars.into_iter().map(|bar| bar.map(mean)).collect()
    }

    fn drawn(&self, state: &State) -> String {
        let Some((low, high)) = self.range.or(state.range) else { return String::new() };
        if low >= high {
            return if state.points.is_empty() { "" } else { BARS[8] }.to_string();
        }
        let heights = self.heights(state, low, high);
        let integers = heights.iter().flatten().map(|sum| match sum {
            Sum::Integer(y) => *y,
            Sum::Float(_) => 0,
        });
        let floats = heights.iter().flatten().map(|sum| match sum {
            Sum::Integer(_) => 0.0,
            Sum::Float(y) => *y,
        });
        let (highest, highest_float) = (integers.fold(0, i128::max), floats.fold(0.0, f64::max));
        if highest == 0 && highest_float == 0.0 {
            return String::new();
        }
        let level = |sum: &Option<Sum>| match sum {
            Some(Sum::Integer(y)) if *y > 0 => match y.checked_mul(LEVELS) {
                Some(scaled) => scaled / highest + 1,
                None => y / (highest / LEVELS) + 1,
            },
            Some(Sum::Float(y)) if *y > 0.0 => {
                let level = y / (highest_float / LEVELS as f64) + 1.0;
                if level.is_nan() { 0 } else { level as i128 }
            }
            _ => 0,
        };
        heights.iter().map(|sum| BARS.get(level(sum) as usize).copied().unwrap_or(BARS[0])).collect()
    }
}

impl RowAggregate for Bars {
    type State = State;
    type Input<'a> = (&'a Vector, &'a Vector);

    fn result_type(&self) -> DataType {
        DataType::String
    }

    fn empty(&self) -> State {
        State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((&args[0], &args[1]))
    }

    fn add(&self, state: &mut State, (x, y): &Self::Input<'_>, row: usize) -> Result<()> {
        let x = integer(&x.data, row).as_u128();
        if self.range.is_some_and(|(low, high)| x < low || x > high) {
            return Ok(());
        }
        let y = match self.limit {
            Some(_) => Sum::Integer(integer(&y.data, row).as_i128()),
            None => Sum::Float(Floats::of(y, 1.0)?.get(row)),
        };
        state.widen(x, x);
        state.insert(x, y, self.limit);
        Ok(())
    }

    fn merge(&self, state: &mut State, other: State) -> Result<()> {
        if let Some((low, high)) = other.range {
            state.widen(low, high);
        }
        other.points.into_iter().for_each(|(x, y)| state.insert(x, y, self.limit));
        Ok(())
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        let (low, high) = state.range.unwrap_or((1, 0));
        [low, high].iter().for_each(|x| out.extend(x.to_le_bytes()));
        put_len(state.points.len(), out);
        for (x, y) in &state.points {
            out.extend(x.to_le_bytes());
            match y {
                Sum::Integer(y) => out.extend(y.to_le_bytes()),
                Sum::Float(y) => out.extend(y.to_le_bytes()),
            }
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut state = State::default();
        let low = u128::from_le_bytes(take_array(bytes)?);
        let high = u128::from_le_bytes(take_array(bytes)?);
        if low <= high {
            state.widen(low, high);
        }
        let n = take_count(bytes, 24)?;
        for _ in 0..n {
            let x = u128::from_le_bytes(take_array(bytes)?);
            let y = match self.limit {
                Some(_) => Sum::Integer(i128::from_le_bytes(take_array(bytes)?)),
                None => Sum::Float(take_f64(bytes)?),
            };
            state.insert(x, y, self.limit);
        }
        Ok(state)
    }

    fn finish(&self, state: &mut State, out: &mut Builder) -> Result<()> {
        out.push_value(&Value::string(self.drawn(state)))
    }

    fn heap_memory(&self, state: &State) -> usize {
        state.points.capacity() * size_of::<(u128, Sum)>()
    }
}
