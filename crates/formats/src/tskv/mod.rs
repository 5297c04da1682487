//! TSKV: rows on lines, `name=value` between tabs.

mod writer;

use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

struct Tskv;

pub const FORMATS: &[Format] = &[Format {
    name: "TSKV",
    suffixes: &[],
    content_type: "text/tab-separated-values; charset=UTF-8",
    capabilities: Capabilities {
        parallel_parsing: true,
        parallel_formatting: true,
        tty_friendly: true,
        schema_inference: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: None,
    output: Some(&Tskv),
}];

impl OutputFormat for Tskv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::TskvLayout::new(&request), sink))
    }
}
