//! Data skipping indexes: what they leave out, and what becomes of their files.

use chalet_base::events::{Event, total};
use chalet_engine::{Database, RunOptions, Session};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counters belong to the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is gone with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("chalet-skip-indexes-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Place(std::env::temp_dir().join(name))
    }

    fn open(&self) -> Session {
        Database::open(self.0.to_str().expect("a path of ASCII")).expect("the database").session()
    }

    /// The index files of the one table.
    fn files(&self) -> Vec<PathBuf> {
        let tables = fs::read_dir(self.0.join("tables")).expect("the tables");
        let files = tables.flat_map(|table| fs::read_dir(table.expect("a table").path()).expect("its files"));
        let mut found: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "idx"));
        found.sort();
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(session: &Session, sql: &str) -> String {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    let answer = session.run(sql, options).unwrap_or_else(|e| panic!("{sql}: {e}"));
    String::from_utf8_lossy(&answer.bytes).trim_end().into()
}

const INDEXES: &str = "INDEX i1 n * 2 TYPE minmax, INDEX i2 s TYPE bloom_filter, INDEX i3 s TYPE tokenbf_v1(512, 3, 0), \
                       INDEX i4 s TYPE ngrambf_v1(4, 2048, 3, 0), INDEX i5 intDiv(n, 100) TYPE set(5), INDEX i6 a TYPE bloom_filter GRANULARITY 2";
const ROWS: &str =
    "SELECT number, concat('word', toString(number), ' in a text'), [number, number + 1] FROM numbers(20000)";
/// A condition for each index, and the rows that pass.
const ASKED: [(&str, &str); 6] = [
    ("n * 2 BETWEEN 24000 AND 24010", "6"),
    ("s = 'word777 in a text'", "1"),
    ("hasToken(s, 'word778')", "1"),
    ("s LIKE '%rd7790%'", "1"),
    ("intDiv(n, 100) = 7", "100"),
    ("hasAll(a, [4000, 4001])", "1"),
];

fn create(session: &Session, indexes: &str) {
    let separator = if indexes.is_empty() { "" } else { ", " };
    run(
        session,
        &format!(
            "CREATE TABLE t (n UInt64, s String, a Array(UInt64){separator}{indexes}) ENGINE = MergeTree ORDER BY tuple() \
             SETTINGS index_granularity = 128"
        ),
    );
    run(session, &format!("INSERT INTO t {ROWS}"));
}

/// Rows that indexes left out of a query, whose answer is checked.
fn left_out(session: &Session, condition: &str, expected: &str, settings: &str) -> u64 {
    let before = total(Event::SkipIndexPrunedRows);
    let sql =
        format!("SELECT count() FROM t WHERE {condition} SETTINGS use_query_condition_cache = 0{settings}");
    assert_eq!(run(session, &sql), expected, "{sql}");
    total(Event::SkipIndexPrunedRows) - before
}

#[test]
fn each_leaves_rows_out() {
    let _alone = alone();
    let place = Place::new();
    let session = place.open();
    create(&session, INDEXES);
    assert_eq!(place.files().len(), 6);
    for (condition, expected) in ASKED {
        assert!(left_out(&session, condition, expected, "") > 17_000, "{condition}");
        assert_eq!(left_out(&session, condition, expected, ", use_skip_indexes = 0"), 0, "{condition}");
    }
    assert_eq!(left_out(&session, ASKED[0].0, "6", ", ignore_data_skipping_indices = 'i1'"), 0);
    // As they were, in a database that is opened again, after a merge and a mutation.
    drop(session);
    let session = place.open();
    run(&session, "OPTIMIZE TABLE t FINAL");
    run(&session, "ALTER TABLE t DELETE WHERE n = 19999");
    for (condition, expected) in ASKED {
        assert!(left_out(&session, condition, expected, "") > 17_000, "{condition}");
    }
    assert_eq!(place.files().len(), 6);
    run(&session, "TRUNCATE TABLE t");
    assert_eq!(place.files().len(), 0);
}

