//! Each byte of each file of a database is changed: an answer is an error or the one that it was. Rows of `File(format)` are as
//! they lie in their file, and are not among these.
//!
//! `CHALET_EVERY_BYTE=1` changes each byte that was written; without it every few bytes are, of long files fewer.

use crate::place::{Place, amount, run, try_run};
use chalet_base::codes;
use chalet_engine::{Database, Session};
use std::fs;
use std::path::PathBuf;

const SETUP: &[&str] = &[
    "CREATE DATABASE d COMMENT 'with a comment'",
    "CREATE TABLE t (p UInt8, n UInt64, s String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "SYSTEM STOP MERGES",
    // A file of few bytes, since its rows are alike.
    "INSERT INTO t SELECT 0, intDiv(number, 1000), 'the same string in all rows' FROM numbers(14000)",
    "INSERT INTO t SELECT number % 2, number, toString(number) FROM numbers(10)",
    "DELETE FROM t WHERE n = 3",
    "ALTER TABLE t ADD COLUMN c UInt8 DEFAULT 7",
    "INSERT INTO t (p, n) VALUES (5, 1)",
    "ALTER TABLE t DETACH PARTITION 5",
    "CREATE TABLE d.l (n UInt64, s Nullable(String)) ENGINE = Log",
    "INSERT INTO d.l SELECT number, toString(number) FROM numbers(50)",
    "INSERT INTO d.l VALUES (1000, NULL)",
    "CREATE TABLE q (p UInt8, n UInt64, s String, PROJECTION g (SELECT n % 3 AS r, count(), sum(p) GROUP BY r), PROJECTION o (SELECT s, n ORDER BY s)) ENGINE = MergeTree ORDER BY n",
    "INSERT INTO q SELECT 0, number, concat('the same string in all rows', toString(number % 7)) FROM numbers(9000)",
    "CREATE FUNCTION f AS x -> x + 1",
    "CREATE VIEW v AS SELECT f(n) AS m FROM d.l",
    "CREATE TABLE gone (x UInt8) ENGINE = Log",
    "DETACH TABLE gone PERMANENTLY",
];

const ASKED: &[&str] = &[
    "SELECT count(), sum(cityHash64(*)) FROM t",
    "SELECT n, s, c FROM t WHERE n = 5 ORDER BY ALL",
    "SELECT count(), sum(cityHash64(*)) FROM d.l",
    "SELECT sum(m) FROM v",
    "SELECT n % 3 AS r, count(), sum(p) FROM q GROUP BY r ORDER BY r",
    "SELECT count(), sum(n) FROM q WHERE s = 'the same string in all rows3'",
    "SELECT database, name, engine, create_table_query FROM system.tables WHERE database IN ('default', 'd') ORDER BY ALL",
    "SELECT name, comment FROM system.databases ORDER BY name",
];

fn files(place: &Place) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![place.database()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// An answer that is wrong, or an error that none should be.
fn wrong(db: &Session, sql: &str, right: &str) -> Option<String> {
    match try_run(db, sql) {
        Ok(found) => (found != right).then(|| format!("{sql}\n{found}")),
        Err(error) => (error.code() == codes::LOGICAL_ERROR).then(|| format!("{sql}\n{error}")),
    }
}

fn check(database: chalet_base::Result<Database>, answers: &[String]) -> Vec<String> {
    match database {
        Err(error) if error.code() == codes::LOGICAL_ERROR => vec![error.to_string()],
        Err(_) => Vec::new(),
        Ok(database) => {
            let db = database.session();
            ASKED.iter().zip(answers).filter_map(|(sql, right)| wrong(&db, sql, right)).collect()
        }
    }
}

/// The bytes of a file to change.
fn places(bytes: &[u8]) -> Vec<usize> {
    // Behind what was written a journal has room, which is all alike.
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    if amount("CHALET_EVERY_BYTE", 0) > 0 {
        return (0..end).chain((end..bytes.len()).step_by(499)).collect();
    }
    let step = (end / 40).max(1) | 1;
    let heads = 0..end.min(64);
    heads.step_by(7).chain((64..end).step_by(step)).chain((end..bytes.len()).step_by(20_011)).collect()
}

/// A database on disk, closed, and what it answers.
fn made() -> (Place, Vec<String>) {
    let place = Place::new();
    let db = place.open();
    SETUP.iter().for_each(|sql| _ = run(&db, sql));
    drop(db);
    let db = place.open();
    let answers = ASKED.iter().map(|sql| run(&db, sql)).collect();
    drop(db);
    (place, answers)
}

#[test]
fn changed_bytes() {
    let (place, answers) = made();
    let found = files(&place);
    let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert!(names.iter().any(|name| name.ends_with(".parquet")), "{names:?}");
    for name in ["catalog", "functions", "journal", "rows", "lock"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let mut problems = Vec::new();
    for path in found {
        let whole = fs::read(&path).expect("a file");
        for at in places(&whole) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            // Opened for reading nothing is repaired, and for writing what can be is.
            for to_write in [false, true] {
                // As another file: what is known of the one before is not of this one.
                fs::remove_file(&path).and_then(|()| fs::write(&path, &changed)).expect("written");
                let copy = if to_write { Some(place.copy()) } else { None };
                let root = copy.as_ref().unwrap_or(&place).database();
                let root = root.to_str().expect("a path of UTF-8");
                let database = if to_write { Database::open(root) } else { Database::open_to_read(root) };
                let told = format!("byte {at} of {}, to write {to_write}", path.display());
                problems
                    .extend(check(database, &answers).into_iter().map(|found| format!("{told}\n{found}")));
            }
        }
        fs::write(&path, &whole).expect("written");
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert_eq!(check(place.try_open(), &answers), Vec::<String>::new());
}

/// Files that are cut short or gone.
#[test]
fn files_cut_short() {
    let (place, answers) = made();
    let mut problems = Vec::new();
    for path in files(&place) {
        let whole = fs::read(&path).expect("a file");
        let end = whole.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        // Behind what was acknowledged nothing is missed.
        let lengths = [0, 1, 63, 64, end / 2, end.saturating_sub(1)].into_iter().filter(|len| *len < end);
        for len in lengths.map(Some).chain([None]) {
            let copy = place.copy();
            let file = copy.0.join(path.strip_prefix(&place.0).expect("a file of it"));
            match len {
                Some(len) => fs::write(&file, &whole[..len]).expect("written"),
                None => fs::remove_file(&file).expect("removed"),
            }
            let told = format!("{} cut to {len:?}", path.display());
            // Without the file that is optional there are no functions.
            let name = path.file_name().and_then(|name| name.to_str());
            let found = check(copy.try_open(), &answers);
            if name != Some("functions") || len.is_some() {
                problems.extend(found.into_iter().map(|found| format!("{told}\n{found}")));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}
