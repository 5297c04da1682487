//! Single values of fields: numbers of both sides turned into each other, and texts.

use super::schema::{Kind, Schema};
use crate::protobuf_wire::{Message, Wire, unzigzag, zigzag};
use chalet_base::{Result, bail, err};
use chalet_columns::{Builder, Data, Vector, builder::Values};
use chalet_text::read::cursor::Cursor;
use chalet_text::{Reader, Style, Syntax, TextSettings, Writer};
use chalet_types::{DataType, I256, decimal};

/// A number of either side.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    fn whole(self) -> i128 {
        match self {
            Number::Whole(x) => x,
            Number::Real(x) => x as i128,
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Whole(x) => x as f64,
            Number::Real(x) => x,
        }
    }

    fn text(self) -> String {
        match self {
            Number::Whole(x) => x.to_string(),
            Number::Real(x) => x.to_string(),
        }
    }
}

#[cold]
fn bad_cast(value: &str, from: &str, to: &str, field: &str) -> chalet_base::Error {
    err!(
        PROTOBUF_BAD_CAST,
        "Could not convert value '{value}' from type {from} to type {to} in field '{field}'"
    )
}

/// The text of a value.
fn text_of(ty: &DataType, vector: &Vector, row: usize, settings: &TextSettings) -> Vec<u8> {
    // Truth is a number in fields of text.
    let ty = if *ty == DataType::Bool { &DataType::UInt8 } else { ty };
    let mut text = Vec::new();
    Writer::new(ty, Style::Plain, settings).write(&mut text, vector, row);
    text
}

fn is_bytes(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::String | DataType::FixedString(_) | DataType::IPv6 | DataType::AggregateFunction(_)
    )
}

/// The value of a row that is not NULL as the bytes of a field's value, without tag and length; and is it the default?
pub fn put(
    out: &mut Message,
    (ty, kind): (&DataType, Kind),
    (vector, row): (&Vector, usize),
    (schema, settings, field): (&Schema, &TextSettings, &str),
) -> Result<bool> {
    let ty = ty.bare();
    if matches!(kind, Kind::String | Kind::Bytes) {
        let start = out.0.len();
        match &vector.data {
            Data::Str(strings) if is_bytes(ty) => out.0.extend_from_slice(strings.get(row)),
            Data::Fixed(fixed) if is_bytes(ty) => out.0.extend_from_slice(fixed.get(row)),
            _ => out.0.extend_from_slice(&text_of(ty, vector, row, settings)),
        }
        return Ok(out.0.len() == start);
    }
    let number = match (ty, kind) {
        (
            DataType::String | DataType::FixedString(_) | DataType::Enum8(_) | DataType::Enum16(_),
            Kind::Enum(of),
        ) => {
            let name = text_of(ty, vector, row, settings);
            let name = String::from_utf8_lossy(&name);
            let name = name.trim_end_matches('\0');
            match schema.enums[of].values.iter().find(|(known, _)| known == name) {
                Some((_, number)) => Number::Whole((*number).into()),
                None => return Err(bad_cast(name, &ty.to_string(), &schema.enums[of].full_name, field)),
            }
        }
        (DataType::String | DataType::FixedString(_), _) => parsed(&text_of(ty, vector, row, settings)),
        _ => number_of(ty, vector, row)?,
    };
    put_number(out, kind, number, &|to| bad_cast(&number.text(), &ty.to_string(), to, field), schema)
}

