//! Tables that are detached, in a database on disk: what is there when it is opened again.

use chalet_base::{ErrorCode, Result, codes};
use chalet_engine::{Database, RunOptions, Session};
use std::path::PathBuf;

/// A folder that is gone with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        Place(std::env::temp_dir().join(format!("chalet-detached-{}-{name}", std::process::id())))
    }

    fn open(&self) -> Session {
        Database::open(self.0.to_str().expect("a path of ASCII")).expect("the database").session()
    }

    fn open_to_read(&self) -> Session {
        Database::open_to_read(self.0.to_str().expect("a path of ASCII")).expect("the database").session()
    }

    fn n_folders(&self) -> usize {
        std::fs::read_dir(self.0.join("tables")).expect("the folder").count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn try_run(session: &Session, sql: &str) -> Result<String> {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    Ok(String::from_utf8_lossy(&session.run(sql, options)?.bytes).into_owned())
}

fn run(session: &Session, sql: &str) -> String {
    try_run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn fails(session: &Session, sql: &str, code: ErrorCode) {
    assert_eq!(try_run(session, sql).expect_err(sql).code(), code, "{sql}");
}

#[test]
fn only_what_is_detached_permanently_stays_away() {
    let place = Place::new("reopened");
    let db = place.open();
    for (table, engine) in [("m", "MergeTree ORDER BY n"), ("l", "Log"), ("p", "MergeTree ORDER BY n")] {
        run(&db, &format!("CREATE TABLE {table} ENGINE = {engine} AS SELECT number AS n FROM numbers(10)"));
    }
    run(&db, "CREATE VIEW v AS SELECT sum(n) AS s FROM p");
    run(&db, "DETACH TABLE m");
    run(&db, "DETACH TABLE l PERMANENTLY");
    run(&db, "DETACH TABLE p PERMANENTLY");
    run(&db, "DETACH TABLE v PERMANENTLY");
    assert_eq!(run(&db, "SHOW TABLES"), "");
    assert_eq!(place.n_folders(), 3);
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, "SHOW TABLES"), "m\n");
    assert_eq!(run(&db, "SELECT sum(n) FROM m"), "45\n");
    let detached = "SELECT table, is_permanently FROM system.detached_tables ORDER BY table";
    assert_eq!(run(&db, detached), "l\t1\np\t1\nv\t1\n");
    fails(&db, "SELECT * FROM p", codes::UNKNOWN_TABLE);
    fails(&db, "CREATE TABLE p (n UInt8) ENGINE = Log", codes::TABLE_ALREADY_EXISTS);
    assert!(run(&db, "SHOW CREATE TABLE p").contains("ENGINE = MergeTree"));
    run(&db, "ATTACH TABLE p");
    run(&db, "INSERT INTO p VALUES (100)");
    run(&db, "ATTACH TABLE v");
    assert_eq!(run(&db, "SELECT s FROM v"), "145\n");
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, "SHOW TABLES"), "m\np\nv\n");
    assert_eq!(run(&db, "SELECT s FROM v"), "145\n");
    run(&db, "ATTACH TABLE l");
    run(&db, "INSERT INTO l VALUES (1)");
    assert_eq!(run(&db, "SELECT count() FROM l"), "11\n");
    // The folders of what is detached go with their database.
    run(&db, "CREATE DATABASE d");
    run(&db, "CREATE TABLE d.t ENGINE = Log AS SELECT 1 AS n");
    run(&db, "DETACH TABLE d.t PERMANENTLY");
    assert_eq!(place.n_folders(), 4);
    run(&db, "DROP DATABASE d");
    assert_eq!(place.n_folders(), 3);
}

