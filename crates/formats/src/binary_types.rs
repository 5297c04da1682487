//! Types in the kernel's binary form: a byte a family, then its parameters. Values of Dynamic and JSON columns carry them,
//! and headers of Native and RowBinary on request.

use crate::binary::{Source, put_string, put_var_uint};
use chalet_base::{Result, bail, ensure};
use chalet_types::data_type::SimpleAggregate;
use chalet_types::simple_aggregate::simple_aggregate;
use chalet_types::{
    AggregateType, DataType, EnumValues, IntervalUnit, JsonType, QBitType, TimeZone, TupleField, Value,
};
use std::sync::Arc;

/// Types within types, and parameters within parameters, are damage beyond this depth.
const MAX_DEPTH: u32 = 300;
/// A longer list of elements of a type is taken for damage.
const MAX_ELEMENTS: u64 = 1 << 20;

/// Appends a type.
pub fn put_type(out: &mut Vec<u8>, ty: &DataType) {
    match ty {
        named if named.geometry().is_some() => {
            out.push(0x2c);
            put_string(out, named.to_string().as_bytes());
        }
        nested if nested.nested_elements().is_some() => {
            put_elements(out, nested.nested_elements().unwrap_or_default(), 0x2f);
        }
        DataType::FixedString(n) => {
            out.push(0x16);
            put_var_uint(out, u64::from(*n));
        }
        DataType::DateTime(Some(zone)) => {
            out.push(0x12);
            put_string(out, zone.name().as_bytes());
        }
        DataType::DateTime64(scale, None) => out.extend_from_slice(&[0x13, *scale]),
        DataType::DateTime64(scale, Some(zone)) => {
            out.extend_from_slice(&[0x14, *scale]);
            put_string(out, zone.name().as_bytes());
        }
        DataType::Time64(scale) => out.extend_from_slice(&[0x34, *scale]),
        DataType::Decimal { precision, scale } => {
            let family = match precision {
                0..=9 => 0x19,
                10..=18 => 0x1a,
                19..=38 => 0x1b,
                _ => 0x1c,
            };
            out.extend_from_slice(&[family, *precision, *scale]);
        }
        DataType::Enum8(values) => put_enum(out, 0x17, values, |number| vec![number as u8]),
        DataType::Enum16(values) => put_enum(out, 0x18, values, |number| number.to_le_bytes().to_vec()),
        DataType::Interval(unit) => {
            let number = IntervalUnit::ALL.iter().position(|known| known == unit).unwrap_or(0);
            out.extend_from_slice(&[0x22, number as u8]);
        }
        DataType::Nullable(inner) => put_nested(out, 0x23, [inner]),
        DataType::Array(inner) => put_nested(out, 0x1e, [inner]),
        DataType::LowCardinality(inner) => put_nested(out, 0x26, [inner]),
        DataType::Map(key, value) => put_nested(out, 0x27, [key, value]),
        DataType::Tuple(fields) => put_tuple(out, fields),
        DataType::Variant(types) => {
            out.push(0x2a);
            put_types(out, types);
        }
        DataType::Dynamic(max_types) => out.extend_from_slice(&[0x2b, *max_types]),
        DataType::Json(json) => put_json(out, json),
        DataType::QBit(vectors) => {
            let is_whole = vectors.stride() == vectors.dimension();
            out.extend_from_slice(&[
                if is_whole { 0x36 } else { 0x37 },
                plain_code(&vectors.element().data_type()),
            ]);
            put_var_uint(out, vectors.dimension() as u64);
            if !is_whole {
                put_var_uint(out, vectors.stride() as u64);
            }
        }
        DataType::AggregateFunction(states) => put_states(out, states),
        DataType::SimpleAggregate(named) => put_simple_aggregate(out, named),
        plain => out.push(plain_code(plain)),
    }
}

/// The families without parameters, and their bytes.
const PLAIN: &[(u8, DataType)] = &[
    (0x00, DataType::Nothing),
    (0x01, DataType::UInt8),
    (0x02, DataType::UInt16),
    (0x03, DataType::UInt32),
    (0x04, DataType::UInt64),
    (0x05, DataType::UInt128),
    (0x06, DataType::UInt256),
    (0x07, DataType::Int8),
    (0x08, DataType::Int16),
    (0x09, DataType::Int32),
    (0x0a, DataType::Int64),
    (0x0b, DataType::Int128),
    (0x0c, DataType::Int256),
    (0x0d, DataType::Float32),
    (0x0e, DataType::Float64),
    (0x0f, DataType::Date),
    (0x10, DataType::Date32),
    (0x11, DataType::DateTime(None)),
    (0x15, DataType::String),
    (0x1d, DataType::Uuid),
    (0x28, DataType::IPv4),
    (0x29, DataType::IPv6),
    (0x2d, DataType::Bool),
    (0x31, DataType::BFloat16),
    (0x32, DataType::Time),
];

