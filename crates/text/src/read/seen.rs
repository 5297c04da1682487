//! Text whose type is not known: parsed as JSON or as a literal of SQL, given a type, and encoded as a value of a Dynamic.

use super::cursor::Cursor;
use super::{Reader, Syntax, string};
use crate::TextSettings;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, variant};
use chalet_types::{DataType, JsonType, TupleField, Value};
use std::sync::Arc;

/// Deeper nesting than this is refused.
const MAX_DEPTH: usize = 200;

/// A value as its text shows it.
#[derive(Clone, Debug)]
pub enum Seen<'a> {
    Null,
    Bool(bool),
    Number(&'a [u8]),
    Text(Vec<u8>),
    Array(Vec<Seen<'a>>),
    Tuple(Vec<Seen<'a>>),
    Map(Vec<(Seen<'a>, Seen<'a>)>),
    /// The text of an object and its members.
    Object(&'a [u8], Vec<(Vec<u8>, Seen<'a>)>),
}

/// Which types values get.
#[derive(Clone, Copy)]
pub enum Typing<'a> {
    /// In a column of type Dynamic: objects are named tuples.
    Dynamic,
    /// At a path of a JSON column: objects in arrays are JSON, and elements of arrays may be NULL.
    Path(&'a JsonType),
    /// Literals: what has no common type has none at all.
    Literal,
}

/// The JSON value at the cursor.
pub fn json<'a>(cur: &mut Cursor<'a>, depth: usize) -> Result<Seen<'a>> {
    ensure!(depth <= MAX_DEPTH, TOO_DEEP_RECURSION, "JSON structure is too deep");
    cur.skip_whitespace();
    Ok(match cur.peek() {
        Some(b'"') => {
            let mut text = Vec::new();
            string::json(cur, &mut text)?;
            Seen::Text(text)
        }
        Some(b'[') => {
            cur.advance(1);
            let mut items = Vec::new();
            loop {
                cur.skip_whitespace();
                if cur.accept(b']') {
                    return Ok(Seen::Array(items));
                }
                if !items.is_empty() {
                    cur.expect(b',')?;
                }
                items.push(json(cur, depth + 1)?);
            }
        }
        Some(b'{') => {
            let start = *cur;
            let mut members = Vec::new();
            each_member(
                cur,
                || Ok(()),
                |name, cur| {
                    members.push((name, json(cur, depth + 1)?));
                    Ok(())
                },
            )?;
            let length = cur.position() - start.position();
            Seen::Object(&start.rest()[..length], members)
        }
        _ => {
            let text = string::json_value(cur)?;
            match text {
                b"null" => Seen::Null,
                b"true" => Seen::Bool(true),
                b"false" => Seen::Bool(false),
                [b'-' | b'0'..=b'9', ..] => Seen::Number(text),
                _ => return Err(Cursor::new(text).expected(b"{")),
            }
        }
    })
}

/// Runs over the members of the object at the cursor; `member` stands behind the colon and reads the value. `cut_off` is the
/// error of an object that ends before a member, if it is another than that of a missing bracket.
pub fn each_member<'a>(
    cur: &mut Cursor<'a>,
    cut_off: impl Fn() -> Result<()>,
    mut member: impl FnMut(Vec<u8>, &mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    cur.expect(b'{')?;
    let mut first = true;
    loop {
        cur.skip_whitespace();
        if cur.accept(b'}') {
            return Ok(());
        }
        if cur.is_at_end() {
            cut_off()?;
        }
        if !std::mem::replace(&mut first, false) {
            cur.expect(b',')?;
            cur.skip_whitespace();
        }
        let mut name = Vec::new();
        string::quoted_json_name(cur, &mut name)?;
        cur.skip_whitespace();
        cur.expect(b':')?;
        cur.skip_whitespace();
        member(name, cur)?;
    }
}

