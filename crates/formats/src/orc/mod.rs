//! ORC: columns in stripes, with types of Hive. Read and written without a library: the encodings go straight into
//! our columns.
//!
//! - [`metadata`]: postscript, footer, types
//! - [`compression`]: the chunks of streams
//! - [`rle`], [`column`], [`reader`]: reading
//! - [`encode`], [`writer`]: writing

mod column;
mod compression;
mod encode;
mod metadata;
mod reader;
mod rle;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::Result;

struct Orc;

pub const FORMATS: &[Format] = &[Format {
    name: "ORC",
    suffixes: &["orc"],
    content_type: "application/octet-stream",
    capabilities: Capabilities {
        parallel_parsing: true,
        random_access: true,
        schema_inference: true,
        prefers_large_blocks: true,
        no_append: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: Some(&Orc),
    output: Some(&Orc),
}];

impl InputFormat for Orc {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        reader::infer(input, settings).map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        reader::open(input, request)
    }
}

impl OutputFormat for Orc {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::OrcWriter::new(request, sink)?))
    }
}
