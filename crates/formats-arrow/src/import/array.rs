//! The column that an Arrow array becomes. Buffers of the same layout are shared, not copied.

use super::field::type_of_field;
use super::text;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, OffsetSizeTrait, UnionArray, make_array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType as Arrow, Field, TimeUnit};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Builder, Column, Data, Fixed, List, Native, Struct, Vector, bits, variant};
use chalet_types::{DataType, I256, TupleField, Value};
use std::sync::Arc;

/// Days that Date32 can hold: 0000-01-01 to 9999-12-31.
const DATE32: std::ops::RangeInclusive<i32> = -719_528..=2_932_896;

/// The column and its type. A dictionary stays one.
pub fn from_arrow(array: &dyn Array, field: &Field) -> Result<(Column, DataType)> {
    ensure!(
        array.data_type() == field.data_type(),
        INCORRECT_DATA,
        "Arrow column '{}' is {} where its field says {}",
        field.name(),
        array.data_type(),
        field.data_type()
    );
    let ty = type_of_field(field)?;
    Ok((column(array, &ty)?, ty))
}

fn column(array: &dyn Array, ty: &DataType) -> Result<Column> {
    match array.data_type() {
        Arrow::Dictionary(..) => Dictionary::new(array, ty)?.column(array),
        _ => vector(array, ty).map(Column::Flat),
    }
}

