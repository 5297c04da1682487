//! Each call of the file system that a statement makes fails once: the first, the second, until the statement has no further one.
//!
//! A statement that returns is done, and one that fails is not: that is what the next statement sees. Where the disk fails behind
//! the point at which a change counts, or while it is waited for, it is not known which of the two is on disk: then nothing more
//! is written until the database is opened again, and opened again it has the change as a whole or nothing of it.
//! `CHALET_STATEMENT` leaves the statements that have this text.

use crate::place::{Place, contents, files, run, try_run};
use chalet_base::codes;
use chalet_engine::Session;
use chalet_storage::disk::fs::observe::{Observer, observe};
use chalet_storage::disk::fs::{Access, Action};
use std::collections::BTreeMap;
use std::io;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Fails one call.
struct Fault {
    code: i32,
    /// Calls until then, and which one it was.
    state: Mutex<(u64, Option<String>)>,
}

impl Fault {
    fn new(at: u64, code: i32) -> Arc<Fault> {
        Arc::new(Fault { code, state: Mutex::new((at, None)) })
    }

    /// The call that failed.
    fn found(&self) -> Option<String> {
        self.state.lock().expect("no panic").1.clone()
    }
}

impl Observer for Fault {
    fn before(&self, path: &Path, action: &Action) -> io::Result<()> {
        let mut state = self.state.lock().expect("no panic");
        if state.0 == 0 || self.code == ENOSPC && !needs_room(action) {
            return Ok(());
        }
        state.0 -= 1;
        if state.0 > 0 {
            return Ok(());
        }
        let shown = match action {
            Action::Write(_, at, bytes) => format!("Write of {} bytes at {at}", bytes.len()),
            other => format!("{other:?}"),
        };
        state.1 = Some(format!("{shown} {}", path.display()));
        Err(io::Error::from_raw_os_error(self.code))
    }

    fn after(&self, _: &Path, _: &Action) {}
}

