//! Reading one JSON object a row. Objects may be parted by commas and stand in one array.

use crate::fast::{Fast, ends_json_number, json_string};
use crate::input::{BlockReader, ReadRequest};
use crate::json_compact_each_row::read_text_value;
use crate::json_rows::{find_row_end, skip_row};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::text::text_settings;
use chalet_base::hash::HashMap;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax};
use chalet_text::read::{seen, string};
use std::sync::Arc;

pub struct JsonObjectFile {
    request: ReadRequest,
    as_strings: bool,
    /// Column of the table by name, and which wanted one it is.
    by_name: HashMap<Vec<u8>, Option<usize>>,
    /// What stands before the point in names of columns, where objects of these names hold such columns.
    nested: Vec<Vec<u8>>,
    failures: Arc<Failures>,
}

impl JsonObjectFile {
    pub fn new(request: ReadRequest, as_strings: bool) -> JsonObjectFile {
        let position = |index: usize| request.wanted.iter().position(|w| *w == index);
        let columns = request.structure.iter().enumerate();
        let by_name = columns.map(|(i, c)| (c.0.clone().into_bytes(), position(i))).collect();
        let nested = match request.settings.input_format_import_nested_json {
            true => {
                let tables = request.structure.iter().filter_map(|c| Some(c.0.split_once('.')?.0));
                tables.map(|table| table.as_bytes().to_vec()).collect()
            }
            false => Vec::new(),
        };
        JsonObjectFile { by_name, nested, request, as_strings, failures: Arc::default() }
    }
}

impl Rows for JsonObjectFile {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        find_row_end(bytes, at_least, true)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let syntax = if self.as_strings { Syntax::Plain } else { Syntax::Json };
        let wanted = self.request.wanted.iter();
        let ty = |i: usize| &self.request.structure[i].1;
        let readers = Readers::new(&settings);
        let readers = wanted.map(|&i| (Fast::of(ty(i), syntax), readers.of(ty(i), syntax))).collect();
        let order = Vec::new();
        let wrapping = Wrapping { open: false, last: unit.last };
        let parser =
            JsonObjectParser { readers, file: self.clone(), order, name: Vec::new(), first: true, wrapping };
        let (request, failures) = (self.request.clone(), self.failures.clone());
        Box::new(RowReader::new(parser, self, unit, &request, failures))
    }
}

struct JsonObjectParser {
    file: Arc<JsonObjectFile>,
    readers: Vec<(Fast, Reader)>,
    /// Names in the order in which the row before had them, each with its quotes, and the wanted column of each.
    order: Vec<(Vec<u8>, Option<usize>)>,
    name: Vec<u8>,
    first: bool,
    wrapping: Wrapping,
}

impl JsonObjectParser {
    /// The column of the name at the cursor: rows mostly have the same names in the same order.
    #[inline]
    fn column(&mut self, cur: &mut Cursor<'_>, position: usize) -> Result<Option<usize>> {
        if let Some((name, column)) = self.order.get(position)
            && cur.accept_bytes(name)
        {
            return Ok(*column);
        }
        self.other_column(cur, position)
    }

    fn other_column(&mut self, cur: &mut Cursor<'_>, position: usize) -> Result<Option<usize>> {
        let start = cur.rest();
        self.name.clear();
        if cur.peek() != Some(b'"') && ends_in_quote(start) {
            return Err(cur.expected(b"\""));
        }
        string::quoted_json_name(cur, &mut self.name)?;
        let column = match self.file.by_name.get(&self.name) {
            Some(column) => *column,
            None => match self.any_case() {
                Some(column) => column,
                None => {
                    ensure!(
                        self.file.request.settings.input_format_skip_unknown_fields
                            || self.file.nested.contains(&self.name),
                        INCORRECT_DATA,
                        "Unknown field found while parsing JSONEachRow format: {}",
                        String::from_utf8_lossy(&self.name)
                    );
                    None
                }
            },
        };
        self.order.truncate(position);
        if self.order.len() == position {
            self.order.push((start[..start.len() - cur.rest().len()].to_vec(), column));
        }
        Ok(column)
    }

