//! Values: rows as the tuples of INSERT ... VALUES.

mod reader;
mod writer;

pub(crate) use reader::expression_end;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::{self, Dialect, Guess};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::{Rows, Unit};
use chalet_base::{Result, ensure, err};
use chalet_text::read::cursor::Cursor;
use std::sync::Arc;

struct Values;

pub const FORMATS: &[Format] = &[Format {
    name: "Values",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities {
        parallel_formatting: true,
        tty_friendly: true,
        schema_inference: true,
        ..Capabilities::NONE
    },
    input: Some(&Values),
    output: Some(&Values),
}];

impl OutputFormat for Values {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::ValuesLayout::new(&request), sink))
    }
}

impl InputFormat for Values {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let (head, complete) = infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let row = |cur: &mut Cursor<'_>, is_first: bool| -> Result<Option<Vec<Guess>>> {
            if !reader::row_start(cur, is_first) {
                return Ok(None);
            }
            cur.expect(b'(')?;
            let mut guesses = Vec::new();
            loop {
                cur.skip_whitespace();
                if !guesses.is_empty() && cur.accept(b')') {
                    return Ok(Some(guesses));
                }
                if !guesses.is_empty() {
                    cur.expect(b',')?;
                    cur.skip_whitespace();
                }
                guesses.push(infer::literal(cur, settings).ok_or_else(|| {
                    err!(
                        ONLY_NULLS_WHILE_READING_SCHEMA,
                        "Cannot determine type for column 'c{}' by the value here: {}",
                        guesses.len() + 1,
                        String::from_utf8_lossy(&cur.rest()[..cur.rest().len().min(30)])
                    )
                })?);
            }
        };
        infer::positional_rows(
            Cursor::new(head),
            complete,
            infer::Rows { names: None, dialect: Dialect::Literals, variable: false },
            settings,
            row,
        )
        .map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let file = Arc::new(reader::ValuesFile::new(request));
        Ok(Whole::boxed(file.reader(Unit::whole(input.into_bytes()?))))
    }
}
