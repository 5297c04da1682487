//! Null: the result is computed and not shown.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest, cannot_write};
use chalet_base::Result;
use chalet_columns::Block;

struct Null;

pub const FORMATS: &[Format] = &[Format {
    name: "Null",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, ..Capabilities::NONE },
    input: None,
    output: Some(&Null),
}];

impl OutputFormat for Null {
    fn writer(&self, _: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(NullWriter(sink)))
    }
}

struct NullWriter(Box<dyn Sink>);

impl BlockWriter for NullWriter {
    fn write(&mut self, _: &Block) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.0.close().map_err(cannot_write)
    }
}
