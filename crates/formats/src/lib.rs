//! Data formats: bytes to blocks and back. One folder per format; options are named as the ClickHouse settings.
//!
//! - [`settings`]: `FormatSettings`, every format setting by its name
//! - [`input`]: the contract of readers: schema inference, opening a file, units of it, blocks
//! - [`output`]: the contract of writers
//! - [`segments`]: cutting text files into units that several threads read at once
//! - [`compression`]: compressed bytes, by file suffix or by name
//! - [`registry`]: formats by name and by file suffix

pub mod compression;
pub mod input;
pub mod output;
pub mod registry;
pub mod segments;
pub mod settings;

pub use arrow_buffer::Buffer;
pub use compression::Compression;
pub use input::{BlockReader, FileScan, Input, InputFormat, ReadRequest, Schema};
pub use output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
pub use registry::{Format, Registry};
pub use settings::FormatSettings;
