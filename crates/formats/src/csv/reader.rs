//! Reading CSV.

use crate::FormatSettings;
use crate::positional::FieldSyntax;
use chalet_base::{Result, bail};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_text::read::Syntax;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string::{self, CsvQuotes};
use chalet_types::DataType;
use std::sync::Arc;

/// The settings that rows ask for.
#[derive(Clone)]
pub struct CsvSyntax {
    pub delimiter: u8,
    quotes: CsvQuotes,
    cr_ends_line: bool,
    variable_fields: bool,
    spreads_tuples: bool,
    skip_trailing_empty_lines: bool,
    /// The text of NULL.
    null: Arc<[u8]>,
}

impl CsvSyntax {
    pub fn new(settings: &FormatSettings) -> CsvSyntax {
        CsvSyntax {
            delimiter: settings.format_csv_delimiter.0,
            quotes: CsvQuotes {
                single: settings.format_csv_allow_single_quotes,
                double: settings.format_csv_allow_double_quotes,
                trim: settings.input_format_csv_trim_whitespaces,
            },
            cr_ends_line: settings.input_format_csv_allow_cr_end_of_line,
            variable_fields: settings.input_format_csv_allow_variable_number_of_columns,
            spreads_tuples: settings.input_format_csv_deserialize_separate_columns_into_tuple,
            skip_trailing_empty_lines: settings.input_format_csv_skip_trailing_empty_lines,
            null: settings.format_csv_null_representation.as_bytes().into(),
        }
    }

    #[inline]
    fn skip_blanks(&self, cur: &mut Cursor<'_>) {
        while matches!(cur.peek(), Some(b @ (b' ' | b'\t')) if b != self.delimiter) {
            cur.advance(1);
        }
    }

    /// A field's text, quotes resolved.
    pub fn text(&self, cur: &mut Cursor<'_>) -> Result<String> {
        self.skip_blanks(cur);
        let mut text = Vec::new();
        string::csv(cur, self.delimiter, self.quotes, &mut text)?;
        self.skip_blanks(cur);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// A field as it stands, with its quotes.
    pub fn raw_field<'a>(&self, cur: &mut Cursor<'a>) -> Result<&'a [u8]> {
        self.skip_blanks(cur);
        let start = cur.rest();
        self.skip_field(cur)?;
        Ok(&start[..start.len() - cur.rest().len()])
    }
}

impl FieldSyntax for CsvSyntax {
    fn values(&self) -> Syntax {
        Syntax::Csv
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
        cur.expect(self.delimiter)
    }

    fn row_end(&self, cur: &mut Cursor<'_>) -> Result<()> {
        if cur.accept(b'\n') {
            cur.accept(b'\r');
            return Ok(());
        }
        self.skip_blanks(cur);
        // One delimiter more than fields is a habit of some writers.
        if cur.accept(self.delimiter) {
            self.skip_blanks(cur);
        }
        match cur.peek() {
            None => Ok(()),
            Some(b'\n') => {
                cur.advance(1);
                cur.accept(b'\r');
                Ok(())
            }
            Some(b'\r') => {
                cur.advance(1);
                if !cur.accept(b'\n') && !cur.is_at_end() && !self.cr_ends_line {
                    bail!(
                        INCORRECT_DATA,
                        "Cannot parse CSV format: found \\r (CR) not followed by \\n (LF). Line must end by \\n (LF) or \
                         \\r\\n (CR LF) or \\n\\r."
                    );
                }
                Ok(())
            }
            Some(_) => bail!(INCORRECT_DATA, "Expected end of line"),
        }
    }

    fn is_row_end(&self, cur: &Cursor<'_>) -> bool {
        matches!(cur.peek(), None | Some(b'\n' | b'\r'))
    }