#[test]
fn databases_are_there_again() {
    let place = Place::new("databases");
    let db = place.open();
    run(&db, "CREATE DATABASE d COMMENT 'of two'");
    run(&db, "CREATE TABLE d.a ENGINE = MergeTree ORDER BY n AS SELECT 1 AS n");
    run(&db, "CREATE TABLE d.b ENGINE = MergeTree ORDER BY n AS SELECT 2 AS n");
    run(&db, "DETACH TABLE d.b PERMANENTLY");
    run(&db, "DETACH DATABASE d");
    fails(&db, "SELECT * FROM d.a", codes::UNKNOWN_DATABASE);
    fails(&db, "CREATE DATABASE d", codes::DATABASE_ALREADY_EXISTS);
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, "SELECT * FROM d.a"), "1\n");
    assert_eq!(run(&db, "SELECT comment FROM system.databases WHERE name = 'd'"), "of two\n");
    fails(&db, "SELECT * FROM d.b", codes::UNKNOWN_TABLE);
    run(&db, "DETACH DATABASE d");
    run(&db, "ATTACH DATABASE d");
    run(&db, "ATTACH TABLE d.b");
    assert_eq!(run(&db, "SELECT * FROM d.b"), "2\n");
}

#[test]
fn who_only_reads_attaches_nothing() {
    let place = Place::new("read");
    let db = place.open();
    run(&db, "CREATE TABLE t ENGINE = MergeTree ORDER BY n AS SELECT 1 AS n");
    run(&db, "DETACH TABLE t PERMANENTLY");
    drop(db);
    let reader = place.open_to_read();
    assert_eq!(run(&reader, "SELECT table FROM system.detached_tables"), "t\n");
    fails(&reader, "ATTACH TABLE t", codes::READONLY);
    fails(&reader, "SELECT * FROM t", codes::UNKNOWN_TABLE);
}

#[test]
fn detached_partitions_are_kept() {
    let place = Place::new("partitions");
    let db = place.open();
    run(&db, "CREATE TABLE t (n UInt64) ENGINE = MergeTree PARTITION BY n % 3 ORDER BY n");
    run(&db, "INSERT INTO t SELECT number FROM numbers(9)");
    // Large enough for a file of its own.
    run(&db, "INSERT INTO t SELECT number * 3 + 2 FROM numbers(100000)");
    run(&db, "ALTER TABLE t DETACH PARTITION 0");
    run(&db, "ALTER TABLE t DETACH PARTITION 2");
    let reader = place.open_to_read();
    assert_eq!(run(&reader, "SELECT sum(n) FROM t"), "12\n");
    drop(reader);
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, "SELECT sum(n) FROM t"), "12\n");
    let detached = "SELECT count(), uniqExact(partition_id), sum(path != '') > 0 FROM system.detached_parts";
    assert_eq!(run(&db, detached), "3\t2\t1\n");
    run(&db, "ALTER TABLE t ATTACH PARTITION 2");
    run(&db, "ALTER TABLE t DROP DETACHED PARTITION 0 SETTINGS allow_drop_detached = 1");
    assert_eq!(run(&db, "SELECT count(), max(n) FROM t"), "100006\t299999\n");
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, "SELECT count(), max(n) FROM t"), "100006\t299999\n");
    assert_eq!(run(&db, "SELECT count() FROM system.detached_parts"), "0\n");
    // The file of what went is gone, and that of what came is there.
    run(&db, "OPTIMIZE TABLE t FINAL");
    assert_eq!(run(&db, "SELECT count(), max(n) FROM t"), "100006\t299999\n");
}

#[test]
fn another_sorting_key_is_kept() {
    let place = Place::new("sorting-key");
    let db = place.open();
    run(&db, "CREATE TABLE t (k UInt8) ENGINE = MergeTree ORDER BY k");
    run(&db, "INSERT INTO t VALUES (2), (1)");
    run(&db, "ALTER TABLE t ADD COLUMN e UInt8, MODIFY ORDER BY (k, e)");
    run(&db, "INSERT INTO t VALUES (1, 3), (1, 2)");
    let shown = run(&db, "SHOW CREATE TABLE t");
    drop(db);
    let db = place.open();
    assert_eq!(run(&db, "SHOW CREATE TABLE t"), shown);
    run(&db, "OPTIMIZE TABLE t FINAL");
    assert_eq!(run(&db, "SELECT k, e FROM t"), "1\t0\n1\t2\n1\t3\n2\t0\n");
}
