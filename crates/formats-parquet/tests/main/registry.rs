//! Parquet as a format of the registry: columns by name, missing ones, casts, units.

use crate::samples::{bytes, text};
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_formats::input::read_all;
use chalet_formats::{FormatSettings, Input, ReadRequest, Registry, Schema};
use chalet_formats_parquet::FORMATS;
use chalet_types::DataType;
use std::sync::Arc;

fn input(sample: &str) -> Input {
    Input::Bytes(Buffer::from_vec(bytes(sample)))
}

fn structure(columns: &[(&str, &str)]) -> Schema {
    columns.iter().map(|(name, ty)| (name.to_string(), ty.parse::<DataType>().unwrap())).collect()
}

fn read(sample: &str, columns: &[(&str, &str)], settings: &[(&str, &str)]) -> Result<(String, Vec<Block>)> {
    let mut all = FormatSettings::default();
    settings.iter().for_each(|(name, value)| assert!(all.set(name, value).unwrap()));
    let schema = structure(columns);
    let request = ReadRequest::all(schema.clone()).with_settings(Arc::new(all));
    let blocks = read_all(&mut *FORMATS[0].open(input(sample), request)?, 1000)?;
    Ok((text(&schema, &blocks), blocks))
}

#[test]
fn the_registry_finds_it() {
    let mut registry = Registry::builtin();
    registry.add(FORMATS);
    assert_eq!(registry.of_path("a/b.parquet").unwrap().name, "Parquet");
    let mut input = input("polars");
    let schema =
        registry.get("parquet").unwrap().infer_schema(&mut input, &FormatSettings::default()).unwrap();
    assert_eq!(schema[0], structure(&[("a", "Nullable(Int64)")])[0]);
    // The input is still there after a look at its schema.
    assert!(matches!(input, Input::Bytes(bytes) if bytes.len() == crate::samples::bytes("polars").len()));
}

#[test]
fn columns_come_by_name_in_any_order() {
    let (rows, blocks) = read("polars", &[("s", "Nullable(String)"), ("a", "Nullable(Int64)")], &[]).unwrap();
    assert_eq!(rows, "x\t1\ny\t\\N\n\\N\t3\n");
    assert_eq!(blocks.len(), 1);
}

#[test]
fn missing_columns_are_defaults_or_errors() {
    let columns = [("a", "Nullable(Int64)"), ("zz", "UInt8")];
    assert_eq!(read("polars", &columns, &[]).unwrap().0, "1\t0\n\\N\t0\n3\t0\n");
    let strict = [("input_format_parquet_allow_missing_columns", "0")];
    assert_eq!(read("polars", &columns, &strict).unwrap_err().code().number, 8);
    let folded = [("input_format_parquet_case_insensitive_column_matching", "1")];
    assert_eq!(read("polars", &[("A", "Nullable(Int64)")], &folded).unwrap().0, "1\n\\N\n3\n");
}

#[test]
fn nulls_become_defaults_of_other_types() {
    assert_eq!(read("polars", &[("a", "Int64")], &[]).unwrap().0, "1\n0\n3\n");
}

#[test]
fn row_groups_are_units() {
    let request = ReadRequest::all(structure(&[("i8", "Nullable(Int8)")]));
    let mut scan = FORMATS[0].open(input("pyarrow_dictionary_snappy"), request).unwrap();
    let mut rows = Vec::new();
    while let Some(mut unit) = scan.next_unit().unwrap() {
        let mut n = 0;
        while let Some(block) = unit.next_block(10).unwrap() {
            n += block.n_rows();
        }
        assert!(unit.bytes_read() > 0);
        rows.push(n);
    }
    assert_eq!(rows, [25, 25, 10]);
}