    fn skip_field(&self, cur: &mut Cursor<'_>) -> Result<()> {
        self.skip_blanks(cur);
        match cur.peek() {
            Some(quote) if self.quotes.accepts(quote) => {
                cur.advance(1);
                loop {
                    let rest = cur.rest();
                    let Some(at) = memchr::memchr(quote, rest) else {
                        cur.advance(rest.len());
                        return Ok(());
                    };
                    cur.advance(at + 1);
                    if !cur.accept(quote) {
                        break;
                    }
                }
                self.skip_blanks(cur);
            }
            _ => {
                cur.advance(string::csv_field_end(cur.rest(), self.delimiter));
            }
        }
        Ok(())
    }

    /// The elements of a tuple stand in fields of their own.
    fn n_fields(&self, ty: &DataType) -> usize {
        match ty {
            DataType::Tuple(fields) if !fields.is_empty() && self.spreads_tuples => {
                fields.iter().map(|f| self.n_fields(&f.ty)).sum()
            }
            _ => 1,
        }
    }

    #[inline]
    fn fast_string(&self, cur: &mut Cursor<'_>, out: &mut Builder) -> bool {
        let Values::Str(strings) = &mut out.values else { return false };
        let rest = cur.rest();
        match rest.first() {
            Some(&quote) if self.quotes.accepts(quote) => {
                let Some(length) = memchr::memchr(quote, &rest[1..]) else { return false };
                let after = rest.get(length + 2);
                if after == Some(&quote) {
                    return false;
                }
                strings.push(&rest[1..length + 1]);
                cur.advance(length + 2);
                if after != Some(&self.delimiter) {
                    self.skip_blanks(cur);
                }
                true
            }
            None | Some(b' ' | b'\t' | b'\n' | b'\r') => false,
            Some(_) => {
                let length = memchr::memchr3(self.delimiter, b'\n', b'\r', rest).unwrap_or(rest.len());
                let ends = match rest.get(length) {
                    Some(b'\r') => matches!(rest.get(length + 1), None | Some(b'\n')),
                    _ => true,
                };
                if !ends
                    || length == 0
                    || matches!(rest[length - 1], b' ' | b'\t')
                    || rest[..length] == *self.null
                {
                    return false;
                }
                strings.push(&rest[..length]);
                cur.advance(length);
                true
            }
        }
    }

    #[inline]
    fn ends_number(&self, byte: u8) -> bool {
        byte == self.delimiter || byte == b'\n' || byte == b'\r'
    }

    fn skip_row(&self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        cur.advance(memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1));
    }

    fn variable_fields(&self) -> bool {
        self.variable_fields
    }

    /// A line end inside of quotes ends no row. Quotes are counted: a doubled one counts twice and changes nothing.
    fn find_row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        let from = at_least.saturating_sub(1).min(bytes.len());
        if !self.quotes.double {
            return crate::segments::line_end(bytes, at_least);
        }
        let mut inside = memchr::memchr_iter(b'"', &bytes[..from]).count() % 2 == 1;
        let mut at = from;
        loop {
            if inside {
                at += memchr::memchr(b'"', &bytes[at..])? + 1;
            }
            at += memchr::memchr2(b'"', b'\n', &bytes[at..])? + 1;
            inside = bytes[at - 1] == b'"';
            if !inside {
                return Some(at);
            }
        }
    }

    fn explain_between(&self, rest: &[u8]) -> String {
        let delimiter = char::from(self.delimiter);
        match rest.first() {
            Some(b'\n' | b'\r') | None => format!(
                "ERROR: Line feed found where delimiter ({delimiter}) is expected. It's like your file has less columns \
                 than expected.\nAnd if your file has the right number of columns, maybe it has unescaped quotes in values.\n"
            ),
            Some(_) => format!(
                "ERROR: There is no delimiter ({delimiter}). {} found instead.\n",
                crate::positional::shown(&rest[..1])
            ),
        }
    }

    fn explain_end(&self, rest: &[u8]) -> String {
        format!(
            "ERROR: There is no line feed. {} found instead.\n It's like your file has more columns than expected.\n\
             And if your file has the right number of columns, maybe it has an unquoted string value with a comma.\n",
            crate::positional::shown(&rest[..rest.len().min(1)])
        )
    }
}
