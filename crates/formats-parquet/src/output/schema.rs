//! The Parquet schema of our types, by the kernel's conventions.

use chalet_base::{Result, bail};
use chalet_formats::FormatSettings;
use chalet_types::DataType;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Stored};
use parquet::schema::types::Type;
use std::sync::Arc;

pub fn root(header: &[(String, DataType)], settings: &FormatSettings) -> Result<Type> {
    let fields: Result<Vec<Arc<Type>>> =
        header.iter().map(|(name, ty)| field(name, ty, settings).map(Arc::new)).collect();
    built(Type::group_type_builder("schema").with_fields(fields?).build())
}

fn built(made: parquet::errors::Result<Type>) -> Result<Type> {
    made.map_err(crate::parquet_error)
}

/// How a type without wrappers is stored: physical type, length, logical type, precision and scale.
pub struct Storage {
    pub stored: Stored,
    pub length: i32,
    logical: Option<LogicalType>,
    decimal: Option<(i32, i32)>,
}

impl Storage {
    fn new(stored: Stored) -> Storage {
        Storage { stored, length: 0, logical: None, decimal: None }
    }

    fn fixed(length: u32) -> Storage {
        Storage { length: length as i32, ..Storage::new(Stored::FIXED_LEN_BYTE_ARRAY) }
    }

    fn logical(self, logical: LogicalType) -> Storage {
        Storage { logical: Some(logical), ..self }
    }

    fn decimal(self, precision: i32, scale: i32) -> Storage {
        Storage { decimal: Some((precision, scale)), ..self }.logical(LogicalType::decimal(scale, precision))
    }
}

/// `None`: there is no way to store it.
pub fn storage(ty: &DataType, settings: &FormatSettings) -> Option<Storage> {
    use DataType::*;
    let int =
        |bits: i8, signed: bool| Storage::new(Stored::INT32).logical(LogicalType::integer(bits, signed));
    let timestamp = |unit| Storage::new(Stored::INT64).logical(LogicalType::timestamp(true, unit));
    let text = || match settings.output_format_parquet_string_as_string {
        true => Storage::new(Stored::BYTE_ARRAY).logical(LogicalType::String),
        false => Storage::new(Stored::BYTE_ARRAY),
    };
    let names = || Storage::new(Stored::BYTE_ARRAY).logical(LogicalType::Enum);
    let as_decimal = settings.output_format_parquet_wide_integer_as_decimal;
    Some(match ty {
        Bool => Storage::new(Stored::BOOLEAN),
        UInt8 => int(8, false),
        UInt16 => int(16, false),
        UInt32 | IPv4 => int(32, false),
        Int8 => int(8, true),
        Int16 => int(16, true),
        Int32 => Storage::new(Stored::INT32),
        Int64 => Storage::new(Stored::INT64),
        UInt64 => Storage::new(Stored::INT64).logical(LogicalType::integer(64, false)),
        Int128 | UInt128 if as_decimal => Storage::fixed(17).decimal(39, 0),
        Int256 if as_decimal => Storage::fixed(33).decimal(77, 0),
        UInt256 if as_decimal => Storage::fixed(33).decimal(78, 0),
        Int128 | UInt128 | IPv6 => Storage::fixed(16),
        Int256 | UInt256 => Storage::fixed(32),
        Float32 => Storage::new(Stored::FLOAT),
        Float64 => Storage::new(Stored::DOUBLE),
        String => text(),
        Json(_) => Storage::new(Stored::BYTE_ARRAY).logical(LogicalType::Json),
        FixedString(n) if settings.output_format_parquet_fixed_string_as_fixed_byte_array => {
            Storage::fixed(*n)
        }
        FixedString(_) => text(),
        Uuid => Storage::fixed(16).logical(LogicalType::Uuid),
        Date if settings.output_format_parquet_date_as_uint16 => int(16, false),
        Date | Date32 => Storage::new(Stored::INT32).logical(LogicalType::Date),
        DateTime(_) if settings.output_format_parquet_datetime_as_uint32 => int(32, false),
        DateTime(_) | DateTime64(0..=3, _) => timestamp(TimeUnit::MILLIS),
        DateTime64(4..=6, _) => timestamp(TimeUnit::MICROS),
        DateTime64(..) => timestamp(TimeUnit::NANOS),
        Enum8(_) | Enum16(_) if settings.output_format_parquet_enum_as_byte_array => names(),
        Enum8(_) => int(8, true),
        Enum16(_) => int(16, true),
        Decimal { precision, scale } => {
            let width = match precision {
                0..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            };
            Storage::fixed(width).decimal((*precision).into(), (*scale).into())
        }
        _ => return None,
    })
}

fn field(name: &str, ty: &DataType, settings: &FormatSettings) -> Result<Type> {
    let repetition = if ty.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let group = |fields: Vec<Type>, logical: Option<LogicalType>| {
        let fields = fields.into_iter().map(Arc::new).collect();
        let group = Type::group_type_builder(name).with_repetition(repetition).with_fields(fields);
        built(group.with_logical_type(logical).build())
    };
    let repeated = |name: &str, fields: Vec<Type>, converted: ConvertedType| {
        let fields = fields.into_iter().map(Arc::new).collect();
        let group = Type::group_type_builder(name).with_repetition(Repetition::REPEATED).with_fields(fields);
        built(group.with_converted_type(converted).build())
    };
    match ty.bare() {
        DataType::Array(element) => {
            let element = field("element", element, settings)?;
            group(vec![repeated("list", vec![element], ConvertedType::NONE)?], Some(LogicalType::List))
        }
        DataType::Map(key, value) => {
            let pair = vec![field("key", key, settings)?, field("value", value, settings)?];
            group(vec![repeated("key_value", pair, ConvertedType::MAP_KEY_VALUE)?], Some(LogicalType::Map))
        }
        DataType::Tuple(fields) => {
            if fields.is_empty() {
                bail!(BAD_ARGUMENTS, "Parquet doesn't support empty tuples");
            }
            let fields = fields.iter().enumerate().map(|(i, part)| match &part.name {
                Some(name) => field(name, &part.ty, settings),
                None => field(&(i + 1).to_string(), &part.ty, settings),
            });
            group(fields.collect::<Result<_>>()?, None)
        }
        bare => {
            let Some(Storage { stored, length, logical, decimal }) = storage(bare, settings) else {
                let family = bare.to_string();
                let family = match bare {
                    DataType::Interval(_) => "Interval",
                    DataType::Time64(_) => "Time64",
                    DataType::Variant(_) => "Variant",
                    DataType::Dynamic(_) => "Dynamic",
                    DataType::AggregateFunction(_) => "AggregateFunction",
                    _ => &family,
                };
                bail!(
                    UNKNOWN_TYPE,
                    "Internal type '{family}' of column '{name}' is not supported for conversion into Parquet data format"
                );
            };
            let mut leaf = Type::primitive_type_builder(name, stored)
                .with_repetition(repetition)
                .with_length(length)
                .with_logical_type(logical);
            if let Some((precision, scale)) = decimal {
                leaf = leaf.with_precision(precision).with_scale(scale);
            }
            built(leaf.build())
        }
    }
}
