//! The Arrow array of a column. Buffers of the same layout are shared, not copied.

use super::field::{field_of, scale_of_unit, unit_of_scale};
use crate::{ExportOptions, StringsAs, arrow_error};
use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray,
    FixedSizeBinaryArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray, StructArray,
    UnionArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType as Arrow, Field, Fields, TimeUnit};
use chalet_base::{Result, bail, err};
use chalet_columns::{Column, Data, List, Native, Strings, Struct, Vector, variant};
use chalet_formats::several_types::json_texts;
use chalet_types::DataType;
use std::sync::Arc;

/// The array of the type that [`field_of`] gives for `ty`.
pub fn to_arrow(column: &Column, ty: &DataType, options: &ExportOptions) -> Result<ArrayRef> {
    if let (DataType::LowCardinality(inner), true) = (ty, options.low_cardinality_as_dictionary) {
        return dictionary(column, inner, options);
    }
    vector(&column.flat(), ty, options)
}

fn vector(from: &Vector, ty: &DataType, options: &ExportOptions) -> Result<ArrayRef> {
    use DataType::*;
    let nulls = || from.validity.clone();
    Ok(match ty {
        LowCardinality(inner) if options.low_cardinality_as_dictionary => {
            return dictionary(&Column::Flat(from.clone()), inner, options);
        }
        LowCardinality(inner) | Nullable(inner) => return vector(from, inner, options),
        SimpleAggregate(named) => return vector(from, &named.ty, options),
        Nothing => Arc::new(NullArray::new(from.len())),
        Bool => {
            let bits = BooleanBuffer::from_iter(from.values::<u8>()?.iter().map(|&b| b != 0));
            Arc::new(BooleanArray::new(bits, nulls()))
        }
        UInt8 => shared::<u8, UInt8Type>(from)?,
        UInt16 => shared::<u16, UInt16Type>(from)?,
        UInt32 | IPv4 | DateTime(_) => shared::<u32, UInt32Type>(from)?,
        UInt64 => shared::<u64, UInt64Type>(from)?,
        Int8 | Enum8(_) => shared::<i8, Int8Type>(from)?,
        Int16 | Enum16(_) => shared::<i16, Int16Type>(from)?,
        Int32 => shared::<i32, Int32Type>(from)?,
        Int64 => shared::<i64, Int64Type>(from)?,
        Float32 => shared::<f32, Float32Type>(from)?,
        Float64 => shared::<f64, Float64Type>(from)?,
        BFloat16 => {
            let bytes = from.buf::<half::bf16>()?.to_arrow();
            let offsets = OffsetBuffer::<i32>::from_repeated_length(2, from.len());
            Arc::new(BinaryArray::new(offsets, bytes, nulls()))
        }
        UInt128 => fixed(from.buf::<u128>()?.to_arrow(), 16, from)?,
        Int128 => fixed(from.buf::<i128>()?.to_arrow(), 16, from)?,
        UInt256 => fixed(from.buf::<chalet_types::U256>()?.to_arrow(), 32, from)?,
        Int256 => fixed(from.buf::<chalet_types::I256>()?.to_arrow(), 32, from)?,
        Uuid | IPv6 => fixed(from.fixed()?.bytes.to_arrow(), 16, from)?,
        FixedString(n) if options.fixed_string_as_fixed_byte_array => {
            fixed(from.fixed()?.bytes.to_arrow(), *n as usize, from)?
        }
        FixedString(_) => strings(&from.fixed()?.iter().collect(), nulls(), options)?,
        String => strings(from.strings()?, nulls(), options)?,
        QBit(_) => bail!(NOT_IMPLEMENTED, "Type {ty} is not supported in Arrow"),
        AggregateFunction(_) => Arc::new(BinaryArray::from_iter_values(from.strings()?.iter())),
        Decimal { precision, scale } => decimal(from, *precision, *scale)?,
        Date if options.date_as_uint16 => shared::<u16, UInt16Type>(from)?,
        Date => converted::<u16, Date32Type>(from, i32::from)?,
        Date32 => shared::<i32, Date32Type>(from)?,
        DateTime64(scale, _) => timestamps(from, ty, *scale, options)?,
        Time => shared::<i32, Time32SecondType>(from)?,
        Time64(scale) => times(from, *scale)?,
        Interval(_) => match field_of("", ty, options)?.data_type() {
            Arrow::Duration(unit) => match scale_of_unit(*unit) {
                0 => shared::<i64, DurationSecondType>(from)?,
                3 => shared::<i64, DurationMillisecondType>(from)?,
                6 => shared::<i64, DurationMicrosecondType>(from)?,
                _ => shared::<i64, DurationNanosecondType>(from)?,
            },
            _ => shared::<i64, Int64Type>(from)?,
        },
        Array(element) => {
            let (offsets, values) = list(from.list()?)?;
            let field = Arc::new(field_of("item", element, options)?);
            let values = vector(&values, element, options)?;
            Arc::new(ListArray::try_new(field, offsets, values, nulls()).map_err(arrow_error)?)
        }
        Map(key, value) => {
            let Arrow::Map(entries, ordered) = field_of("", ty, options)?.data_type().clone() else {
                bail!(LOGICAL_ERROR, "Map is not a map");
            };
            let (offsets, pairs) = list(from.list()?)?;
            let Arrow::Struct(fields) = entries.data_type().clone() else {
                bail!(LOGICAL_ERROR, "Map has no entries");
            };
            let pairs = structure(pairs.structure()?, fields, &[key, value], None, options)?;
            Arc::new(MapArray::try_new(entries, offsets, pairs, nulls(), ordered).map_err(arrow_error)?)
        }
        Tuple(types) => {
            let Arrow::Struct(fields) = field_of("", ty, options)?.data_type().clone() else {
                bail!(LOGICAL_ERROR, "Tuple is not a struct");
            };
            let types: Vec<&DataType> = types.iter().map(|field| &field.ty).collect();
            Arc::new(structure(from.structure()?, fields, &types, nulls(), options)?)
        }
        Variant(_) if options.variant_as_string => {
            let texts = json_texts(from, ty);
            strings(texts.strings()?, nulls(), options)?
        }
        Variant(types) => union(from, ty, types, options)?,
        Dynamic(_) => strings(json_texts(from, ty).strings()?, None, options)?,
        Json(_) => strings(json_texts(from, ty).strings()?, nulls(), options)?,
    })
}

