//! Byte strings of any length. Views point into the pages; a column that is dictionary-coded stays so on request.

use super::kind::{Kind, check_codes, expand, gather, retain};
use crate::encoding::{byte_array, cut_short};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::{Result, ensure};
use chalet_columns::strings::INLINE;
use chalet_columns::{Column, Strings, Vector};

pub struct Text {
    pub keep_dictionary: bool,
    pub nullable: bool,
}

pub struct Dictionary {
    page: Buffer,
    views: Vec<u128>,
    /// The same as a vector; of a nullable column with NULL behind the values.
    values: Vector,
}

/// Codes as long as every page has codes, else views.
pub struct TextColumn {
    coded: bool,
    codes: Vec<u32>,
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// Where in `buffers` the dictionary is, or the part of it that was decoded last.
    dictionary_buffer: Option<u32>,
}

impl TextColumn {
    /// The number of a page among the buffers.
    fn buffer(&mut self, page: &Buffer) -> u32 {
        let known = self.buffers.last().is_some_and(|last| std::ptr::eq(last.as_ptr(), page.as_ptr()));
        if !known {
            self.buffers.push(page.clone());
        }
        self.buffers.len() as u32 - 1
    }

    fn push_dictionary_views(&mut self, dictionary: &Dictionary, codes: &[u32]) -> Result<()> {
        let is_same =
            |&number: &u32| std::ptr::eq(self.buffers[number as usize].as_ptr(), dictionary.page.as_ptr());
        let buffer = match self.dictionary_buffer.filter(is_same) {
            Some(buffer) => buffer,
            None => {
                let buffer = self.buffer(&dictionary.page);
                self.dictionary_buffer = Some(buffer);
                buffer
            }
        };
        let start = self.views.len();
        gather(&dictionary.views, codes, &mut self.views)?;
        if buffer > 0 {
            for view in &mut self.views[start..] {
                if *view as u32 as usize > INLINE {
                    *view += u128::from(buffer) << 64;
                }
            }
        }
        Ok(())
    }

    /// Views instead of codes, because a page has none.
    fn decode(&mut self, dictionary: Option<&Dictionary>) -> Result<()> {
        if !self.coded {
            return Ok(());
        }
        self.coded = false;
        let codes = std::mem::take(&mut self.codes);
        match dictionary {
            Some(dictionary) => {
                let nulls = dictionary.views.len() as u32;
                // Codes of NULL stand behind the values; any view will do there.
                let known: Vec<u32> =
                    codes.iter().map(|&code| if code == nulls { 0 } else { code }).collect();
                if dictionary.views.is_empty() {
                    self.views.resize(self.views.len() + known.len(), 0);
                    return Ok(());
                }
                self.push_dictionary_views(dictionary, &known)
            }
            // Without a dictionary there were no values yet, only NULLs.
            None => {
                self.views.resize(self.views.len() + codes.len(), 0);
                Ok(())
            }
        }
    }
}

/// Buffers are told apart by 32 bits in a view, and their bytes too.
const MAX_PAGE: usize = u32::MAX as usize;

impl Kind for Text {
    type Dictionary = Dictionary;
    type Column = TextColumn;
    const IN_PARTS: bool = true;

    fn width(&self) -> Option<usize> {
        None
    }

    fn dictionary(&self, page: Buffer, n: usize) -> Result<Dictionary> {
        ensure!(
            page.len() < MAX_PAGE,
            INCORRECT_DATA,
            "Parquet dictionary of {} bytes is too large",
            page.len()
        );
        // Each value has a length of four bytes.
        ensure!(
            n <= page.len() / 4,
            INCORRECT_DATA,
            "Parquet dictionary of {} bytes has {n} values",
            page.len()
        );
        let mut views = Vec::new();
        byte_array::plain(&page, 0, n, 0, &mut views)?;
        let mut all = views.clone();
        let validity = self.nullable.then(|| {
            all.push(0);
            NullBuffer::from_iter((0..=n).map(|i| i < n))
        });
        // SAFETY: `plain` made the views from slices of this buffer.
        let strings = unsafe { Strings::from_views(all.into(), [page.clone()].into()) };
        let values = Vector::new(chalet_columns::Data::Str(strings), validity);
        Ok(Dictionary { page, views, values })
    }

