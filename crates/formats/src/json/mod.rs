//! JSON: one document a result, with metadata; rows as objects or arrays, values as they are or all as strings.

mod columns;
mod document;

use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;
use columns::{ColumnsLayout, ColumnsWriter};
use document::{DocumentLayout, ObjectEachRowLayout, Rows};

enum Json {
    Document { rows: Rows, as_strings: bool },
    Columns(ColumnsLayout),
    ObjectEachRow,
}

const fn format(name: &'static str, output: &'static Json, parallel_formatting: bool) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "application/json; charset=UTF-8",
        capabilities: Capabilities { tty_friendly: true, parallel_formatting, ..Capabilities::NONE },
        input: None,
        output: Some(output),
    }
}

pub const FORMATS: &[Format] = &[
    Format {
        suffixes: &["json"],
        ..format("JSON", &Json::Document { rows: Rows::Objects, as_strings: false }, true)
    },
    format("JSONStrings", &Json::Document { rows: Rows::Objects, as_strings: true }, true),
    format("JSONCompact", &Json::Document { rows: Rows::Arrays, as_strings: false }, true),
    format("JSONCompactStrings", &Json::Document { rows: Rows::Arrays, as_strings: true }, true),
    format("JSONColumns", &Json::Columns(ColumnsLayout::Named), false),
    format("JSONCompactColumns", &Json::Columns(ColumnsLayout::Bare), false),
    format("JSONColumnsWithMetadata", &Json::Columns(ColumnsLayout::WithMetadata), false),
    format("JSONObjectEachRow", &Json::ObjectEachRow, true),
];

impl OutputFormat for Json {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(match self {
            Json::Document { rows, as_strings } => {
                RowWriter::boxed(DocumentLayout::new(request, *rows, *as_strings), sink)
            }
            Json::Columns(layout) => Box::new(ColumnsWriter::new(request, *layout, sink)),
            Json::ObjectEachRow => RowWriter::boxed(ObjectEachRowLayout::new(request)?, sink),
        })
    }
}
