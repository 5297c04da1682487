//! What the writer writes, the reader reads.

use crate::samples::{SAMPLES, assert_same, open, read, text};
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::{Block, Builder, Column};
use chalet_formats::output::Memory;
use chalet_formats::{FormatSettings, Statistics, WriteRequest};
use chalet_formats_parquet::{FORMATS, ParquetFile};
use chalet_types::{DataType, Value};
use std::sync::Arc;

fn write(schema: &[(String, DataType)], blocks: &[Block], settings: &[(&str, &str)]) -> Result<Vec<u8>> {
    let mut all = FormatSettings::default();
    for (name, value) in settings {
        assert!(all.set(name, value)?);
    }
    let out = Memory::default();
    let request = WriteRequest { settings: Arc::new(all), ..WriteRequest::new(schema.to_vec()) };
    let mut writer = FORMATS[0].writer(request, Box::new(out.clone()))?;
    blocks.iter().try_for_each(|block| writer.write(block))?;
    writer.finish(&Statistics::default())?;
    Ok(out.take())
}

#[test]
fn samples_survive_every_compression() {
    for &(sample, _) in SAMPLES {
        let file = open(sample);
        // A NULL tuple of Nullable parts comes back as a tuple of NULLs, from the kernel too.
        let kept: Vec<usize> = (0..file.n_columns())
            .filter(|&c| !file.column(c).unwrap().ty.to_string().contains("Nullable(Tuple("))
            .collect();
        let schema: Vec<_> = kept.iter().map(|&c| file.schema(false).unwrap().swap_remove(c)).collect();
        let pick = |block: &Block| {
            Block::new(kept.iter().map(|&c| block.column(c).clone()).collect(), block.n_rows())
        };
        let blocks: Vec<Block> = read(&file, 40, true).iter().map(pick).collect();
        let expected = text(&schema, &blocks);
        for compression in ["none", "snappy", "zstd", "lz4", "gzip", "brotli"] {
            for (group_size, dictionary) in [("1000000", "1048576"), ("7", "0"), ("50", "100")] {
                let settings = [
                    ("output_format_parquet_compression_method", compression),
                    ("output_format_parquet_row_group_size", group_size),
                    ("output_format_parquet_max_dictionary_size", dictionary),
                    ("output_format_parquet_data_page_size", "300"),
                ];
                let bytes = write(&schema, &blocks, &settings).unwrap();
                let again = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
                assert_eq!(again.schema(false).unwrap(), schema, "{sample}");
                let what =
                    format!("{sample} with {compression}, groups of {group_size}, dictionary {dictionary}");
                assert_same(&text(&schema, &read(&again, 65_409, true)), &expected, &what);
                assert_eq!(
                    again.n_row_groups(),
                    (file.n_rows() as usize).div_ceil(group_size.parse().unwrap())
                );
            }
        }
    }
}

fn one_column(ty: &str, value: &Value) -> (Vec<(String, DataType)>, Block) {
    let ty: DataType = ty.parse().unwrap();
    let mut builder = Builder::new(&ty);
    builder.push_value(value).unwrap();
    builder.push_default();
    (vec![("c".to_owned(), ty)], Block::new(vec![builder.finish().into()], 2))
}

fn written(ty: &str, value: &Value, settings: &[(&str, &str)]) -> (String, Value) {
    let (schema, block) = one_column(ty, value);
    let bytes = write(&schema, &[block], settings).unwrap();
    let file = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
    let block = read(&file, 10, false).remove(0);
    (file.schema(false).unwrap()[0].1.to_string(), block.column(0).value(0))
}

