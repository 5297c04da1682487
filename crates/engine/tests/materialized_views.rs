//! Materialized views of databases on disk: what closing and opening leaves of them, and INSERTs that fail.

use chalet_base::Result;
use chalet_engine::{Database, RunOptions, Session};

fn try_run(session: &Session, sql: &str) -> Result<String> {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    Ok(String::from_utf8_lossy(&session.run(sql, options)?.bytes).into_owned())
}

fn run(session: &Session, sql: &str) -> String {
    try_run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

const VIEWS: &str = "CREATE TABLE source (k UInt64, v UInt64) ORDER BY k;
    CREATE TABLE sums (k UInt64, s UInt64) ENGINE = Log;
    CREATE MATERIALIZED VIEW to_sums TO sums AS SELECT k, sum(v) AS s FROM source GROUP BY k;
    CREATE MATERIALIZED VIEW own ENGINE = SummingMergeTree ORDER BY k COMMENT 'it''s' AS SELECT k, v FROM source;
    CREATE MATERIALIZED VIEW logged ENGINE = Log AS SELECT throwIf(k = 777) AS t, k FROM source;
    INSERT INTO source VALUES (1, 2), (1, 3)";

#[test]
fn are_there_after_opening() {
    let folder = std::env::temp_dir().join(format!("chalet-views-{}", std::process::id()));
    let path = folder.to_str().expect("a path of ASCII");
    let open = || Database::open(path).expect("the database").session();
    let shown = "SHOW CREATE TABLE own; SHOW CREATE TABLE to_sums";
    let first = open();
    run(&first, VIEWS);
    let before = run(&first, shown);
    drop(first);
    let second = open();
    assert_eq!(run(&second, shown), before);
    assert_eq!(run(&second, "SELECT * FROM to_sums"), "1\t5\n");
    assert_eq!(run(&second, "SELECT * FROM own FINAL"), "1\t5\n");
    run(&second, "ALTER TABLE own MODIFY QUERY SELECT k, v * 10 AS v FROM source; RENAME TABLE own TO mine");
    run(&second, "INSERT INTO source VALUES (2, 1)");
    // No view gets anything of an INSERT when one of the queries fails; the table keeps its rows, as in ClickHouse.
    assert!(try_run(&second, "INSERT INTO source VALUES (777, 1)").is_err());
    drop(second);
    let third = open();
    assert_eq!(run(&third, "SELECT count() FROM source"), "4\n");
    assert_eq!(run(&third, "SELECT * FROM mine FINAL ORDER BY k"), "1\t5\n2\t10\n");
    assert_eq!(run(&third, "SELECT count() FROM logged"), "3\n");
    let folders = || std::fs::read_dir(folder.join("tables")).map_or(0, |all| all.count());
    assert_eq!(folders(), 4);
    run(&third, "DROP VIEW mine; DROP VIEW to_sums");
    drop(third);
    let last = open();
    assert_eq!(run(&last, "SHOW TABLES"), "logged\nsource\nsums\n");
    assert_eq!(folders(), 3);
    drop(last);
    let _ = std::fs::remove_dir_all(&folder);
}
