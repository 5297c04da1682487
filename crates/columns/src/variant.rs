//! Values of several types in one column: each is its type and its bytes, as one byte string.
//!
//! A Variant's value begins with the number of its type (one byte), a Dynamic's with the type's name and a zero. The value
//! follows in an encoding that compares as bytes as the values do: integers as their length and their significant bytes,
//! strings with their zeros escaped, NULLs last. So filters, hash tables and sorts need to know nothing of types: equal
//! values of one type are equal bytes, and values of different types are ordered by type first, as the kernel orders them.

use crate::builder::Values;
use crate::{Builder, Data, StringBuilder, Vector};
use chalet_base::{Result, bail, err};
use chalet_types::{DataType, I256, U256, bf16};

/// Appends the value of a row. `last` when nothing follows: then strings need no end.
pub fn put(out: &mut Vec<u8>, vector: &Vector, row: usize, ty: &DataType, last: bool) {
    if ty.is_nullable() {
        out.push(u8::from(vector.is_null(row)));
        if vector.is_null(row) {
            return;
        }
    }
    match &vector.data {
        Data::Nothing(_) => {}
        Data::U8(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::U16(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::U32(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::U64(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::U128(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::U256(v) => unsigned(out, &v[row].to_be_bytes()),
        Data::I8(v) => signed(out, &v[row].to_be_bytes()),
        Data::I16(v) => signed(out, &v[row].to_be_bytes()),
        Data::I32(v) => signed(out, &v[row].to_be_bytes()),
        Data::I64(v) => signed(out, &v[row].to_be_bytes()),
        Data::I128(v) => signed(out, &v[row].to_be_bytes()),
        Data::I256(v) => signed(out, &v[row].to_be_bytes()),
        Data::BF16(v) => float(out, v[row].to_bits().to_be_bytes()),
        Data::F32(v) => float(out, v[row].to_bits().to_be_bytes()),
        Data::F64(v) => float(out, v[row].to_bits().to_be_bytes()),
        Data::Str(strings) if last => out.extend_from_slice(strings.get(row)),
        Data::Str(strings) => put_escaped(out, strings.get(row)),
        Data::Fixed(fixed) => out.extend_from_slice(fixed.get(row)),
        Data::List(list) => {
            let element = ty.bare().element().unwrap_or(DataType::Nothing);
            for e in list.range(row) {
                out.push(1);
                put(out, &list.values, e, &element, false);
            }
            out.push(0);
        }
        Data::Struct(fields) => {
            let DataType::Tuple(types) = ty.bare() else { return };
            let n_fields = types.len();
            for (i, (field, of)) in fields.fields.iter().zip(types.iter()).enumerate() {
                put(out, field, row, &of.ty, last && i + 1 == n_fields);
            }
        }
    }
}

/// How many bytes count, and these.
fn unsigned(out: &mut Vec<u8>, big_endian: &[u8]) {
    let zeros = big_endian.iter().take_while(|b| **b == 0).count();
    out.push((big_endian.len() - zeros) as u8);
    out.extend_from_slice(&big_endian[zeros..]);
}

/// The length is above 0x80 for positive numbers and below for negative ones, whose bytes are those of the complement.
fn signed(out: &mut Vec<u8>, big_endian: &[u8]) {
    let negative = big_endian[0] >= 0x80;
    let sign = if negative { 0xff } else { 0 };
    let same = big_endian.iter().take_while(|b| **b == sign).count();
    let n = (big_endian.len() - same) as u8;
    out.push(if negative { 0x7f - n } else { 0x80 + n });
    out.extend_from_slice(&big_endian[same..]);
}

/// Bits whose order as integers is that of the numbers.
fn float<const N: usize>(out: &mut Vec<u8>, mut big_endian: [u8; N]) {
    if big_endian[0] >= 0x80 {
        big_endian.iter_mut().for_each(|b| *b = !*b);
    } else {
        big_endian[0] ^= 0x80;
    }
    out.extend_from_slice(&big_endian);
}

/// Appends a string and its end, two zeros; a zero inside is followed by 0xff.
pub fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for &b in bytes {
        out.push(b);
        if b == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cold]
fn damaged() -> chalet_base::Error {
    err!(CORRUPTED_DATA, "Value of a Variant, Dynamic or JSON column is damaged")
}

fn take_n<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(n).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes a string that [`put_escaped`] wrote.
pub fn take_escaped(bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    loop {
        let zero = bytes.iter().position(|b| *b == 0).ok_or_else(damaged)?;
        out.extend_from_slice(take_n(bytes, zero)?);
        if take_n(bytes, 2)?[1] == 0 {
            return Ok(());
        }
        out.push(0);
    }
}

fn take_unsigned<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let n = usize::from(take_n(bytes, 1)?[0]);
    let mut out = [0; N];
    out.get_mut(N.wrapping_sub(n)..).ok_or_else(damaged)?.copy_from_slice(take_n(bytes, n)?);
    Ok(out)
}

fn take_signed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let length = take_n(bytes, 1)?[0];
    let (n, sign) = if length >= 0x80 { (length - 0x80, 0) } else { (0x7f - length, 0xff) };
    let mut out = [sign; N];
    let n = usize::from(n);
    out.get_mut(N.wrapping_sub(n)..).ok_or_else(damaged)?.copy_from_slice(take_n(bytes, n)?);
    Ok(out)
}

fn take_float<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let mut out: [u8; N] = take_n(bytes, N)?.try_into().map_err(|_| damaged())?;
    if out[0] >= 0x80 {
        out[0] ^= 0x80;
    } else {
        out.iter_mut().for_each(|b| *b = !*b);
    }
    Ok(out)
}

/// Appends the value that [`put`] wrote.
pub fn take(bytes: &mut &[u8], ty: &DataType, out: &mut Builder, last: bool) -> Result<()> {
    if ty.is_nullable() && take_n(bytes, 1)?[0] == 1 {
        out.push_default();
        return Ok(());
    }
    match &mut out.values {
        Values::Nothing(n) => *n += 1,
        Values::U8(v) => v.push(u8::from_be_bytes(take_unsigned(bytes)?)),
        Values::U16(v) => v.push(u16::from_be_bytes(take_unsigned(bytes)?)),
        Values::U32(v) => v.push(u32::from_be_bytes(take_unsigned(bytes)?)),
        Values::U64(v) => v.push(u64::from_be_bytes(take_unsigned(bytes)?)),
        Values::U128(v) => v.push(u128::from_be_bytes(take_unsigned(bytes)?)),
        Values::U256(v) => v.push(U256::from_be_bytes(take_unsigned(bytes)?)),
        Values::I8(v) => v.push(i8::from_be_bytes(take_signed(bytes)?)),
        Values::I16(v) => v.push(i16::from_be_bytes(take_signed(bytes)?)),
        Values::I32(v) => v.push(i32::from_be_bytes(take_signed(bytes)?)),
        Values::I64(v) => v.push(i64::from_be_bytes(take_signed(bytes)?)),
        Values::I128(v) => v.push(i128::from_be_bytes(take_signed(bytes)?)),
        Values::I256(v) => v.push(I256::from_be_bytes(take_signed(bytes)?)),
        Values::BF16(v) => v.push(bf16::from_bits(u16::from_be_bytes(take_float(bytes)?))),
        Values::F32(v) => v.push(f32::from_bits(u32::from_be_bytes(take_float(bytes)?))),
        Values::F64(v) => v.push(f64::from_bits(u64::from_be_bytes(take_float(bytes)?))),
        Values::Str(strings) if last => strings.push(std::mem::take(bytes)),
        Values::Str(strings) => strings.try_push_with(|out| {
            let start = out.len();
            take_escaped(bytes, out).inspect_err(|_| out.truncate(start))
        })?,
        Values::Fixed { width, bytes: out } => out.extend_from_slice(take_n(bytes, *width)?),
        Values::List(list) => {
            let element = ty.bare().element().unwrap_or(DataType::Nothing);
            while take_n(bytes, 1)?[0] == 1 {
                take(bytes, &element, &mut list.values, false)?;
            }
            list.close();
        }
        Values::Struct { fields, len } => {
            let DataType::Tuple(types) = ty.bare() else { return Err(damaged()) };
            let n_fields = types.len();
            for (i, (field, of)) in fields.iter_mut().zip(types.iter()).enumerate() {
                take(bytes, &of.ty, field, last && i + 1 == n_fields)?;
            }
            *len += 1;
        }
    }
    out.mark_valid();
    Ok(())
}

/// What stands before the values of a type in a column of type `of`; none where it takes no such values.
pub fn tag(of: &DataType, ty: &DataType) -> Option<Vec<u8>> {
    match of {
        DataType::Variant(types) => {
            let number = types.number_of(ty)?;
            Some(vec![number as u8])
        }
        DataType::Dynamic(_) => {
            let mut name = ty.to_string().into_bytes();
            name.push(0);
            Some(name)
        }
        _ => None,
    }
}

/// The tag of a value and what follows it.
pub fn split<'a>(of: &DataType, value: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
    let n = match of {
        DataType::Variant(_) => 1,
        _ => value.iter().position(|b| *b == 0).ok_or_else(damaged)? + 1,
    };
    value.split_at_checked(n).ok_or_else(damaged)
}

/// The type that a tag stands for.
pub fn type_of_tag(of: &DataType, tag: &[u8]) -> Result<DataType> {
    match (of, tag) {
        (DataType::Variant(types), [number]) => types.get(usize::from(*number)).cloned().ok_or_else(damaged),
        (DataType::Dynamic(_), [name @ .., 0]) => {
            std::str::from_utf8(name).map_err(|_| damaged())?.parse::<DataType>()
        }
        _ => Err(damaged()),
    }
}

/// The rows of one type among those of a Variant or Dynamic.
pub struct Group {
    pub ty: DataType,
    pub rows: Vec<u32>,
    /// One value per row of `rows`.
    pub values: Vector,
}

/// The rows that are not NULL, by the types of their values: as a Variant has them, or sorted by name.
pub fn groups(vector: &Vector, of: &DataType) -> Result<Vec<Group>> {
    struct Open<'a> {
        tag: &'a [u8],
        ty: DataType,
        rows: Vec<u32>,
        builder: Builder,
    }
    let strings = vector.strings()?;
    let mut open: Vec<Open> = Vec::new();
    let mut latest = 0;
    for row in 0..vector.len() {
        if vector.is_null(row) {
            continue;
        }
        let (tag, mut value) = split(of, strings.get(row))?;
        if open.get(latest).is_none_or(|group| group.tag != tag) {
            latest = match open.iter().position(|group| group.tag == tag) {
                Some(known) => known,
                None => {
                    let ty = type_of_tag(of, tag)?;
                    let builder = Builder::new(&ty);
                    open.push(Open { tag, ty, rows: Vec::new(), builder });
                    open.len() - 1
                }
            };
        }
        let group = &mut open[latest];
        take(&mut value, &group.ty, &mut group.builder, true)?;
        group.rows.push(row as u32);
    }
    open.sort_by(|a, b| a.tag.cmp(b.tag));
    let close = |group: Open| Group { ty: group.ty, rows: group.rows, values: group.builder.finish() };
    Ok(open.into_iter().map(close).collect())
}

