//! What differs between kinds of values: how they are stored, gathered, spread over NULLs and finished.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Strings};

pub trait Kind: Send + 'static {
    /// The values of a dictionary page.
    type Dictionary: Send;
    /// The column being read.
    type Column: Send;

    /// Bytes of a plain value; `None` where a length stands before each.
    fn width(&self) -> Option<usize>;

    /// The `n` plain values of a dictionary page.
    fn dictionary(&self, page: Buffer, n: usize) -> Result<Self::Dictionary>;

    fn start(&self, rows: usize) -> Self::Column;
    fn len(&self, column: &Self::Column) -> usize;

    /// Appends the values of codes; a code beyond the dictionary is an error.
    fn push_codes(
        &self,
        column: &mut Self::Column,
        dictionary: &Self::Dictionary,
        codes: &[u32],
    ) -> Result<()>;

    /// Appends plain values of one width.
    fn push_fixed(&self, column: &mut Self::Column, bytes: &[u8]) -> Result<()>;

    /// Appends `n` plain values with lengths from `at` on; returns where the next begins.
    fn push_texts(&self, column: &mut Self::Column, page: &Buffer, at: usize, n: usize) -> Result<usize>;

    /// Appends values that are strings already.
    fn push_strings(&self, column: &mut Self::Column, strings: &Strings) -> Result<()>;

    /// Spreads the values from `start` on over the set bits, which are as many; something stands at the others.
    fn expand(
        &self,
        column: &mut Self::Column,
        dictionary: Option<&Self::Dictionary>,
        start: usize,
        valid: &BooleanBuffer,
    );

    /// Keeps of the values from `start` on those whose bit is set.
    fn retain(&self, column: &mut Self::Column, start: usize, selected: &BooleanBuffer);

    /// Called before values other than codes are appended.
    fn decode(&self, _column: &mut Self::Column, _dictionary: Option<&Self::Dictionary>) -> Result<()> {
        Ok(())
    }

    fn finish(
        &self,
        column: Self::Column,
        dictionary: Option<&Self::Dictionary>,
        validity: Option<NullBuffer>,
    ) -> Column;
}

/// Codes of a page must name values of the dictionary.
pub fn check_codes(codes: &[u32], len: usize) -> Result<()> {
    let largest = dispatch_simd(|| codes.iter().copied().fold(0, u32::max));
    if !codes.is_empty() && largest as usize >= len {
        bail!(INCORRECT_DATA, "Parquet dictionary has {len} values, a page refers to number {largest}");
    }
    Ok(())
}

/// Appends `from[code]` for every code.
pub fn gather<T: Copy>(from: &[T], codes: &[u32], out: &mut Vec<T>) -> Result<()> {
    check_codes(codes, from.len())?;
    // SAFETY: `check_codes` found every code below the length.
    out.extend(codes.iter().map(|&code| unsafe { *from.get_unchecked(code as usize) }));
    Ok(())
}

/// [`Kind::expand`] of a vector.
pub fn expand<T: Copy>(values: &mut Vec<T>, start: usize, valid: &BooleanBuffer, filler: T) {
    let mut from = values.len();
    values.resize(start + valid.len(), filler);
    for row in (0..valid.len()).rev() {
        if from == start + row + 1 {
            // As many values as rows are left: they stand in their places.
            break;
        }
        values[start + row] = if valid.value(row) {
            from -= 1;
            values[from]
        } else {
            filler
        };
    }
}

/// [`Kind::retain`] of a vector.
pub fn retain<T: Copy>(values: &mut Vec<T>, start: usize, selected: &BooleanBuffer) {
    let mut to = start;
    for row in selected.set_indices() {
        values[to] = values[start + row];
        to += 1;
    }
    values.truncate(to);
}
