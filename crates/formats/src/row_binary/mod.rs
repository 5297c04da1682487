//! RowBinary: rows of the kernel's binary values, with or without a header.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::Result;

struct RowBinary(Header);

const fn format(name: &'static str, format: &'static RowBinary, schema_inference: bool) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "application/octet-stream",
        capabilities: Capabilities {
            parallel_formatting: true,
            schema_inference,
            no_several_types: true,
            ..Capabilities::NONE
        },
        input: Some(format),
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    format("RowBinary", &RowBinary(Header::None), false),
    format("RowBinaryWithNames", &RowBinary(Header::Names), false),
    format("RowBinaryWithNamesAndTypes", &RowBinary(Header::NamesAndTypes), true),
];

impl InputFormat for RowBinary {
    fn infer_schema(&self, input: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        if self.0 != Header::NamesAndTypes {
            return Ok(None);
        }
        // Names and types of any sane header.
        let (head, _) = input.head(16 << 20)?;
        reader::read_header(&mut crate::binary::Cursor { rest: head }, self.0).map(|header| {
            header.map(|columns| columns.into_iter().filter_map(|c| Some((c.0, c.1?))).collect())
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Whole::scan(reader::RowBinaryReader::new(input.into_bytes()?, request, self.0)?))
    }
}

impl OutputFormat for RowBinary {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::RowBinaryWriter::new(request, sink, self.0)))
    }
}
