//! Byte strings of one length: FixedString, UUID.

use super::kind::{Kind, check_codes};
use crate::encoding::cut_short;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, Fixed, Strings, Vector};

pub struct FixedBytes {
    /// Bytes per value, at least 1.
    pub width: usize,
}

impl Kind for FixedBytes {
    type Dictionary = Buffer;
    type Column = Vec<u8>;

    fn width(&self) -> Option<usize> {
        Some(self.width)
    }

    fn dictionary(&self, page: Buffer, n: usize) -> Result<Buffer> {
        let total = n.checked_mul(self.width).filter(|&total| total <= page.len());
        let Some(total) = total else { return Err(cut_short("dictionary")) };
        Ok(page.slice_with_length(0, total))
    }

    fn n_values(&self, dictionary: &Buffer) -> usize {
        dictionary.len() / self.width
    }

    fn start(&self, rows: usize) -> Vec<u8> {
        Vec::with_capacity(rows.saturating_mul(self.width).min(1 << 24))
    }

    fn len(&self, column: &Vec<u8>) -> usize {
        column.len() / self.width
    }

    fn push_codes(&self, column: &mut Vec<u8>, dictionary: &Buffer, codes: &[u32]) -> Result<()> {
        check_codes(codes, dictionary.len() / self.width)?;
        for &code in codes {
            let start = code as usize * self.width;
            column.extend_from_slice(&dictionary[start..start + self.width]);
        }
        Ok(())
    }

    fn push_fixed(&self, column: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
        column.extend_from_slice(bytes);
        Ok(())
    }

    fn push_texts(&self, _: &mut Vec<u8>, _: &Buffer, _: usize, _: usize) -> Result<usize> {
        Err(cut_short("fixed-size values"))
    }

    fn push_strings(&self, column: &mut Vec<u8>, strings: &Strings) -> Result<()> {
        for text in strings.iter() {
            ensure!(
                text.len() == self.width,
                INCORRECT_DATA,
                "Parquet value has {} bytes where {} are stored",
                text.len(),
                self.width
            );
            column.extend_from_slice(text);
        }
        Ok(())
    }

    fn expand(&self, column: &mut Vec<u8>, _: Option<&Buffer>, start: usize, valid: &BooleanBuffer) {
        let width = self.width;
        let mut from = column.len() / width;
        column.resize((start + valid.len()) * width, 0);
        for row in (start..start + valid.len()).rev() {
            if valid.value(row - start) {
                from -= 1;
                column.copy_within(from * width..(from + 1) * width, row * width);
            } else {
                column[row * width..(row + 1) * width].fill(0);
            }
        }
    }

    fn retain(&self, column: &mut Vec<u8>, start: usize, selected: &BooleanBuffer) {
        let width = self.width;
        let mut to = start;
        for row in selected.set_indices() {
            column.copy_within((start + row) * width..(start + row + 1) * width, to * width);
            to += 1;
        }
        column.truncate(to * width);
    }

    fn finish(&self, column: Vec<u8>, _: Option<&Buffer>, validity: Option<NullBuffer>) -> Column {
        Vector::new(Data::Fixed(Fixed { width: self.width, bytes: column.into() }), validity).into()
    }
}
