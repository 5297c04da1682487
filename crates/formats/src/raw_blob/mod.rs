//! RawBLOB: values with nothing between; read, the whole input is one value.

mod writer;

use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use chalet_base::Result;

struct RawBlob;

pub const FORMATS: &[Format] = &[Format {
    name: "RawBLOB",
    suffixes: &["bin"],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, external_schema: true, ..Capabilities::NONE },
    input: None,
    output: Some(&RawBlob),
}];

impl OutputFormat for RawBlob {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::RawBlobWriter::new(request, sink)))
    }
}
