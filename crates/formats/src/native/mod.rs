//! Native: columns as the kernel holds them, block by block. What servers and clients speak, and what is stored.

mod layout;
mod reader;
mod several_reader;
mod several_writer;
mod streams;
mod writer;

use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::{FormatSettings, binary::Cursor};
use chalet_base::Result;

pub use layout::BlockLayout;
pub use reader::{read_block, read_block_of, read_column};
pub use streams::{serialized_size, streams};
pub use writer::{write_block, write_column};

struct Native;

pub const FORMATS: &[Format] = &[Format {
    name: "Native",
    suffixes: &["native"],
    content_type: "application/octet-stream",
    capabilities: Capabilities { schema_inference: true, subset_of_columns: true, ..Capabilities::NONE },
    input: Some(&Native),
    output: Some(&Native),
}];

impl InputFormat for Native {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let (head, _) = input.head(usize::MAX)?;
        if head.is_empty() {
            return Ok(Some(Schema::new()));
        }
        let (schema, _) = reader::read_shown_block(&mut Cursor::new(head), BlockLayout::of_input(settings))?;
        Ok(Some(schema))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Whole::scan(reader::NativeReader::new(input.into_bytes()?, request)))
    }
}

impl OutputFormat for Native {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::NativeWriter::new(request, sink)))
    }
}

/// Bytes of a number below `n`, or of `n` itself.
fn index_width(n: u64) -> usize {
    match n {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}
