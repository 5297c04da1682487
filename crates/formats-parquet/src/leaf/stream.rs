//! Pages, levels and NULLs of a leaf, the same for all kinds of values.
//!
//! A page is decompressed when the first of its values is needed: rows that are passed by cost a look at the
//! page's header only, as long as they are whole pages.

use super::dictionary::ChunkDictionary;
use super::kind::Kind;
use super::values::Values;
use super::{LeafReader, Levels};
use crate::dictionaries;
use crate::encoding::cut_short;
use crate::encoding::rle::Rle;
use crate::page::{Pages, StoredPage};
use crate::schema::Leaf;
use crate::thrift::{PageKind, encoding};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer};
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};

pub struct Stream<K: Kind> {
    kind: K,
    leaf: Leaf,
    pages: Pages,
    dictionary: ChunkDictionary<K>,
    page: Option<Page>,
    /// Codes and levels on their way; kept for their memory.
    scratch: Vec<u32>,
}

/// The current page.
struct Page {
    /// Entries not yet read or passed by.
    left: usize,
    state: State,
}

enum State {
    /// Still compressed; `skip` entries are to be passed by first.
    Stored {
        page: StoredPage,
        skip: usize,
    },
    Open(Open),
}

struct Open {
    repetition: Option<Rle>,
    definition: Option<Rle>,
    values: Values,
    /// The whole page, to use its memory again.
    memory: Buffer,
    /// Of a nested leaf: levels that were decoded, and how many of them are done with.
    ahead: Levels,
    taken: usize,
}

/// A column being read.
struct Output<K: Kind> {
    column: K::Column,
    validity: Option<BooleanBufferBuilder>,
    /// Are its rows few for the dictionary?
    is_few: bool,
}

impl<K: Kind> Stream<K> {
    /// `key` is the column chunk, where its dictionary may be kept.
    pub fn new(kind: K, leaf: &Leaf, pages: Pages, key: Option<dictionaries::Key>) -> Self {
        let leaf = leaf.clone();
        Stream { kind, leaf, pages, dictionary: ChunkDictionary::new(key), page: None, scratch: Vec::new() }
    }

    /// Makes a page current that has entries left; `false` at the end of the chunk.
    fn advance(&mut self) -> Result<bool> {
        loop {
            match &self.page {
                Some(page) if page.left > 0 => return Ok(true),
                _ => {}
            }
            if let Some(Page { state: State::Open(open), .. }) = self.page.take() {
                let Open { repetition, definition, values, memory, .. } = open;
                drop((repetition, definition, values));
                self.pages.recycle(memory);
            }
            let Some(page) = self.pages.next()? else { return Ok(false) };
            if page.header.kind == PageKind::Dictionary {
                self.dictionary.found(page)?;
                continue;
            }
            self.page = Some(Page { left: page.header.n_values, state: State::Stored { page, skip: 0 } });
        }
    }