/// The values of a column of one type as values of a Variant or Dynamic. NULL stays NULL.
pub fn wrap(vector: &Vector, ty: &DataType, of: &DataType) -> Result<Vector> {
    let inner = ty.as_alternative();
    let Some(tag) = tag(of, &inner) else {
        bail!(CANNOT_CONVERT_TYPE, "Type {of} takes no values of type {ty}");
    };
    let plain = vector.without_nulls();
    let mut out = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        if vector.is_null(row) {
            out.push(b"");
            continue;
        }
        out.push_with(|bytes| {
            bytes.extend_from_slice(&tag);
            put(bytes, &plain, row, &inner, true);
        });
    }
    let only_nulls = *inner.bare() == DataType::Nothing && !ty.is_only_null();
    let validity = if only_nulls { None } else { vector.validity.clone() };
    Ok(Vector::new(Data::Str(out.finish()), validity))
}

/// Values of a Variant or Dynamic as those of another; fails where that takes not all of their types.
pub fn convert(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    if matches!((from, to), (DataType::Dynamic(_), DataType::Dynamic(_))) || from == to {
        return Ok(vector.clone());
    }
    let strings = vector.strings()?;
    let mut tags: Vec<(&[u8], Vec<u8>)> = Vec::new();
    let mut out = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        if vector.is_null(row) {
            out.push(b"");
            continue;
        }
        let (old, value) = split(from, strings.get(row))?;
        let at = match tags.iter().position(|(known, _)| *known == old) {
            Some(at) => at,
            None => {
                let ty = type_of_tag(from, old)?;
                let Some(new) = tag(to, &ty) else {
                    bail!(
                        CANNOT_CONVERT_TYPE,
                        "Cannot convert type {ty} to {to}. Conversion to Variant allowed only for types from this Variant"
                    );
                };
                tags.push((old, new));
                tags.len() - 1
            }
        };
        out.push_with(|bytes| {
            bytes.extend_from_slice(&tags[at].1);
            bytes.extend_from_slice(value);
        });
    }
    Ok(Vector::new(Data::Str(out.finish()), vector.validity.clone()))
}