/// A dense union: of each row the number of its type and its place among the values of that type.
fn union(from: &Vector, ty: &DataType, types: &[DataType], options: &ExportOptions) -> Result<ArrayRef> {
    let Arrow::Union(fields, _) = field_of("", ty, options)?.data_type().clone() else {
        bail!(LOGICAL_ERROR, "Variant is not a union");
    };
    let groups = variant::groups(from, ty)?;
    let (mut ids, mut offsets) = (vec![types.len() as i8; from.len()], vec![0i32; from.len()]);
    let mut children = Vec::with_capacity(types.len() + 1);
    for (id, alternative) in types.iter().enumerate() {
        let Some(group) = groups.iter().find(|group| group.ty == *alternative) else {
            children.push(vector(&Vector::defaults(alternative, 0), alternative, options)?);
            continue;
        };
        for (place, &row) in group.rows.iter().enumerate() {
            ids[row as usize] = id as i8;
            offsets[row as usize] = place as i32;
        }
        children.push(vector(&group.values, alternative, options)?);
    }
    let mut n_nulls = 0;
    for (id, offset) in ids.iter().zip(&mut offsets) {
        if *id == types.len() as i8 {
            *offset = n_nulls;
            n_nulls += 1;
        }
    }
    children.push(Arc::new(NullArray::new(n_nulls as usize)));
    let union = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), children);
    Ok(Arc::new(union.map_err(arrow_error)?))
}

