//! Databases on disk: what survives closing and opening, and what a process leaves that is killed.

use chalet_base::{Result, codes};
use chalet_engine::{Database, RunOptions, Session};
use chalet_storage::disk::{Definition, DefinitionFile, DefinitionKind, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A folder that is gone with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("chalet-on-disk-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Place(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of ASCII")
    }

    fn open(&self) -> Session {
        Database::open(self.path()).expect("the database").session()
    }

    /// The folder as it is now: what a process would leave that was killed now.
    fn copy(&self) -> Place {
        Place::copy_of(&self.0)
    }

    fn copy_of(folder: &Path) -> Place {
        fn copy(from: &Path, to: &Path) {
            fs::create_dir_all(to).expect("a folder");
            for found in fs::read_dir(from).expect("the folder") {
                let found = found.expect("a file");
                let to = to.join(found.file_name());
                if found.file_type().expect("a type").is_dir() {
                    copy(&found.path(), &to);
                } else {
                    fs::copy(found.path(), to).expect("copied");
                }
            }
        }
        let made = Place::new();
        copy(folder, &made.0);
        made
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn try_run(session: &Session, sql: &str) -> Result<String> {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    Ok(String::from_utf8_lossy(&session.run(sql, options)?.bytes).into_owned())
}

fn run(session: &Session, sql: &str) -> String {
    try_run(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn fails(session: &Session, sql: &str) -> chalet_base::Error {
    try_run(session, sql).expect_err(sql)
}

#[test]
fn definitions_and_rows_survive() {
    let place = Place::new();
    let db = place.open();
    for sql in [
        "CREATE DATABASE d COMMENT 'it''s mine'",
        "CREATE FUNCTION added AS (x, y) -> x + y",
        "CREATE FUNCTION gone AS x -> x",
        "DROP FUNCTION gone",
        "CREATE TABLE t (n UInt64 COMMENT 'c', s String DEFAULT concat('#', toString(n)), m UInt8 MATERIALIZED n + 1, a ALIAS n * 2, \
         CONSTRAINT small CHECK n < 100) ENGINE = Log COMMENT 'rows'",
        "INSERT INTO t (n) VALUES (1), (2)",
        "INSERT INTO t (n, s) SELECT number, 'given' FROM numbers(3, 2)",
        "CREATE VIEW d.v AS SELECT added(n, 1) AS p FROM t WHERE s != 'nothing' COMMENT 'what''s added'",
        "CREATE TABLE `a b``c\\\\d\n` (x UInt8) ENGINE = StripeLog",
        "INSERT INTO `a b``c\\\\d\n` VALUES (7)",
        "CREATE TABLE memory (x UInt8) ENGINE = Memory",
        "INSERT INTO memory VALUES (1)",
        "CREATE TABLE file (x UInt8) ENGINE = File(CSV)",
        "INSERT INTO file VALUES (5)",
        "CREATE TABLE old (x UInt8) ENGINE = TinyLog",
        "RENAME TABLE old TO d.`new`",
        "CREATE TEMPORARY TABLE temporary (x UInt8) ENGINE = Log",
        "CREATE TABLE plain (x UInt8)",
        "INSERT INTO plain VALUES (9)",
    ] {
        run(&db, sql);
    }
    let asked = [
        "SELECT *, m, a FROM t ORDER BY n",
        "SELECT * FROM d.v ORDER BY p",
        "SELECT database, name, engine, comment, total_rows, create_table_query FROM system.tables WHERE database != 'system' AND \
         engine != 'Memory' AND NOT is_temporary ORDER BY ALL",
        "SELECT * FROM system.columns WHERE database != 'system' AND table != 'temporary' ORDER BY ALL",
        "SHOW DATABASES",
        "SELECT name, engine, comment FROM system.databases",
        "SHOW CREATE TABLE t",
        "SHOW CREATE TABLE d.`new`",
        "SHOW CREATE VIEW d.v",
        "SHOW CREATE DATABASE d",
        "SELECT name, create_query FROM system.functions WHERE origin = 'SQLUserDefined'",
        "SELECT * FROM `a b``c\\\\d\n`",
        "SELECT * FROM file",
        "SELECT * FROM plain",
        "EXISTS TABLE d.`new`",
    ];
    let before: Vec<String> = asked.iter().map(|sql| run(&db, sql)).collect();
    assert!(before[0].starts_with("1\t#1\t2\t2\n2\t#2\t3\t4\n3\tgiven\t"), "{}", before[0]);
    assert!(before[7].starts_with("CREATE TABLE d.new\n"), "{}", before[7]);
    assert!(before[8].contains("\n)\nCOMMENT 'what\\'s added'\nAS SELECT"), "{}", before[8]);
    assert!(before[2].contains("what's added"), "{}", before[2]);
    assert_eq!(fails(&db, "INSERT INTO t (n) VALUES (100)").code(), codes::VIOLATED_CONSTRAINT);
    let killed = place.copy();
    drop(db);
    for place in [&place, &killed] {
        for _ in 0..2 {
            let db = place.open();
            for (sql, answer) in asked.iter().zip(&before) {
                assert_eq!(run(&db, sql), *answer, "{sql}");
            }
            // Rows of a Memory table are gone, as in the kernel, the table is not.
            assert_eq!(run(&db, "SELECT count() FROM memory"), "0\n");
            assert_eq!(run(&db, "EXISTS TEMPORARY TABLE temporary"), "0\n");
            assert_eq!(run(&db, "SELECT * FROM system.warnings"), "");
            assert_eq!(fails(&db, "INSERT INTO t (n) VALUES (100)").code(), codes::VIOLATED_CONSTRAINT);
        }
    }
}

#[test]
fn workloads_and_collections_survive() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE WORKLOAD `all of it`");
    run(&db, "CREATE RESOURCE io (READ DISK d, WRITE ANY DISK)");
    run(&db, "CREATE WORKLOAD part IN `all of it` SETTINGS weight = 2, max_io_requests = 5 FOR io");
    run(&db, "CREATE NAMED COLLECTION c AS b = 'it''s', a = 1 NOT OVERRIDABLE");
    run(&db, "CREATE NAMED COLLECTION gone AS a = 1");
    run(&db, "DROP NAMED COLLECTION gone");
    let listed = "SELECT * FROM (SELECT create_query FROM system.workloads UNION ALL SELECT create_query FROM system.resources \
                  UNION ALL SELECT create_query FROM system.named_collections) ORDER BY 1";
    let before = run(&db, listed);
    assert!(before.contains("CREATE WORKLOAD part IN `all of it` SETTINGS weight = 2"), "{before}");
    drop(db);
    let stored = Store::open_to_read(&place.0).expect("the folder").read(DefinitionFile::Entities);
    let texts: Vec<String> = stored.expect("definitions").into_iter().map(|d| d.text).collect();
    assert!(
        texts.contains(&"CREATE NAMED COLLECTION c AS a = 1 NOT OVERRIDABLE, b = 'it\\'s'".to_owned()),
        "{texts:?}"
    );
    for db in [place.open(), Database::open_to_read(place.path()).expect("the database").session()] {
        assert_eq!(run(&db, listed), before);
    }
}

#[test]
fn every_type_survives() {
    const VALUES: &[(&str, &str)] = &[
        ("UInt256", "'1234567890123456789012345678901234567890'"),
        ("Int128", "-12"),
        ("Float32", "1.5"),
        ("BFloat16", "1.5"),
        ("Bool", "true"),
        ("Decimal(9, 2)", "'-7.25'"),
        ("Decimal(70, 5)", "'1.5'"),
        ("String", "'with\\0 zero and ü'"),
        ("FixedString(3)", "'ab'"),
        ("UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
        ("IPv4", "'1.2.3.4'"),
        ("IPv6", "'::1:2'"),
        ("Date", "'2024-02-29'"),
        ("Date32", "'1925-01-01'"),
        ("DateTime", "'2024-02-29 01:02:03'"),
        ("DateTime('Asia/Tokyo')", "'2024-02-29 01:02:03'"),
        ("DateTime64(6, 'UTC')", "'2024-02-29 01:02:03.000004'"),
        ("Enum8('a' = 1, 'it\\'s' = -2)", "-2"),
        ("LowCardinality(String)", "'low'"),
        ("LowCardinality(Nullable(FixedString(2)))", "'lo'"),
        ("Nullable(Int16)", "-3"),
        ("Nullable(String)", "NULL"),
        ("Array(Array(Nullable(String)))", "[['a', NULL], []]"),
        ("Array(LowCardinality(String))", "['x', 'y', 'x']"),
        ("Map(String, Array(UInt8))", "map('a', [1, 2])"),
        ("Map(LowCardinality(String), UInt8)", "map('b', 3)"),
        ("Tuple(a UInt8, b Tuple(String, Nullable(Date)))", "(1, ('s', NULL))"),
        ("Array(Tuple(UInt8, LowCardinality(Nullable(String))))", "[(1, 'z'), (2, NULL)]"),
    ];
    let place = Place::new();
    let db = place.open();
    let columns = VALUES.iter().enumerate().map(|(i, (ty, _))| format!("c{i} {ty}")).collect::<Vec<_>>();
    run(&db, &format!("CREATE TABLE t ({}) ENGINE = Log", columns.join(", ")));
    let values = VALUES.iter().map(|(ty, value)| format!("CAST({value} AS {ty})")).collect::<Vec<_>>();
    run(&db, &format!("INSERT INTO t SELECT {} FROM numbers(3)", values.join(", ")));
    run(&db, "INSERT INTO t (c0) VALUES (7), (8)");
    run(&db, "CREATE TABLE nested (n Nested(x UInt8, y String)) ENGINE = Log");
    run(&db, "INSERT INTO nested VALUES ([1, 2], ['a', 'b'])");
    let asked = [
        "SELECT * FROM t",
        "DESCRIBE TABLE t",
        "SHOW CREATE TABLE t",
        "SELECT *, n.x FROM nested",
        "DESCRIBE TABLE nested",
    ];
    let before = asked.map(|sql| run(&db, sql));
    assert!(before[0].starts_with("1234567890123456789012345678901234567890\t-12\t1.5\t"), "{}", before[0]);
    drop(db);
    let db = place.open();
    assert_eq!(asked.map(|sql| run(&db, sql)), before);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let place = Place::new();
    let db = place.open();
    for (engine, code) in [
        ("Kafka", codes::NUMBER_OF_ARGUMENTS_DOESNT_MATCH),
        ("Kafkaesque ORDER BY x", codes::UNKNOWN_STORAGE),
    ] {
        let error = fails(&db, &format!("CREATE TABLE t (x UInt8) ENGINE = {engine}"));
        assert_eq!(error.code(), code);
        assert!(error.message().contains(engine.split(' ').next().unwrap_or_default()), "{error}");
    }
    assert_eq!(fails(&db, "CREATE DATABASE m ENGINE = Memory").code(), codes::NOT_IMPLEMENTED);
    assert_eq!(run(&db, "SHOW TABLES"), "");
    // What names no engine is kept in one that keeps rows, and says so.
    run(&db, "CREATE TABLE t (x UInt8 PRIMARY KEY) ORDER BY x");
    assert!(
        run(&db, "SHOW CREATE TABLE t").contains("ENGINE = MergeTree\nPRIMARY KEY tuple(x)\nORDER BY x\n")
    );
    run(&db, "DROP TABLE t");
    assert_eq!(fs::read_dir(place.0.join("tables")).expect("the folder").count(), 0);
}

#[test]
fn sorted_tables_come_back_with_their_keys() {
    let place = Place::new();
    let db = place.open();
    let keys = [
        "ORDER BY s",
        "ORDER BY (s, n DESC) SETTINGS allow_experimental_reverse_key = 1",
        "PARTITION BY n % 2 PRIMARY KEY s ORDER BY (s, -n)",
        "ORDER BY tuple()",
    ];
    for (i, keys) in keys.iter().enumerate() {
        run(&db, &format!("CREATE TABLE t{i} (n Int32, s String) ENGINE = MergeTree {keys}"));
        run(&db, &format!("INSERT INTO t{i} SELECT number, toString(9 - number % 3) FROM numbers(6)"));
    }
    run(&db, "CREATE TABLE like_t1 AS t1");
    run(&db, "INSERT INTO like_t1 VALUES (1, 'a'), (2, 'a')");
    let tables = ["t0", "t1", "t2", "t3", "like_t1"];
    let rows = |db: &Session| tables.map(|t| run(db, &format!("SELECT groupArray((s, n)) FROM {t}")));
    let shown = |db: &Session| tables.map(|t| run(db, &format!("SHOW CREATE TABLE {t}")));
    assert_eq!(rows(&db)[1], "[('7',5),('7',2),('8',4),('8',1),('9',3),('9',0)]\n");
    assert_eq!(rows(&db)[2], "[('7',2),('8',4),('9',0),('7',5),('8',1),('9',3)]\n");
    assert_eq!(rows(&db)[4], "[('a',2),('a',1)]\n");
    let before = (rows(&db), shown(&db));
    drop(db);
    let db = place.open();
    assert_eq!((rows(&db), shown(&db)), before);
    // What comes later is sorted as well.
    run(&db, "INSERT INTO t1 VALUES (1, 'b'), (2, 'b'), (0, 'a')");
    assert!(run(&db, "SELECT groupArray((s, n)) FROM t1").ends_with(",('a',0),('b',2),('b',1)]\n"));
}

/// An INSERT of any size is sorted in memory for a million rows, and its parts stay apart.
#[test]
fn large_inserts_are_sorted_in_parts() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE t (n UInt32) ENGINE = MergeTree ORDER BY n");
    run(&db, "INSERT INTO t SELECT 1500000 - number FROM numbers(1500000)");
    let first: u32 = run(&db, "SELECT any(n) FROM t").trim().parse().expect("a number");
    // The first part ends with a block, and has the largest numbers.
    assert!((1_500_000 - 1_048_449 - 65_536..=1_500_000 - 1_048_449 + 1).contains(&first), "{first}");
    assert_eq!(
        run(&db, "SELECT count(), min(n), max(n), uniqExact(n) FROM t"),
        "1500000\t1\t1500000\t1500000\n"
    );
    run(&db, "TRUNCATE TABLE t");
    run(
        &db,
        "INSERT INTO t SELECT 1500000 - number FROM numbers(1500000) SETTINGS min_insert_block_size_rows = 0",
    );
    assert_eq!(run(&db, "SELECT any(n) FROM t"), "1\n");
}

#[test]
fn optimized_tables_come_back_sorted() {
    let place = Place::new();
    let db = place.open();
    run(
        &db,
        "CREATE TABLE t (p UInt8, n UInt64, s String DEFAULT toString(n)) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    );
    for start in [5, 3, 0, 9] {
        run(
            &db,
            &format!("INSERT INTO t (p, n) SELECT number % 2, number * 7 % 11 + {start} FROM numbers(40)"),
        );
    }
    let rows = |db: &Session| run(db, "SELECT p, n, s FROM t");
    let sorted = run(&db, "SELECT p, n, s FROM t ORDER BY p, n");
    assert_ne!(rows(&db), sorted);
    assert_eq!(fails(&db, "OPTIMIZE TABLE t DRY RUN").code(), codes::NOT_IMPLEMENTED);
    assert_eq!(fails(&db, "OPTIMIZE TABLE t FINAL CLEANUP").code(), codes::CANNOT_ASSIGN_OPTIMIZE);
    assert_eq!(
        fails(&db, "OPTIMIZE TABLE t SETTINGS max_memory_usage = 1000").code(),
        codes::MEMORY_LIMIT_EXCEEDED
    );
    assert_ne!(rows(&db), sorted);
    run(&db, "OPTIMIZE TABLE t");
    assert_eq!(rows(&db), sorted);
    run(&db, "INSERT INTO t (p, n) VALUES (0, 100)");
    drop(db);
    let db = place.open();
    // By partition, and in a partition by the time of the INSERT.
    let at = sorted.find("1\t0\t0\n").expect("rows of the second partition");
    assert_eq!(rows(&db), format!("{}0\t100\t100\n{}", &sorted[..at], &sorted[at..]));
}

#[test]
fn inserts_are_known_again_when_they_are_opened_anew() {
    let place = Place::new();
    let rows_after = |statements: &[&str]| {
        let db = place.open();
        statements.iter().for_each(|sql| drop(run(&db, sql)));
        run(&db, "SELECT p, count() FROM t GROUP BY p ORDER BY p")
    };
    const INSERT: &str = "INSERT INTO t VALUES (1), (2)";
    let create = "CREATE TABLE t (p UInt8) ENGINE = MergeTree PARTITION BY p ORDER BY p SETTINGS non_replicated_deduplication_window = 9";
    assert_eq!(rows_after(&[create, INSERT]), "1\t1\n2\t1\n");
    assert_eq!(rows_after(&[INSERT]), "1\t1\n2\t1\n");
    assert_eq!(rows_after(&["ALTER TABLE t DROP PARTITION 1"]), "2\t1\n");
    assert_eq!(rows_after(&[INSERT]), "1\t1\n2\t1\n");
    rows_after(&["CREATE TABLE u AS t", "ALTER TABLE t MOVE PARTITION 1 TO TABLE u"]);
    assert_eq!(rows_after(&[INSERT]), "2\t1\n");
    assert_eq!(rows_after(&["TRUNCATE TABLE t"]), "");
    assert_eq!(rows_after(&[INSERT]), "1\t1\n2\t1\n");
}

#[test]
fn folders_go_with_their_tables() {
    let place = Place::new();
    let folders = || fs::read_dir(place.0.join("tables")).expect("the folder").count();
    let db = place.open();
    let other = place.open();
    run(&db, "CREATE DATABASE d");
    for table in ["a", "b", "d.c"] {
        run(&db, &format!("CREATE TABLE {table} ENGINE = Log AS SELECT number AS n FROM numbers(10)"));
    }
    assert_eq!(folders(), 3);
    assert!(
        try_run(&db, "CREATE TABLE e ENGINE = Log AS SELECT throwIf(number = 3) AS n FROM numbers(10)")
            .is_err()
    );
    assert!(try_run(&db, "CREATE TABLE a (n UInt8) ENGINE = Log").is_err());
    run(&db, "CREATE TABLE IF NOT EXISTS a (n UInt8) ENGINE = Log");
    assert_eq!(folders(), 3);
    run(&db, "CREATE OR REPLACE TABLE a ENGINE = Log AS SELECT 7 AS n");
    assert_eq!((run(&other, "SELECT n FROM a"), folders()), ("7\n".into(), 3));
    run(&db, "EXCHANGE TABLES a AND b");
    run(&db, "TRUNCATE TABLE a");
    run(&db, "INSERT INTO a VALUES (3)");
    let killed = place.copy();
    run(&db, "DROP TABLE a");
    run(&db, "DROP DATABASE d");
    assert_eq!((run(&db, "SHOW TABLES"), folders()), ("b\n".into(), 1));
    let db = killed.open();
    let sums = "SELECT (SELECT sum(n) FROM a), (SELECT sum(n) FROM b), (SELECT sum(n) FROM d.c)";
    assert_eq!(run(&db, sums), "3\t7\t45\n");
}

#[test]
fn leftovers_are_removed() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE t ENGINE = Log AS SELECT 1 AS x");
    let killed = place.copy();
    // Killed while it made a table, and while it wrote the catalog.
    fs::create_dir_all(killed.0.join("tables/7")).expect("a folder");
    fs::write(killed.0.join("tables/7/rows"), b"chaletL1").expect("a file");
    fs::write(killed.0.join("catalog.new"), b"chalet defin").expect("a file");
    let db = killed.open();
    assert_eq!(run(&db, "SHOW TABLES"), "t\n");
    assert!(!killed.0.join("tables/7").exists() && !killed.0.join("catalog.new").exists());
    run(&db, "CREATE TABLE u ENGINE = Log AS SELECT 2 AS x");
    assert_eq!(run(&db, "SELECT x FROM t UNION ALL SELECT x FROM u ORDER BY x"), "1\n2\n");
    // Killed while it made the database.
    let begun = Place::new();
    fs::create_dir_all(begun.0.join("tables")).expect("a folder");
    fs::write(begun.0.join("lock"), b"").expect("a file");
    assert_eq!(run(&begun.open(), "SHOW TABLES"), "");
}

#[test]
fn damaged_and_foreign_folders_are_left_alone() {
    let open = |place: &Place| Database::open(place.path()).err().expect("an error");
    let place = Place::new();
    run(&place.open(), "CREATE TABLE t ENGINE = Log AS SELECT 1 AS x");
    let catalog = place.0.join("catalog");
    let whole = fs::read(&catalog).expect("the catalog");
    for at in (0..whole.len() - 1).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 2;
        fs::write(&catalog, flipped).expect("written");
        let code = open(&place).code();
        assert!(
            code == codes::CHECKSUM_DOESNT_MATCH || code == codes::UNKNOWN_FORMAT_VERSION,
            "byte {at}: {code:?}"
        );
    }
    fs::remove_file(&catalog).expect("removed");
    assert!(open(&place).message().contains("catalog is missing"));
    fs::write(&catalog, whole).expect("written");
    assert_eq!(run(&place.open(), "SELECT x FROM t"), "1\n");

    let foreign = Place::new();
    fs::create_dir_all(&foreign.0).expect("a folder");
    fs::write(foreign.0.join("thesis.txt"), b"").expect("a file");
    assert!(open(&foreign).message().contains("thesis.txt"));
    assert_eq!(fs::read_dir(&foreign.0).expect("the folder").count(), 1);
    let file = Place::new();
    fs::write(&file.0, b"").expect("a file");
    assert!(open(&file).message().contains("is a file"));
    fs::remove_file(&file.0).expect("removed");
    let error = Database::open_to_read(Place::new().path()).err().expect("nothing to read");
    assert_eq!(error.code(), codes::FILE_DOESNT_EXIST);
}

/// Definitions are printed, and then nested deeper than they were written.
#[test]
fn what_is_nested_deeply_is_read_back() {
    let place = Place::new();
    let db = place.open();
    for n in [200, 250, 260, 290] {
        let sum = |term: &str| vec![term; n].join(" + ");
        run(&db, &format!("CREATE VIEW sum_{n} AS SELECT {} AS a", sum("1")));
        run(&db, &format!("CREATE VIEW not_{n} AS SELECT {}1 AS a", "NOT ".repeat(n)));
        run(&db, &format!("CREATE FUNCTION sum_{n} AS x -> {}", sum("x")));
        run(&db, &format!("CREATE FUNCTION not_{n} AS x -> {}x", "NOT ".repeat(n)));
    }
    let deepest = (1..1000).rev().find(|n| {
        let body = vec!["x"; *n].join(" + ");
        try_run(&db, &format!("CREATE FUNCTION deepest AS x -> {body}")).is_ok()
    });
    assert!(deepest.is_some_and(|n| n > 290), "{deepest:?}");
    let asked = |db: &Session| {
        for n in [200, 250, 260, 290] {
            assert_eq!(run(db, &format!("SELECT a, sum_{n}(2) FROM sum_{n}")), format!("{n}\t{}\n", 2 * n));
            assert_eq!(run(db, &format!("SELECT a, not_{n}(0) FROM not_{n}")), "1\t0\n");
        }
    };
    asked(&db);
    drop(db);
    let db = place.open();
    asked(&db);
    run(&db, "CREATE TABLE t (x UInt8)");
    drop(db);
    asked(&Database::open_to_read(place.path()).expect("the database").session());
}

/// What is too deep for what reads definitions.
#[test]
fn what_could_not_be_read_back_is_refused() {
    let place = Place::new();
    let db = place.open();
    let (open, close) = ("[".repeat(200), "]".repeat(200));
    let statements = [
        (format!("CREATE TABLE q ENGINE = Log AS SELECT {open}1{close} AS x"), "default.q"),
        (format!("CREATE VIEW q AS SELECT {open}1{close} AS x"), "default.q"),
    ];
    run(&db, "CREATE TABLE t ENGINE = Log AS SELECT 1 AS x");
    for (sql, name) in &statements {
        let error = fails(&db, sql);
        assert!(error.message().contains(&format!("definition of {name}")), "{error}");
    }
    assert_eq!(fs::read_dir(place.0.join("tables")).expect("the folder").count(), 1);
    // In memory nothing is read back.
    let memory = Database::default().session();
    run(&memory, &statements[0].0);
    drop(db);
    for db in [place.open(), Database::open_to_read(place.path()).expect("the database").session()] {
        assert_eq!(run(&db, "SHOW TABLES"), "t\n");
        assert_eq!(run(&db, "SELECT name FROM system.functions WHERE origin = 'SQLUserDefined'"), "");
    }
}

/// Changes the texts of definitions on disk as no statement would.
fn redefine(place: &Place, file: DefinitionFile, change: impl Fn(&mut Definition)) {
    let store = Store::open_to_write(&place.0).expect("the folder");
    let mut definitions = store.read(file).expect("definitions");
    definitions.iter_mut().filter(|d| d.kind != DefinitionKind::Database).for_each(change);
    store.write(file, &definitions).expect("written");
}

#[test]
fn a_definition_that_cannot_be_read_is_in_nobodys_way() {
    let place = Place::new();
    let db = place.open();
    for sql in [
        "CREATE TABLE whole ENGINE = Log AS SELECT 1 AS x",
        "CREATE TABLE engine ENGINE = Log AS SELECT 2 AS x",
        "CREATE TABLE ty ENGINE = Log AS SELECT 3 AS x",
        "CREATE VIEW view AS SELECT 4 AS x",
        "CREATE FUNCTION f AS x -> x + 1",
        "CREATE FUNCTION g AS x -> x + 2",
    ] {
        run(&db, sql);
    }
    drop(db);
    let swap = |from: &'static str, to: &'static str| {
        move |d: &mut Definition| {
            if matches!(&*d.name, "engine" | "ty" | "view" | "f") {
                d.text = d.text.replace(from, to);
            }
        }
    };
    let swaps = [
        ("ENGINE = Log", "ENGINE = Other"),
        ("`x` UInt8\n", "`x` NotYet\n"),
        ("AS SELECT 4", "AS SELECT (4"),
    ];
    for (from, to) in swaps {
        redefine(&place, DefinitionFile::Catalog, swap(from, to));
    }
    redefine(&place, DefinitionFile::Functions, swap("x + 1", "x +"));
    let reader = Database::open_to_read(place.path()).expect("the database").session();
    for _ in 0..2 {
        let database = Database::open(place.path()).expect("the database");
        let warnings = database.take_warnings();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(warnings[3].starts_with("View default.view cannot be used: "), "{}", warnings[3]);
        for db in [&reader, &database.session()] {
            assert_eq!(run(db, "SELECT g(x) FROM whole"), "3\n");
            assert_eq!(run(db, "SELECT count() FROM system.warnings"), "4\n");
            for (sql, told) in [
                ("SELECT x FROM engine", "which is not known: definition of default.engine"),
                ("SELECT count() FROM ty", "definition of default.ty"),
                ("SELECT * FROM view", "definition of default.view"),
                ("SELECT f(1)", "definition of function f"),
            ] {
                let error = fails(db, sql);
                assert!(error.message().contains(told), "{sql}: {error}");
            }
            assert_eq!(run(db, "SHOW TABLES"), "engine\nty\nview\nwhole\n");
            assert!(run(db, "SHOW CREATE TABLE engine").contains("ENGINE = Other"));
        }
        let db = database.session();
        assert!(try_run(&db, "INSERT INTO engine VALUES (1)").is_err());
        // What cannot be read is written again as it was found.
        run(&db, "CREATE TABLE other (x UInt8) ENGINE = Memory");
        run(&db, "CREATE FUNCTION other AS x -> x");
        run(&db, "DROP TABLE other");
        run(&db, "DROP FUNCTION other");
    }
    for (from, to) in &swaps[..2] {
        redefine(&place, DefinitionFile::Catalog, swap(to, from));
    }
    let db = place.open();
    assert_eq!(run(&db, "SELECT engine.x, ty.x FROM engine, ty"), "2\t3\n");
    drop(db);
    redefine(&place, DefinitionFile::Catalog, swap("ENGINE = Log", "ENGINE = Other"));
    let db = place.open();
    for sql in ["DROP TABLE engine", "DROP TABLE ty", "DROP VIEW view", "DROP FUNCTION f"] {
        run(&db, sql);
    }
    assert_eq!(fs::read_dir(place.0.join("tables")).expect("the folder").count(), 1);
    drop(db);
    assert!(Database::open(place.path()).expect("the database").take_warnings().is_empty());
}

#[test]
fn a_missing_file_of_rows_is_in_nobodys_way() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE a ENGINE = Log AS SELECT 1 AS x");
    run(&db, "CREATE TABLE b ENGINE = Log AS SELECT 2 AS x");
    drop(db);
    fs::remove_file(place.0.join("tables/1/rows")).expect("removed");
    for db in [Database::open_to_read(place.path()).expect("the database").session(), place.open()] {
        assert_eq!(run(&db, "SELECT x FROM b"), "2\n");
        assert_eq!(fails(&db, "SELECT x FROM a").code(), codes::FILE_DOESNT_EXIST);
        assert_eq!(
            run(&db, "SELECT name, total_rows FROM system.tables WHERE database = 'default'"),
            "a\t\\N\nb\t1\n"
        );
    }
}

