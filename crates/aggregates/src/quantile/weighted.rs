//! Quantiles of values with weights, kept as a weight per different value: `quantileExactWeighted`, its interpolated
//! variants, and `quantileBFloat16`, which rounds values so that there are few different ones.

use crate::floats::{Floats, Unsigned};
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::wire::{put_len, take_count, take_f64, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// What stands for a level, and what is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pick {
    Exact,
    /// Between the middles of the weights.
    Interpolated,
    /// As if each value stood there as often as its weight says, interpolated.
    ExactInterpolated,
    /// Values cut to 8 binary digits.
    BFloat16,
}

pub struct Weighted {
    record: &'static AggregateRecord,
    pick: Pick,
    many: bool,
    weighted: bool,
}

macro_rules! records {
    ($($one:ident $many:ident: $pick:ident $weighted:literal, $name:literal, $median:literal, $names:literal, $args:literal,
        $summary:literal, $result:literal, $results:literal;)*) => {
        $(
            const $one: AggregateRecord = AggregateRecord {
                name: $name,
                states_of: $name,
                aliases: &[$median],
                summary: $summary,
                syntax: concat!($name, "(level)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $name, "(0.5)", $args,
                        " FROM values('x Int32, w UInt8', (5, 1), (1, 3), (2, 2), (4, 1))"),
                    result: $result,
                }],
                ..AggregateRecord::DEFAULT
            };
            const $many: AggregateRecord = AggregateRecord {
                name: $names,
                states_of: $name,
                summary: concat!("Several quantiles at once, each as ", $name, " gives it."),
                syntax: concat!($names, "(level1, level2, ...)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $names, "(0.5, 0.9)", $args,
                        " FROM values('x Int32, w UInt8', (5, 1), (1, 3), (2, 2), (4, 1))"),
                    result: $results,
                }],
                ..AggregateRecord::DEFAULT
            };
        )*
        impl Weighted {
            pub const ALL: [Weighted; 10] = [$(
                Weighted { record: &$one, pick: Pick::$pick, many: false, weighted: $weighted },
                Weighted { record: &$many, pick: Pick::$pick, many: true, weighted: $weighted },
            )*];
        }
    };
}

records! {
    EXACT EXACT_MANY: Exact true, "quantileExactWeighted", "medianExactWeighted", "quantilesExactWeighted", "(x, w)",
        "The value at a level, each value counted as often as its weight says.", "2", "[2,5]";
    BETWEEN BETWEEN_MANY: Interpolated true, "quantileInterpolatedWeighted", "medianInterpolatedWeighted",
        "quantilesInterpolatedWeighted", "(x, w)", "The value at a level, interpolated between weights.", "1", "[1,4]";
    BOTH BOTH_MANY: ExactInterpolated true, "quantileExactWeightedInterpolated", "medianExactWeightedInterpolated",
        "quantilesExactWeightedInterpolated", "(x, w)",
        "The value at a level, interpolated, each value counted as often as its weight says.", "2", "[2,4.4]";
    BF16 BF16_MANY: BFloat16 false, "quantileBFloat16", "medianBFloat16", "quantilesBFloat16", "(x)",
        "The value at a level, of values cut to BFloat16, which takes little memory.", "4", "[4,5]";
    BF16_WEIGHTED BF16_WEIGHTED_MANY: BFloat16 true, "quantileBFloat16Weighted", "medianBFloat16Weighted",
        "quantilesBFloat16Weighted", "(x, w)",
        "The value at a level, of values cut to BFloat16, each counted as often as its weight says.", "2", "[2,5]";
}

impl AggregateFunction for Weighted {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let domain = if self.pick == Pick::BFloat16 { Domain::Narrow } else { Domain::All };
        let counted = self.weighted != (self.pick == Pick::BFloat16);
        check_value(name, args, domain, counted)?;
        let levels = Levels::new(name, self.many, parameters)?;
        check_arguments(name, args, self.weighted)?;
        let ty = &args[0].ty;
        let result = match self.pick {
            Pick::BFloat16 | Pick::ExactInterpolated => interpolated_type(ty),
            _ => ty.clone(),
        };
        Ok(bound(Weights { pick: self.pick, arg: ty.clone(), result }, levels))
    }
}

struct Weights {
    pick: Pick,
    arg: DataType,
    result: DataType,
}

