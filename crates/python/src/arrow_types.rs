//! Columns converted to types that Arrow has: what ClickHouse's own Arrow output gives as bare integers and bytes (timestamps,
//! enumerations, addresses, wide integers) keeps its meaning here.

use chalet_base::{Result, bail};
use chalet_columns::{Buf, Column, Data, List, Native, Struct, Vector, qbit};
use chalet_types::{DataType, EnumValues, TupleField};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The type that a column of this type is exported as.
pub fn type_of(ty: &DataType) -> DataType {
    use DataType as T;
    match ty {
        T::LowCardinality(inner) => type_of(inner),
        T::Nullable(inner) => type_of(inner).nullable(),
        T::DateTime(zone) => T::DateTime64(0, zone.clone()),
        // The only dictionaries of the output.
        T::Enum8(_) | T::Enum16(_) => T::String.low_cardinality(),
        T::IPv4 | T::IPv6 | T::UInt128 | T::Int128 | T::UInt256 | T::Int256 => T::String,
        T::BFloat16 => T::Float32,
        T::Array(element) => nested(element).array(),
        T::QBit(vectors) => type_of(&vectors.element().data_type()).array(),
        T::Map(key, value) => T::map(nested(key), nested(value)),
        T::Tuple(fields) => T::Tuple(
            fields
                .iter()
                .map(|field| TupleField { name: field.name.clone(), ty: nested(&field.ty) })
                .collect(),
        ),
        other => other.clone(),
    }
}

fn nested(ty: &DataType) -> DataType {
    type_of(ty).recursively_without_low_cardinality()
}

/// The column converted to [`type_of`] its type.
pub fn column(column: &Column, ty: &DataType) -> Result<Column> {
    let bare = ty.without_low_cardinality();
    if *bare == type_of(bare) {
        return Ok(column.clone());
    }
    Ok(match column {
        Column::Flat(vector) => match names_of(bare) {
            Some(names) => enumeration(vector, names)?,
            None => Column::Flat(converted(vector, bare)?),
        },
        Column::Const { value, len } => Column::Const { value: converted(value, bare)?, len: *len },
        Column::Dict { codes, values } => {
            Column::Dict { codes: codes.clone(), values: converted(values, bare)? }
        }
    })
}

fn names_of(ty: &DataType) -> Option<&EnumValues> {
    match ty.without_nullable() {
        DataType::Enum8(names) | DataType::Enum16(names) => Some(names),
        _ => None,
    }
}

fn converted(vector: &Vector, ty: &DataType) -> Result<Vector> {
    use DataType as T;
    let validity = vector.validity.clone();
    let data = match (ty.without_low_cardinality().without_nullable(), &vector.data) {
        (T::DateTime(_), Data::U32(values)) => i64::wrap(values.iter().map(|&x| i64::from(x)).collect()),
        (T::BFloat16, Data::BF16(values)) => f32::wrap(values.iter().map(|&x| f32::from(x)).collect()),
        (T::IPv4, Data::U32(values)) => texts(values.iter().map(|&x| Ipv4Addr::from(x).to_string())),
        (T::IPv6, Data::Fixed(values)) => texts(values.iter().map(|bytes| {
            let mut address = [0; 16];
            address.copy_from_slice(bytes);
            Ipv6Addr::from(address).to_string()
        })),
        (T::UInt128, Data::U128(values)) => texts(values.iter().map(u128::to_string)),
        (T::Int128, Data::I128(values)) => texts(values.iter().map(i128::to_string)),
        (T::UInt256, Data::U256(values)) => texts(values.iter().map(|x| x.to_string())),
        (T::Int256, Data::I256(values)) => texts(values.iter().map(|x| x.to_string())),
        (T::Enum8(_) | T::Enum16(_), _) => {
            let Some(names) = names_of(ty.without_low_cardinality()) else {
                bail!(LOGICAL_ERROR, "{ty} has no names")
            };
            return Ok(enumeration(vector, names)?.into_flat());
        }
        (T::QBit(vectors), Data::Fixed(values)) => {
            let list = qbit::arrays(values, *vectors);
            lists(&list, &converted(&list.values, &vectors.element().data_type())?)
        }
        (T::Array(element), Data::List(list)) => lists(list, &converted(&list.values, element)?),
        (T::Map(key, value), Data::List(list)) => {
            let pairs = list.values.structure()?;
            let fields = vec![converted(&pairs.fields[0], key)?, converted(&pairs.fields[1], value)?];
            lists(list, &Vector::from(Data::Struct(Struct { fields, len: pairs.len })))
        }
        (T::Tuple(types), Data::Struct(parts)) => {
            let fields = parts.fields.iter().zip(types.iter()).map(|(field, ty)| converted(field, &ty.ty));
            Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: parts.len })
        }
        (_, data) => data.clone(),
    };
    Ok(Vector { data, validity })
}

fn texts(values: impl Iterator<Item = String>) -> Data {
    Data::Str(values.collect())
}

fn lists(list: &List, values: &Vector) -> Data {
    Data::List(List { offsets: list.offsets.clone(), values: Arc::new(values.clone()) })
}

/// Numbers as places in the list of names; NULL stands behind the last.
fn enumeration(vector: &Vector, names: &EnumValues) -> Result<Column> {
    let numbers: Vec<i16> = match &vector.data {
        Data::I8(values) => values.iter().map(|&x| i16::from(x)).collect(),
        Data::I16(values) => values.to_vec(),
        other => bail!(LOGICAL_ERROR, "An enumeration is held as {:?}", other.physical()),
    };
    let entries = names.entries();
    let texts = Vector::from(Data::Str(entries.iter().map(|(name, _)| name.as_bytes()).collect()));
    let values = match &vector.validity {
        Some(_) => Vector::concat(&[&texts, &Vector::defaults(&DataType::String.nullable(), 1)]),
        None => texts,
    };
    let mut codes: Vec<u32> = Vec::with_capacity(numbers.len());
    for (row, number) in numbers.iter().enumerate() {
        if vector.is_null(row) {
            codes.push(entries.len() as u32);
            continue;
        }
        let Ok(place) = entries.binary_search_by_key(number, |(_, number)| *number) else {
            bail!(INCORRECT_DATA, "An enumeration has no name for {number}")
        };
        codes.push(place as u32);
    }
    Ok(Column::Dict { codes: Buf::from_vec(codes), values })
}