#[test]
fn readers_do_not_mind_tables_that_are_replaced() {
    let place = Place::new();
    drop(place.open());
    let reader = Database::open_to_read(place.path()).expect("the database").session();
    let writer = place.open();
    run(&writer, "CREATE TABLE t ENGINE = Log AS SELECT 0 AS x");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for i in 0..150 {
                run(&writer, &format!("CREATE OR REPLACE TABLE t ENGINE = Log AS SELECT {i} AS x"));
            }
            done.store(true, Relaxed);
        });
        let mut last = 0;
        while !done.load(Relaxed) {
            let found: u32 = run(&reader, "SELECT x FROM t").trim().parse().expect("a number");
            assert!(found >= last, "{found} after {last}");
            last = found;
        }
    });
}

#[test]
fn a_torn_tail_is_told() {
    let place = Place::new();
    let db = place.open();
    run(&db, "CREATE TABLE t ENGINE = Log AS SELECT 1 AS x");
    let torn = place.copy();
    fs::OpenOptions::new()
        .append(true)
        .open(torn.0.join("tables/1/rows"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"LOGB and then the machine stopped"))
        .expect("written");
    let database = Database::open(torn.path()).expect("the database");
    let warnings = database.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("default.t") && warnings[0].contains("33 bytes"), "{}", warnings[0]);
    let db = database.session();
    assert_eq!(run(&db, "SELECT message FROM system.warnings"), format!("{}\n", warnings[0]));
    assert_eq!(run(&db, "SELECT x FROM t"), "1\n");
    drop((db, database));
    assert!(Database::open(torn.path()).expect("the database").take_warnings().is_empty());
}

