//! TabSeparated: rows on lines, fields between tabs, escaped by backslashes or raw.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::infer;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::positional::{self, FieldSyntax, PositionalFormat};
use crate::row_writer::RowWriter;
use chalet_base::Result;
use chalet_text::read::cursor::Cursor;
use reader::TsvSyntax;

struct Tsv {
    header: Header,
    raw: bool,
}

const PLAIN: &Tsv = &Tsv { header: Header::None, raw: false };
const NAMES: &Tsv = &Tsv { header: Header::Names, raw: false };
const TYPES: &Tsv = &Tsv { header: Header::NamesAndTypes, raw: false };
const RAW: &Tsv = &Tsv { header: Header::None, raw: true };
const RAW_NAMES: &Tsv = &Tsv { header: Header::Names, raw: true };
const RAW_TYPES: &Tsv = &Tsv { header: Header::NamesAndTypes, raw: true };

const fn format(name: &'static str, format: &'static Tsv) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/tab-separated-values; charset=UTF-8",
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
    Format { suffixes: &["tsv"], ..format("TSV", PLAIN) },
    format("TabSeparated", PLAIN),
    format("TSVWithNames", NAMES),
    format("TabSeparatedWithNames", NAMES),
    format("TSVWithNamesAndTypes", TYPES),
    format("TabSeparatedWithNamesAndTypes", TYPES),
    format("TSVRaw", RAW),
    format("TabSeparatedRaw", RAW),
    format("Raw", RAW),
    format("TSVRawWithNames", RAW_NAMES),
    format("TabSeparatedRawWithNames", RAW_NAMES),
    format("RawWithNames", RAW_NAMES),
    format("TSVRawWithNamesAndTypes", RAW_TYPES),
    format("TabSeparatedRawWithNamesAndTypes", RAW_TYPES),
    format("RawWithNamesAndTypes", RAW_TYPES),
];

impl OutputFormat for Tsv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::TsvLayout::new(request, self.header, self.raw), sink))
    }
}

impl PositionalFormat for Tsv {
    type Syntax = TsvSyntax;

    fn syntax(&self, settings: &FormatSettings) -> TsvSyntax {
        TsvSyntax::new(settings, self.raw)
    }

    fn header(&self) -> Header {
        self.header
    }

    fn detects_header(&self, settings: &FormatSettings) -> bool {
        settings.input_format_tsv_detect_header
    }

    fn skipped_lines(&self, settings: &FormatSettings) -> u64 {
        settings.input_format_tsv_skip_first_lines
    }

    fn text(&self, syntax: &TsvSyntax, cur: &mut Cursor<'_>) -> Result<String> {
        syntax.text(cur)
    }
}

impl InputFormat for Tsv {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        infer::positional(self, input, settings, |syntax, cur| {
            // Containers are read from the text as it stands.
            let start = cur.rest();
            syntax.skip_field(cur)?;
            Ok(infer::tsv_field(&start[..start.len() - cur.rest().len()], settings))
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        positional::open(self, input, request)
    }
}
