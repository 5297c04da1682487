//! The text of a query parameter as a value of the type that the statement declares.

use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Vector};
use chalet_text::{Cursor, Reader, Syntax, TextSettings};
use chalet_types::{DataType, I256, TimeZone, U256};
use std::borrow::Cow;

/// The value of a text, which is a field of a tab-separated file, as the kernel reads it.
///
/// Stricter than the kernel where that makes up a value: NULL and the empty text are no numbers, and a number outside of
/// its type's range does not wrap. More lenient where a host language knows one kind of list only: arrays and tuples may
/// stand in either's brackets, and whole numbers may end in `.0`.
pub fn parameter_value(name: &str, text: &str, ty: &DataType, time_zone: TimeZone) -> Result<Vector> {
    read(text, ty, time_zone).map_err(|why| {
        err!(
            BAD_QUERY_PARAMETER,
            "Value {} cannot be parsed as {ty} for query parameter '{name}' because {}",
            if text == NULL { "NULL" } else { text },
            why.message()
        )
    })
}

const NULL: &str = r"\N";

fn read(text: &str, ty: &DataType, time_zone: TimeZone) -> Result<Vector> {
    let bare = ty.bare();
    // NULL as it is written in text formats, in the escaping of a text that it is not: no number is written so.
    let is_null = text == NULL || (text == r"\\N" && ty.is_nullable() && !bare.is_string());
    let can_be_null =
        ty.is_nullable() || ty.without_low_cardinality().is_nullable() || bare == &DataType::Nothing;
    ensure!(!is_null || can_be_null, BAD_QUERY_PARAMETER, "the type is not Nullable");
    ensure!(
        !text.is_empty() || !(is_whole(bare) || bare.is_decimal()),
        BAD_QUERY_PARAMETER,
        "there is no number"
    );
    let text = if is_null { Cow::Borrowed(NULL) } else { fitted(text, bare)? };
    let settings = TextSettings { time_zone, ..TextSettings::default() };
    let mut builder = Builder::new(ty);
    let mut cursor = Cursor::new(text.as_bytes());
    Reader::new(ty, Syntax::Escaped, &settings).read(&mut cursor, &mut builder)?;
    let (done, all) = (cursor.position(), text.len());
    ensure!(
        cursor.is_at_end(),
        BAD_QUERY_PARAMETER,
        "it isn't parsed completely: only {done} of {all} bytes was parsed: {}",
        String::from_utf8_lossy(&text.as_bytes()[..done])
    );
    Ok(builder.finish())
}

/// The text with the brackets and the integers that the type wants. What is not understood stays as it is, for the reader
/// to say what is wrong with it.
fn fitted<'t>(text: &'t str, ty: &DataType) -> Result<Cow<'t, str>> {
    let is_nested = matches!(ty, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    if !is_nested && !is_whole(ty) {
        return Ok(Cow::Borrowed(text));
    }
    let mut walk = Walk { text: text.as_bytes(), at: 0, out: Vec::with_capacity(text.len() + 2) };
    let is_understood = walk.value(ty)? && walk.at == text.len();
    let out = is_understood.then(|| String::from_utf8(walk.out).ok()).flatten();
    Ok(out.map_or(Cow::Borrowed(text), Cow::Owned))
}

/// An integer type; a truth value is none.
fn is_whole(ty: &DataType) -> bool {
    ty.is_integer() && *ty != DataType::Bool
}

struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    out: Vec<u8>,
}

