//! Reading CustomSeparated.

use crate::FormatSettings;
use crate::escaping::{self, FieldRules};
use crate::infer::Guess;
use crate::positional::{FieldSyntax, shown};
use crate::settings::EscapingRule;
use chalet_base::{Result, ensure};
use chalet_columns::Builder;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Syntax};
use chalet_types::DataType;
use std::sync::Arc;

/// More fields in a row than this mean that the delimiter behind rows is not in the data.
const MAX_FIELDS: usize = 1_000_000;

#[derive(Clone)]
pub struct CustomSyntax {
    settings: Arc<FormatSettings>,
    rule: EscapingRule,
    rules: FieldRules,
    ignore_spaces: bool,
}

impl CustomSyntax {
    pub fn new(settings: &FormatSettings, ignore_spaces: bool) -> CustomSyntax {
        CustomSyntax {
            rule: settings.format_custom_escaping_rule,
            rules: FieldRules::new(settings),
            settings: Arc::new(settings.clone()),
            ignore_spaces,
        }
    }

    fn skip_spaces(&self, cur: &mut Cursor<'_>) {
        // A line end may be a delimiter.
        while self.ignore_spaces && matches!(cur.peek(), Some(b' ' | b'\t')) {
            cur.advance(1);
        }
    }

    pub fn text(&self, cur: &mut Cursor<'_>) -> Result<String> {
        self.skip_spaces(cur);
        let text = self.rules.text(self.rule, cur)?;
        self.skip_spaces(cur);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    pub fn guess(&self, cur: &mut Cursor<'_>, settings: &FormatSettings) -> Result<Guess> {
        self.skip_spaces(cur);
        let guess = self.rules.guess(self.rule, cur, settings);
        self.skip_spaces(cur);
        guess
    }

    fn expect(&self, cur: &mut Cursor<'_>, delimiter: &str) -> Result<()> {
        self.skip_spaces(cur);
        cur.expect_bytes(delimiter.as_bytes())?;
        self.skip_spaces(cur);
        Ok(())
    }

    /// Does the rest of the data end the rows?
    fn is_suffix(&self, cur: &Cursor<'_>) -> bool {
        let mut ahead = *cur;
        self.skip_spaces(&mut ahead);
        let after = self.settings.format_custom_result_after_delimiter.as_bytes();
        if !ahead.accept_bytes(after) {
            return false;
        }
        self.skip_spaces(&mut ahead);
        ahead.is_at_end()
    }
}

impl FieldSyntax for CustomSyntax {
    fn values(&self) -> Syntax {
        escaping::syntax(self.rule).unwrap_or(Syntax::Escaped)
    }

    fn read(&self, reader: &Reader, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
        self.skip_spaces(cur);
        let given = reader.read(cur, out)?;
        self.skip_spaces(cur);
        Ok(given)
    }

    fn row_start(&self, cur: &mut Cursor<'_>, is_first: bool) -> Result<bool> {
        let settings = &*self.settings;
        if is_first {
            cur.accept_bytes(b"\xef\xbb\xbf");
            self.expect(cur, &settings.format_custom_result_before_delimiter)?;
        }
        let only_line_ends = || cur.rest().iter().all(|b| matches!(b, b'\n' | b'\r'));
        if self.is_suffix(cur) || settings.input_format_custom_skip_trailing_empty_lines && only_line_ends() {
            cur.advance(cur.rest().len());
            return Ok(false);
        }
        if !is_first {
            self.expect(cur, &settings.format_custom_row_between_delimiter)?;
        }
        self.expect(cur, &settings.format_custom_row_before_delimiter)?;
        Ok(true)
    }

    fn between(&self, cur: &mut Cursor<'_>) -> Result<()> {
        self.expect(cur, &self.settings.format_custom_field_delimiter)
    }

    fn row_end(&self, cur: &mut Cursor<'_>) -> Result<()> {
        self.expect(cur, &self.settings.format_custom_row_after_delimiter)
    }