fn vector(array: &dyn Array, ty: &DataType) -> Result<Vector> {
    let data = match array.data_type() {
        Arrow::Null => Data::Nothing(array.len()),
        Arrow::Boolean => u8::wrap(bits::to_bytes(array.as_boolean().values()).into()),
        Arrow::Int8 => shared::<Int8Type>(array),
        Arrow::Int16 => shared::<Int16Type>(array),
        Arrow::Int32 => shared::<Int32Type>(array),
        Arrow::Int64 => shared::<Int64Type>(array),
        Arrow::UInt8 => shared::<UInt8Type>(array),
        Arrow::UInt16 => shared::<UInt16Type>(array),
        Arrow::UInt32 => shared::<UInt32Type>(array),
        Arrow::UInt64 => shared::<UInt64Type>(array),
        Arrow::Float16 => converted::<Float16Type, f32>(array, f32::from),
        Arrow::Float32 => shared::<Float32Type>(array),
        Arrow::Float64 => shared::<Float64Type>(array),
        Arrow::Timestamp(unit, _) => match unit {
            TimeUnit::Second => shared::<TimestampSecondType>(array),
            TimeUnit::Millisecond => shared::<TimestampMillisecondType>(array),
            TimeUnit::Microsecond => shared::<TimestampMicrosecondType>(array),
            TimeUnit::Nanosecond => shared::<TimestampNanosecondType>(array),
        },
        Arrow::Date32 => date32(array)?,
        // Milliseconds as seconds, wrapped into 32 bits.
        Arrow::Date64 => converted::<Date64Type, u32>(array, |ms| (ms / 1000) as u32),
        Arrow::Time32(TimeUnit::Second) => converted::<Time32SecondType, i64>(array, i64::from),
        Arrow::Time32(_) => converted::<Time32MillisecondType, i64>(array, i64::from),
        Arrow::Time64(TimeUnit::Microsecond) => shared::<Time64MicrosecondType>(array),
        Arrow::Time64(_) => shared::<Time64NanosecondType>(array),
        Arrow::Duration(unit) => match unit {
            TimeUnit::Second => shared::<DurationSecondType>(array),
            TimeUnit::Millisecond => shared::<DurationMillisecondType>(array),
            TimeUnit::Microsecond => shared::<DurationMicrosecondType>(array),
            TimeUnit::Nanosecond => shared::<DurationNanosecondType>(array),
        },
        Arrow::Utf8 => Data::Str(text::with_offsets(array.as_bytes::<Utf8Type>())?),
        Arrow::LargeUtf8 => Data::Str(text::with_offsets(array.as_bytes::<LargeUtf8Type>())?),
        Arrow::Binary => Data::Str(text::with_offsets(array.as_bytes::<BinaryType>())?),
        Arrow::LargeBinary => Data::Str(text::with_offsets(array.as_bytes::<LargeBinaryType>())?),
        Arrow::Utf8View => Data::Str(text::views(array.as_byte_view::<StringViewType>())?),
        Arrow::BinaryView => Data::Str(text::views(array.as_byte_view::<BinaryViewType>())?),
        Arrow::FixedSizeBinary(width) => {
            let bytes = Buf::from_arrow(array.as_fixed_size_binary().values().clone());
            let width = *width as usize;
            ensure!(
                bytes.len() >= width * array.len(),
                INCORRECT_DATA,
                "Arrow fixed-size values are cut short"
            );
            Data::Fixed(Fixed { width, bytes: bytes.slice(0, width * array.len()) })
        }
        Arrow::Decimal32(..) => decimal(array.as_primitive::<Decimal32Type>().values(), ty, |&x| x.into()),
        Arrow::Decimal64(..) => decimal(array.as_primitive::<Decimal64Type>().values(), ty, |&x| x.into()),
        Arrow::Decimal128(..) => match ty.physical() {
            chalet_types::Physical::I128 => shared::<Decimal128Type>(array),
            _ => decimal(array.as_primitive::<Decimal128Type>().values(), ty, |&x| x.into()),
        },
        Arrow::Decimal256(..) => decimal(array.as_primitive::<Decimal256Type>().values(), ty, |x| {
            I256::from_le_bytes(x.to_le_bytes())
        }),
        Arrow::List(_) => {
            let list = array.as_list::<i32>();
            lists(list.value_offsets(), list.values(), list.nulls(), ty)?
        }
        Arrow::LargeList(_) => {
            let list = array.as_list::<i64>();
            lists(list.value_offsets(), list.values(), list.nulls(), ty)?
        }
        Arrow::FixedSizeList(_, width) => {
            let list = array.as_fixed_size_list();
            let offsets: Vec<i64> = (0..=list.len() as i64).map(|i| i * i64::from(*width)).collect();
            lists(&offsets, list.values(), list.nulls(), ty)?
        }
        Arrow::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            lists(map.value_offsets(), &entries, map.nulls(), ty)?
        }
        Arrow::Struct(_) => {
            let DataType::Tuple(fields) = ty.bare() else {
                bail!(LOGICAL_ERROR, "An Arrow struct is read as {ty}");
            };
            let records = array.as_struct();
            let children = records.columns().iter().zip(fields.iter());
            let one = |(child, field): (&ArrayRef, &TupleField)| match records.nulls() {
                Some(nulls) if nulls.null_count() > 0 => plain(&under(child, nulls), &field.ty),
                _ => plain(child, &field.ty),
            };
            let fields = children.map(one).collect::<Result<_>>()?;
            Data::Struct(Struct { fields, len: array.len() })
        }
        Arrow::Union(..) => return union(array.as_union(), ty),
        other => bail!(UNKNOWN_TYPE, "Arrow type {other} is not supported"),
    };
    let validity = if ty.is_nullable() { array.logical_nulls() } else { None };
    Ok(Vector::new(data, validity))
}

/// The values of each type of a union, put back to their rows.
fn union(array: &UnionArray, ty: &DataType) -> Result<Vector> {
    let Arrow::Union(fields, _) = array.data_type() else {
        bail!(LOGICAL_ERROR, "An Arrow union is read as {ty}");
    };
    let mut groups = Vec::with_capacity(fields.len());
    for (id, field) in fields.iter().filter(|(_, field)| *field.data_type() != Arrow::Null) {
        let rows = array.type_ids().iter().enumerate().filter(|(_, own)| **own == id);
        let rows: Vec<u32> = rows.map(|(row, _)| row as u32).collect();
        let child = array.child(id);
        let inside = |row: &u32| array.value_offset(*row as usize) as u32;
        let places: Vec<u32> = rows.iter().map(inside).collect();
        ensure!(
            places.iter().all(|place| (*place as usize) < child.len()),
            INCORRECT_DATA,
            "Offsets of an Arrow union are out of bounds"
        );
        let of = type_of_field(field)?;
        let values = plain(child, &of)?.gather(&places);
        groups.push((rows, variant::wrap(&values, &of, ty)?));
    }
    Ok(variant::gather(&groups, array.len(), ty))
}