/// The literal at the cursor: number, string, NULL, boolean, array, tuple, map. None where there is none.
pub fn literal<'a>(cur: &mut Cursor<'a>, depth: usize) -> Option<Seen<'a>> {
    if depth > MAX_DEPTH {
        return None;
    }
    match cur.peek()? {
        b'\'' => {
            let mut text = Vec::new();
            string::quoted(cur, b'\'', &mut text).ok()?;
            Some(Seen::Text(text))
        }
        b'[' => Some(Seen::Array(items(cur, b']', depth)?)),
        b'(' => Some(Seen::Tuple(items(cur, b')', depth)?)),
        b'{' => {
            cur.advance(1);
            let mut pairs = Vec::new();
            loop {
                cur.skip_whitespace();
                if cur.accept(b'}') {
                    return Some(Seen::Map(pairs));
                }
                if !pairs.is_empty() {
                    cur.accept(b',').then_some(())?;
                    cur.skip_whitespace();
                }
                let key = literal(cur, depth + 1)?;
                cur.skip_whitespace();
                cur.accept(b':').then_some(())?;
                cur.skip_whitespace();
                pairs.push((key, literal(cur, depth + 1)?));
            }
        }
        _ => {
            let stop = |b: u8| matches!(b, b',' | b']' | b')' | b'}' | b':') || b.is_ascii_whitespace();
            word(cur.take_until(stop))
        }
    }
}

fn items<'a>(cur: &mut Cursor<'a>, close: u8, depth: usize) -> Option<Vec<Seen<'a>>> {
    cur.advance(1);
    let mut items = Vec::new();
    loop {
        cur.skip_whitespace();
        if cur.accept(close) {
            return Some(items);
        }
        if !items.is_empty() {
            cur.accept(b',').then_some(())?;
            cur.skip_whitespace();
        }
        items.push(literal(cur, depth + 1)?);
    }
}

/// A word that is a literal. Numbers with exponents are none, as they may be identifiers of something.
fn word(text: &[u8]) -> Option<Seen<'_>> {
    if text.eq_ignore_ascii_case(b"null") {
        return Some(Seen::Null);
    }
    if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") {
        return Some(Seen::Bool(text.len() == 4));
    }
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let special = [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| digits.eq_ignore_ascii_case(word));
    let points = digits.iter().filter(|b| **b == b'.').count();
    let plain =
        points <= 1 && digits.len() > points && digits.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let fits = points > 0 || special || integer(text).is_some();
    ((plain && fits) || special).then_some(Seen::Number(text))
}

/// The type of an integer that a type of 64 bits holds.
fn integer(text: &[u8]) -> Option<DataType> {
    let text = std::str::from_utf8(text).ok()?;
    if text.parse::<i64>().is_ok() {
        return Some(DataType::Int64);
    }
    text.parse::<u64>().is_ok().then_some(DataType::UInt64)
}

fn number_type(text: &[u8]) -> DataType {
    let is_integer = text.iter().enumerate().all(|(i, b)| b.is_ascii_digit() || (i == 0 && *b == b'-'));
    match (is_integer, integer(text)) {
        (true, Some(ty)) => ty,
        // An integer that no type holds is kept as its text.
        (true, None) => DataType::String,
        _ => DataType::Float64,
    }
}

/// Date, DateTime or DateTime64 where the text is one and nothing else; else String.
pub fn text_type(text: &[u8], settings: &TextSettings) -> DataType {
    let Some(ty) = shape_of_time(text) else { return DataType::String };
    // Beyond the range of the type a wider one is taken.
    let fits = |ty: &DataType| {
        let mut out = Builder::new(ty);
        Reader::new(ty, Syntax::Plain, settings).try_whole(text, &mut out)
    };
    let year: u32 = std::str::from_utf8(&text[..4]).ok().and_then(|year| year.parse().ok()).unwrap_or(0);
    let in_range = match ty {
        DataType::Date => (1970..2149).contains(&year),
        DataType::DateTime(_) => (1970..2106).contains(&year),
        _ => true,
    };
    if in_range && fits(&ty) {
        return ty;
    }
    let widest = DataType::DateTime64(9, None);
    if (1900..2262).contains(&year) && fits(&widest) { widest } else { DataType::String }
}