    /// The only column whose name differs in case at most.
    fn any_case(&self) -> Option<Option<usize>> {
        use crate::settings::InputFormatColumnMatchingCaseSensitivity::MatchCase;
        if self.file.request.settings.input_format_column_name_matching_mode == MatchCase {
            return None;
        }
        let mut found = self.file.by_name.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&self.name));
        let first = found.next()?;
        found.next().is_none().then_some(*first.1)
    }

    fn read_value(&self, column: usize, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<()> {
        if to.has(column) {
            let index = self.file.request.wanted[column];
            let name = &self.file.request.structure[index].0;
            return Err(err!(
                INCORRECT_DATA,
                "Duplicate field found while parsing JSONEachRow format: {name}"
            ));
        }
        let builder = &mut to.builders[column];
        let (fast, reader) = &self.readers[column];
        if fast.read(cur, builder, ends_json_number, json_string) {
            return Ok(());
        }
        let read = match self.file.as_strings {
            true => read_text_value(reader, cur, builder),
            false => reader.read(cur, builder),
        };
        if !read.map_err(|e| self.in_key(e, column))? {
            to.mark_omitted(column);
        }
        Ok(())
    }

    /// An object whose members are the columns `table.name`.
    fn read_nested(&mut self, table: &[u8], cur: &mut Cursor<'_>, to: &mut Filling) -> Result<()> {
        let cut_off =
            || bail!(CANNOT_READ_ALL_DATA, "Unexpected end of stream while parsing JSONEachRow format");
        seen::each_member(cur, cut_off, |name, cur| {
            let name = [table, b".", &name].concat();
            match self.file.by_name.get(&name) {
                Some(Some(column)) => self.read_value(*column, cur, to),
                Some(None) => string::json_value(cur).map(drop),
                None => {
                    ensure!(
                        self.file.request.settings.input_format_skip_unknown_fields,
                        INCORRECT_DATA,
                        "Unknown field found while parsing JSONEachRow format: {}",
                        String::from_utf8_lossy(&name)
                    );
                    string::json_value(cur).map(drop)
                }
            }
        })
    }

    #[cold]
    fn in_key(&self, error: Error, column: usize) -> Error {
        let name = &self.file.request.structure[self.file.request.wanted[column]].0;
        error.context(format_args!("(while reading the value of key {name})"))
    }
}

/// A file may be one array of its rows; a unit that holds all of it knows where it ends.
struct Wrapping {
    open: bool,
    last: bool,
}

/// Does a name without escapes end behind the first byte? Where it cannot, the kernel says that the quote before it is missing.
fn ends_in_quote(name: &[u8]) -> bool {
    let end = name.iter().skip(1).find(|b| matches!(b, b'"' | b'\\'));
    end == Some(&b'"')
}

/// The first row may stand behind the bracket of an array of all rows, others behind a comma.
fn row_start(cur: &mut Cursor<'_>, is_first: bool, wrapping: &mut Wrapping) -> Result<bool> {
    if is_first {
        cur.accept_bytes(b"\xef\xbb\xbf");
    }
    cur.skip_whitespace();
    let opening: &[u8] = if is_first { b"[" } else { b",;" };
    wrapping.open |= is_first && cur.peek() == Some(b'[');
    if opening.iter().any(|b| cur.accept(*b)) {
        cur.skip_whitespace();
    }
    if cur.peek() == Some(b']') {
        let mut ahead = *cur;
        ahead.advance(1);
        ahead.skip_whitespace();
        ahead.accept(b';');
        ahead.skip_whitespace();
        if ahead.is_at_end() {
            *cur = ahead;
            wrapping.open = false;
        }
    }
    if cur.is_at_end() {
        if wrapping.open && wrapping.last {
            return Err(cur.expected(b"]"));
        }
        return Ok(false);
    }
    cur.expect(b'{')?;
    Ok(true)
}

impl RowParser for JsonObjectParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if !row_start(cur, std::mem::replace(&mut self.first, false), &mut self.wrapping)? {
            return Ok(false);
        }
        let mut position = 0;
        loop {
            cur.skip_whitespace();
            match cur.peek() {
                Some(b'}') => {
                    cur.advance(1);
                    return Ok(true);
                }
                None => {
                    bail!(CANNOT_READ_ALL_DATA, "Unexpected end of stream while parsing JSONEachRow format")
                }
                Some(_) if position > 0 => {
                    cur.expect(b',')?;
                    cur.skip_whitespace();
                }
                Some(_) => {}
            }
            let column = self.column(cur, position)?;
            position += 1;
            cur.skip_whitespace();
            cur.expect(b':')?;
            cur.skip_whitespace();
            match column {
                None if !self.file.nested.is_empty() && self.file.nested.contains(&self.name) => {
                    let table = self.name.clone();
                    self.read_nested(&table, cur, to)?;
                    self.order.clear();
                }
                None => {
                    let value = string::json_value(cur)?;
                    let most = self.file.request.settings.input_format_json_max_depth;
                    ensure!(
                        string::json_depth(value) <= most,
                        TOO_DEEP_RECURSION,
                        "JSON is too deep for key '{}'",
                        String::from_utf8_lossy(&self.name)
                    );
                }
                Some(column) => self.read_value(column, cur, to)?,
            }
        }
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        skip_row(cur);
    }
}
