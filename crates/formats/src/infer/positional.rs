//! Inference over rows of fields in a fixed order, and the detection of a header.

use super::guess::{Dialect, Guess};
use super::{finish, mismatch};
use crate::FormatSettings;
use crate::header::Header;
use crate::input::{Input, Schema};
use crate::positional::{FieldSyntax, PositionalFormat, header_line, skip_lines};
use chalet_base::{Result, bail, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;

/// The bytes that inference looks at: lines that begin within the limit, whole unless they are longer than [`MAX_LINE`].
pub fn head<'a>(input: &'a mut Input, settings: &FormatSettings) -> Result<(&'a [u8], bool)> {
    let limit = settings.input_format_max_bytes_to_read_for_schema_inference.clamp(1, 1 << 40) as usize;
    let mut shown = limit;
    let end = loop {
        let (bytes, complete) = input.head(shown)?;
        if let Some(at) = bytes.get(limit - 1..).and_then(|line| memchr::memchr(b'\n', line)) {
            break limit + at;
        }
        if complete {
            break shown;
        }
        if shown >= limit + MAX_LINE {
            break limit;
        }
        shown = (limit + 2 * (shown - limit).max(1 << 15)).min(limit + MAX_LINE);
    };
    input.head(end)
}

/// A line is looked at for so many bytes beyond the limit.
const MAX_LINE: usize = 64 << 20;

/// The schema of a positional text format; `field` guesses the field at the cursor and steps behind it.
pub fn positional<F: PositionalFormat>(
    format: &F,
    input: &mut Input,
    settings: &FormatSettings,
    field: impl Fn(&F::Syntax, &mut Cursor<'_>) -> Result<Guess>,
) -> Result<Option<Schema>> {
    let syntax = format.syntax(settings);
    let (bytes, complete) = head(input, settings)?;
    ensure!(!bytes.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
    let mut cur = Cursor::new(bytes);
    skip_lines(&mut cur, format.skipped_lines(settings));
    let row = |cur: &mut Cursor<'_>, is_first: bool| -> Result<Option<Vec<Guess>>> {
        if !syntax.row_start(cur, is_first)? {
            return Ok(None);
        }
        let mut guesses = Vec::new();
        loop {
            guesses.push(field(&syntax, cur)?);
            syntax.check_fields(guesses.len())?;
            if syntax.is_row_end(cur) {
                break;
            }
            syntax.between(cur)?;
        }
        syntax.row_end(cur)?;
        Ok(Some(guesses))
    };
    let mut names: Option<Vec<String>> = None;
    match format.header() {
        Header::NamesAndTypes => {
            let names = header_line(format, &syntax, &mut cur, true)?;
            let types = header_line(format, &syntax, &mut cur, false)?;
            return of_types(names, types).map(Some);
        }
        Header::Names => names = Some(header_line(format, &syntax, &mut cur, true)?),
        Header::None if format.detects_header(settings) => {
            let mut ahead = cur;
            let first = row(&mut ahead, true)?;
            if first.is_some_and(|guesses| guesses.iter().all(Guess::is_string)) {
                let second = ahead;
                let typed = row(&mut ahead, false);
                let mut ahead = second;
                let types = header_line(format, &syntax, &mut ahead, false).unwrap_or_default();
                let mut lines = cur;
                let found = header_line(format, &syntax, &mut lines, true)?;
                if !types.is_empty()
                    && types.len() == found.len()
                    && types.iter().all(|t| t.parse::<DataType>().is_ok())
                {
                    return of_types(found, types).map(Some);
                }
                let speaks = |g: &Guess| !g.is_string() && *g != Guess::NULL;
                if typed.is_ok_and(|row| row.is_some_and(|guesses| guesses.iter().any(speaks))) {
                    names = Some(found);
                    cur = lines;
                }
            }
        }
        Header::None => {}
    }
    let rows = Rows { names, dialect: format.dialect(settings), variable: syntax.variable_fields() };
    positional_rows(cur, complete, rows, settings, row).map(Some)
}

fn of_types(names: Vec<String>, types: Vec<String>) -> Result<Schema> {
    if names.len() != types.len() {
        bail!(
            INCORRECT_DATA,
            "The number of column names {} differs with the number of types {}",
            names.len(),
            types.len()
        );
    }
    names.into_iter().zip(types).map(|(name, ty)| Ok((name, DataType::parse_shown(&ty)?))).collect()
}

/// What is known of rows before they are looked at.
pub struct Rows {
    /// Without them columns are c1, c2, ...
    pub names: Option<Vec<String>>,
    pub dialect: Dialect,
    /// Rows may have fewer fields than others.
    pub variable: bool,
}

/// Merges the guesses of rows.
pub fn positional_rows(
    mut cur: Cursor<'_>,
    complete: bool,
    Rows { names, dialect, variable }: Rows,
    settings: &FormatSettings,
    mut row: impl FnMut(&mut Cursor<'_>, bool) -> Result<Option<Vec<Guess>>>,
) -> Result<Schema> {
    let mut merged: Vec<Guess> = Vec::new();
    let mut n = 0u64;
    while n < settings.input_format_max_rows_to_read_for_schema_inference {
        let guesses = match row(&mut cur, n == 0 && names.is_none()) {
            Ok(Some(guesses)) => guesses,
            Ok(None) => break,
            // The row may be cut by the end of what is looked at.
            Err(_) if !complete && n > 0 => break,
            Err(error) => return Err(error),
        };
        if n == 0 {
            merged = guesses;
        } else {
            ensure!(
                variable || guesses.len() == merged.len(),
                INCORRECT_DATA,
                "Rows have different amount of values"
            );
            merged.extend(guesses.iter().skip(merged.len()).cloned());
            for (i, (before, now)) in merged.iter_mut().zip(guesses).enumerate() {
                let old = before.clone();
                *before = old.clone().merge_or_string(now.clone(), dialect).ok_or_else(|| {
                    let name = names.as_ref().map_or_else(|| (i + 1).to_string(), |names| names[i].clone());
                    mismatch(&name, n as usize, &old, &now)
                })?;
            }
        }
        n += 1;
    }
    ensure!(n > 0, EMPTY_DATA_PASSED, "Cannot read rows from the data");
    let given = settings.column_names_for_schema_inference.trim();
    let names = match names {
        Some(names) => names,
        None if given.is_empty() => (1..=merged.len()).map(|i| format!("c{i}")).collect(),
        None => given.split(',').map(|name| name.trim().to_string()).collect(),
    };
    ensure!(
        names.len() == merged.len(),
        INCORRECT_DATA,
        "The number of column names {} differs with the number of types {}",
        names.len(),
        merged.len()
    );
    finish(names.into_iter().zip(merged).collect(), dialect, settings)
}
