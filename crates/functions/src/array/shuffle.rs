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
        summary: "The elements in random order; with a seed, the same order for every array of one length.",
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
    Ok(args[0].ty.clone().into())
}

/// A generator of random numbers: a counter, hashed.
struct Random(u64);

/// So that two calls without a seed differ, also within one nanosecond.
static CALLS: AtomicU64 = AtomicU64::new(0);

impl Random {
    fn unseeded() -> Random {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = now.map_or(0, |d| d.as_nanos() as u64);
        Random(nanoseconds ^ hash_u64(CALLS.fetch_add(1, Ordering::Relaxed)))
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(hash_u64(self.0)) * limit as u128) >> 64) as usize
    }
}

fn shuffle(call: &Call, limit: Option<usize>, seed: usize) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let numbers = |index: usize| unary::<i128, i128>(Operand::of(call, index), call.n_rows, |x| x);
    let limits = limit.filter(|&index| index < call.args.len()).map(numbers).transpose()?;
    let seeds = (seed < call.args.len()).then(|| numbers(seed)).transpose()?;
    let mut random = Random::unseeded();
    let mut elements: Vec<u32> = (0..rows.values.len() as u32).collect();
    for (row, range) in rows.ranges().enumerate() {
        if let Some(seeds) = &seeds {
            random = Random(seeds[row] as u64);
        }
        let limit = limits.as_ref().map_or(0, |limits| limits[row]);
        let places = &mut elements[range];
        let len = places.len();
        let picked = if limit > 0 { (limit as usize).min(len) } else { len };
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
        ensure!(
            (0..=range.len() as i128).contains(&count),
            ARGUMENT_OUT_OF_BOUND,
            "Parameter `samples` of function arrayRandomSample cannot be larger than the size of the array"
        );
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
