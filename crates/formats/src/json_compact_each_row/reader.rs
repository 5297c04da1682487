//! Reading one JSON array a row.

use crate::FormatSettings;
use crate::fast::{ends_json_number, json_string};
use crate::json_rows::{find_row_end, skip_row};
use crate::positional::FieldSyntax;
use chalet_base::Result;
use chalet_columns::Builder;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;
use chalet_text::read::{Reader, Syntax};

#[derive(Clone)]
pub struct JsonArraySyntax {
    /// Values stand in strings that hold their plain text.
    as_strings: bool,
    variable_fields: bool,
}

impl JsonArraySyntax {
    pub fn new(settings: &FormatSettings, as_strings: bool) -> JsonArraySyntax {
        JsonArraySyntax {
            as_strings,
            variable_fields: settings.input_format_json_compact_allow_variable_number_of_columns,
        }
    }

    /// The text of a string.
    pub fn text(&self, cur: &mut Cursor<'_>) -> Result<String> {
        cur.skip_whitespace();
        let mut text = Vec::new();
        string::json(cur, &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// How NULL stands in a string of plain text.
pub const NULL_TEXT: &[u8] = "ᴺᵁᴸᴸ".as_bytes();

/// Appends the value whose plain text stands in a JSON string.
pub fn read_text_value(reader: &Reader, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
    cur.skip_whitespace();
    let mut text = Vec::new();
    string::json(cur, &mut text)?;
    if out.is_nullable() && text == b"NULL" {
        out.push_default();
        return Ok(true);
    }
    if text == NULL_TEXT && (out.is_nullable() || !reader.data_type().bare().is_string()) {
        out.push_default();
        return Ok(out.is_nullable());
    }
    reader.read_whole(&text, out)?;
    Ok(true)
}

impl FieldSyntax for JsonArraySyntax {
    fn values(&self) -> Syntax {
        if self.as_strings { Syntax::Plain } else { Syntax::Json }
    }

    fn read(&self, reader: &Reader, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
        if self.as_strings { read_text_value(reader, cur, out) } else { reader.read(cur, out) }
    }

    fn row_start(&self, cur: &mut Cursor<'_>, is_first: bool) -> Result<bool> {
        if is_first {
            cur.accept_bytes(b"\xef\xbb\xbf");
        }
        cur.skip_whitespace();
        if !is_first && (cur.accept(b',') || cur.accept(b';')) {
            cur.skip_whitespace();
        }
        if cur.is_at_end() {
            return Ok(false);
        }
        cur.expect(b'[')?;
        cur.skip_whitespace();
        Ok(true)
    }

    #[inline]
    fn between(&self, cur: &mut Cursor<'_>) -> Result<()> {
        cur.skip_whitespace();
        cur.expect(b',')?;
        cur.skip_whitespace();
        Ok(())
    }

    fn row_end(&self, cur: &mut Cursor<'_>) -> Result<()> {
        cur.skip_whitespace();
        cur.expect(b']')
    }

    fn is_row_end(&self, cur: &Cursor<'_>) -> bool {
        let mut ahead = *cur;
        ahead.skip_whitespace();
        matches!(ahead.peek(), None | Some(b']'))
    }

    fn skip_field(&self, cur: &mut Cursor<'_>) -> Result<()> {
        string::json_value(cur)?;
        Ok(())
    }

    fn fast_string(&self, cur: &mut Cursor<'_>, out: &mut Builder) -> bool {
        json_string(cur, out)
    }

    #[inline]
    fn ends_number(&self, byte: u8) -> bool {
        ends_json_number(byte)
    }

    fn skip_row(&self, cur: &mut Cursor<'_>) {
        skip_row(cur);
    }

    fn variable_fields(&self) -> bool {
        self.variable_fields
    }

    fn find_row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        find_row_end(bytes, at_least, false)
    }

    fn explain_between(&self, rest: &[u8]) -> String {
        match rest.first() {
            Some(b']') => "ERROR: Closing parenthesis (']') found where comma is expected. It's like your file has less \
                           columns than expected.\nAnd if your file has the right number of columns, maybe it has unescaped \
                           quotes in values.\n"
                .to_string(),
            _ => format!(
                "ERROR: There is no comma. {} found instead.\n",
                crate::positional::shown(&rest[..rest.len().min(1)])
            ),
        }
    }

    fn explain_end(&self, rest: &[u8]) -> String {
        format!(
            "ERROR: There is no closing parenthesis (']') at the end of the row. {} found instead.\n",
            crate::positional::shown(&rest[..rest.len().min(1)])
        )
    }
}