#[test]
fn sessions_of_a_process_share_the_database() {
    let place = Place::new();
    let first = place.open();
    let second = place.open();
    let reader = Database::open_to_read(place.path()).expect("the database").session();
    run(&first, "CREATE TABLE t (x UInt8) ENGINE = Log");
    run(&second, "INSERT INTO t VALUES (1)");
    drop(first);
    assert_eq!(run(&reader, "SELECT x FROM t"), "1\n");
    drop(second);
    // The one that reads shares it, so it stays open.
    run(&place.open(), "INSERT INTO t VALUES (2)");
    assert_eq!(run(&reader, "SELECT x FROM t"), "1\n2\n");
}

#[test]
fn a_reader_that_was_there_first_sees_the_writer() {
    let place = Place::new();
    drop(place.open());
    let reader = Database::open_to_read(place.path()).expect("the database").session();
    let writer = place.open();
    run(&writer, "CREATE TABLE t (x UInt8) ENGINE = Log");
    for i in 1..4 {
        run(&writer, &format!("INSERT INTO t VALUES ({i})"));
        assert_eq!(run(&reader, "SELECT count(), max(x) FROM t"), format!("{i}\t{i}\n"));
    }
    assert_eq!(fails(&reader, "INSERT INTO t VALUES (1)").code(), codes::READONLY);
    assert_eq!(fails(&reader, "CREATE TABLE u (x UInt8) ENGINE = Memory").code(), codes::READONLY);
    assert_eq!(fails(&reader, "CREATE FUNCTION f AS x -> x").code(), codes::READONLY);
    assert_eq!(fails(&reader, "TRUNCATE TABLE t").code(), codes::READONLY);
    assert_eq!(fails(&reader, "DROP TABLE t").code(), codes::READONLY);
    run(&writer, "DROP TABLE t");
    assert_eq!(fails(&reader, "SELECT * FROM t").code(), codes::UNKNOWN_TABLE);
}

