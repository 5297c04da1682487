//! BSONEachRow: a BSON document a row, with the columns by name.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::typed::TypedColumns;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::SegmentScan;
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;

/// The types of elements that documents may have.
pub(crate) mod tag {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATETIME: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const JAVA_SCRIPT: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const INT32: u8 = 0x10;
    /// BSON's timestamp, which the kernel takes for an unsigned number.
    pub const UINT64: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    /// The subtypes of BINARY that matter.
    pub const UUID_OLD: u8 = 0x03;
    pub const UUID: u8 = 0x04;
}

struct BsonEachRow;

pub const FORMATS: &[Format] = &[Format {
    name: "BSONEachRow",
    suffixes: &["bson"],
    content_type: "application/octet-stream",
    capabilities: Capabilities {
        parallel_parsing: true,
        parallel_formatting: true,
        schema_inference: true,
        ..Capabilities::NONE
    },
    input: Some(&BsonEachRow),
    output: Some(&BsonEachRow),
}];

impl InputFormat for BsonEachRow {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let (head, complete) = crate::infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let mut cur = Cursor::new(head);
        let mut columns = TypedColumns::default();
        let mut row = 0;
        while !cur.is_at_end() && row < settings.input_format_max_rows_to_read_for_schema_inference {
            let fields = match reader::types(&mut cur, settings) {
                Ok(fields) => fields,
                Err(_) if !complete && row > 0 => break,
                Err(error) => return Err(error),
            };
            for (name, ty) in fields {
                columns.add(&name, ty, row as usize)?;
            }
            row += 1;
        }
        columns.finish(settings).map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        Ok(Box::new(SegmentScan::new(reader::BsonFile::new(request), input, 0)?))
    }
}

impl OutputFormat for BsonEachRow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::BsonLayout::new(&request)?, sink))
    }
}
