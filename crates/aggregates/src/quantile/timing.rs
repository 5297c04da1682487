//! `quantileTiming`: for times in milliseconds: exact for few values, else in a histogram with steps of 1 up to 1024
//! and of 16 up to 30000, above which there is nothing.

use crate::floats::{Floats, Unsigned};
use crate::hashes::int_hash32;
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value};
use crate::quantile::{Sketch, bound, push_float, sort_grown};
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{take, take_array, take_u8, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Milliseconds.
const LARGEST: u64 = 30_000;
/// Below this every millisecond has a bar of its own.
const FINE: usize = 1024;
/// Milliseconds per bar above.
const STEP: usize = 16;
const BARS: usize = FINE + (LARGEST as usize - FINE) / STEP + 1;
/// Bars that are summed up for the search.
const BLOCK: usize = 64;
/// The most values of the kernel's smallest state.
const TINY: usize = 31;
/// More values than this are a histogram.
const FEW: usize = 5672;

macro_rules! records {
    ($($one:ident $many:ident: $weighted:literal, $name:literal, $median:literal, $names:literal, $args:literal, $summary:literal;)*) => {
        $(
            const $one: AggregateRecord = AggregateRecord {
                name: $name,
                states_of: $name,
                aliases: &[$median],
                summary: $summary,
                syntax: concat!($name, "(level)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $name, "(0.5)", $args,
                        " FROM values('x Int32, w UInt8', (5, 1), (1, 1), (70000, 1))"),
                    result: "5",
                }],
                ..AggregateRecord::DEFAULT
            };
            const $many: AggregateRecord = AggregateRecord {
                name: $names,
                states_of: $name,
                summary: concat!("Several quantiles at once, each as ", $name, " gives it."),
                syntax: concat!($names, "(level1, level2, ...)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $names, "(0.5, 1)", $args,
                        " FROM values('x Int32, w UInt8', (5, 1), (1, 1), (70000, 1))"),
                    result: "[5,30000]",
                }],
                ..AggregateRecord::DEFAULT
            };
        )*
        impl Timing {
            pub const ALL: [Timing; 4] = [$(
                Timing { record: &$one, many: false, weighted: $weighted },
                Timing { record: &$many, many: true, weighted: $weighted },
            )*];
        }
    };
}

records! {
    PLAIN PLAIN_MANY: false, "quantileTiming", "medianTiming", "quantilesTiming", "(x)",
        "The value at a level, for times in milliseconds up to 30000; exact up to 5670 values, else in steps.";
    WEIGHTED WEIGHTED_MANY: true, "quantileTimingWeighted", "medianTimingWeighted", "quantilesTimingWeighted", "(x, w)",
        "The value at a level, for times in milliseconds up to 30000, each counted as often as its weight says.";
}

pub struct Timing {
    record: &'static AggregateRecord,
    many: bool,
    weighted: bool,
}

impl AggregateFunction for Timing {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        check_value(name, args, Domain::Narrow, self.weighted)?;
        let levels = Levels::new(name, self.many, parameters)?;
        check_arguments(name, args, self.weighted)?;
        Ok(bound(Times, levels))
    }
}

struct Times;

enum State {
    /// Exact values, of which the first `sorted` are in order.
    Few {
        values: Vec<u16>,
        sorted: usize,
    },
    Histogram(Box<Histogram>),
}

impl Default for State {
    fn default() -> Self {
        State::Few { values: Vec::new(), sorted: 0 }
    }
}

struct Histogram {
    bars: [u64; BARS],
    /// Sums of as many bars each, since a window asks for a level after every row.
    blocks: [u64; BARS.div_ceil(BLOCK)],
    /// The sum of all, which may be more than the bars can hold.
    total: u128,
}

impl Histogram {
    fn add(&mut self, bar: usize, n: u64) {
        self.bars[bar] = self.bars[bar].wrapping_add(n);
        self.blocks[bar / BLOCK] = self.blocks[bar / BLOCK].wrapping_add(n);
        self.total += u128::from(n);
    }

    /// The first bar up to which there are at least as many as a level says. Sums wrap around at 2^64, as in the kernel.
    fn find(&self, level: f64) -> Option<usize> {
        let total = self.total as u64;
        let place = (total as f64 * level).ceil() as u64;
        let (mut seen, mut from) = (0u64, 0);
        if u128::from(total) == self.total {
            for block in self.blocks {
                if seen + block >= place.max(1) {
                    break;
                }
                seen += block;
                from += BLOCK;
            }
        }
        (from..BARS).find(|&bar| {
            seen = seen.wrapping_add(self.bars[bar]);
            self.bars[bar] > 0 && seen >= place
        })
    }
}

fn bar(x: u16) -> usize {
    let x = usize::from(x);
    if x < FINE { x } else { FINE + (x - FINE) / STEP }
}

/// The value that a bar stands for; wide bars get one that does not show that they are wide.
fn value_of(bar: usize) -> f64 {
    if bar < FINE {
        return bar as f64;
    }
    let i = bar - FINE;
    let noise = int_hash32(i as u64) as i64 % STEP as i64 - STEP as i64 / 2;
    if bar == BARS - 1 { LARGEST as f64 } else { (i * STEP + FINE) as f64 + noise as f64 }
}