fn plain_code(ty: &DataType) -> u8 {
    PLAIN.iter().find(|(_, known)| known == ty).map_or(0, |(code, _)| *code)
}

fn put_nested<const N: usize>(out: &mut Vec<u8>, code: u8, types: [&DataType; N]) {
    out.push(code);
    types.into_iter().for_each(|ty| put_type(out, ty));
}

fn put_types(out: &mut Vec<u8>, types: &[DataType]) {
    put_var_uint(out, types.len() as u64);
    types.iter().for_each(|ty| put_type(out, ty));
}

fn put_enum(out: &mut Vec<u8>, code: u8, values: &EnumValues, number: impl Fn(i16) -> Vec<u8>) {
    out.push(code);
    put_var_uint(out, values.entries().len() as u64);
    for (name, value) in values.entries() {
        put_string(out, name.as_bytes());
        out.extend_from_slice(&number(*value));
    }
}

fn put_tuple(out: &mut Vec<u8>, fields: &[TupleField]) {
    let named = !fields.is_empty() && fields.iter().all(|field| field.name.is_some());
    put_elements(out, fields, if named { 0x20 } else { 0x1f });
}

fn put_elements(out: &mut Vec<u8>, fields: &[TupleField], code: u8) {
    let named = code != 0x1f;
    out.push(code);
    put_var_uint(out, fields.len() as u64);
    for field in fields {
        if let Some(name) = field.name.as_ref().filter(|_| named) {
            put_string(out, name.as_bytes());
        }
        put_type(out, &field.ty);
    }
}

fn put_json(out: &mut Vec<u8>, json: &JsonType) {
    const VERSION: u8 = 0;
    out.extend_from_slice(&[0x30, VERSION]);
    put_var_uint(out, u64::from(json.max_dynamic_paths));
    out.push(json.max_dynamic_types);
    put_var_uint(out, json.typed.len() as u64);
    for (path, ty) in &json.typed {
        put_string(out, path.as_bytes());
        put_type(out, ty);
    }
    for texts in [&json.skipped, &json.skipped_regexps] {
        put_var_uint(out, texts.len() as u64);
        texts.iter().for_each(|text| put_string(out, text.as_bytes()));
    }
}

fn put_states(out: &mut Vec<u8>, states: &AggregateType) {
    out.push(0x25);
    put_var_uint(out, states.version());
    put_string(out, states.function().as_bytes());
    put_parameters(out, states.parameters());
    put_types(out, states.arguments());
}

/// The function and its parameters, which stand in the type as text, and the type of its one argument.
fn put_simple_aggregate(out: &mut Vec<u8>, named: &SimpleAggregate) {
    out.push(0x2e);
    match format!("AggregateFunction({}, {})", named.function, named.ty.without_simple_aggregates()).parse() {
        Ok(DataType::AggregateFunction(states)) => {
            put_string(out, states.function().as_bytes());
            put_parameters(out, states.parameters());
        }
        _ => {
            put_string(out, named.function.as_bytes());
            put_parameters(out, &[]);
        }
    }
    put_types(out, std::slice::from_ref(&named.ty));
}

fn put_parameters(out: &mut Vec<u8>, values: &[Value]) {
    put_var_uint(out, values.len() as u64);
    values.iter().for_each(|value| put_parameter(out, value));
}

