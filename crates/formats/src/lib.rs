//! Data formats: bytes to blocks and back. One folder per format; options are named as the ClickHouse settings.
//!
//! - [`settings`]: `FormatSettings`, every format setting by its name
//! - [`input`]: the contract of readers: schema inference, opening a file, units of it, blocks
//! - [`identity`]: which state of which file it is, so that readers may remember
//! - [`statistics`]: estimates of rows, values and NULLs
//! - [`passing_rows`]: the rows of a file that pass a filter, as far as it is known
//! - [`output`]: the contract of writers
//! - [`segments`]: cutting text files into units that several threads read at once
//! - [`compression`]: compressed bytes, by file suffix or by name
//! - [`format`]: a format as the rest sees it: its names, capabilities and both contracts
//! - [`registry`]: formats by name and by file suffix
//! - [`convert`]: columns of a file in the types of the table
//! - [`by_name`]: columns of a file found by their names
//! - [`infer`]: schemas of text formats, guessed from their first rows
//! - [`row_reader`], [`positional`], [`json_rows`]: reading row by row
//! - [`several_types`], `binary_types`: values of Variant, Dynamic and JSON, and types, in binary form
//! - [`text`], [`binary`], [`row_writer`], [`json_cells`], [`header`], [`sliced`], [`protobuf_wire`], [`escaping`], [`integers`]:
//!   what several formats share
//!
//! Formats:
//! - for exchange: [`csv`], [`tsv`], [`tskv`], [`json_each_row`], [`json_compact_each_row`], [`json`], [`values`],
//!   [`native`], [`row_binary`], [`line_as_string`], [`json_as_string`],
//!   [`raw_blob`], [`orc`], [`avro`], [`npy`], [`bson_each_row`], [`msg_pack`], [`mysql_dump`],
//!   [`custom_separated`], [`template`], [`regexp`], [`form`], [`one`],
//!   [`protobuf`]
//! - for people and documents: [`pretty`], [`vertical`], [`markdown`], [`xml`], [`sql_insert`], [`null`]
//! - for programs: [`hash`], [`hive_text`], [`json_each_row_with_progress`], [`odbc_driver2`], [`prometheus`]

pub mod avro;
pub mod binary;
mod binary_types;
pub mod bson_each_row;
pub mod by_name;
pub mod compression;
pub mod convert;
pub mod csv;
pub mod custom_separated;
pub mod escaping;
mod fast;
pub mod form;
pub mod format;
pub mod hash;
pub mod header;
pub mod hive_text;
pub mod identity;
pub mod infer;
pub mod input;
pub mod integers;
pub mod json;
pub mod json_as_string;
pub mod json_cells;
pub mod json_compact_each_row;
pub mod json_each_row;
pub mod json_each_row_with_progress;
pub mod json_rows;
pub mod line_as_string;
pub mod markdown;
pub mod msg_pack;
pub mod mysql_dump;
pub mod native;
pub mod npy;
pub mod null;
pub mod odbc_driver2;
pub mod one;
pub mod orc;
pub mod output;
pub mod passing_rows;
pub mod positional;
pub mod pretty;
pub mod prometheus;
pub mod protobuf;
pub mod protobuf_wire;
pub mod raw_blob;
pub mod regexp;
pub mod registry;
pub mod row_binary;
pub mod row_reader;
pub mod row_writer;
pub mod segments;
pub mod settings;
pub mod several_types;
pub mod sliced;
pub mod sql_insert;
pub mod statistics;
pub mod template;
pub mod text;
pub mod tskv;
pub mod tsv;
pub mod values;
pub mod vertical;
pub mod xml;

pub use arrow_buffer::Buffer;
pub use compression::Compression;
pub use format::{Capabilities, Format};
pub use identity::FileIdentity;
pub use input::{BlockReader, FileScan, Input, InputFormat, ReadRequest, Schema, Summary};
pub use output::{BlockWriter, OutputFormat, PageCodec, Sink, Statistics, WriteRequest};
pub use registry::Registry;
pub use settings::FormatSettings;
pub use statistics::{ColumnStatistics, TableStatistics};
