//! How a column chunk of a table's own file is encoded: whichever way is small for what it takes to read. A file of a user is written
//! as the settings say.
//!
//! What many rows share is kept once, in a dictionary, also where few neighbours are equal. Differences (DELTA_BINARY_PACKED) of
//! values that are near each other take few bits and are decoded several times faster than LZ4 undoes plain values; of floats that
//! are near each other LZ4 finds the first bytes when they stand together (BYTE_STREAM_SPLIT); strings in order share what they begin
//! with (DELTA_BYTE_ARRAY); where LZ4 saves next to nothing, values need no decompression at all.

use super::shred::Entries;
use super::{cannot_write, distinct};
use super::{number_sizes, text_sizes};
use chalet_base::events::{self, Event};
use chalet_base::hash::{HashSet, hash_bytes};
use chalet_base::{Result, lz4};
use chalet_columns::keys::group_keys;
use chalet_columns::{Column, Data};
use chalet_formats::PageCodec;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use std::sync::Arc;

/// Values that are looked at to see whether a dictionary pays.
const DICTIONARY_SAMPLE: usize = 1 << 10;
/// Values that follow each other, of which sizes are estimated: about a page.
const RUN: usize = 1 << 13;
/// So many runs of a chunk, evenly apart.
const RUNS: usize = 2;

/// A way to encode a column chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChunkEncoding {
    /// As the settings say, which is by a dictionary.
    Dictionary,
    /// Plain values, compressed.
    Compressed,
    Plain,
    Differences,
    CompressedDifferences,
    /// Floats as integers.
    Decimals,
    /// First bytes of all values, second bytes, and so on, compressed.
    Split,
    /// Lengths of strings, then their bytes.
    LengthsApart,
    CompressedLengthsApart,
    /// Strings without what they begin with as the one before does, compressed.
    SharedPrefixes,
}

/// How bytes of pages are compressed, to see how many are left.
pub(super) type Pack = fn(&[u8]) -> usize;

impl ChunkEncoding {
    /// Are its pages compressed, where nothing else is asked for?
    fn is_compressed(self) -> bool {
        !matches!(
            self,
            ChunkEncoding::Plain
                | ChunkEncoding::Differences
                | ChunkEncoding::Decimals
                | ChunkEncoding::LengthsApart
        )
    }

    /// What a byte costs, of which bytes are one part and reading them is the other: a byte that has to be decompressed costs 100.
    fn cost_of_byte(self) -> usize {
        match self {
            ChunkEncoding::Plain
            | ChunkEncoding::Differences
            | ChunkEncoding::Decimals
            | ChunkEncoding::LengthsApart => 90,
            ChunkEncoding::Compressed => 100,
            ChunkEncoding::CompressedLengthsApart => 105,
            // Decompressed, and then decoded.
            ChunkEncoding::CompressedDifferences | ChunkEncoding::Split => 110,
            // Values are looked up.
            ChunkEncoding::Dictionary => 125,
            // Decompressed, and then copied twice.
            ChunkEncoding::SharedPrefixes => 140,
        }
    }
}

/// Estimated bytes of the same values in each way that there is for them.
#[derive(Default, Debug)]
pub(super) struct Sizes(pub Vec<(ChunkEncoding, usize)>);

impl Sizes {
    /// Of these values and others of the same type.
    fn and(mut self, other: Sizes) -> Sizes {
        self.0.retain_mut(|(way, size)| {
            let same = other.0.iter().find(|(other, _)| other == way);
            *size += same.map_or(0, |&(_, size)| size);
            same.is_some()
        });
        self
    }

    /// Without the ways for which that does not hold.
    fn only(mut self, holds: impl Fn(ChunkEncoding) -> bool) -> Sizes {
        self.0.retain(|(way, _)| holds(*way));
        self
    }

    pub fn best(&self) -> ChunkEncoding {
        let cost = |&&(way, size): &&(ChunkEncoding, usize)| size * way.cost_of_byte();
        // There may be too few values.
        self.0.iter().min_by_key(cost).map_or(ChunkEncoding::Compressed, |&(way, _)| way)
    }
}

