//! Reading BSON documents.

use super::tag;
use crate::FormatSettings;
use crate::binary::swap_uuid;
use crate::infer::typed::{Typed, array};
use crate::input::{BlockReader, ReadRequest};
use crate::integers;
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::text::text_settings;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_text::TextSettings;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Syntax};
use chalet_types::{DataType, TupleField};
use std::sync::Arc;

/// Documents nest no deeper.
const MAX_DEPTH: usize = 100;

pub struct BsonFile {
    request: ReadRequest,
    settings: TextSettings,
    failures: Arc<Failures>,
}

impl BsonFile {
    pub fn new(request: ReadRequest) -> BsonFile {
        let settings = text_settings(&request.settings, &request.time_zone);
        BsonFile { request, settings, failures: Arc::default() }
    }
}

fn take<'a>(cur: &mut Cursor<'a>, n: usize) -> Result<&'a [u8]> {
    let Some(bytes) = cur.rest().get(..n) else {
        bail!(
            CANNOT_READ_ALL_DATA,
            "Cannot read all data. Bytes read: {}. Bytes expected: {n}",
            cur.rest().len()
        );
    };
    cur.advance(n);
    Ok(bytes)
}

fn number<const N: usize>(cur: &mut Cursor<'_>) -> Result<[u8; N]> {
    let mut array = [0; N];
    array.copy_from_slice(take(cur, N)?);
    Ok(array)
}

fn length(cur: &mut Cursor<'_>) -> Result<usize> {
    let length = i32::from_le_bytes(number(cur)?);
    usize::try_from(length).map_err(|_| err!(INCORRECT_DATA, "BSON has a length of {length}"))
}

/// The inside of the document at the cursor, which steps behind it.
fn document<'a>(cur: &mut Cursor<'a>) -> Result<Cursor<'a>> {
    let n = length(cur)?;
    ensure!(n >= 5, INCORRECT_DATA, "BSON document has a length of {n}");
    let inside = take(cur, n - 4)?;
    let Some((0, inside)) = inside.split_last() else {
        bail!(CANNOT_READ_ALL_DATA, "Wrong BSON syntax, unexpected end of document");
    };
    Ok(Cursor::new(inside))
}

/// Type and name of the next element of a document.
fn element<'a>(inside: &mut Cursor<'a>) -> Result<Option<(u8, &'a [u8])>> {
    if inside.is_at_end() {
        return Ok(None);
    }
    let tag = take(inside, 1)?[0];
    let name = inside.take_until(|b| b == 0);
    take(inside, 1)?;
    Ok(Some((tag, name)))
}

fn string<'a>(cur: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let n = length(cur)?;
    let Some((0, text)) = take(cur, n)?.split_last() else {
        bail!(INCORRECT_DATA, "BSON string does not end with a zero");
    };
    Ok(text)
}

/// Subtype and bytes.
fn binary<'a>(cur: &mut Cursor<'a>) -> Result<(u8, &'a [u8])> {
    let n = length(cur)?;
    let subtype = take(cur, 1)?[0];
    Ok((subtype, take(cur, n)?))
}

fn type_name(tag: u8) -> &'static str {
    match tag {
        tag::DOUBLE => "Double",
        tag::STRING => "String",
        tag::DOCUMENT => "Document",
        tag::ARRAY => "Array",
        tag::BINARY => "Binary",
        tag::OBJECT_ID => "ObjectId",
        tag::BOOL => "Bool",
        tag::DATETIME => "Datetime",
        tag::NULL => "Null",
        tag::JAVA_SCRIPT => "JavaScript code",
        tag::SYMBOL => "Symbol",
        tag::INT32 => "Int32",
        tag::UINT64 => "Uint64",
        tag::INT64 => "Int64",
        0x06 => "Undefined value",
        0x0b => "Regular expression",
        0x0c => "DBPointer",
        0x0f => "JavaScript code w/ scope",
        0x13 => "Decimal128",
        0xff => "Min key",
        0x7f => "Max key",
        _ => "Unknown",
    }
}

