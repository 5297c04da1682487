//! RowBinary: rows of the kernel's binary values, with or without a header.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::Result;

struct RowBinary {
    header: Header,
    /// A byte before each value says whether the default stands for it.
    defaults: bool,
}

const fn format(name: &'static str, format: &'static RowBinary, schema_inference: bool) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "application/octet-stream",
        capabilities: Capabilities { parallel_formatting: true, schema_inference, ..Capabilities::NONE },
        input: Some(format),
        output: Some(format),
    }
}

/// Only read.
const fn with_defaults(name: &'static str, format: &'static RowBinary, schema_inference: bool) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "",
        capabilities: Capabilities { tty_friendly: true, schema_inference, ..Capabilities::NONE },
        input: Some(format),
        output: None,
    }
}

pub const FORMATS: &[Format] = &[
    format("RowBinary", &RowBinary { header: Header::None, defaults: false }, false),
    format("RowBinaryWithNames", &RowBinary { header: Header::Names, defaults: false }, false),
    format("RowBinaryWithNamesAndTypes", &RowBinary { header: Header::NamesAndTypes, defaults: false }, true),
    with_defaults("RowBinaryWithDefaults", &RowBinary { header: Header::None, defaults: true }, false),
    with_defaults(
        "RowBinaryWithNamesAndTypesAndDefaults",
        &RowBinary { header: Header::NamesAndTypes, defaults: true },
        true,
    ),
];

impl InputFormat for RowBinary {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        if self.header != Header::NamesAndTypes {
            return Ok(None);
        }
        // Names and types of any sane header.
        let (head, _) = input.head(16 << 20)?;
        let binary = settings.input_format_binary_decode_types_in_binary_format;
        reader::read_header(&mut crate::binary::Cursor::new(head), self.header, binary).map(|header| {
            header.map(|columns| columns.into_iter().filter_map(|c| Some((c.0, c.1?))).collect())
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Whole::scan(reader::RowBinaryReader::new(
            input.into_bytes()?,
            request,
            self.header,
            self.defaults,
        )?))
    }
}

impl OutputFormat for RowBinary {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::RowBinaryWriter::new(request, sink, self.header)))
    }
}
