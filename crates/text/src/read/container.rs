//! Arrays, tuples and maps, as literals, in CSV and in JSON.

use super::cursor::{Cursor, plain};
use super::{Kind, Reader, Syntax, string};
use chalet_base::{Result, bail};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, ListBuilder};

impl Reader {
    pub(super) fn container(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match (&self.kind, &mut out.values, self.syntax) {
            (Kind::Tuple(fields), Values::Struct { fields: into, len }, Syntax::Csv)
                if fields.iter().all(|(_, reader)| reader.syntax == Syntax::Csv) =>
            {
                for (i, ((_, reader), out)) in fields.iter().zip(into).enumerate() {
                    if i > 0 {
                        cur.expect(self.options.csv_delimiter)?;
                    }
                    reader.read(cur, out)?;
                }
                *len += 1;
                Ok(())
            }
            (_, _, Syntax::Csv) => {
                let mut text = Vec::new();
                string::csv(cur, self.options.csv_delimiter, self.options.csv_quotes, &mut text)?;
                let mut inner = Cursor::new(&text);
                match (&self.kind, &mut out.values) {
                    // A field that is an array needs no brackets.
                    (Kind::Array(element), Values::List(list)) => elements(element, &mut inner, list, true),
                    _ => self.literal(&mut inner, out),
                }
            }
            (_, _, Syntax::Json) => self.json(cur, out),
            _ => self.literal(cur, out),
        }
    }

