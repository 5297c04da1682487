//! The Parquet format as a writer: blocks gathered into row groups, leaf by leaf.
//!
//! - [`bounds`]: the least and the greatest value of a page
//! - [`chunk`]: a column chunk of values that are in no lists; the others are written by the `parquet` crate
//! - [`distinct`]: how many values of a column are distinct
//! - [`encoding`]: how a column of a table's own file is encoded
//! - [`kind`], [`numbers`], [`byte_arrays`]: what a chunk is written of
//! - [`number_sizes`], [`text_sizes`]: what values take in each way to encode them
//! - [`packed`]: numbers in few bits
//! - [`schema`]: the Parquet schema of our types
//! - [`shred`]: columns taken apart into leaves and levels
//! - [`values`]: values of a leaf as Parquet stores them

mod bounds;
mod byte_arrays;
mod chunk;
mod distinct;
mod encoding;
mod kind;
mod number_sizes;
mod numbers;
mod packed;
mod schema;
mod shred;
mod text_sizes;
mod values;

use self::byte_arrays::ByteArrays;
use self::chunk::{ChunkWriter, Plan};
use self::encoding::Encodings;
use self::numbers::Numbers;
#[cfg(test)]
pub(crate) use self::packed::put_differences;
use self::schema::storage;
use self::shred::Entries;
use self::values::{StoredValues, is_narrow, stored};
use crate::parquet_error;
use bytes::Bytes;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::Block;
use chalet_formats::settings::ParquetCompression;
use chalet_formats::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
use chalet_memory::parallel;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, Type as Stored, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, get_column_writer};
use parquet::file::properties::{
    DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT, EnabledStatistics, WriterProperties, WriterPropertiesPtr,
};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

impl OutputFormat for crate::input::Parquet {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let schema = schema::root(&request.header, &request.settings)?;
        let properties = properties(&request);
        let writer = SerializedFileWriter::new(sink, Arc::new(schema), properties).map_err(cannot_write)?;
        Ok(Box::new(Writer { writer, request, pending: Vec::new(), rows: 0, bytes: 0 }))
    }
}

fn cannot_write(error: parquet::errors::ParquetError) -> chalet_base::Error {
    match error {
        parquet::errors::ParquetError::External(e) => {
            err!(CANNOT_WRITE_TO_OSTREAM, "Cannot write to output: {e}")
        }
        other => parquet_error(other),
    }
}

fn properties(request: &WriteRequest) -> WriterPropertiesPtr {
    let settings = &request.settings;
    let compression = match settings.output_format_parquet_compression_method {
        ParquetCompression::None => Compression::UNCOMPRESSED,
        ParquetCompression::Snappy => Compression::SNAPPY,
        ParquetCompression::Gzip => Compression::GZIP(GzipLevel::default()),
        ParquetCompression::Brotli => Compression::BROTLI(BrotliLevel::default()),
        ParquetCompression::Lz4 => Compression::LZ4_RAW,
        ParquetCompression::Zstd => Compression::ZSTD(ZstdLevel::default()),
    };
    let statistics = match settings.output_format_parquet_write_page_index {
        true => EnabledStatistics::Page,
        false => EnabledStatistics::Chunk,
    };
    let dictionary = settings.output_format_parquet_max_dictionary_size as usize;
    let page_rows = request.page_rows.unwrap_or(DEFAULT_DATA_PAGE_ROW_COUNT_LIMIT);
    let builder = WriterProperties::builder()
        .set_data_page_row_count_limit(page_rows.max(1))
        .set_created_by(concat!("chalet version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_dictionary_enabled(dictionary > 0)
        .set_dictionary_page_size_limit(dictionary.max(1))
        .set_data_page_size_limit(settings.output_format_parquet_data_page_size.max(1) as usize)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!settings.output_format_parquet_write_page_index)
        .set_bloom_filter_enabled(settings.output_format_parquet_write_bloom_filter);
    let bits = settings.output_format_parquet_bloom_filter_bits_per_value;
    if settings.output_format_parquet_write_bloom_filter && bits > 0.0 {
        // Split block filters: eight bits are set for a value.
        let miss = (1.0 - (-8.0 / bits).exp()).powi(8).clamp(1e-6, 0.5);
        let n_values = settings.output_format_parquet_row_group_size.clamp(1, 1_000_000);
        return Arc::new(builder.set_bloom_filter_fpp(miss).set_bloom_filter_max_ndv(n_values).build());
    }
    Arc::new(builder.build())
}

struct Writer {
    writer: SerializedFileWriter<Box<dyn Sink>>,
    request: WriteRequest,
    /// Blocks of the row group to come.
    pending: Vec<Block>,
    rows: usize,
    bytes: usize,
}

impl BlockWriter for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        let settings = &self.request.settings;
        let max_rows = settings.output_format_parquet_row_group_size.max(1) as usize;
        let max_bytes = settings.output_format_parquet_row_group_size_bytes.max(1) as usize;
        let mut at = 0;
        while at < block.n_rows() {
            let n = (block.n_rows() - at).min(max_rows - self.rows);
            let part = if n == block.n_rows() { block.clone() } else { block.slice(at, n) };
            at += n;
            self.rows += n;
            self.bytes += part.memory();
            self.pending.push(part);
            if self.rows >= max_rows || self.bytes >= max_bytes {
                self.row_group()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.row_group()?;
        self.writer.finish().map_err(cannot_write)?;
        let sink = self.writer.inner_mut();
        sink.close().map_err(|e| err!(CANNOT_WRITE_TO_OSTREAM, "Cannot write to output: {e}"))
    }
}

impl Writer {
    /// Writes what is pending as a row group.
    fn row_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let blocks = std::mem::take(&mut self.pending);
        (self.rows, self.bytes) = (0, 0);
        let leaves: Vec<(usize, usize)> = self
            .request
            .header
            .iter()
            .enumerate()
            .flat_map(|(position, (_, ty))| (0..shred::count_leaves(ty)).map(move |leaf| (position, leaf)))
            .collect();
        let encoder = ColumnEncoder {
            schema: self.writer.schema_descr().clone(),
            encodings: Encodings::new(self.writer.properties().clone()),
            request: &self.request,
            blocks: &blocks,
            leaves: &leaves,
        };
        let threads = self.request.threads.min(leaves.len());
        let mut group = self.writer.next_row_group().map_err(cannot_write)?;
        let mut append =
            |(bytes, closed)| group.append_column(&Bytes::from(bytes), closed).map_err(cannot_write);
        match threads {
            // One column after the other, of which only one is held at a time.
            0 | 1 => (0..leaves.len()).try_for_each(|leaf| append(encoder.encode(leaf)?))?,
            _ => {
                let encoded = parallel::map(leaves.len(), threads, |leaf| encoder.encode(leaf))?;
                encoded.into_iter().try_for_each(append)?;
            }
        }
        group.close().map_err(cannot_write)?;
        Ok(())
    }
}

