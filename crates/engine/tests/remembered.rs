//! What is remembered of files from query to query: footers, row groups without a matching row. A changed file is
//! another file.

use chalet_base::events::{Event, total};
use chalet_engine::{Answer, Database, RunOptions};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counters belong to the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(sql: &str, settings: &[(&str, &str)]) -> Answer {
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..RunOptions::default()
    };
    Database::open(":memory:").unwrap().session().run(sql, options).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn text(sql: &str, settings: &[(&str, &str)]) -> String {
    String::from_utf8(run(sql, settings).bytes).unwrap()
}

/// Files change no more after this: only then are they remembered.
fn settle() {
    std::thread::sleep(Duration::from_millis(80));
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("chalet-remembered-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes the rows of a query to a file, in row groups of 1000 rows.
    fn write(&self, name: &str, query: &str) -> String {
        let path = self.0.join(name).to_string_lossy().into_owned();
        let settings = [
            ("output_format_parquet_row_group_size", "1000"),
            ("output_format_parquet_compression_method", "none"),
            ("engine_file_truncate_on_insert", "1"),
            ("max_threads", "1"),
            ("max_block_size", "1000"),
        ];
        run(&format!("INSERT INTO FUNCTION file('{path}') {query}"), &settings);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// How much an event was counted meanwhile.
fn counted(event: Event, run: impl FnOnce()) -> u64 {
    let before = total(event);
    run();
    total(event) - before
}

#[test]
fn a_footer_is_parsed_once() {
    let _alone = alone();
    let folder = Folder::new("footer");
    let path = folder.write("a.parquet", "SELECT number AS n FROM numbers(5000)");
    settle();
    let sql = format!("SELECT count(), max(n) FROM file('{path}')");
    assert_eq!(text(&sql, &[]), "5000\t4999\n");
    let misses = counted(Event::ParquetMetadataCacheMisses, || {
        let hits = counted(Event::ParquetMetadataCacheHits, || assert_eq!(text(&sql, &[]), "5000\t4999\n"));
        assert!(hits > 0);
    });
    assert_eq!(misses, 0);
    let off = [("use_parquet_metadata_cache", "0")];
    let hits = counted(Event::ParquetMetadataCacheHits, || assert_eq!(text(&sql, &off), "5000\t4999\n"));
    assert_eq!(hits, 0);
}

#[test]
fn a_changed_file_is_another_one() {
    let _alone = alone();
    let folder = Folder::new("changed");
    let old = folder.write("old.parquet", "SELECT number AS n FROM numbers(3000)");
    let new = folder.write("new.parquet", "SELECT number + 10000 AS n FROM numbers(3000)");
    let (old, new) = (std::fs::read(old).unwrap(), std::fs::read(new).unwrap());
    assert_eq!(old.len(), new.len(), "only the time of the change tells them apart");
    let path = folder.0.join("a.parquet");
    let name = path.to_string_lossy();
    let all = format!("SELECT count(), min(n), max(n) FROM file('{name}')");
    let some = format!("SELECT count() FROM file('{name}') WHERE n % 10000 = 77 AND n < 10000");
    // Faster than the clock of the file system ticks, and slower.
    for pause in [0, 0, 1, 2, 5, 20, 60, 0] {
        for (bytes, expected, n) in [(&old, "3000\t0\t2999\n", "1\n"), (&new, "3000\t10000\t12999\n", "0\n")]
        {
            std::fs::write(&path, bytes).unwrap();
            std::thread::sleep(Duration::from_millis(pause));
            for _ in 0..2 {
                assert_eq!(text(&all, &[]), expected);
                assert_eq!(text(&some, &[]), n);
            }
        }
    }
}

#[test]
fn statistics_answer_without_reading() {
    let _alone = alone();
    let folder = Folder::new("statistics");
    let columns = "toInt8(number % 100 - 50) AS i8, number * 3 AS u64, toDate32('2000-01-01') + number AS d, \
                   toDateTime64(number * 1000, 3, 'UTC') AS t, if(number < 2500, NULL, toInt32(number)) AS n, \
                   CAST(NULL, 'Nullable(Int32)') AS none, number / 7 AS f";
    for (name, first) in [("1", 0), ("2", 4000)] {
        let query = format!("SELECT {columns} FROM (SELECT number + {first} AS number FROM numbers(3500))");
        folder.write(&format!("{name}.parquet"), &query);
    }
    let from = format!("FROM file('{}/*.parquet')", folder.0.display());
    let scanned = [("optimize_use_implicit_projections", "0"), ("optimize_count_from_files", "0")];
    let known = [
        "count()",
        "count(u64)",
        "count(n)",
        "min(i8), max(i8)",
        "max(u64), count()",
        "min(d), max(d)",
        "min(t), max(t)",
        "min(n), max(n), count(*)",
        "min(none), max(none)",
        "max(u64) - min(u64) AS range, count() * 2",
    ];
    for list in known {
        let sql = format!("SELECT {list} {from}");
        let (fast, slow) = (run(&sql, &[]), run(&sql, &scanned));
        assert_eq!(String::from_utf8(fast.bytes), String::from_utf8(slow.bytes), "{sql}");
        assert_eq!((fast.rows_read, slow.rows_read), (0, 7000), "{sql}");
    }
    for list in
        ["min(f)", "min(u64), sum(u64)", "count(n + 1)", "min(u64 + 1)", "any(u64)", "minIf(u64, u64 > 5)"]
    {
        assert_eq!(run(&format!("SELECT {list} {from}"), &[]).rows_read, 7000, "{list}");
    }
    assert_eq!(run(&format!("SELECT max(u64) {from} WHERE i8 > 100"), &[]).bytes, b"0\n");
    assert_eq!(run(&format!("SELECT i8 % 2 AS k, max(u64) {from} GROUP BY k"), &[]).rows_read, 7000);
}

#[test]
fn a_condition_skips_what_it_did_not_find() {
    let _alone = alone();
    let folder = Folder::new("condition");
    let path = folder.write("a.parquet", "SELECT number AS n, toString(number) AS s FROM numbers(10000)");
    settle();
    // No statistics help: only the fifth row group has such a row.
    let sql = format!("SELECT s FROM file('{path}') WHERE n * 7 = 4321 * 7");
    let off = [("use_query_condition_cache", "0")];
    for _ in 0..2 {
        let counts = [Event::QueryConditionCacheHits, Event::QueryConditionCacheMisses].map(total);
        assert_eq!(run(&sql, &off).rows_read, 10000);
        assert_eq!(counts, [Event::QueryConditionCacheHits, Event::QueryConditionCacheMisses].map(total));
    }
    let misses = counted(Event::QueryConditionCacheMisses, || assert_eq!(run(&sql, &[]).rows_read, 10000));
    assert_eq!(misses, 1);
    let hits = counted(Event::QueryConditionCacheHits, || {
        let again = run(&sql, &[]);
        assert_eq!((again.rows_read, &again.bytes[..]), (1, &b"4321\n"[..]));
    });
    assert_eq!(hits, 1);
    let analyzed = text(&format!("EXPLAIN ANALYZE {sql}"), &[]);
    assert!(analyzed.contains("Units skipped by the query condition cache: 9"), "{analyzed}");
    assert!(analyzed.contains("Units of which the query condition cache knows the rows: 1"), "{analyzed}");
    // Other columns and other names are read under the same condition.
    let other = format!("SELECT n + 1, x.s FROM file('{path}') AS x WHERE x.n * 7 = 4321 * 7");
    assert_eq!((run(&other, &[]).rows_read, text(&other, &[])), (1, "4322\t4321\n".to_string()));
    assert_eq!(text(&format!("SELECT count() FROM file('{path}') WHERE n * 7 = 4321 * 7"), &[]), "1\n");
    assert_eq!(text(&format!("SELECT s FROM file('{path}') WHERE n * 7 = 1234 * 7"), &[]), "1234\n");
    folder.write("a.parquet", "SELECT 4321 AS n, toString(number) AS s FROM numbers(3)");
    assert_eq!(text(&sql, &[]), "0\n1\n2\n");
}

/// Few rows are known by their numbers, many are found again; the answers are those of a reader that knows nothing.
#[test]
fn rows_that_were_found_are_read_alone() {
    let _alone = alone();
    let folder = Folder::new("found");
    let columns = "number AS n, toString(number) AS s, if(number % 3 = 0, NULL, number % 7) AS m";
    let path = folder.write("a.parquet", &format!("SELECT {columns} FROM numbers(10000)"));
    settle();
    let off = [("use_query_condition_cache", "0")];
    // Of 1000 rows in a row group pass: none or one, as many as are remembered, one more, half or none.
    for (condition, rows_read) in [
        ("n * 3 = 30", 1),
        ("n * 3 % 1000 < 15", 150),
        ("n * 3 % 1000 < 16", 10_000),
        ("n * 3 < 6000 AND n % 2 * 3 = 3", 2000),
        ("n * 3 % 1000 = 1 OR m IS NULL AND n * 3 % 1000 = 3", 13),
    ] {
        for list in ["count()", "sum(n), min(s), count(m)", "s", "m, n", "_path != '', s, _file"] {
            for tail in ["", " ORDER BY 1 LIMIT 5", " LIMIT 7"] {
                let sql = format!("SELECT {list} FROM file('{path}') WHERE {condition}{tail}");
                let expected = text(&sql, &off);
                for settings in [&[][..], &[("max_block_size", "3")]] {
                    assert_eq!(text(&sql, settings), expected, "{sql}");
                }
            }
        }
        let count = format!("SELECT count() FROM file('{path}') WHERE {condition}");
        assert_eq!(run(&count, &[]).rows_read, rows_read, "{condition}");
    }
}

#[test]
fn conditions_that_may_answer_otherwise_are_told_apart() {
    let _alone = alone();
    let folder = Folder::new("volatile");
    let path = folder.write("a.parquet", "SELECT number AS n FROM numbers(3000)");
    settle();
    let from = format!("FROM file('{path}')");
    let in_zone = format!("SELECT count() {from} WHERE formatDateTime(toDateTime(n), '%H') = '01'");
    for zone in ["UTC", "Asia/Tokyo", "Europe/London", "UTC"] {
        let settings = [("session_timezone", zone)];
        let off = [("session_timezone", zone), ("use_query_condition_cache", "0")];
        for _ in 0..2 {
            assert_eq!(text(&in_zone, &settings), text(&in_zone, &off), "{zone}");
        }
    }
    for last in [5000, 1234, 2345] {
        let sub_query = format!("SELECT n {from} WHERE n * 3 IN (SELECT number * 3 FROM numbers({last}, 1))");
        let expected = if last == 5000 { String::new() } else { format!("{last}\n") };
        assert_eq!(text(&sub_query, &[]), expected);
        let list = format!("SELECT n {from} WHERE n * 3 IN ({}, {})", last * 3, 90_000);
        assert_eq!(text(&list, &[]), expected);
        let lambda = format!("SELECT n {from} WHERE arrayExists(x -> x * 2 = {last} * 2, [n])");
        assert_eq!(text(&lambda, &[]), expected);
    }
    let random = format!("SELECT count() {from} WHERE rand() % 2 + n * 0 = 2");
    let counts = [Event::QueryConditionCacheHits, Event::QueryConditionCacheMisses].map(total);
    assert_eq!(text(&random, &[]), "0\n");
    assert_eq!(counts, [Event::QueryConditionCacheHits, Event::QueryConditionCacheMisses].map(total));
}
