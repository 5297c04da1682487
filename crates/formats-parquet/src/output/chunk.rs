//! A column chunk of values that are not in lists: its pages, and what the footer says of them.
//!
//! Tables are loaded, merged and changed through here, and the `parquet` crate spends most of that time on dictionaries: it makes an
//! object of each string and compares it with the bounds of its page.

use super::bounds::{Bounds, Order};
use super::kind::Kind;
use super::packed::{put_differences, put_hybrid, width_of};
use super::{Encoded, cannot_write};
use bytes::Bytes;
use chalet_base::{Result, err, lz4};
use parquet::basic::{BoundaryOrder, Compression, Encoding, EncodingMask, PageType, Type as Stored};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Values that are encoded before limits are looked at.
const STEP: usize = 1 << 10;

/// Bytes of the header of a page, about.
const PAGE_HEADER: usize = 64;

/// How values of a page are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageEncoding {
    Dictionary,
    Plain,
    Split,
    Differences,
    LengthsApart,
}

impl PageEncoding {
    fn stored(self) -> Encoding {
        match self {
            PageEncoding::Dictionary => Encoding::RLE_DICTIONARY,
            PageEncoding::Plain => Encoding::PLAIN,
            PageEncoding::Split => Encoding::BYTE_STREAM_SPLIT,
            PageEncoding::Differences => Encoding::DELTA_BINARY_PACKED,
            PageEncoding::LengthsApart => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        }
    }
}

/// What the properties of a file say of a column chunk.
pub struct Plan {
    column: ColumnDescPtr,
    encoding: PageEncoding,
    compression: Compression,
    page_rows: usize,
    page_bytes: usize,
    dictionary_bytes: usize,
    statistics: EnabledStatistics,
    has_offsets: bool,
}

impl Plan {
    /// None where the chunk is to be written by the `parquet` crate.
    pub fn of(column: &ColumnDescPtr, properties: &WriterProperties) -> Option<Plan> {
        let path = column.path();
        let stored = column.physical_type();
        let is_supported = column.max_rep_level() == 0
            && !matches!(stored, Stored::BOOLEAN | Stored::INT96)
            && properties.bloom_filter_properties(path).is_none();
        let compression = properties.compression(path);
        let is_number = !matches!(stored, Stored::BYTE_ARRAY | Stored::FIXED_LEN_BYTE_ARRAY);
        let encoding = match properties.encoding(path) {
            _ if properties.dictionary_enabled(path) => PageEncoding::Dictionary,
            None | Some(Encoding::PLAIN) => PageEncoding::Plain,
            Some(Encoding::BYTE_STREAM_SPLIT) if is_number => PageEncoding::Split,
            Some(Encoding::DELTA_BINARY_PACKED) if matches!(stored, Stored::INT32 | Stored::INT64) => {
                PageEncoding::Differences
            }
            Some(Encoding::DELTA_LENGTH_BYTE_ARRAY) if stored == Stored::BYTE_ARRAY => {
                PageEncoding::LengthsApart
            }
            Some(_) => return None,
        };
        matches!(compression, Compression::UNCOMPRESSED | Compression::LZ4_RAW | Compression::ZSTD(_))
            .then_some(())
            .filter(|()| is_supported)
            .map(|()| Plan {
                column: column.clone(),
                encoding,
                compression,
                page_rows: properties.column_data_page_row_count_limit(path).max(1),
                page_bytes: properties.column_data_page_size_limit(path).max(1),
                dictionary_bytes: properties.column_dictionary_page_size_limit(path),
                statistics: properties.statistics_enabled(path),
                has_offsets: !properties.offset_index_disabled(),
            })
    }

    pub fn order(&self) -> Order {
        Order::of(&self.column)
    }
}

/// Writes a column chunk.
pub struct ChunkWriter<K: Kind> {
    kind: K,
    plan: Plan,
    order: Order,
    compressor: Compressor,
    encoding: PageEncoding,
    page: OpenPage,
    pages: Vec<ClosedPage>,
}

/// The page that values are added to.
#[derive(Default)]
struct OpenPage {
    levels: Vec<u32>,
    codes: Vec<u32>,
    lengths: Vec<i64>,
    /// Values that have no codes.
    bytes: Vec<u8>,
    n_rows: usize,
    n_nulls: usize,
    n_nans_before: u64,
}

struct ClosedPage {
    /// Compressed.
    bytes: Vec<u8>,
    n_uncompressed: usize,
    encoding: PageEncoding,
    n_rows: usize,
    n_nulls: usize,
    n_nans: Option<u64>,
    bounds: Option<Bounds>,
}

