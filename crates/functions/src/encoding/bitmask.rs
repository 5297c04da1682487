//! `bitmaskToList`, `bitmaskToArray`, `bitPositionsToArray`: the bits of a number.

use crate::arithmetic::convert_numbers;
use crate::lanes::{Operand, unary};
use crate::lists::list;
use crate::number::{Cast, Integer, Number};
use crate::plain::Plain;
use crate::string_args::{Kind, build, expect};
use crate::with_integer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Native, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, U256};

pub static LIST: Plain = Plain {
    record: Record {
        name: "bitmaskToList",
        summary: "The powers of two that make up a number, as text with commas.",
        syntax: "bitmaskToList(n)",
        examples: &[Example { sql: "SELECT bitmaskToList(50)", result: "2,16,32" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        integer(name, args)?;
        Ok(DataType::String.into())
    },
    execute: |call| {
        let bits = bits(call)?;
        let ty = call.args[0].ty;
        // The sign's bit stands for a negative number.
        let sign = ty.physical().width().filter(|_| ty.is_signed()).map(|width| 8 * width as u64 - 1);
        let powers: Vec<String> = (0..256)
            .map(|bit| format!("{}{}", if Some(bit) == sign { "-" } else { "" }, power(bit)))
            .collect();
        Ok(build(call.n_rows, |row, out| {
            for (n, bit) in positions(&bits[row]).enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(powers[bit as usize].as_bytes());
            }
        }))
    },
};

pub static ARRAY: Plain = Plain {
    record: Record {
        name: "bitmaskToArray",
        summary: "The powers of two that make up a number, as an array.",
        syntax: "bitmaskToArray(n)",
        examples: &[Example { sql: "SELECT bitmaskToArray(50)", result: "[2,16,32]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        integer(name, args)?;
        Ok(args[0].ty.clone().array().into())
    },
    execute: |call| {
        if let Some(values) = narrow(call)? {
            let physical = call.args[0].ty.physical();
            return Ok(with_integer!(physical, C => narrow_powers::<C>(&values), _ => bail!(LOGICAL_ERROR, "{physical:?} is no integer")).into());
        }
        let bits = bits(call)?;
        let (mut powers, mut offsets) =
            (Vec::with_capacity(count(&bits)), Vec::with_capacity(bits.len() + 1));
        offsets.push(0);
        for mask in bits {
            powers.extend(positions(&mask).map(power));
            offsets.push(powers.len() as i64);
        }
        let n = powers.len();
        let values = convert_numbers(Vector::from(powers), call.args[0].ty.physical(), n)?;
        Ok(list(offsets, values).into())
    },
};

pub static POSITIONS: Plain = Plain {
    record: Record {
        name: "bitPositionsToArray",
        summary: "The numbers of the bits of a number that are set, from 0.",
        syntax: "bitPositionsToArray(n)",
        examples: &[Example { sql: "SELECT bitPositionsToArray(5)", result: "[0,2]" }],
        ..Record::DEFAULT
    },
    bind: positions_type,
    execute: |call| {
        let bits = bits(call)?;
        let (mut found, mut offsets) = (Vec::with_capacity(count(&bits)), Vec::with_capacity(bits.len() + 1));
        offsets.push(0);
        for mask in bits {
            found.extend(positions(&mask));
            offsets.push(found.len() as i64);
        }
        Ok(list(offsets, Vector::from(found)).into())
    },
};

/// The bits of integers of 64 bits at most.
fn narrow(call: &Call) -> Result<Option<Vec<u64>>> {
    let width = call.args[0].ty.physical().width().unwrap_or(8);
    if width > 8 {
        return Ok(None);
    }
    let own = u64::MAX >> (64 - 8 * width as u32);
    Ok(Some(unary::<u64, u64>(Operand::of(call, 0), call.n_rows, |x| x & own)?))
}

fn narrow_powers<C: Integer>(masks: &[u64]) -> Vector
where
    u64: Cast<C>,
{
    let mut powers: Vec<C> = Vec::with_capacity(masks.iter().map(|mask| mask.count_ones() as usize).sum());
    let mut offsets = Vec::with_capacity(masks.len() + 1);
    offsets.push(0);
    for &mask in masks {
        let mut rest = mask;
        while rest != 0 {
            powers.push((rest & rest.wrapping_neg()).cast());
            rest &= rest - 1;
        }
        offsets.push(powers.len() as i64);
    }
    list(offsets, powers.into())
}

fn positions_type(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    integer(name, args)?;
    Ok(DataType::UInt64.array().into())
}

fn integer(name: &str, args: &[Argument]) -> Result<()> {
    expect(name, args, 1, &[Kind::Any])?;
    let ty = &args[0].ty;
    ensure!(ty.is_integer(), ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}");
    Ok(())
}

/// 64 bits each, the lowest first; integers of 64 bits at most have one.
type Words = [u64; 4];

fn power(bit: u64) -> U256 {
    U256::ONE.shl(bit as u32)
}

/// The bits of the argument's own width.
fn bits(call: &Call) -> Result<Vec<Words>> {
    let width = call.args[0].ty.physical().width().unwrap_or(8);
    if width <= 8 {
        let own = u64::MAX >> (64 - 8 * width as u32);
        return unary_words::<u64>(call, |x| [x & own, 0, 0, 0]);
    }
    unary_words::<U256>(call, |x| {
        let bytes = x.to_le_bytes();
        let mut out = [0; 4];
        for (word, bytes) in out.iter_mut().zip(bytes.as_chunks::<8>().0).take(width / 8) {
            *word = u64::from_le_bytes(*bytes);
        }
        out
    })
}

fn unary_words<C: Number + Native>(call: &Call, f: impl Fn(C) -> Words) -> Result<Vec<Words>> {
    let values = unary::<C, C>(Operand::of(call, 0), call.n_rows, |x| x)?;
    Ok(values.into_iter().map(f).collect())
}

/// How many bits are set in all.
fn count(masks: &[Words]) -> usize {
    masks.iter().flatten().map(|word| word.count_ones() as usize).sum()
}

/// The bits that are set, the lowest first.
fn positions(mask: &Words) -> impl Iterator<Item = u64> {
    mask.iter().zip([0u64, 64, 128, 192]).flat_map(|(word, first)| {
        let mut word = *word;
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| first + u64::from(word.trailing_zeros()));
            word &= word.wrapping_sub(1);
            bit
        })
    })
}
