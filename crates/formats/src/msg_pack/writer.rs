//! Writing MsgPack.

use crate::WriteRequest;
use crate::binary::swap_uuid;
use crate::row_writer::RowLayout;
use crate::settings::MsgPackUUIDRepresentation;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Data, Vector};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::DataType;

pub struct MsgPackLayout {
    types: Vec<DataType>,
    uuids: MsgPackUUIDRepresentation,
}

impl MsgPackLayout {
    pub fn new(request: &WriteRequest) -> Result<MsgPackLayout> {
        request.header.iter().try_for_each(|(_, ty)| check(ty))?;
        let types = request.header.iter().map(|c| c.1.clone()).collect();
        Ok(MsgPackLayout { types, uuids: request.settings.output_format_msgpack_uuid_representation })
    }

    fn value(&self, out: &mut Vec<u8>, ty: &DataType, vector: &Vector, row: usize) {
        if vector.is_null(row) {
            return out.push(0xc0);
        }
        let ty = ty.bare();
        match &vector.data {
            Data::Nothing(_) => out.push(0xc0),
            Data::U8(values) => unsigned(out, values[row].into()),
            Data::U16(values) => unsigned(out, values[row].into()),
            Data::U32(values) => unsigned(out, values[row].into()),
            Data::U64(values) => unsigned(out, values[row]),
            Data::I8(values) => signed(out, values[row].into()),
            Data::I16(values) => signed(out, values[row].into()),
            Data::I32(values) => signed(out, values[row].into()),
            Data::I64(values) => signed(out, values[row]),
            Data::U128(values) => binary(out, &values[row].to_le_bytes()),
            Data::U256(values) => binary(out, &values[row].to_le_bytes()),
            Data::I128(values) => binary(out, &values[row].to_le_bytes()),
            Data::I256(values) => binary(out, &values[row].to_le_bytes()),
            Data::BF16(_) => out.push(0xc0),
            Data::F32(values) => {
                out.push(0xca);
                out.extend_from_slice(&values[row].to_be_bytes());
            }
            Data::F64(values) => {
                out.push(0xcb);
                out.extend_from_slice(&values[row].to_be_bytes());
            }
            Data::Str(strings) => binary(out, strings.get(row)),
            Data::Fixed(fixed) if *ty == DataType::Uuid => self.uuid(out, fixed.get(row), vector, row),
            Data::Fixed(fixed) => binary(out, fixed.get(row)),
            Data::List(list) => {
                let range = list.range(row);
                if let (DataType::Map(key, value), Data::Struct(pairs)) = (ty, &list.values.data) {
                    length(out, range.len(), 0x80, 0xde);
                    for element in range {
                        self.value(out, key, &pairs.fields[0], element);
                        self.value(out, value, &pairs.fields[1], element);
                    }
                    return;
                }
                length(out, range.len(), 0x90, 0xdc);
                let Some(inner) = ty.element() else { return };
                range.for_each(|element| self.value(out, &inner, &list.values, element));
            }
            Data::Struct(values) => {
                length(out, values.fields.len(), 0x90, 0xdc);
                let DataType::Tuple(fields) = ty else { return };
                fields.iter().zip(&values.fields).for_each(|(f, v)| self.value(out, &f.ty, v, row));
            }
        }
    }

    fn uuid(&self, out: &mut Vec<u8>, bytes: &[u8], vector: &Vector, row: usize) {
        match self.uuids {
            MsgPackUUIDRepresentation::Ext => {
                out.extend_from_slice(&[0xd8, super::reader::UUID_EXTENSION]);
                out.extend_from_slice(bytes);
            }
            MsgPackUUIDRepresentation::Bin => binary(out, &swap_uuid(bytes)),
            MsgPackUUIDRepresentation::Str => {
                out.extend_from_slice(&[0xd9, 36]);
                Writer::new(&DataType::Uuid, Style::Plain, &TextSettings::default()).write(out, vector, row);
            }
        }
    }
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
            bail!(ILLEGAL_COLUMN, "Type {ty} is not supported for MsgPack output format")
        }
        _ => Ok(()),
    }
}

fn unsigned(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xff => out.extend_from_slice(&[0xcc, value as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend_from_slice(&(value as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&(value as u32).to_be_bytes());
        }
        _ => {
            out.push(0xcf);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

fn signed(out: &mut Vec<u8>, value: i64) {
    if value >= 0 {
        return unsigned(out, value as u64);
    }
    if value >= -32 {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.extend_from_slice(&[0xd0, value as u8]);
    } else if let Ok(value) = i16::try_from(value) {
        out.push(0xd1);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(0xd2);
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn binary(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        n @ 0..=0xff => out.extend_from_slice(&[0xc4, n as u8]),
        n @ 0x100..=0xffff => {
            out.push(0xc5);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(0xc6);
            out.extend_from_slice(&(n as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// The head of an array or a map: in the byte of `small`, or behind the byte `large`.
fn length(out: &mut Vec<u8>, n: usize, small: u8, large: u8) {
    match n {
        0..=15 => out.push(small | n as u8),
        16..=0xffff => {
            out.push(large);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        _ => {
            out.push(large + 1);
            out.extend_from_slice(&(n as u32).to_be_bytes());
        }
    }
}

impl RowLayout for MsgPackLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        for (ty, column) in self.types.iter().zip(block.columns()) {
            let (vector, row) = column.locate(row);
            self.value(out, ty, vector, row);
        }
    }
}