/// Values of a chunk from which on a table of codes for all values of 16 bits is worth its memory.
const MANY_VALUES: usize = 1 << 12;

/// Encodes the columns of one row group, each for itself.
struct ColumnEncoder<'a> {
    schema: SchemaDescriptor,
    encodings: Encodings,
    request: &'a WriteRequest,
    blocks: &'a [Block],
    /// Which columns there are: position in the header, and leaf of the column.
    leaves: &'a [(usize, usize)],
}

/// The bytes of a column chunk, and what the footer says of it.
type Encoded = (Vec<u8>, ColumnCloseResult);

impl ColumnEncoder<'_> {
    fn encode(&self, leaf: usize) -> Result<Encoded> {
        let (position, part) = self.leaves[leaf];
        let ty = &self.request.header[position].1;
        ensure!(
            leaf < self.schema.num_columns(),
            LOGICAL_ERROR,
            "Parquet schema has fewer leaves than its columns"
        );
        let entries = self.blocks.iter().map(|block| shred::leaf(block.column(position), ty, part));
        let entries = entries.collect::<Result<Vec<_>>>()?;
        let codec = self.request.codecs.get(position).copied().unwrap_or_default();
        let properties = match self.request.page_rows {
            Some(_) => self.encodings.chosen(&entries, codec)?,
            None => self.encodings.by_settings(),
        };
        let column = self.schema.column(leaf);
        if let Some(plan) = Plan::of(&column, &properties) {
            return self.encode_flat(plan, &entries);
        }
        let mut out = TrackedWrite::new(Vec::new());
        let closed = {
            let pages = Box::new(SerializedPageWriter::new(&mut out));
            let mut column = get_column_writer(column, properties, pages);
            for entries in entries {
                values::write(&mut column, &entries, &self.request.settings)?;
            }
            column.close().map_err(cannot_write)?
        };
        Ok((out.into_inner().map_err(cannot_write)?, closed))
    }

    /// A column whose values are in no lists.
    fn encode_flat(&self, plan: Plan, entries: &[Entries<'_>]) -> Result<Encoded> {
        let order = plan.order();
        let settings = &self.request.settings;
        let n_values: usize = entries.iter().map(Entries::len).sum();
        let is_narrow = n_values > MANY_VALUES && entries.iter().all(|entries| is_narrow(&entries.ty));
        let Some(first) = entries.first() else { bail!(LOGICAL_ERROR, "A row group has no rows") };
        macro_rules! chunk {
            ($kind:expr, $pattern:pat => $values:expr) => {{
                let mut chunk = ChunkWriter::new(plan, $kind)?;
                for entries in entries {
                    let $pattern = stored(entries, settings)? else {
                        bail!(LOGICAL_ERROR, "Blocks of a Parquet column have different types")
                    };
                    chunk.push($values, entries.definition.as_deref())?;
                }
                chunk.finish()
            }};
        }
        match storage(&first.ty, settings).map(|storage| storage.stored) {
            Some(Stored::INT32) => {
                chunk!(Numbers::<i32>::new(order, is_narrow), StoredValues::I32(values) => &values)
            }
            Some(Stored::INT64) => {
                chunk!(Numbers::<i64>::new(order, false), StoredValues::I64(values) => &values)
            }
            Some(Stored::FLOAT) => {
                chunk!(Numbers::<f32>::new(order, false), StoredValues::F32(values) => &values)
            }
            Some(Stored::DOUBLE) => {
                chunk!(Numbers::<f64>::new(order, false), StoredValues::F64(values) => &values)
            }
            Some(Stored::BYTE_ARRAY) => {
                chunk!(ByteArrays::new(order, false), StoredValues::ByteArrays(values) => &values)
            }
            Some(Stored::FIXED_LEN_BYTE_ARRAY) => chunk!(
                ByteArrays::new(order, true),
                StoredValues::Fixed(bytes, width) => &bytes.chunks_exact(width.max(1)).collect::<Vec<_>>()
            ),
            _ => bail!(LOGICAL_ERROR, "{} is not stored as numbers or texts", first.ty),
        }
    }
}
