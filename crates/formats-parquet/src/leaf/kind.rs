//! What differs between kinds of values: how they are stored, gathered, spread over NULLs and finished.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Strings};

pub trait Kind: Send + 'static {
    /// The values of a dictionary page.
    type Dictionary: Send + Sync + 'static;
    /// The column being read.
    type Column: Send;

    /// Is a part of a dictionary decoded much quicker than all of it?
    const IN_PARTS: bool = false;

    /// Bytes of a plain value; `None` where a length stands before each.
    fn width(&self) -> Option<usize>;

    /// The first `n` plain values of a dictionary page.
    fn dictionary(&self, page: Buffer, n: usize) -> Result<Self::Dictionary>;

    fn n_values(&self, dictionary: &Self::Dictionary) -> usize;

    /// Bytes that it holds, where making it takes long; 0: it is not worth keeping.
    fn dictionary_weight(&self, _dictionary: &Self::Dictionary) -> usize {
        0
    }

    fn start(&self, rows: usize) -> Self::Column;

    /// The same for rows that are few for a dictionary: their codes wait for as much of it as they need, which `decode` gets.
    fn start_few(&self, rows: usize) -> Self::Column {
        self.start(rows)
    }

    /// The codes that wait.
    fn codes<'c>(&self, _column: &'c Self::Column) -> &'c [u32] {
        &[]
    }

    /// Appends codes that wait; whether the dictionary has them is not known yet.
    fn push_open_codes(&self, _column: &mut Self::Column, _codes: &[u32]) {}

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

/// [`Kind::expand`] of a vector, from the last value to the first, 64 rows at once.
pub fn expand<T: Copy>(values: &mut Vec<T>, start: usize, valid: &BooleanBuffer, filler: T) {
    let mut from = values.len();
    values.resize(start + valid.len(), filler);
    let words: Vec<u64> = valid.bit_chunks().iter_padded().collect();
    for (i, &word) in words.iter().enumerate().rev() {
        let rows = start + i * 64..(start + i * 64 + 64).min(values.len());
        if from == rows.end {
            // As many values as rows are left: they stand in their places.
            break;
        }
        if word == 0 {
            values[rows].fill(filler);
        } else if word.count_ones() as usize == rows.len() {
            from -= rows.len();
            values.copy_within(from..from + rows.len(), rows.start);
        } else {
            // Without a branch for each row, which could not be foreseen.
            for bit in (0..rows.len()).rev() {
                let is_valid = word >> bit & 1 == 1;
                from -= usize::from(is_valid);
                let value = values[from];
                values[rows.start + bit] = if is_valid { value } else { filler };
            }
        }
    }
}

/// [`Kind::retain`] of a vector, 64 rows at once.
pub fn retain<T: Copy>(values: &mut Vec<T>, start: usize, selected: &BooleanBuffer) {
    /// From so many selected rows on, the runs of these are fewer than they.
    const MANY: u32 = 48;
    let mut to = start;
    for (chunk, mut word) in selected.bit_chunks().iter_padded().enumerate() {
        let mut from = start + chunk * 64;
        if word.count_ones() < MANY {
            while word != 0 {
                values[to] = values[from + word.trailing_zeros() as usize];
                to += 1;
                word &= word - 1;
            }
            continue;
        }
        while word != 0 {
            from += word.trailing_zeros() as usize;
            word >>= word.trailing_zeros();
            let run = word.trailing_ones();
            values.copy_within(from..from + run as usize, to);
            to += run as usize;
            from += run as usize;
            word = word.checked_shr(run).unwrap_or(0);
        }
    }
    values.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is selected stays in its order, whether it is little or nearly all.
    #[test]
    fn retains_what_is_selected() {
        for n in [0usize, 1, 63, 64, 65, 200, 1000] {
            for most in [0, 1, 20, 50, 63, 64] {
                let bits: Vec<bool> = (0..n).map(|row| row * 37 % 64 < most).collect();
                for (start, offset) in [(0, 0), (3, 0), (3, 5)] {
                    let selected = BooleanBuffer::from(bits.clone());
                    let selected = selected.slice(offset.min(n), n - offset.min(n));
                    let mut values: Vec<u32> = (0..(start + selected.len()) as u32).collect();
                    let mut expected: Vec<u32> = (0..start as u32).collect();
                    expected.extend(selected.set_indices().map(|row| (start + row) as u32));
                    retain(&mut values, start, &selected);
                    assert_eq!(values, expected, "{n} rows, {most} of 64");
                }
            }
        }
    }

    /// Values go where the bits are, whatever their number and place.
    #[test]
    fn spreads_over_the_bits() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        for n in [0usize, 1, 63, 64, 65, 200, 1000] {
            for most in [0, 1, 50, 99, 100] {
                // Stretches of NULLs and of values among the mixed ones.
                let bits: Vec<bool> = (0..n)
                    .map(|row| row / 130 % 3 != 1 && (row / 130 % 3 == 2 || random() % 100 < most))
                    .collect();
                let valid = BooleanBuffer::from(bits.clone());
                for start in [0, 3] {
                    let mut values: Vec<u32> = (0..start).collect();
                    let mut expected = values.clone();
                    let mut next = 100;
                    for &bit in &bits {
                        expected.push(if bit { next } else { 9 });
                        next += u32::from(bit);
                    }
                    values.extend(100..next);
                    expand(&mut values, start as usize, &valid, 9);
                    assert_eq!(values, expected, "{n} rows, {most} %");
                }
            }
        }
    }
}
