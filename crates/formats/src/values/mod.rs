//! Values: rows as the tuples of INSERT ... VALUES.

mod writer;

use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

struct Values;

pub const FORMATS: &[Format] = &[Format {
    name: "Values",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities {
        parallel_formatting: true,
        tty_friendly: true,
        schema_inference: true,
        ..Capabilities::NONE
    },
    input: None,
    output: Some(&Values),
}];

impl OutputFormat for Values {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::ValuesLayout::new(&request), sink))
    }
}