/// Others do not fail because a disk is full.
fn needs_room(action: &Action) -> bool {
    !matches!(
        action,
        Action::Open(Access::Read | Access::Write, _)
            | Action::Read
            | Action::Map
            | Action::Metadata
            | Action::ReadFolder
            | Action::RemoveFile
            | Action::RemoveFolder
    )
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What there is before each statement.
const SETUP: &[&str] = &[
    "SYSTEM STOP MERGES",
    "CREATE TABLE t (p UInt8, n UInt64, s String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "INSERT INTO t SELECT 0, number, repeat(hex(sipHash128(number)), 10) FROM numbers(1000)",
    "INSERT INTO t SELECT number % 3, number, toString(number) FROM numbers(30)",
    "INSERT INTO t SELECT 0, number, 'later' FROM numbers(20)",
    "CREATE TABLE u (p UInt8, n UInt64, s String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "INSERT INTO u SELECT number % 2, number, repeat(hex(sipHash128(number, 1)), 10) FROM numbers(2000)",
    "CREATE TABLE l (n UInt64, s String) ENGINE = Log",
    "INSERT INTO l SELECT number, toString(number) FROM numbers(100)",
    "CREATE TABLE m (n UInt64) ENGINE = Memory",
    "CREATE FUNCTION f AS x -> x + 1",
    "ALTER TABLE u DETACH PARTITION 1",
    "DELETE FROM t WHERE n = 7",
    "CREATE TABLE q (p UInt8, n UInt64, s String, PROJECTION g (SELECT n % 3 AS r, count(), sum(p) GROUP BY r)) ENGINE = MergeTree ORDER BY n",
    "INSERT INTO q SELECT 0, number, repeat(hex(sipHash128(number)), 10) FROM numbers(1500)",
    "ALTER TABLE q ADD PROJECTION o (SELECT s, n ORDER BY s)",
    "INSERT INTO q VALUES (1, 2, 'small')",
];

/// Statements, none of which another one needs.
const STATEMENTS: &[&str] = &[
    "INSERT INTO t VALUES (5, 1, 'small'), (6, 2, 'in two partitions')",
    "INSERT INTO t SELECT number % 2, number, repeat(hex(sipHash128(number, 2)), 10) FROM numbers(1900)",
    "INSERT INTO l VALUES (1000, 'x')",
    "INSERT INTO l SELECT number, hex(sipHash128(number)) FROM numbers(70000)",
    "OPTIMIZE TABLE t FINAL",
    "ALTER TABLE t UPDATE s = 'updated' WHERE n % 5 = 1",
    "ALTER TABLE t DELETE WHERE n % 5 = 2",
    "DELETE FROM t WHERE n % 7 = 3",
    "ALTER TABLE t ADD COLUMN c UInt32 DEFAULT 3",
    "ALTER TABLE t DROP COLUMN s",
    "ALTER TABLE t DROP COLUMN s, ADD COLUMN s String DEFAULT 'other'",
    "ALTER TABLE t MODIFY COLUMN s LowCardinality(String)",
    "ALTER TABLE t RENAME COLUMN s TO r",
    "ALTER TABLE t COMMENT COLUMN s 'said'",
    "ALTER TABLE t DETACH PARTITION 0",
    "ALTER TABLE u ATTACH PARTITION 1",
    "ALTER TABLE t DROP PARTITION 0",
    "ALTER TABLE t REPLACE PARTITION 0 FROM u",
    "ALTER TABLE t ATTACH PARTITION 0 FROM u",
    "ALTER TABLE u DROP DETACHED PARTITION 1 SETTINGS allow_drop_detached = 1",
    "CREATE TABLE new (a UInt8, b String) ENGINE = MergeTree ORDER BY a",
    "CREATE TABLE new ENGINE = MergeTree ORDER BY n AS SELECT * FROM u",
    "CREATE TABLE new ENGINE = Log AS SELECT * FROM l",
    "CREATE OR REPLACE TABLE t ENGINE = Log AS SELECT 1 AS x",
    "CREATE VIEW v AS SELECT n FROM t",
    "CREATE DATABASE d",
    "CREATE FUNCTION g AS x -> x * 2",
    "DROP FUNCTION f",
    "INSERT INTO q SELECT 1, number, repeat(hex(sipHash128(number, 1)), 10) FROM numbers(1500)",
    "OPTIMIZE TABLE q FINAL",
    "DROP TABLE t",
    "DROP TABLE l",
    "RENAME TABLE t TO other",
    "EXCHANGE TABLES t AND l",
    "TRUNCATE TABLE t",
    "TRUNCATE TABLE l",
    "DETACH TABLE t PERMANENTLY",
];

fn prepared() -> Place {
    let place = Place::new();
    let db = place.open();
    SETUP.iter().for_each(|sql| _ = run(&db, sql));
    drop(db);
    place
}

/// What there is, and the files of it.
type Seen = (String, BTreeMap<String, usize>);

/// Opened again.
fn opened(place: &Place) -> Seen {
    let db = place.open();
    let contents = contents(&db);
    // Files of parts go with those who read them.
    drop(db);
    (contents, files(place))
}

/// Fails the call of this number; `false` when there is none.
fn fail(start: &Place, sql: &str, at: u64, code: i32, before: &Seen, after: &Seen) -> bool {
    let place = start.copy();
    let db = place.open();
    run(&db, "SYSTEM STOP MERGES");
    let fault = Fault::new(at, code);
    let observation = observe(&place.0, fault.clone());
    let result = try_run(&db, sql);
    drop(observation);
    let Some(call) = fault.found() else {
        result.unwrap_or_else(|e| panic!("{sql}: {e}"));
        return false;
    };
    let told = format!("{sql}\n{call}\n{result:?}");
    if let Err(error) = &result {
        assert_ne!(error.code(), codes::LOGICAL_ERROR, "{told}");
    }
    // What the statement said is so.
    let now = contents(&db);
    // The next statement works, or says that the database has to be opened again.
    let next = try_run(&db, "CREATE TABLE next (x UInt8) ENGINE = Log");
    let is_lost = match &next {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.code(), codes::READONLY, "{told}\n{error}");
            true
        }
    };
    let is_known = result.is_ok() || !is_lost;
    let is_said = now == if result.is_ok() { &*after.0 } else { &*before.0 };
    assert!(is_said || !is_known && now == after.0, "{told}\n{now}");
    if !is_lost {
        run(&db, "DROP TABLE next");
    }
    drop(db);
    let (found, left) = opened(&place);
    let is_after = found == after.0 && (is_lost || result.is_ok());
    let may_be_before = result.is_err() && found == before.0;
    assert!(is_after || may_be_before, "{told}\n{found}");
    // Of a statement that changes no contents nobody can tell which of the two it is.
    let is_either = is_lost && before.0 == after.0 && left == before.1;
    assert!(is_either || left == *if is_after { &after.1 } else { &before.1 }, "{told}\n{left:?}");
    if !is_after {
        let db = place.open();
        run(&db, sql);
        assert!(contents(&db) == after.0, "{told}");
    }
    true
}

/// Each call of some statements.
fn fail_each(statements: &[&str], code: i32) {
    let only = std::env::var("CHALET_STATEMENT").unwrap_or_default();
    let statements = statements.iter().filter(|sql| sql.contains(&only));
    let start = prepared();
    let before = opened(&start);
    let mut n_wrong = 0;
    for sql in statements {
        let done = start.copy();
        run(&done.open(), sql);
        let after = opened(&done);
        assert!(before.0 != after.0 || sql.starts_with("OPTIMIZE"), "{sql}");
        let mut at = 1;
        loop {
            match catch_unwind(|| fail(&start, sql, at, code, &before, &after)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => n_wrong += 1,
            }
            at += 1;
        }
        assert!(at > 1, "{sql} makes no call");
    }
    assert_eq!(n_wrong, 0, "calls after which something was wrong");
}

#[test]
fn statements_of_which_a_call_fails() {
    let (one, other) = STATEMENTS.split_at(STATEMENTS.len() / 2);
    std::thread::scope(|threads| {
        threads.spawn(|| fail_each(one, EIO));
        threads.spawn(|| fail_each(other, EIO));
    });
}