/// What the first version that could has written: it stays readable, where it is and as a database to go on with.
#[test]
fn the_first_version_stays_readable() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/on_disk_1");
    let rows_of_it = "SELECT number AS n, concat('#', toString(n)) AS s, if(n % 3 = 0, NULL, toString(n % 7)) AS l, [n, NULL] AS a, \
        map('k', n) AS m, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS x, toDateTime64(0, 3, 'UTC') AS y FROM numbers(100)";
    let reader =
        Database::open_to_read(stored.to_str().expect("a path of UTF-8")).expect("the database").session();
    let copy = Place::copy_of(&stored);
    let writer = copy.open();
    for db in [&reader, &writer] {
        let found = run(db, "SELECT n, s, l, a, m, u.x AS x, u.y AS y FROM d.t WHERE n < 100 ORDER BY n");
        assert_eq!(found, run(db, rows_of_it));
        assert_eq!(
            run(db, "SELECT n, s, l, a FROM d.t WHERE n >= 100 ORDER BY n"),
            "100\tgiven\t\\N\t[]\n101\té\t\\N\t[]\n"
        );
        assert_eq!(run(db, "SELECT count(), max(p) FROM v"), "102\t102\n");
        assert_eq!(
            run(db, "SELECT name, comment FROM system.databases WHERE name = 'd'"),
            "d\tof the first version\n"
        );
        assert_eq!(
            run(
                db,
                "SELECT database, name, engine FROM system.tables WHERE database IN ('d', 'default') ORDER BY ALL"
            ),
            "d\tt\tLog\ndefault\te\tStripeLog\ndefault\tmemory\tMemory\ndefault\tv\tView\n"
        );
    }
    let mut files: Vec<_> =
        fs::read_dir(&stored).expect("the folder").map(|f| f.expect("a file").file_name()).collect();
    files.sort();
    assert_eq!(files, ["catalog", "functions", "tables"]);
    run(&writer, "INSERT INTO d.t (n) VALUES (500)");
    assert_eq!(fails(&writer, "INSERT INTO d.t (n) VALUES (1000)").code(), codes::VIOLATED_CONSTRAINT);
    drop(writer);
    assert_eq!(run(&copy.open(), "SELECT max(n), count() FROM d.t"), "500\t103\n");
}