    /// The current page, which `advance` found, decompressed and with its levels taken apart.
    fn open(&mut self) -> Result<()> {
        let Some(Page { state: State::Stored { page, skip }, .. }) = &self.page else { return Ok(()) };
        let (stored, skip) = (page, *skip);
        let header = &stored.header;
        let (levels, memory) = self.pages.load(stored)?;
        let (max_repetition, max_definition) = (self.leaf.max_repetition, self.leaf.max_definition);
        let (repetition, definition, bytes) = match header.v2 {
            Some(v2) => {
                let cut = v2.repetition_bytes;
                let part = |max: i16, bytes: Buffer| (max > 0).then(|| level_reader(bytes, max)).transpose();
                (
                    part(max_repetition, levels.slice_with_length(0, cut))?,
                    part(max_definition, levels.slice(cut))?,
                    memory.clone(),
                )
            }
            None => {
                ensure!(
                    max_definition == 0 || header.definition_encoding == encoding::RLE,
                    NOT_IMPLEMENTED,
                    "Parquet levels of the deprecated encoding {} are not supported",
                    header.definition_encoding
                );
                let mut bytes = memory.clone();
                let repetition = prefixed_levels(&mut bytes, max_repetition)?;
                let definition = prefixed_levels(&mut bytes, max_definition)?;
                (repetition, definition, bytes)
            }
        };
        // A page without a NULL is read as one of a column that cannot have any.
        let is_whole = |levels: &Rle| {
            max_repetition == 0 && levels.is_all(header.n_values, u32::from(max_definition.unsigned_abs()))
        };
        let definition = match definition {
            Some(levels) if switches::is_on(Switch::FullPages) && is_whole(&levels) => {
                events::count(Event::ParquetFullPages);
                None
            }
            definition => definition,
        };
        let (width, conversion) = (self.kind.width(), self.leaf.conversion);
        let values = Values::open(header.encoding, bytes, header.n_values, width, conversion)?;
        let ahead = Levels::default();
        let mut open = Open { repetition, definition, values, memory, ahead, taken: 0 };
        if skip > 0 {
            open.skip(skip, &self.leaf, &mut self.scratch)?;
        }
        if let Some(page) = &mut self.page {
            page.state = State::Open(open);
        }
        Ok(())
    }

    /// Appends the next `n` entries of the current page, which has them.
    fn read_part(&mut self, n: usize, out: &mut Output<K>) -> Result<()> {
        self.open()?;
        let Some(Page { left, state: State::Open(open) }) = &mut self.page else {
            bail!(LOGICAL_ERROR, "Parquet page is not open");
        };
        *left -= n;
        if !out.is_few && open.values.are_codes() {
            self.dictionary.decode(&self.kind, &mut self.pages)?;
        }
        let valid = open.validity(n, &self.leaf, &mut self.scratch)?;
        let n_values = valid.as_ref().map_or(n, |valid| valid.count_set_bits());
        let start = self.kind.len(&out.column);
        self.dictionary.count_used(n_values);
        match &mut open.values {
            Values::Codes(codes) if out.is_few => {
                self.scratch.clear();
                codes.read(n_values, &mut self.scratch)?;
                self.kind.push_open_codes(&mut out.column, &self.scratch);
            }
            values => {
                // What follows a page without codes is read as if there were many rows.
                if std::mem::take(&mut out.is_few) {
                    self.dictionary.covering(&self.kind, &mut self.pages, self.kind.codes(&out.column))?;
                }
                let dictionary = self.dictionary.decoded();
                values.take(n_values, &self.kind, &mut out.column, dictionary, &mut self.scratch)?;
            }
        }
        if let Some(valid) = &valid
            && n_values < n
        {
            let dictionary = self.dictionary.decoded().filter(|_| !out.is_few);
            self.kind.expand(&mut out.column, dictionary, start, valid);
        }
        match (&mut out.validity, valid) {
            (Some(validity), Some(valid)) => validity.append_buffer(&valid),
            (Some(validity), None) => validity.append_n(n, true),
            // A map's key is not NULL.
            (None, _) => {}
        }
        Ok(())
    }

    /// Passes `n` entries of the current page by, which has them.
    fn skip_part(&mut self, n: usize) -> Result<()> {
        let Some(page) = &mut self.page else { bail!(LOGICAL_ERROR, "Parquet page is not open") };
        page.left -= n;
        match &mut page.state {
            State::Stored { skip, .. } => {
                *skip += n;
                Ok(())
            }
            // What is behind is of no interest when nothing follows.
            State::Open(_) if page.left == 0 => Ok(()),
            State::Open(open) => open.skip(n, &self.leaf, &mut self.scratch),
        }
    }

    fn start(&self, rows: usize, is_few: bool) -> Output<K> {
        // A broken file may promise any number of rows.
        let capacity = rows.min(1 << 20);
        Output {
            column: if is_few { self.kind.start_few(capacity) } else { self.kind.start(capacity) },
            validity: self.leaf.nullable.then(|| BooleanBufferBuilder::new(capacity)),
            is_few,
        }
    }

