//! Guesses from JSON values.

use super::guess::{Dialect, Guess, Kind};
use super::literal::{date_or_time, number};
use crate::FormatSettings;
use chalet_base::{Result, bail, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{seen, string};

/// Deeper nesting than this is refused.
const MAX_DEPTH: usize = 200;

/// The guess of the value at the cursor, which steps behind it.
pub fn json_value(cur: &mut Cursor<'_>, settings: &FormatSettings) -> Result<Guess> {
    value(cur, settings, 0)
}

fn value(cur: &mut Cursor<'_>, settings: &FormatSettings, depth: usize) -> Result<Guess> {
    ensure!(depth <= MAX_DEPTH, TOO_DEEP_RECURSION, "JSON structure is too deep");
    cur.skip_whitespace();
    Ok(match cur.peek() {
        Some(b'"') => {
            let mut text = Vec::new();
            string::json(cur, &mut text)?;
            json_string(&text, settings)
        }
        Some(b'[') => array(cur, settings, depth)?,
        Some(b'{') => object(cur, settings, depth)?,
        _ => {
            let text = string::json_value(cur)?;
            match text {
                b"null" => Guess::NULL,
                b"true" | b"false" => Kind::Bool.into(),
                _ => match number(text, settings, true) {
                    // An integer that no type holds is kept as its text.
                    Some(Kind::Float)
                        if settings.input_format_try_infer_integers
                            && text.iter().all(|b| b.is_ascii_digit() || *b == b'-') =>
                    {
                        Kind::String.into()
                    }
                    Some(kind) => kind.into(),
                    None => Kind::Unknown.into(),
                },
            }
        }
    })
}

/// A string may hold a date, and a number if the settings say so.
pub fn json_string(text: &[u8], settings: &FormatSettings) -> Guess {
    if let Some(date) = date_or_time(text, settings) {
        return date.into();
    }
    if settings.input_format_json_try_infer_numbers_from_strings
        && let Some(kind) = number(text, settings, true)
    {
        return kind.into();
    }
    Kind::String.into()
}

fn array(cur: &mut Cursor<'_>, settings: &FormatSettings, depth: usize) -> Result<Guess> {
    cur.advance(1);
    let dialect = Dialect::elements(settings);
    let mut merged = Guess { kind: Kind::Unknown, null: false };
    // Once an element has nothing in common with those before: all of them.
    let mut mixed: Vec<Guess> = Vec::new();
    let mut first = true;
    loop {
        cur.skip_whitespace();
        if cur.accept(b']') {
            let kind = if mixed.is_empty() { Kind::Array(Box::new(merged)) } else { Kind::Mixed(mixed) };
            return Ok(kind.into());
        }
        if !std::mem::replace(&mut first, false) {
            cur.expect(b',')?;
        }
        let element = value(cur, settings, depth + 1)?;
        if !mixed.is_empty() {
            if mixed.last() != Some(&element) {
                mixed.push(element);
            }
            continue;
        }
        match merged.clone().merge(element.clone(), dialect) {
            Some(both) => merged = both,
            None => mixed = vec![merged.clone(), element],
        }
    }
}

fn object(cur: &mut Cursor<'_>, settings: &FormatSettings, depth: usize) -> Result<Guess> {
    let mut members: Vec<(String, Guess)> = Vec::new();
    each_member(cur, |name, cur| {
        let guess = value(cur, settings, depth + 1)?;
        match members.iter_mut().find(|m| m.0 == name) {
            Some(member) => member.1 = guess,
            None => members.push((name, guess)),
        }
        Ok(())
    })?;
    if settings.input_format_json_try_infer_named_tuples_from_objects {
        return Ok(Kind::Object(members).into());
    }
    if settings.input_format_json_read_objects_as_strings {
        return Ok(Kind::String.into());
    }
    let mut merged = Guess { kind: Kind::Unknown, null: false };
    for (_, guess) in members {
        let null = merged.null || guess.null;
        merged = merged.merge(guess, Dialect::json(settings)).unwrap_or(Guess { kind: Kind::String, null });
    }
    Ok(Kind::Map(Box::new(Kind::String.into()), Box::new(merged)).into())
}

/// Runs over the members of the object at the cursor; `member` stands behind the colon and reads the value.
pub fn each_member<'a>(
    cur: &mut Cursor<'a>,
    mut member: impl FnMut(String, &mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    let cut_off = || bail!(INCORRECT_DATA, "Unexpected EOF while reading JSON object");
    seen::each_member(cur, cut_off, |name, cur| member(String::from_utf8_lossy(&name).into_owned(), cur))
}
