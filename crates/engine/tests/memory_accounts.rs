//! What a statement is charged for at most is what the allocator had in use at most, for statements of each kind.
//!
//! A thread asks the allocator while a statement runs. What lasts shorter than it needs for that it does not see, so that the
//! tracker may have seen more: of a buffer that moved, what it was before is charged together with what it is.

#![cfg(target_os = "linux")]

use chalet_engine::{Database, RunOptions, Session};
use chalet_memory::allocator::statistics;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Statements by what grows in them. `{}` is a folder.
const STATEMENTS: &[&str] = &[
    // Groups.
    "SELECT count() FROM (SELECT number AS k, count() AS c, sum(number) FROM numbers(1500000) GROUP BY k)",
    "SELECT count() FROM (SELECT toString(number) AS k, count() FROM numbers(1000000) GROUP BY k)",
    "SELECT uniqExact(number), uniqExact(toString(number)) FROM numbers(1500000)",
    "SELECT max(u) FROM (SELECT number % 20000 AS k, uniqExact(number) AS u FROM numbers(1500000) GROUP BY k)",
    // States.
    "SELECT length(groupArray(number)) FROM numbers(9000000)",
    "SELECT length(groupArray(toString(number))) FROM numbers(3000000)",
    "SELECT max(length(g)) FROM (SELECT number % 5000 AS k, groupArray(number) AS g FROM numbers(3000000) GROUP BY k)",
    "SELECT quantileExact(number), median(number) FROM numbers(6000000)",
    "SELECT groupBitmap(number * 1000) FROM numbers(1000000)",
    "SELECT length(sumMap([number], [1]).1) FROM numbers(500000)",
    // Joins.
    "SELECT sum(b.v) FROM numbers(100000) AS a JOIN (SELECT number AS n, number * 2 AS v FROM numbers(2000000)) AS b ON a.number = b.n",
    "SELECT count(), max(s) FROM numbers(900000) AS a FULL JOIN (SELECT number + 10 AS n, toString(number) AS s FROM numbers(900000)) AS b ON a.number = b.n",
    // Sorts and windows.
    "SELECT max(x) FROM (SELECT intHash64(number) AS x, number AS y FROM numbers(2000000) ORDER BY x LIMIT 1999999)",
    "SELECT max(s) FROM (SELECT toString(intHash64(number)) AS s, number FROM numbers(900000) ORDER BY s LIMIT 899999)",
    "SELECT max(r + s) FROM (SELECT rank() OVER w AS r, sum(number) OVER w AS s FROM numbers(1000000) WINDOW w AS (ORDER BY intHash64(number)))",
    "SELECT max(s) FROM (SELECT avg(number) OVER (ORDER BY number ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS s FROM numbers(1000000))",
    "SELECT max(s) FROM (SELECT sum(number) OVER (PARTITION BY number % 1000 ORDER BY number) AS s FROM numbers(1500000))",
    // Sets.
    "SELECT count() FROM (SELECT DISTINCT number, number % 7 FROM numbers(1500000))",
    "SELECT count() FROM numbers(1000) WHERE number IN (SELECT number FROM numbers(3000000))",
    "SELECT count() FROM (SELECT number FROM numbers(1000000) EXCEPT SELECT number + 100 FROM numbers(1000000))",
    "SELECT count() FROM (SELECT number AS k FROM numbers(1000000) LIMIT 1 BY k)",
    // Arrays and strings.
    "SELECT sum(length(arrayMap(x -> x + 1, range(4000000))))",
    "SELECT length(arraySort(arrayReverse(range(6000000))))",
    "SELECT max(length(arrayStringConcat(arrayMap(x -> toString(x), range(1000000)), ',')))",
    // Files.
    "INSERT INTO FUNCTION file('{}/a.json', 'JSONEachRow') SELECT number AS n, repeat(toString(number), 6) AS s FROM numbers(300000)",
    "INSERT INTO FUNCTION file('{}/a.csv', 'CSV') SELECT number AS n, repeat(toString(number), 6) AS s FROM numbers(300000)",
    "INSERT INTO FUNCTION file('{}/snappy.parquet', 'Parquet') SELECT number AS n, repeat(toString(number), 6) AS s FROM numbers(700000) SETTINGS output_format_parquet_compression_method = 'snappy'",
    "INSERT INTO FUNCTION file('{}/zstd.parquet', 'Parquet') SELECT number AS n, repeat(toString(number), 6) AS s FROM numbers(700000) SETTINGS output_format_parquet_compression_method = 'zstd'",
    "SELECT max(n) FROM (SELECT * FROM file('{}/a.json', 'JSONEachRow', 'n UInt64, s String') ORDER BY s LIMIT 299999)",
    "SELECT count() FROM (SELECT j FROM file('{}/a.json', 'JSONAsObject', 'j JSON') ORDER BY j.n::UInt64)",
    "SELECT max(n) FROM (SELECT * FROM file('{}/a.csv', 'CSV', 'n UInt64, s String') ORDER BY s LIMIT 299999)",
    "SELECT max(n) FROM (SELECT * FROM file('{}/snappy.parquet') ORDER BY s LIMIT 699999)",
    "SELECT count(), max(length(s)), sum(n) FROM file('{}/zstd.parquet')",
    // Tables.
    "CREATE TABLE memory ENGINE = Memory AS SELECT number AS n, toString(number) AS s FROM numbers(1500000)",
    "CREATE TABLE tree ENGINE = MergeTree ORDER BY x AS SELECT intHash64(number) AS x, toString(number) AS s FROM numbers(700000)",
    "INSERT INTO tree SELECT intHash64(number), toString(number) FROM numbers(700000)",
    "OPTIMIZE TABLE tree FINAL",
    "ALTER TABLE tree UPDATE s = concat(s, 'x') WHERE 1 SETTINGS mutations_sync = 1",
    "CREATE TABLE logged ENGINE = Log AS SELECT number AS n, repeat(toString(number), 4) AS s FROM numbers(700000)",
    "CREATE TABLE keys (n UInt64) ENGINE = Set; INSERT INTO keys SELECT number FROM numbers(2000000)",
    "CREATE TABLE joined (n UInt64, s String) ENGINE = Join(ANY, LEFT, n); INSERT INTO joined SELECT number, toString(number) FROM numbers(700000)",
    // Results.
    "SELECT number, toString(number) AS s FROM numbers(1500000)",
    "SELECT number, repeat(toString(number), 3) AS s FROM numbers(1000000) FORMAT CSV",
    "SELECT number, toString(number) AS s FROM numbers(700000) FORMAT JSON",
    "SELECT number, repeat(toString(number), 3) AS s FROM numbers(700000) FORMAT Parquet",
    "SELECT number, repeat(toString(number), 3) AS s FROM numbers(1000000) FORMAT Arrow",
];

