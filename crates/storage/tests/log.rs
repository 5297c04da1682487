//! Tables of the Log family: what is read again, what a killed INSERT leaves, what damage looks like.

use chalet_base::{Result, codes};
use chalet_columns::{Block, Column, Strings, Vector};
use chalet_storage::disk::Store;
use chalet_storage::log::LogTable;
use chalet_storage::{ScanContext, ScanRequest, Table, TableSchema};
use chalet_types::DataType;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A folder that is gone with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("chalet-log-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn schema() -> TableSchema {
    TableSchema::of([("n", DataType::UInt64), ("s", DataType::String)])
}

/// Rows `first..first + n`.
fn block(first: u64, n: u64) -> Block {
    let numbers: Vec<u64> = (first..first + n).collect();
    let texts: Strings = numbers.iter().map(|n| format!("text {n}")).collect();
    Block::new(vec![Column::Flat(Vector::from(numbers)), Column::Flat(texts.into())], n as usize)
}

fn insert(table: &LogTable, blocks: impl IntoIterator<Item = Block>) -> Result<()> {
    let mut inserter = table.insert()?;
    for block in blocks {
        inserter.write(block)?;
    }
    inserter.finish()
}

/// The numbers in a table, and the bytes that were read for them. Texts are checked when they are read.
fn read(table: &LogTable, columns: &[usize]) -> Result<(Vec<u64>, u64)> {
    let context = ScanContext { max_block_size: 1000, ..ScanContext::default() };
    let scan = table.scan(&ScanRequest {
        columns: columns.to_vec(),
        context: context.clone(),
        ..ScanRequest::default()
    })?;
    let mut worker = scan.worker()?;
    let mut numbers = Vec::new();
    while let Some(morsel) = worker.next()? {
        for row in 0..morsel.block.n_rows() {
            let value = |column: usize| {
                let (vector, row) = morsel.block.column(column).locate(row);
                vector.value(row)
            };
            let number = value(0).as_u64().expect("a number");
            if columns.len() > 1 {
                assert_eq!(value(1).as_str(), Some(&*format!("text {number}")));
            }
            numbers.push(number);
        }
    }
    Ok((numbers, context.progress.file_bytes.load(Relaxed)))
}

fn numbers(table: &LogTable) -> Result<Vec<u64>> {
    Ok(read(table, &[0, 1])?.0)
}

/// A table in a folder of its own, and the path of its file.
fn create(place: &Place) -> (Store, LogTable, PathBuf) {
    let store = Store::open_to_write(&place.0).expect("a store");
    store.remove_leftovers(&Default::default()).expect("nothing to remove");
    let folder = store.new_folder().expect("a folder");
    let rows = folder.path().join("rows");
    (store, LogTable::create("Log", schema(), folder).expect("a table"), rows)
}

fn reopen(store: &Store) -> (LogTable, u64) {
    LogTable::open("Log", schema(), Arc::new(store.folder(1))).expect("the table")
}

#[test]
fn rows_are_written_anew() -> Result<()> {
    let place = Place::new();
    let (store, table, _) = create(&place);
    insert(&table, [block(0, 10), block(100, 5)])?;
    let new = |first, n| -> Result<_> {
        let mut anew = table.rewrite()?;
        anew.write(block(first, n))?;
        Ok(anew)
    };
    // Not finished: nothing has happened.
    drop(new(1000, 3)?);
    assert_eq!(numbers(&table)?.len(), 15);
    // What was inserted meanwhile is not lost.
    let late = new(1000, 3)?;
    insert(&table, [block(200, 1)])?;
    let error = late.finish().expect_err("other rows");
    assert_eq!(error.code(), codes::CANNOT_ASSIGN_OPTIMIZE);
    assert_eq!(numbers(&table)?.len(), 16);
    // So many that some are put aside.
    let reader = table.scan(&ScanRequest { columns: vec![0], ..ScanRequest::default() })?;
    new(1000, 3_000_000)?.finish()?;
    insert(&table, [block(7, 1)])?;
    let expected: Vec<u64> = (1000..3_001_000).chain([7]).collect();
    assert!(numbers(&table)? == expected);
    assert_eq!(table.total_rows(), Some(3_000_001));
    // Who had begun to read goes on with the rows of then.
    assert_eq!(reader.worker()?.next()?.map(|morsel| morsel.block.n_rows()), Some(16));
    // The folder stays, as that of a table in the catalog does.
    std::mem::forget(table);
    let (table, dropped) = reopen(&store);
    assert_eq!(dropped, 0);
    assert!(numbers(&table)? == expected);
    Ok(())
}

