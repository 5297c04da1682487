//! `bitmaskToList`, `bitmaskToArray`, `bitPositionsToArray`: the bits of a number.

use crate::arithmetic::convert_numbers;
use crate::lanes::{Operand, unary};
use crate::lists::list;
use crate::plain::Plain;
use crate::string_args::{Kind, build, expect};
use chalet_base::{Result, ensure};
use chalet_columns::Vector;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

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
        let powers: Vec<String> = (0..64)
            .map(|bit| format!("{}{}", if Some(bit) == sign { "-" } else { "" }, 1u64 << bit))
            .collect();
        Ok(build(call.n_rows, |row, out| {
            for (n, bit) in positions(bits[row]).enumerate() {
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
        let bits = bits(call)?;
        let (mut powers, mut offsets) =
            (Vec::with_capacity(count(&bits)), Vec::with_capacity(bits.len() + 1));
        offsets.push(0);
        for mask in bits {
            powers.extend(positions(mask).map(|bit| 1u64 << bit));
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
            found.extend(positions(mask));
            offsets.push(found.len() as i64);
        }
        Ok(list(offsets, Vector::from(found)).into())
    },
};

fn positions_type(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    integer(name, args)?;
    Ok(DataType::UInt64.array().into())
}

fn integer(name: &str, args: &[Argument]) -> Result<()> {
    expect(name, args, 1, &[Kind::Any])?;
    let ty = &args[0].ty;
    ensure!(
        ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of function {name}"
    );
    Ok(())
}

/// The bits of the argument's own width.
fn bits(call: &Call) -> Result<Vec<u64>> {
    let width = 8 * call.args[0].ty.physical().width().unwrap_or(8) as u32;
    unary::<u64, u64>(Operand::of(call, 0), call.n_rows, |x| x & (u64::MAX >> (64 - width)))
}

/// How many bits are set in all.
fn count(masks: &[u64]) -> usize {
    masks.iter().map(|mask| mask.count_ones() as usize).sum()
}

/// The bits that are set, the lowest first.
fn positions(mut mask: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros().into());
        mask &= mask.wrapping_sub(1);
        bit
    })
}