    fn finish(&mut self, mut out: Output<K>) -> Result<Column> {
        if out.is_few {
            let codes = self.kind.codes(&out.column);
            let dictionary = self.dictionary.covering(&self.kind, &mut self.pages, codes)?;
            self.kind.decode(&mut out.column, dictionary)?;
        }
        let validity = out.validity.map(|mut bits| NullBuffer::new(bits.finish()));
        let validity = validity.filter(|validity| validity.null_count() > 0);
        Ok(self.kind.finish(out.column, self.dictionary.decoded(), validity))
    }
}

impl<K: Kind> Drop for Stream<K> {
    fn drop(&mut self) {
        self.dictionary.keep(&self.kind);
    }
}

/// Part of a block is read as single runs only when it keeps fewer than one row in this many.
const SPARSE: usize = 16;

impl<K: Kind> LeafReader for Stream<K> {
    fn read(&mut self, n: usize, selected: Option<&BooleanBuffer>) -> Result<Column> {
        let n_wanted = selected.map_or(n, |bits| bits.count_set_bits());
        // The dictionary comes before the first page.
        let is_few = n_wanted > 0 && self.advance()? && self.dictionary.is_for_few(&self.kind, n_wanted);
        let mut out = self.start(n_wanted, is_few);
        let mut done = 0;
        while done < n {
            if !self.advance()? {
                return Err(cut_short("rows"));
            }
            let part = self.page.as_ref().map_or(0, |page| page.left).min(n - done);
            let bits = selected.map(|bits| bits.slice(done, part));
            done += part;
            let Some(bits) = bits else {
                self.read_part(part, &mut out)?;
                continue;
            };
            let wanted = bits.count_set_bits();
            if wanted == 0 {
                self.skip_part(part)?;
            } else if wanted == part {
                self.read_part(part, &mut out)?;
            } else if wanted * SPARSE < part {
                let mut at = 0;
                for (start, end) in bits.set_slices() {
                    if start > at {
                        self.skip_part(start - at)?;
                    }
                    self.read_part(end - start, &mut out)?;
                    at = end;
                }
                if at < part {
                    self.skip_part(part - at)?;
                }
            } else {
                let start = self.kind.len(&out.column);
                let mut validity = out.validity.take();
                out.validity = validity.as_ref().map(|_| BooleanBufferBuilder::new(part));
                self.read_part(part, &mut out)?;
                self.kind.retain(&mut out.column, start, &bits);
                if let (Some(all), Some(mut these)) = (&mut validity, out.validity.take()) {
                    let these = these.finish();
                    bits.set_indices().for_each(|row| all.append(these.value(row)));
                }
                out.validity = validity;
            }
        }
        self.finish(out)
    }

    fn skip(&mut self, mut n: usize) -> Result<()> {
        while n > 0 {
            if !self.advance()? {
                return Err(cut_short("rows"));
            }
            let left = self.page.as_ref().map_or(0, |page| page.left);
            self.skip_part(left.min(n))?;
            n -= left.min(n);
            n -= self.pages.jump(n);
        }
        Ok(())
    }