/// What the text looks like: `YYYY-MM-DD`, with a time of day, with a fraction and a zone.
fn shape_of_time(text: &[u8]) -> Option<DataType> {
    let digits = |range: std::ops::Range<usize>| {
        text.get(range).and_then(|part| {
            let all = part.iter().all(u8::is_ascii_digit);
            all.then(|| part.iter().fold(0u32, |n, b| n * 10 + u32::from(b - b'0')))
        })
    };
    let (_, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    if text[4] != b'-' || text[7] != b'-' || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let Some(separator) = text.get(10) else { return Some(DataType::Date) };
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let colons = text[13] == b':' && text[16] == b':';
    if !matches!(separator, b' ' | b'T') || !colons || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = &text[19..];
    let mut ty = DataType::DateTime(None);
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if n == 0 {
            return None;
        }
        ty = DataType::DateTime64(9, None);
        rest = &fraction[n..];
    }
    let zone = match rest {
        [] | [b'Z'] => true,
        [b'+' | b'-', zone @ ..] => {
            (4..=5).contains(&zone.len()) && zone.iter().all(|b| b.is_ascii_digit() || *b == b':')
        }
        _ => false,
    };
    zone.then_some(ty)
}

/// The type of a value; none of NULL and of what has no common type.
pub fn type_of(seen: &Seen, typing: Typing, settings: &TextSettings) -> Option<DataType> {
    let inner = |value: &Seen| type_of(value, typing, settings);
    Some(match seen {
        Seen::Null => return None,
        Seen::Bool(_) => DataType::Bool,
        Seen::Number(text) => number_type(text),
        Seen::Text(text) => text_type(text, settings),
        Seen::Array(items) => element_type(items, typing, settings)?.array(),
        Seen::Tuple(items) => {
            if items.is_empty() {
                return None;
            }
            DataType::tuple(items.iter().map(inner).collect::<Option<Vec<_>>>()?)
        }
        Seen::Map(pairs) => {
            let mut key = DataType::Nothing;
            let mut value = DataType::Nothing;
            for (k, v) in pairs {
                key = merge(key, inner(k)?, typing)?;
                value = merge(value, inner(v)?, typing)?;
            }
            if pairs.is_empty() {
                return None;
            }
            DataType::map(key, value)
        }
        Seen::Object(_, members) => match typing {
            Typing::Path(json) => DataType::Json(Arc::new(json.clone())),
            _ if members.is_empty() => DataType::String,
            _ => {
                let field = |(name, value): &(Vec<u8>, Seen)| TupleField {
                    name: Some(String::from_utf8_lossy(name).as_ref().into()),
                    ty: inner(value).unwrap_or_else(|| DataType::String.nullable()),
                };
                DataType::Tuple(members.iter().map(field).collect())
            }
        },
    })
}

fn element_type(items: &[Seen], typing: Typing, settings: &TextSettings) -> Option<DataType> {
    let nested;
    let typing = match typing {
        Typing::Path(json) => {
            nested = json.nested();
            Typing::Path(&nested)
        }
        other => other,
    };
    let of_path = matches!(typing, Typing::Path(_));
    let mut merged = DataType::Nothing;
    let mut null = false;
    for item in items {
        // An object's own type is that of this array's elements.
        let ty = match (item, typing) {
            (Seen::Null, _) => {
                null = true;
                continue;
            }
            (Seen::Object(..), Typing::Path(json)) => DataType::Json(Arc::new(json.clone())),
            (Seen::Array(items), Typing::Path(_)) => same_level(items, typing, settings)?.array(),
            (item, _) => type_of(item, typing, settings)?,
        };
        merged = match merge(merged, ty, typing) {
            Some(common) => common,
            None if matches!(typing, Typing::Literal) => return None,
            None => return Some(DataType::DYNAMIC),
        };
    }
    if merged == DataType::Nothing {
        return match typing {
            Typing::Literal => None,
            _ => Some(if null || of_path { DataType::String.nullable() } else { DataType::String }),
        };
    }
    let leaf = !matches!(merged, DataType::Json(_));
    Some(if null || (of_path && leaf) { merged.nullable() } else { merged })
}

