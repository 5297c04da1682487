//! LineAsString: raw values between tabs; read, each line is one value.

mod reader;
mod writer;

pub use reader::check_single_string;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::SegmentScan;
use chalet_base::Result;
use chalet_types::DataType;

struct LineAsString(Header);

const fn format(name: &'static str, output: &'static LineAsString, readable: bool) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/tab-separated-values; charset=UTF-8",
        capabilities: Capabilities {
            parallel_parsing: readable,
            parallel_formatting: true,
            tty_friendly: true,
            external_schema: readable,
            ..Capabilities::NONE
        },
        input: if readable { Some(&LineAsString(Header::None)) } else { None },
        output: Some(output),
    }
}

pub const FORMATS: &[Format] = &[
    format("LineAsString", &LineAsString(Header::None), true),
    format("LineAsStringWithNames", &LineAsString(Header::Names), false),
    format("LineAsStringWithNamesAndTypes", &LineAsString(Header::NamesAndTypes), false),
];

impl OutputFormat for LineAsString {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::LineAsStringLayout::new(request, self.0), sink))
    }
}

impl InputFormat for LineAsString {
    fn infer_schema(&self, _: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        Ok(Some(vec![("line".to_string(), DataType::String)]))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Box::new(SegmentScan::new(reader::LineFile::new(request)?, input, 0)?))
    }
}
