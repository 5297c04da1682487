//! Late materialisation: what a filter keeps is what is left of the whole.

use crate::samples::{SAMPLES, assert_same, open, read, text};
use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_formats_parquet::{RowFilter, Selection};
use std::sync::{Arc, Mutex};

/// A pattern of bits by row number: dense, sparse, in runs, none, all.
fn passes(pattern: usize, row: usize) -> bool {
    let mixed = (row as u64 ^ 0x55).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    match pattern {
        0 => mixed % 2 == 0,
        1 => mixed % 40 == 0,
        2 => row / 17 % 3 == 1,
        3 => false,
        4 => true,
        _ => row == 33,
    }
}

#[test]
fn filtered_rows_are_rows_of_the_whole() {
    for &(sample, _) in SAMPLES {
        let file = open(sample);
        let schema = file.schema(false).unwrap();
        for pattern in 0..6 {
            for max_rows in [5, 64, 65_409] {
                let columns: Vec<Selection> = (0..file.n_columns()).map(Selection::new).collect();
                let mut blocks = Vec::new();
                let mut row_base = 0;
                let mut wanted = Vec::new();
                for group in 0..file.n_row_groups() {
                    let seen = Arc::new(Mutex::new(row_base));
                    let at = seen.clone();
                    let filter = RowFilter {
                        columns: vec![0],
                        unread: Vec::new(),
                        evaluate: Arc::new(move |block: &Block| {
                            assert_eq!(block.columns().len(), 1);
                            let mut at = at.lock().unwrap();
                            let start = *at;
                            *at += block.n_rows();
                            Ok(BooleanBuffer::collect_bool(block.n_rows(), |i| passes(pattern, start + i)))
                        }),
                    };
                    let mut reader = file.read_row_group(group, &columns, vec![filter], None).unwrap();
                    while let Some(block) = reader.next_block(max_rows).unwrap() {
                        assert!(!block.is_empty());
                        blocks.push(block);
                    }
                    assert_eq!(*seen.lock().unwrap() - row_base, file.row_group_rows(group));
                    let n = file.row_group_rows(group);
                    let kept = (0..n).filter(|i| passes(pattern, row_base + i)).count();
                    assert_eq!(reader.skipped(), n - kept);
                    wanted.extend((row_base..row_base + n).map(|row| passes(pattern, row)));
                    row_base += n;
                }
                let whole = text(&schema, &read(&file, 65_409, true));
                let expected: Vec<&str> =
                    whole.lines().zip(&wanted).filter(|(_, keep)| **keep).map(|(line, _)| line).collect();
                let what = format!("{sample}, pattern {pattern}, blocks of {max_rows}");
                assert_same(&text(&schema, &blocks), &expected.join("\n"), &what);
            }
        }
    }
}

#[test]
fn ranges_of_rows() {
    for sample in ["pyarrow_plain_zstd_v2", "pyarrow_fallback", "kernel", "pyarrow_nested_v2"] {
        let file = open(sample);
        let schema = file.schema(false).unwrap();
        let columns: Vec<Selection> = (0..file.n_columns()).map(Selection::new).collect();
        let n = file.row_group_rows(0);
        let ranges = vec![3..4, 4..9, 20..n - 5];
        let mut reader = file.read_row_group(0, &columns, Vec::new(), Some(ranges.clone())).unwrap();
        let mut blocks = Vec::new();
        while let Some(block) = reader.next_block(6).unwrap() {
            blocks.push(block);
        }
        let whole = text(&schema, &read(&file, 65_409, false));
        let whole: Vec<&str> = whole.lines().collect();
        let expected: Vec<&str> = ranges.into_iter().flat_map(|range| whole[range].iter().copied()).collect();
        assert_same(&text(&schema, &blocks), &expected.join("\n"), sample);
    }
}

#[test]
fn dictionaries_are_kept_where_a_block_has_codes_only() {
    let file = open("pyarrow_fallback");
    let mut reader = file.read_row_group(0, &[Selection::new(0)], Vec::new(), None).unwrap();
    let mut kinds = Vec::new();
    while let Some(block) = reader.next_block(10).unwrap() {
        kinds.push(matches!(block.column(0), Column::Dict { .. }));
    }
    assert!(kinds[0], "the chunk begins with codes");
    assert!(!kinds[kinds.len() - 1], "and ends without");
}