    fn is_row_end(&self, cur: &Cursor<'_>) -> bool {
        let mut ahead = *cur;
        self.skip_spaces(&mut ahead);
        let after = self.settings.format_custom_row_after_delimiter.as_bytes();
        let between = self.settings.format_custom_row_between_delimiter.as_bytes();
        match after.is_empty() {
            false => ahead.rest().starts_with(after),
            true if between.is_empty() => self.is_suffix(cur),
            true => ahead.rest().starts_with(between) || self.is_suffix(cur),
        }
    }

    fn skip_field(&self, cur: &mut Cursor<'_>) -> Result<()> {
        self.skip_spaces(cur);
        self.rules.skip(self.rule, cur)?;
        self.skip_spaces(cur);
        Ok(())
    }

    fn check_fields(&self, n: usize) -> Result<()> {
        ensure!(
            n <= MAX_FIELDS,
            INCORRECT_DATA,
            "Too many fields in a single row of CustomSeparated input (limit: {MAX_FIELDS}). The configured \
             `format_custom_row_after_delimiter` was likely not found in the input data"
        );
        Ok(())
    }

    fn check_text(&self) -> Result<()> {
        let settings = &*self.settings;
        let ends_text = |delimiter: &str| delimiter.starts_with(['\t', '\n']);
        // Who looks for a header finds that text goes on to the end of the data.
        let is_found = settings.input_format_custom_detect_header
            && !ends_text(&settings.format_custom_row_after_delimiter);
        ensure!(
            self.rule != EscapingRule::Escaped
                || ends_text(&settings.format_custom_field_delimiter)
                || is_found,
            BAD_ARGUMENTS,
            "'Escaped' serialization requires delimiter after String field to start with '\\t' or '\\n'"
        );
        Ok(())
    }

    fn skip_value(&self, cur: &mut Cursor<'_>, _: &DataType) -> Result<()> {
        self.skip_field(cur)
    }

    fn fast_string(&self, _: &mut Cursor<'_>, _: &mut Builder) -> bool {
        false
    }

    fn ends_number(&self, byte: u8) -> bool {
        let first = |delimiter: &str| delimiter.as_bytes().first() == Some(&byte);
        self.rule != EscapingRule::Quoted
            && (first(&self.settings.format_custom_field_delimiter)
                || first(&self.settings.format_custom_row_after_delimiter))
            && !byte.is_ascii_alphanumeric()
            && !matches!(byte, b'.' | b'+' | b'-' | b'_')
    }

    /// Behind the next delimiter that ends a row.
    fn skip_row(&self, cur: &mut Cursor<'_>) {
        let rest = cur.rest();
        let after = self.settings.format_custom_row_after_delimiter.as_bytes();
        let after = if after.is_empty() {
            self.settings.format_custom_row_between_delimiter.as_bytes()
        } else {
            after
        };
        let end = match after.is_empty() {
            true => None,
            false => memchr::memmem::find(rest, after).map(|at| at + after.len()),
        };
        cur.advance(end.unwrap_or(rest.len()));
    }

    fn variable_fields(&self) -> bool {
        self.settings.input_format_custom_allow_variable_number_of_columns
    }

    fn find_row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn explain_between(&self, rest: &[u8]) -> String {
        format!(
            "ERROR: There is no delimiter between fields: expected {}, got {}\n",
            shown(self.settings.format_custom_field_delimiter.as_bytes()),
            shown(&rest[..rest.len().min(10)])
        )
    }

    fn explain_end(&self, rest: &[u8]) -> String {
        format!(
            "ERROR: There is no delimiter after last field: expected {}, got {}\n",
            shown(self.settings.format_custom_row_after_delimiter.as_bytes()),
            shown(&rest[..rest.len().min(10)])
        )
    }

    fn is_whitespace_before_field(&self, byte: u8) -> bool {
        self.ignore_spaces && byte.is_ascii_whitespace()
    }
}
