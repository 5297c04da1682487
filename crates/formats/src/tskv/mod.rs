//! TSKV: rows on lines, `name=value` between tabs.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::{self, Dialect};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::SegmentScan;
use chalet_base::Result;
use chalet_text::read::string;

struct Tskv;

pub const FORMATS: &[Format] = &[Format {
    name: "TSKV",
    suffixes: &[],
    content_type: "text/tab-separated-values; charset=UTF-8",
    capabilities: Capabilities {
        parallel_parsing: true,
        parallel_formatting: true,
        tty_friendly: true,
        schema_inference: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: Some(&Tskv),
    output: Some(&Tskv),
}];

impl OutputFormat for Tskv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::TskvLayout::new(&request), sink))
    }
}

impl InputFormat for Tskv {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        infer::of_named_rows(input, settings, Dialect::Text, |cur, _| {
            if cur.is_at_end() {
                return Ok(None);
            }
            cur.accept_bytes(b"tskv\t");
            let mut fields = Vec::new();
            let mut name = Vec::new();
            loop {
                if reader::key(cur, &mut name)? {
                    let mut text = Vec::new();
                    string::escaped(cur, &mut text)?;
                    let name = String::from_utf8_lossy(&name).into_owned();
                    fields.push((name, infer::tsv_field(&text, settings)));
                }
                if !cur.accept(b'\t') {
                    break;
                }
            }
            if !cur.accept(b'\n') {
                return Err(cur.expected(b"\n"));
            }
            Ok(Some(fields))
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Box::new(SegmentScan::new(reader::TskvFile::new(request), input, 0)?))
    }
}
