//! Reading JSON documents of columns.

use super::columns::ColumnsLayout;
use super::reader::{check_meta, member_name, parse_document};
use crate::FormatSettings;
use crate::infer::{self, Dialect, Guess, Kind};
use crate::input::{BlockReader, Input, ReadRequest, Schema};
use crate::text::text_settings;
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, BooleanBuffer, Builder, Column, Vector};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;
use chalet_text::read::{Reader, Syntax};

/// Reads all documents of the input as one block.
pub struct ColumnsReader {
    bytes: Buffer,
    at: usize,
    layout: ColumnsLayout,
    request: ReadRequest,
    left: Option<Block>,
    omitted: Vec<Option<BooleanBuffer>>,
}

impl ColumnsReader {
    pub fn new(input: Input, request: ReadRequest, layout: ColumnsLayout) -> Result<ColumnsReader> {
        let mut bytes = input.into_bytes()?;
        if layout == ColumnsLayout::WithMetadata {
            let Some(document) = parse_document(&bytes)? else {
                bail!(INCORRECT_DATA, "Metadata is expected at the beginning of JSON document");
            };
            check_meta(&document.meta, &request)?;
            bytes = bytes.slice_with_length(document.data.start, document.data.len());
        }
        Ok(ColumnsReader { bytes, at: 0, layout, request, left: None, omitted: Vec::new() })
    }

    fn document(&mut self) -> Result<Option<Block>> {
        let bytes = self.bytes.clone();
        let mut cur = Cursor::new(&bytes[self.at..]);
        cur.accept_bytes(b"\xef\xbb\xbf");
        cur.skip_whitespace();
        if cur.is_at_end() {
            return Ok(None);
        }
        let request = &self.request;
        let settings = text_settings(&request.settings, &request.time_zone);
        let mut columns: Vec<Option<Vector>> = vec![None; request.wanted.len()];
        let mut n_rows: Option<usize> = None;
        each_column(&mut cur, self.layout, |position, name, cur| {
            let index = match name {
                Some(name) => request.structure.iter().position(|c| c.0.as_bytes() == name),
                None => (position < request.structure.len()).then_some(position),
            };
            let Some(wanted) = index.and_then(|i| request.wanted.iter().position(|w| *w == i)) else {
                ensure!(
                    index.is_some() || request.settings.input_format_skip_unknown_fields,
                    INCORRECT_DATA,
                    "Unknown column found in input data: {}",
                    String::from_utf8_lossy(name.unwrap_or_default())
                );
                string::json_value(cur)?;
                return Ok(());
            };
            let ty = &request.structure[request.wanted[wanted]].1;
            let reader = Reader::new(ty, Syntax::Json, &settings);
            let mut builder = Builder::new(ty);
            each_element(cur, |cur| reader.read(cur, &mut builder).map(|_| ()))?;
            let n = builder.len();
            let expected = *n_rows.get_or_insert(n);
            ensure!(
                expected == n,
                INCORRECT_DATA,
                "Number of rows differs in different columns: {expected} != {n}"
            );
            columns[wanted] = Some(builder.finish());
            Ok(())
        })?;
        self.at += cur.position();
        let n = n_rows.unwrap_or(0);
        self.omitted = columns.iter().map(|c| c.is_none().then(|| BooleanBuffer::new_set(n))).collect();
        let columns = columns.into_iter().zip(request.wanted.iter()).map(|(column, &index)| match column {
            Some(vector) => Column::Flat(vector),
            None => Column::constant(Vector::defaults(&request.structure[index].1, 1), n),
        });
        Ok(Some(Block::new(columns.collect(), n)))
    }
}

/// Runs over the columns of a document: position, name if there is one, the cursor before the array of values.
fn each_column<'a>(
    cur: &mut Cursor<'a>,
    layout: ColumnsLayout,
    mut column: impl FnMut(usize, Option<&[u8]>, &mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    let (open, close) = if layout == ColumnsLayout::Bare { (b'[', b']') } else { (b'{', b'}') };
    cur.expect(open)?;
    let mut position = 0;
    loop {
        cur.skip_whitespace();
        if cur.accept(close) {
            return Ok(());
        }
        if position > 0 {
            cur.expect(b',')?;
            cur.skip_whitespace();
        }
        let name = if layout == ColumnsLayout::Bare { None } else { Some(member_name(cur)?) };
        column(position, name.as_deref(), cur)?;
        position += 1;
    }
}

/// Runs over the values of an array.
fn each_element<'a>(
    cur: &mut Cursor<'a>,
    mut element: impl FnMut(&mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    cur.skip_whitespace();
    cur.expect(b'[')?;
    let mut first = true;
    loop {
        cur.skip_whitespace();
        if cur.accept(b']') {
            return Ok(());
        }
        if !std::mem::replace(&mut first, false) {
            cur.expect(b',')?;
            cur.skip_whitespace();
        }
        element(cur)?;
    }
}

/// Names and types of the columns of a document.
pub fn infer_columns(bytes: &[u8], settings: &FormatSettings, layout: ColumnsLayout) -> Result<Schema> {
    let mut cur = Cursor::new(bytes);
    cur.accept_bytes(b"\xef\xbb\xbf");
    cur.skip_whitespace();
    let mut columns: Vec<(String, Guess)> = Vec::new();
    each_column(&mut cur, layout, |position, name, cur| {
        let name =
            name.map_or_else(|| format!("c{}", position + 1), |n| String::from_utf8_lossy(n).into_owned());
        let mut merged = Guess { kind: Kind::Unknown, null: false };
        let mut row = 0;
        each_element(cur, |cur| {
            let guess = infer::json_value(cur, settings)?;
            let before = merged.clone();
            merged = before
                .clone()
                .merge(guess.clone(), Dialect::json(settings))
                .ok_or_else(|| infer::mismatch(&name, row, &before, &guess))?;
            row += 1;
            Ok(())
        })?;
        columns.push((name, merged));
        Ok(())
    })?;
    infer::finish(columns, Dialect::json(settings), settings)
}

impl BlockReader for ColumnsReader {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let max_rows = max_rows.max(1);
        let block = match self.left.take() {
            Some(block) => block,
            None => loop {
                match self.document()? {
                    Some(block) if block.is_empty() => {}
                    Some(block) => break block,
                    None => return Ok(None),
                }
            },
        };
        let n = block.n_rows().min(max_rows);
        if n < block.n_rows() {
            self.left = Some(block.slice(n, block.n_rows() - n));
        }
        for mask in self.omitted.iter_mut().flatten() {
            *mask = BooleanBuffer::new_set(n);
        }
        Ok(Some(block.slice(0, n)))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.at as u64
    }
}