/// DateTime64 as timestamps of the coarsest unit that holds its scale.
fn timestamps(from: &Vector, ty: &DataType, scale: u8, options: &ExportOptions) -> Result<ArrayRef> {
    let Arrow::Timestamp(_, zone) = field_of("", ty, options)?.data_type().clone() else {
        bail!(LOGICAL_ERROR, "DateTime64 is not a timestamp");
    };
    let (unit, nulls) = (unit_of_scale(scale), from.validity.clone());
    let ticks = rescaled(from, scale_of_unit(unit) - scale)?;
    Ok(match unit {
        TimeUnit::Second => Arc::new(primitive::<TimestampSecondType>(ticks, nulls).with_timezone_opt(zone)),
        TimeUnit::Millisecond => {
            Arc::new(primitive::<TimestampMillisecondType>(ticks, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Microsecond => {
            Arc::new(primitive::<TimestampMicrosecondType>(ticks, nulls).with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(primitive::<TimestampNanosecondType>(ticks, nulls).with_timezone_opt(zone))
        }
    })
}

/// Time64 in the coarsest unit that holds its scale.
fn times(from: &Vector, scale: u8) -> Result<ArrayRef> {
    let (unit, nulls) = (unit_of_scale(scale), from.validity.clone());
    let ticks = rescaled(from, scale_of_unit(unit) - scale)?;
    Ok(match unit {
        TimeUnit::Second => Arc::new(narrow::<Time32SecondType>(&ticks, nulls)),
        TimeUnit::Millisecond => Arc::new(narrow::<Time32MillisecondType>(&ticks, nulls)),
        TimeUnit::Microsecond => Arc::new(primitive::<Time64MicrosecondType>(ticks, nulls)),
        TimeUnit::Nanosecond => Arc::new(primitive::<Time64NanosecondType>(ticks, nulls)),
    })
}

fn primitive<A: ArrowPrimitiveType>(
    values: ScalarBuffer<A::Native>,
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<A> {
    PrimitiveArray::new(values, nulls)
}

/// The same bytes under an Arrow type of the same width.
fn shared<T: Native, A: ArrowPrimitiveType>(from: &Vector) -> Result<ArrayRef> {
    let bytes = from.buf::<T>()?.to_arrow();
    Ok(Arc::new(primitive::<A>(ScalarBuffer::from(bytes), from.validity.clone())))
}

fn converted<T: Native, A: ArrowPrimitiveType>(
    from: &Vector,
    convert: impl Fn(T) -> A::Native,
) -> Result<ArrayRef> {
    let values: Vec<A::Native> = from.values::<T>()?.iter().map(|&x| convert(x)).collect();
    Ok(Arc::new(primitive::<A>(values.into(), from.validity.clone())))
}

/// Ticks with `digits` more digits; wraps like the kernel.
fn rescaled(from: &Vector, digits: u8) -> Result<ScalarBuffer<i64>> {
    let ticks = from.buf::<i64>()?;
    if digits == 0 {
        return Ok(ScalarBuffer::from(ticks.to_arrow()));
    }
    let factor = chalet_types::decimal::pow10_i64(digits.into());
    Ok(ticks.iter().map(|t| t.wrapping_mul(factor)).collect::<Vec<i64>>().into())
}

fn narrow<A: ArrowPrimitiveType<Native = i32>>(
    ticks: &[i64],
    nulls: Option<NullBuffer>,
) -> PrimitiveArray<A> {
    primitive(ticks.iter().map(|&t| t as i32).collect::<Vec<i32>>().into(), nulls)
}

fn fixed(bytes: Buffer, width: usize, from: &Vector) -> Result<ArrayRef> {
    let width =
        i32::try_from(width).map_err(|_| err!(NOT_IMPLEMENTED, "FixedString is too long for Arrow"))?;
    let array = FixedSizeBinaryArray::try_new_with_len(width, bytes, from.validity.clone(), from.len())
        .map_err(arrow_error)?;
    Ok(Arc::new(array))
}

fn decimal(from: &Vector, precision: u8, scale: u8) -> Result<ArrayRef> {
    let nulls = from.validity.clone();
    let wide: ScalarBuffer<i128> = match &from.data {
        Data::I32(values) => values.iter().map(|&x| i128::from(x)).collect::<Vec<_>>().into(),
        Data::I64(values) => values.iter().map(|&x| i128::from(x)).collect::<Vec<_>>().into(),
        Data::I128(values) => ScalarBuffer::from(values.to_arrow()),
        _ => {
            let values = from.buf::<chalet_types::I256>()?;
            let values: Vec<i256> = values.iter().map(|x| i256::from_le_bytes(x.to_le_bytes())).collect();
            let array = primitive::<Decimal256Type>(values.into(), nulls)
                .with_precision_and_scale(precision, scale as i8)
                .map_err(arrow_error)?;
            return Ok(Arc::new(array));
        }
    };
    let array = primitive::<Decimal128Type>(wide, nulls)
        .with_precision_and_scale(precision, scale as i8)
        .map_err(arrow_error)?;
    Ok(Arc::new(array))
}

fn strings(from: &Strings, nulls: Option<NullBuffer>, options: &ExportOptions) -> Result<ArrayRef> {
    if matches!(options.strings, StringsAs::Utf8View | StringsAs::BinaryView) {
        let views = ScalarBuffer::from(from.views().to_arrow());
        // SAFETY: by the invariant of `Strings` every view points inside its buffer and holds its prefix.
        let array = unsafe { BinaryViewArray::new_unchecked(views, from.buffers().clone(), nulls) };
        return Ok(match options.strings {
            StringsAs::BinaryView => Arc::new(array),
            // SAFETY: arrays made here are serialised or handed over the C interface, never read as `str` in this
            // process. Whoever asked for text gets the bytes as they are, as the kernel does.
            _ => Arc::new(unsafe { array.to_string_view_unchecked() }),
        });
    }
    let total = from.total_bytes();
    if i32::try_from(total).is_err() {
        bail!(
            NOT_IMPLEMENTED,
            "A block with {total} bytes of strings is too large for an Arrow string column"
        );
    }
    let (mut bytes, mut offsets) = (Vec::with_capacity(total), Vec::with_capacity(from.len() + 1));
    offsets.push(0i32);
    for text in from.iter() {
        bytes.extend_from_slice(text);
        offsets.push(bytes.len() as i32);
    }
    // The offsets grow by lengths, from 0.
    let offsets = OffsetBuffer::new(offsets.into());
    if options.strings == StringsAs::Binary {
        return Ok(Arc::new(BinaryArray::new(offsets, bytes.into(), nulls)));
    }
    // SAFETY: the offsets are in order and inside the buffer. UTF-8 is not checked: see above.
    Ok(Arc::new(unsafe { StringArray::new_unchecked(offsets, bytes.into(), nulls) }))
}

fn list(from: &List) -> Result<(OffsetBuffer<i32>, Arc<Vector>)> {
    let from = from.normalised();
    let total = from.values.len();
    if i32::try_from(total).is_err() {
        bail!(NOT_IMPLEMENTED, "A block with {total} array elements is too large for an Arrow list column");
    }
    let offsets: Vec<i32> = from.offsets.iter().map(|&o| o as i32).collect();
    Ok((OffsetBuffer::new(offsets.into()), from.values))
}

fn structure(
    from: &Struct,
    fields: Fields,
    types: &[&DataType],
    nulls: Option<NullBuffer>,
    options: &ExportOptions,
) -> Result<StructArray> {
    let children: Result<Vec<ArrayRef>> =
        from.fields.iter().zip(types).map(|(child, ty)| vector(child, ty, options)).collect();
    StructArray::try_new_with_length(fields, children?, nulls, from.len).map_err(arrow_error)
}

/// LowCardinality as an Arrow dictionary; keys of NULL rows are NULL themselves.
fn dictionary(column: &Column, inner: &DataType, options: &ExportOptions) -> Result<ArrayRef> {
    let (codes, values): (Vec<u32>, &Vector) = match column {
        Column::Dict { codes, values } => (codes.to_vec(), values),
        Column::Const { value, len } => (vec![0; *len], value),
        Column::Flat(vector) => ((0..vector.len() as u32).collect(), vector),
    };
    let nulls = (values.null_count() > 0)
        .then(|| NullBuffer::from_iter(codes.iter().map(|&code| !values.is_null(code as usize))));
    let values = vector(&values.without_nulls(), inner.without_nullable(), options)?;
    fn keyed<K: ArrowDictionaryKeyType>(
        codes: Vec<K::Native>,
        nulls: Option<NullBuffer>,
        values: ArrayRef,
    ) -> Result<ArrayRef> {
        let keys = PrimitiveArray::<K>::new(codes.into(), nulls);
        Ok(Arc::new(DictionaryArray::<K>::try_new(keys, values).map_err(arrow_error)?))
    }
    match (options.use_64_bit_indexes_for_dictionary, options.use_signed_indexes_for_dictionary) {
        (false, true) => keyed::<Int32Type>(codes.iter().map(|&c| c as i32).collect(), nulls, values),
        (false, false) => keyed::<UInt32Type>(codes, nulls, values),
        (true, true) => keyed::<Int64Type>(codes.iter().map(|&c| c.into()).collect(), nulls, values),
        (true, false) => keyed::<UInt64Type>(codes.iter().map(|&c| c.into()).collect(), nulls, values),
    }
}

/// Field and array of a column, checked against each other in debug builds.
pub fn named_array(
    name: &str,
    column: &Column,
    ty: &DataType,
    options: &ExportOptions,
) -> Result<(Field, ArrayRef)> {
    let (field, array) = (field_of(name, ty, options)?, to_arrow(column, ty, options)?);
    debug_assert_eq!(field.data_type(), array.data_type());
    Ok((field, array))
}