/// Puts the values of groups back to their rows; the rest of the `n_rows` rows is NULL. Each group is of type `of` already.
pub fn gather(groups: &[(Vec<u32>, Vector)], n_rows: usize, of: &DataType) -> Vector {
    let null = Vector::defaults(of, 1);
    let mut sources = vec![&null];
    sources.extend(groups.iter().map(|(_, values)| values));
    let joined = Vector::concat(&sources);
    let mut from = vec![0u32; n_rows];
    let mut next = 1;
    for (rows, _) in groups {
        for &row in rows {
            from[row as usize] = next;
            next += 1;
        }
    }
    joined.gather(&from)
}

/// The values of one type; other rows have the default, NULL for types that can be Nullable.
pub fn element(vector: &Vector, of: &DataType, ty: &DataType) -> Result<Vector> {
    let result = element_type(ty);
    let Some(wanted) = tag(of, ty) else {
        return Ok(Vector::defaults(&result, vector.len()));
    };
    let strings = vector.strings()?;
    let mut out = Builder::new(&result);
    for row in 0..vector.len() {
        match strings.get(row).strip_prefix(&wanted[..]) {
            Some(mut value) if !vector.is_null(row) => {
                // The value is encoded without the NULL that the result may have.
                take(&mut value, ty, &mut out, true)?;
            }
            _ => out.push_default(),
        }
    }
    Ok(out.finish())
}

