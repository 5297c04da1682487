//! Files that pyarrow, polars, duckdb and the kernel wrote, read to the rows and types that the kernel reads.

use arrow_buffer::Buffer;
use chalet_columns::Block;
use chalet_formats::output::Memory;
use chalet_formats::{Statistics, WriteRequest, registry};
use chalet_formats_parquet::{ParquetFile, Selection};
use chalet_types::DataType;
use std::path::PathBuf;
use std::sync::Arc;

/// File and the answer it shares with others of the same rows.
pub const SAMPLES: &[(&str, &str)] = &[
    ("pyarrow_dictionary_snappy", "pyarrow_types"),
    ("pyarrow_plain_zstd_v2", "pyarrow_types"),
    ("pyarrow_delta_gzip", "pyarrow_types"),
    ("pyarrow_brotli", "pyarrow_types"),
    ("pyarrow_lz4", "pyarrow_types"),
    ("pyarrow_int96", "pyarrow_int96"),
    ("pyarrow_fallback", "pyarrow_fallback"),
    ("pyarrow_nested", "pyarrow_nested"),
    ("pyarrow_nested_v2", "pyarrow_nested"),
    ("polars", "polars"),
    ("duckdb", "duckdb"),
    ("duckdb_v2", "duckdb_v2"),
    ("kernel", "kernel"),
];

pub fn path(file: &str) -> PathBuf {
    PathBuf::from("../../tests/data/parquet").join(file)
}

pub fn bytes(sample: &str) -> Vec<u8> {
    std::fs::read(path(&format!("{sample}.parquet"))).unwrap()
}

pub fn open(sample: &str) -> Arc<ParquetFile> {
    ParquetFile::open(Buffer::from_vec(bytes(sample))).unwrap()
}

/// All rows of a file in blocks of at most `max_rows`.
pub fn read(file: &Arc<ParquetFile>, max_rows: usize, keep_dictionary: bool) -> Vec<Block> {
    let columns: Vec<Selection> =
        (0..file.n_columns()).map(|column| Selection { keep_dictionary, ..Selection::new(column) }).collect();
    let mut blocks = Vec::new();
    for group in 0..file.n_row_groups() {
        let mut reader = file.read_row_group(group, &columns, Vec::new(), None).unwrap();
        while let Some(block) = reader.next_block(max_rows).unwrap() {
            assert!(block.n_rows() <= max_rows);
            blocks.push(block);
        }
    }
    blocks
}

/// Blocks as TabSeparated.
pub fn text(schema: &[(String, DataType)], blocks: &[Block]) -> String {
    let out = Memory::default();
    let format = registry::BUILTIN.get("TabSeparated").unwrap();
    let mut writer = format.writer(WriteRequest::new(schema.to_vec()), Box::new(out.clone())).unwrap();
    blocks.iter().for_each(|block| writer.write(block).unwrap());
    writer.finish(&Statistics::default()).unwrap();
    String::from_utf8_lossy(&out.take()).into_owned()
}

pub fn assert_same(actual: &str, expected: &str, what: &str) {
    for (row, (a, e)) in actual.lines().zip(expected.lines()).enumerate() {
        for (column, (a, e)) in a.split('\t').zip(e.split('\t')).enumerate() {
            assert_eq!(a, e, "{what}: row {row}, column {column}");
        }
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "{what}: rows");
}

#[test]
fn every_sample_reads_as_the_kernel_reads_it() {
    for &(sample, answer) in SAMPLES {
        let file = open(sample);
        let answer =
            String::from_utf8_lossy(&std::fs::read(path(&format!("{answer}.tsv"))).unwrap()).into_owned();
        let mut lines = answer.splitn(3, '\n');
        let (names, types, rows) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
        let schema = file.schema(false).unwrap();
        let printed: Vec<String> = schema.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let expected: Vec<String> =
            names.split('\t').zip(types.split('\t')).map(|(name, ty)| format!("{name} {ty}")).collect();
        assert_eq!(printed, expected, "{sample}");
        for max_rows in [1, 7, 65_409] {
            for keep_dictionary in [false, true] {
                let what = format!("{sample} in blocks of {max_rows}, dictionaries {keep_dictionary}");
                assert_same(&text(&schema, &read(&file, max_rows, keep_dictionary)), rows, &what);
            }
        }
        assert_eq!(file.n_rows() as usize, rows.lines().count());
    }
}

#[test]
fn footers_are_kept_until_the_file_changes() {
    let folder = std::env::temp_dir().join(format!("chalet-parquet-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.parquet");
    let open = |use_cache| ParquetFile::open_path(&path, use_cache).unwrap();
    std::fs::write(&path, bytes("polars")).unwrap();
    // A file that changed just now is not remembered: another change might not show.
    std::thread::sleep(std::time::Duration::from_millis(80));
    let (first, again, fresh) = (open(true), open(true), open(false));
    assert!(std::ptr::eq(first.metadata(), again.metadata()));
    assert!(!std::ptr::eq(first.metadata(), fresh.metadata()));
    std::fs::write(&path, bytes("duckdb")).unwrap();
    assert_ne!(open(true).schema(false).unwrap(), first.schema(false).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
}