/// The number that a text begins with; zero where it begins with none.
fn parsed(text: &[u8]) -> Number {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end_matches('\0');
    if let Ok(whole) = text.parse::<i128>() {
        return Number::Whole(whole);
    }
    if let Ok(real) = text.parse::<f64>() {
        return Number::Real(real);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let n = digits.bytes().take_while(u8::is_ascii_digit).count();
    let start = &text[..text.len() - digits.len() + n];
    Number::Whole(start.parse().unwrap_or(0))
}

fn number_of(ty: &DataType, vector: &Vector, row: usize) -> Result<Number> {
    let whole = match &vector.data {
        Data::U8(v) => v[row].into(),
        Data::U16(v) => v[row].into(),
        Data::U32(v) => v[row].into(),
        Data::U64(v) => v[row].into(),
        Data::I8(v) => v[row].into(),
        Data::I16(v) => v[row].into(),
        Data::I32(v) => v[row].into(),
        Data::I64(v) => v[row].into(),
        Data::I128(v) => v[row],
        Data::U128(v) => v[row] as i128,
        Data::I256(v) => v[row].as_i128(),
        Data::U256(v) => v[row].as_i128(),
        Data::F32(v) => return Ok(Number::Real(v[row].into())),
        Data::F64(v) => return Ok(Number::Real(v[row])),
        _ => bail!(ILLEGAL_COLUMN, "Type {ty} is not supported in Protobuf format"),
    };
    Ok(match ty {
        DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _) if *scale > 0 => {
            let unit = 10f64.powi((*scale).into());
            Number::Real(whole as f64 / unit)
        }
        _ => Number::Whole(whole),
    })
}

fn put_number(
    out: &mut Message,
    kind: Kind,
    number: Number,
    refused: &dyn Fn(&str) -> chalet_base::Error,
    schema: &Schema,
) -> Result<bool> {
    let whole = number.whole();
    match kind {
        Kind::Double => out.0.extend_from_slice(&number.real().to_le_bytes()),
        Kind::Float => out.0.extend_from_slice(&(number.real() as f32).to_le_bytes()),
        Kind::Int32 | Kind::Int64 | Kind::UInt32 | Kind::UInt64 => out.varint(whole as u64),
        Kind::SInt32 | Kind::SInt64 => out.varint(zigzag(whole as i64)),
        Kind::Fixed32 | Kind::SFixed32 => out.0.extend_from_slice(&(whole as u32).to_le_bytes()),
        Kind::Fixed64 | Kind::SFixed64 => out.0.extend_from_slice(&(whole as u64).to_le_bytes()),
        Kind::Bool if !(0..=1).contains(&whole) => return Err(refused("bool")),
        Kind::Bool => out.varint(whole as u64),
        Kind::Enum(of) => {
            let of = &schema.enums[of];
            if of.values.iter().all(|(_, known)| i128::from(*known) != whole) {
                return Err(refused(&of.full_name));
            }
            out.varint(whole as u64);
        }
        Kind::String | Kind::Bytes | Kind::Message(_) => bail!(LOGICAL_ERROR, "A number is no text"),
    }
    Ok(match number {
        Number::Whole(x) => x == 0,
        Number::Real(x) => match kind {
            Kind::Double | Kind::Float => x.to_bits() == 0,
            _ => whole == 0,
        },
    })
}

/// Appends the value of a field to a column. A value of another wire type is none.
pub fn take(
    wire: Wire<'_>,
    (ty, kind): (&DataType, Kind),
    to: &mut Builder,
    (schema, settings, field): (&Schema, &TextSettings, &str),
) -> Result<()> {
    let bare = ty.bare();
    if let Wire::Bytes(bytes) = wire {
        return take_text(bytes, bare, to, settings, field);
    }
    let bits = wire.number()?;
    let number = match kind {
        Kind::Double => Number::Real(f64::from_bits(bits)),
        Kind::Float => Number::Real(f32::from_bits(bits as u32).into()),
        Kind::Int32 | Kind::SFixed32 | Kind::Enum(_) => Number::Whole((bits as i32).into()),
        Kind::Int64 | Kind::SFixed64 => Number::Whole((bits as i64).into()),
        Kind::SInt32 | Kind::SInt64 => Number::Whole(unzigzag(bits).into()),
        Kind::UInt32 | Kind::Fixed32 => Number::Whole((bits as u32).into()),
        Kind::Bool if bits > 1 => return Err(bad_cast(&bits.to_string(), "bool", &bare.to_string(), field)),
        _ => Number::Whole(bits.into()),
    };
    if let Kind::Enum(of) = kind
        && matches!(
            bare,
            DataType::String | DataType::FixedString(_) | DataType::Enum8(_) | DataType::Enum16(_)
        )
    {
        let of = &schema.enums[of];
        let found = of.values.iter().find(|(_, known)| i128::from(*known) == number.whole());
        let Some((name, _)) = found else {
            return Err(bad_cast(&number.text(), &of.full_name, &bare.to_string(), field));
        };
        return take_text(name.as_bytes(), bare, to, settings, field);
    }
    push(number, bare, to)
        .ok_or_else(|| bad_cast(&number.text(), schema.kind_name(kind), &bare.to_string(), field))?;
    to.mark_valid();
    Ok(())
}

