//! RawBLOB: values with nothing between; read, the whole input is one value.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::Result;
use chalet_types::DataType;

struct RawBlob;

pub const FORMATS: &[Format] = &[Format {
    name: "RawBLOB",
    suffixes: &["bin"],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, external_schema: true, ..Capabilities::NONE },
    input: Some(&RawBlob),
    output: Some(&RawBlob),
}];

impl OutputFormat for RawBlob {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::RawBlobWriter::new(request, sink)))
    }
}

impl InputFormat for RawBlob {
    fn infer_schema(&self, _: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        Ok(Some(vec![("raw_blob".to_string(), DataType::String)]))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Whole::scan(reader::RawBlobReader::new(input, &request)?))
    }
}
