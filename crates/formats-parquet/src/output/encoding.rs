//! How a column chunk of a table's own file is encoded: by a dictionary, as differences, plain and compressed, or plain alone,
//! whichever is small for what it takes to read. A file of a user is written as the settings say.
//!
//! What many rows share is kept once, in a dictionary, also where few neighbours are equal. Differences (DELTA_BINARY_PACKED) of
//! values that are near each other take few bits and are decoded several times faster than LZ4 undoes plain values; where LZ4 saves
//! next to nothing, plain values need no decoding at all.

use super::distinct;
use super::shred::Entries;
use chalet_base::events::{self, Event};
use chalet_base::hash::{HashSet, hash_bytes, hash_u64};
use chalet_base::lz4;
use chalet_columns::keys::group_keys;
use chalet_columns::{Column, Data};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use std::sync::Arc;

/// Values that are looked at to see whether a dictionary pays.
const DICTIONARY_SAMPLE: usize = 1 << 10;
/// Values that follow each other, of which sizes are estimated: about a page.
const RUN: usize = 1 << 13;
/// So many runs of a chunk, evenly apart.
const RUNS: usize = 2;
/// Values whose differences have a width of their own.
const WIDTH_GROUP: usize = 32;

/// The properties of a file for each way to encode a column chunk.
pub(super) struct Encodings {
    by_settings: WriterPropertiesPtr,
    without_dictionary: WriterPropertiesPtr,
    differences: WriterPropertiesPtr,
    plain: WriterPropertiesPtr,
}

impl Encodings {
    pub fn new(by_settings: WriterPropertiesPtr) -> Encodings {
        let without_dictionary =
            || WriterProperties::clone(&by_settings).into_builder().set_dictionary_enabled(false);
        let raw = || without_dictionary().set_compression(Compression::UNCOMPRESSED);
        Encodings {
            without_dictionary: Arc::new(without_dictionary().build()),
            differences: Arc::new(raw().set_encoding(Encoding::DELTA_BINARY_PACKED).build()),
            plain: Arc::new(raw().build()),
            by_settings,
        }
    }

    /// As the settings say.
    pub fn by_settings(&self) -> WriterPropertiesPtr {
        self.by_settings.clone()
    }

    /// The best one for the entries of a chunk.
    pub fn chosen(&self, entries: &[Entries<'_>]) -> WriterPropertiesPtr {
        let n: usize = entries.iter().map(Entries::len).sum();
        if !mostly_distinct(entries, n) {
            return self.by_settings.clone();
        }
        let distinct = distinct::estimate(entries, n);
        if distinct.is_some_and(|distinct| is_repetitive_text(entries, n, distinct)) {
            return self.by_settings.clone();
        }
        match of_sample(entries, distinct).best() {
            Best::Dictionary => self.by_settings.clone(),
            Best::Compressed => self.without_dictionary.clone(),
            Best::Plain => self.plain.clone(),
            Best::Differences => {
                events::count(Event::ParquetDeltaEncodedColumns);
                self.differences.clone()
            }
        }
    }
}

enum Best {
    Dictionary,
    Compressed,
    Plain,
    Differences,
}

/// Estimated bytes of the same values.
#[derive(Default)]
struct Sizes {
    plain: usize,
    compressed: usize,
    differences: usize,
    /// With their share of the dictionary; none where that is not known.
    dictionary: Option<usize>,
}

impl Sizes {
    fn and(self, other: Sizes) -> Sizes {
        Sizes {
            plain: self.plain + other.plain,
            compressed: self.compressed + other.compressed,
            differences: self.differences + other.differences,
            dictionary: self.dictionary.zip(other.dictionary).map(|(a, b)| a + b),
        }
    }

