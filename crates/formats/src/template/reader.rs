//! Reading Template.

use super::format_string::{FormatString, source};
use crate::FormatSettings;
use crate::escaping::{FieldRules, dialect, syntax};
use crate::infer::{Dialect, Guess};
use crate::input::{BlockReader, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::settings::EscapingRule;
use crate::text::text_settings;
use chalet_base::{Result, ensure, err};
use chalet_text::TextSettings;
use chalet_text::read::Reader;
use chalet_text::read::cursor::Cursor;
use std::sync::Arc;

/// The formats of rows and of what stands around them.
pub struct Layout {
    row: FormatString,
    /// Before the rows, and behind them.
    result: FormatString,
    data: usize,
    between: Vec<u8>,
    ignore_spaces: bool,
    rules: Vec<FieldRules>,
}

impl Layout {
    pub fn new(
        settings: &FormatSettings,
        ignore_spaces: bool,
        column: impl Fn(&str) -> Result<Option<usize>>,
    ) -> Result<Layout> {
        let text = source("", &settings.format_template_row, &settings.paths)?.ok_or_else(|| {
            err!(
                BAD_ARGUMENTS,
                "The format Template requires a schema. The corresponding setting should be set"
            )
        })?;
        let row = FormatString::parse(&text, column)?;
        if row.parts.is_empty() {
            return Err(row.invalid("No columns specified"));
        }
        for part in &row.parts {
            if matches!(part.rule, EscapingRule::None | EscapingRule::Xml) {
                return Err(
                    row.invalid(&format!("{} is not allowed for input", crate::escaping::name(part.rule)))
                );
            }
        }
        let text = source("", &settings.format_template_resultset, &settings.paths)?;
        let text = text.unwrap_or_else(|| "${data}".to_string());
        let result = FormatString::parse(&text, |name| Ok((name == "data").then_some(0)))?;
        if result.parts.iter().any(|part| part.column.is_none() && !part.name.is_empty()) {
            return Err(
                result.invalid("Unexpected name in the format of the result, which knows ${data} alone")
            );
        }
        let data = result.parts.iter().position(|part| part.column == Some(0));
        let Some(data) = data else {
            return Err(result.invalid("Expected ${data} in the format of the result"));
        };
        if result.parts.iter().any(|part| part.column.is_none() && part.rule == EscapingRule::Xml) {
            return Err(result.invalid("XML is not allowed for input"));
        }
        // A field of CSV ends where the text behind it begins.
        let rules = FieldRules::new(settings);
        let delimiter = |at: usize| row.delimiters[at + 1].first().copied();
        let rules = (0..row.parts.len())
            .map(|at| FieldRules { csv_delimiter: delimiter(at).unwrap_or(rules.csv_delimiter), ..rules });
        Ok(Layout {
            rules: rules.collect(),
            between: settings.format_template_rows_between_delimiter.clone().into_bytes(),
            row,
            result,
            data,
            ignore_spaces,
        })
    }

    /// The names of the values of a row that are not passed over.
    pub fn names(&self) -> Vec<String> {
        self.row.parts.iter().filter(|part| !part.name.is_empty()).map(|part| part.name.clone()).collect()
    }

    pub fn dialect(&self, settings: &FormatSettings) -> Dialect {
        self.row.parts.first().map_or(Dialect::Text, |part| dialect(part.rule, settings))
    }

    fn skip_spaces(&self, cur: &mut Cursor<'_>) {
        if self.ignore_spaces {
            cur.skip_whitespace();
        }
    }

    fn expect(&self, cur: &mut Cursor<'_>, delimiter: &[u8]) -> Result<()> {
        self.skip_spaces(cur);
        match self.ignore_spaces {
            false => cur.expect_bytes(delimiter)?,
            // Words of the delimiter, whatever space is between them.
            true => {
                for word in delimiter.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
                    cur.expect_bytes(word)?;
                    cur.skip_whitespace();
                }
            }
        }
        self.skip_spaces(cur);
        Ok(())
    }

    /// Steps over some of the values around the rows and the text behind each.
    fn around(&self, cur: &mut Cursor<'_>, parts: std::ops::Range<usize>) -> Result<()> {
        for at in parts {
            let part = &self.result.parts[at];
            if part.column.is_none() && part.rule != EscapingRule::None {
                self.rules[0].skip(part.rule, cur)?;
            }
            self.expect(cur, &self.result.delimiters[at + 1])?;
        }
        Ok(())
    }

    /// Steps to the first row.
    pub fn prefix(&self, cur: &mut Cursor<'_>) -> Result<()> {
        cur.accept_bytes(b"\xef\xbb\xbf");
        self.expect(cur, &self.result.delimiters[0])?;
        self.around(cur, 0..self.data)
    }

    /// Steps to the next row; false behind the last.
    pub fn row_start(&self, cur: &mut Cursor<'_>, is_first: bool) -> Result<bool> {
        let mut ahead = *cur;
        let suffix = self.expect(&mut ahead, &self.result.delimiters[self.data + 1]);
        let suffix = suffix.and_then(|()| self.around(&mut ahead, self.data + 1..self.result.parts.len()));
        self.skip_spaces(&mut ahead);
        if suffix.is_ok() && ahead.is_at_end() {
            *cur = ahead;
            return Ok(false);
        }
        if !is_first {
            self.expect(cur, &self.between)?;
        }
        Ok(true)
    }

    pub fn guesses(&self, cur: &mut Cursor<'_>, settings: &FormatSettings) -> Result<Vec<Guess>> {
        let start = cur.position();
        let mut guesses = Vec::new();
        for (at, part) in self.row.parts.iter().enumerate() {
            self.expect(cur, &self.row.delimiters[at])?;
            let guess = self.rules[at].guess(part.rule, cur, settings)?;
            if !part.name.is_empty() {
                guesses.push(guess);
            }
        }
        self.expect(cur, &self.row.delimiters[self.row.parts.len()])?;
        ensure!(cur.position() > start, INCORRECT_DATA, "Rows without text have no end");
        Ok(guesses)
    }
}

