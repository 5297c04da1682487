//! `uniqCombined`, `uniqCombined64`, `uniqHLL12`: a set of hashes (of the last the values) as long as they are few, then a HyperLogLog.

use crate::check::some_arguments;
use crate::hashes::{int_hash32, int_hash64};
use crate::uniq::bias;
use crate::uniq::key_set::KeySet;
use crate::uniq::sketch::{Sketch, counting};
use crate::uniq::words::Words;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take, take_count, take_u8};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Physical, Value, bf16};
use std::sync::Arc;

const COMBINED: AggregateRecord = AggregateRecord {
    name: "uniqCombined",
    summary: "The approximate number of different values by a HyperLogLog of 2^k buckets (k = 17 if not given); of few \
              values exact.",
    syntax: "uniqCombined([k])(x[, ...])",
    examples: &[Example { sql: "SELECT uniqCombined(number % 3) FROM numbers(10)", result: "3" }],
    ..AggregateRecord::DEFAULT
};

const COMBINED64: AggregateRecord = AggregateRecord {
    name: "uniqCombined64",
    summary: "The same as uniqCombined with hashes of 64 bits for all types: for more than some hundred millions.",
    syntax: "uniqCombined64([k])(x[, ...])",
    examples: &[Example { sql: "SELECT uniqCombined64(number % 3) FROM numbers(10)", result: "3" }],
    ..COMBINED
};

const HLL12: AggregateRecord = AggregateRecord {
    name: "uniqHLL12",
    summary: "The approximate number of different values by a HyperLogLog of 2^12 buckets; exact up to 16.",
    syntax: "uniqHLL12(x[, ...])",
    examples: &[Example { sql: "SELECT uniqHLL12(number % 3) FROM numbers(10)", result: "3" }],
    nulls: AggregateNulls::SkipPlainResult,
    zero_when_only_null: true,
    // Those of UUIDs are not the kernel's.
    own_states: true,
    ..COMBINED
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Combined,
    Combined64,
    Hll12,
}

pub struct UniqCombined {
    record: &'static AggregateRecord,
    kind: Kind,
}

/// What a state holds: its first byte. Those of uniqHLL12 have numbers of their own.
const FEW_VALUES: u8 = 0;
const VALUES_IN_BUCKETS: u8 = 1;
const FEW: u8 = 1;
const SOME: u8 = 2;
const BUCKETS: u8 = 3;
/// The most hashes of [`FEW`].
const SMALL: usize = 16;

impl UniqCombined {
    pub const ALL: [UniqCombined; 3] = [
        UniqCombined { record: &COMBINED, kind: Kind::Combined },
        UniqCombined { record: &COMBINED64, kind: Kind::Combined64 },
        UniqCombined { record: &HLL12, kind: Kind::Hll12 },
    ];
}

impl AggregateFunction for UniqCombined {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let precision = match (self.kind, parameters) {
            (Kind::Hll12, _) => {
                crate::check::no_parameters(name, parameters)?;
                12
            }
            (_, []) => 17,
            (_, [k]) => match k.as_u64() {
                Some(k @ 12..=20) => k as u32,
                _ => bail!(
                    ARGUMENT_OUT_OF_BOUND,
                    "Parameter for aggregate function {name} is out of range: [12, 20]"
                ),
            },
            _ => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {name} requires one parameter or less"
            ),
        };
        some_arguments(name, args)?;
        let string = matches!(args, [one] if one.ty == DataType::String);
        let words = Words::new(args);
        let words = match (self.kind, args) {
            (Kind::Hll12, [one]) if matches!(one.ty, DataType::DateTime64(..)) => Words::hashed(args),
            (Kind::Hll12, _) => words.with_wide_numbers_folded(),
            _ => words,
        };
        let bytes = matches!(args, [one] if matches!(one.ty, DataType::String | DataType::FixedString(_) | DataType::IPv6));
        let hash = match (self.kind, words.is_number()) {
            (Kind::Hll12, number) if number || bytes => Hash::Int32,
            (_, true) => Hash::Int64,
            (_, false) => Hash::Itself,
        };
        let value = match args {
            [one] if self.kind == Kind::Hll12 && words.is_number() => Value12::of(&one.ty),
            _ => Value12::Word,
        };
        let wide = self.kind == Kind::Combined64 || (self.kind == Kind::Combined && string);
        let few = match self.kind {
            Kind::Hll12 => 16,
            // From here on the set would be larger than the buckets.
            _ => 1 << (precision - 5 + u32::from(!wide)),
        };
        Ok(counting::<Combined>(
            Plan {
                precision,
                hash,
                wide,
                few,
                corrects_bias: precision == 17,
                grows: self.kind == Kind::Hll12,
                value,
            },
            words,
        ))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Int32,
    Int64,
    Itself,
}

