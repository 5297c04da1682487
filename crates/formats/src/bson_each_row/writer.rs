//! Writing BSON documents.

use super::tag;
use crate::WriteRequest;
use crate::binary::swap_uuid;
use crate::row_writer::RowLayout;
use crate::text::text_settings;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Data, Vector};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::DataType;

pub struct BsonLayout {
    columns: Vec<(String, DataType)>,
    string_as_string: bool,
    settings: TextSettings,
}

impl BsonLayout {
    pub fn new(request: &WriteRequest) -> Result<BsonLayout> {
        request.header.iter().try_for_each(|(_, ty)| check(ty))?;
        Ok(BsonLayout {
            columns: request.header.to_vec(),
            string_as_string: request.settings.output_format_bson_string_as_string,
            settings: text_settings(&request.settings, &request.time_zone),
        })
    }

    /// Appends type, name and value.
    fn element(&self, out: &mut Vec<u8>, name: &[u8], ty: &DataType, vector: &Vector, row: usize) {
        let head = |out: &mut Vec<u8>, tag: u8| {
            out.push(tag);
            put_name(out, name);
        };
        if vector.is_null(row) {
            return head(out, tag::NULL);
        }
        let int = |out: &mut Vec<u8>, value: i32| {
            head(out, tag::INT32);
            out.extend_from_slice(&value.to_le_bytes());
        };
        let long = |out: &mut Vec<u8>, value: i64| {
            let is_time = matches!(ty.bare(), DataType::DateTime64(..));
            head(out, if is_time { tag::DATETIME } else { tag::INT64 });
            out.extend_from_slice(&value.to_le_bytes());
        };
        let binary = |out: &mut Vec<u8>, subtype: u8, bytes: &[u8]| {
            head(out, tag::BINARY);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.push(subtype);
            out.extend_from_slice(bytes);
        };
        let double = |out: &mut Vec<u8>, value: f64| {
            head(out, tag::DOUBLE);
            out.extend_from_slice(&value.to_le_bytes());
        };
        let string = |out: &mut Vec<u8>, bytes: &[u8]| match self.string_as_string {
            true => {
                head(out, tag::STRING);
                out.extend_from_slice(&(bytes.len() as u32 + 1).to_le_bytes());
                out.extend_from_slice(bytes);
                out.push(0);
            }
            false => binary(out, 0, bytes),
        };
        match &vector.data {
            Data::Nothing(_) | Data::BF16(_) => head(out, tag::NULL),
            Data::U8(values) if *ty.bare() == DataType::Bool => {
                head(out, tag::BOOL);
                out.push(values[row]);
            }
            Data::U8(values) => int(out, values[row].into()),
            Data::U16(values) => int(out, values[row].into()),
            Data::U32(values) if *ty.bare() == DataType::IPv4 => int(out, values[row] as i32),
            Data::U32(values) => long(out, values[row].into()),
            Data::U64(values) => long(out, values[row] as i64),
            Data::I8(values) => int(out, values[row].into()),
            Data::I16(values) => int(out, values[row].into()),
            Data::I32(values) => int(out, values[row]),
            Data::I64(values) => long(out, values[row]),
            Data::U128(values) => binary(out, 0, &values[row].to_le_bytes()),
            Data::U256(values) => binary(out, 0, &values[row].to_le_bytes()),
            Data::I128(values) => binary(out, 0, &values[row].to_le_bytes()),
            Data::I256(values) => binary(out, 0, &values[row].to_le_bytes()),
            Data::F32(values) => double(out, values[row].into()),
            Data::F64(values) => double(out, values[row]),
            Data::Str(strings) => string(out, strings.get(row)),
            Data::Fixed(fixed) => match ty.bare() {
                DataType::Uuid => binary(out, tag::UUID, &swap_uuid(fixed.get(row))),
                DataType::FixedString(_) => string(out, fixed.get(row)),
                _ => binary(out, 0, fixed.get(row)),
            },
            Data::List(_) | Data::Struct(_) => self.nested(out, name, ty.bare(), vector, row),
        }
    }

    fn nested(&self, out: &mut Vec<u8>, name: &[u8], ty: &DataType, vector: &Vector, row: usize) {
        let named = matches!(ty, DataType::Tuple(fields) if fields.iter().all(|f| f.name.is_some()));
        let is_document = named || matches!(ty, DataType::Map(..));
        out.push(if is_document { tag::DOCUMENT } else { tag::ARRAY });
        put_name(out, name);
        document(out, |out| match (ty, &vector.data) {
            (DataType::Map(key, value), Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                let writer = Writer::new(key, Style::Plain, &self.settings);
                for element in list.range(row) {
                    let mut name = Vec::new();
                    writer.write(&mut name, &pairs.fields[0], element);
                    self.element(out, &name, value, &pairs.fields[1], element);
                }
            }
            (DataType::Array(inner), Data::List(list)) => {
                for (i, element) in list.range(row).enumerate() {
                    self.element(out, i.to_string().as_bytes(), inner, &list.values, element);
                }
            }
            (DataType::Tuple(fields), Data::Struct(values)) => {
                for (i, (field, vector)) in fields.iter().zip(&values.fields).enumerate() {
                    match &field.name {
                        Some(name) => self.element(out, name.as_bytes(), &field.ty, vector, row),
                        None => self.element(out, (i + 1).to_string().as_bytes(), &field.ty, vector, row),
                    }
                }
            }
            _ => {}
        });
    }
}

/// Appends what `fill` appends between a length and a zero.
fn document(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// A name ends with a zero; one inside of it is escaped.
fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    for &byte in name {
        match byte {
            0 => out.extend_from_slice(b"\\u0000"),
            other => out.push(other),
        }
    }
    out.push(0);
}

fn check(ty: &DataType) -> Result<()> {
    match ty.bare() {
        DataType::Array(inner) => check(inner),
        DataType::Map(key, value) => check(key).and_then(|()| check(value)),
        DataType::Tuple(fields) => fields.iter().try_for_each(|field| check(&field.ty)),
        DataType::Nothing if ty.is_nullable() => Ok(()),
        DataType::Nothing
        | DataType::BFloat16
        | DataType::Time
        | DataType::Time64(_)
        | DataType::Interval(_)
        | DataType::Variant(_)
        | DataType::Dynamic(_)
        | DataType::Json(_)
        | DataType::QBit(_)
        | DataType::AggregateFunction(_) => {
            bail!(ILLEGAL_COLUMN, "Type {ty} is not supported in BSON output format")
        }
        _ => Ok(()),
    }
}

impl RowLayout for BsonLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        document(out, |out| {
            for ((name, ty), column) in self.columns.iter().zip(block.columns()) {
                let (vector, row) = column.locate(row);
                self.element(out, name.as_bytes(), ty, vector, row);
            }
        });
    }
}
