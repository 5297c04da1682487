//! `mortonEncode` and `mortonDecode`: the place of a point on the Z-order curve, which takes bits of its coordinates
//! in turn.

use super::ratios::{check_decoder, check_encoder, decoded, encoder_values};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

/// Coordinates at most.
const MOST: usize = 8;

pub static ENCODE: Plain = Plain {
    record: Record {
        name: "mortonEncode",
        summary: "The place on the Z-order curve of a point of up to 8 coordinates; a tuple of ratios before them spreads the bits of each.",
        syntax: "mortonEncode([ratios,] x1, ...)",
        examples: &[Example { sql: "SELECT mortonEncode(1, 2, 3)", result: "53" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_encoder(name, args, MOST, ", max: 8")?;
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (ratios, coordinates) = encoder_values(call, 1..=8)?;
        let size = coordinates.len();
        // Of one coordinate all bits are in their places.
        if let (1, true, Some(only)) = (size, ratios.is_empty(), coordinates.first()) {
            return Ok(Vector::from(only.clone()).into());
        }
        let spacing = Spacing::new(size);
        let mut codes = vec![0u64; call.n_rows];
        for (index, values) in coordinates.iter().enumerate() {
            // Each bit becomes `ratio` of them, the last of which is set.
            let spread = ratios.get(index).map(|&ratio| (Spacing::new(ratio as usize), ratio - 1));
            let rows = codes.iter_mut().zip(values);
            match spread {
                None => rows.for_each(|(code, &value)| *code |= spacing.place(value) << index),
                Some((ratio, last)) => rows.for_each(|(code, &value)| {
                    *code |= spacing.place(ratio.place(value) << last) << index;
                }),
            }
        }
        Ok(Vector::from(codes).into())
    },
};

pub static DECODE: Plain = Plain {
    record: Record {
        name: "mortonDecode",
        summary: "The coordinates of a place on the Z-order curve: as many as the first argument says, or one for each ratio of a tuple.",
        syntax: "mortonDecode(size_or_ratios, code)",
        examples: &[Example { sql: "SELECT mortonDecode(3, 53)", result: "(1,2,3)" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 2..=2)?;
        let (result, ratios) = check_decoder(name, args, MOST, 1..=8)?;
        Ok(Bound::with_state(result, ratios))
    },
    execute: |call: &Call| -> Result<Column> {
        let ratios: &Vec<Option<u64>> = call.state()?;
        let size = ratios.len();
        decoded(call, size, |code, values| {
            for (index, (value, ratio)) in values.iter_mut().zip(ratios).enumerate() {
                let own = collect(code, size, index);
                *value = ratio.map_or(own, |ratio| collect(own, ratio as usize, ratio as usize - 1));
            }
        })
    },
};

/// Puts the bits of a coordinate apart: each step parts runs of bits in the middle.
struct Spacing {
    /// The bits that fit.
    used: u64,
    /// How far the upper halves of runs are shifted, and the bits of all halves.
    steps: [(u32, u64); STEPS],
}

/// Runs of up to 64 bits.
const STEPS: usize = 6;

impl Spacing {
    /// For every `size`-th place.
    fn new(size: usize) -> Spacing {
        let fit = 64 / size;
        let step = |at: usize| {
            let half = 1 << (STEPS - 1 - at);
            // Longer halves than there are bits leave all as it is.
            if half >= fit {
                return (0, u64::MAX);
            }
            let places = (0..fit).map(|bit| bit / half * half * size + bit % half);
            ((half * (size - 1)) as u32, places.fold(0, |all, place| all | 1 << place))
        };
        Spacing { used: u64::MAX >> (64 - fit), steps: std::array::from_fn(step) }
    }

    /// The bits of a coordinate at every `size`-th place from the lowest on, as many as fit.
    #[inline(always)]
    fn place(&self, value: u64) -> u64 {
        let parted = |bits: u64, (shift, halves): &(u32, u64)| (bits | bits << shift) & halves;
        self.steps.iter().fold(value & self.used, parted)
    }
}

/// The bits at every `size`-th place from `first` on, together.
fn collect(code: u64, size: usize, first: usize) -> u64 {
    (0..64 / size).fold(0, |out, bit| out | (code >> (bit * size + first) & 1) << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_in_their_places() {
        let values = [0, 1, 2, 0x5a5a_1234_dead_beef, u64::MAX, 1 << 31, 1 << 20, 0xffff_0000];
        for (size, value) in (1..=MOST).flat_map(|size| values.map(|value| (size, value))) {
            let bits = (0..64 / size).filter(|bit| value >> bit & 1 == 1);
            let expected = bits.fold(0, |code, bit| code | 1u64 << (bit * size));
            assert_eq!(Spacing::new(size).place(value), expected, "{size} {value}");
            let kept = value & (u64::MAX >> (64 - 64 / size));
            assert_eq!(collect(expected, size, 0), kept);
        }
    }
}
