//! JSONCompactEachRow: one JSON array a row.

mod reader;
mod writer;

pub use reader::{JsonArraySyntax, read_text_value};

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::infer::{self, Dialect};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::positional::{self, PositionalFormat};
use crate::row_writer::RowWriter;
use chalet_base::Result;
use chalet_text::read::cursor::Cursor;

struct JsonCompactEachRow {
    header: Header,
    as_strings: bool,
}

const fn format(name: &'static str, format: &'static JsonCompactEachRow) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/plain; charset=UTF-8",
        capabilities: Capabilities {
            parallel_parsing: true,
            parallel_formatting: true,
            tty_friendly: true,
            schema_inference: true,
            subset_of_columns: !matches!(format.header, Header::None),
            ..Capabilities::NONE
        },
        input: Some(format),
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    format("JSONCompactEachRow", &JsonCompactEachRow { header: Header::None, as_strings: false }),
    format("JSONCompactEachRowWithNames", &JsonCompactEachRow { header: Header::Names, as_strings: false }),
    format(
        "JSONCompactEachRowWithNamesAndTypes",
        &JsonCompactEachRow { header: Header::NamesAndTypes, as_strings: false },
    ),
    format("JSONCompactStringsEachRow", &JsonCompactEachRow { header: Header::None, as_strings: true }),
    format(
        "JSONCompactStringsEachRowWithNames",
        &JsonCompactEachRow { header: Header::Names, as_strings: true },
    ),
    format(
        "JSONCompactStringsEachRowWithNamesAndTypes",
        &JsonCompactEachRow { header: Header::NamesAndTypes, as_strings: true },
    ),
];

impl OutputFormat for JsonCompactEachRow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let layout = writer::JsonCompactEachRowLayout::new(request, self.header, self.as_strings);
        Ok(RowWriter::boxed(layout, sink))
    }
}

impl PositionalFormat for JsonCompactEachRow {
    type Syntax = JsonArraySyntax;

    fn syntax(&self, settings: &FormatSettings) -> JsonArraySyntax {
        JsonArraySyntax::new(settings, self.as_strings)
    }

    fn header(&self) -> Header {
        self.header
    }

    fn dialect(&self, settings: &FormatSettings) -> Dialect {
        Dialect::json(settings)
    }

    fn detects_header(&self, _: &FormatSettings) -> bool {
        false
    }

    fn skipped_lines(&self, _: &FormatSettings) -> u64 {
        0
    }

    fn text(&self, syntax: &JsonArraySyntax, cur: &mut Cursor<'_>) -> Result<String> {
        syntax.text(cur)
    }
}

impl InputFormat for JsonCompactEachRow {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let as_strings = self.as_strings;
        infer::positional(self, input, settings, |syntax, cur| match as_strings {
            true => Ok(infer::json_string(syntax.text(cur)?.as_bytes(), settings)),
            false => infer::json_value(cur, settings),
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        positional::open(self, input, request)
    }
}