/// What is inside a struct or a list that is NULL may be anything, so it is NULL as well.
fn under(child: &ArrayRef, nulls: &NullBuffer) -> ArrayRef {
    if matches!(child.data_type(), Arrow::Null) {
        return child.clone();
    }
    let data = child.to_data();
    let nulls = NullBuffer::union(data.nulls(), Some(nulls));
    // SAFETY: an array stays a legal one when some of its values become NULL; there is one bit for each.
    make_array(unsafe { data.into_builder().nulls(nulls).build_unchecked() })
}

/// A vector also where Arrow has a dictionary.
fn plain(array: &dyn Array, ty: &DataType) -> Result<Vector> {
    Ok(column(array, ty)?.into_flat())
}

fn shared<A: ArrowPrimitiveType>(array: &dyn Array) -> Data
where
    A::Native: Native,
{
    A::Native::wrap(Buf::from_arrow(array.as_primitive::<A>().values().inner().clone()))
}

fn converted<A: ArrowPrimitiveType, T: Native>(array: &dyn Array, convert: impl Fn(A::Native) -> T) -> Data {
    T::wrap(array.as_primitive::<A>().values().iter().map(|&x| convert(x)).collect())
}

fn date32(array: &dyn Array) -> Result<Data> {
    let days = array.as_primitive::<Date32Type>();
    let outside = |day: &i32| !DATE32.contains(day);
    if days.values().iter().any(outside) {
        // What stands under a NULL does not count, but must be a legal day.
        if let Some(day) = days.iter().flatten().find(outside) {
            bail!(
                VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
                "Arrow date32 value {day} is out of the allowed Date32 range [{}, {}]",
                DATE32.start(),
                DATE32.end()
            );
        }
        return Ok(i32::wrap(days.iter().map(Option::unwrap_or_default).collect()));
    }
    Ok(shared::<Date32Type>(array))
}

/// Decimals in the width that their precision has with us.
fn decimal<N>(values: &[N], ty: &DataType, widen: impl Fn(&N) -> I256) -> Data {
    use chalet_types::Physical;
    match ty.physical() {
        Physical::I32 => i32::wrap(values.iter().map(|x| widen(x).as_i32()).collect()),
        Physical::I64 => i64::wrap(values.iter().map(|x| widen(x).as_i64()).collect()),
        Physical::I128 => i128::wrap(values.iter().map(|x| widen(x).as_i128()).collect()),
        _ => I256::wrap(values.iter().map(widen).collect()),
    }
}

/// Lists with 64-bit offsets; a NULL list is an empty one.
fn lists<O: OffsetSizeTrait>(
    offsets: &[O],
    values: &ArrayRef,
    nulls: Option<&NullBuffer>,
    ty: &DataType,
) -> Result<Data> {
    let Some(element) = ty.bare().element() else {
        bail!(LOGICAL_ERROR, "An Arrow list is read as {ty}");
    };
    let mut offsets: Vec<i64> =
        if offsets.is_empty() { vec![0] } else { offsets.iter().map(|o| o.as_usize() as i64).collect() };
    let in_order = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    ensure!(
        in_order && last as u64 <= values.len() as u64,
        INCORRECT_DATA,
        "Offsets of an Arrow list are out of order or out of bounds"
    );
    // A slice of a list has all elements of the whole: those of other rows are not converted.
    let mut values = values.clone();
    if first != 0 || last as usize != values.len() {
        offsets.iter_mut().for_each(|offset| *offset -= first);
        values = values.slice(first as usize, (last - first) as usize);
    }
    let lengths = || offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
    let stray = nulls.filter(|nulls| {
        nulls.null_count() > 0 && lengths().enumerate().any(|(row, len)| len > 0 && nulls.is_null(row))
    });
    if let Some(nulls) = stray {
        let mut valid = BooleanBufferBuilder::new(values.len());
        lengths().zip(nulls).for_each(|(len, is_valid)| valid.append_n(len, is_valid));
        values = under(&values, &NullBuffer::new(valid.finish()));
    }
    let list = List { offsets: offsets.into(), values: Arc::new(plain(&values, &element)?) };
    Ok(Data::List(match stray {
        Some(nulls) => without_null_lists(&list, nulls),
        None => list,
    }))
}

