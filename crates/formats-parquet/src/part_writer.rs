//! Parquet as tables keep their parts: pages of one granule each, with the page index that prunes them.

use crate::output::Writer;
use chalet_base::Result;
use chalet_formats::{BlockWriter, FormatSettings, Schema, Sink, WriteRequest};
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::sync::Arc;

/// How a part is laid out.
#[derive(Clone, Copy, Debug)]
pub struct PartOptions {
    /// Rows of a granule, at most.
    pub granularity: usize,
}

/// Granules of a row group: what a scan hands to a worker at once, and what shares a dictionary.
const GRANULES_PER_GROUP: usize = 32;
/// Bytes of a row group in memory, at most.
const GROUP_BYTES: u64 = 256 << 20;
/// Bytes of a granule of one column, at most.
const PAGE_BYTES: usize = 1 << 20;
/// A dictionary that is larger gives way to plain values.
const DICTIONARY_BYTES: usize = 1 << 20;

/// A writer of the file of a part. Fails where a type cannot be stored in Parquet.
pub fn part_writer(
    header: Schema,
    options: PartOptions,
    sink: Box<dyn Sink>,
) -> Result<Box<dyn BlockWriter>> {
    let granularity = options.granularity.max(1);
    let settings = FormatSettings {
        output_format_parquet_row_group_size: (granularity * GRANULES_PER_GROUP) as u64,
        output_format_parquet_row_group_size_bytes: GROUP_BYTES,
        output_format_parquet_string_as_string: true,
        output_format_parquet_fixed_string_as_fixed_byte_array: true,
        ..FormatSettings::default()
    };
    let properties = WriterProperties::builder()
        .set_created_by(concat!("chalet version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(granularity)
        .set_statistics_enabled(EnabledStatistics::Page)
        .build();
    let request = WriteRequest { settings: Arc::new(settings), ..WriteRequest::new(header) };
    Ok(Box::new(Writer::new(request, Arc::new(properties), sink)?))
}
