//! Columns as files of parts have them: each type as the number or bytes that it is made of, which Parquet stores without a
//! conversion either way.

use chalet_base::{Result, bail};
use chalet_columns::{Buf, Column, Data, Fixed, List, NullBuffer, Struct, Vector};
use chalet_types::{DataType, TupleField};
use std::sync::Arc;

/// The type that a column has in files; `None` where it cannot be kept in one.
pub(super) fn stored_type(ty: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match ty {
        UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | String
        | FixedString(_) => ty.clone(),
        AggregateFunction(_) => String,
        SimpleAggregate(named) => stored_type(&named.ty)?,
        Bool => UInt8,
        Date | BFloat16 => UInt16,
        DateTime(_) | IPv4 => UInt32,
        Enum8(_) => Int8,
        Enum16(_) => Int16,
        Date32 | Time => Int32,
        DateTime64(..) | Time64(_) | Interval(_) => Int64,
        UInt128 | Int128 | Uuid | IPv6 => FixedString(16),
        UInt256 | Int256 => FixedString(32),
        QBit(vectors) => FixedString(vectors.width() as u32),
        Decimal { precision, .. } => match precision {
            0..=9 => Int32,
            10..=18 => Int64,
            19..=38 => FixedString(16),
            _ => FixedString(32),
        },
        LowCardinality(inner) => stored_type(inner)?,
        // The tuple, and whether it is NULL.
        Nullable(inner) if matches!(**inner, Tuple(_)) => {
            let field = |name: &str, ty| TupleField { name: Some(name.into()), ty };
            Tuple([field("value", stored_type(inner)?), field("is_null", UInt8)].into())
        }
        Nullable(inner) => stored_type(inner)?.nullable(),
        Array(inner) => stored_type(inner)?.array(),
        Map(key, value) => DataType::map(stored_type(key)?, stored_type(value)?),
        Tuple(fields) if !fields.is_empty() => {
            let field = |field: &TupleField| {
                Some(TupleField { name: field.name.clone(), ty: stored_type(&field.ty)? })
            };
            Tuple(fields.iter().map(field).collect::<Option<_>>()?)
        }
        Variant(_) | Dynamic(_) => String.nullable(),
        Json(_) => String,
        Tuple(_) | Nothing => return None,
    })
}

/// Do values of the type compare as those of its stored type? Bytes of wide numbers do not.
pub(super) fn keeps_order(ty: &DataType) -> bool {
    use DataType::*;
    !is_nullable_tuple(ty)
        && !matches!(
            ty.bare(),
            Variant(_)
                | Dynamic(_)
                | Json(_)
                | UInt128
                | Int128
                | UInt256
                | Int256
                | Decimal { precision: 19.., .. }
                | BFloat16
                | QBit(_)
                | Uuid
                | IPv6
        )
}

fn is_nullable_tuple(ty: &DataType) -> bool {
    matches!(ty, DataType::Nullable(inner) if matches!(**inner, DataType::Tuple(_)))
}

/// A column of a type as files have it.
pub(super) fn to_stored(column: &Column, ty: &DataType) -> Result<Column> {
    Ok(match column {
        Column::Flat(vector) => Column::Flat(vector_to_stored(vector, ty)?),
        other => {
            let flat = other.flat();
            Column::Flat(vector_to_stored(&flat, ty)?)
        }
    })
}