impl State {
    fn histogram(&mut self) -> &mut Histogram {
        if let State::Few { values, .. } = self {
            let mut histogram =
                Box::new(Histogram { bars: [0; BARS], blocks: [0; BARS.div_ceil(BLOCK)], total: 0 });
            values.iter().for_each(|&x| histogram.add(bar(x), 1));
            *self = State::Histogram(histogram);
        }
        match self {
            State::Histogram(histogram) => histogram,
            State::Few { .. } => unreachable!("made a histogram above"),
        }
    }

    fn insert(&mut self, x: u16, weight: u64) {
        match self {
            State::Few { values, .. } if (values.len() as u64).saturating_add(weight) <= FEW as u64 => {
                values.resize(values.len() + weight as usize, x);
            }
            _ => self.histogram().add(bar(x), weight),
        }
    }
}

/// Up to so many values, states have the bars alone that have some.
const FEW_IN_BARS: u64 = BARS as u64 / 2;

/// Stands behind the last of them.
const END_OF_BARS: u16 = 30_000;

impl Sketch for Times {
    type State = State;
    type Input<'a> = (Floats<'a>, Option<Unsigned<'a>>);

    fn result_type(&self) -> DataType {
        DataType::Float32
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((Floats::of(&args[0], 1.0)?, args.get(1).map(Unsigned::of)))
    }

    fn add(&self, state: &mut State, (values, weights): &Self::Input<'_>, row: usize) {
        let x = values.get(row);
        // Neither negative times nor NaN.
        if x >= 0.0 {
            let x = x.min(LARGEST as f64) as u16;
            state.insert(x, weights.map_or(1, |weights| weights.get(row)));
        }
    }

    fn merge(&self, state: &mut State, other: State) {
        match other {
            State::Few { values, .. } => values.into_iter().for_each(|x| state.insert(x, 1)),
            State::Histogram(other) => {
                let histogram = state.histogram();
                other.bars.iter().enumerate().for_each(|(bar, &n)| histogram.add(bar, n));
            }
        }
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        match state {
            State::Few { values, .. } => {
                // The kernel tells few values from very few.
                if values.len() <= TINY {
                    out.push(1);
                    out.extend((values.len() as u16).to_le_bytes());
                } else {
                    out.push(2);
                    out.extend((values.len() as u64).to_le_bytes());
                }
                values.iter().for_each(|x| out.extend(x.to_le_bytes()));
            }
            State::Histogram(histogram) => {
                out.push(3);
                out.extend((histogram.total as u64).to_le_bytes());
                if histogram.total as u64 > FEW_IN_BARS {
                    histogram.bars.iter().for_each(|n| out.extend(n.to_le_bytes()));
                    return;
                }
                for (bar, &n) in histogram.bars.iter().enumerate().filter(|(_, n)| **n > 0) {
                    out.extend((bar as u16).to_le_bytes());
                    out.extend(n.to_le_bytes());
                }
                out.extend(END_OF_BARS.to_le_bytes());
            }
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut state = State::default();
        let n = match take_u8(bytes)? {
            1 => usize::from(u16::from_le_bytes(take_array(bytes)?)),
            2 => take_u64(bytes)? as usize,
            3 => {
                let total = take_u64(bytes)?;
                let histogram = state.histogram();
                if total > FEW_IN_BARS {
                    for bar in 0..BARS {
                        histogram.add(bar, take_u64(bytes)?);
                    }
                    return Ok(state);
                }
                loop {
                    let bar = u16::from_le_bytes(take_array(bytes)?);
                    if bar == END_OF_BARS {
                        return Ok(state);
                    }
                    ensure!(usize::from(bar) < BARS, INCORRECT_DATA, "quantileTiming has no bar {bar}");
                    histogram.add(bar.into(), take_u64(bytes)?);
                }
            }
            kind => bail!(INCORRECT_DATA, "Unknown kind of the state of quantileTiming: {kind}"),
        };
        for x in take(bytes, n.saturating_mul(2))?.chunks_exact(2) {
            state.insert(u16::from_le_bytes([x[0], x[1]]).min(LARGEST as u16), 1);
        }
        Ok(state)
    }

    fn settle(&self, state: &mut State, _: &[f64]) {
        if let State::Few { values, sorted } = state {
            sort_grown(values, *sorted, u16::cmp);
            *sorted = values.len();
        }
    }

    fn push(&self, state: &State, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        push_float(
            match state {
                State::Few { values, .. } if values.is_empty() => f64::NAN,
                State::Few { values, .. } => {
                    let n = values.len();
                    let index = if level == 1.0 { n - 1 } else { (n as f64 * level) as usize };
                    values[index.min(n - 1)].into()
                }
                State::Histogram(histogram) => histogram.find(level).map_or(LARGEST as f64, value_of),
            },
            out,
        )
    }

    fn heap_memory(&self, state: &State) -> usize {
        match state {
            State::Few { values, .. } => values.capacity() * 2,
            State::Histogram(_) => size_of::<Histogram>(),
        }
    }
}