fn take_text(
    bytes: &[u8],
    ty: &DataType,
    to: &mut Builder,
    settings: &TextSettings,
    field: &str,
) -> Result<()> {
    match &mut to.values {
        Values::Str(strings) => strings.push(bytes),
        Values::Fixed { width, bytes: out } if is_bytes(ty) => {
            if bytes.len() > *width {
                return Err(bad_cast(&String::from_utf8_lossy(bytes), "string", &ty.to_string(), field));
            }
            out.extend_from_slice(bytes);
            out.resize(out.len() + *width - bytes.len(), 0);
        }
        _ if ty.is_integer() || ty.is_float() => {
            let number = parsed(bytes);
            push(number, ty, to).ok_or_else(|| bad_cast(&number.text(), "string", &ty.to_string(), field))?;
        }
        _ => {
            let reader = Reader::new(ty, Syntax::Plain, settings);
            let mut value = Builder::new(ty);
            reader.read(&mut Cursor::new(bytes), &mut value)?;
            to.push_from(&value.finish(), 0);
            return Ok(());
        }
    }
    to.mark_valid();
    Ok(())
}

/// Appends a number to a column of numbers, or of texts; `None` where it does not fit.
fn push(number: Number, ty: &DataType, to: &mut Builder) -> Option<()> {
    let whole = match (ty, number) {
        (DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _), number) => match number {
            Number::Whole(x) => x.checked_mul(decimal::pow10_i64((*scale).min(18).into()).into())?,
            Number::Real(x) => (x * 10f64.powi((*scale).into())).round() as i128,
        },
        (_, number) => number.whole(),
    };
    match &mut to.values {
        Values::U8(v) => v.push(whole.try_into().ok()?),
        Values::U16(v) => v.push(whole.try_into().ok()?),
        Values::U32(v) => v.push(whole.try_into().ok()?),
        Values::U64(v) => v.push(whole.try_into().ok()?),
        Values::U128(v) => v.push(whole.try_into().ok()?),
        Values::I8(v) => v.push(whole.try_into().ok()?),
        Values::I16(v) => v.push(whole.try_into().ok()?),
        Values::I32(v) => v.push(whole.try_into().ok()?),
        Values::I64(v) => v.push(whole.try_into().ok()?),
        Values::I128(v) => v.push(whole),
        Values::I256(v) => v.push(I256::from(whole)),
        Values::U256(v) => v.push(u128::try_from(whole).ok()?.into()),
        Values::F32(v) => v.push(number.real() as f32),
        Values::F64(v) => v.push(number.real()),
        Values::Str(strings) => strings.push(number.text().as_bytes()),
        Values::Fixed { width, bytes } => {
            let text = number.text();
            if text.len() > *width {
                return None;
            }
            bytes.extend_from_slice(text.as_bytes());
            bytes.resize(bytes.len() + *width - text.len(), 0);
        }
        _ => return None,
    }
    Some(())
}