fn put_parameter(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0x00),
        Value::UInt(x) => {
            out.push(0x01);
            put_var_uint(out, *x);
        }
        Value::Int(x) => {
            out.push(0x02);
            // The sign in the lowest bit.
            put_var_uint(out, ((x << 1) ^ (x >> 63)) as u64);
        }
        Value::UInt128(x) => put_fixed(out, 0x03, &x.to_le_bytes()),
        Value::Int128(x) => put_fixed(out, 0x04, &x.to_le_bytes()),
        Value::UInt256(x) => put_fixed(out, 0x05, &x.to_le_bytes()),
        Value::Int256(x) => put_fixed(out, 0x06, &x.to_le_bytes()),
        Value::Float(x) => put_fixed(out, 0x07, &x.to_le_bytes()),
        Value::Decimal(decimal) => {
            out.push(0x08 + (decimal.bits / 32).trailing_zeros() as u8);
            put_var_uint(out, decimal.scale.into());
            out.extend_from_slice(&decimal.digits.to_le_bytes()[..usize::from(decimal.bits / 8)]);
        }
        Value::Bytes(text) => {
            out.push(0x0c);
            put_string(out, text);
        }
        Value::Array(values) => {
            out.push(0x0d);
            put_parameters(out, values);
        }
        Value::Tuple(values) => {
            out.push(0x0e);
            put_parameters(out, values);
        }
        Value::Map(pairs) => {
            out.push(0x0f);
            put_var_uint(out, pairs.len() as u64);
            for (key, value) in pairs {
                put_parameter(out, key);
                put_parameter(out, value);
            }
        }
    }
}

fn put_fixed(out: &mut Vec<u8>, code: u8, bytes: &[u8]) {
    out.push(code);
    out.extend_from_slice(bytes);
}

/// Reads a type.
pub fn take_type(from: &mut impl Source) -> Result<DataType> {
    take(from, 0).map(|shown| shown.without_simple_aggregates())
}

/// Reads a type with the names of functions that it shows.
pub fn take_shown_type(from: &mut impl Source) -> Result<DataType> {
    take(from, 0)
}

fn take(from: &mut impl Source, depth: u32) -> Result<DataType> {
    ensure!(
        depth < MAX_DEPTH,
        INCORRECT_DATA,
        "Type in the data is nested too deeply (maximum: {MAX_DEPTH})"
    );
    let depth = depth + 1;
    let [code] = from.array()?;
    if let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == code) {
        return Ok(plain.clone());
    }
    Ok(match code {
        0x12 => DataType::DateTime(Some(zone(from)?)),
        0x13 => DataType::DateTime64(digits(from, 9)?, None),
        0x14 => {
            let scale = digits(from, 9)?;
            DataType::DateTime64(scale, Some(zone(from)?))
        }
        0x16 => {
            let n = from.var_uint()?;
            match u32::try_from(n).ok().filter(|n| (1..=0xff_ffff).contains(n)) {
                Some(n) => DataType::FixedString(n),
                None => bail!(INCORRECT_DATA, "Length of a FixedString in the data is out of range: {n}"),
            }
        }
        0x17 => DataType::Enum8(enum_values(from, |from| Ok(i16::from(i8::from_le_bytes(from.array()?))))?),
        0x18 => DataType::Enum16(enum_values(from, |from| Ok(i16::from_le_bytes(from.array()?)))?),
        0x19..=0x1c => {
            let precision = digits(from, [9, 18, 38, 76][usize::from(code - 0x19)])?;
            ensure!(precision > 0, INCORRECT_DATA, "Decimal in the data has no digits");
            DataType::Decimal { precision, scale: digits(from, precision)? }
        }
        0x1e => take(from, depth)?.array(),
        0x1f => {
            let n = count(from)?;
            let field = |_| Ok(TupleField { name: None, ty: take(from, depth)? });
            DataType::Tuple((0..n).map(field).collect::<Result<_>>()?)
        }
        0x20 => DataType::Tuple(named_fields(from, depth)?.into()),
        0x22 => {
            let [number] = from.array()?;
            match IntervalUnit::ALL.get(usize::from(number)) {
                Some(unit) => DataType::Interval(*unit),
                None => bail!(INCORRECT_DATA, "Unknown kind of Interval in the data: {number}"),
            }
        }
        0x23 => match take(from, depth)? {
            inner if inner.can_be_nullable() => DataType::Nullable(Arc::new(inner)),
            inner => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Nested type {inner} cannot be inside Nullable type"),
        },
        0x25 => states(from, depth)?,
        0x26 => take(from, depth)?.low_cardinality(),
        0x27 => {
            let key = take(from, depth)?;
            DataType::map(key, take(from, depth)?)
        }
        0x2a => {
            let n = count(from)?;
            DataType::variant((0..n).map(|_| take(from, depth)).collect::<Result<Vec<_>>>()?)?
        }
        0x2b => DataType::Dynamic(from.array::<1>()?[0]),
        // Types that are names for others.
        0x2c => from.text()?.parse()?,
        0x2e => shown_simple_aggregate(from, depth)?,
        0x2f => DataType::nested(named_fields(from, depth)?.into()),
        0x30 => DataType::Json(Arc::new(json(from, depth)?)),
        0x34 => DataType::Time64(digits(from, 9)?),
        0x36 | 0x37 => {
            let element = take(from, depth)?;
            let dimension = from.var_uint()?;
            let stride = if code == 0x37 { Some(from.var_uint()?) } else { None };
            DataType::QBit(QBitType::new(&element, dimension, stride)?)
        }
        other => bail!(INCORRECT_DATA, "Unknown type code: 0x{other:02X}"),
    })
}

