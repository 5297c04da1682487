//! `arrayShuffle`, `arrayPartialShuffle`, `arrayRandomSample`: elements in random order.

use crate::lanes::{Operand, unary};
use crate::lists::{array_element, gathered, list_of};
use crate::plain::Plain;
use chalet_base::hash::hash_u64;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::{check_arity, check_type};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Volatility};
use chalet_types::DataType;
use std::sync::atomic::{AtomicU64, Ordering};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayShuffle",
        summary: "The elements in random order; with a seed, the same orders every time.",
        syntax: "arrayShuffle(arr[, seed])",
        examples: &[Example { sql: "SELECT arraySort(arrayShuffle([1, 2, 3]))", result: "[1,2,3]" }],
        constants: Constants::Seen,
        volatility: Volatility::PerRow,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 1..=2),
    execute: |call| shuffle(call, None, 1),
};

pub static PARTIAL: Plain = Plain {
    record: Record {
        name: "arrayPartialShuffle",
        summary: "As arrayShuffle, where only the first elements are certain to be picked at random.",
        syntax: "arrayPartialShuffle(arr[, limit[, seed]])",
        examples: &[Example {
            sql: "SELECT arraySort(arrayPartialShuffle([1, 2, 3], 1))",
            result: "[1,2,3]",
        }],
        constants: Constants::Seen,
        volatility: Volatility::PerRow,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 1..=3),
    execute: |call| shuffle(call, Some(1), 2),
};

pub static SAMPLE: Plain = Plain {
    record: Record {
        name: "arrayRandomSample",
        summary: "The given number of elements, picked at random.",
        syntax: "arrayRandomSample(arr, n)",
        examples: &[Example { sql: "SELECT length(arrayRandomSample([1, 2, 3], 2))", result: "2" }],
        constants: Constants::Seen,
        volatility: Volatility::PerRow,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 2..=2),
    execute: sample,
};

fn bind(
    name: &'static str,
    args: &[Argument],
    _: &Context,
    arity: std::ops::RangeInclusive<usize>,
) -> Result<Bound> {
    check_arity(name, args.len(), arity)?;
    array_element(name, args, 0)?;
    (1..args.len()).try_for_each(|index| check_type(name, args, index, DataType::is_integer, "Integer"))?;
    if name != SAMPLE.record.name {
        for (index, arg) in args.iter().enumerate().skip(1) {
            ensure!(
                arg.constant.is_some(),
                ILLEGAL_COLUMN,
                "Argument {} of function {name} must be a constant integer",
                index + 1
            );
        }
    }
    Ok(args[0].ty.clone().into())
}

/// PCG with a multiplicative state of 128 bits and an output of 64 bits (XSL-RR): with the same seed the kernel draws the same.
struct Random(u128);

const MULTIPLIER: u128 = 2_549_297_995_355_413_924 << 64 | 4_865_540_595_714_422_341;

/// So that two calls without a seed differ, also within one nanosecond.
static CALLS: AtomicU64 = AtomicU64::new(0);

impl Random {
    fn new(seed: u64) -> Random {
        Random(u128::from(seed) | 3)
    }

    fn unseeded() -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = now.map_or(0, |d| d.as_nanos() as u64);
        Random::new(hash_u64(nanoseconds ^ hash_u64(CALLS.fetch_add(1, Ordering::Relaxed))))
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(MULTIPLIER);
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        folded.rotate_right((self.0 >> 122) as u32)
    }

    /// A number below `limit`, which is not 0: as many of the low bits as it has, drawn until they are below.
    fn below(&mut self, limit: usize) -> usize {
        if limit == 1 {
            return 0;
        }
        let mask = u64::MAX >> (limit as u64 - 1).leading_zeros();
        loop {
            let drawn = (self.draw() & mask) as usize;
            if drawn < limit {
                return drawn;
            }
        }
    }
}

fn shuffle(call: &Call, limit: Option<usize>, seed: usize) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let number = |index: usize| -> Result<Option<u64>> {
        if index >= call.args.len() || call.n_rows == 0 {
            return Ok(None);
        }
        Ok(Some(unary::<i128, i128>(Operand::of(call, index), 1, |x| x)?[0] as u64))
    };
    let limit = match limit {
        Some(index) => number(index)?.unwrap_or(0),
        None => 0,
    };
    // One generator for all rows, which go on where the row before has ended.
    let mut random = number(seed)?.map_or_else(Random::unseeded, Random::new);
    let mut elements: Vec<u32> = (0..rows.values.len() as u32).collect();
    for range in rows.ranges() {
        let places = &mut elements[range];
        let len = places.len();
        let last = len.saturating_sub(1);
        let picked = if limit > 0 { last.min(usize::try_from(limit).unwrap_or(usize::MAX)) } else { last };
        for place in 0..picked {
            let other = place + random.below(len - place);
            places.swap(place, other);
        }
    }
    Ok(gathered(rows.offsets.to_vec(), &rows.values, &elements))
}

fn sample(call: &Call) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let counts = unary::<i128, i128>(Operand::of(call, 1), call.n_rows, |x| x)?;
    let mut random = Random::unseeded();
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    for (range, count) in rows.ranges().zip(counts) {
        let count = count.clamp(0, range.len() as i128);
        let mut places: Vec<u32> = range.map(|e| e as u32).collect();
        for place in 0..count as usize {
            let other = place + random.below(places.len() - place);
            places.swap(place, other);
        }
        elements.extend_from_slice(&places[..count as usize]);
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &rows.values, &elements))
}
