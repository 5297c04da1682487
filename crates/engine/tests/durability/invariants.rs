//! Many threads at once change tables in ways that keep something as it is, and others look whether it is.
//! `CHALET_INVARIANT_SECONDS` says how long.

use crate::place::{Place, Random, amount, contents, run, try_run};
use chalet_base::codes;
use chalet_engine::{Database, Session};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SETUP: &[&str] = &[
    // The sum of all amounts stays 0.
    "CREATE TABLE accounts (id UInt32, amount Int64) ENGINE = MergeTree PARTITION BY id % 3 ORDER BY id",
    "INSERT INTO accounts SELECT number, 0 FROM numbers(300)",
    // Rows come and go in pairs, of a number and its negation.
    "CREATE TABLE pairs (g UInt32, v Int64) ENGINE = MergeTree PARTITION BY v > 0 ORDER BY g",
    // There is one row of a key.
    "CREATE TABLE keyed (k UInt32, version UInt64) ENGINE = ReplacingMergeTree(version) ORDER BY k",
    "INSERT INTO keyed SELECT number, 0 FROM numbers(50)",
    // A partition is there as a whole or not at all.
    "CREATE TABLE source (p UInt8, n UInt64) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "INSERT INTO source SELECT number % 4, number FROM numbers(400)",
    "CREATE TABLE target AS source",
    "CREATE TABLE log (n UInt64, m Int64) ENGINE = Log",
];

/// What must be so whenever somebody looks.
const CHECKS: &[(&str, &str)] = &[
    ("SELECT count(), sum(amount), uniqExact(id) FROM accounts", "300\t0\t300\n"),
    ("SELECT sum(v), count() % 2 FROM pairs", "0\t0\n"),
    ("SELECT count() FROM (SELECT g FROM pairs GROUP BY g HAVING sum(v) != 0)", "0\n"),
    ("SELECT count(), uniqExact(k) FROM keyed FINAL", "50\t50\n"),
    ("SELECT count() FROM (SELECT p FROM target GROUP BY p HAVING count() != 100)", "0\n"),
    ("SELECT sum(n + m) FROM log", "0\n"),
];

struct Run {
    database: Database,
    until: Instant,
    has_failed: AtomicBool,
    next: AtomicU64,
    /// By thread.
    done: [AtomicU64; 8],
}

impl Run {
    /// A statement that somebody else may be in the way of.
    fn change(&self, db: &Session, sql: &str) {
        let Err(error) = try_run(db, sql) else { return };
        // What another statement replaced meanwhile.
        let is_expected = error.code() == codes::CANNOT_ASSIGN_OPTIMIZE;
        if !is_expected {
            self.has_failed.store(true, Relaxed);
            panic!("{sql}\n{error}");
        }
    }

    fn check(&self, db: &Session, number: usize) {
        let (sql, right) = CHECKS[number % CHECKS.len()];
        let found = run(db, sql);
        if found != right {
            self.has_failed.store(true, Relaxed);
            panic!("{sql}\n{found}");
        }
    }

