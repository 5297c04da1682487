//! Values of Variant, Dynamic and JSON from text.

use super::cursor::{Cursor, plain};
use super::seen::{self, Seen, Typing};
use super::{Reader, Syntax, string};
use crate::{TextSettings, json_number};
use chalet_base::{Result, bail, discard_messages, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, json, variant};
use chalet_types::{DataType, JsonType};
use regex::bytes::Regex;
use std::cmp::Reverse;
use std::sync::Arc;

/// How to read values of one of these types.
pub(super) enum Several {
    /// Readers of the alternatives with the bytes before their values, in the order in which they are tried.
    Variant(Vec<(Vec<u8>, Reader)>),
    Dynamic,
    Json(Box<JsonPaths>),
}

/// What a JSON type says of its paths, prepared for reading.
pub(super) struct JsonPaths {
    ty: Arc<JsonType>,
    typed: Vec<Reader>,
    regexps: Vec<Regex>,
}

impl Several {
    pub(super) fn of(ty: &DataType, syntax: Syntax, settings: &TextSettings) -> Several {
        match ty {
            DataType::Variant(types) => {
                let mut readers: Vec<_> = types
                    .iter()
                    .enumerate()
                    .map(|(number, ty)| (vec![number as u8], Reader::new(ty, syntax, settings)))
                    .collect();
                readers.sort_by_key(|(_, reader)| {
                    (rank(&reader.ty), Reverse(depth(&reader.ty)), rank(innermost(&reader.ty)))
                });
                Several::Variant(readers)
            }
            DataType::Json(json) => Several::Json(Box::new(JsonPaths {
                ty: json.clone(),
                typed: json.typed.iter().map(|(_, ty)| Reader::new(ty, Syntax::Json, settings)).collect(),
                regexps: json.skipped_regexps.iter().filter_map(|text| Regex::new(text).ok()).collect(),
            })),
            _ => Several::Dynamic,
        }
    }
}

/// Arrays within arrays: the deeper ones are tried first.
fn depth(ty: &DataType) -> usize {
    match ty {
        DataType::Array(element) => 1 + depth(element),
        _ => 0,
    }
}

fn innermost(ty: &DataType) -> &DataType {
    match ty {
        DataType::Array(element) => innermost(element),
        other => other,
    }
}

/// The order in which types are tried: containers first, then what few texts are values of, strings last.
fn rank(ty: &DataType) -> usize {
    use DataType::*;
    match ty.bare() {
        Array(_) | Tuple(_) | Map(..) => 0,
        Uuid => 10,
        IPv4 => 11,
        IPv6 => 12,
        Enum8(_) => 13,
        Enum16(_) => 14,
        Int8 => 20,
        UInt8 => 21,
        Int16 => 22,
        UInt16 => 23,
        Int32 => 24,
        UInt32 => 25,
        Int64 => 26,
        UInt64 => 27,
        Int128 => 28,
        UInt128 => 29,
        Int256 => 30,
        UInt256 => 31,
        Bool => 32,
        Decimal { precision, .. } => 33 + usize::from(*precision) / 10,
        BFloat16 => 45,
        Float32 => 46,
        Float64 => 47,
        Date => 50,
        Date32 => 51,
        DateTime(_) => 52,
        DateTime64(..) => 53,
        Time | Time64(_) => 54,
        Json(_) => 60,
        FixedString(_) => 70,
        String => 80,
        _ => 55,
    }
}

fn push_bytes(out: &mut Builder, bytes: &[u8]) {
    if let Values::Str(strings) = &mut out.values {
        strings.push(bytes);
    }
}

impl Reader {
    /// Appends the value at the cursor, which is not NULL; the caller marks it valid.
    pub(super) fn several(&self, several: &Several, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match several {
            Several::Variant(readers) => {
                let field = self.field(cur)?;
                self.variant(readers, &field, out)
            }
            Several::Dynamic => {
                let mut bytes = Vec::new();
                self.dynamic(cur, &mut bytes)?;
                push_bytes(out, &bytes);
                Ok(())
            }
            Several::Json(paths) => {
                let mut bytes = Vec::new();
                if self.syntax == Syntax::Json {
                    if cur.peek() != Some(b'{') {
                        bail!(INCORRECT_DATA, "JSON object should start with '{{'");
                    }
                    self.object(paths, cur, &mut bytes)?;
                } else {
                    let mut text = Vec::new();
                    self.text(cur, &mut text)?;
                    self.whole_object(paths, &text, &mut bytes)?;
                }
                push_bytes(out, &bytes);
                Ok(())
            }
        }
    }