pub struct TemplateFile {
    request: ReadRequest,
    layout: Layout,
    settings: TextSettings,
}

impl TemplateFile {
    pub fn new(request: ReadRequest, ignore_spaces: bool) -> Result<TemplateFile> {
        let column = |name: &str| {
            let found = request.structure.iter().position(|c| c.0 == name);
            found.map(Some).ok_or_else(|| {
                let names: Vec<&str> = request.structure.iter().map(|c| c.0.as_str()).collect();
                err!(
                    INVALID_TEMPLATE_FORMAT,
                    "Invalid format string for Template: column {name} is not found. There are only columns: {}",
                    names.join(", ")
                )
            })
        };
        let layout = Layout::new(&request.settings, ignore_spaces, column)?;
        let settings = text_settings(&request.settings, &request.time_zone);
        Ok(TemplateFile { request, layout, settings })
    }
}

impl Rows for TemplateFile {
    fn row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let readers = self.layout.row.parts.iter().zip(&self.layout.rules).map(|(part, rules)| {
            let index = part.column?;
            let column = self.request.wanted.iter().position(|w| *w == index)?;
            let settings =
                TextSettings { format_csv_delimiter: rules.csv_delimiter, ..self.settings.clone() };
            let syntax = syntax(part.rule).ok()?;
            Some((column, Reader::new(&self.request.structure[index].1, syntax, &settings)))
        });
        let parser = TemplateParser { readers: readers.collect(), file: self.clone(), first: true };
        let request = self.request.clone();
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct TemplateParser {
    file: Arc<TemplateFile>,
    /// For each value of a row the wanted column, and how it is read.
    readers: Vec<Option<(usize, Reader)>>,
    first: bool,
}

impl RowParser for TemplateParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let layout = &self.file.layout;
        let is_first = std::mem::replace(&mut self.first, false);
        if is_first {
            layout.prefix(cur)?;
        }
        if !layout.row_start(cur, is_first)? {
            return Ok(false);
        }
        let start = cur.position();
        for (at, part) in layout.row.parts.iter().enumerate() {
            layout.expect(cur, &layout.row.delimiters[at])?;
            match &self.readers[at] {
                None => drop(layout.rules[at].skip(part.rule, cur)?),
                Some((column, reader)) => {
                    ensure!(
                        !to.has(*column),
                        INCORRECT_DATA,
                        "Duplicate column \"{}\" in the format of rows",
                        part.name
                    );
                    if !reader.read(cur, &mut to.builders[*column])? {
                        to.mark_omitted(*column);
                    }
                }
            }
        }
        layout.expect(cur, &layout.row.delimiters[layout.row.parts.len()])?;
        ensure!(cur.position() > start, INCORRECT_DATA, "Rows without text have no end");
        Ok(true)
    }

    /// Behind the next text that stands between rows.
    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        let between = &self.file.layout.between;
        let end = match between.is_empty() {
            true => None,
            false => memchr::memmem::find(&rest[1.min(rest.len())..], between).map(|at| at + 1),
        };
        cur.advance(end.unwrap_or(rest.len()));
    }
}