fn without_null_lists(list: &List, nulls: &NullBuffer) -> List {
    let (mut offsets, mut rows) = (vec![0i64], Vec::<u32>::new());
    for row in 0..list.len() {
        if nulls.is_valid(row) {
            rows.extend(list.range(row).map(|element| element as u32));
        }
        offsets.push(rows.len() as i64);
    }
    List { offsets: offsets.into(), values: Arc::new(list.values.gather(&rows)) }
}

/// A dictionary whose values are converted once, for many slices of its codes.
pub struct Dictionary {
    /// NULL rows get a code of their own behind the values.
    values: Vector,
    n_values: usize,
}

impl Dictionary {
    /// None if the array is no dictionary.
    pub fn of(array: &dyn Array, field: &Field) -> Result<Option<Dictionary>> {
        match array.data_type() {
            Arrow::Dictionary(..) => Ok(Some(Dictionary::new(array, &type_of_field(field)?)?)),
            _ => Ok(None),
        }
    }

    fn new(array: &dyn Array, ty: &DataType) -> Result<Dictionary> {
        let dictionary = array.as_any_dictionary();
        let values = plain(dictionary.values(), ty)?;
        let n_values = values.len();
        let has_nulls = dictionary.keys().null_count() > 0;
        ensure!(
            n_values > 0 || array.is_empty() || has_nulls,
            INCORRECT_DATA,
            "Arrow dictionary has keys but no values"
        );
        let values = if has_nulls {
            let mut null = Builder::new(ty);
            if ty.is_nullable() {
                null.push_value(&Value::Null)?
            } else {
                null.push_default()
            }
            Vector::concat(&[&values, &null.finish()])
        } else {
            values
        };
        Ok(Dictionary { values, n_values })
    }

    /// A slice of the array that this was made of.
    pub fn column(&self, part: &dyn Array) -> Result<Column> {
        fn of<K: ArrowDictionaryKeyType>(
            part: &dyn Array,
            n_values: usize,
            widen: impl Fn(K::Native) -> u64,
        ) -> Result<Buf<u32>> {
            let keys = part.as_dictionary::<K>().keys();
            let bound = n_values as u64;
            let codes: Vec<u32> = match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => {
                    // Negative keys come out above every bound.
                    let inside =
                        keys.values().iter().fold(true, |inside, &key| inside & (widen(key) < bound));
                    ensure!(inside, INCORRECT_DATA, "Arrow dictionary key is out of bounds");
                    keys.values().iter().map(|&key| widen(key) as u32).collect()
                }
                Some(nulls) => {
                    let code = |(&key, valid): (&K::Native, bool)| {
                        let key = if valid { widen(key) } else { return Ok(bound as u32) };
                        ensure!(key < bound, INCORRECT_DATA, "Arrow dictionary key is out of bounds");
                        Ok(key as u32)
                    };
                    keys.values().iter().zip(nulls).map(code).collect::<Result<_>>()?
                }
            };
            Ok(codes.into())
        }
        let Arrow::Dictionary(key, _) = part.data_type() else {
            bail!(LOGICAL_ERROR, "Not an Arrow dictionary");
        };
        let n = self.n_values;
        let codes = match **key {
            Arrow::Int8 => of::<Int8Type>(part, n, |k| k as i64 as u64),
            Arrow::Int16 => of::<Int16Type>(part, n, |k| k as i64 as u64),
            Arrow::Int32 => of::<Int32Type>(part, n, |k| k as i64 as u64),
            Arrow::Int64 => of::<Int64Type>(part, n, |k| k as u64),
            Arrow::UInt8 => of::<UInt8Type>(part, n, u64::from),
            Arrow::UInt16 => of::<UInt16Type>(part, n, u64::from),
            Arrow::UInt32 => of::<UInt32Type>(part, n, u64::from),
            Arrow::UInt64 => of::<UInt64Type>(part, n, |k| k),
            ref other => bail!(UNKNOWN_TYPE, "Arrow dictionary keys of type {other} are not supported"),
        };
        Ok(Column::Dict { codes: codes?, values: self.values.clone() })
    }
}
