//! JSON: one document a result, with metadata; rows as objects or arrays, values as they are or all as strings.

mod columns;
mod columns_reader;
mod document;
mod reader;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use columns::{ColumnsLayout, ColumnsWriter};
use document::{DocumentLayout, ObjectEachRowLayout, Rows};

enum Json {
    Document { rows: Rows, as_strings: bool },
    Columns(ColumnsLayout),
    ObjectEachRow,
}

const fn format(name: &'static str, format: &'static Json, parallel_formatting: bool) -> Format {
    let readable = !matches!(format, Json::Document { as_strings: true, .. });
    Format {
        name,
        suffixes: &[],
        content_type: "application/json; charset=UTF-8",
        capabilities: Capabilities {
            tty_friendly: true,
            parallel_formatting,
            schema_inference: readable,
            subset_of_columns: readable && !matches!(format, Json::Columns(ColumnsLayout::Bare)),
            ..Capabilities::NONE
        },
        input: if readable { Some(format) } else { None },
        output: Some(format),
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

impl InputFormat for Json {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let (head, _) = infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        match self {
            Json::ObjectEachRow => {
                let column = &settings.format_json_object_each_row_column_for_object_name;
                let rows = reader::rows_of_object(head, column)?;
                let mut schema = infer::objects(&mut rows.into(), settings, false)?;
                // The names of objects are strings in any case.
                let named = schema.iter_mut().flatten().find(|c| !column.is_empty() && c.0 == *column);
                named.into_iter().for_each(|c| c.1 = chalet_types::DataType::String);
                Ok(schema)
            }
            Json::Columns(layout) if *layout != ColumnsLayout::WithMetadata => {
                columns_reader::infer_columns(head, settings, *layout).map(Some)
            }
            Json::Document { .. } | Json::Columns(_) => match reader::parse_meta(&mut Cursor::new(head))? {
                Some(meta) => Ok(Some(meta)),
                None => infer::objects(input, settings, false),
            },
        }
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        match self {
            Json::Document { rows, .. } => reader::open_rows(input, request, *rows),
            Json::Columns(layout) => {
                Ok(Whole::scan(columns_reader::ColumnsReader::new(input, request, *layout)?))
            }
            Json::ObjectEachRow => reader::open_object_of_rows(input, request),
        }
    }
}
