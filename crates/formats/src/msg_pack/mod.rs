//! MsgPack: the values of all rows one after the other, each with its MessagePack type.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::typed::TypedColumns;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::{Rows, Unit};
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use std::sync::Arc;

struct MsgPack;

pub const FORMATS: &[Format] = &[Format {
    name: "MsgPack",
    suffixes: &["msgpack", "messagepack"],
    content_type: "application/octet-stream",
    capabilities: Capabilities { parallel_formatting: true, schema_inference: true, ..Capabilities::NONE },
    input: Some(&MsgPack),
    output: Some(&MsgPack),
}];

impl InputFormat for MsgPack {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let n_columns = settings.input_format_msgpack_number_of_columns;
        ensure!(
            n_columns > 0,
            BAD_ARGUMENTS,
            "You must specify setting input_format_msgpack_number_of_columns to extract table schema from MsgPack data"
        );
        let (head, complete) = crate::infer::head(input, settings)?;
        let mut cur = Cursor::new(head);
        let mut columns = TypedColumns::default();
        let mut row = 0;
        while !cur.is_at_end() && row < settings.input_format_max_rows_to_read_for_schema_inference {
            for column in 0..n_columns {
                match reader::type_of(&mut cur, 0) {
                    Ok(ty) => columns.add(&format!("c{}", column + 1), ty, row as usize)?,
                    Err(_) if !complete && row > 0 => return columns.finish(settings).map(Some),
                    Err(error) => return Err(error),
                }
            }
            row += 1;
        }
        columns.finish(settings).map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let file = Arc::new(reader::MsgPackFile { request });
        Ok(Whole::boxed(file.reader(Unit::whole(input.into_bytes()?))))
    }
}

impl OutputFormat for MsgPack {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::MsgPackLayout::new(&request)?, sink))
    }
}