    fn read_nested(&mut self, n: usize) -> Result<(Levels, Vector)> {
        let mut levels = Levels::default();
        let mut out = self.start(n, false);
        let mut rows = 0;
        // The row is only complete when the next one begins, or the chunk ends.
        'rows: while self.advance()? {
            self.open()?;
            let Some(Page { left, state: State::Open(open) }) = &mut self.page else {
                bail!(LOGICAL_ERROR, "Parquet page is not open");
            };
            let first = levels.definition.len();
            let mut complete = false;
            while *left > 0 {
                let (repetition, definition) = open.entry(*left)?;
                if repetition == 0 {
                    if rows == n {
                        complete = true;
                        break;
                    }
                    rows += 1;
                }
                ensure!(rows > 0, INCORRECT_DATA, "Parquet column chunk begins inside a row");
                levels.repetition.push(repetition);
                levels.definition.push(definition);
                open.taken += 1;
                *left -= 1;
            }
            if open.values.are_codes() {
                self.dictionary.decode(&self.kind, &mut self.pages)?;
            }
            // Values of these entries.
            let (max, slot) = (self.leaf.max_definition as u32, self.leaf.slot_definition as u32);
            let slots = levels.definition[first..].iter().filter(|&&level| level >= slot);
            let valid: BooleanBuffer = slots.map(|&level| level == max).collect();
            let (n_values, start) = (valid.count_set_bits(), self.kind.len(&out.column));
            open.values.take(
                n_values,
                &self.kind,
                &mut out.column,
                self.dictionary.decoded(),
                &mut self.scratch,
            )?;
            if n_values < valid.len() {
                self.kind.expand(&mut out.column, self.dictionary.decoded(), start, &valid);
            }
            if let Some(validity) = &mut out.validity {
                validity.append_buffer(&valid);
            }
            if complete {
                break 'rows;
            }
        }
        ensure!(rows == n, CANNOT_READ_ALL_DATA, "Parquet column chunk ends after {rows} of {n} rows");
        Ok((levels, self.finish(out)?.into_flat()))
    }
}

impl Open {
    /// Which of the next `n` entries of a leaf without lists are not NULL; `None`: all.
    fn validity(&mut self, n: usize, leaf: &Leaf, scratch: &mut Vec<u32>) -> Result<Option<BooleanBuffer>> {
        let Some(definition) = &mut self.definition else { return Ok(None) };
        if leaf.max_definition == 1 {
            let mut bits = BooleanBufferBuilder::new(n);
            definition.read_bits(n, &mut bits)?;
            return Ok(Some(bits.finish()));
        }
        scratch.clear();
        definition.read(n, scratch)?;
        let max = leaf.max_definition as u32;
        Ok(Some(scratch.iter().map(|&level| level == max).collect()))
    }

    /// Passes entries of a leaf without lists by.
    fn skip(&mut self, n: usize, leaf: &Leaf, scratch: &mut Vec<u32>) -> Result<()> {
        // In pieces, because a broken page may promise any number of entries.
        let mut left = n;
        while left > 0 {
            let piece = left.min(1 << 16);
            let valid = self.validity(piece, leaf, scratch)?;
            self.values.skip(valid.map_or(piece, |valid| valid.count_set_bits()))?;
            left -= piece;
        }
        Ok(())
    }

    /// Repetition and definition level of the next entry of the `left` that remain; it is not taken.
    #[inline(always)]
    fn entry(&mut self, left: usize) -> Result<(u32, u32)> {
        if self.taken == self.ahead.definition.len() {
            self.decode_ahead(left.min(AHEAD))?;
        }
        Ok((self.ahead.repetition[self.taken], self.ahead.definition[self.taken]))
    }

    fn decode_ahead(&mut self, n: usize) -> Result<()> {
        self.taken = 0;
        let next = |levels: &mut Option<Rle>, out: &mut Vec<u32>| -> Result<()> {
            out.clear();
            match levels {
                Some(levels) => levels.read(n, out),
                None => {
                    out.resize(n, 0);
                    Ok(())
                }
            }
        };
        next(&mut self.repetition, &mut self.ahead.repetition)?;
        next(&mut self.definition, &mut self.ahead.definition)
    }
}

/// Levels of nested leaves are decoded this many at a time.
const AHEAD: usize = 1024;

fn level_reader(bytes: Buffer, max: i16) -> Result<Rle> {
    Rle::new(bytes, 16 - (max as u16).leading_zeros() as usize)
}

/// The levels of a V1 page, whose length stands before them; takes both off the page.
fn prefixed_levels(page: &mut Buffer, max: i16) -> Result<Option<Rle>> {
    if max == 0 {
        return Ok(None);
    }
    let Some(prefix) = page.get(..4) else { return Err(cut_short("levels")) };
    let len = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
    if len > page.len() - 4 {
        return Err(cut_short("levels"));
    }
    let levels = page.slice_with_length(4, len);
    *page = page.slice(4 + len);
    level_reader(levels, max).map(Some)
}