fn count(from: &mut impl Source) -> Result<u64> {
    let n = from.var_uint()?;
    ensure!(n <= MAX_ELEMENTS, INCORRECT_DATA, "Type in the data has too many elements: {n}");
    Ok(n)
}

fn digits(from: &mut impl Source, most: u8) -> Result<u8> {
    let [n] = from.array()?;
    ensure!(n <= most, INCORRECT_DATA, "Type in the data has {n} digits (maximum: {most})");
    Ok(n)
}

fn zone(from: &mut impl Source) -> Result<TimeZone> {
    TimeZone::named(from.text()?)
}

fn enum_values<S: Source>(from: &mut S, number: impl Fn(&mut S) -> Result<i16>) -> Result<Arc<EnumValues>> {
    let n = count(from)?;
    let entry = |_| {
        let name: Arc<str> = from.text()?.into();
        Ok((name, number(from)?))
    };
    Ok(Arc::new(EnumValues::new((0..n).map(entry).collect::<Result<_>>()?)?))
}

fn named_fields(from: &mut impl Source, depth: u32) -> Result<Vec<TupleField>> {
    let n = count(from)?;
    let field = |_| {
        let name = Some(from.text()?.into());
        Ok(TupleField { name, ty: take(from, depth)? })
    };
    (0..n).map(field).collect()
}

fn json(from: &mut impl Source, depth: u32) -> Result<JsonType> {
    let [version] = from.array()?;
    ensure!(version == 0, INCORRECT_DATA, "Unexpected version of JSON type in the data: {version}");
    let max_dynamic_paths = count(from)? as u32;
    let [max_dynamic_types] = from.array()?;
    let n = count(from)?;
    let path = |_| {
        let path: Arc<str> = from.text()?.into();
        Ok((path, take(from, depth)?))
    };
    let mut typed = (0..n).map(path).collect::<Result<Vec<_>>>()?;
    typed.sort_by(|a, b| a.0.cmp(&b.0));
    typed.dedup_by(|a, b| a.0 == b.0);
    let mut texts = || {
        let n = count(from)?;
        (0..n).map(|_| Ok(from.text()?.into())).collect::<Result<Vec<Arc<str>>>>()
    };
    let mut skipped = texts()?;
    skipped.sort();
    skipped.dedup();
    let skipped_regexps = texts()?;
    Ok(JsonType { typed, skipped, skipped_regexps, max_dynamic_paths, max_dynamic_types })
}

fn states(from: &mut impl Source, depth: u32) -> Result<DataType> {
    let version = from.var_uint()?;
    let function = from.text()?.to_string();
    let parameters = parameters(from, depth)?;
    let n = count(from)?;
    let arguments = (0..n).map(|_| take(from, depth)).collect::<Result<Vec<_>>>()?;
    let states = AggregateType::new(Some(version), &function, parameters, arguments)?;
    Ok(DataType::AggregateFunction(Arc::new(states)))
}

fn shown_simple_aggregate(from: &mut impl Source, depth: u32) -> Result<DataType> {
    let function = from.text()?.to_string();
    let parameters = parameters(from, depth)?;
    let n = count(from)?;
    let arguments = (0..n).map(|_| take(from, depth)).collect::<Result<Vec<_>>>()?;
    let [argument] = &arguments[..] else {
        bail!(INCORRECT_DATA, "SimpleAggregateFunction in the data has not one argument");
    };
    let argument = argument.clone();
    if parameters.is_empty() {
        return Ok(argument.simple_aggregate(function));
    }
    // The function with its parameters as the type of its states is written.
    let states = format!("Simple{}", AggregateType::new(None, &function, parameters, arguments)?);
    let function = simple_aggregate(&states).map_or(&*function, |(function, _)| function);
    Ok(argument.simple_aggregate(function))
}