    fn work(&self, thread: usize) {
        let db = self.database.session();
        let mut random = Random(thread as u64);
        // Each has its turn, however busy the machine is.
        let goes_on = || Instant::now() < self.until || self.done[thread].load(Relaxed) == 0;
        while goes_on() && !self.has_failed.load(Relaxed) {
            let n = self.next.fetch_add(1, Relaxed);
            match thread {
                0 | 1 => {
                    let (a, b) = (random.below(300), random.below(300));
                    let sql = format!(
                        "ALTER TABLE accounts UPDATE amount = amount + if(id = {a}, -{n}, 0) + if(id = {b}, {n}, 0) \
                         WHERE id IN ({a}, {b})"
                    );
                    self.change(&db, &sql);
                }
                2 => {
                    let rows = [3, 20_000][usize::from(random.below(8) == 0)];
                    let sql = format!(
                        "INSERT INTO pairs (g, v) SELECT {n}, if(number % 2, -1, 1) * toInt64(intDiv(number, 2) + 1) FROM numbers({rows} * 2)"
                    );
                    self.change(&db, &sql);
                    self.change(&db, &format!("INSERT INTO log VALUES ({n}, -{n}), (1, -1)"));
                }
                3 => {
                    let sql = format!("DELETE FROM pairs WHERE g % 7 = {}", n % 7);
                    self.change(&db, &sql);
                    self.change(&db, "OPTIMIZE TABLE keyed FINAL");
                }
                4 => {
                    self.change(
                        &db,
                        &format!("INSERT INTO keyed SELECT number, {n} FROM numbers({})", 1 + n % 50),
                    );
                    match random.below(4) {
                        0 => self.change(&db, "OPTIMIZE TABLE pairs"),
                        1 => self.change(&db, "OPTIMIZE TABLE accounts FINAL"),
                        _ => {}
                    }
                }
                5 => {
                    let p = random.below(4);
                    for sql in [
                        format!("ALTER TABLE target REPLACE PARTITION {p} FROM source"),
                        format!("ALTER TABLE target DETACH PARTITION {p}"),
                        format!("ALTER TABLE target ATTACH PARTITION {p}"),
                        format!("ALTER TABLE target DROP PARTITION {}", random.below(4)),
                    ] {
                        self.change(&db, &sql);
                    }
                    self.change(&db, &format!("ALTER TABLE pairs ADD COLUMN c{n} UInt8 DEFAULT 1"));
                    self.change(&db, &format!("ALTER TABLE pairs DROP COLUMN c{n}"));
                }
                _ => self.check(&db, n as usize),
            }
            self.done[thread].fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn what_is_kept_as_it_is() {
    let place = Place::new();
    let db = place.open();
    SETUP.iter().for_each(|sql| _ = run(&db, sql));
    let seconds = amount("CHALET_INVARIANT_SECONDS", 8);
    let running = Run {
        database: place.try_open().expect("the database"),
        until: Instant::now() + Duration::from_secs(seconds),
        has_failed: AtomicBool::new(false),
        next: AtomicU64::new(1),
        done: Default::default(),
    };
    std::thread::scope(|threads| {
        (0..8).for_each(|thread| {
            let running = &running;
            threads.spawn(move || running.work(thread));
        });
    });
    let done: Vec<u64> = running.done.iter().map(|n| n.load(Relaxed)).collect();
    assert!(done.iter().all(|n| *n > 0), "{done:?}");
    CHECKS.iter().for_each(|(sql, right)| assert_eq!(run(&db, sql), *right, "{sql}"));
    let before = contents(&db);
    drop((db, running));
    let db = place.open();
    assert_eq!(contents(&db), before);
    CHECKS.iter().for_each(|(sql, right)| assert_eq!(run(&db, sql), *right, "{sql}"));
}

/// What a query reads stays as it was when it began, whatever becomes of the table.
#[test]
fn a_query_reads_what_there_was_when_it_began() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n");
    for sql in [
        "ALTER TABLE t UPDATE s = 'other' WHERE 1",
        "TRUNCATE TABLE t",
        "DROP TABLE t",
        "ALTER TABLE t DROP COLUMN s",
        "OPTIMIZE TABLE t FINAL",
    ] {
        run(&db, "CREATE OR REPLACE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n");
        run(&db, "INSERT INTO t SELECT number, 'x' FROM numbers(20000)");
        run(&db, "INSERT INTO t SELECT number, 'x' FROM numbers(10)");
        std::thread::scope(|threads| {
            let reader = threads.spawn(|| {
                let db = place.open();
                let slowly = "SELECT count(), sum(n), countIf(s = 'x') FROM t WHERE sleepEachRow(0.00002) = 0 \
                              SETTINGS max_block_size = 1000, max_threads = 1, function_sleep_max_microseconds_per_block = 0";
                run(&db, slowly)
            });
            // It has read some rows.
            until_listed(&db, "query LIKE 'SELECT%sleepEachRow%' AND read_rows > 0", || reader.is_finished());
            run(&db, sql);
            assert_eq!(reader.join().expect("no panic"), "20010\t199990045\t20010\n", "{sql}");
        });
    }
}

/// Waits until a statement is running, or has ended before anybody saw it.
fn until_listed(db: &Session, condition: &str, is_over: impl Fn() -> bool) {
    let listed = format!(
        "SELECT count() > 0 FROM system.processes WHERE {condition} AND query NOT LIKE '%system.processes%'"
    );
    while !is_over() && run(db, &listed) != "1\n" {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The journal has been written anew since, without the version of the columns that the INSERT began with.
#[test]
fn an_insert_outlives_many_changes_of_columns() {
    // One that is over too soon, on a machine that is busy with other things, shows nothing.
    let outlives = [0.2, 1.0, 2.5].into_iter().any(insert_outlives_changes);
    assert!(outlives, "the INSERT was to last longer");
}

/// Whether the INSERT, which sleeps for so many seconds a row, lasted longer than the changes.
fn insert_outlives_changes(seconds: f64) -> bool {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n");
    let outlives = std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let db = place.open();
            let slowly = format!(
                "INSERT INTO t SELECT number FROM numbers(10) WHERE sleepEachRow({seconds}) = 0 SETTINGS max_block_size = 1"
            );
            run(&db, &slowly)
        });
        until_listed(&db, "query LIKE 'INSERT%sleepEachRow%' AND read_rows > 0", || writer.is_finished());
        for n in 0..10 {
            run(&db, &format!("ALTER TABLE t ADD COLUMN c{n} UInt8 DEFAULT 1"));
        }
        // Rows that stay in the journal until it is too long for what it still says.
        let rewrites = "SELECT sum(value) FROM system.events WHERE event = 'MergeTreeJournalRewrites'";
        let before = run(&db, rewrites);
        while run(&db, rewrites) == before {
            run(&db, "INSERT INTO t (n) SELECT rand64() FROM numbers(8000)");
            run(&db, "TRUNCATE TABLE t");
        }
        let outlives = !writer.is_finished();
        writer.join().expect("no panic");
        outlives
    });
    let all = "SELECT count(), sum(n), sum(c9) FROM t";
    assert_eq!(run(&db, all), "10\t45\t10\n");
    drop(db);
    assert_eq!(run(&place.open(), all), "10\t45\t10\n");
    outlives
}