/// Arrays in arrays keep as many paths apart as the outermost.
fn same_level(items: &[Seen], typing: Typing, settings: &TextSettings) -> Option<DataType> {
    match typing {
        Typing::Path(json) => {
            let outer = JsonType {
                max_dynamic_paths: json.max_dynamic_paths.saturating_mul(4),
                max_dynamic_types: json.max_dynamic_types.saturating_mul(2),
                ..JsonType::default()
            };
            element_type(items, Typing::Path(&outer), settings)
        }
        other => element_type(items, other, settings),
    }
}

/// The type that holds the values of both.
fn merge(a: DataType, b: DataType, typing: Typing) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(a);
    }
    let numbers_and_text = !matches!(typing, Typing::Literal);
    Some(match (a, b) {
        (Nothing, other) | (other, Nothing) => other,
        (Nullable(x), Nullable(y)) => merge(DataType::clone(&x), DataType::clone(&y), typing)?.nullable(),
        (Nullable(x), y) | (y, Nullable(x)) => merge(DataType::clone(&x), y, typing)?.nullable(),
        (Int64, UInt64) | (UInt64, Int64) => UInt64,
        (Int64 | UInt64, Float64) | (Float64, Int64 | UInt64) => Float64,
        (Bool, number @ (Int64 | UInt64 | Float64)) | (number @ (Int64 | UInt64 | Float64), Bool)
            if numbers_and_text =>
        {
            number
        }
        (Date, DateTime(zone)) | (DateTime(zone), Date) => DateTime(zone),
        (Date | DateTime(_), ticks @ DateTime64(..)) | (ticks @ DateTime64(..), Date | DateTime(_)) => ticks,
        (String, Date | DateTime(_) | DateTime64(..)) | (Date | DateTime(_) | DateTime64(..), String) => {
            String
        }
        (Array(x), Array(y)) => merge(DataType::clone(&x), DataType::clone(&y), typing)?.array(),
        (Map(k1, v1), Map(k2, v2)) => DataType::map(
            merge(DataType::clone(&k1), DataType::clone(&k2), typing)?,
            merge(DataType::clone(&v1), DataType::clone(&v2), typing)?,
        ),
        (Tuple(x), Tuple(y)) => merge_tuples(&x, &y, typing)?,
        _ => return None,
    })
}

/// Named tuples have the elements of both, others one by one.
fn merge_tuples(x: &[TupleField], y: &[TupleField], typing: Typing) -> Option<DataType> {
    let named = x.iter().chain(y).all(|field| field.name.is_some());
    if !named && x.len() != y.len() {
        return None;
    }
    let mut fields = x.to_vec();
    for (i, other) in y.iter().enumerate() {
        let at = if named { fields.iter().position(|f| f.name == other.name) } else { Some(i) };
        match at {
            Some(at) => fields[at].ty = merge(fields[at].ty.clone(), other.ty.clone(), typing)?,
            None => fields.push(other.clone()),
        }
    }
    Some(DataType::Tuple(fields.into()))
}