    /// As [`several`](Self::several), of the whole of a string; false when it says NULL.
    pub(super) fn several_whole(&self, several: &Several, text: &[u8], out: &mut Builder) -> Result<bool> {
        match several {
            Several::Variant(_) if text == b"NULL" || text == "ᴺᵁᴸᴸ".as_bytes() => return Ok(false),
            Several::Variant(readers) => self.variant(readers, text, out)?,
            // A string is a string.
            Several::Dynamic => push_bytes(out, &[b"String\0", text].concat()),
            Several::Json(paths) => {
                let mut bytes = Vec::new();
                self.whole_object(paths, text, &mut bytes)?;
                push_bytes(out, &bytes);
            }
        }
        Ok(true)
    }

    /// The text of one field, quotes and all, as the readers of alternatives expect it.
    fn field(&self, cur: &mut Cursor) -> Result<Vec<u8>> {
        let start = *cur;
        match self.syntax {
            Syntax::Json => drop(string::json_value(cur)?),
            Syntax::Quoted => {
                if seen::literal(cur, 0).is_none() {
                    bail!(INCORRECT_DATA, "Cannot parse quoted value of type {}", self.ty);
                }
            }
            Syntax::Csv => {
                let (delimiter, quotes) = (self.options.csv_delimiter, self.options.csv_quotes);
                string::csv(cur, delimiter, quotes, &mut Vec::new())?;
            }
            Syntax::Escaped | Syntax::Raw => drop(string::raw(cur)),
            Syntax::Plain => cur.advance(cur.rest().len()),
        }
        Ok(start.rest()[..cur.position() - start.position()].to_vec())
    }

    fn variant(&self, readers: &[(Vec<u8>, Reader)], field: &[u8], out: &mut Builder) -> Result<()> {
        for (tag, reader) in readers {
            let mut value = Builder::new(&reader.ty);
            let read = match self.syntax {
                Syntax::Plain => reader.try_whole(field, &mut value),
                _ => {
                    let mut cur = Cursor::new(field);
                    let fits = reader.suits(field);
                    fits && reader.read(&mut cur, &mut value).is_ok_and(|given| given) && cur.is_at_end()
                }
            };
            if read && value.len() == 1 {
                let mut bytes = tag.clone();
                variant::put(&mut bytes, &value.finish(), 0, &reader.ty, true);
                push_bytes(out, &bytes);
                return Ok(());
            }
        }
        let what = match self.syntax {
            Syntax::Plain => "text value",
            Syntax::Escaped => "escaped value",
            Syntax::Raw => "raw value",
            Syntax::Quoted => "quoted value",
            Syntax::Csv => "CSV value",
            Syntax::Json => "JSON value",
        };
        bail!(INCORRECT_DATA, "Cannot parse {what} of type {} here: {}", self.ty, plain(field));
    }

