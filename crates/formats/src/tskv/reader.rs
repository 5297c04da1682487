//! Reading TSKV.

use crate::input::{BlockReader, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit, line_end};
use crate::text::text_settings;
use chalet_base::{Result, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax, string};
use std::sync::Arc;

pub struct TskvFile {
    request: ReadRequest,
    failures: Arc<Failures>,
}

impl TskvFile {
    pub fn new(request: ReadRequest) -> TskvFile {
        TskvFile { request, failures: Arc::default() }
    }
}

impl Rows for TskvFile {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        line_end(bytes, at_least)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let wanted = self.request.wanted.iter();
        let readers = Readers::new(&settings);
        let readers = wanted.map(|&i| readers.of(&self.request.structure[i].1, Syntax::Escaped));
        let parser =
            TskvParser { readers: readers.collect(), request: self.request.clone(), key: Vec::new() };
        let (request, failures) = (self.request.clone(), self.failures.clone());
        Box::new(RowReader::new(parser, self, unit, &request, failures))
    }
}

struct TskvParser {
    readers: Vec<Reader>,
    request: ReadRequest,
    key: Vec<u8>,
}

/// The key at the cursor, which steps behind the equals sign; false for a word without a value.
pub fn key(cur: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<bool> {
    out.clear();
    let rest = cur.rest();
    let mut at = 0;
    while let Some(b) = rest.get(at).filter(|b| !matches!(b, b'=' | b'\t' | b'\n')) {
        at += if *b == b'\\' { 2 } else { 1 };
    }
    ensure!(
        at < rest.len(),
        CANNOT_READ_ALL_DATA,
        "Unexpected end of stream while reading key name from TSKV format"
    );
    string::escaped(&mut Cursor::new(&rest[..at]), out)?;
    cur.advance(at);
    Ok(cur.accept(b'='))
}

impl RowParser for TskvParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if cur.is_at_end() {
            return Ok(false);
        }
        // The format's own name may stand first; an empty line is a row of defaults.
        cur.accept_bytes(b"tskv\t");
        if cur.accept(b'\n') {
            return Ok(true);
        }
        loop {
            let mut name = std::mem::take(&mut self.key);
            let has_value = key(cur, &mut name)?;
            let found = self.request.structure.iter().position(|c| c.0.as_bytes() == name);
            if has_value {
                // A field that no column has is stepped over.
                ensure!(
                    found.is_some() || self.request.settings.input_format_skip_unknown_fields,
                    INCORRECT_DATA,
                    "Unknown field found while parsing TSKV format: {}",
                    String::from_utf8_lossy(&name)
                );
                let wanted = found.and_then(|index| self.request.wanted.iter().position(|w| *w == index));
                match wanted {
                    Some(column) => {
                        ensure!(
                            !to.has(column),
                            INCORRECT_DATA,
                            "Duplicate field found while parsing TSKV format: {}",
                            String::from_utf8_lossy(&name)
                        );
                        if !self.readers[column].read(cur, &mut to.builders[column])? {
                            to.mark_omitted(column);
                        }
                    }
                    None => string::escaped(cur, &mut Vec::new())?,
                }
            }
            ensure!(
                has_value,
                INCORRECT_DATA,
                "Found field without value while parsing TSKV format: {}",
                String::from_utf8_lossy(&name)
            );
            let shown = String::from_utf8_lossy(&name).into_owned();
            self.key = name;
            if cur.accept(b'\t') {
                continue;
            }
            if cur.accept(b'\n') {
                return Ok(true);
            }
            ensure!(
                !cur.is_at_end(),
                CANNOT_READ_ALL_DATA,
                "Unexpected end of stream after field in TSKV format: {shown}"
            );
            return Err(err!(
                CANNOT_PARSE_INPUT_ASSERTION_FAILED,
                "Found garbage after field in TSKV format: {shown}"
            ));
        }
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        cur.advance(line_end(rest, 1).unwrap_or(rest.len()));
    }
}