/// Weight by value. Integers keep all their digits, because they are their own bits.
#[derive(Default)]
struct State {
    weights: HashMap<Number, u64>,
    /// The same in order, for results.
    sorted: Vec<(Number, u64)>,
    /// `sorted` is up to date.
    settled: bool,
}

/// A number that hashes: integers of 64 bits exactly, others as the float nearest to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Number(u64);

impl Weights {
    fn is_integer(&self) -> bool {
        self.pick != Pick::BFloat16
            && !self.arg.is_float()
            && self.arg.physical().width().is_some_and(|w| w <= 8)
    }

    fn float(&self, number: Number) -> f64 {
        if !self.is_integer() {
            f64::from_bits(number.0)
        } else if self.arg.is_unsigned() {
            number.0 as f64
        } else {
            number.0 as i64 as f64
        }
    }

    fn push_number(&self, number: Number, out: &mut Builder) -> Result<()> {
        use chalet_columns::builder::Values;
        if !self.is_integer() {
            return push_float(f64::from_bits(number.0), out);
        }
        let x = number.0;
        match &mut out.values {
            Values::U8(values) => values.push(x as u8),
            Values::U16(values) => values.push(x as u16),
            Values::U32(values) => values.push(x as u32),
            Values::U64(values) => values.push(x),
            Values::I8(values) => values.push(x as i8),
            Values::I16(values) => values.push(x as i16),
            Values::I32(values) => values.push(x as i32),
            Values::I64(values) => values.push(x as i64),
            _ => return push_float(self.float(number), out),
        }
        Ok(())
    }
}

