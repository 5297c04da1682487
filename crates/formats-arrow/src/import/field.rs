//! The type that an Arrow field is read as.

use crate::export::field::scale_of_unit;
use arrow_schema::{DataType as Arrow, Field, IntervalUnit as ArrowInterval, TimeUnit};
use chalet_base::{Result, bail, ensure};
use chalet_types::{DataType, IntervalUnit, TimeZone, TupleField};

/// Nullable when the field is, unless the type cannot be.
pub fn type_of_field(field: &Field) -> Result<DataType> {
    let ty = bare_type(field)?;
    Ok(if field.is_nullable() && ty.can_be_nullable() || ty == DataType::Nothing {
        ty.nullable()
    } else {
        ty
    })
}

fn bare_type(field: &Field) -> Result<DataType> {
    let name = field.name();
    Ok(match field.data_type() {
        Arrow::Null => DataType::Nothing,
        Arrow::Boolean => DataType::Bool,
        Arrow::Int8 => DataType::Int8,
        Arrow::Int16 => DataType::Int16,
        Arrow::Int32 => DataType::Int32,
        Arrow::Int64 => DataType::Int64,
        Arrow::UInt8 => DataType::UInt8,
        Arrow::UInt16 => DataType::UInt16,
        Arrow::UInt32 => DataType::UInt32,
        Arrow::UInt64 => DataType::UInt64,
        Arrow::Float16 | Arrow::Float32 => DataType::Float32,
        Arrow::Float64 => DataType::Float64,
        Arrow::Timestamp(unit, zone) => {
            let zone = zone.as_ref().filter(|zone| !zone.is_empty());
            let zone = zone.map(|zone| TimeZone::named(&zone_name(zone))).transpose()?;
            DataType::DateTime64(scale_of_unit(*unit), zone)
        }
        Arrow::Date32 => DataType::Date32,
        Arrow::Date64 => DataType::DateTime(None),
        Arrow::Time32(unit) | Arrow::Time64(unit) => DataType::Time64(scale_of_unit(*unit)),
        Arrow::Duration(unit) => DataType::Interval(match unit {
            TimeUnit::Second => IntervalUnit::Second,
            TimeUnit::Millisecond => IntervalUnit::Millisecond,
            TimeUnit::Microsecond => IntervalUnit::Microsecond,
            TimeUnit::Nanosecond => IntervalUnit::Nanosecond,
        }),
        Arrow::Interval(ArrowInterval::YearMonth | ArrowInterval::DayTime | ArrowInterval::MonthDayNano) => {
            bail!(NOT_IMPLEMENTED, "Arrow type {} is not supported (field '{name}')", field.data_type())
        }
        Arrow::Utf8
        | Arrow::LargeUtf8
        | Arrow::Utf8View
        | Arrow::Binary
        | Arrow::LargeBinary
        | Arrow::BinaryView => DataType::String,
        Arrow::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => DataType::Uuid,
        Arrow::FixedSizeBinary(width) => match u32::try_from(*width) {
            Ok(width) if width > 0 => DataType::FixedString(width),
            _ => bail!(ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive"),
        },
        Arrow::Decimal32(precision, scale)
        | Arrow::Decimal64(precision, scale)
        | Arrow::Decimal128(precision, scale)
        | Arrow::Decimal256(precision, scale) => {
            ensure!(
                (0..=*precision as i16).contains(&i16::from(*scale)) && (1..=76).contains(precision),
                ARGUMENT_OUT_OF_BOUND,
                "Negative scales and scales larger than precision are not supported"
            );
            DataType::Decimal { precision: *precision, scale: *scale as u8 }
        }
        Arrow::List(item) | Arrow::LargeList(item) | Arrow::FixedSizeList(item, _) => {
            type_of_field(item)?.array()
        }
        Arrow::Struct(fields) => DataType::Tuple(
            fields
                .iter()
                .map(|f| Ok(TupleField { name: Some(f.name().as_str().into()), ty: type_of_field(f)? }))
                .collect::<Result<_>>()?,
        ),
        Arrow::Map(entries, _) => match entries.data_type() {
            Arrow::Struct(pair) if pair.len() == 2 => {
                // Keys are never NULL in Arrow, whatever the field says.
                let key = type_of_field(&pair[0])?.without_nullable().clone();
                DataType::map(key, type_of_field(&pair[1])?)
            }
            _ => bail!(INCORRECT_DATA, "Entries of Arrow map '{name}' are not pairs"),
        },
        Arrow::Dictionary(_, value) => {
            let value = type_of_field(&Field::new(name, Arrow::clone(value), field.is_nullable()))?;
            if may_be_low_cardinality(value.bare()) { value.low_cardinality() } else { value }
        }
        Arrow::Union(fields, _) => {
            let known = fields.iter().filter(|(_, field)| *field.data_type() != Arrow::Null);
            DataType::variant(known.map(|(_, field)| bare_type(field)).collect::<Result<Vec<_>>>()?)?
        }
        other => bail!(UNKNOWN_TYPE, "Arrow type {other} is not supported (field '{name}')"),
    })
}

/// Fixed offsets have names of their own in the kernel.
fn zone_name(zone: &str) -> String {
    let digits = zone.strip_prefix(['+', '-']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if digits.is_some() { format!("Fixed/UTC{zone}:00") } else { zone.to_owned() }
}

fn may_be_low_cardinality(ty: &DataType) -> bool {
    use DataType::*;
    ty.is_integer()
        || ty.is_float()
        || ty.is_string()
        || matches!(ty, Date | Date32 | DateTime(_) | Uuid | IPv4 | IPv6)
}