/// What a set of uniqHLL12 holds of a word: in the kernel it is one of values, of the type of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value12 {
    /// Words as they are.
    Word,
    /// An integer of so many bytes; what is beyond 8 is 0.
    Integer(usize),
    /// The bits of a float are converted to a float as if they were a number.
    BFloat16,
    Float32,
    Float64,
}

impl Value12 {
    fn of(ty: &DataType) -> Value12 {
        match ty.physical() {
            Physical::BF16 => Value12::BFloat16,
            Physical::F32 => Value12::Float32,
            Physical::F64 => Value12::Float64,
            physical => physical.width().map_or(Value12::Word, Value12::Integer),
        }
    }

    /// Bytes in states.
    fn width(self) -> usize {
        match self {
            Value12::BFloat16 => 2,
            Value12::Float32 => 4,
            Value12::Word | Value12::Float64 => 8,
            Value12::Integer(width) => width,
        }
    }

    fn of_word(self, word: u64) -> u64 {
        match self {
            Value12::Integer(width @ 1..8) => word & !(u64::MAX << (width * 8)),
            Value12::Word | Value12::Integer(_) => word,
            Value12::BFloat16 => bf16::from_f32(word as f32).to_bits().into(),
            Value12::Float32 => (word as f32).to_bits().into(),
            Value12::Float64 => (word as f64).to_bits(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Bits of a hash that choose the bucket.
    precision: u32,
    hash: Hash,
    /// Hashes have 64 bits, else 32.
    wide: bool,
    /// Hashes that are kept as a set.
    few: usize,
    corrects_bias: bool,
    /// The set is one of values, as uniqHLL12 has it; full, it takes a value that it has.
    grows: bool,
    value: Value12,
}

impl Plan {
    /// Bytes of what a set holds, in states.
    fn width_in_sets(&self) -> usize {
        match self.grows {
            true => self.value.width(),
            false if self.wide => 8,
            false => 4,
        }
    }

    /// What a set holds of a word: a value, or a hash.
    #[inline]
    fn in_sets(&self, word: u64) -> u64 {
        let word = if self.grows { return self.value.of_word(word) } else { self.hashed(word) };
        if self.wide { word } else { word & 0xffff_ffff }
    }

    fn hashed(&self, word: u64) -> u64 {
        match self.hash {
            Hash::Int32 => int_hash32(word).into(),
            Hash::Int64 => int_hash64(word),
            Hash::Itself => word,
        }
    }

    /// The place of what a set held.
    fn place_of(&self, held: u64) -> (usize, u8) {
        self.place(if self.grows { self.hashed(held) & 0xffff_ffff } else { held })
    }

    fn bits(&self) -> u32 {
        if self.wide { 64 } else { 32 }
    }

    fn max_rank(&self) -> u8 {
        (self.bits() - self.precision + 1) as u8
    }

    /// Bits that the kernel has for a rank.
    fn rank_bits(&self) -> u32 {
        if self.wide { 6 } else { 5 }
    }

    /// Bytes of the number of empty buckets.
    fn bytes_of_zeros(&self) -> usize {
        if self.precision < 16 { 2 } else { 4 }
    }

    /// The bucket of a hash, and the place of the lowest set bit in the rest of it.
    fn place(&self, hash: u64) -> (usize, u8) {
        let bucket = hash & ((1 << self.precision) - 1);
        let rest = hash >> self.precision;
        let rank = if rest == 0 { self.max_rank() } else { rest.trailing_zeros() as u8 + 1 };
        (bucket as usize, rank.min(self.max_rank()))
    }
}

enum Combined {
    Few(KeySet<u64>),
    Buckets(Buckets),
}

/// Eight buckets each, which tell whether most are empty: hashes are spread evenly.
const SAMPLE: usize = 64;

/// Ranks are places in 64 bits, counted from 1.
const RANKS: usize = 65;

struct Buckets {
    /// The largest rank of each bucket.
    ranks: Vec<u8>,
    /// How many buckets have each rank, all that the estimate is made of; from the first estimate on, since a window asks for more.
    of_rank: Option<Box<[u32; RANKS]>>,
}

impl Buckets {
    fn of(ranks: Vec<u8>) -> Buckets {
        Buckets { ranks, of_rank: None }
    }

    #[inline]
    fn offer(&mut self, (bucket, rank): (usize, u8)) {
        let held = &mut self.ranks[bucket];
        if *held < rank {
            if let Some(of_rank) = &mut self.of_rank {
                of_rank[usize::from(*held)] -= 1;
                of_rank[usize::from(rank)] += 1;
            }
            *held = rank;
        }
    }

    /// As the kernel lays its counter out in memory: the ranks, of as many bits as the largest takes, how many buckets have each
    /// rank, and how many are empty.
    fn serialise(&self, plan: &Plan, out: &mut Vec<u8>) {
        let width = plan.rank_bits();
        let (mut word, mut filled) = (0u32, 0);
        let mut of_rank = [0u32; RANKS];
        for &rank in &self.ranks {
            of_rank[usize::from(rank)] += 1;
            word |= u32::from(rank) << filled;
            filled += width;
            while filled >= 8 {
                out.push(word as u8);
                word >>= 8;
                filled -= 8;
            }
        }
        of_rank[..=usize::from(plan.max_rank())].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(&of_rank[0].to_le_bytes()[..plan.bytes_of_zeros()]);
    }

    /// The ranks say all; the counts behind them are made of them anew.
    fn deserialise(plan: &Plan, bytes: &mut &[u8]) -> Result<Buckets> {
        let (n, width) = (1usize << plan.precision, plan.rank_bits());
        let packed = take(bytes, n * width as usize / 8)?;
        let mut more = packed.iter();
        let (mut word, mut filled) = (0u32, 0);
        let mut ranks = Vec::with_capacity(n);
        for _ in 0..n {
            while filled < width {
                word |= more.next().map_or(0, |&byte| u32::from(byte)) << filled;
                filled += 8;
            }
            ranks.push((word & ((1 << width) - 1)) as u8);
            word >>= width;
            filled -= width;
        }
        ensure!(
            ranks.iter().all(|&rank| rank <= plan.max_rank()),
            CANNOT_READ_ALL_DATA,
            "Aggregate state has a rank that is too large"
        );
        take(bytes, 4 * (usize::from(plan.max_rank()) + 1) + plan.bytes_of_zeros())?;
        Ok(Buckets::of(ranks))
    }

    fn of_rank(&mut self) -> &[u32; RANKS] {
        self.of_rank.get_or_insert_with(|| {
            // Most ranks are one of a few: counters of their own for neighbours need not wait for each other.
            let mut several = [[0; RANKS]; 4];
            let add = |eight: &[u8; 8]| {
                for (at, &rank) in eight.iter().enumerate() {
                    several[at % 4][usize::from(rank)] += 1;
                }
            };
            let (eights, rest) = self.ranks.as_chunks::<8>();
            let is_empty = |eight: &&[u8; 8]| u64::from_ne_bytes(**eight) == 0;
            // Most buckets of small groups are empty: these are passed by eight at a time.
            if eights.iter().take(SAMPLE).filter(is_empty).count() > SAMPLE / 2 {
                let held = eights.iter().filter(|eight| !is_empty(eight)).map(add).count();
                several[0][0] += 8 * (eights.len() - held) as u32;
            } else {
                eights.iter().for_each(add);
            }
            rest.iter().for_each(|&rank| several[0][usize::from(rank)] += 1);
            Box::new(std::array::from_fn(|rank| several.iter().map(|of_rank| of_rank[rank]).sum()))
        })
    }
}

impl Combined {
    fn add(&mut self, plan: &Plan, held: u64) {
        match self {
            // A set of the kernel becomes buckets by the next value, even one that it has.
            Combined::Few(set) if !plan.grows && set.len() >= plan.few => {}
            Combined::Few(set) => {
                set.insert(held);
                if set.len() <= plan.few {
                    return;
                }
            }
            Combined::Buckets(_) => {}
        }
        self.buckets(plan).offer(plan.place_of(held));
    }

    fn buckets(&mut self, plan: &Plan) -> &mut Buckets {
        if let Combined::Few(set) = self {
            let mut buckets = Buckets::of(vec![0; 1 << plan.precision]);
            set.for_each(|held| buckets.offer(plan.place_of(held)));
            *self = Combined::Buckets(buckets);
        }
        match self {
            Combined::Buckets(buckets) => buckets,
            Combined::Few(_) => unreachable!("made buckets above"),
        }
    }
}

fn estimate(plan: &Plan, buckets: &mut Buckets) -> f64 {
    let n = buckets.ranks.len() as f64;
    let of_rank = buckets.of_rank();
    // The sum of 2^-rank over all buckets, from the smallest term up.
    let sum = of_rank.iter().rev().fold(0.0, |sum, &count| sum / 2.0 + count as f64);
    let raw = 0.7213 / (1.0 + 1.079 / n) * n * n / sum;
    if raw > 2f64.powi(32) / 30.0 {
        return raw;
    }
    let zeros = of_rank[0] as f64;
    let linear = |otherwise: f64| if zeros > 0.0 { n * (n.ln() - zeros.ln()) } else { otherwise };
    if !plan.corrects_bias {
        return if raw <= 2.5 * n { linear(raw) } else { raw };
    }
    let corrected = if raw <= 5.0 * n { raw - bias::of(raw) } else { raw };
    let linear = linear(corrected);
    if linear < bias::THRESHOLD { linear } else { corrected }
}

impl Sketch for Combined {
    type Plan = Plan;

    fn empty(_: &Plan) -> Self {
        Combined::Few(KeySet::default())
    }

    #[inline]
    fn insert(&mut self, plan: &Plan, word: u64) {
        self.add(plan, plan.in_sets(word));
    }

    fn merge(&mut self, plan: &Plan, other: Self) {
        match other {
            Combined::Few(set) => {
                if let Combined::Few(own) = self {
                    own.reserve(set.len());
                }
                set.for_each(|hash| self.add(plan, hash));
            }
            Combined::Buckets(mut other) => match self {
                Combined::Few(set) => {
                    set.for_each(|held| other.offer(plan.place_of(held)));
                    *self = Combined::Buckets(other);
                }
                Combined::Buckets(own) => {
                    own.of_rank = None;
                    own.ranks.iter_mut().zip(&other.ranks).for_each(|(own, &rank)| *own = rank.max(*own));
                }
            },
        }
    }

    fn count(&mut self, plan: &Plan) -> u64 {
        match self {
            Combined::Few(set) => set.len() as u64,
            Combined::Buckets(buckets) => (estimate(plan, buckets) + 0.5) as u64,
        }
    }

    fn serialise(&self, plan: &Plan, out: &mut Vec<u8>) {
        match self {
            Combined::Few(set) => {
                out.push(match set.len() {
                    _ if plan.grows => FEW_VALUES,
                    0..=SMALL => FEW,
                    _ => SOME,
                });
                put_len(set.len(), out);
                let width = plan.width_in_sets();
                set.for_each(|held| {
                    out.extend(&held.to_le_bytes()[..width.min(8)]);
                    out.extend(std::iter::repeat_n(0, width.saturating_sub(8)));
                });
            }
            Combined::Buckets(buckets) => {
                out.push(if plan.grows { VALUES_IN_BUCKETS } else { BUCKETS });
                buckets.serialise(plan, out);
            }
        }
    }

    fn deserialise(plan: &Plan, bytes: &mut &[u8]) -> Result<Self> {
        let mut combined = Combined::empty(plan);
        let kind = take_u8(bytes)?;
        let (last, in_buckets) = if plan.grows { (1, VALUES_IN_BUCKETS) } else { (BUCKETS, BUCKETS) };
        ensure!(kind <= last, INCORRECT_DATA, "Unknown kind of the state of a uniqCombined: {kind}");
        if kind == in_buckets {
            return Ok(Combined::Buckets(Buckets::deserialise(plan, bytes)?));
        }
        let width = plan.width_in_sets();
        for _ in 0..take_count(bytes, width)? {
            let mut held = [0; 8];
            let stored = take(bytes, width)?;
            held[..width.min(8)].copy_from_slice(&stored[..width.min(8)]);
            combined.add(plan, u64::from_le_bytes(held));
        }
        Ok(combined)
    }

    fn heap(&self) -> usize {
        match self {
            Combined::Few(set) => set.heap(),
            Combined::Buckets(buckets) => {
                buckets.ranks.capacity() + buckets.of_rank.as_ref().map_or(0, |_| RANKS * 4)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_alike_in_groups_of_any_size() {
        for n in [0u64, 1, 17, 900, 1100, 5000, 100_000] {
            let mut buckets = Buckets::of(vec![0; 1 << 12]);
            (0..n).for_each(|x| {
                let hash = int_hash64(x);
                buckets.offer((hash as usize & 4095, 1 + (hash >> 12).trailing_zeros().min(51) as u8));
            });
            let mut expected = [0; RANKS];
            buckets.ranks.iter().for_each(|&rank| expected[usize::from(rank)] += 1);
            assert_eq!(*buckets.of_rank(), expected, "{n}");
        }
    }
}