#[test]
fn types_become_what_the_kernel_makes_of_them() {
    let cases: &[(&str, Value, &str, Value)] = &[
        ("IPv4", Value::UInt(16_909_060), "UInt32", Value::UInt(16_909_060)),
        ("IPv6", Value::string([7; 16]), "FixedString(16)", Value::string([7; 16])),
        ("Date", Value::UInt(18_262), "Date32", Value::Int(18_262)),
        ("DateTime", Value::UInt(5), "DateTime64(3, 'UTC')", Value::Int(5000)),
        ("DateTime64(0)", Value::Int(5), "DateTime64(3, 'UTC')", Value::Int(5000)),
        ("DateTime64(4)", Value::Int(5), "DateTime64(6, 'UTC')", Value::Int(500)),
        ("DateTime64(9, 'Asia/Tokyo')", Value::Int(-5), "DateTime64(9, 'UTC')", Value::Int(-5)),
        ("Enum8('a' = 1, 'b' = 2)", Value::Int(2), "String", Value::from("b")),
        ("Enum16('a' = 1, 'b' = 200)", Value::Int(200), "String", Value::from("b")),
        ("Int128", Value::Int128(-1), "FixedString(16)", Value::string([0xff; 16])),
        ("Decimal(5, 1)", Value::Int(-15), "Decimal(5, 1)", Value::Int(-15)),
        ("LowCardinality(Nullable(String))", Value::from("x"), "Nullable(String)", Value::from("x")),
        ("UUID", Value::string([9; 16]), "UUID", Value::string([9; 16])),
    ];
    for (from, value, to, back) in cases {
        assert_eq!(written(from, value, &[]), (to.to_string(), back.clone()), "{from}");
    }
    let set = |from, value, setting: (&str, &str)| written(from, &value, &[setting]);
    let number = |ty: &str, value| (ty.to_owned(), value);
    let enum_as_int = ("output_format_parquet_enum_as_byte_array", "0");
    assert_eq!(set("Enum8('a' = 1)", Value::Int(1), enum_as_int), number("Int8", Value::Int(1)));
    let time_as_int = ("output_format_parquet_datetime_as_uint32", "1");
    assert_eq!(set("DateTime", Value::UInt(7), time_as_int), number("UInt32", Value::UInt(7)));
    let date_as_int = ("output_format_parquet_date_as_uint16", "1");
    assert_eq!(set("Date", Value::UInt(7), date_as_int), number("UInt16", Value::UInt(7)));
    let as_decimal = ("output_format_parquet_wide_integer_as_decimal", "1");
    let wide = Value::Int256((-7).into());
    assert_eq!(set("Int128", Value::Int128(-7), as_decimal), number("Decimal(39, 0)", wide));
    let as_text = ("output_format_parquet_fixed_string_as_fixed_byte_array", "0");
    assert_eq!(set("FixedString(2)", Value::from("ab"), as_text), number("String", Value::from("ab")));
}

#[test]
fn what_parquet_cannot_hold_is_refused() {
    for (ty, code) in
        [("BFloat16", 50), ("Time", 50), ("IntervalDay", 50), ("Nullable(Nothing)", 50), ("Tuple()", 36)]
    {
        let ty: DataType = ty.parse().unwrap();
        let error = write(&[("c".to_owned(), ty.clone())], &[], &[]).unwrap_err();
        assert_eq!(error.code().number, code, "{ty}: {error}");
    }
}

#[test]
fn dictionaries_and_constants_are_written() {
    let ty = DataType::String;
    let mut values = Builder::new(&ty);
    ["a", "b"].iter().for_each(|v| values.push_value(&Value::from(*v)).unwrap());
    let dictionary = Column::Dict { codes: vec![1u32, 0, 1].into(), values: values.finish() };
    let constant = Column::of_value(&Value::from("c"), &ty, 3).unwrap();
    let schema = vec![("d".to_owned(), ty.clone()), ("c".to_owned(), ty)];
    let bytes = write(&schema, &[Block::new(vec![dictionary, constant], 3)], &[]).unwrap();
    let file = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
    assert_eq!(text(&schema, &read(&file, 10, true)), "b\tc\na\tc\nb\tc\n");
}

#[test]
fn an_empty_result_has_a_schema() {
    let schema = vec![("n".to_owned(), DataType::UInt64)];
    let bytes = write(&schema, &[], &[]).unwrap();
    let file = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
    assert_eq!((file.schema(false).unwrap(), file.n_rows()), (schema, 0));
}
