//! Inference over rows of named fields.

use super::guess::{Dialect, Guess, Kind};
use super::json::{each_member, json_string, json_value};
use super::{finish, mismatch};
use crate::FormatSettings;
use crate::input::{Input, Schema};
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;

/// Columns in the order in which rows first name them.
#[derive(Default)]
pub struct NamedGuesses {
    pub columns: Vec<(String, Guess)>,
    row: usize,
}

impl NamedGuesses {
    /// Adds the fields of one row.
    pub fn add(&mut self, fields: Vec<(String, Guess)>, dialect: Dialect) -> Result<()> {
        for (i, (name, guess)) in fields.iter().enumerate() {
            ensure!(
                fields[..i].iter().all(|f| f.0 != *name),
                INCORRECT_DATA,
                "Duplicate column name found while schema inference: \"{name}\""
            );
            match self.columns.iter_mut().find(|c| c.0 == *name) {
                Some(column) => {
                    let before = column.1.clone();
                    column.1 = before
                        .clone()
                        .merge_or_string(guess.clone(), dialect)
                        .ok_or_else(|| mismatch(name, self.row, &before, guess))?;
                }
                None => self.columns.push((name.clone(), guess.clone())),
            }
        }
        self.row += 1;
        Ok(())
    }
}

/// Rows of JSON objects.
pub fn objects(input: &mut Input, settings: &FormatSettings, as_strings: bool) -> Result<Option<Schema>> {
    of_named_rows(input, settings, Dialect::json(settings), |cur, is_first| {
        if is_first {
            cur.accept_bytes(b"\xef\xbb\xbf");
        }
        cur.skip_whitespace();
        let opening: &[u8] = if is_first { b"[" } else { b",;" };
        if opening.iter().any(|b| cur.accept(*b)) {
            cur.skip_whitespace();
        }
        if cur.is_at_end() || (!is_first && cur.peek() == Some(b']')) {
            return Ok(None);
        }
        let mut fields = Vec::new();
        each_member(cur, |name, cur| {
            let guess = if as_strings {
                let mut text = Vec::new();
                string::json(cur, &mut text)?;
                json_string(&text, settings)
            } else {
                json_value(cur, settings)?
            };
            fields.push((name, guess));
            Ok(())
        })?;
        Ok(Some(fields))
    })
}

/// Runs `row` over the beginning of the input: as many rows and bytes as the settings allow. A row that the end of
/// the looked-at bytes cuts is not counted.
pub fn of_named_rows(
    input: &mut Input,
    settings: &FormatSettings,
    dialect: Dialect,
    mut row: impl FnMut(&mut Cursor<'_>, bool) -> Result<Option<Vec<(String, Guess)>>>,
) -> Result<Option<Schema>> {
    let (head, complete) = super::positional::head(input, settings)?;
    ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
    let mut cur = Cursor::new(head);
    let mut guesses = NamedGuesses::default();
    let mut n = 0;
    while n < settings.input_format_max_rows_to_read_for_schema_inference {
        match row(&mut cur, n == 0) {
            Ok(Some(fields)) => guesses.add(fields, dialect)?,
            Ok(None) => break,
            Err(_) if !complete && n > 0 => break,
            Err(error) => return Err(error),
        }
        n += 1;
    }
    let columns = guesses.columns.into_iter().map(|(name, guess)| match guess.kind {
        // Nothing but empty objects says as little as nothing at all.
        Kind::Object(members) if members.is_empty() => {
            (name, Guess { kind: Kind::Unknown, null: guess.null })
        }
        kind => (name, Guess { kind, null: guess.null }),
    });
    finish(columns.collect(), dialect, settings).map(Some)
}