    fn best(&self) -> Best {
        if self.plain == 0 {
            // Nothing that can be estimated: strings, or too few values.
            return Best::Compressed;
        }
        // Ten per cent more bytes are read faster than LZ4 is undone.
        let limit = (self.compressed + self.compressed / 10).min(self.plain);
        let others = limit.min(self.differences);
        match () {
            // Looking values up takes longer than the others do.
            () if self.dictionary.is_some_and(|dictionary| dictionary < others - others / 4) => {
                Best::Dictionary
            }
            () if self.differences <= limit => Best::Differences,
            () if self.compressed >= self.plain - self.plain / 10 => Best::Plain,
            () => Best::Compressed,
        }
    }
}

/// Sizes of some runs of the values of a chunk, of which so many may be distinct.
fn of_sample(entries: &[Entries<'_>], distinct: Option<usize>) -> Sizes {
    let n: usize = entries.iter().map(Entries::len).sum();
    let run = |number: usize| {
        let one = entries.get(number * entries.len() / RUNS)?;
        let from = (one.len() - one.len().min(RUN)) / RUNS * number;
        let (values, width) = integers(one, from, RUN.min(one.len() - from))?;
        let mut sizes = of_run(&values, width);
        sizes.dictionary = distinct.map(|distinct| {
            let own_share = width * distinct * values.len() / n.max(1);
            own_share + codes_of_run(&values, distinct)
        });
        Some(sizes)
    };
    let runs: Vec<Sizes> = (0..RUNS).filter_map(run).collect();
    runs.into_iter().reduce(Sizes::and).unwrap_or_default()
}

/// Values that follow each other, and the width that they have in the file; none of other types.
fn integers(entries: &Entries<'_>, from: usize, n: usize) -> Option<(Vec<i64>, usize)> {
    let rows = entries.row_numbers(from, n);
    Some(match &entries.vector.data {
        Data::U8(values) => (rows.map(|row| values[row].into()).collect(), 4),
        Data::U16(values) => (rows.map(|row| values[row].into()).collect(), 4),
        Data::U32(values) => (rows.map(|row| i64::from(values[row] as i32)).collect(), 4),
        Data::U64(values) => (rows.map(|row| values[row] as i64).collect(), 8),
        Data::I8(values) => (rows.map(|row| values[row].into()).collect(), 4),
        Data::I16(values) => (rows.map(|row| values[row].into()).collect(), 4),
        Data::I32(values) => (rows.map(|row| values[row].into()).collect(), 4),
        Data::I64(values) => (rows.map(|row| values[row]).collect(), 8),
        _ => return None,
    })
}

fn of_run(values: &[i64], width: usize) -> Sizes {
    let bytes: Vec<u8> = match width {
        4 => values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|&value| value.to_le_bytes()).collect(),
    };
    let deltas: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    let bits = deltas.chunks(WIDTH_GROUP).map(|group| {
        let (least, most) = group.iter().fold((i64::MAX, i64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let width = u64::BITS - (most.wrapping_sub(least) as u64).leading_zeros();
        // The width itself, and a part of the least difference.
        width as usize * WIDTH_GROUP + 16
    });
    Sizes {
        plain: bytes.len(),
        compressed: lz4::pack(&bytes).map_or(bytes.len(), |packed| packed.len()),
        differences: bits.sum::<usize>() / 8 + width,
        dictionary: None,
    }
}

/// Bytes of the codes of values of which a chunk has so many distinct ones: equal values have equal codes, and no other order is
/// known of them.
fn codes_of_run(values: &[i64], distinct: usize) -> usize {
    let width = usize::BITS - distinct.max(2).saturating_sub(1).leading_zeros();
    let (mut packed, mut held, mut n_held) = (Vec::with_capacity(values.len() * 4), 0u64, 0);
    for &value in values {
        held |= (hash_u64(value as u64) >> (u64::BITS - width)) << n_held;
        n_held += width;
        while n_held >= 8 {
            packed.push(held as u8);
            held >>= 8;
            n_held -= 8;
        }
    }
    lz4::pack(&packed).map_or(packed.len(), |codes| codes.len().min(packed.len()))
}

/// Strings of which a dictionary, with the codes, takes much less than all of them: it is compressed as they are, and what is asked of
/// strings is asked of the dictionary.
fn is_repetitive_text(entries: &[Entries<'_>], n: usize, distinct: usize) -> bool {
    let mut bytes = 0;
    for one in entries {
        let Data::Str(strings) = &one.vector.data else { return false };
        bytes += one
            .row_numbers(0, one.len())
            .map(|row| 4 + (strings.views()[row] as u32 as usize))
            .sum::<usize>();
    }
    let width = (usize::BITS - distinct.leading_zeros()) as usize;
    let dictionary = bytes / n.max(1) * distinct + width * n / 8;
    dictionary < bytes - bytes / 4
}

/// Are most values of a sample of a column chunk different from each other? Otherwise a dictionary of them is small.
fn mostly_distinct(entries: &[Entries<'_>], n: usize) -> bool {
    if n < 2 * DICTIONARY_SAMPLE {
        return false;
    }
    let per_block = (DICTIONARY_SAMPLE / entries.len()).max(1);
    let mut seen = HashSet::default();
    let mut looked = 0;
    for entries in entries {
        let rows = entries.sample(per_block);
        looked += rows.len();
        let sample = Column::Flat(entries.vector.gather(&rows));
        let keys = group_keys(&[&sample], rows.len());
        seen.extend((0..keys.len()).map(|row| hash_bytes(keys.get(row))));
    }
    2 * seen.len() > looked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(values: impl Iterator<Item = i64>, width: usize) -> Best {
        of_run(&values.take(RUN).collect::<Vec<_>>(), width).best()
    }

    #[test]
    fn what_is_small_and_quick_is_chosen() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64
        };
        assert!(matches!(best(0.., 8), Best::Differences), "numbers in order");
        let times: Vec<i64> = (0..RUN).map(|_| 1_700_000_000 + random() % 86_400).collect();
        assert!(matches!(best(times.into_iter(), 8), Best::Differences), "times of a day");
        let hashes: Vec<i64> = (0..RUN).map(|_| random() << 33 ^ random()).collect();
        assert!(matches!(best(hashes.into_iter(), 8), Best::Plain), "hashes");
        let users: Vec<i64> = (0..RUN / 64).flat_map(|_| vec![random() << 33 ^ random(); 64]).collect();
        assert!(matches!(best(users.into_iter(), 8), Best::Compressed), "long runs");
    }
}