/// Appends a value as one of a type that [`type_of`] gave for it, or for several with it.
fn push(
    seen: &Seen,
    ty: &DataType,
    typing: Typing,
    out: &mut Builder,
    settings: &TextSettings,
) -> Result<()> {
    let len = out.len();
    match (seen, ty.without_nullable()) {
        (Seen::Null, _) => out.push_default(),
        (_, DataType::Dynamic(_)) => {
            let mut bytes = Vec::new();
            // Below a path of a JSON column objects are JSON here too.
            let nested;
            let typing = match typing {
                Typing::Path(json) => {
                    nested = json.nested();
                    Typing::Path(&nested)
                }
                _ => Typing::Dynamic,
            };
            return match encode(seen, typing, settings, &mut bytes)? {
                true => out.push_value(&Value::Bytes(bytes.into())),
                false => {
                    out.push_default();
                    Ok(())
                }
            };
        }
        (Seen::Object(text, _), DataType::Json(_)) => {
            let reader = Reader::new(ty, Syntax::Plain, settings);
            reader.read_whole(text, out)?;
        }
        (Seen::Array(items), DataType::Array(element)) => {
            if let Values::List(list) = &mut out.values {
                items.iter().try_for_each(|item| push(item, element, typing, &mut list.values, settings))?;
                list.close();
            }
            out.mark_valid();
        }
        (Seen::Map(pairs), DataType::Map(key, value)) => {
            if let Values::List(list) = &mut out.values {
                for (k, v) in pairs {
                    let Values::Struct { fields, len } = &mut list.values.values else { break };
                    push(k, key, typing, &mut fields[0], settings)?;
                    push(v, value, typing, &mut fields[1], settings)?;
                    *len += 1;
                }
                list.close();
            }
            out.mark_valid();
        }
        (Seen::Tuple(items), DataType::Tuple(types)) => {
            if let Values::Struct { fields, len } = &mut out.values {
                for ((item, of), field) in items.iter().zip(types.iter()).zip(fields) {
                    push(item, &of.ty, typing, field, settings)?;
                }
                *len += 1;
            }
            out.mark_valid();
        }
        (Seen::Object(_, members), DataType::Tuple(types)) => {
            if let Values::Struct { fields, len } = &mut out.values {
                for (of, field) in types.iter().zip(fields) {
                    let name = of.name.as_deref().unwrap_or_default().as_bytes();
                    match members.iter().rev().find(|(known, _)| known == name) {
                        Some((_, value)) => push(value, &of.ty, typing, field, settings)?,
                        None => field.push_default(),
                    }
                }
                *len += 1;
            }
            out.mark_valid();
        }
        (scalar, _) => {
            let text: &[u8] = match scalar {
                Seen::Bool(true) if ty.bare().is_number() && *ty.bare() != DataType::Bool => b"1",
                Seen::Bool(false) if ty.bare().is_number() && *ty.bare() != DataType::Bool => b"0",
                Seen::Bool(yes) => [&b"false"[..], b"true"][usize::from(*yes)],
                Seen::Number(text) => text,
                Seen::Text(text) => text,
                Seen::Object(text, _) => text,
                _ => bail!(INCORRECT_DATA, "Value is not of type {ty}"),
            };
            let bare = ty.without_nullable();
            let plain = TextSettings {
                bool_true_representation: "true".into(),
                bool_false_representation: "false".into(),
                ..settings.clone()
            };
            Reader::new(bare, Syntax::Plain, &plain).read_whole(text, out)?;
        }
    }
    debug_assert!(out.len() == len + 1);
    Ok(())
}

/// Appends the value as one of a Dynamic; false when it is NULL.
pub fn encode(seen: &Seen, typing: Typing, settings: &TextSettings, out: &mut Vec<u8>) -> Result<bool> {
    let Some(ty) = type_of(seen, typing, settings) else { return Ok(false) };
    let mut builder = Builder::new(&ty);
    push(seen, &ty, typing, &mut builder, settings)?;
    encode_one(builder, &ty, out);
    Ok(true)
}

/// Appends the one value of a builder as one of a Dynamic.
pub fn encode_one(builder: Builder, ty: &DataType, out: &mut Vec<u8>) {
    out.extend_from_slice(ty.to_string().as_bytes());
    out.push(0);
    variant::put(out, &builder.finish(), 0, ty, true);
}