/// The type of [`element`].
pub fn element_type(ty: &DataType) -> DataType {
    ty.clone().nullable()
}

/// `n` rows of the same bytes.
#[cfg(test)]
fn repeated(bytes: &[u8], n: usize) -> Vector {
    Data::Str((0..n).map(|_| bytes).collect()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_types::Value;

    fn int(x: i64) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, &Vector::from(vec![x]), 0, &DataType::Int64, true);
        out
    }

    #[test]
    fn bytes_compare_as_values() {
        let numbers = [i64::MIN, -70_000, -256, -255, -2, -1, 0, 1, 2, 255, 256, 70_000, i64::MAX];
        for pair in numbers.windows(2) {
            assert!(int(pair[0]) < int(pair[1]), "{pair:?}");
        }
        let mut floats = Vec::new();
        for x in [f64::NEG_INFINITY, -1.5, -0.5, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN] {
            let mut out = Vec::new();
            put(&mut out, &Vector::from(vec![x]), 0, &DataType::Float64, true);
            floats.push(out);
        }
        assert!(floats.is_sorted());
    }

    #[test]
    fn values_survive() {
        let ty: DataType =
            "Tuple(Array(Nullable(String)), Int256, Map(String, UInt16), Variant(String, UInt8))"
                .parse()
                .unwrap();
        let text = |s: &str| Value::string(s);
        let value = Value::Tuple(vec![
            Value::Array(vec![text("a\0b"), Value::Null, text("")]),
            Value::Int256(I256::from(-5)),
            Value::Map(vec![(text("k"), Value::UInt(300))]),
            Value::Null,
        ]);
        let vector = Vector::of_value(&value, &ty).unwrap();
        let wrapped = wrap(&vector, &ty, &DataType::DYNAMIC).unwrap();
        let groups = groups(&wrapped, &DataType::DYNAMIC).unwrap();
        assert_eq!(groups[0].ty, ty);
        assert_eq!(groups[0].values.value(0), vector.value(0));
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [&b""[..], b"Int64", b"Int64\0", b"Int64\0\x88ab", b"Array(String)\0\x01abc", b"No\0a"] {
            assert!(groups(&repeated(bytes, 2), &DataType::DYNAMIC).is_err(), "{bytes:?}");
        }
        let variant = DataType::variant([DataType::String]).unwrap();
        assert!(groups(&repeated(b"\x07abc", 1), &variant).is_err());
    }
}
