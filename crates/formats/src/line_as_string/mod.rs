//! LineAsString: raw values between tabs; read, each line is one value.

mod writer;

use crate::header::Header;
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

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
        input: None,
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