#[test]
fn what_was_written_is_read() {
    let place = Place::new();
    let (store, table, _) = create(&place);
    assert_eq!(numbers(&table).expect("empty"), []);
    insert(&table, [block(0, 3)]).expect("written");
    insert(&table, []).expect("nothing");
    // Several frames of one INSERT, of blocks large and small.
    insert(&table, (0..300).map(|i| block(3 + i * 1000, 1000)).chain([block(300_003, 200_000)]))
        .expect("written");
    insert(&table, [block(500_003, 1)]).expect("written");
    let expected: Vec<u64> = (0..500_004).collect();
    assert!(numbers(&table).expect("read") == expected);
    assert_eq!(table.total_rows(), Some(500_004));
    let (again, dropped) = reopen(&store);
    assert_eq!(dropped, 0);
    assert_eq!(again.total_rows(), Some(500_004));
    assert!(numbers(&again).expect("read") == expected);
}

#[test]
fn only_asked_columns_are_read() {
    let place = Place::new();
    let (_store, table, rows) = create(&place);
    insert(&table, [block(0, 300_000)]).expect("written");
    let file = fs::metadata(rows).expect("the file").len();
    let (all, read_for_all) = read(&table, &[0, 1]).expect("read");
    assert_eq!(all.len(), 300_000);
    assert!(read_for_all > file * 9 / 10);
    let (some, read_for_one) = read(&table, &[0]).expect("read");
    assert!(some == all);
    assert!(read_for_one < read_for_all * 6 / 10, "{read_for_one} of {read_for_all} bytes");
}

#[test]
fn a_scan_reads_what_it_began_with() {
    let place = Place::new();
    let (_store, table, _) = create(&place);
    insert(&table, [block(0, 10)]).expect("written");
    let request = ScanRequest { columns: vec![0], ..ScanRequest::default() };
    let before = table.scan(&request).expect("a scan");
    insert(&table, [block(10, 10)]).expect("written");
    let between = table.scan(&request).expect("a scan");
    table.truncate().expect("truncated");
    insert(&table, [block(0, 1)]).expect("written");
    for (scan, expected) in [(before, 10), (between, 20), (table.scan(&request).expect("a scan"), 1)] {
        let mut worker = scan.worker().expect("a worker");
        let mut n_rows = 0;
        while let Some(morsel) = worker.next().expect("rows") {
            n_rows += morsel.block.n_rows();
        }
        assert_eq!(n_rows, expected);
    }
}

#[test]
fn an_insert_that_is_not_finished_leaves_nothing() {
    let place = Place::new();
    let (store, table, rows) = create(&place);
    insert(&table, [block(0, 5)]).expect("written");
    let len = fs::metadata(&rows).expect("the file").len();
    let mut inserter = table.insert().expect("an inserter");
    // More than is held in memory: texts that do not compress.
    for i in 0..8u64 {
        let noise = |n: u64| {
            u128::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).wrapping_pow(3)
        };
        let text = |row: u64| format!("{:x}{:x}", noise(row * 16 + i * 2), noise(row * 16 + i * 2 + 1));
        let texts: Strings = (0..100_000).map(text).collect();
        let columns = vec![Column::Flat(Vector::from(vec![i; 100_000])), Column::Flat(texts.into())];
        inserter.write(Block::new(columns, 100_000)).expect("taken");
    }
    let files = |folder: &Path| fs::read_dir(folder).expect("the folder").count();
    let folder = rows.parent().expect("a folder").to_path_buf();
    assert_eq!(files(&folder), 2, "nothing was put aside");
    // Another INSERT does not wait for it.
    insert(&table, [block(5, 5)]).expect("written");
    drop(inserter);
    assert_eq!(files(&folder), 1);
    assert_eq!(numbers(&table).expect("read"), (0..10).collect::<Vec<_>>());
    assert!(fs::metadata(&rows).expect("the file").len() > len);
    // What a killed process had put aside goes, too.
    fs::write(folder.join("insert-7.new"), b"frames").expect("a file");
    let (again, dropped) = reopen(&store);
    assert_eq!((files(&folder), dropped), (1, 0));
    assert_eq!(again.total_rows(), Some(10));
}

/// The file after each of two INSERTs.
fn two_inserts(place: &Place) -> (Store, PathBuf, Vec<u8>, Vec<u8>) {
    let (store, table, rows) = create(place);
    insert(&table, [block(0, 3)]).expect("written");
    let first = fs::read(&rows).expect("the file");
    insert(&table, [block(3, 2)]).expect("written");
    let second = fs::read(&rows).expect("the file");
    // The folder stays, as that of a table in the catalog does.
    std::mem::forget(table);
    (store, rows, first, second)
}

