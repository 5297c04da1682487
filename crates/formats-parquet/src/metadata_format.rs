//! ParquetMetadata: what the footer of a Parquet file says, as one row.

use crate::ParquetFile;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Builder, Column};
use chalet_formats::format::Capabilities;
use chalet_formats::input::Whole;
use chalet_formats::sliced::Sliced;
use chalet_formats::{FileScan, Format, FormatSettings, Input, InputFormat, ReadRequest, Schema};
use chalet_types::Value;
use parquet::basic::{ConvertedType, Encoding, LogicalType, TimeUnit, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use std::sync::Arc;

pub struct ParquetMetadata;

pub const FORMAT: Format = Format {
    name: "ParquetMetadata",
    suffixes: &[],
    content_type: "",
    capabilities: Capabilities {
        parallel_parsing: true,
        tty_friendly: true,
        random_access: true,
        schema_inference: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: Some(&ParquetMetadata),
    output: None,
};

/// The columns, all of which a file has.
const COLUMNS: &[(&str, &str)] = &[
    ("num_columns", "UInt64"),
    ("num_rows", "UInt64"),
    ("num_row_groups", "UInt64"),
    ("format_version", "String"),
    ("metadata_size", "UInt64"),
    ("total_uncompressed_size", "UInt64"),
    ("total_compressed_size", "UInt64"),
    (
        "columns",
        "Array(Tuple(name String, path String, max_definition_level UInt64, max_repetition_level UInt64, physical_type \
         String, logical_type String, compression String, total_uncompressed_size UInt64, total_compressed_size UInt64, \
         space_saved String, encodings Array(String)))",
    ),
    (
        "row_groups",
        "Array(Tuple(file_offset UInt64, num_columns UInt64, num_rows UInt64, total_uncompressed_size UInt64, \
         total_compressed_size UInt64, columns Array(Tuple(name String, path String, total_compressed_size UInt64, \
         total_uncompressed_size UInt64, have_statistics Bool, statistics Tuple(num_values Nullable(UInt64), null_count \
         Nullable(UInt64), distinct_count Nullable(UInt64), min Nullable(String), max Nullable(String)), bloom_filter_bytes \
         Int64))))",
    ),
];

fn schema() -> Result<Schema> {
    COLUMNS.iter().map(|(name, ty)| Ok((name.to_string(), ty.parse()?))).collect()
}

impl InputFormat for ParquetMetadata {
    fn infer_schema(&self, input: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        let (head, _) = input.head(1)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        schema().map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let known = schema()?;
        for (name, ty) in request.structure.iter() {
            let Some((_, expected)) = known.iter().find(|c| c.0 == *name) else {
                let names: Vec<&str> = COLUMNS.iter().map(|c| c.0).collect();
                bail!(
                    BAD_ARGUMENTS,
                    "Unexpected column: {name}. ParquetMetadata format allows only the next columns: {}",
                    names.join(", ")
                );
            };
            ensure!(
                ty == expected,
                BAD_ARGUMENTS,
                "Unexpected type {ty} for column {name}. Expected type: {expected}"
            );
        }
        let bytes = input.into_bytes()?;
        // The length of the footer stands before the last four bytes, which opening the file has checked.
        let file = ParquetFile::open(bytes.clone())?;
        let size = bytes.get(bytes.len().saturating_sub(8)..).and_then(|tail| tail.first_chunk::<4>());
        let size = u32::from_le_bytes(*size.unwrap_or(&[0; 4]));
        let load = move || row(&file, size.into(), &request);
        Ok(Whole::scan(Sliced::new(Box::new(load), Vec::new())))
    }
}

fn row(file: &Arc<ParquetFile>, metadata_size: u64, request: &ReadRequest) -> Result<Block> {
    let metadata = file.metadata();
    let mut columns = Vec::with_capacity(request.wanted.len());
    for &wanted in request.wanted.iter() {
        let (name, ty) = &request.structure[wanted];
        let mut builder = Builder::new(ty);
        builder.push_value(&value(metadata, metadata_size, name))?;
        columns.push(Column::from(builder.finish()));
    }
    Ok(Block::new(columns, 1))
}

/// A number of the footer; what it cannot be counts as nothing.
fn count(n: i64) -> Value {
    Value::UInt(u64::try_from(n).unwrap_or(0))
}

fn value(metadata: &ParquetMetaData, metadata_size: u64, name: &str) -> Value {
    let file = metadata.file_metadata();
    let groups = metadata.row_groups();
    match name {
        "num_columns" => Value::UInt(file.schema_descr().num_columns() as u64),
        "num_rows" => count(file.num_rows()),
        "num_row_groups" => Value::UInt(groups.len() as u64),
        "format_version" => Value::string(match file.version() {
            1 => "1.0".to_string(),
            other => other.to_string(),
        }),
        "metadata_size" => Value::UInt(metadata_size),
        "total_uncompressed_size" => sum(groups.iter().map(RowGroupMetaData::total_byte_size)),
        "total_compressed_size" => sum(groups.iter().map(RowGroupMetaData::compressed_size)),
        "columns" => Value::Array(
            (0..file.schema_descr().num_columns())
                .map(|index| {
                    let chunks = groups.iter().map(|group| group.column(index)).collect::<Vec<_>>();
                    column(&file.schema_descr().column(index), &chunks)
                })
                .collect(),
        ),
        _ => Value::Array(groups.iter().map(row_group).collect()),
    }
}

fn sum(parts: impl Iterator<Item = i64>) -> Value {
    count(parts.fold(0, i64::saturating_add))
}

fn column(described: &ColumnDescriptor, chunks: &[&ColumnChunkMetaData]) -> Value {
    let plain = chunks.iter().map(|chunk| chunk.uncompressed_size()).fold(0, i64::saturating_add);
    let packed = chunks.iter().map(|chunk| chunk.compressed_size()).fold(0, i64::saturating_add);
    let saved = match chunks.is_empty() {
        true => String::new(),
        false if plain == 0 => "0%".to_string(),
        false => format!("{}%", four_digits(100.0 * (1.0 - packed as f64 / plain as f64))),
    };
    let compression = chunks.first().map_or("NONE".to_string(), |chunk| compression_name(chunk));
    let encodings = chunks.first().map(|chunk| encoding_names(chunk)).unwrap_or_default();
    Value::Tuple(vec![
        Value::string(described.name()),
        Value::string(described.path().string()),
        count(described.max_def_level().into()),
        count(described.max_rep_level().into()),
        Value::string(described.physical_type().to_string()),
        Value::string(logical_type(described)),
        Value::string(compression),
        count(plain),
        count(packed),
        Value::string(saved),
        Value::Array(encodings.into_iter().map(Value::string).collect()),
    ])
}

/// A number with four significant digits, without zeros behind the point.
fn four_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_string();
    }
    let exponent =
        format!("{value:.3e}").rsplit_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if !(-5..4).contains(&exponent) {
        let text = format!("{value:.3e}");
        let (mantissa, _) = text.rsplit_once('e').unwrap_or((&text, ""));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let text = format!("{value:.*}", (3 - exponent).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

fn compression_name(chunk: &ColumnChunkMetaData) -> String {
    // Levels are of writers.
    let name = chunk.compression().to_string();
    let name = name.split('(').next().unwrap_or_default();
    match name {
        "LZ4_RAW" => "LZ4".to_string(),
        other => other.to_string(),
    }
}

/// The footer's set has no order: levels come first, as the kernel writes them.
fn encoding_names(chunk: &ColumnChunkMetaData) -> Vec<String> {
    let mut encodings: Vec<Encoding> = chunk.encodings().collect();
    encodings.sort_by_key(|encoding| *encoding != Encoding::RLE);
    encodings.iter().map(Encoding::to_string).collect()
}

fn unit_name(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::MILLIS => "milliseconds",
        TimeUnit::MICROS => "microseconds",
        TimeUnit::NANOS => "nanoseconds",
    }
}

fn logical_type(described: &ColumnDescriptor) -> String {
    let int = |bits: u8, signed: bool| format!("Int(bitWidth={bits}, isSigned={signed})");
    let timestamp = |utc: bool, unit: &str, converted: bool| {
        format!(
            "Timestamp(isAdjustedToUTC={utc}, timeUnit={unit}, is_from_converted_type={converted}, \
             force_set_converted_type=false)"
        )
    };
    let time = |utc: bool, unit: &str| format!("Time(isAdjustedToUTC={utc}, timeUnit={unit})");
    let decimal = |precision: i32, scale: i32| format!("Decimal(precision={precision}, scale={scale})");
    match described.logical_type_ref() {
        Some(LogicalType::String) => "String".to_string(),
        Some(LogicalType::Map) => "Map".to_string(),
        Some(LogicalType::List) => "List".to_string(),
        Some(LogicalType::Enum) => "Enum".to_string(),
        Some(LogicalType::Decimal(d)) => decimal(d.precision, d.scale),
        Some(LogicalType::Date) => "Date".to_string(),
        Some(LogicalType::Time(t)) => time(t.is_adjusted_to_u_t_c, unit_name(&t.unit)),
        Some(LogicalType::Timestamp(t)) => timestamp(t.is_adjusted_to_u_t_c, unit_name(&t.unit), false),
        Some(LogicalType::Integer(i)) => int(i.bit_width as u8, i.is_signed),
        Some(LogicalType::Unknown) => "Null".to_string(),
        Some(LogicalType::Json) => "JSON".to_string(),
        Some(LogicalType::Bson) => "BSON".to_string(),
        Some(LogicalType::Uuid) => "UUID".to_string(),
        Some(LogicalType::Float16) => "Float16".to_string(),
        Some(other) => format!("{other:?}").split('(').next().unwrap_or_default().to_string(),
        None => match described.converted_type() {
            ConvertedType::UTF8 => "String".to_string(),
            ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => "Map".to_string(),
            ConvertedType::LIST => "List".to_string(),
            ConvertedType::ENUM => "Enum".to_string(),
            ConvertedType::DECIMAL => decimal(described.type_precision(), described.type_scale()),
            ConvertedType::DATE => "Date".to_string(),
            ConvertedType::TIME_MILLIS => time(true, "milliseconds"),
            ConvertedType::TIME_MICROS => time(true, "microseconds"),
            ConvertedType::TIMESTAMP_MILLIS => timestamp(true, "milliseconds", true),
            ConvertedType::TIMESTAMP_MICROS => timestamp(true, "microseconds", true),
            ConvertedType::UINT_8 => int(8, false),
            ConvertedType::UINT_16 => int(16, false),
            ConvertedType::UINT_32 => int(32, false),
            ConvertedType::UINT_64 => int(64, false),
            ConvertedType::INT_8 => int(8, true),
            ConvertedType::INT_16 => int(16, true),
            ConvertedType::INT_32 => int(32, true),
            ConvertedType::INT_64 => int(64, true),
            ConvertedType::JSON => "JSON".to_string(),
            ConvertedType::BSON => "BSON".to_string(),
            ConvertedType::INTERVAL => "Interval".to_string(),
            ConvertedType::NONE => "None".to_string(),
        },
    }
}

fn row_group(group: &RowGroupMetaData) -> Value {
    let first_page =
        |chunk: &ColumnChunkMetaData| chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let offset = group.file_offset().or_else(|| group.columns().first().map(first_page)).unwrap_or(0);
    Value::Tuple(vec![
        count(offset),
        Value::UInt(group.columns().len() as u64),
        count(group.num_rows()),
        count(group.total_byte_size()),
        count(group.compressed_size()),
        Value::Array(group.columns().iter().map(chunk).collect()),
    ])
}

fn chunk(chunk: &ColumnChunkMetaData) -> Value {
    let statistics = chunk.statistics();
    Value::Tuple(vec![
        Value::string(chunk.column_descr().name()),
        Value::string(chunk.column_path().string()),
        count(chunk.compressed_size()),
        count(chunk.uncompressed_size()),
        Value::UInt(statistics.is_some().into()),
        match statistics {
            Some(statistics) => statistics_value(chunk, statistics),
            None => Value::Tuple(vec![Value::Null; 5]),
        },
        Value::Int(chunk.bloom_filter_length().unwrap_or(0).into()),
    ])
}

fn statistics_value(chunk: &ColumnChunkMetaData, statistics: &Statistics) -> Value {
    let optional = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    let nulls = statistics.null_count_opt();
    let n_values = u64::try_from(chunk.num_values()).unwrap_or(0).saturating_sub(nulls.unwrap_or(0));
    let text = |bytes: Option<&[u8]>| match bytes.and_then(|bytes| bound(statistics.physical_type(), bytes)) {
        Some(text) => Value::Bytes(text.into()),
        None => Value::Null,
    };
    Value::Tuple(vec![
        Value::UInt(n_values),
        optional(nulls),
        optional(statistics.distinct_count_opt()),
        text(statistics.min_bytes_opt()),
        text(statistics.max_bytes_opt()),
    ])
}

/// A minimum or maximum as text.
fn bound(ty: Type, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = match ty {
        Type::BOOLEAN => bytes.first()?.to_string(),
        Type::INT32 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Type::INT64 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        Type::FLOAT => format!("{:.6}", f32::from_le_bytes(bytes.try_into().ok()?)),
        Type::DOUBLE => format!("{:.6}", f64::from_le_bytes(bytes.try_into().ok()?)),
        Type::BYTE_ARRAY => return Some(bytes.to_vec()),
        Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => bytes.iter().map(|byte| format!("{byte} ")).collect(),
    };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_types() {
        for (name, ty) in schema().unwrap() {
            assert!(
                COLUMNS.iter().any(|c| c.0 == name && c.1.parse::<chalet_types::DataType>().unwrap() == ty)
            );
        }
    }

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in [
            (-38.5542, "-38.55"),
            (-9.9236, "-9.924"),
            (-12.195, "-12.2"),
            (0.0, "0"),
            (100.0, "100"),
            (-12345.0, "-1.234e+04"),
        ] {
            assert_eq!(four_digits(value), text);
        }
    }
}