/// The properties of a file for each way to encode a column chunk.
pub(super) struct Encodings {
    by_settings: WriterPropertiesPtr,
}

impl Encodings {
    pub fn new(by_settings: WriterPropertiesPtr) -> Encodings {
        Encodings { by_settings }
    }

    /// As the settings say.
    pub fn by_settings(&self) -> WriterPropertiesPtr {
        self.by_settings.clone()
    }

    /// The best ones for the entries of a chunk.
    pub fn chosen(&self, entries: &[Entries<'_>], codec: PageCodec) -> Result<WriterPropertiesPtr> {
        let way = best_encoding(entries, codec);
        let properties = WriterProperties::clone(&self.by_settings).into_builder();
        let compression = match codec {
            PageCodec::BySettings | PageCodec::Alp if way.is_compressed() => None,
            PageCodec::BySettings | PageCodec::Alp | PageCodec::None => Some(Compression::UNCOMPRESSED),
            PageCodec::Zstd(level) => {
                Some(Compression::ZSTD(ZstdLevel::try_new(level.into()).map_err(cannot_write)?))
            }
        };
        let properties = match compression {
            Some(compression) => properties.set_compression(compression),
            None => properties,
        };
        let encoding = match way {
            ChunkEncoding::Dictionary => return Ok(Arc::new(properties.build())),
            ChunkEncoding::Compressed | ChunkEncoding::Plain => Encoding::PLAIN,
            ChunkEncoding::Differences | ChunkEncoding::CompressedDifferences => {
                events::count(Event::ParquetDeltaEncodedColumns);
                Encoding::DELTA_BINARY_PACKED
            }
            ChunkEncoding::Decimals => Encoding::ALP,
            ChunkEncoding::Split => Encoding::BYTE_STREAM_SPLIT,
            ChunkEncoding::LengthsApart | ChunkEncoding::CompressedLengthsApart => {
                Encoding::DELTA_LENGTH_BYTE_ARRAY
            }
            ChunkEncoding::SharedPrefixes => Encoding::DELTA_BYTE_ARRAY,
        };
        Ok(Arc::new(properties.set_dictionary_enabled(false).set_encoding(encoding).build()))
    }
}

fn best_encoding(entries: &[Entries<'_>], codec: PageCodec) -> ChunkEncoding {
    let pack: Pack = match codec {
        PageCodec::BySettings | PageCodec::Alp => {
            |bytes| lz4::pack(bytes).map_or(bytes.len(), |packed| packed.len())
        }
        PageCodec::None => <[u8]>::len,
        // All levels like the same bytes.
        PageCodec::Zstd(_) => {
            |bytes| zstd::bulk::compress(bytes, 1).map_or(bytes.len(), |packed| packed.len())
        }
    };
    let n: usize = entries.iter().map(Entries::len).sum();
    if !mostly_distinct(entries, n) {
        return ChunkEncoding::Dictionary;
    }
    let distinct = distinct::estimate(entries, n);
    if distinct.is_some_and(|distinct| is_repetitive_text(entries, n, distinct)) {
        return ChunkEncoding::Dictionary;
    }
    let of_run = |number: usize| {
        let one = entries.get(number * entries.len() / RUNS)?;
        let from = (one.len() - one.len().min(RUN)) / RUNS * number;
        let n_values = RUN.min(one.len() - from);
        text_sizes::of_run(one, from, n_values, pack)
            .or_else(|| number_sizes::of_run(one, from, n_values, n, distinct, pack))
    };
    let runs: Vec<Sizes> = (0..RUNS).filter_map(of_run).collect();
    let sizes = runs.into_iter().reduce(Sizes::and).unwrap_or_default();
    let is_possible = |way| match way {
        ChunkEncoding::Decimals => codec == PageCodec::Alp,
        // ZSTD finds what LZ4 does not in what is left as it is.
        ChunkEncoding::Plain | ChunkEncoding::LengthsApart => !matches!(codec, PageCodec::Zstd(_)),
        _ => true,
    };
    sizes.only(is_possible).best()
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
