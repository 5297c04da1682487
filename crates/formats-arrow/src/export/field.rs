//! The Arrow field of a type: data type, nullability, extension name.

use crate::{ExportOptions, StringsAs, arrow_error};
use arrow_schema::{DataType as Arrow, Field, Fields, TimeUnit, UnionFields, UnionMode};
use chalet_base::{Result, bail};
use chalet_types::{DataType, IntervalUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// The field that a column of this type becomes.
pub fn field_of(name: &str, ty: &DataType, options: &ExportOptions) -> Result<Field> {
    // A text that may be `null` is none itself.
    let nullable = ty.is_nullable() && !matches!(ty, DataType::Dynamic(_));
    let field = Field::new(name, arrow_type(ty, options)?, nullable);
    if matches!(ty.bare(), DataType::Dynamic(_) | DataType::Json(_)) {
        return Ok(field.with_metadata(extension([
            ("ARROW:extension:name", "arrow.json"),
            ("ARROW:extension:metadata", ""),
        ])));
    }
    if *ty.bare() != DataType::Uuid || options.uuid_as_fixed_byte_array {
        return Ok(field);
    }
    Ok(field.with_metadata(extension([
        ("ARROW:extension:name", "arrow.uuid"),
        ("ARROW:extension:metadata", ""),
        ("PARQUET:logical_type", "UUID"),
    ])))
}

fn extension<const N: usize>(pairs: [(&str, &str); N]) -> HashMap<String, String> {
    HashMap::from(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())))
}

/// The fields of the union that a Variant becomes: its types by their names, then NULL.
fn union_of(types: &[DataType], options: &ExportOptions) -> Result<UnionFields> {
    let ids = 0i8..=types.len().min(i8::MAX as usize) as i8;
    if types.len() >= i8::MAX as usize {
        bail!(NOT_IMPLEMENTED, "A Variant of {} types is too large for Arrow", types.len());
    }
    let fields = types.iter().map(|ty| field_of(&ty.to_string(), ty, options));
    let mut fields = fields.collect::<Result<Vec<Field>>>()?;
    fields.push(Field::new("NULL", Arrow::Null, true));
    UnionFields::try_new(ids, fields).map_err(arrow_error)
}

fn arrow_type(ty: &DataType, options: &ExportOptions) -> Result<Arrow> {
    use DataType::*;
    Ok(match ty {
        LowCardinality(inner) if options.low_cardinality_as_dictionary => {
            let keys = match (
                options.use_64_bit_indexes_for_dictionary,
                options.use_signed_indexes_for_dictionary,
            ) {
                (false, true) => Arrow::Int32,
                (false, false) => Arrow::UInt32,
                (true, true) => Arrow::Int64,
                (true, false) => Arrow::UInt64,
            };
            Arrow::Dictionary(Box::new(keys), Box::new(arrow_type(inner, options)?))
        }
        Variant(_) if options.variant_as_string => string_type(options),
        Variant(types) => Arrow::Union(union_of(types, options)?, UnionMode::Dense),
        Dynamic(_) | Json(_) => string_type(options),
        LowCardinality(inner) | Nullable(inner) => arrow_type(inner, options)?,
        SimpleAggregate(named) => arrow_type(&named.ty, options)?,
        Nothing => Arrow::Null,
        Bool => Arrow::Boolean,
        UInt8 => Arrow::UInt8,
        UInt16 => Arrow::UInt16,
        UInt32 | IPv4 | DateTime(_) => Arrow::UInt32,
        UInt64 => Arrow::UInt64,
        Int8 | Enum8(_) => Arrow::Int8,
        Int16 | Enum16(_) => Arrow::Int16,
        Int32 => Arrow::Int32,
        Int64 => Arrow::Int64,
        UInt128 | Int128 | Uuid | IPv6 => Arrow::FixedSizeBinary(16),
        UInt256 | Int256 => Arrow::FixedSizeBinary(32),
        Float32 => Arrow::Float32,
        Float64 => Arrow::Float64,
        BFloat16 if options.unsupported_types_as_binary => Arrow::Binary,
        BFloat16 => {
            bail!(UNKNOWN_TYPE, "The type \"{ty}\" is not supported for conversion into Arrow data format")
        }
        Decimal { precision, scale } if *precision <= 38 => Arrow::Decimal128(*precision, *scale as i8),
        Decimal { precision, scale } => Arrow::Decimal256(*precision, *scale as i8),
        String => string_type(options),
        QBit(_) => bail!(NOT_IMPLEMENTED, "Type {ty} is not supported in Arrow"),
        AggregateFunction(_) => Arrow::Binary,
        FixedString(n) if options.fixed_string_as_fixed_byte_array => match i32::try_from(*n) {
            Ok(n) => Arrow::FixedSizeBinary(n),
            Err(_) => bail!(NOT_IMPLEMENTED, "FixedString({n}) is too long for Arrow"),
        },
        FixedString(_) => string_type(options),
        Date if options.date_as_uint16 => Arrow::UInt16,
        Date | Date32 => Arrow::Date32,
        DateTime64(scale, zone) => {
            let zone = zone.as_ref().map_or_else(|| options.time_zone.clone(), |zone| zone.name().into());
            Arrow::Timestamp(unit_of_scale(*scale), Some(zone))
        }
        Time => Arrow::Time32(TimeUnit::Second),
        Time64(scale) => match unit_of_scale(*scale) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Arrow::Time32(unit),
            unit => Arrow::Time64(unit),
        },
        Interval(unit) => match unit {
            IntervalUnit::Nanosecond => Arrow::Duration(TimeUnit::Nanosecond),
            IntervalUnit::Microsecond => Arrow::Duration(TimeUnit::Microsecond),
            IntervalUnit::Millisecond => Arrow::Duration(TimeUnit::Millisecond),
            IntervalUnit::Second => Arrow::Duration(TimeUnit::Second),
            _ => Arrow::Int64,
        },
        Array(element) => Arrow::List(Arc::new(field_of("item", element, options)?)),
        Map(key, value) => {
            let pair = vec![field_of("key", key, options)?, field_of("value", value, options)?];
            Arrow::Map(Arc::new(Field::new("entries", Arrow::Struct(pair.into()), false)), false)
        }
        Tuple(fields) => {
            let fields: Result<Vec<Field>> = fields
                .iter()
                .enumerate()
                .map(|(i, field)| match &field.name {
                    Some(name) => field_of(name, &field.ty, options),
                    None => field_of(&(i + 1).to_string(), &field.ty, options),
                })
                .collect();
            Arrow::Struct(Fields::from(fields?))
        }
    })
}

fn string_type(options: &ExportOptions) -> Arrow {
    match options.strings {
        StringsAs::Utf8 => Arrow::Utf8,
        StringsAs::Binary => Arrow::Binary,
        StringsAs::Utf8View => Arrow::Utf8View,
        StringsAs::BinaryView => Arrow::BinaryView,
    }
}

/// The coarsest unit of Arrow that loses nothing of a scale.
pub(super) fn unit_of_scale(scale: u8) -> TimeUnit {
    match scale {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// Digits of a second's fraction that a unit has.
pub(crate) fn scale_of_unit(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}