impl Walk<'_> {
    /// Copies one value; false where it has another form than the type wants.
    fn value(&mut self, ty: &DataType) -> Result<bool> {
        match ty.bare() {
            DataType::Array(element) => self.list(b'[', b']', |_| Some(element.as_ref())),
            DataType::Tuple(fields) if fields.len() == 1 => {
                let field = &fields[0].ty;
                let is_copied = self.list(b'(', b')', |at| (at == 0).then_some(field))?;
                if is_copied && self.out.last() == Some(&b')') {
                    // A tuple of one has a comma.
                    self.out.pop();
                    self.out.extend(b",)");
                }
                Ok(is_copied)
            }
            DataType::Tuple(fields) => self.list(b'(', b')', |at| fields.get(at).map(|field| &field.ty)),
            DataType::Map(key, value) => self.map(key, value),
            bare if is_whole(bare) => self.integer(bare),
            _ => Ok(self.other()),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|b| b == b' ') {
            self.at += 1;
        }
    }

    /// Passes a byte, after spaces.
    fn passes(&mut self, byte: u8) -> bool {
        self.spaces();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// The same after spaces, as in a list.
    fn element(&mut self, ty: &DataType) -> Result<bool> {
        self.spaces();
        self.value(ty)
    }

    /// What stands in brackets of either kind, in those of the type.
    fn list<'a>(&mut self, open: u8, close: u8, ty: impl Fn(usize) -> Option<&'a DataType>) -> Result<bool> {
        let given = match self.peek() {
            Some(b'[') => b']',
            Some(b'(') => b')',
            _ => return Ok(false),
        };
        self.at += 1;
        self.out.push(open);
        let mut n = 0;
        while !self.passes(given) {
            if n > 0 {
                if !self.passes(b',') {
                    return Ok(false);
                }
                if self.passes(given) {
                    break;
                }
                self.out.push(b',');
            }
            let Some(ty) = ty(n) else { return Ok(false) };
            if !self.element(ty)? {
                return Ok(false);
            }
            n += 1;
        }
        self.out.push(close);
        Ok(true)
    }

    fn map(&mut self, key: &DataType, value: &DataType) -> Result<bool> {
        if !self.passes(b'{') {
            return Ok(false);
        }
        self.out.push(b'{');
        let mut is_first = true;
        while !self.passes(b'}') {
            if !is_first {
                if !self.passes(b',') {
                    return Ok(false);
                }
                self.out.push(b',');
            }
            is_first = false;
            if !self.element(key)? || !self.passes(b':') {
                return Ok(false);
            }
            self.out.push(b':');
            if !self.element(value)? {
                return Ok(false);
            }
        }
        self.out.push(b'}');
        Ok(true)
    }

    /// A word up to what ends it inside of a list.
    fn word(&mut self) -> &[u8] {
        let start = self.at;
        while self.peek().is_some_and(|b| !b",:]})[({'\" ".contains(&b)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn integer(&mut self, ty: &DataType) -> Result<bool> {
        if self.peek() == Some(b'\'') {
            return Ok(self.other());
        }
        let start = self.at;
        self.word();
        let word = &self.text[start..self.at];
        let (whole, fraction) = match word.iter().position(|b| *b == b'.') {
            Some(point) => (&word[..point], &word[point + 1..]),
            None => (word, &[][..]),
        };
        let digits = whole.strip_prefix(b"-").or_else(|| whole.strip_prefix(b"+")).unwrap_or(whole);
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        if !is_number || fraction.iter().any(|b| *b != b'0') {
            self.out.extend(word);
            return Ok(true);
        }
        if !holds(ty, whole) {
            bail!(BAD_QUERY_PARAMETER, "{} is out of the range of {ty}", String::from_utf8_lossy(whole));
        }
        self.out.extend(whole);
        Ok(true)
    }

    /// A text in quotes, or a word.
    fn other(&mut self) -> bool {
        let start = self.at;
        if self.peek() == Some(b'\'') {
            self.at += 1;
            while let Some(b) = self.peek() {
                self.at += 1;
                match b {
                    b'\\' => self.at += 1,
                    b'\'' if self.peek() == Some(b'\'') => self.at += 1,
                    b'\'' => break,
                    _ => {}
                }
            }
        } else if self.word().is_empty() {
            return false;
        }
        let end = self.at.min(self.text.len());
        self.at = end;
        self.out.extend(&self.text[start..end]);
        true
    }
}

/// Is the number, a sign and digits, in the range of the type?
fn holds(ty: &DataType, number: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(number) else { return false };
    // Not even -0 is unsigned.
    let has_sign_of_type = !(ty.is_unsigned() && text.starts_with('-'));
    match ty {
        DataType::Int128 => text.parse::<i128>().is_ok(),
        DataType::Int256 => text.parse::<I256>().is_ok(),
        DataType::UInt128 => text.parse::<u128>().is_ok(),
        DataType::UInt256 => text.parse::<U256>().is_ok(),
        _ => ty.integer_range().is_none_or(|range| {
            has_sign_of_type && text.parse::<i128>().is_ok_and(|number| range.contains(&number))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(text: &str, ty: &str) -> String {
        fitted(text, &ty.parse().unwrap()).map_or_else(|error| error.message().to_owned(), Cow::into_owned)
    }

    #[test]
    fn texts_get_the_form_of_their_type() {
        for (text, ty, wanted) in [
            ("(1, 2,)", "Array(UInt8)", "[1,2]"),
            ("[1,'a]\\'']", "Tuple(UInt8, String)", "(1,'a]\\'')"),
            ("[1]", "Tuple(UInt8)", "(1,)"),
            ("{'a':(5.0)}", "Map(String, Array(Int8))", "{'a':[5]}"),
            ("+5.0", "Int8", "+5"),
            ("300", "UInt8", "300 is out of the range of UInt8"),
            ("[[NULL],[-129]]", "Array(Array(Nullable(Int8)))", "-129 is out of the range of Int8"),
            // These are for the reader to judge.
            ("5.5", "Int8", "5.5"),
            (" 5", "Int8", " 5"),
            ("(1,2", "Array(UInt8)", "(1,2"),
            ("[1)", "Array(UInt8)", "[1)"),
            ("(1,2)", "String", "(1,2)"),
            ("'", "Array(String)", "'"),
            ("['\\", "Array(String)", "['\\"),
        ] {
            assert_eq!(fit(text, ty), wanted, "{text} as {ty}");
        }
    }
}
