//! MySQLDump: the rows of one table of a dump that `mysqldump` writes.

mod reader;
mod statements;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::{self, Dialect, Guess};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::segments::{Rows, Unit};
use chalet_base::{Result, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;
use statements::{Dump, Made};
use std::sync::Arc;

struct MySqlDump;

pub const FORMATS: &[Format] = &[Format {
    name: "MySQLDump",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { schema_inference: true, subset_of_columns: true, ..Capabilities::NONE },
    input: Some(&MySqlDump),
    output: None,
}];

/// The columns as CREATE TABLE declares them.
fn declared(made: &[Made], settings: &FormatSettings) -> Result<Schema> {
    let never = settings.schema_inference_make_columns_nullable.0 == Some(0);
    made.iter()
        .map(|column| {
            let ty: DataType = column.ty.parse()?;
            let nullable = column.nullable && !never && ty.can_be_nullable();
            Ok((column.name.clone(), if nullable { ty.nullable() } else { ty }))
        })
        .collect()
}

/// The guesses of one tuple of values.
fn tuple(cur: &mut Cursor<'_>, settings: &FormatSettings) -> Result<Vec<Guess>> {
    cur.expect(b'(')?;
    let mut guesses = Vec::new();
    loop {
        cur.skip_whitespace();
        guesses.push(infer::literal(cur, settings).ok_or_else(|| {
            err!(
                ONLY_NULLS_WHILE_READING_SCHEMA,
                "Cannot determine type for column {} of a MySQL dump by the value here: {}",
                guesses.len() + 1,
                String::from_utf8_lossy(&cur.rest()[..cur.rest().len().min(30)])
            )
        })?);
        cur.skip_whitespace();
        if cur.accept(b')') {
            return Ok(guesses);
        }
        cur.expect(b',')?;
    }
}

impl InputFormat for MySqlDump {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let (head, complete) = infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let mut cur = Cursor::new(head);
        let mut dump = Dump::new(&settings.input_format_mysql_dump_table_name);
        ensure!(dump.next_rows(&mut cur)?, EMPTY_DATA_PASSED, "{}", dump.nothing());
        if !dump.made.is_empty() {
            return declared(&dump.made, settings).map(Some);
        }
        let names = (!dump.names.is_empty()).then(|| dump.names.clone());
        let row = |cur: &mut Cursor<'_>, _: bool| match dump.next_row(cur)? {
            true => tuple(cur, settings).map(Some),
            false => Ok(None),
        };
        infer::positional_rows(
            cur,
            complete,
            infer::Rows { names, dialect: Dialect::Literals, variable: false },
            settings,
            row,
        )
        .map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let file = Arc::new(reader::DumpFile::new(request));
        Ok(Whole::boxed(file.reader(Unit::whole(input.into_bytes()?))))
    }
}