#[test]
fn statements_while_the_disk_is_full() {
    let (one, other) = STATEMENTS.split_at(STATEMENTS.len() / 2);
    std::thread::scope(|threads| {
        threads.spawn(|| fail_each(one, ENOSPC));
        threads.spawn(|| fail_each(other, ENOSPC));
    });
}

/// It changes two tables, one after the other: where the disk fails between them, the rows are in both, and never in none.
#[test]
fn a_partition_that_is_moved_while_a_call_fails() {
    let start = prepared();
    let rows = "SELECT countIf(p = 0), uniqExactIf(n, p = 0) FROM";
    let both =
        |db: &Session| (run(db, &format!("{rows} t WHERE length(s) = 321")), run(db, &format!("{rows} u")));
    run(&start.open(), "ALTER TABLE u UPDATE s = s || '!' WHERE 1");
    let before = both(&start.open());
    let (none, there) = ("0\t0\n".to_string(), "1000\t1000\n".to_string());
    assert_eq!(before, (none.clone(), there.clone()));
    let (moved, twice) = ((there.clone(), none), (there.clone(), there));
    for at in 1.. {
        let place = start.copy();
        let db = place.open();
        let fault = Fault::new(at, EIO);
        let observation = observe(&place.0, fault.clone());
        let result = try_run(&db, "ALTER TABLE u MOVE PARTITION 0 TO TABLE t");
        drop(observation);
        let Some(call) = fault.found() else { break };
        let is_lost = try_run(&db, "CREATE TABLE next (x UInt8) ENGINE = Log").is_err();
        drop(db);
        let found = both(&place.open());
        match (result, is_lost) {
            (Ok(_), _) => assert_eq!(found, moved, "{call}"),
            (Err(_), false) => assert_eq!(found, before, "{call}"),
            (Err(_), true) => assert!([&before, &moved, &twice].contains(&&found), "{call}: {found:?}"),
        }
    }
}

/// An opening that fails changes nothing: it is an error, of the database or of the tables that could not be opened.
#[test]
fn openings_of_which_a_call_fails() {
    let start = prepared();
    let before = opened(&start);
    let counts = |db: &Session| {
        ["t", "u", "l"].map(|table| try_run(db, &format!("SELECT count(), sum(n) FROM {table}")))
    };
    let right = counts(&start.open());
    for code in [EIO, ENOSPC] {
        for at in 1.. {
            let place = start.copy();
            let fault = Fault::new(at, code);
            let observation = observe(&place.0, fault.clone());
            let database = place.try_open();
            let Some(call) = fault.found() else { break };
            match database {
                Err(error) => assert_ne!(error.code(), codes::LOGICAL_ERROR, "{call}: {error}"),
                Ok(database) => {
                    let db = database.session();
                    for (found, right) in counts(&db).into_iter().zip(&right) {
                        match found {
                            Err(error) => assert_ne!(error.code(), codes::LOGICAL_ERROR, "{call}: {error}"),
                            found => assert_eq!(found, *right, "{call}"),
                        }
                    }
                    run(&db, "SELECT 1");
                }
            }
            drop(observation);
            assert!(opened(&place) == before, "{call}");
        }
    }
}

/// A database that could not be made is made by the next one who opens it.
#[test]
fn a_database_that_is_made_while_a_call_fails() {
    for at in 1.. {
        let place = Place::new();
        let fault = Fault::new(at, EIO);
        let observation = observe(&place.0, fault.clone());
        let database = place.try_open();
        drop(observation);
        let Some(call) = fault.found() else { break };
        if let Err(error) = &database {
            assert_ne!(error.code(), codes::LOGICAL_ERROR, "{call}: {error}");
        }
        drop(database);
        run(&place.open(), "CREATE TABLE t ENGINE = Log AS SELECT 1 AS x");
        assert_eq!(run(&place.open(), "SELECT x FROM t"), "1\n", "{call}");
    }
}

/// A query whose call fails is an error, and the next one is right.
#[test]
fn queries_of_which_a_call_fails() {
    let start = prepared();
    let before = opened(&start);
    for sql in ["SELECT sum(n), max(s) FROM t", "SELECT sum(n), max(s) FROM l", "CHECK TABLE t"] {
        let answer = run(&start.open(), sql);
        for at in 1.. {
            let db = start.open();
            let fault = Fault::new(at, EIO);
            let observation = observe(&start.0, fault.clone());
            let result = try_run(&db, sql);
            drop(observation);
            let Some(call) = fault.found() else { break };
            match result {
                // This one answers with the error.
                Ok(found) if sql.starts_with("CHECK") => {
                    assert!(found.contains("os error 5"), "{call}: {found}")
                }
                Ok(found) => assert_eq!(found, answer, "{call}"),
                Err(error) => assert_ne!(error.code(), codes::LOGICAL_ERROR, "{call}: {error}"),
            }
            assert_eq!(run(&db, sql), answer, "{call}");
        }
    }
    assert!(opened(&start) == before);
}