fn check_known(tag: u8) -> Result<()> {
    ensure!(type_name(tag) != "Unknown", UNKNOWN_TYPE, "Unknown BSON type: {tag}");
    Ok(())
}

/// Steps over a value.
fn skip(cur: &mut Cursor<'_>, tag: u8) -> Result<()> {
    check_known(tag)?;
    let n = match tag {
        tag::DOUBLE | tag::DATETIME | tag::UINT64 | tag::INT64 => 8,
        tag::STRING | tag::SYMBOL | tag::JAVA_SCRIPT => length(cur)?,
        tag::DOCUMENT | tag::ARRAY | 0x0f => length(cur)?.saturating_sub(4),
        tag::BINARY => length(cur)?.saturating_add(1),
        tag::OBJECT_ID => 12,
        tag::BOOL => 1,
        tag::INT32 => 4,
        0x0b => {
            for _ in 0..2 {
                cur.take_until(|b| b == 0);
                take(cur, 1)?;
            }
            0
        }
        0x0c => length(cur)?.saturating_add(12),
        0x13 => 16,
        _ => 0,
    };
    take(cur, n).map(|_| ())
}

/// Names and types of the fields of a row.
pub fn types(cur: &mut Cursor<'_>, settings: &FormatSettings) -> Result<Vec<(String, Typed)>> {
    let mut inside = document(cur)?;
    let skip_unsupported = settings.input_format_bson_skip_fields_with_unsupported_types_in_schema_inference;
    let mut fields = Vec::new();
    while let Some((tag, name)) = element(&mut inside)? {
        let mut ahead = inside;
        match type_of(&mut inside, tag, 0) {
            Ok(ty) => fields.push((String::from_utf8_lossy(name).into_owned(), ty)),
            Err(error) if skip_unsupported && error.code() == chalet_base::codes::UNKNOWN_TYPE => {
                skip(&mut ahead, tag)?;
                inside = ahead;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(fields)
}

fn type_of(cur: &mut Cursor<'_>, tag: u8, depth: usize) -> Result<Typed> {
    ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "BSON documents are nested deeper than {MAX_DEPTH}");
    let scalar = match tag {
        tag::DOUBLE => DataType::Float64,
        tag::STRING | tag::SYMBOL | tag::JAVA_SCRIPT => DataType::String,
        tag::OBJECT_ID => DataType::FixedString(12),
        tag::BOOL => DataType::Bool,
        tag::DATETIME => DataType::DateTime64(6, Some(chalet_types::TimeZone::utc())),
        tag::INT32 => DataType::Int32,
        tag::UINT64 => DataType::UInt64,
        tag::INT64 => DataType::Int64,
        tag::NULL => return Ok(None),
        tag::BINARY => {
            let (subtype, _) = binary(cur)?;
            let is_uuid = matches!(subtype, tag::UUID | tag::UUID_OLD);
            return Ok(Some(if is_uuid { DataType::Uuid } else { DataType::String }));
        }
        tag::ARRAY => {
            let mut inside = document(cur)?;
            let mut elements = Vec::new();
            while let Some((tag, _)) = element(&mut inside)? {
                elements.push(type_of(&mut inside, tag, depth + 1)?);
            }
            return Ok(array(elements));
        }
        tag::DOCUMENT => return document_type(&mut document(cur)?, depth),
        other => {
            check_known(other)?;
            bail!(UNKNOWN_TYPE, "BSON type {} is not supported", type_name(other))
        }
    };
    skip(cur, tag)?;
    Ok(Some(scalar))
}

/// A map when all values are of one type, else a tuple.
fn document_type(inside: &mut Cursor<'_>, depth: usize) -> Result<Typed> {
    let mut fields = Vec::new();
    while let Some((tag, name)) = element(inside)? {
        fields.push((String::from_utf8_lossy(name).into_owned(), type_of(inside, tag, depth + 1)?));
    }
    let Some(first) = fields.iter().find_map(|f| f.1.clone()) else { return Ok(None) };
    if fields.iter().all(|f| f.1.as_ref() == Some(&first)) {
        return Ok(Some(DataType::map(DataType::String, first)));
    }
    let field = |(name, ty): (String, Typed)| Some(TupleField { name: Some(name.as_str().into()), ty: ty? });
    Ok(fields.into_iter().map(field).collect::<Option<Vec<_>>>().map(|fields| DataType::Tuple(fields.into())))
}

impl Rows for BsonFile {
    /// Documents say their lengths.
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        let mut end = 0usize;
        while end < at_least {
            let length = i32::from_le_bytes(*bytes.get(end..)?.first_chunk()?);
            end = end.checked_add(usize::try_from(length).ok().filter(|n| *n >= 5)?)?;
        }
        (end <= bytes.len()).then_some(end)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let position = |index: usize| self.request.wanted.iter().position(|w| *w == index);
        let wanted = (0..self.request.structure.len()).map(position).collect();
        let parser = BsonParser { file: self.clone(), wanted };
        let (request, failures) = (self.request.clone(), self.failures.clone());
        Box::new(RowReader::new(parser, self, unit, &request, failures))
    }
}

struct BsonParser {
    file: Arc<BsonFile>,
    wanted: Vec<Option<usize>>,
}

impl RowParser for BsonParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if cur.is_at_end() {
            return Ok(false);
        }
        let request = &self.file.request;
        let mut inside = document(cur)?;
        while let Some((tag, name)) = element(&mut inside)? {
            let Some(index) = request.structure.iter().position(|c| c.0.as_bytes() == name) else {
                ensure!(
                    request.settings.input_format_skip_unknown_fields,
                    INCORRECT_DATA,
                    "Unknown field found while parsing BSONEachRow format: {}",
                    String::from_utf8_lossy(name)
                );
                skip(&mut inside, tag)?;
                continue;
            };
            let Some(column) = self.wanted[index] else {
                skip(&mut inside, tag)?;
                continue;
            };
            ensure!(
                !to.has(column),
                INCORRECT_DATA,
                "Duplicate field found while parsing BSONEachRow format: {}",
                String::from_utf8_lossy(name)
            );
            let ty = &request.structure[index].1;
            if !self.file.value(&mut inside, tag, ty, &mut to.builders[column])? {
                to.mark_omitted(column);
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let length = cur.rest().first_chunk().map_or(0, |n| i32::from_le_bytes(*n));
        cur.advance(
            usize::try_from(length).unwrap_or(0).clamp(1, cur.rest().len().max(1)).min(cur.rest().len()),
        );
    }
}

#[cold]
fn refused(tag: u8, ty: &DataType) -> Error {
    err!(ILLEGAL_COLUMN, "Cannot insert BSON {} into column with type {ty}", type_name(tag))
}

impl BsonFile {
    /// Appends a value; false when a default stands for NULL.
    fn value(&self, cur: &mut Cursor<'_>, tag: u8, ty: &DataType, to: &mut Builder) -> Result<bool> {
        let integer = |to: &mut Builder, value: i64| match integers::fits(ty) && integers::push(to, value) {
            true => Ok(true),
            false => Err(refused(tag, ty)),
        };
        match tag {
            tag::NULL => {
                ensure!(
                    ty.is_nullable() || self.request.settings.input_format_null_as_default,
                    ILLEGAL_COLUMN,
                    "Cannot insert BSON Null value into non-nullable column with type {ty}"
                );
                to.push_default();
                return Ok(ty.is_nullable());
            }
            tag::INT32 => return integer(to, i32::from_le_bytes(number(cur)?).into()),
            tag::INT64 | tag::UINT64 | tag::DATETIME => return integer(to, i64::from_le_bytes(number(cur)?)),
            tag::BOOL => {
                let value = take(cur, 1)?[0];
                return integer(to, (value != 0).into());
            }
            tag::DOUBLE => {
                let value = f64::from_le_bytes(number(cur)?);
                match &mut to.values {
                    Values::F32(values) => values.push(value as f32),
                    Values::F64(values) => values.push(value),
                    _ => return Err(refused(tag, ty)),
                }
            }
            tag::STRING | tag::SYMBOL | tag::JAVA_SCRIPT => {
                return bytes(string(cur)?, tag, 0, ty, to).map(|()| true);
            }
            tag::BINARY => {
                let (subtype, value) = binary(cur)?;
                return bytes(value, tag, subtype, ty, to).map(|()| true);
            }
            tag::OBJECT_ID => return bytes(take(cur, 12)?, tag, 0, ty, to).map(|()| true),
            tag::ARRAY | tag::DOCUMENT => self.nested(&mut document(cur)?, tag, ty, to)?,
            other => {
                check_known(other)?;
                return Err(refused(other, ty));
            }
        }
        to.mark_valid();
        Ok(true)
    }

    fn nested(&self, inside: &mut Cursor<'_>, tag: u8, ty: &DataType, to: &mut Builder) -> Result<()> {
        match (ty.bare(), &mut to.values) {
            (DataType::Array(inner), Values::List(list)) if tag == tag::ARRAY => {
                while let Some((tag, _)) = element(inside)? {
                    self.value(inside, tag, inner, &mut list.values)?;
                }
                list.close();
            }
            (DataType::Map(key, value), Values::List(list)) if tag == tag::DOCUMENT => {
                let reader = Reader::new(key, Syntax::Plain, &self.settings);
                let Values::Struct { fields, len } = &mut list.values.values else {
                    return Err(refused(tag, ty));
                };
                while let Some((tag, name)) = element(inside)? {
                    reader.read_whole(name, &mut fields[0])?;
                    self.value(inside, tag, value, &mut fields[1])?;
                    *len += 1;
                }
                list.close();
            }
            (DataType::Tuple(types), Values::Struct { fields, len }) => {
                let mut seen = vec![false; fields.len()];
                let mut next = 0;
                while let Some((element_tag, name)) = element(inside)? {
                    let named = |f: &TupleField| f.name.as_deref().is_some_and(|n| n.as_bytes() == name);
                    let at = if tag == tag::DOCUMENT { types.iter().position(named) } else { Some(next) };
                    next += 1;
                    let Some(at) = at.filter(|at| seen.get(*at) == Some(&false)) else {
                        bail!(
                            INCORRECT_DATA,
                            "Cannot parse tuple column with type {ty} from BSON: it does not have element '{}'",
                            String::from_utf8_lossy(name)
                        );
                    };
                    seen[at] = true;
                    self.value(inside, element_tag, &types[at].ty, &mut fields[at])?;
                }
                ensure!(
                    !seen.contains(&false),
                    INCORRECT_DATA,
                    "Cannot parse tuple column with type {ty} from BSON: the number of elements in tuple and in BSON differs"
                );
                *len += 1;
            }
            _ => return Err(refused(tag, ty)),
        }
        Ok(())
    }
}

fn bytes(value: &[u8], tag: u8, subtype: u8, ty: &DataType, to: &mut Builder) -> Result<()> {
    if integers::push_raw(to, ty, value) {
        return Ok(());
    }
    match (&mut to.values, ty.bare()) {
        (Values::Str(strings), DataType::String) => strings.push(value),
        (Values::Fixed { bytes: out, .. }, DataType::Uuid)
            if matches!(subtype, tag::UUID | tag::UUID_OLD) && value.len() == 16 =>
        {
            out.extend_from_slice(&swap_uuid(value));
        }
        (_, DataType::Uuid) if tag != tag::BINARY => {
            let reader = Reader::new(&DataType::Uuid, Syntax::Plain, &Default::default());
            return reader.read_whole(value, to);
        }
        _ => return Err(refused(tag, ty)),
    }
    to.mark_valid();
    Ok(())
}