#[test]
fn files_come_and_go() {
    let _alone = alone();
    let place = Place::new();
    let session = place.open();
    create(&session, "");
    let (condition, expected) = ASKED[1];
    run(&session, "ALTER TABLE t ADD INDEX i2 s TYPE bloom_filter");
    assert_eq!(left_out(&session, condition, expected, ""), 0);
    run(&session, "ALTER TABLE t MATERIALIZE INDEX i2");
    assert!(left_out(&session, condition, expected, "") > 17_000);
    assert_eq!(place.files().len(), 1);
    let bytes = "SELECT data_compressed_bytes > 1000 FROM system.data_skipping_indices WHERE table = 't'";
    assert_eq!(run(&session, bytes), "1");
    run(&session, "ALTER TABLE t CLEAR INDEX i2");
    assert_eq!(place.files().len(), 0);
    assert_eq!(left_out(&session, condition, expected, ""), 0);
    run(&session, "ALTER TABLE t MATERIALIZE INDEX i2");
    // The column by another name is the same one.
    run(&session, "ALTER TABLE t RENAME COLUMN s TO r");
    assert!(left_out(&session, "r = 'word777 in a text'", expected, "") > 17_000);
    run(&session, "ALTER TABLE t DROP INDEX i2");
    assert_eq!(place.files().len(), 0);
    run(&session, "SET materialize_skip_indexes_on_insert = 0");
    run(&session, "ALTER TABLE t ADD INDEX i1 n TYPE set(0)");
    run(&session, &format!("INSERT INTO t {ROWS}"));
    assert_eq!(place.files().len(), 0);
    run(&session, "SET materialize_skip_indexes_on_insert = 1");
    run(&session, &format!("INSERT INTO t {ROWS}"));
    assert_eq!(place.files().len(), 1);
}

#[test]
fn forced_indexes() {
    let _alone = alone();
    let place = Place::new();
    let session = place.open();
    create(&session, INDEXES);
    let asked = |condition: &str, index: &str| {
        let settings = format!("SETTINGS force_data_skipping_indices = '{index}'");
        let sql = format!("SELECT count() FROM t WHERE {condition} {settings}");
        session.run(&sql, RunOptions::default()).err().map(|error| error.code().number)
    };
    for (at, (condition, _)) in ASKED.iter().enumerate() {
        assert_eq!(asked(condition, &format!("i{}", at + 1)), None, "{condition}");
    }
    let not_used = Some(277);
    assert_eq!(asked("s = 'x'", "i1"), not_used);
    assert_eq!(asked("s != 'x'", "i2"), not_used);
    assert_eq!(asked("NOT (s = 'x')", "i2"), not_used);
    assert_eq!(asked("s = 'x'", "i2, nosuch"), not_used);
    assert_eq!(asked("s = 'x'", "i2, `i3`"), None);
}

#[test]
fn a_damaged_file_changes_no_answer() {
    let _alone = alone();
    let place = Place::new();
    let session = place.open();
    create(&session, INDEXES);
    drop(session);
    for file in place.files() {
        let whole = fs::read(&file).expect("the file");
        let places = (0..whole.len()).step_by(whole.len() / 40 + 1).chain([8, 16, whole.len() - 1]);
        for at in places {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(&file, damaged).expect("written");
            let session = place.open();
            for (condition, expected) in ASKED {
                left_out(&session, condition, expected, "");
            }
        }
        fs::write(&file, &whole[..whole.len() / 2]).expect("written");
        let session = place.open();
        for (condition, expected) in ASKED {
            left_out(&session, condition, expected, "");
        }
        drop(session);
        fs::write(&file, whole).expect("written");
    }
    // The file of another index in the place of one is none.
    let files = place.files();
    fs::copy(&files[0], &files[1]).expect("copied");
    let session = place.open();
    for (condition, expected) in ASKED {
        left_out(&session, condition, expected, "");
    }
}