    fn n_values(&self, dictionary: &Dictionary) -> usize {
        dictionary.views.len()
    }

    fn dictionary_weight(&self, dictionary: &Dictionary) -> usize {
        dictionary.page.len() + 2 * size_of_val(&*dictionary.views)
    }

    fn start(&self, rows: usize) -> TextColumn {
        let coded = self.keep_dictionary;
        TextColumn {
            coded,
            codes: Vec::with_capacity(if coded { rows } else { 0 }),
            views: Vec::with_capacity(if coded { 0 } else { rows }),
            buffers: Vec::new(),
            dictionary_buffer: None,
        }
    }

    fn start_few(&self, rows: usize) -> TextColumn {
        Text { keep_dictionary: true, ..*self }.start(rows)
    }

    fn codes<'c>(&self, column: &'c TextColumn) -> &'c [u32] {
        &column.codes
    }

    fn push_open_codes(&self, column: &mut TextColumn, codes: &[u32]) {
        column.codes.extend_from_slice(codes);
    }

    fn len(&self, column: &TextColumn) -> usize {
        if column.coded { column.codes.len() } else { column.views.len() }
    }

    fn push_codes(&self, column: &mut TextColumn, dictionary: &Dictionary, codes: &[u32]) -> Result<()> {
        if column.coded {
            check_codes(codes, dictionary.views.len())?;
            column.codes.extend_from_slice(codes);
            return Ok(());
        }
        column.push_dictionary_views(dictionary, codes)
    }

    fn push_fixed(&self, _: &mut TextColumn, _: &[u8]) -> Result<()> {
        Err(cut_short("strings"))
    }

    fn push_texts(&self, column: &mut TextColumn, page: &Buffer, at: usize, n: usize) -> Result<usize> {
        let buffer = column.buffer(page);
        byte_array::plain(page, at, n, buffer, &mut column.views)
    }

    fn push_strings(&self, column: &mut TextColumn, strings: &Strings) -> Result<()> {
        // What is taken of a page in several pieces shares its buffer.
        let shift = match &**strings.buffers() {
            [only] => column.buffer(only),
            several => {
                column.buffers.extend(several.iter().cloned());
                (column.buffers.len() - several.len()) as u32
            }
        };
        let shift = u128::from(shift) << 64;
        let moved = |&view: &u128| if view as u32 as usize <= INLINE { view } else { view + shift };
        column.views.extend(strings.views().iter().map(moved));
        Ok(())
    }

    fn expand(
        &self,
        column: &mut TextColumn,
        dictionary: Option<&Dictionary>,
        start: usize,
        valid: &BooleanBuffer,
    ) {
        if column.coded {
            let null = dictionary.map_or(0, |dictionary| dictionary.views.len() as u32);
            expand(&mut column.codes, start, valid, null);
        } else {
            expand(&mut column.views, start, valid, 0);
        }
    }

    fn retain(&self, column: &mut TextColumn, start: usize, selected: &BooleanBuffer) {
        if column.coded {
            retain(&mut column.codes, start, selected);
        } else {
            retain(&mut column.views, start, selected);
        }
    }

    fn decode(&self, column: &mut TextColumn, dictionary: Option<&Dictionary>) -> Result<()> {
        column.decode(dictionary)
    }

    fn finish(
        &self,
        mut column: TextColumn,
        dictionary: Option<&Dictionary>,
        validity: Option<NullBuffer>,
    ) -> Column {
        if column.coded
            && let Some(dictionary) = dictionary
        {
            return Column::Dict { codes: column.codes.into(), values: dictionary.values.clone() };
        }
        if column.coded {
            // Only NULLs, or nothing at all.
            column.views = vec![0; column.codes.len()];
        }
        // SAFETY: every view was made from a slice of its page, and the pages are kept with them.
        let strings = unsafe { Strings::from_views(column.views.into(), column.buffers.into()) };
        Vector::new(chalet_columns::Data::Str(strings), validity).into()
    }
}
