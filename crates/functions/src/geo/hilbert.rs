//! `hilbertEncode` and `hilbertDecode`: the place of a point on the Hilbert curve, whose neighbours are neighbours in
//! the plane.

use super::ratios::{check_decoder, check_encoder, decoded, encoder_values};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static ENCODE: Plain = Plain {
    record: Record {
        name: "hilbertEncode",
        summary: "The place on the Hilbert curve of a point of one or two coordinates; a tuple before them says by how many bits each is shifted.",
        syntax: "hilbertEncode([shifts,] x[, y])",
        examples: &[Example { sql: "SELECT hilbertEncode(3, 4)", result: "31" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_encoder(name, args, 2, ": should be not more than 2 dimensions")?;
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (shifts, coordinates) = encoder_values(call, 0..=32)?;
        let value = |index: usize, row: usize| coordinates[index][row] << shifts.get(index).unwrap_or(&0);
        let codes: Vec<u64> =
            (0..call.n_rows)
                .map(|row| {
                    if coordinates.len() == 1 { value(0, row) } else { encode(value(0, row), value(1, row)) }
                })
                .collect();
        Ok(Vector::from(codes).into())
    },
};

pub static DECODE: Plain = Plain {
    record: Record {
        name: "hilbertDecode",
        summary: "The coordinates of a place on the Hilbert curve: one or two as the first argument says, or one for each shift of a tuple.",
        syntax: "hilbertDecode(size_or_shifts, code)",
        examples: &[Example { sql: "SELECT hilbertDecode(2, 31)", result: "(3,4)" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 2..=2)?;
        let (result, shifts) = check_decoder(name, args, 2, 0..=32)?;
        Ok(Bound::with_state(result, shifts))
    },
    execute: |call: &Call| -> Result<Column> {
        let shifts: &Vec<Option<u64>> = call.state()?;
        decoded(call, shifts.len(), |code, values| {
            match values {
                [x, y] => (*x, *y) = decode(code),
                _ => values.fill(code),
            }
            values.iter_mut().zip(shifts).for_each(|(value, shift)| *value >>= shift.unwrap_or(0));
        })
    },
};

/// Bits of a coordinate.
const LEVELS: u32 = 32;

/// The place of a point; 0 when a coordinate is too great.
fn encode(x: u64, y: u64) -> u64 {
    if (x | y) >> LEVELS != 0 {
        return 0;
    }
    // The curve of an odd number of levels begins upwards: one level above all bits exchanges the two.
    let mut turn = SWAPPED;
    let mut code = 0;
    // Levels without a bit add nothing, and four of them leave the curve as it lies.
    let used = (u64::BITS - (x | y).leading_zeros()).next_multiple_of(STEP as u32);
    for level in (0..used).step_by(STEP).rev() {
        let nibbles = x >> level & 15 | (y >> level & 15) << 4;
        let (digits, next) = STEPS[turn as usize][nibbles as usize];
        code = code << (2 * STEP) | u64::from(digits);
        turn = next;
    }
    code
}

/// Levels that are looked up at once.
const STEP: usize = 4;

/// How the curve lies in a square: its coordinates are exchanged, and both are counted from the other end.
const SWAPPED: u8 = 1;
const INVERTED: u8 = 2;

/// By how the curve lies and the next bits of both coordinates: the digits of the code, and how the curve lies from there on.
static STEPS: [[(u8, u8); 256]; 4] = {
    let mut steps = [[(0, 0); 256]; 4];
    let mut at = 0;
    while at < 4 * 256 {
        let (mut turn, nibbles) = ((at / 256) as u8, at % 256);
        let mut code = 0;
        let mut level = STEP;
        while level > 0 {
            level -= 1;
            let inverted = (turn & INVERTED != 0) as usize;
            let (x, y) = (nibbles >> level & 1 ^ inverted, nibbles >> (level + 4) & 1 ^ inverted);
            let (right, up) = if turn & SWAPPED != 0 { (y, x) } else { (x, y) };
            code = code << 2 | (3 * right) ^ up;
            if up == 0 {
                turn ^= SWAPPED | if right == 1 { INVERTED } else { 0 };
            }
        }
        steps[at / 256][nibbles] = (code as u8, turn);
        at += 1;
    }
    steps
};

fn decode(code: u64) -> (u64, u64) {
    let (mut x, mut y) = (0u64, 0u64);
    for level in 0..LEVELS {
        let digit = code >> (2 * level) & 3;
        let right = digit >> 1;
        let up = (digit ^ right) & 1;
        if up == 0 {
            if right == 1 {
                let mask = (1 << level) - 1;
                (x, y) = (mask - x, mask - y);
            }
            (x, y) = (y, x);
        }
        x |= right << level;
        y |= up << level;
    }
    (y, x)
}
