//! What stops a query: the caller, its time, its memory, the rows it reads or gives.

use chalet_engine::{Answer, Database, RunOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn run(sql: &str, settings: &[(&str, &str)]) -> chalet_base::Result<Answer> {
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..RunOptions::default()
    };
    Database::open(":memory:")?.session().run(sql, options)
}

fn code_of(sql: &str, settings: &[(&str, &str)]) -> i32 {
    run(sql, settings).err().expect(sql).code().number
}

/// Queries that would run for minutes, each in another operator.
const LONG: [&str; 5] = [
    "SELECT count() FROM system.numbers",
    "SELECT sum(number * number) FROM numbers(100000000000) WHERE number % 7 != 3",
    "SELECT number % 1000 AS k, count() FROM system.numbers GROUP BY k",
    "SELECT count() FROM numbers(100000000) AS a CROSS JOIN numbers(1000) AS b",
    "SELECT number FROM system.numbers ORDER BY number DESC LIMIT 10",
];

#[test]
fn the_caller_stops_it_within_100_ms() {
    for sql in LONG {
        // Twice the promise, because tests share the machine with each other; what they delay is not always delayed.
        let late: Vec<Duration> =
            (0..20).map_while(|_| Some(stopped(sql)).filter(|t| t.as_millis() >= 200)).collect();
        assert!(late.len() < 20, "{sql}: {late:?}");
    }
}

/// How long it took from when the statement was asked to stop.
fn stopped(sql: &str) -> Duration {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let options = RunOptions {
        format: Some("Null".into()),
        interrupt: Some(Arc::new(move || asked.load(Relaxed))),
        ..RunOptions::default()
    };
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Relaxed);
        Instant::now()
    });
    let session = Database::open(":memory:").unwrap().session();
    let error = session.run(sql, options).err().expect(sql);
    let ended_at = Instant::now();
    let asked_at = stopper.join().unwrap();
    assert_eq!(error.code().number, 394, "{sql}: {error}");
    // The session goes on.
    let options = RunOptions { format: Some("TabSeparated".into()), ..RunOptions::default() };
    assert_eq!(session.run("SELECT 1", options).unwrap().bytes, b"1\n");
    ended_at.saturating_duration_since(asked_at)
}

#[test]
fn time_runs_out() {
    for sql in LONG {
        assert_eq!(code_of(sql, &[("max_execution_time", "0.1")]), 159, "{sql}");
    }
    let answer = run(LONG[0], &[("max_execution_time", "0.1"), ("timeout_overflow_mode", "break")]).unwrap();
    assert!(!answer.bytes.is_empty());
}

#[test]
fn memory_runs_out() {
    let queries = [
        // Totals need all groups at once; without them temporary files would help.
        "SELECT number, count() FROM numbers(5000000) GROUP BY number WITH TOTALS FORMAT Null",
        "SELECT groupArray(number) FROM numbers(5000000) FORMAT Null",
        // A join without keys holds one of its sides.
        "SELECT count() FROM numbers(5000000) AS a JOIN numbers(5000000) AS b ON a.number < b.number",
        "SELECT count() FROM numbers(10) WHERE number IN (SELECT number FROM numbers(5000000))",
    ];
    for sql in queries {
        assert_eq!(code_of(sql, &[("max_memory_usage", "10000000")]), 241, "{sql}");
    }
    // These go on in temporary files, for which this is too little.
    let spilled = [
        "SELECT number FROM numbers(5000000) ORDER BY number % 1000003 FORMAT Null",
        "SELECT DISTINCT number FROM numbers(5000000) FORMAT Null",
        "SELECT count() OVER () FROM numbers(5000000) FORMAT Null",
        "SELECT number, row_number() OVER (ORDER BY number) FROM numbers(5000000) FORMAT Null",
    ];
    for sql in spilled {
        assert_eq!(code_of(sql, &[("max_memory_usage", "2000000")]), 241, "{sql}");
    }
    let answer = run("SELECT count() FROM numbers(5000000)", &[("max_memory_usage", "10000000")]).unwrap();
    assert_eq!(answer.bytes, b"5000000\n");
}

#[test]
fn memory_is_given_back() {
    let session = Database::open(":memory:").unwrap().session();
    for _ in 0..3 {
        let options = RunOptions {
            format: Some("Null".into()),
            settings: vec![("max_memory_usage".into(), "100000000".into())],
            ..RunOptions::default()
        };
        session.run("SELECT number, count() FROM numbers(300000) GROUP BY number", options).unwrap();
    }
}

#[test]
fn rows_read_and_given_are_limited() {
    assert_eq!(
        code_of("SELECT count() FROM numbers(1000000) WHERE number > 5", &[("max_rows_to_read", "1000")]),
        158
    );
    assert_eq!(code_of("SELECT number FROM numbers(1000)", &[("max_result_rows", "10")]), 396);
    assert_eq!(
        code_of("SELECT number FROM numbers(1000) GROUP BY number", &[("max_rows_to_group_by", "10")]),
        158
    );
    assert_eq!(code_of("SELECT DISTINCT number FROM numbers(1000)", &[("max_rows_in_distinct", "10")]), 191);
}

#[test]
fn explain_analyze_counts_rows() {
    let answer = run("EXPLAIN ANALYZE SELECT sum(number) FROM numbers(12345)", &[]).unwrap();
    let text = String::from_utf8(answer.bytes).unwrap();
    assert!(text.contains("Aggregate (rows in: 12345"), "{text}");
    assert!(text.contains("12345 rows read"), "{text}");
}