impl<K: Kind> ChunkWriter<K> {
    pub fn new(plan: Plan, kind: K) -> Result<ChunkWriter<K>> {
        let compressor = Compressor::new(plan.compression)?;
        let (order, encoding) = (plan.order(), plan.encoding);
        Ok(ChunkWriter {
            kind,
            plan,
            order,
            compressor,
            encoding,
            page: OpenPage::default(),
            pages: Vec::new(),
        })
    }

    /// Appends the entries of a block: values, and a level for each entry where some may have none.
    pub fn push(&mut self, mut values: &[K::Value<'_>], definition: Option<&[i16]>) -> Result<()> {
        self.kind.start_block(values.len());
        let n_entries = definition.map_or(values.len(), <[i16]>::len);
        let highest = self.plan.column.max_def_level();
        let mut at = 0;
        while at < n_entries {
            let n = STEP.min(self.plan.page_rows - self.page.n_rows).min(n_entries - at);
            // Few long strings fill a page.
            let most = K::fitting(&values[..values.len().min(n)], self.plan.page_bytes);
            let n = match definition {
                Some(levels) => entries_of(&levels[at..at + n], highest, most),
                None => n.min(most),
            };
            let n_values = match definition {
                Some(levels) => {
                    let levels = &levels[at..at + n];
                    self.page.levels.extend(levels.iter().map(|&level| u32::from(level.cast_unsigned())));
                    levels.iter().filter(|&&level| level == highest).count()
                }
                None => {
                    let level = u32::from(highest.cast_unsigned());
                    self.page.levels.extend(std::iter::repeat_n(level, if highest > 0 { n } else { 0 }));
                    n
                }
            };
            let (now, later) = values.split_at(n_values);
            values = later;
            self.add(now);
            self.page.n_rows += n;
            self.page.n_nulls += n - n_values;
            at += n;
            let is_full = self.page.n_rows >= self.plan.page_rows || self.page_size() >= self.plan.page_bytes;
            let has_outgrown = self.encoding == PageEncoding::Dictionary
                && self.kind.dictionary().0.len() >= self.plan.dictionary_bytes;
            if is_full || has_outgrown {
                self.close_page()?;
            }
            if has_outgrown {
                // What follows is not looked up any more.
                self.encoding = PageEncoding::Plain;
            }
        }
        Ok(())
    }

    fn add(&mut self, values: &[K::Value<'_>]) {
        match self.encoding {
            PageEncoding::Dictionary => self.kind.codes(values, &mut self.page.codes),
            PageEncoding::LengthsApart => {
                self.kind.put(values, &mut self.page.bytes, Some(&mut self.page.lengths));
            }
            PageEncoding::Plain | PageEncoding::Split | PageEncoding::Differences => {
                self.kind.put(values, &mut self.page.bytes, None)
            }
        }
    }

    /// Bytes of the page before it is compressed, about.
    fn page_size(&self) -> usize {
        let most = self.kind.dictionary().1.saturating_sub(1) as u32;
        self.page.bytes.len() + self.page.codes.len() * width_of(most) / 8
    }

    fn close_page(&mut self) -> Result<()> {
        let mut page = std::mem::take(&mut self.page);
        let mut body = Vec::with_capacity(page.bytes.len() + page.levels.len() / 8 + 64);
        let highest = self.plan.column.max_def_level().cast_unsigned();
        if highest > 0 {
            body.resize(4, 0);
            put_hybrid(&page.levels, width_of(highest.into()), &mut body);
            let len = (body.len() - 4) as u32;
            body[..4].copy_from_slice(&len.to_le_bytes());
        }
        let width = self.width();
        match self.encoding {
            PageEncoding::Dictionary => {
                let bits = width_of(page.codes.iter().copied().max().unwrap_or(0));
                body.push(bits as u8);
                put_hybrid(&page.codes, bits, &mut body);
            }
            PageEncoding::Plain => body.extend_from_slice(&page.bytes),
            PageEncoding::Split => {
                (0..width).for_each(|place| body.extend(page.bytes.iter().skip(place).step_by(width)))
            }
            PageEncoding::Differences => {
                put_differences(&integers(&page.bytes, width), width == 4, &mut body)
            }
            PageEncoding::LengthsApart => {
                put_differences(&page.lengths, true, &mut body);
                body.extend_from_slice(&page.bytes);
            }
        }
        let n_nans = self.kind.n_nans().map(|all| all - page.n_nans_before);
        self.pages.push(ClosedPage {
            n_uncompressed: body.len(),
            bytes: self.compressor.compress(body)?,
            encoding: self.encoding,
            n_rows: page.n_rows,
            n_nulls: page.n_nulls,
            n_nans,
            bounds: self.kind.take_bounds(),
        });
        // What was allocated is used again.
        page.levels.clear();
        page.codes.clear();
        page.lengths.clear();
        page.bytes.clear();
        (page.n_rows, page.n_nulls) = (0, 0);
        page.n_nans_before = self.kind.n_nans().unwrap_or(0);
        self.page = page;
        Ok(())
    }

    /// Bytes of a number.
    fn width(&self) -> usize {
        if matches!(self.plan.column.physical_type(), Stored::INT32 | Stored::FLOAT) { 4 } else { 8 }
    }

    /// The bytes of the chunk, and what the footer says of it.
    pub fn finish(mut self) -> Result<Encoded> {
        if self.page.n_rows > 0 {
            self.close_page()?;
        }
        let n_bytes: usize = self.pages.iter().map(|page| page.bytes.len() + PAGE_HEADER).sum();
        let mut out = TrackedWrite::new(Vec::with_capacity(n_bytes));
        let mut writer = SerializedPageWriter::new(&mut out);
        let mut totals = Totals::default();
        let mut dictionary_offset = None;
        if self.pages.iter().any(|page| page.encoding == PageEncoding::Dictionary) {
            let (bytes, n_values) = self.kind.dictionary();
            let (n_uncompressed, bytes) = (bytes.len(), self.compressor.compress(bytes.to_vec())?);
            let page = Page::DictionaryPage {
                buf: Bytes::from(bytes),
                num_values: n_values as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            totals.put(PageType::DICTIONARY_PAGE, Encoding::PLAIN, &mut writer, page, n_uncompressed)?;
            dictionary_offset = Some(0);
        }
        let first_offset = totals.written;
        let mut index = Index::new(&self.plan, self.order);
        let mut n_entries = 0;
        for page in std::mem::take(&mut self.pages) {
            index.add(&page);
            n_entries += page.n_rows;
            let encoding = page.encoding.stored();
            let data = Page::DataPage {
                buf: Bytes::from(page.bytes),
                num_values: page.n_rows as u32,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let offset = totals.written;
            totals.put(PageType::DATA_PAGE, encoding, &mut writer, data, page.n_uncompressed)?;
            index.offsets.append_offset_and_size(offset as i64, (totals.written - offset) as i32);
        }
        writer.close().map_err(cannot_write)?;
        let mut metadata = ColumnChunkMetaData::builder(self.plan.column.clone())
            .set_compression(self.plan.compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(totals.encodings.iter()))
            .set_page_encoding_stats(totals.pages)
            .set_total_compressed_size(totals.written as i64)
            .set_total_uncompressed_size(totals.uncompressed as i64)
            .set_num_values(n_entries as i64)
            .set_data_page_offset(first_offset as i64)
            .set_dictionary_page_offset(dictionary_offset);
        if self.plan.statistics != EnabledStatistics::None {
            let bounds = index.bounds.take().map(|bounds| self.order.cut(bounds));
            metadata =
                metadata.set_statistics(self.order.statistics(bounds, index.n_nulls, self.kind.n_nans()));
        }
        let closed = ColumnCloseResult {
            bytes_written: totals.written as u64,
            rows_written: n_entries as u64,
            metadata: metadata.build().map_err(cannot_write)?,
            bloom_filter: None,
            column_index: index.columns().map_err(cannot_write)?,
            offset_index: self.plan.has_offsets.then(|| index.offsets.build()),
        };
        Ok((out.into_inner().map_err(cannot_write)?, closed))
    }
}

/// What pages add up to.
#[derive(Default)]
struct Totals {
    written: usize,
    uncompressed: usize,
    encodings: Vec<Encoding>,
    pages: Vec<PageEncodingStats>,
}

impl Totals {
    fn put(
        &mut self,
        page_type: PageType,
        encoding: Encoding,
        writer: &mut impl PageWriter,
        page: Page,
        n_uncompressed: usize,
    ) -> Result<()> {
        let spec = writer.write_page(CompressedPage::new(page, n_uncompressed)).map_err(cannot_write)?;
        self.written += spec.compressed_size;
        self.uncompressed += spec.uncompressed_size;
        self.encodings.push(encoding);
        // Levels.
        self.encodings.push(Encoding::RLE);
        match self.pages.iter_mut().find(|same| same.page_type == page_type && same.encoding == encoding) {
            Some(same) => same.count += 1,
            None => self.pages.push(PageEncodingStats { page_type, encoding, count: 1 }),
        }
        Ok(())
    }
}

/// The page index of a column chunk, and the bounds of all pages.
struct Index {
    order: Order,
    /// Bounds by page are asked for.
    by_page: bool,
    columns: ColumnIndexBuilder,
    offsets: OffsetIndexBuilder,
    bounds: Option<Bounds>,
    n_nulls: u64,
    /// Of the last page that has bounds.
    last: Option<Bounds>,
    ascends: bool,
    descends: bool,
}

impl Index {
    fn new(plan: &Plan, order: Order) -> Index {
        Index {
            order,
            by_page: plan.statistics == EnabledStatistics::Page,
            columns: ColumnIndexBuilder::new(plan.column.physical_type()),
            offsets: OffsetIndexBuilder::new(),
            bounds: None,
            n_nulls: 0,
            last: None,
            ascends: true,
            descends: true,
        }
    }

    fn add(&mut self, page: &ClosedPage) {
        self.n_nulls += page.n_nulls as u64;
        self.offsets.append_row_count(page.n_rows as i64);
        let (n_nulls, n_nans) = (page.n_nulls as i64, page.n_nans.map(|n| n as i64));
        let Some(bounds) = &page.bounds else {
            self.columns.append(true, Vec::new(), Vec::new(), n_nulls, n_nans);
            return;
        };
        self.order.widen(&mut self.bounds, bounds);
        let (cut, ..) = self.order.cut(bounds.clone());
        self.columns.append(false, cut.least, cut.greatest, n_nulls, n_nans);
        if let Some(last) = self.last.replace(bounds.clone()) {
            let (least, greatest) = (
                self.order.compare(&last.least, &bounds.least),
                self.order.compare(&last.greatest, &bounds.greatest),
            );
            self.ascends &= least.is_le() && greatest.is_le();
            self.descends &= least.is_ge() && greatest.is_ge();
        }
    }

    fn columns(
        &mut self,
    ) -> parquet::errors::Result<Option<parquet::file::page_index::column_index::ColumnIndexMetaData>> {
        if !self.by_page {
            return Ok(None);
        }
        let physical = ColumnIndexBuilder::new(Stored::BOOLEAN);
        let mut columns = std::mem::replace(&mut self.columns, physical);
        columns.set_boundary_order(match (self.ascends, self.descends) {
            (true, _) => BoundaryOrder::ASCENDING,
            (_, true) => BoundaryOrder::DESCENDING,
            _ => BoundaryOrder::UNORDERED,
        });
        columns.build().map(Some)
    }
}

enum Compressor {
    None,
    Lz4,
    Zstd(Box<zstd::bulk::Compressor<'static>>),
}

impl Compressor {
    fn new(compression: Compression) -> Result<Compressor> {
        Ok(match compression {
            Compression::LZ4_RAW => Compressor::Lz4,
            Compression::ZSTD(level) => {
                let made = zstd::bulk::Compressor::new(level.compression_level());
                Compressor::Zstd(Box::new(made.map_err(|e| cannot_compress(&e))?))
            }
            _ => Compressor::None,
        })
    }

    fn compress(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Compressor::None => return Ok(bytes),
            Compressor::Lz4 => lz4::pack(&bytes),
            Compressor::Zstd(compressor) => compressor.compress(&bytes),
        }
        .map_err(|e| cannot_compress(&e))
    }
}

fn cannot_compress(error: &std::io::Error) -> chalet_base::Error {
    err!(CANNOT_COMPRESS, "Cannot compress a Parquet page: {error}")
}

/// How many of the first entries have no more than so many values.
fn entries_of(levels: &[i16], highest: i16, most: usize) -> usize {
    let mut values = levels.iter().enumerate().filter(|&(_, &level)| level == highest);
    values.nth(most).map_or(levels.len(), |(entry, _)| entry)
}

/// Little-endian numbers of 4 or 8 bytes.
fn integers(bytes: &[u8], width: usize) -> Vec<i64> {
    match width {
        4 => bytes.as_chunks().0.iter().map(|&number| i32::from_le_bytes(number).into()).collect(),
        _ => bytes.as_chunks().0.iter().map(|&number| i64::from_le_bytes(number)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::byte_arrays::ByteArrays;
    use crate::output::numbers::Numbers;

    #[test]
    fn long_strings_fill_pages_alone() {
        let (long, short) = (vec![7u8; 3000], vec![7u8; 400]);
        let texts = [&long[..], &short, &short, &short];
        assert_eq!(ByteArrays::fitting(&texts, 1000), 1);
        assert_eq!(ByteArrays::fitting(&texts[1..], 1000), 2);
        assert_eq!(ByteArrays::fitting(&texts, 1 << 20), 4);
        assert_eq!(ByteArrays::fitting(&[], 1000), 1);
        assert_eq!(Numbers::<i64>::fitting(&[1; 100], 80), 10);
        assert_eq!(entries_of(&[1, 0, 1, 0, 1], 1, 1), 2);
        assert_eq!(entries_of(&[0, 0, 1, 0], 1, 1), 4);
        assert_eq!(entries_of(&[0, 0], 1, 5), 2);
    }
}