fn parameters(from: &mut impl Source, depth: u32) -> Result<Vec<Value>> {
    let n = count(from)?;
    (0..n).map(|_| parameter(from, depth)).collect()
}

fn parameter(from: &mut impl Source, depth: u32) -> Result<Value> {
    ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "Parameter in the data is nested too deeply");
    let [code] = from.array()?;
    Ok(match code {
        0x00 => Value::Null,
        0x01 => Value::UInt(from.var_uint()?),
        0x02 => {
            let x = from.var_uint()?;
            Value::Int((x >> 1) as i64 ^ -((x & 1) as i64))
        }
        0x03 => Value::UInt128(u128::from_le_bytes(from.array()?)),
        0x04 => Value::Int128(i128::from_le_bytes(from.array()?)),
        0x05 => Value::UInt256(chalet_types::U256::from_le_bytes(from.array()?)),
        0x06 => Value::Int256(chalet_types::I256::from_le_bytes(from.array()?)),
        0x07 => Value::Float(f64::from_le_bytes(from.array()?)),
        0x08..=0x0b => {
            let bits = 32u16 << (code - 0x08);
            let scale = digits(from, 76)?;
            let narrow = from.take(usize::from(bits / 8))?;
            let is_negative = narrow.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut wide = [if is_negative { 0xff } else { 0 }; 32];
            wide[..narrow.len()].copy_from_slice(narrow);
            let digits = chalet_types::I256::from_le_bytes(wide);
            Value::Decimal(Box::new(chalet_types::ScaledValue { digits, scale, bits }))
        }
        0x0c => Value::string(from.string()?),
        0x0d => Value::Array(parameters(from, depth + 1)?),
        0x0e => Value::Tuple(parameters(from, depth + 1)?),
        0x0f => {
            let n = count(from)?;
            let pair = |_| Ok((parameter(from, depth + 1)?, parameter(from, depth + 1)?));
            Value::Map((0..n).map(pair).collect::<Result<_>>()?)
        }
        other => {
            bail!(NOT_IMPLEMENTED, "Parameters of type code 0x{other:02X} are not supported in the data")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::Cursor;
    use chalet_types::{I256, ScaledValue};

    #[test]
    fn functions_that_types_show() {
        for text in [
            "SimpleAggregateFunction(sum, UInt64)",
            "SimpleAggregateFunction(groupArrayArray(3), Array(String))",
            "Array(SimpleAggregateFunction(max, Nullable(String)))",
        ] {
            let shown = DataType::parse_shown(text).unwrap();
            let mut bytes = Vec::new();
            put_type(&mut bytes, &shown);
            assert_eq!(take_shown_type(&mut Cursor::new(&bytes)).unwrap(), shown, "{text}");
            assert_eq!(
                take_type(&mut Cursor::new(&bytes)).unwrap(),
                text.parse::<DataType>().unwrap(),
                "{text}"
            );
            for cut in 0..bytes.len() {
                take_shown_type(&mut Cursor::new(&bytes[..cut])).unwrap_err();
            }
        }
    }

    #[test]
    fn decimal_parameters_have_their_scale_and_width() {
        let decimal = |digits: i64, scale, bits| {
            Value::Decimal(Box::new(ScaledValue { digits: I256::from(digits), scale, bits }))
        };
        // As the kernel writes the DateTime64(3) 2025-06-01 00:00:00.5.
        let mut bytes = Vec::new();
        put_parameter(&mut bytes, &decimal(1_748_736_000_500, 3, 64));
        assert_eq!(bytes, [0x09, 0x03, 0xf4, 0xc1, 0xc9, 0x28, 0x97, 0x01, 0, 0]);
        for value in [decimal(-5, 1, 32), decimal(7, 0, 64), decimal(-12345, 20, 128), decimal(-1, 76, 256)] {
            bytes.clear();
            put_parameter(&mut bytes, &value);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(parameter(&mut cursor, 0).unwrap(), value);
            assert!(cursor.rest.is_empty());
            for cut in 0..bytes.len() {
                parameter(&mut Cursor::new(&bytes[..cut]), 0).unwrap_err();
            }
        }
    }
}