    /// May the field be a value of the type? Numbers that would wrap or lose something are none.
    fn suits(&self, field: &[u8]) -> bool {
        let unquoted = match field {
            [b'"', inside @ .., b'"'] | [b'\'', inside @ .., b'\''] if self.syntax != Syntax::Quoted => {
                inside
            }
            _ => field,
        };
        let bare = self.ty.bare();
        if *bare == DataType::Bool {
            return !unquoted.first().is_some_and(u8::is_ascii_digit);
        }
        if bare.is_integer() || bare.is_float() || bare.is_decimal() {
            let mut value = Builder::new(bare);
            let as_boolean = self.syntax == Syntax::Json && matches!(unquoted, b"true" | b"false");
            let whole = Reader { syntax: Syntax::Plain, ty: bare.clone(), ..self.copy() };
            return as_boolean || whole.try_whole(unquoted, &mut value);
        }
        // In JSON whatever is neither a number nor a container is a string.
        let string = self.syntax != Syntax::Json || field.first() == Some(&b'"');
        let container =
            matches!(bare, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) | DataType::Json(_));
        string || container || bare.is_string()
    }

    /// A reader of a scalar like this one.
    fn copy(&self) -> Reader {
        Reader::build(self.ty.bare(), Syntax::Plain, &TextSettings::default(), &self.options)
    }

    fn dynamic(&self, cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
        let settings = &self.options.settings;
        let text_value = |out: &mut Vec<u8>, text: &[u8]| {
            out.extend_from_slice(b"String\0");
            out.extend_from_slice(text);
        };
        if self.syntax == Syntax::Json {
            let value = seen::json(cur, 0)?;
            if !seen::encode(&value, Typing::Dynamic, settings, out)? {
                bail!(INCORRECT_DATA, "Cannot infer type of JSON value");
            }
            return Ok(());
        }
        let start = *cur;
        let field = self.field(cur)?;
        let quoted = field.first() == Some(&b'"');
        let text = match self.syntax {
            Syntax::Quoted => field,
            Syntax::Csv if quoted => {
                let mut text = Vec::new();
                let (delimiter, quotes) = (self.options.csv_delimiter, self.options.csv_quotes);
                string::csv(&mut start.clone(), delimiter, quotes, &mut text)?;
                text
            }
            Syntax::Escaped => {
                let mut text = Vec::new();
                string::escaped(&mut start.clone(), &mut text)?;
                text
            }
            _ => field,
        };
        if self.syntax != Syntax::Quoted {
            let ty = seen::text_type(&text, settings);
            if ty != DataType::String {
                seen::encode(&Seen::Text(text), Typing::Literal, settings, out)?;
                return Ok(());
            }
        }
        let mut inner = Cursor::new(&text);
        let value = seen::literal(&mut inner, 0).filter(|_| inner.is_at_end());
        let value = match (value, self.syntax) {
            // Quoted numbers and words are text in CSV; leading zeros make a text of a number in TSV.
            (
                Some(Seen::Number(_) | Seen::Bool(_) | Seen::Null | Seen::Tuple(_) | Seen::Text(_)),
                Syntax::Csv,
            ) if quoted => None,
            (Some(Seen::Number([b'0', b'0'..=b'9', ..])), Syntax::Escaped | Syntax::Raw) => None,
            (Some(Seen::Text(_)), Syntax::Escaped | Syntax::Raw) => None,
            (value, _) => value,
        };
        match value {
            Some(value) if seen::encode(&value, Typing::Literal, settings, out)? => {}
            _ => text_value(out, &text),
        }
        Ok(())
    }

    fn whole_object(&self, paths: &JsonPaths, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let refused = || err!(INCORRECT_DATA, "Cannot parse JSON object here: {}", plain(text));
        let mut cur = Cursor::new(text);
        cur.skip_whitespace();
        match cur.peek() {
            Some(b'{') => match self.object(paths, &mut cur, out) {
                Err(e) if e.code() != chalet_base::codes::INCORRECT_DATA => return Err(refused()),
                result => result?,
            },
            _ => {
                let value = string::json_value(&mut cur).map_err(|_| refused())?;
                let read = matches!(value, b"null" | b"true" | b"false")
                    || seen::json(&mut Cursor::new(value), 0).is_ok();
                if value.is_empty() || !read {
                    return Err(refused());
                }
                if value != b"null" {
                    bail!(
                        INCORRECT_DATA,
                        "Cannot insert data into JSON column: Cannot read JSON object from JSON element: {}",
                        plain(value)
                    );
                }
                self.finish_object(paths, Vec::new(), out)?;
            }
        }
        cur.skip_whitespace();
        if cur.is_at_end() { Ok(()) } else { Err(refused()) }
    }

    /// The object at the cursor, as columns keep it.
    fn object(&self, paths: &JsonPaths, cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
        let mut entries = Vec::new();
        self.members(paths, cur, &mut Vec::new(), &mut entries, 0)?;
        self.finish_object(paths, entries, out)
    }

    fn finish_object(
        &self,
        paths: &JsonPaths,
        mut entries: Vec<json::Entry>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (path, ty) in &paths.ty.typed {
            let known = entries.iter().any(|(known, _)| known == path.as_bytes());
            if !known && !ty.is_nullable() {
                let mut builder = Builder::new(ty);
                builder.push_default();
                let mut value = Vec::new();
                seen::encode_one(builder, ty, &mut value);
                entries.push((path.as_bytes().to_vec(), value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let twice = entries.windows(2).position(|pair| pair[0].0 == pair[1].0);
        if let Some(at) = twice {
            if !self.options.settings.type_json_skip_duplicated_paths {
                bail!(
                    INCORRECT_DATA,
                    "Cannot insert data into JSON column: Duplicate path found during parsing JSON object: {}. You can enable \
                     setting type_json_skip_duplicated_paths to skip duplicated paths during insert",
                    plain(&entries[at].0)
                );
            }
            entries.dedup_by(|b, a| a.0 == b.0);
        }
        json::put_object(out, entries.iter().map(|(path, value)| (&path[..], &value[..])));
        Ok(())
    }

    fn members(
        &self,
        paths: &JsonPaths,
        cur: &mut Cursor,
        path: &mut Vec<u8>,
        entries: &mut Vec<json::Entry>,
        depth: usize,
    ) -> Result<()> {
        if depth > 200 {
            bail!(INCORRECT_DATA, "Cannot insert data into JSON column: JSON structure is too deep");
        }
        seen::each_member(
            cur,
            || Ok(()),
            |name, cur| {
                let length = path.len();
                if depth > 0 {
                    path.push(b'.');
                }
                path.extend_from_slice(&name);
                self.member(paths, cur, path, entries, depth)?;
                path.truncate(length);
                Ok(())
            },
        )
    }

    fn member(
        &self,
        paths: &JsonPaths,
        cur: &mut Cursor,
        path: &mut Vec<u8>,
        entries: &mut Vec<json::Entry>,
        depth: usize,
    ) -> Result<()> {
        let skipped = |skip: &Arc<str>| {
            path.strip_prefix(skip.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
        };
        // `type_json_use_partial_match_to_skip_paths_by_regexp`: a match anywhere in the path is enough.
        let anywhere = self.options.settings.type_json_use_partial_match_to_skip_paths_by_regexp;
        let matches = |regexp: &Regex| match anywhere {
            true => regexp.is_match(path),
            false => regexp.find(path).is_some_and(|found| found.len() == path.len()),
        };
        if paths.ty.skipped.iter().any(skipped) || paths.regexps.iter().any(matches) {
            string::json_value(cur)?;
            return Ok(());
        }
        let typed = paths.ty.typed.iter().position(|(known, _)| known.as_bytes() == &path[..]);
        if let Some(typed) = typed {
            return self.typed_member(paths, typed, cur, entries);
        }
        if cur.peek() == Some(b'{') {
            return self.members(paths, cur, path, entries, depth + 1);
        }
        let value = seen::json(cur, depth)?;
        let mut bytes = Vec::new();
        if seen::encode(&value, Typing::Path(&paths.ty), &self.options.settings, &mut bytes)? {
            entries.push((path.clone(), bytes));
        }
        Ok(())
    }

    fn typed_member(
        &self,
        paths: &JsonPaths,
        typed: usize,
        cur: &mut Cursor,
        entries: &mut Vec<json::Entry>,
    ) -> Result<()> {
        let (path, ty) = &paths.ty.typed[typed];
        let text = string::json_value(cur)?;
        let reader = &paths.typed[typed];
        let several = ty.contains_several_types() || matches!(ty.bare(), DataType::String);
        let read_text = |text: &[u8], suits: bool| {
            let mut builder = Builder::new(ty);
            let mut inner = Cursor::new(text);
            let read = suits && reader.read(&mut inner, &mut builder).is_ok() && inner.is_at_end();
            (read && builder.len() == 1).then_some(builder)
        };
        let suits = several || text == b"null" || Reader::suits(reader, text);
        let nearest = || {
            let text = json_number::text_as(ty.bare(), text)?;
            let suits = ty.bare().is_date_or_time() || Reader::suits(reader, text.as_bytes());
            read_text(text.as_bytes(), suits)
        };
        let read = read_text(text, suits).or_else(|| discard_messages(nearest));
        let Some(builder) = read else {
            let object = matches!(text.first(), Some(b'{' | b'['));
            let what = if object {
                format!("cannot read {ty} value from JSON element: {}", plain(text))
            } else {
                format!("cannot parse {ty} value here: {}", plain(text))
            };
            bail!(INCORRECT_DATA, "Cannot insert data into JSON column: {what} (while reading path {path})");
        };
        if ty.is_nullable() && text == b"null" {
            return Ok(());
        }
        let mut value = Vec::new();
        seen::encode_one(builder, ty, &mut value);
        entries.push((path.as_bytes().to_vec(), value));
        Ok(())
    }
}
