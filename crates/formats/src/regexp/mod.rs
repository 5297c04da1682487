//! Regexp: every line is a row, and what the groups of an expression match are its fields.

use crate::FormatSettings;
use crate::escaping::{self, FieldRules, dialect};
use crate::format::{Capabilities, Format};
use crate::infer;
use crate::input::{BlockReader, FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, SegmentScan, Unit, line_end};
use crate::settings::EscapingRule;
use crate::text::text_settings;
use chalet_base::{Result, bail, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers};
use regex::bytes::Regex;
use std::sync::Arc;

struct Regexp;

pub const FORMATS: &[Format] = &[Format {
    name: "Regexp",
    suffixes: &[],
    content_type: "",
    capabilities: Capabilities {
        parallel_parsing: true,
        tty_friendly: true,
        schema_inference: true,
        ..Capabilities::NONE
    },
    input: Some(&Regexp),
    output: None,
}];

/// The expression over a whole line.
fn expression(settings: &FormatSettings) -> Result<Regex> {
    let pattern = &settings.format_regexp;
    ensure!(
        !pattern.is_empty(),
        BAD_ARGUMENTS,
        "The regular expression is not set for the `Regexp` format. It requires setting the value of the `format_regexp` \
         setting"
    );
    // The pattern alone first: a bracket too many would be closed by those around it.
    Regex::new(pattern).and_then(|_| Regex::new(&format!("^(?:{pattern})$"))).map_err(|e| {
        err!(BAD_ARGUMENTS, "Invalid regular expression '{pattern}' for the `Regexp` format: {e}")
    })
}

/// The next line that matches, and where its groups are; the cursor steps behind it.
fn next_line<'a>(
    expression: &Regex,
    settings: &FormatSettings,
    cur: &mut Cursor<'a>,
) -> Result<Option<Vec<&'a [u8]>>> {
    while !cur.is_at_end() {
        let rest = cur.rest();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
        if let Some(found) = expression.captures(line) {
            cur.advance((length + 1).min(rest.len()));
            let fields = found.iter().skip(1).map(|group| group.map_or(&b""[..], |m| m.as_bytes()));
            return Ok(Some(fields.collect()));
        }
        ensure!(
            settings.format_regexp_skip_unmatched,
            INCORRECT_DATA,
            "Line \"{}\" doesn't match the regexp: `{}`",
            String::from_utf8_lossy(line),
            settings.format_regexp
        );
        cur.advance((length + 1).min(rest.len()));
    }
    Ok(None)
}

impl InputFormat for Regexp {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let expression = expression(settings)?;
        let rule = settings.format_regexp_escaping_rule;
        let rules = FieldRules::new(settings);
        let (head, complete) = infer::head(input, settings)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let row = |cur: &mut Cursor<'_>, _: bool| {
            let Some(fields) = next_line(&expression, settings, cur)? else { return Ok(None) };
            let guess = |field: &[u8]| match rule {
                EscapingRule::Raw => Ok(infer::tsv_field(field, settings)),
                _ => rules.guess(rule, &mut Cursor::new(field), settings),
            };
            fields.into_iter().map(guess).collect::<Result<Vec<_>>>().map(Some)
        };
        infer::positional_rows(
            Cursor::new(head),
            complete,
            infer::Rows { names: None, dialect: dialect(rule, settings), variable: false },
            settings,
            row,
        )
        .map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let expression = expression(&request.settings)?;
        escaping::syntax(request.settings.format_regexp_escaping_rule)?;
        let file = RegexpFile { expression, request, failures: Arc::default() };
        Ok(Box::new(SegmentScan::new(file, input, 0)?))
    }
}

struct RegexpFile {
    expression: Regex,
    request: ReadRequest,
    failures: Arc<Failures>,
}

impl Rows for RegexpFile {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        line_end(bytes, at_least)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let syntax = escaping::syntax(self.request.settings.format_regexp_escaping_rule);
        let syntax = syntax.unwrap_or(chalet_text::read::Syntax::Raw);
        let structure = self.request.structure.iter();
        let readers = Readers::new(&settings);
        let readers = structure.map(|c| readers.of(&c.1, syntax)).collect();
        let position = |index: usize| self.request.wanted.iter().position(|w| *w == index);
        let wanted = (0..self.request.structure.len()).map(position).collect();
        let parser = RegexpParser { file: self.clone(), readers, wanted };
        let (request, failures) = (self.request.clone(), self.failures.clone());
        Box::new(RowReader::new(parser, self, unit, &request, failures))
    }
}

struct RegexpParser {
    file: Arc<RegexpFile>,
    readers: Vec<Reader>,
    wanted: Vec<Option<usize>>,
}

impl RegexpParser {
    fn read_field(&self, index: usize, field: &[u8], to: &mut Filling) -> Result<()> {
        let Some(column) = self.wanted[index] else { return Ok(()) };
        let mut cur = Cursor::new(field);
        let given = self.readers[index].read(&mut cur, &mut to.builders[column])?;
        if !given {
            to.mark_omitted(column);
        }
        if cur.is_at_end() {
            return Ok(());
        }
        let (rest, field) = (String::from_utf8_lossy(cur.rest()), String::from_utf8_lossy(field));
        match self.file.request.settings.format_regexp_escaping_rule {
            EscapingRule::Raw => bail!(
                UNEXPECTED_DATA_AFTER_PARSED_VALUE,
                "Unexpected data '{rest}' after parsed value of type {}",
                self.file.request.structure[index].1
            ),
            _ => bail!(
                INCORRECT_DATA,
                "Unexpected data '{rest}' after parsed value in the matched field '{field}'"
            ),
        }
    }
}

impl RowParser for RegexpParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let file = self.file.clone();
        let Some(fields) = next_line(&file.expression, &file.request.settings, cur)? else {
            return Ok(false);
        };
        ensure!(
            fields.len() == self.readers.len(),
            INCORRECT_DATA,
            "The number of matched fields in line doesn't match the number of columns"
        );
        for (index, field) in fields.into_iter().enumerate() {
            self.read_field(index, field, to).map_err(|e| {
                let name = &file.request.structure[index].0;
                e.context(format_args!("(while reading the value of column {name})"))
            })?;
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        cur.advance(line_end(rest, 1).unwrap_or(rest.len()));
    }
}
