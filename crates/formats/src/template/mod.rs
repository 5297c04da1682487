//! Template: rows and what stands around them as format strings say.

mod format_string;
mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::RowWriter;
use crate::segments::{Rows, Unit};
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use std::sync::Arc;

struct Template {
    ignore_spaces: bool,
}

const PLAIN: &Template = &Template { ignore_spaces: false };
const SPACED: &Template = &Template { ignore_spaces: true };

pub const FORMATS: &[Format] = &[
    Format {
        name: "Template",
        suffixes: &[],
        content_type: "text/plain; charset=UTF-8",
        capabilities: Capabilities {
            tty_friendly: true,
            schema_inference: true,
            append_by_settings: true,
            ..Capabilities::NONE
        },
        input: Some(PLAIN),
        output: Some(PLAIN),
    },
    Format {
        name: "TemplateIgnoreSpaces",
        suffixes: &[],
        content_type: "",
        capabilities: Capabilities { tty_friendly: true, schema_inference: true, ..Capabilities::NONE },
        input: Some(SPACED),
        output: None,
    },
];

impl OutputFormat for Template {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::TemplateLayout::new(request)?, sink))
    }
}

impl InputFormat for Template {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let layout = reader::Layout::new(settings, self.ignore_spaces, |_| Ok(None))?;
        let (head, complete) = infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let names = layout.names();
        let mut cur = Cursor::new(head);
        layout.prefix(&mut cur)?;
        let mut is_first = true;
        let row = |cur: &mut Cursor<'_>, _: bool| {
            if !layout.row_start(cur, std::mem::replace(&mut is_first, false))? {
                return Ok(None);
            }
            layout.guesses(cur, settings).map(Some)
        };
        infer::positional_rows(
            cur,
            complete,
            infer::Rows { names: Some(names), dialect: layout.dialect(settings), variable: false },
            settings,
            row,
        )
        .map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let file = Arc::new(reader::TemplateFile::new(request, self.ignore_spaces)?);
        Ok(Whole::boxed(file.reader(Unit::whole(input.into_bytes()?))))
    }
}
