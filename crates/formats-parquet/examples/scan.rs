//! Times the scan of Parquet files alone, and rewrites files: `scan read THREADS COLUMN,... FILE...`,
//! `scan like THREADS COLUMN NEEDLE FILE...`, `scan rewrite IN OUT`.

use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_formats::{Statistics, WriteRequest};
use chalet_formats_parquet::{FORMATS, ParquetFile, RowFilter, Selection};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["read", threads, columns, ref files @ ..] => read(threads, columns, None, files),
        ["like", threads, columns, needle, ref files @ ..] => read(threads, columns, Some(needle), files),
        ["rewrite", from, to] => rewrite(from, to),
        _ => eprintln!(
            "usage: scan read THREADS COLUMNS FILE... | scan like THREADS COLUMNS NEEDLE FILE... | scan rewrite IN OUT"
        ),
    }
}

/// Reads row groups on threads, five times; prints the best time. With a needle, only rows whose first column
/// contains it.
fn read(threads: &str, columns: &str, needle: Option<&str>, files: &[&str]) {
    let threads: usize = threads.parse().expect("a number of threads");
    let mut best = f64::MAX;
    let mut shown = (0, 0, 0);
    for _ in 0..5 {
        let start = Instant::now();
        let files: Vec<Arc<ParquetFile>> =
            files.iter().map(|f| ParquetFile::open_path(f.as_ref(), true).expect("a Parquet file")).collect();
        let groups: Vec<(usize, usize)> =
            files.iter().enumerate().flat_map(|(i, f)| (0..f.n_row_groups()).map(move |g| (i, g))).collect();
        let (next, rows, bytes, coded) =
            (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&(file, group)) = groups.get(next.fetch_add(1, Relaxed)) {
                        let file = &files[file];
                        let selection: Vec<Selection> = columns
                            .split(',')
                            .map(|name| Selection::new(file.column_index(name, false).expect("a column")))
                            .collect();
                        let filter = needle.map(contains);
                        let mut reader = file
                            .read_row_group(group, &selection, filter.into_iter().collect(), None)
                            .expect("a row group");
                        while let Some(block) = reader.next_block(65_536).expect("a block") {
                            rows.fetch_add(block.n_rows(), Relaxed);
                            bytes.fetch_add(block.columns().iter().map(first_bytes).sum(), Relaxed);
                            let dictionaries =
                                block.columns().iter().filter(|c| matches!(c, Column::Dict { .. }));
                            coded.fetch_add(dictionaries.count(), Relaxed);
                        }
                    }
                });
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
        shown = (rows.into_inner(), bytes.into_inner(), coded.into_inner());
    }
    println!("{:.1} ms, {} rows, {} checked, {} dictionary columns", best * 1e3, shown.0, shown.1, shown.2);
}

/// Something of every block, so that no work can be left out.
fn first_bytes(column: &Column) -> usize {
    match column {
        Column::Flat(vector) => vector.data.len(),
        Column::Dict { codes, .. } => codes.len(),
        Column::Const { len, .. } => *len,
    }
}

/// A substring search over the first column, once per dictionary value where there are fewer than rows.
fn contains(needle: &str) -> RowFilter {
    let finder = memchr::memmem::Finder::new(needle).into_owned();
    let evaluate = move |block: &Block| {
        let column = block.column(0);
        Ok(match column {
            Column::Dict { codes, values } if values.len() < codes.len() => {
                let strings = values.strings()?;
                let hits: Vec<bool> = strings.iter().map(|text| finder.find(text).is_some()).collect();
                BooleanBuffer::collect_bool(codes.len(), |row| hits[codes[row] as usize])
            }
            _ => {
                let flat = column.flat();
                let strings = flat.strings()?;
                BooleanBuffer::collect_bool(strings.len(), |row| finder.find(strings.get(row)).is_some())
            }
        })
    };
    RowFilter { columns: vec![0], unread: Vec::new(), evaluate: Arc::new(evaluate) }
}

fn rewrite(from: &str, to: &str) {
    let file = ParquetFile::open_path(from.as_ref(), false).expect("a Parquet file");
    let schema = file.schema(true).expect("a schema");
    let sink = Box::new(std::fs::File::create(to).expect("a file to write"));
    let mut writer = FORMATS[0].writer(WriteRequest::new(schema), sink).expect("a writer");
    let columns: Vec<Selection> = (0..file.n_columns()).map(Selection::new).collect();
    let start = Instant::now();
    for group in 0..file.n_row_groups() {
        let mut reader = file.read_row_group(group, &columns, Vec::new(), None).expect("a row group");
        while let Some(block) = reader.next_block(65_409).expect("a block") {
            writer.write(&block).expect("a block written");
        }
    }
    writer.finish(&Statistics::default()).expect("the end written");
    println!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3);
}