fn vector_to_stored(vector: &Vector, ty: &DataType) -> Result<Vector> {
    if let (DataType::Nullable(inner), true) = (ty, is_nullable_tuple(ty)) {
        let len = vector.len();
        let tuple = vector_to_stored(&Vector::new(vector.data.clone(), None), inner)?;
        let nulls: Vec<u8> = match &vector.validity {
            Some(validity) => validity.iter().map(|is_there| u8::from(!is_there)).collect(),
            None => vec![0; len],
        };
        let fields = vec![tuple, Vector::from(nulls)];
        return Ok(Vector::new(Data::Struct(Struct { fields, len }), None));
    }
    let fixed = |width, bytes| Data::Fixed(Fixed { width, bytes: Buf::from_arrow(bytes) });
    let data = match &vector.data {
        Data::U128(values) => fixed(16, values.to_arrow()),
        Data::I128(values) => fixed(16, values.to_arrow()),
        Data::U256(values) => fixed(32, values.to_arrow()),
        Data::I256(values) => fixed(32, values.to_arrow()),
        Data::BF16(values) => Data::U16(Buf::from_arrow(values.to_arrow())),
        Data::List(list) => {
            let Some(element) = ty.bare().element() else { bail!(LOGICAL_ERROR, "{ty} has no elements") };
            let values = Arc::new(vector_to_stored(&list.values, &element)?);
            Data::List(List { offsets: list.offsets.clone(), values })
        }
        Data::Struct(Struct { fields, len }) => {
            let DataType::Tuple(parts) = ty.bare() else { bail!(LOGICAL_ERROR, "{ty} has no elements") };
            let fields = fields.iter().zip(parts.iter());
            let fields = fields.map(|(vector, part)| vector_to_stored(vector, &part.ty));
            Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: *len })
        }
        other => other.clone(),
    };
    Ok(Vector::new(data, vector.validity.clone()))
}

/// Is a column of the type in files the very column?
pub(super) fn is_same(ty: &DataType) -> bool {
    use DataType::*;
    match ty {
        UInt128 | Int128 | UInt256 | Int256 | BFloat16 | Decimal { precision: 19.., .. } => false,
        _ if is_nullable_tuple(ty) => false,
        LowCardinality(inner) | Nullable(inner) => is_same(inner),
        Array(inner) => is_same(inner),
        Map(key, value) => is_same(key) && is_same(value),
        Tuple(fields) => fields.iter().all(|field| is_same(&field.ty)),
        _ => true,
    }
}

/// A column of a file as the type that it has in the table.
pub(super) fn from_stored(column: Column, ty: &DataType) -> Result<Column> {
    if is_same(ty) {
        return Ok(column);
    }
    Ok(Column::Flat(vector_from_stored(&column.into_flat(), ty)?))
}

fn vector_from_stored(vector: &Vector, ty: &DataType) -> Result<Vector> {
    use DataType::*;
    if let (Nullable(inner), true, Data::Struct(stored)) = (ty, is_nullable_tuple(ty), &vector.data) {
        let [tuple, nulls] = &stored.fields[..] else {
            bail!(LOGICAL_ERROR, "{ty} is not stored as two columns")
        };
        let validity = NullBuffer::from_iter(nulls.values::<u8>()?.iter().map(|null| *null == 0));
        return Ok(Vector::new(vector_from_stored(tuple, inner)?.data, Some(validity)));
    }
    let data = match (&vector.data, ty.bare()) {
        (Data::Fixed(fixed), UInt128) => Data::U128(aligned(fixed)),
        (Data::Fixed(fixed), Int128 | Decimal { precision: 19..=38, .. }) => Data::I128(aligned(fixed)),
        (Data::Fixed(fixed), UInt256) => Data::U256(aligned(fixed)),
        (Data::Fixed(fixed), Int256 | Decimal { precision: 39.., .. }) => Data::I256(aligned(fixed)),
        (Data::U16(values), BFloat16) => Data::BF16(Buf::from_arrow(values.to_arrow())),
        (Data::List(list), bare) => {
            let Some(element) = bare.element() else { bail!(LOGICAL_ERROR, "{ty} has no elements") };
            let values = Arc::new(vector_from_stored(&list.values, &element)?);
            Data::List(List { offsets: list.offsets.clone(), values })
        }
        (Data::Struct(Struct { fields, len }), Tuple(parts)) => {
            let fields = fields.iter().zip(parts.iter());
            let fields = fields.map(|(vector, part)| vector_from_stored(vector, &part.ty));
            Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: *len })
        }
        (other, _) => other.clone(),
    };
    Ok(Vector::new(data, vector.validity.clone()))
}

/// The bytes as numbers; they are copied where they do not lie as numbers must.
fn aligned<T: chalet_columns::Native>(fixed: &Fixed) -> Buf<T> {
    let bytes = fixed.bytes.to_arrow();
    match (bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
        true => Buf::from_arrow(bytes),
        false => Buf::from_arrow(chalet_formats::Buffer::from(bytes.as_slice())),
    }
}
