//! Values of Variant, Dynamic and JSON columns in the kernel's binary form, one value at a time.

use crate::binary::{Cursor, put_string, put_value, put_var_uint, take_value};
use crate::binary_types::{put_type, take_type};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::json::Entry;
use chalet_columns::{Builder, Data, StringBuilder, Vector, json, variant};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::{DataType, JsonType};
use regex::bytes::Regex;
use std::sync::Arc;

/// Number of the type of a Variant that is NULL.
const NULL: u8 = 0xff;

/// Values of JSON and Dynamic columns as JSON texts, for formats that know them as texts only. A NULL of a Dynamic is `null`.
pub fn json_texts(vector: &Vector, ty: &DataType) -> Vector {
    let writer = Writer::new(ty.without_nullable(), Style::Json, &TextSettings::default());
    let is_dynamic = ty.is_of_several_types();
    let mut texts = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        match vector.is_null(row) && !is_dynamic {
            true => texts.push(b""),
            false => texts.push_with(|text| writer.write(text, vector, row)),
        }
    }
    let validity = if is_dynamic { None } else { vector.validity.clone() };
    Vector::new(Data::Str(texts.finish()), validity)
}

/// Appends the value of a row of a Variant, Dynamic or JSON column, of which `encoded` are the bytes there.
pub fn put(out: &mut Vec<u8>, ty: &DataType, encoded: &[u8]) -> Result<()> {
    match ty {
        DataType::Variant(types) => {
            let (number, mut value) = variant::split(ty, encoded)?;
            out.extend_from_slice(number);
            let ty = types.get(usize::from(number[0])).unwrap_or(&DataType::Nothing);
            put_decoded(out, ty, &mut value)
        }
        DataType::Dynamic(_) => {
            let (tag, mut value) = variant::split(ty, encoded)?;
            let inner = variant::type_of_tag(ty, tag)?;
            put_type(out, &inner);
            put_decoded(out, &inner, &mut value)
        }
        DataType::Json(json) => put_object(out, json, encoded),
        other => bail!(LOGICAL_ERROR, "{other} is not a type of several types"),
    }
}

/// Appends what stands for NULL.
pub fn put_null(out: &mut Vec<u8>, ty: &DataType) {
    out.push(if matches!(ty, DataType::Variant(_)) { NULL } else { 0 });
}

fn put_decoded(out: &mut Vec<u8>, ty: &DataType, value: &mut &[u8]) -> Result<()> {
    let mut builder = Builder::new(ty);
    variant::take(value, ty, &mut builder, true)?;
    put_value(out, ty, &builder.finish(), 0)
}

/// The number of paths, then of each its name and value, behind its type where the column's type does not name it.
fn put_object(out: &mut Vec<u8>, ty: &JsonType, encoded: &[u8]) -> Result<()> {
    let entries = json::entries(encoded)?;
    let dynamic: Vec<&Entry> = entries.iter().filter(|(path, _)| ty.typed_path(path).is_none()).collect();
    put_var_uint(out, (ty.typed.len() + dynamic.len()) as u64);
    for (path, inner) in &ty.typed {
        put_string(out, path.as_bytes());
        match entries.iter().find(|(known, _)| known == path.as_bytes()) {
            Some((_, value)) => {
                let (_, mut value) = variant::split(&DataType::DYNAMIC, value)?;
                put_decoded(out, inner, &mut value)?;
            }
            None => put_value(out, inner, &Vector::defaults(inner, 1), 0)?,
        }
    }
    for (path, value) in dynamic {
        put_string(out, path);
        put(out, &DataType::DYNAMIC, value)?;
    }
    Ok(())
}

/// Reads a value as a Variant, Dynamic or JSON column holds it; `None` is NULL.
pub fn take(from: &mut Cursor<'_>, ty: &DataType) -> Result<Option<Vec<u8>>> {
    match ty {
        DataType::Variant(types) => {
            let [number] = from.array()?;
            if number == NULL {
                return Ok(None);
            }
            let Some(inner) = types.get(usize::from(number)) else {
                bail!(INCORRECT_DATA, "Type {ty} has no alternative of number {number}");
            };
            let mut encoded = vec![number];
            encode(from, inner, &mut encoded)?;
            Ok(Some(encoded))
        }
        DataType::Dynamic(_) => take_dynamic(from),
        DataType::Json(json) => take_object(from, json).map(Some),
        other => bail!(LOGICAL_ERROR, "{other} is not a type of several types"),
    }
}

/// A value behind its type.
fn take_dynamic(from: &mut Cursor<'_>) -> Result<Option<Vec<u8>>> {
    let ty = take_type(from)?;
    if ty == DataType::Nothing {
        return Ok(None);
    }
    let inner = ty.as_alternative();
    ensure!(!inner.is_of_several_types(), INCORRECT_DATA, "Dynamic value in the data is of type {ty}");
    let mut encoded = inner.to_string().into_bytes();
    encoded.push(0);
    let mut builder = Builder::new(&ty);
    take_value(from, &ty, &mut builder)?;
    let values = builder.finish();
    if values.is_null(0) {
        return Ok(None);
    }
    variant::put(&mut encoded, &values.without_nulls(), 0, &inner, true);
    Ok(Some(encoded))
}

fn encode(from: &mut Cursor<'_>, ty: &DataType, encoded: &mut Vec<u8>) -> Result<()> {
    let mut builder = Builder::new(ty);
    take_value(from, ty, &mut builder)?;
    variant::put(encoded, &builder.finish(), 0, ty, true);
    Ok(())
}

fn take_object(from: &mut Cursor<'_>, ty: &Arc<JsonType>) -> Result<Vec<u8>> {
    let n = from.var_uint()?;
    ensure!(
        n <= from.rest.len() as u64,
        CANNOT_READ_ALL_DATA,
        "Cannot read all data: an object of {n} paths is cut short"
    );
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..n {
        let path = from.string()?;
        let value = match ty.typed_path(path) {
            Some(inner) => {
                let mut encoded = inner.to_string().into_bytes();
                encoded.push(0);
                encode(from, inner, &mut encoded)?;
                Some(encoded)
            }
            None => take_dynamic(from)?,
        };
        let skipped = skips(ty, path)?;
        entries.extend(value.filter(|_| !skipped).map(|value| (path.to_vec(), value)));
    }
    for (path, inner) in &ty.typed {
        if entries.iter().all(|(known, _)| known != path.as_bytes()) {
            let mut value = inner.to_string().into_bytes();
            value.push(0);
            variant::put(&mut value, &Vector::defaults(inner, 1), 0, inner, true);
            entries.push((path.as_bytes().to_vec(), value));
        }
    }
    entries.sort();
    ensure!(
        entries.windows(2).all(|pair| pair[0].0 != pair[1].0),
        INCORRECT_DATA,
        "Object in the data has a path twice"
    );
    let mut encoded = Vec::new();
    json::put_object(&mut encoded, entries.iter().map(|(path, value)| (&path[..], &value[..])));
    Ok(encoded)
}

/// Does the type keep nothing of this path?
fn skips(ty: &JsonType, path: &[u8]) -> Result<bool> {
    let is_below = |skip: &Arc<str>| {
        path.strip_prefix(skip.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
    };
    if ty.skipped.iter().any(is_below) {
        return Ok(true);
    }
    for regexp in &ty.skipped_regexps {
        let skipped = Regex::new(regexp);
        let skipped = skipped.map_err(|e| err!(CANNOT_COMPILE_REGEXP, "Cannot compile {regexp}: {e}"))?;
        if skipped.is_match(path) {
            return Ok(true);
        }
    }
    Ok(false)
}
