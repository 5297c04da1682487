//! CustomSeparated: rows of fields whose delimiters and escaping the settings `format_custom_*` choose.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::escaping::dialect;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::infer::{self, Dialect};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::positional::{self, PositionalFormat};
use crate::row_writer::RowWriter;
use crate::settings::Char;
use chalet_base::Result;
use chalet_text::read::cursor::Cursor;
use reader::CustomSyntax;
use std::sync::Arc;

struct CustomSeparated {
    header: Header,
    ignore_spaces: bool,
}

const PLAIN: &CustomSeparated = &CustomSeparated { header: Header::None, ignore_spaces: false };
const NAMES: &CustomSeparated = &CustomSeparated { header: Header::Names, ignore_spaces: false };
const TYPES: &CustomSeparated = &CustomSeparated { header: Header::NamesAndTypes, ignore_spaces: false };
const SPACED: &CustomSeparated = &CustomSeparated { header: Header::None, ignore_spaces: true };
const SPACED_NAMES: &CustomSeparated = &CustomSeparated { header: Header::Names, ignore_spaces: true };
const SPACED_TYPES: &CustomSeparated =
    &CustomSeparated { header: Header::NamesAndTypes, ignore_spaces: true };

const fn format(name: &'static str, format: &'static CustomSeparated) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: if format.ignore_spaces { "" } else { "text/plain; charset=UTF-8" },
        capabilities: Capabilities {
            parallel_formatting: !format.ignore_spaces,
            tty_friendly: true,
            schema_inference: true,
            subset_of_columns: !matches!(format.header, Header::None),
            append_by_settings: !format.ignore_spaces,
            ..Capabilities::NONE
        },
        input: Some(format),
        output: if format.ignore_spaces { None } else { Some(format) },
    }
}

pub const FORMATS: &[Format] = &[
    format("CustomSeparated", PLAIN),
    format("CustomSeparatedWithNames", NAMES),
    format("CustomSeparatedWithNamesAndTypes", TYPES),
    format("CustomSeparatedIgnoreSpaces", SPACED),
    format("CustomSeparatedIgnoreSpacesWithNames", SPACED_NAMES),
    format("CustomSeparatedIgnoreSpacesWithNamesAndTypes", SPACED_TYPES),
];

/// A field of CSV ends where the delimiter between fields begins.
fn with_delimiter(settings: &FormatSettings) -> FormatSettings {
    let first = settings.format_custom_field_delimiter.as_bytes().first();
    FormatSettings { format_csv_delimiter: Char(first.copied().unwrap_or(0)), ..settings.clone() }
}

impl OutputFormat for CustomSeparated {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::CustomLayout::new(request, self.header)?, sink))
    }
}

impl PositionalFormat for CustomSeparated {
    type Syntax = CustomSyntax;

    fn syntax(&self, settings: &FormatSettings) -> CustomSyntax {
        CustomSyntax::new(&with_delimiter(settings), self.ignore_spaces)
    }

    fn header(&self) -> Header {
        self.header
    }

    fn dialect(&self, settings: &FormatSettings) -> Dialect {
        dialect(settings.format_custom_escaping_rule, settings)
    }

    fn detects_header(&self, settings: &FormatSettings) -> bool {
        settings.input_format_custom_detect_header
    }

    fn skipped_lines(&self, _: &FormatSettings) -> u64 {
        0
    }

    fn text(&self, syntax: &CustomSyntax, cur: &mut Cursor<'_>) -> Result<String> {
        syntax.text(cur)
    }
}

impl InputFormat for CustomSeparated {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        infer::positional(self, input, settings, |syntax, cur| syntax.guess(cur, settings))
    }

    fn open(&self, input: Input, mut request: ReadRequest) -> Result<Box<dyn FileScan>> {
        crate::escaping::syntax(request.settings.format_custom_escaping_rule)?;
        request.settings = Arc::new(with_delimiter(&request.settings));
        positional::open(self, input, request)
    }
}