#[test]
fn dictionaries_survive() {
    let place = Place::new();
    let db = place.open();
    for sql in [
        "CREATE TABLE rows (id UInt64, name String) ENGINE = Log",
        "INSERT INTO rows VALUES (1, 'one')",
        "CREATE DICTIONARY names (id UInt64, name String DEFAULT '?' EXPRESSION upper(name)) PRIMARY KEY id \
         SOURCE(CLICKHOUSE(TABLE 'rows' PASSWORD 'secret')) LAYOUT(FLAT()) LIFETIME(0) COMMENT 'it''s'",
        "CREATE TABLE over (name String) ENGINE = Dictionary(names)",
    ] {
        run(&db, sql);
    }
    let definition = run(&db, "SHOW CREATE DICTIONARY names");
    drop(db);
    let db = place.open();
    assert_eq!(run(&db, "SELECT status FROM system.dictionaries"), "NOT_LOADED\n");
    assert_eq!(run(&db, "SELECT dictGet('names', 'name', number) FROM numbers(2)"), "?\nONE\n");
    assert_eq!(run(&db, "SELECT * FROM over"), "ONE\n");
    assert_eq!(run(&db, "SHOW CREATE DICTIONARY names"), definition);
    assert_eq!(fails(&db, "DROP TABLE rows").code(), codes::HAVE_DEPENDENT_OBJECTS);
}