    /// `[1,2]`, `(1,'a')`, `{'k':1}`
    fn literal(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match (&self.kind, &mut out.values) {
            (Kind::Array(element), Values::List(list)) => array(element, cur, list),
            (Kind::Tuple(fields), Values::Struct { fields: into, len }) => {
                cur.expect(b'(')?;
                for (i, ((_, reader), out)) in fields.iter().zip(into).enumerate() {
                    cur.skip_whitespace();
                    if i > 0 {
                        cur.expect(b',')?;
                        cur.skip_whitespace();
                    }
                    reader.read(cur, out)?;
                }
                cur.skip_whitespace();
                // A tuple of one element may be told from a parenthesis by a comma.
                if fields.len() == 1 && cur.accept(b',') {
                    cur.skip_whitespace();
                }
                cur.expect(b')')?;
                *len += 1;
                Ok(())
            }
            (Kind::Map { key, value }, Values::List(list)) => {
                cur.expect(b'{')?;
                let mut first = true;
                loop {
                    cur.skip_whitespace();
                    if cur.accept(b'}') {
                        break;
                    }
                    if !first {
                        if !cur.accept(b',') {
                            return Err(if cur.is_at_end() {
                                cur.expected(b"}")
                            } else {
                                cur.expected(b",")
                            });
                        }
                        cur.skip_whitespace();
                    }
                    first = false;
                    let Values::Struct { fields, len } = &mut list.values.values else { break };
                    key.read(cur, &mut fields[0])?;
                    cur.skip_whitespace();
                    cur.expect(b':')?;
                    cur.skip_whitespace();
                    value.read(cur, &mut fields[1])?;
                    *len += 1;
                }
                list.close();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn json(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match (&self.kind, &mut out.values) {
            (Kind::Array(element), Values::List(list)) => array(element, cur, list),
            (Kind::Tuple(fields), Values::Struct { fields: into, len }) => {
                let named = !fields.is_empty() && fields.iter().all(|f| f.0.is_some());
                if named && self.options.json_named_tuples_as_objects {
                    self.json_object(cur, fields, into, *len)?;
                } else {
                    cur.expect(b'[')?;
                    for (i, ((_, reader), out)) in fields.iter().zip(into).enumerate() {
                        cur.skip_whitespace();
                        if i > 0 {
                            cur.expect(b',')?;
                        }
                        reader.read(cur, out)?;
                    }
                    cur.skip_whitespace();
                    cur.expect(b']')?;
                }
                *len += 1;
                Ok(())
            }
            (Kind::Map { key, value }, Values::List(list)) => {
                cur.expect(b'{')?;
                let mut text = Vec::new();
                let mut first = true;
                loop {
                    cur.skip_whitespace();
                    if cur.accept(b'}') {
                        break;
                    }
                    if !first {
                        cur.expect(b',')?;
                        cur.skip_whitespace();
                    }
                    first = false;
                    let Values::Struct { fields, len } = &mut list.values.values else { break };
                    if cur.peek() != Some(b'"') {
                        // Says which symbol is wrong.
                        super::scalar::json_text(cur)?;
                        return Err(cur.expected(b"\""));
                    }
                    text.clear();
                    string::json(cur, &mut text)?;
                    key.read_whole(&text, &mut fields[0])?;
                    cur.skip_whitespace();
                    cur.expect(b':')?;
                    value.read(cur, &mut fields[1])?;
                    *len += 1;
                }
                list.close();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An object into a named tuple: keys in any order, missing ones become defaults.
    fn json_object(
        &self,
        cur: &mut Cursor,
        fields: &[(Option<std::sync::Arc<str>>, Reader)],
        into: &mut [Builder],
        row: usize,
    ) -> Result<()> {
        cur.expect(b'{')?;
        let mut name = Vec::new();
        let mut n_read = 0;
        let mut first = true;
        loop {
            cur.skip_whitespace();
            if cur.accept(b'}') {
                break;
            }
            if !first {
                cur.expect(b',')?;
                cur.skip_whitespace();
            }
            first = false;
            if n_read == fields.len() && !self.options.json_ignore_unknown_keys {
                bail!(
                    INCORRECT_DATA,
                    "Unexpected number of elements in named tuple. Expected no more than {} (consider enabling \
                     input_format_json_ignore_unknown_keys_in_named_tuple setting)",
                    fields.len()
                );
            }
            n_read += 1;
            name.clear();
            string::quoted_json_name(cur, &mut name)?;
            cur.skip_whitespace();
            cur.expect(b':')?;
            let found = fields.iter().position(|f| f.0.as_deref().is_some_and(|n| n.as_bytes() == name));
            match found {
                Some(i) if into[i].len() == row => {
                    fields[i].1.read(cur, &mut into[i])?;
                }
                Some(_) => bail!(INCORRECT_DATA, "Duplicate field found in named tuple: {}", plain(&name)),
                None if self.options.json_ignore_unknown_keys => {
                    string::json_value(cur)?;
                }
                None => bail!(
                    NOT_FOUND_COLUMN_IN_BLOCK,
                    "Tuple doesn't have element with name '{}', enable setting \
                     input_format_json_ignore_unknown_keys_in_named_tuple",
                    plain(&name)
                ),
            }
        }
        for (field, out) in fields.iter().zip(into) {
            if out.len() > row {
                continue;
            }
            if !self.options.json_defaults_for_missing_elements {
                bail!(
                    INCORRECT_DATA,
                    "JSON object doesn't contain tuple element {}. If you want to insert defaults in case of missing \
                     elements, enable setting input_format_json_defaults_for_missing_elements_in_named_tuple",
                    field.0.as_deref().unwrap_or("")
                );
            }
            out.push_default();
        }
        Ok(())
    }
}

/// Elements between brackets; a comma before the closing one is allowed.
fn array(element: &Reader, cur: &mut Cursor, list: &mut ListBuilder) -> Result<()> {
    elements(element, cur, list, false)
}

/// The same; `bare`: without the brackets elements go on up to the end of the text.
fn elements(element: &Reader, cur: &mut Cursor, list: &mut ListBuilder, bare: bool) -> Result<()> {
    let bracket = cur.accept(b'[');
    if !bracket && bare && cur.is_at_end() {
        bail!(
            CANNOT_READ_ARRAY_FROM_TEXT,
            "Cannot read array from text, expected opening bracket '[' or array element"
        );
    }
    if !bracket && !bare {
        bail!(CANNOT_READ_ARRAY_FROM_TEXT, "Array does not start with '[' character");
    }
    let mut first = true;
    loop {
        cur.skip_whitespace();
        if bracket && cur.accept(b']') || !bracket && cur.is_at_end() {
            break;
        }
        if cur.is_at_end() {
            return Err(cur.expected(b"]"));
        }
        if !first {
            if !cur.accept(b',') {
                bail!(
                    CANNOT_READ_ARRAY_FROM_TEXT,
                    "Cannot read array from text, expected comma or end of array, found '{}'",
                    plain(&cur.rest()[..1])
                );
            }
            cur.skip_whitespace();
            if bracket && cur.accept(b']') {
                break;
            }
            let is_number = matches!(element.kind, Kind::Integer(_) | Kind::Float(_) | Kind::Decimal { .. });
            if !bracket && is_number && cur.is_at_end() {
                bail!(ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
            }
        }
        first = false;
        // A number that is missing reads as zero; whatever else stands there is found below.
        element.read(cur, &mut list.values)?;
        cur.skip_whitespace();
    }
    list.close();
    Ok(())
}