#[test]
fn a_torn_tail_is_dropped() {
    let place = Place::new();
    let (store, rows, first, second) = two_inserts(&place);
    for len in first.len()..=second.len() {
        // Killed while it wrote: the header tells of the first INSERT only.
        let mut torn = second[..len].to_vec();
        torn[..64].copy_from_slice(&first[..64]);
        fs::write(&rows, &torn).expect("written");
        let (table, dropped) = reopen(&store);
        let is_whole = len == second.len();
        assert_eq!(dropped, if is_whole { 0 } else { (len - first.len()) as u64 }, "{len} bytes");
        let expected: Vec<u64> = if is_whole { (0..5).collect() } else { (0..3).collect() };
        assert_eq!(numbers(&table).expect("read"), expected, "{len} bytes");
        // It can be appended to, and reading it again finds nothing amiss.
        insert(&table, [block(100, 1)]).expect("written");
        let (table, dropped) = reopen(&store);
        assert_eq!(dropped, 0);
        assert_eq!(numbers(&table).expect("read").last(), Some(&100), "{len} bytes");
    }
}

#[test]
fn a_tail_of_other_bytes_is_dropped() {
    let place = Place::new();
    let (store, rows, first, second) = two_inserts(&place);
    for at in first.len()..second.len() {
        let mut torn = second.clone();
        torn[..64].copy_from_slice(&first[..64]);
        torn[at] ^= 0x10;
        fs::write(&rows, &torn).expect("written");
        let (table, dropped) = reopen(&store);
        assert_eq!(dropped, (second.len() - first.len()) as u64, "byte {at}");
        assert_eq!(numbers(&table).expect("read"), [0, 1, 2], "byte {at}");
    }
}

#[test]
fn acknowledged_rows_that_are_cut_off_are_an_error() {
    let place = Place::new();
    let (store, rows, _, second) = two_inserts(&place);
    for len in 0..second.len() {
        fs::write(&rows, &second[..len]).expect("written");
        let (table, _) = reopen(&store);
        let error = numbers(&table).expect_err("damaged");
        assert_eq!(error.code(), codes::CHECKSUM_DOESNT_MATCH, "{len} bytes: {error}");
        assert_eq!(insert(&table, [block(0, 1)]).expect_err("damaged").code(), codes::CHECKSUM_DOESNT_MATCH);
        assert_eq!(table.total_rows(), None);
    }
    // It can be emptied.
    let (table, _) = reopen(&store);
    table.truncate().expect("truncated");
    insert(&table, [block(7, 1)]).expect("written");
    assert_eq!(numbers(&table).expect("read"), [7]);
}

#[test]
fn changed_bytes_are_an_error_or_do_not_matter() {
    let place = Place::new();
    let (store, rows, _, second) = two_inserts(&place);
    for at in 0..second.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = second.clone();
            flipped[at] ^= mask;
            fs::write(&rows, &flipped).expect("written");
            let (table, dropped) = reopen(&store);
            match numbers(&table) {
                Ok(found) => assert_eq!((found, dropped), ((0..5).collect(), 0), "byte {at}"),
                Err(error) => assert_eq!(error.code(), codes::CHECKSUM_DOESNT_MATCH, "byte {at}: {error}"),
            }
            // All rows are there as long as only the header is touched.
            assert!(at >= 64 || numbers(&table).is_ok(), "byte {at}");
        }
    }
}

#[test]
fn writers_of_many_threads_take_turns() {
    let place = Place::new();
    let (store, table, _) = create(&place);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let table = &table;
            scope.spawn(move || {
                (0..25).for_each(|i| insert(table, [block((thread * 25 + i) * 10, 10)]).expect("written"));
            });
        }
    });
    for table in [&table, &reopen(&store).0] {
        let mut found = numbers(table).expect("read");
        assert!(found.chunks(10).all(|rows| rows.is_sorted()));
        found.sort_unstable();
        assert_eq!(found, (0..1000).collect::<Vec<_>>());
    }
}

#[test]
fn a_reader_is_told_of_damage_when_it_reads() {
    let place = Place::new();
    let file = place.0.join("tables/1/rows");
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(place.0.join("catalog"), b"").expect("written");
    let reader = Store::open_to_read(&place.0).expect("a folder");
    let open =
        || LogTable::open("Log", schema(), Arc::new(reader.folder(1))).expect("no error before it is read").0;
    let missing = numbers(&open()).expect_err("there is no file");
    assert_eq!(missing.code(), codes::FILE_DOESNT_EXIST);
    for length in [0, 39, 40, 63] {
        fs::write(&file, vec![0; length]).expect("written");
        let error = numbers(&open()).expect_err("too short");
        assert_eq!(error.code(), codes::CHECKSUM_DOESNT_MATCH);
        assert!(error.message().contains("it is shorter than its header"), "{error}");
    }
}