impl Sketch for Weights {
    type State = State;
    type Input<'a> = (&'a Vector, Floats<'a>, Option<Unsigned<'a>>);

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((&args[0], Floats::of(&args[0], 1.0)?, args.get(1).map(Unsigned::of)))
    }

    fn add(&self, state: &mut State, input: &Self::Input<'_>, row: usize) {
        if let Some((number, weight)) = self.weighed(input, row) {
            add_weight(state, number, weight);
        }
    }

    fn grow(&self, state: &mut State, input: &Self::Input<'_>, row: usize) {
        let Some((number, weight)) = self.weighed(input, row) else { return };
        let settled = state.settled;
        let weight = add_weight(state, number, weight);
        if settled {
            match state.sorted.binary_search_by(|pair| self.order(pair.0, number)) {
                Ok(at) => state.sorted[at].1 = weight,
                Err(at) => state.sorted.insert(at, (number, weight)),
            }
            state.settled = true;
        }
    }

    fn merge(&self, state: &mut State, other: State) {
        for (number, weight) in other.weights {
            add_weight(state, number, weight);
        }
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        put_len(state.weights.len(), out);
        for (number, weight) in &state.weights {
            out.extend(number.0.to_le_bytes());
            out.extend(weight.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let n = take_count(bytes, 16)?;
        let pair = |bytes: &mut &[u8]| Ok((Number(take_f64(bytes)?.to_bits()), take_u64(bytes)?));
        let weights = (0..n).map(|_| pair(bytes)).collect::<Result<HashMap<_, _>>>()?;
        Ok(State { weights, ..State::default() })
    }

    fn settle(&self, state: &mut State, _: &[f64]) {
        if !state.settled {
            state.sorted = state.weights.iter().map(|(&number, &weight)| (number, weight)).collect();
            state.sorted.sort_unstable_by(|a, b| self.order(a.0, b.0));
            state.settled = true;
        }
    }

    fn push(&self, state: &State, level: f64, many: bool, out: &mut Builder) -> Result<()> {
        let sorted = &state.sorted;
        let total = total_weight(sorted);
        let Some(last) = sorted.last() else {
            if self.result.is_float() && (!many || self.pick == Pick::BFloat16) {
                return push_float(f64::NAN, out);
            }
            out.push_default();
            return Ok(());
        };
        match self.pick {
            Pick::Exact | Pick::BFloat16 => {
                let threshold = (total as f64 * level).ceil();
                if total < WITHOUT_LOSS {
                    let (threshold, mut seen) = (threshold as u64, 0);
                    let found = sorted.iter().find(|(_, weight)| {
                        seen += weight;
                        seen >= threshold
                    });
                    return self.push_number(found.unwrap_or(last).0, out);
                }
                let mut seen = 0u128;
                for (number, weight) in sorted {
                    seen += u128::from(*weight);
                    if seen as f64 >= threshold {
                        return self.push_number(*number, out);
                    }
                }
                self.push_number(last.0, out)
            }
            Pick::Interpolated => push_float(self.between(sorted, total as f64, level), out),
            Pick::ExactInterpolated => push_float(self.repeated(sorted, level), out),
        }
    }

    fn heap_memory(&self, state: &State) -> usize {
        state.weights.capacity() * 17 + state.sorted.capacity() * 16
    }
}

/// Integers below this are floats without a loss.
const WITHOUT_LOSS: u128 = 1 << 53;

fn total_weight(sorted: &[(Number, u64)]) -> u128 {
    let small = sorted.iter().try_fold(0u64, |sum, pair| sum.checked_add(pair.1));
    small.map_or_else(|| sorted.iter().map(|pair| u128::from(pair.1)).sum(), u128::from)
}

impl Weights {
    /// The number of a row and its weight; none of NaN.
    fn weighed(
        &self,
        (values, floats, weights): &(&Vector, Floats<'_>, Option<Unsigned<'_>>),
        row: usize,
    ) -> Option<(Number, u64)> {
        let number = if self.is_integer() {
            Unsigned::of(values).get(row)
        } else {
            let x = floats.get(row);
            if x.is_nan() {
                return None;
            }
            let is_short = self.pick == Pick::BFloat16;
            let kept =
                if is_short { f64::from(f32::from_bits((x as f32).to_bits() & 0xffff_0000)) } else { x };
            kept.to_bits()
        };
        Some((Number(number), weights.map_or(1, |weights| weights.get(row))))
    }

    fn order(&self, a: Number, b: Number) -> Ordering {
        if !self.is_integer() {
            self.float(a).total_cmp(&self.float(b))
        } else if self.arg.is_unsigned() {
            a.0.cmp(&b.0)
        } else {
            (a.0 as i64).cmp(&(b.0 as i64))
        }
    }

    /// Levels of values are the middles of their shares of the total weight.
    fn between(&self, sorted: &[(Number, u64)], total: f64, level: f64) -> f64 {
        let mut seen = 0.0;
        let mut before: Option<(f64, f64)> = None;
        for (number, weight) in sorted {
            let weight = *weight as f64;
            let middle = (seen + weight / 2.0) / total;
            seen += weight;
            let x = self.float(*number);
            if middle >= level {
                return match before {
                    None => x,
                    Some((below, _)) if middle == below => x,
                    Some((below, y)) => y + (level - below) / (middle - below) * (x - y),
                };
            }
            before = Some((middle, x));
        }
        before.map_or(f64::NAN, |(_, x)| x)
    }

    /// Interpolates in the sequence in which every value stands as often as its weight says. Sums of weights wrap around at 2^64,
    /// and the search among them is the kernel's, so that they mean the same where they do.
    fn repeated(&self, sorted: &[(Number, u64)], level: f64) -> f64 {
        let mut total = 0u64;
        let ends: Vec<u64> = sorted
            .iter()
            .map(|(_, weight)| {
                total = total.wrapping_add(*weight);
                total
            })
            .collect();
        let at = |place: u64| {
            let found = upper_bound(&ends, place).min(sorted.len() - 1);
            self.float(sorted[found].0)
        };
        let place = level * total.saturating_sub(1) as f64;
        let below = place.floor();
        let (a, b) = (at(below as u64), at((below as u64).saturating_add(1)));
        if place == below { a } else { a * (below + 1.0 - place) + b * (place - below) }
    }
}

/// Weights of one value wrap around at 2^64, as in the kernel. The weight that the value has then.
fn add_weight(state: &mut State, number: Number, weight: u64) -> u64 {
    state.settled = false;
    let sum = state.weights.entry(number).or_default();
    *sum = sum.wrapping_add(weight);
    *sum
}

/// The index of the first end that is greater, by bisection; also of ends that are not in order.
fn upper_bound(ends: &[u64], place: u64) -> usize {
    let (mut first, mut len) = (0, ends.len());
    while len > 0 {
        let half = len / 2;
        if place < ends[first + half] {
            len = half;
        } else {
            first += half + 1;
            len -= half + 1;
        }
    }
    first
}
