//! Quantiles of values with weights, kept with each value until there are many: `quantileExactWeighted`, its interpolated
//! variants, and `quantileBFloat16`, which rounds values so that there are few different ones.

use crate::floats::{Floats, Unsigned};
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::Result;
use chalet_base::hash::hash_u64;
use chalet_columns::wire::{put_len, take_count, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
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

/// Values with weights.
#[derive(Default)]
struct State {
    /// Ranks of values (see [`Weights::rank`]) and weights. A value may stand here several times.
    pairs: Vec<Pair>,
    /// Before there are more pairs than this, those of equal values become one.
    limit: usize,
    /// Each value stands here once, and they are in order.
    sorted: bool,
}

type Pair = (u64, u64);

/// Fewer pairs than this are kept as they come: that is quicker than to look for equal values, and what one level needs is
/// found without sorting them.
const KEPT: usize = 4096;

/// Above so many levels, pairs are sorted.
const FEW_LEVELS: usize = 4;

/// Sorted instead of parted further.
const FEW_PAIRS: usize = 32;

impl State {
    /// Makes one pair of those of equal values, in the order in which they came. Weights of one value wrap around at 2^64, as in the kernel.
    fn unite(&mut self) {
        if self.sorted {
            return;
        }
        let mut table: HashTable<u32> = HashTable::new();
        let mut n = 0;
        for at in 0..self.pairs.len() {
            let (rank, weight) = self.pairs[at];
            let (known, _) = self.pairs.split_at_mut(at.max(n));
            let hash = hash_u64(rank);
            let found =
                table.entry(hash, |&i| known[i as usize].0 == rank, |&i| hash_u64(known[i as usize].0));
            match found {
                Entry::Occupied(place) => {
                    let sum = &mut known[*place.get() as usize].1;
                    *sum = sum.wrapping_add(weight);
                }
                Entry::Vacant(place) => {
                    place.insert(n as u32);
                    self.pairs[n] = (rank, weight);
                    n += 1;
                }
            }
        }
        self.pairs.truncate(n);
    }

    #[inline]
    fn add(&mut self, rank: u64, weight: u64) {
        if self.pairs.len() >= self.limit.max(KEPT) {
            self.unite();
            self.limit = self.pairs.len().saturating_mul(4);
        }
        self.pairs.push((rank, weight));
        self.sorted = false;
    }

    /// Each value once, in order.
    fn sort(&mut self) {
        if self.sorted {
            return;
        }
        self.pairs.sort_unstable_by_key(|pair| pair.0);
        self.pairs.dedup_by(|next, pair| {
            let equal = next.0 == pair.0;
            if equal {
                pair.1 = pair.1.wrapping_add(next.1);
            }
            equal
        });
        self.sorted = true;
    }

    /// Brings the first pair up to which the weights reach a threshold to its place in order, and all that are smaller before it;
    /// thresholds ascend. What has its place is not moved again.
    fn part(&mut self, thresholds: &[u64]) {
        let (mut start, mut before) = (0, 0);
        for &threshold in thresholds {
            if start > 0 && threshold <= before {
                // The pair that was placed last.
                continue;
            }
            let (mut from, mut until, mut sum) = (start, self.pairs.len(), before);
            while until - from > FEW_PAIRS {
                let half = (until - from) / 2;
                let pairs = &mut self.pairs[from..until];
                pairs.select_nth_unstable_by_key(half, |pair| pair.0);
                let next = sum + pairs[..half].iter().map(|pair| pair.1).sum::<u64>();
                if next >= threshold {
                    until = from + half;
                } else {
                    (from, sum) = (from + half, next);
                }
            }
            self.pairs[from..until].sort_unstable_by_key(|pair| pair.0);
            for pair in &self.pairs[from..until] {
                (from, sum) = (from + 1, sum + pair.1);
                if sum >= threshold {
                    break;
                }
            }
            (start, before) = (from, sum);
        }
    }
}

impl Weights {
    fn is_integer(&self) -> bool {
        self.pick != Pick::BFloat16
            && !self.arg.is_float()
            && self.arg.physical().width().is_some_and(|w| w <= 8)
    }

    /// The bits of a number (integers of 64 bits exactly, others as the float nearest to them) as an integer with the same order.
    fn rank(&self, bits: u64) -> u64 {
        const SIGN: u64 = 1 << 63;
        if !self.is_integer() {
            bits ^ ((bits as i64 >> 63) as u64 | SIGN)
        } else if self.arg.is_unsigned() {
            bits
        } else {
            bits ^ SIGN
        }
    }

    fn bits(&self, rank: u64) -> u64 {
        const SIGN: u64 = 1 << 63;
        if !self.is_integer() {
            rank ^ if rank & SIGN == 0 { u64::MAX } else { SIGN }
        } else {
            // Its own inverse.
            self.rank(rank)
        }
    }

    fn float(&self, rank: u64) -> f64 {
        let bits = self.bits(rank);
        if !self.is_integer() {
            f64::from_bits(bits)
        } else if self.arg.is_unsigned() {
            bits as f64
        } else {
            bits as i64 as f64
        }
    }

    fn push_number(&self, rank: u64, out: &mut Builder) -> Result<()> {
        use chalet_columns::builder::Values;
        if !self.is_integer() {
            return push_float(self.float(rank), out);
        }
        let x = self.bits(rank);
        match &mut out.values {
            Values::U8(values) => values.push(x as u8),
            Values::U16(values) => values.push(x as u16),
            Values::U32(values) => values.push(x as u32),
            Values::U64(values) => values.push(x),
            Values::I8(values) => values.push(x as i8),
            Values::I16(values) => values.push(x as i16),
            Values::I32(values) => values.push(x as i32),
            Values::I64(values) => values.push(x as i64),
            _ => return push_float(self.float(rank), out),
        }
        Ok(())
    }
}

impl Sketch for Weights {
    type State = State;
    type Input<'a> = (Numbers<'a>, Option<Unsigned<'a>>);

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        let numbers = match self.is_integer() {
            true => Numbers::Integers(Unsigned::of(&args[0])),
            false => Numbers::Floats(Floats::of(&args[0], 1.0)?),
        };
        Ok((numbers, args.get(1).map(Unsigned::of)))
    }

    fn add(&self, state: &mut State, input: &Self::Input<'_>, row: usize) {
        if let Some((rank, weight)) = self.weighed(input, row) {
            state.add(rank, weight);
        }
    }

    fn grow(&self, state: &mut State, input: &Self::Input<'_>, row: usize) {
        let Some((rank, weight)) = self.weighed(input, row) else { return };
        if !state.sorted {
            return state.add(rank, weight);
        }
        match state.pairs.binary_search_by_key(&rank, |pair| pair.0) {
            Ok(at) => state.pairs[at].1 = state.pairs[at].1.wrapping_add(weight),
            Err(at) => state.pairs.insert(at, (rank, weight)),
        }
    }

    fn merge(&self, state: &mut State, other: State) {
        if state.pairs.is_empty() {
            *state = other;
            return;
        }
        other.pairs.iter().for_each(|&(rank, weight)| state.add(rank, weight));
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        let mut state = State { pairs: state.pairs.clone(), ..State::default() };
        state.unite();
        put_len(state.pairs.len(), out);
        for (rank, weight) in &state.pairs {
            out.extend(self.bits(*rank).to_le_bytes());
            out.extend(weight.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let n = take_count(bytes, 16)?;
        let pair = |bytes: &mut &[u8]| Ok((self.rank(take_u64(bytes)?), take_u64(bytes)?));
        let pairs = (0..n).map(|_| pair(bytes)).collect::<Result<_>>()?;
        Ok(State { pairs, ..State::default() })
    }

    fn settle(&self, state: &mut State, levels: &[f64]) {
        let total = total_weight(&state.pairs);
        let is_exact = matches!(self.pick, Pick::Exact | Pick::BFloat16);
        let few = levels.len() <= FEW_LEVELS && state.pairs.len() > FEW_PAIRS;
        if !is_exact || !few || total >= WITHOUT_LOSS {
            return state.sort();
        }
        if !state.sorted {
            let mut thresholds: Vec<u64> =
                levels.iter().map(|level| threshold(total, *level) as u64).collect();
            thresholds.sort_unstable();
            state.part(&thresholds);
        }
    }

    fn settle_growing(&self, state: &mut State, _: &[f64]) {
        state.sort();
    }

    fn push(&self, state: &State, level: f64, many: bool, out: &mut Builder) -> Result<()> {
        let sorted = &state.pairs;
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
                let threshold = threshold(total, level);
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
        state.pairs.capacity() * size_of::<Pair>()
    }
}

/// Integers below this are floats without a loss.
const WITHOUT_LOSS: u128 = 1 << 53;

fn total_weight(pairs: &[Pair]) -> u128 {
    let small = pairs.iter().try_fold(0u64, |sum, pair| sum.checked_add(pair.1));
    small.map_or_else(|| pairs.iter().map(|pair| u128::from(pair.1)).sum(), u128::from)
}

/// The sum of weights that is reached at the value of a level.
fn threshold(total: u128, level: f64) -> f64 {
    (total as f64 * level).ceil()
}

/// Values as they are counted.
enum Numbers<'a> {
    Integers(Unsigned<'a>),
    Floats(Floats<'a>),
}

impl Weights {
    /// The rank of a row's value, and its weight; none of NaN.
    #[inline]
    fn weighed(&self, (numbers, weights): &(Numbers<'_>, Option<Unsigned<'_>>), row: usize) -> Option<Pair> {
        let bits = match numbers {
            Numbers::Integers(values) => values.get(row),
            Numbers::Floats(values) => {
                let x = values.get(row);
                if x.is_nan() {
                    return None;
                }
                let is_short = self.pick == Pick::BFloat16;
                let kept =
                    if is_short { f64::from(f32::from_bits((x as f32).to_bits() & 0xffff_0000)) } else { x };
                kept.to_bits()
            }
        };
        Some((self.rank(bits), weights.as_ref().map_or(1, |weights| weights.get(row))))
    }

    /// Levels of values are the middles of their shares of the total weight.
    fn between(&self, sorted: &[Pair], total: f64, level: f64) -> f64 {
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
    fn repeated(&self, sorted: &[Pair], level: f64) -> f64 {
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