#[test]
fn merges_that_were_left_are_done_after_opening() {
    let place = Place::new();
    let n_parts = |session: &Session| run(session, "SELECT count() FROM system.parts WHERE active");
    {
        let session = place.open();
        run(&session, "CREATE TABLE t (k UInt32) ENGINE = MergeTree ORDER BY k");
        run(&session, "SYSTEM STOP MERGES t");
        (0..64).for_each(|k| _ = run(&session, &format!("INSERT INTO t VALUES ({k})")));
        assert_eq!(n_parts(&session), "64\n");
    }
    {
        let reader = Database::open_to_read(place.path()).expect("the database").session();
        assert_eq!(n_parts(&reader), "64\n");
    }
    let session = place.open();
    let begun = std::time::Instant::now();
    while n_parts(&session) == "64\n" {
        assert!(begun.elapsed().as_secs() < 60, "nothing is merged");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(run(&session, "SELECT count(), sum(k) FROM t"), "64\t2016\n");
}

#[test]
fn defaults_over_other_columns_survive() {
    let place = Place::new();
    {
        let session = place.open();
        run(&session, "CREATE TABLE t (k UInt32, s String) ENGINE = MergeTree ORDER BY k");
        run(&session, "INSERT INTO t SELECT number, toString(number) FROM numbers(100000)");
        run(&session, "INSERT INTO t VALUES (7, 'seven')");
        run(
            &session,
            "ALTER TABLE t ADD COLUMN u String DEFAULT concat(s, '!'), ADD COLUMN n UInt64 MATERIALIZED length(u)",
        );
    }
    let answer =
        "SELECT count(), sum(n), countIf(u = concat(s, '!')), max(length(u)) FROM t WHERE u != '12!'";
    let expected = "100000\t588893\t100000\t6\n";
    let session = place.open();
    assert_eq!(run(&session, answer), expected);
    run(&session, "OPTIMIZE TABLE t FINAL");
    assert_eq!(run(&session, answer), expected);
    drop(session);
    assert_eq!(run(&place.open(), answer), expected);
}
