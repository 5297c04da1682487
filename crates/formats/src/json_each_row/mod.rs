//! JSONEachRow: one JSON object a row.

mod reader;
mod writer;

pub use reader::JsonObjectFile;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::SegmentScan;
use chalet_base::Result;

struct JsonEachRow {
    as_strings: bool,
}

struct PrettyJsonEachRow;

const CONTENT_TYPE: &str = "application/x-ndjson; charset=UTF-8";

const fn format(name: &'static str, as_strings: bool) -> Format {
    let format: &'static JsonEachRow =
        if as_strings { &JsonEachRow { as_strings: true } } else { &JsonEachRow { as_strings: false } };
    Format {
        name,
        suffixes: &[],
        content_type: CONTENT_TYPE,
        capabilities: Capabilities {
            parallel_parsing: true,
            parallel_formatting: true,
            tty_friendly: true,
            schema_inference: true,
            subset_of_columns: true,
            ..Capabilities::NONE
        },
        input: Some(format),
        output: Some(format),
    }
}

const fn pretty(name: &'static str) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: CONTENT_TYPE,
        capabilities: Capabilities { parallel_formatting: true, tty_friendly: true, ..Capabilities::NONE },
        input: None,
        output: Some(&PrettyJsonEachRow),
    }
}

pub const FORMATS: &[Format] = &[
    Format { suffixes: &["jsonl", "ndjson"], ..format("JSONEachRow", false) },
    format("JSONLines", false),
    format("JSONL", false),
    format("NDJSON", false),
    format("JSONStringsEachRow", true),
    pretty("PrettyJSONEachRow"),
    pretty("PrettyJSONLines"),
    pretty("PrettyNDJSON"),
];

impl OutputFormat for JsonEachRow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::JsonEachRowLayout::new(&request, self.as_strings), sink))
    }
}

impl OutputFormat for PrettyJsonEachRow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::PrettyJsonEachRowLayout::new(&request), sink))
    }
}

impl InputFormat for JsonEachRow {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        infer::objects(input, settings, self.as_strings)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Box::new(SegmentScan::new(reader::JsonObjectFile::new(request, self.as_strings), input, 0)?))
    }
}
