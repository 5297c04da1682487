//! Reading tab-separated rows, escaped or raw.

use crate::FormatSettings;
use crate::positional::FieldSyntax;
use chalet_base::{Result, bail};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_text::read::Reader;
use chalet_text::read::Syntax;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;
use std::sync::Arc;

/// The settings that rows ask for.
#[derive(Clone)]
pub struct TsvSyntax {
    raw: bool,
    crlf: bool,
    variable_fields: bool,
    skip_trailing_empty_lines: bool,
    empty_as_default: bool,
    /// The text of NULL.
    null: Arc<[u8]>,
}

impl TsvSyntax {
    pub fn new(settings: &FormatSettings, raw: bool) -> TsvSyntax {
        TsvSyntax {
            raw,
            crlf: settings.input_format_tsv_crlf_end_of_line,
            variable_fields: settings.input_format_tsv_allow_variable_number_of_columns,
            skip_trailing_empty_lines: settings.input_format_tsv_skip_trailing_empty_lines,
            empty_as_default: settings.input_format_tsv_empty_as_default,
            null: settings.format_tsv_null_representation.as_bytes().into(),
        }
    }

    /// A field's text, escapes resolved.
    pub fn text(&self, cur: &mut Cursor<'_>) -> Result<String> {
        let mut text = Vec::new();
        match self.raw {
            true => text.extend_from_slice(string::raw(cur)),
            false => string::escaped(cur, &mut text)?,
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl FieldSyntax for TsvSyntax {
    fn values(&self) -> Syntax {
        if self.raw { Syntax::Raw } else { Syntax::Escaped }
    }

    fn read(&self, reader: &Reader, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
        // Only a string can be nothing at the end of the data.
        let ty = reader.data_type().bare();
        if cur.is_at_end() && ty.is_integer() {
            bail!(ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
        }
        reader.read(cur, out)
    }

    fn row_start(&self, cur: &mut Cursor<'_>, is_first: bool) -> Result<bool> {
        if is_first {
            cur.accept_bytes(b"\xef\xbb\xbf");
        }
        if self.skip_trailing_empty_lines && cur.rest().iter().all(|b| matches!(b, b'\n' | b'\r')) {
            cur.advance(cur.rest().len());
        }
        Ok(!cur.is_at_end())
    }

    #[inline]
    fn between(&self, cur: &mut Cursor<'_>) -> Result<()> {
        cur.expect(b'\t')
    }

    #[inline]
    fn row_end(&self, cur: &mut Cursor<'_>) -> Result<()> {
        if cur.accept(b'\n') || cur.is_at_end() {
            return Ok(());
        }
        if cur.peek() == Some(b'\r') && matches!(cur.rest().get(1), None | Some(b'\n')) {
            if self.crlf {
                cur.advance(cur.rest().len().min(2));
                return Ok(());
            }
            bail!(
                INCORRECT_DATA,
                "\nYou have carriage return (\\r, 0x0D, ASCII 13) at end of first row.\nIt's like your input data has \
                 DOS/Windows style line separators, that are illegal in TabSeparated format. You must transform your file to \
                 Unix format.\nBut if you really need carriage return at end of string value of last column, you need to \
                 escape it as \\r\nor else enable setting 'input_format_tsv_crlf_end_of_line'"
            );
        }
        Err(cur.expected(b"\n"))
    }

    fn is_row_end(&self, cur: &Cursor<'_>) -> bool {
        matches!(cur.peek(), None | Some(b'\n')) || (self.crlf && cur.rest().starts_with(b"\r\n"))
    }

    fn skip_field(&self, cur: &mut Cursor<'_>) -> Result<()> {
        loop {
            let rest = cur.rest();
            let Some(at) = memchr::memchr3(b'\t', b'\n', b'\\', rest) else {
                cur.advance(rest.len());
                return Ok(());
            };
            let escape = rest[at] == b'\\' && !self.raw;
            if rest[at] != b'\\' {
                // A carriage return before the line feed belongs to the line end.
                let end = at - usize::from(rest[at] == b'\n' && at > 0 && rest[at - 1] == b'\r');
                cur.advance(end);
                return Ok(());
            }
            cur.advance((at + 1 + usize::from(escape)).min(rest.len()));
        }
    }

    #[inline]
    fn fast_string(&self, cur: &mut Cursor<'_>, out: &mut Builder) -> bool {
        let Values::Str(strings) = &mut out.values else { return false };
        let rest = cur.rest();
        let Some(length) = memchr::memchr3(b'\t', b'\n', b'\\', rest) else { return false };
        let plain =
            rest[length] != b'\\' && (length > 0 || !self.empty_as_default) && rest[..length] != *self.null;
        // A carriage return may belong to the line end.
        if !plain || (length > 0 && rest[length - 1] == b'\r') {
            return false;
        }
        strings.push(&rest[..length]);
        cur.advance(length);
        true
    }

    #[inline]
    fn ends_number(&self, byte: u8) -> bool {
        byte == b'\t' || byte == b'\n' || byte == b'\r'
    }

    fn skip_row(&self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        cur.advance(self.find_row_end(rest, 1).unwrap_or(rest.len()));
    }

    fn variable_fields(&self) -> bool {
        self.variable_fields
    }

    /// A line end behind a backslash ends no row.
    fn find_row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        let mut end = crate::segments::line_end(bytes, at_least)?;
        while !self.raw && bytes[..end - 1].iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1 {
            end = crate::segments::line_end(bytes, end + 1)?;
        }
        Some(end)
    }

    fn explain_between(&self, rest: &[u8]) -> String {
        match rest.first() {
            Some(b'\n') => "ERROR: Line feed found where tab is expected. It's like your file has less columns than \
                            expected.\nAnd if your file has the right number of columns, maybe it has an unescaped backslash \
                            in value before tab, which causes the tab to be escaped.\n"
                .to_string(),
            Some(b'\r') => "ERROR: Carriage return found where tab is expected.\n".to_string(),
            _ => format!(
                "ERROR: There is no tab. {} found instead.\n",
                crate::positional::shown(&rest[..rest.len().min(1)])
            ),
        }
    }

    fn explain_end(&self, rest: &[u8]) -> String {
        match rest.first() {
            Some(b'\t') => "ERROR: Tab found where line feed is expected. It's like your file has more columns than \
                            expected.\nAnd if your file has the right number of columns, maybe it has an unescaped tab in a \
                            value.\n"
                .to_string(),
            Some(b'\r') => "ERROR: Carriage return found where line feed is expected. It's like your file has DOS/Windows \
                            style line separators.\n"
                .to_string(),
            _ => format!(
                "ERROR: There is no line feed. {} found instead.\n",
                crate::positional::shown(&rest[..rest.len().min(1)])
            ),
        }
    }

    fn is_whitespace_before_field(&self, _: u8) -> bool {
        false
    }
}