/// What both may differ by, beside a tenth: less is not worth a check of each allocation, in bytes.
const SLACK: usize = 32 << 20;

/// The most that the allocator has in use while a statement runs, beyond what it had before, and what the statement is charged for.
fn peaks(session: &Session, sql: &str) -> (usize, usize) {
    let before = statistics().active;
    let (is_over, most) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(before)));
    let (watched_until, seen) = (is_over.clone(), most.clone());
    let watcher = std::thread::spawn(move || {
        while !watched_until.load(Relaxed) {
            seen.fetch_max(statistics().active, Relaxed);
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    let answer = session.run(sql, RunOptions::default());
    is_over.store(true, Relaxed);
    watcher.join().unwrap();
    let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
    (most.load(Relaxed) - before, answer.peak_memory as usize)
}

#[test]
fn statements_are_charged_for_what_they_use() {
    let folder = std::env::temp_dir().join(format!("chalet-accounts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let session = Database::open(":memory:").unwrap().session();
    session.run("SET max_threads = 2", RunOptions::default()).unwrap();
    let mut wrong = Vec::new();
    for sql in STATEMENTS {
        let sql = sql.replace("{}", folder.to_str().unwrap());
        let (used, charged) = peaks(&session, &sql);
        let shown = format!("{:5} MiB used, {:5} MiB charged: {sql}", used >> 20, charged >> 20);
        println!("{shown}");
        if used.abs_diff(charged) > used / 10 + SLACK {
            wrong.push(shown);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
