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
        let spacing = Spacing::new(size, call.n_rows);
        let code = |row: usize| {
            let mut code = 0;
            for (index, values) in coordinates.iter().enumerate() {
                let value =
                    ratios.get(index).map_or(values[row], |&ratio| spread(values[row], ratio as usize));
                code |= spacing.place(value) << index;
            }
            code
        };
        Ok(Vector::from((0..call.n_rows).map(code).collect::<Vec<u64>>()).into())
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

/// The bits of a coordinate at every `size`-th place from `first` on, as many as fit.
fn place(value: u64, size: usize, first: usize) -> u64 {
    let mut out = 0;
    for bit in 0..64 / size {
        out |= (value >> bit & 1) << (bit * size + first);
    }
    out
}

/// Bits of a coordinate apart, the first of them at the lowest place.
struct Spacing {
    size: usize,
    /// The bits of every byte, unless there are few rows.
    bytes: Option<Box<[u64; 256]>>,
}

impl Spacing {
    fn new(size: usize, n_rows: usize) -> Spacing {
        let of_byte =
            |byte| (0..8.min(64 / size)).fold(0, |out, bit| out | (byte as u64 >> bit & 1) << (bit * size));
        Spacing { size, bytes: (n_rows > 256).then(|| Box::new(std::array::from_fn(of_byte))) }
    }

    fn place(&self, value: u64) -> u64 {
        let Some(bytes) = &self.bytes else { return place(value, self.size, 0) };
        // The bits of a coordinate that fit.
        let used = 64 / self.size;
        let value = value & (u64::MAX >> (64 - used));
        let of_byte = |at: usize| bytes[usize::from((value >> (8 * at)) as u8)] << (8 * at * self.size);
        (0..used.div_ceil(8)).fold(0, |code, at| code | of_byte(at))
    }
}

/// The bits at every `size`-th place from `first` on, together.
fn collect(code: u64, size: usize, first: usize) -> u64 {
    (0..64 / size).fold(0, |out, bit| out | (code >> (bit * size + first) & 1) << bit)
}

/// Each bit becomes `ratio` of them, the last of which is set.
fn spread(value: u64, ratio: usize) -> u64 {
    place(value, ratio, ratio - 1)
}
