//! Pruning never excludes a row that is there, and excludes what it can.

use crate::samples::{SAMPLES, open, read};
use chalet_columns::Block;
use chalet_formats_parquet::{ParquetFile, RangePredicate, Selection};
use chalet_types::Value;
use std::sync::Arc;

fn point(column: usize, value: &Value) -> RangePredicate {
    let bound = Some((value.clone(), true));
    RangePredicate { column, low: bound.clone(), high: bound, among: vec![] }
}

fn among(column: usize, values: &[Value]) -> RangePredicate {
    RangePredicate { column, low: None, high: None, among: values.to_vec() }
}

fn group_rows(file: &Arc<ParquetFile>, group: usize) -> Block {
    let columns: Vec<Selection> = (0..file.n_columns()).map(Selection::new).collect();
    let mut reader = file.read_row_group(group, &columns, Vec::new(), None).unwrap();
    reader.next_block(1 << 20).unwrap().unwrap()
}

#[test]
fn rows_that_are_there_are_never_excluded() {
    for &(sample, _) in SAMPLES {
        let file = open(sample);
        for group in 0..file.n_row_groups() {
            let block = group_rows(&file, group);
            for column in 0..file.n_columns() {
                let mut n_nulls = 0;
                for row in 0..block.n_rows() {
                    let value = block.column(column).value(row);
                    if value.is_null() {
                        n_nulls += 1;
                        continue;
                    }
                    for predicate in [point(column, &value), among(column, std::slice::from_ref(&value))] {
                        let predicates = [predicate];
                        let what = format!("{sample}, group {group}, column {column}, row {row}: {value:?}");
                        assert!(file.can_match(group, &predicates, true), "{what}");
                        let rows = file.matching_rows(group, &predicates);
                        assert!(
                            rows.is_none_or(|rows| rows.iter().any(|range| range.contains(&row))),
                            "{what}"
                        );
                    }
                }
                if let Some(found) = file.null_count(group, column) {
                    assert_eq!(found, n_nulls, "{sample}, group {group}, column {column}");
                }
            }
        }
    }
}

#[test]
fn bounds_are_the_values() {
    let file = open("kernel");
    let bounds = file.bounds(0, 0).unwrap();
    assert_eq!((bounds.min, bounds.max, bounds.exact), (Value::UInt(0), Value::UInt(39), true));
    let file = open("pyarrow_dictionary_snappy");
    let u64_column = file.column_index("u64", false).unwrap();
    let bounds = file.bounds(1, u64_column).unwrap();
    assert_eq!(bounds.max, Value::UInt(u64::MAX - 25));
}

#[test]
fn what_cannot_be_is_excluded() {
    let file = open("pyarrow_dictionary_snappy");
    let column = |name: &str| file.column_index(name, false).unwrap();
    let groups = |predicate: RangePredicate| -> Vec<usize> {
        (0..file.n_row_groups())
            .filter(|&g| file.can_match(g, std::slice::from_ref(&predicate), true))
            .collect()
    };
    // i64 is 10^12 times the row; row groups have 25 rows.
    let at = |row: i64| Value::Int(row * 1_000_000_000_000);
    assert_eq!(groups(point(column("i64"), &at(30))), [1]);
    assert_eq!(groups(among(column("i64"), &[at(3), at(55)])), [0, 2]);
    let above = |included| RangePredicate {
        column: column("i64"),
        low: Some((at(24), included)),
        high: None,
        among: vec![],
    };
    assert_eq!(groups(above(true)), [0, 1, 2]);
    assert_eq!(groups(above(false)), [1, 2]);
    assert_eq!(groups(point(column("s"), &Value::from("zzz"))), [0usize; 0]);
    assert_eq!(groups(point(column("dec"), &Value::Int(30))), [1]);
}

#[test]
fn bloom_filters_exclude_inside_the_bounds() {
    let file = open("kernel");
    let t = file.column_index("t", false).unwrap();
    let known = Value::from("text 5");
    let unknown = Value::from("text 5x");
    assert!(file.can_match(0, &[point(t, &known)], true));
    assert!(file.can_match(0, &[point(t, &unknown)], false), "the bounds alone do not exclude it");
    assert!(!file.can_match(0, &[point(t, &unknown)], true));
}

#[test]
fn pages_are_excluded_by_the_index() {
    let file = open("pyarrow_plain_zstd_v2");
    let column = file.column_index("t", false).unwrap();
    let all = read(&file, 1 << 20, false);
    let value = all[0].column(column).value(40);
    let rows = file.matching_rows(0, &[point(column, &value)]);
    if let Some(rows) = rows {
        let n: usize = rows.iter().map(|range| range.len()).sum();
        assert!(n < all[0].n_rows() && rows.iter().any(|range| range.contains(&40)));
        let mut reader = file.read_row_group(0, &[Selection::new(column)], Vec::new(), Some(rows)).unwrap();
        let mut found = false;
        while let Some(block) = reader.next_block(1 << 20).unwrap() {
            found |= (0..block.n_rows()).any(|row| block.column(0).value(row) == value);
        }
        assert!(found);
    } else {
        panic!("the index of {sample} excludes nothing", sample = "pyarrow_plain_zstd_v2");
    }
}
