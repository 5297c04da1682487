//! Column chunks of byte strings, of any length or of one.

use super::bounds::{Bounds, Order};
use super::kind::Kind;
use chalet_base::hash::{hash_bytes, hash_u64};
use chalet_columns::strings::INLINE;

const EMPTY: u32 = u32::MAX;
/// Slots of a new table.
const FIRST_SLOTS: usize = 1 << 6;
/// Places whose codes are remembered, at most.
const PLACES: usize = 1 << 11;

pub struct ByteArrays {
    order: Order,
    /// Bytes before each string of the dictionary that have its length.
    prefix: usize,
    /// As its page has it.
    dictionary: Vec<u8>,
    /// Where strings of the dictionary end.
    ends: Vec<usize>,
    /// Parts of hashes, and codes: linear probing, at most half full.
    table: Vec<(u32, u32)>,
    /// Address and length of strings of this block, and their codes: many rows share the bytes of a string, where it was read from a
    /// dictionary. None where that is not to be expected.
    places: Vec<(usize, usize, u32)>,
    /// The page that a string of the dictionary was seen in last.
    seen_in: Vec<u32>,
    page: u32,
    bounds: Option<Bounds>,
}

impl ByteArrays {
    /// `fixed`: all have one length, which is not stored.
    pub fn new(order: Order, fixed: bool) -> ByteArrays {
        ByteArrays {
            order,
            prefix: if fixed { 0 } else { 4 },
            dictionary: Vec::new(),
            ends: Vec::new(),
            table: vec![(0, EMPTY); FIRST_SLOTS],
            places: Vec::new(),
            seen_in: Vec::new(),
            page: 0,
            bounds: None,
        }
    }

    fn widen(order: Order, bounds: &mut Option<Bounds>, text: &[u8]) {
        let Some(bounds) = bounds else {
            *bounds = Some(Bounds { least: text.to_vec(), greatest: text.to_vec() });
            return;
        };
        let bound = if order.compare_bytes(text, &bounds.least).is_lt() {
            &mut bounds.least
        } else if order.compare_bytes(text, &bounds.greatest).is_gt() {
            &mut bounds.greatest
        } else {
            return;
        };
        bound.clear();
        bound.extend_from_slice(text);
    }

    fn entry(&self, code: u32) -> &[u8] {
        let start = code.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.dictionary[start + self.prefix..self.ends[code as usize]]
    }

    #[inline(always)]
    fn code(&mut self, text: &[u8]) -> u32 {
        if text.len() <= INLINE || self.places.is_empty() {
            return self.look_up(text);
        }
        let address = text.as_ptr().addr();
        let place = hash_u64(address as u64) as usize & (self.places.len() - 1);
        let (known_address, known_len, code) = self.places[place];
        if known_address == address && known_len == text.len() {
            return code;
        }
        let code = self.look_up(text);
        self.places[place] = (address, text.len(), code);
        code
    }

    fn look_up(&mut self, text: &[u8]) -> u32 {
        let hash = hash_bytes(text) as u32;
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (held, code) = self.table[at];
            if code == EMPTY {
                return self.add(at, hash, text);
            }
            if held == hash && self.entry(code) == text {
                return code;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, at: usize, hash: u32, text: &[u8]) -> u32 {
        let code = self.ends.len() as u32;
        self.table[at] = (hash, code);
        self.dictionary.extend_from_slice(&(text.len() as u32).to_le_bytes()[..self.prefix]);
        self.dictionary.extend_from_slice(text);
        self.ends.push(self.dictionary.len());
        self.seen_in.push(u32::MAX);
        if 2 * self.ends.len() >= self.table.len() {
            let more = vec![(0, EMPTY); 4 * self.table.len()];
            let mask = more.len() - 1;
            for slot in std::mem::replace(&mut self.table, more).into_iter().filter(|slot| slot.1 != EMPTY) {
                let mut at = slot.0 as usize & mask;
                while self.table[at].1 != EMPTY {
                    at = (at + 1) & mask;
                }
                self.table[at] = slot;
            }
        }
        code
    }
}

impl Kind for ByteArrays {
    type Value<'a> = &'a [u8];

    fn fitting(values: &[&[u8]], bytes: usize) -> usize {
        let mut left = bytes;
        let fits = |text: &&&[u8]| match left.checked_sub(text.len()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        values.iter().take_while(fits).count().max(1)
    }

    fn codes(&mut self, values: &[&[u8]], codes: &mut Vec<u32>) {
        codes.reserve(values.len());
        for text in values {
            let code = self.code(text);
            codes.push(code);
            let seen_in = &mut self.seen_in[code as usize];
            if *seen_in != self.page {
                *seen_in = self.page;
                ByteArrays::widen(self.order, &mut self.bounds, text);
            }
        }
    }

    fn put(&mut self, values: &[&[u8]], bytes: &mut Vec<u8>, lengths: Option<&mut Vec<i64>>) {
        for text in values {
            ByteArrays::widen(self.order, &mut self.bounds, text);
        }
        if let Some(lengths) = lengths {
            lengths.extend(values.iter().map(|text| text.len() as i64));
            values.iter().for_each(|text| bytes.extend_from_slice(text));
            return;
        }
        for text in values {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes()[..self.prefix]);
            bytes.extend_from_slice(text);
        }
    }

    fn dictionary(&self) -> (&[u8], usize) {
        (&self.dictionary, self.ends.len())
    }

    fn take_bounds(&mut self) -> Option<Bounds> {
        self.page += 1;
        self.bounds.take()
    }

    fn n_nans(&self) -> Option<u64> {
        None
    }

    fn start_block(&mut self, n_values: usize) {
        self.places.clear();
        // Strings of one length come from a buffer of their own.
        if self.prefix > 0 && n_values > PLACES {
            self.places.resize(PLACES, (0, 0, EMPTY));
        }
    }
}
