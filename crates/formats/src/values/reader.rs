//! Reading the tuples of INSERT ... VALUES. A field that is no literal is an expression, which the engine evaluates.

use crate::input::{BlockReader, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::text::text_settings;
use chalet_base::{Error, Result, bail, codes, ensure, err};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax};
use std::sync::Arc;

pub struct ValuesFile {
    request: ReadRequest,
}

impl ValuesFile {
    pub fn new(request: ReadRequest) -> ValuesFile {
        ValuesFile { request }
    }
}

impl Rows for ValuesFile {
    fn row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let structure = self.request.structure.iter();
        let readers = Readers::new(&settings);
        let readers = structure.map(|c| readers.of(&c.1, Syntax::Quoted)).collect();
        let position = |index: usize| self.request.wanted.iter().position(|w| *w == index);
        let wanted = (0..self.request.structure.len()).map(position).collect();
        let request = self.request.clone();
        let parser = ValuesParser { readers, wanted, request: request.clone(), first: true };
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct ValuesParser {
    readers: Vec<Reader>,
    wanted: Vec<Option<usize>>,
    request: ReadRequest,
    first: bool,
}

impl RowParser for ValuesParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let is_first = std::mem::replace(&mut self.first, false);
        if !row_start(cur, is_first) {
            return Ok(false);
        }
        cur.expect(b'(')?;
        let n = self.readers.len();
        for index in 0..n {
            cur.skip_whitespace();
            let start = *cur;
            let closing = if index + 1 < n { b',' } else { b')' };
            self.read_field(index, closing, cur, to)?;
            cur.skip_whitespace();
            // One comma more than fields is allowed.
            if closing == b')' && cur.accept(b',') {
                cur.skip_whitespace();
            }
            if !cur.accept(closing) {
                return Err(self.expected_behind(index, closing, start.rest()));
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let end = expression_end(cur.rest(), true);
        cur.advance(end);
        cur.accept(b')');
    }
}

impl ValuesParser {
    #[cold]
    fn expected_behind(&self, index: usize, closing: u8, text: &[u8]) -> Error {
        let (name, ty) = &self.request.structure[index];
        let shown = String::from_utf8_lossy(&text[..text.len().min(100)]).into_owned();
        let closing = char::from(closing);
        err!(
            SYNTAX_ERROR,
            "Expected '{closing}' after the value of column `{name}` of type {ty} here: {shown}"
        )
    }

    fn read_field(&self, index: usize, closing: u8, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<()> {
        let start = *cur;
        let Some(column) = self.wanted[index] else {
            cur.advance(expression_end(cur.rest(), false));
            return Ok(());
        };
        let builder = &mut to.builders[column];
        let before = builder.len();
        // DEFAULT asks for what the table says.
        if cur.accept_word(b"DEFAULT") {
            builder.push_default();
            to.mark_omitted(column);
            return Ok(());
        }
        let failure = match self.readers[index].read(cur, builder) {
            Ok(given) => {
                let mut ahead = *cur;
                ahead.skip_whitespace();
                if ahead.peek() == Some(closing)
                    || ahead.peek().is_none()
                    || (closing == b')' && ahead.peek() == Some(b','))
                {
                    if !given {
                        to.mark_omitted(column);
                    }
                    return Ok(());
                }
                self.expected_behind(index, closing, start.rest())
            }
            Err(error) => error,
        };
        builder.truncate(before);
        // A Decimal that is too big is none as an expression either.
        if failure.code() == codes::ARGUMENT_OUT_OF_BOUND {
            return Err(failure);
        }
        *cur = start;
        // What stands behind an expression is looked at before it is computed.
        let mut behind = start;
        behind.advance(expression_end(start.rest(), false));
        if closing == b')' && behind.accept(b',') {
            behind.skip_whitespace();
        }
        if behind.peek() != Some(closing) {
            return Err(self.expected_behind(index, closing, start.rest()));
        }
        if !self.evaluate(index, cur, builder, failure)? {
            to.mark_omitted(column);
        }
        Ok(())
    }

    /// The field as an expression of the dialect; whether it gave a value.
    fn evaluate(
        &self,
        index: usize,
        cur: &mut Cursor<'_>,
        builder: &mut chalet_columns::Builder,
        failure: Error,
    ) -> Result<bool> {
        let Some(evaluate) = &self.request.evaluate else { return Err(failure) };
        let settings = &self.request.settings;
        let interprets = settings.input_format_values_interpret_expressions;
        // The kernel makes templates of expressions then, and values of these.
        ensure!(
            interprets || settings.input_format_values_deduce_templates_of_expressions,
            SUPPORT_IS_DISABLED,
            "Interpreting expressions is disabled"
        );
        let (name, ty) = &self.request.structure[index];
        let text = &cur.rest()[..expression_end(cur.rest(), false)];
        let Ok(text) = std::str::from_utf8(text) else { return Err(failure) };
        let is_query = |word: &str| {
            text[1..].trim_start().get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word))
        };
        ensure!(
            interprets || !text.starts_with('(') || !(is_query("SELECT") || is_query("WITH")),
            SYNTAX_ERROR,
            "Syntax error in constant expression"
        );
        let value = evaluate(text.trim(), ty)?;
        if value.is_null() && !ty.is_nullable() {
            if !self.request.settings.input_format_null_as_default {
                bail!(
                    TYPE_MISMATCH,
                    "Cannot insert NULL value into a column of type '{ty}' at: {text}, column {name}"
                );
            }
            builder.push_default();
        } else {
            builder.push_value(&value)?;
        }
        cur.advance(text.len());
        Ok(!value.is_null() || ty.is_nullable())
    }
}

/// Steps to the next tuple; false at the end of the data or at a semicolon.
pub fn row_start(cur: &mut Cursor<'_>, is_first: bool) -> bool {
    if is_first {
        cur.accept_bytes(b"\xef\xbb\xbf");
    }
    cur.skip_whitespace();
    if !is_first && cur.accept(b',') {
        cur.skip_whitespace();
    }
    !cur.is_at_end() && cur.peek() != Some(b';')
}

/// Bytes up to the comma or bracket that ends an expression; of a whole tuple when `tuple`.
pub fn expression_end(text: &[u8], tuple: bool) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return at,
            b')' | b']' | b'}' => {
                depth -= 1;
                if tuple && depth == 0 {
                    return at;
                }
            }
            b',' if depth == 0 => return at,
            b'\'' | b'"' | b'`' => {
                at += 1;
                while text.get(at).is_some_and(|b| *b != byte) {
                    at += 1 + usize::from(text[at] == b'\\');
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #[test]
    fn expressions_end_at_their_level() {
        for (text, expected) in
            [("1+f(2,3), 4", 8), ("'a,)\\'', 2", 7), ("x)", 1), ("[1,(2)]", 7), ("'open", 5)]
        {
            assert_eq!(super::expression_end(text.as_bytes(), false).min(text.len()), expected, "{text}");
        }
    }
}
