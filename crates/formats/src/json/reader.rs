//! Reading JSON documents of rows: the metadata is checked, the rows are read as those of JSONEachRow and its kin.

use super::document::Rows as RowsAs;
use crate::input::{FileScan, Input, ReadRequest, Schema, Whole};
use crate::json_compact_each_row::JsonArraySyntax;
use crate::json_each_row::JsonObjectFile;
use crate::positional::PositionalFile;
use crate::segments::{Rows, Unit};
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::string;
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The metadata of a document, and where its data stands.
pub struct Document {
    pub meta: Schema,
    pub data: Range<usize>,
}

/// A name in an object, and the colon behind it.
pub fn member_name(cur: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let mut name = Vec::new();
    cur.skip_whitespace();
    string::quoted_json_name(cur, &mut name)?;
    cur.skip_whitespace();
    cur.expect(b':')?;
    cur.skip_whitespace();
    Ok(name)
}

/// The metadata, if the document begins with it; the cursor steps behind it.
pub fn parse_meta(cur: &mut Cursor<'_>) -> Result<Option<Schema>> {
    cur.accept_bytes(b"\xef\xbb\xbf");
    cur.skip_whitespace();
    if !cur.accept(b'{') {
        return Ok(None);
    }
    if member_name(cur).ok().as_deref() != Some(b"meta") || cur.peek() != Some(b'[') {
        return Ok(None);
    }
    columns_of_meta(cur).map(Some)
}

/// The document, if it begins with metadata. What follows the data is not looked at.
pub fn parse_document(bytes: &[u8]) -> Result<Option<Document>> {
    let mut cur = Cursor::new(bytes);
    let Some(meta) = parse_meta(&mut cur)? else { return Ok(None) };
    loop {
        cur.skip_whitespace();
        cur.expect(b',')?;
        let name = member_name(&mut cur)?;
        let start = cur.position();
        if name == b"data" && cur.is_at_end() {
            bail!(INCORRECT_DATA, "Unexpected end of JSON document: data is missing");
        }
        let value = string::json_value(&mut cur)?;
        if name == b"data" {
            return Ok(Some(Document { meta, data: start..start + value.len() }));
        }
    }
}

fn columns_of_meta(cur: &mut Cursor<'_>) -> Result<Schema> {
    cur.expect(b'[')?;
    let mut schema = Schema::new();
    loop {
        cur.skip_whitespace();
        if cur.accept(b']') {
            return Ok(schema);
        }
        if !schema.is_empty() {
            cur.expect(b',')?;
            cur.skip_whitespace();
        }
        cur.expect(b'{')?;
        let (mut column, mut ty) = (None, None);
        loop {
            let name = member_name(cur)?;
            let mut text = Vec::new();
            string::json(cur, &mut text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            match &name[..] {
                b"name" => column = Some(text),
                b"type" => ty = Some(DataType::parse_shown(&text)?),
                _ => {}
            }
            cur.skip_whitespace();
            if !cur.accept(b',') {
                break;
            }
        }
        cur.expect(b'}')?;
        let (Some(column), Some(ty)) = (column, ty) else {
            bail!(INCORRECT_DATA, "Column in metadata of JSON document has no name or no type");
        };
        schema.push((column, ty));
    }
}

/// A column that both know must have one type.
pub fn check_meta(meta: &Schema, request: &ReadRequest) -> Result<()> {
    if !request.settings.input_format_json_validate_types_from_metadata {
        return Ok(());
    }
    for (name, shown) in meta {
        let ty = &shown.without_simple_aggregates();
        if let Some((_, expected)) = request.structure.iter().find(|c| c.0 == *name) {
            ensure!(
                ty == expected,
                INCORRECT_DATA,
                "Type {shown} of column '{name}' from metadata is not the same as type in header {expected}: (while reading header)"
            );
        }
    }
    Ok(())
}

/// Opens a document of rows. One without metadata is read as rows of JSON objects.
pub fn open_rows(input: Input, request: ReadRequest, rows: RowsAs) -> Result<Box<dyn FileScan>> {
    let bytes = input.into_bytes()?;
    let Some(Document { meta, data }) = parse_document(&bytes)? else {
        ensure!(
            rows == RowsAs::Objects,
            INCORRECT_DATA,
            "Metadata is expected at the beginning of JSON document"
        );
        return Ok(read_whole(JsonObjectFile::new(request, false), bytes));
    };
    check_meta(&meta, &request)?;
    match rows {
        RowsAs::Objects => {
            let data = bytes.slice_with_length(data.start, data.len());
            Ok(read_whole(JsonObjectFile::new(request, false), data))
        }
        RowsAs::Arrays => {
            ensure!(bytes[data.start] == b'[', INCORRECT_DATA, "Data of JSON document must be an array");
            let inside = bytes.slice_with_length(data.start + 1, data.len().saturating_sub(2));
            let names = meta.into_iter().map(|c| c.0).collect();
            let syntax = JsonArraySyntax::new(&request.settings, false);
            Ok(read_whole(PositionalFile::new(syntax, Some(names), None, request)?, inside))
        }
    }
}

fn read_whole<R: Rows>(file: R, bytes: Buffer) -> Box<dyn FileScan> {
    Whole::boxed(Arc::new(file).reader(Unit::whole(bytes)))
}

/// Opens an object whose members are the rows: their names may be a column.
pub fn open_object_of_rows(input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
    let bytes = input.into_bytes()?;
    let rows = rows_of_object(&bytes, &request.settings.format_json_object_each_row_column_for_object_name)?;
    Ok(read_whole(JsonObjectFile::new(request, false), Buffer::from_vec(rows)))
}

/// The members of an object as rows of JSON objects, each with its name as the value of `column` if that is named.
pub fn rows_of_object(bytes: &[u8], column: &str) -> Result<Vec<u8>> {
    let mut cur = Cursor::new(bytes);
    cur.accept_bytes(b"\xef\xbb\xbf");
    cur.skip_whitespace();
    cur.expect(b'{')?;
    let mut rows = Vec::with_capacity(bytes.len());
    let mut first = true;
    loop {
        cur.skip_whitespace();
        if cur.accept(b'}') {
            return Ok(rows);
        }
        if !std::mem::replace(&mut first, false) {
            cur.expect(b',')?;
            cur.skip_whitespace();
        }
        let start = cur.rest();
        member_name(&mut cur)?;
        let name = &start[..start.len() - cur.rest().len()];
        if cur.peek() != Some(b'{') {
            return Err(cur.expected(b"{"));
        }
        let value = string::json_value(&mut cur)?;
        if column.is_empty() {
            rows.extend_from_slice(value);
        } else {
            let how = chalet_text::write::escape::JsonStrings { escape_slashes: false, validate: false };
            rows.push(b'{');
            chalet_text::write::escape::json(&mut rows, column.as_bytes(), how);
            rows.push(b':');
            let quoted = name.iter().rposition(|b| *b == b'"').map_or(name, |end| &name[..end + 1]);
            rows.extend_from_slice(quoted);
            if value[1..].trim_ascii_start().first() != Some(&b'}') {
                rows.push(b',');
            }
            rows.extend_from_slice(&value[1..]);
        }
        rows.push(b'\n');
    }
}
