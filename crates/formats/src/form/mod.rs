//! Form: one row as `application/x-www-form-urlencoded`.

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::infer::{self, Dialect};
use crate::input::{BlockReader, FileScan, Input, InputFormat, ReadRequest, Schema, Whole};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::text::text_settings;
use chalet_base::{Result, bail, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax};
use std::sync::Arc;

struct Form;

pub const FORMATS: &[Format] = &[Format {
    name: "Form",
    suffixes: &[],
    content_type: "",
    capabilities: Capabilities { tty_friendly: true, schema_inference: true, ..Capabilities::NONE },
    input: Some(&Form),
    output: None,
}];

/// The next name and value. A name goes up to the equals sign, whatever stands before that.
fn field(cur: &mut Cursor<'_>) -> Result<Option<(String, Vec<u8>)>> {
    if cur.is_at_end() {
        return Ok(None);
    }
    let name = decoded(cur.take_until(|b| b == b'='))?;
    cur.accept(b'=');
    let value = decoded(cur.take_until(|b| b == b'&'))?;
    cur.accept(b'&');
    Ok(Some((String::from_utf8_lossy(&name).into_owned(), value)))
}

/// Bytes for `%20` and its like. A plus sign is one.
fn decoded(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |at: usize| behind.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (digit(0), digit(1)) {
            (Some(high), Some(low)) => out.push((high << 4 | low) as u8),
            _ if behind.len() < 2 => bail!(POCO_EXCEPTION, "Bad URI syntax: URI encoding: no hex digit"),
            _ => bail!(POCO_EXCEPTION, "Bad URI syntax: URI encoding: not a hex digit"),
        }
        rest = &behind[2..];
    }
    Ok(out)
}

impl InputFormat for Form {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let mut done = false;
        infer::of_named_rows(input, settings, Dialect::Text, |cur, _| {
            if std::mem::replace(&mut done, true) {
                return Ok(None);
            }
            let mut fields = Vec::new();
            while let Some((name, value)) = field(cur)? {
                fields.push((name, infer::tsv_field(&value, settings)));
            }
            Ok(Some(fields))
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let file = Arc::new(FormFile { request });
        Ok(Whole::boxed(file.reader(Unit::whole(input.into_bytes()?))))
    }
}

struct FormFile {
    request: ReadRequest,
}

impl Rows for FormFile {
    fn row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let wanted = self.request.wanted.iter();
        let readers = Readers::new(&settings);
        let readers = wanted.map(|&i| readers.of(&self.request.structure[i].1, Syntax::Raw));
        let parser = FormParser { readers: readers.collect(), file: self.clone() };
        let request = self.request.clone();
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct FormParser {
    readers: Vec<Reader>,
    file: Arc<FormFile>,
}

impl RowParser for FormParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let request = &self.file.request;
        let mut any = false;
        while let Some((name, value)) = field(cur)? {
            any = true;
            let Some(index) = request.structure.iter().position(|c| c.0 == name) else {
                ensure!(
                    request.settings.input_format_skip_unknown_fields,
                    INCORRECT_DATA,
                    "Unknown field found while parsing Form format: {name}"
                );
                continue;
            };
            let Some(column) = request.wanted.iter().position(|w| *w == index) else { continue };
            ensure!(
                !to.has(column),
                INCORRECT_DATA,
                "Duplicate field found while parsing Form format: {name}"
            );
            let mut value = Cursor::new(&value);
            if !self.readers[column].read(&mut value, &mut to.builders[column])? {
                to.mark_omitted(column);
            }
            ensure!(
                value.is_at_end(),
                UNEXPECTED_DATA_AFTER_PARSED_VALUE,
                "Unexpected data '{}' after parsed value of type {}",
                String::from_utf8_lossy(value.rest()),
                request.structure[index].1
            );
        }
        Ok(any)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        cur.advance(cur.rest().len());
    }
}
