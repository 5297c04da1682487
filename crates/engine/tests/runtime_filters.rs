//! Filters that joins make of the keys of their right sides: rows and row groups of the left side are left out by them, and the
//! answers are those without.

use chalet_base::events::{Event, total};
use chalet_engine::{Database, RunOptions, Session};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counters belong to the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(session: &Session, sql: &str, settings: &[(&str, &str)]) -> String {
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..RunOptions::default()
    };
    let answer = session.run(sql, options).unwrap_or_else(|e| panic!("{sql}: {e}"));
    String::from_utf8(answer.bytes).unwrap()
}

/// What filters tested and let pass while a query ran, and its answer, which is the same without filters.
fn filtered(session: &Session, sql: &str) -> (u64, u64, String) {
    let counts = || (total(Event::RuntimeFilterRowsChecked), total(Event::RuntimeFilterRowsPassed));
    let before = counts();
    let without = run(session, sql, &[("enable_join_runtime_filters", "0")]);
    assert_eq!(counts(), before, "{sql}");
    let with = run(session, sql, &[]);
    assert_eq!(with, without, "{sql}");
    let after = counts();
    (after.0 - before.0, after.1 - before.1, with)
}

#[test]
fn rows_without_a_partner_are_left_out() {
    let _alone = alone();
    let session = Database::open(":memory:").unwrap().session();
    for sql in [
        "CREATE TABLE l ENGINE = Memory AS SELECT number AS n, toString(number) AS s, toInt32(number) - 500 AS i FROM numbers(1000)",
        "CREATE TABLE r ENGINE = Memory AS SELECT number * 100 AS n, toString(number * 100) AS s, toNullable(toInt32(number * 100) - 500) AS i FROM numbers(10)",
    ] {
        run(&session, sql, &[]);
    }
    // A bitmap has no false positives.
    let (checked, passed, answer) = filtered(&session, "SELECT count(), sum(l.n) FROM l JOIN r ON l.n = r.n");
    assert_eq!((checked, passed, &*answer), (1000, 10, "10\t4500\n"));
    let (checked, passed, answer) = filtered(&session, "SELECT count(), sum(l.n) FROM l JOIN r ON l.i = r.i");
    assert_eq!((checked, passed, &*answer), (1000, 10, "10\t4500\n"));
    let (checked, passed, answer) = filtered(&session, "SELECT count(), sum(l.n) FROM l JOIN r ON l.s = r.s");
    assert_eq!((checked, &*answer), (1000, "10\t4500\n"));
    assert!((10..500).contains(&passed), "{passed}");
    // Through a projection, a GROUP BY and another join; semi and right joins.
    for sql in [
        "SELECT count(), sum(m) FROM (SELECT n + 100 AS m FROM l WHERE n % 2 = 0) AS a JOIN r ON a.m = r.n",
        "SELECT count(), sum(c) FROM (SELECT n, count() AS c FROM l GROUP BY n) AS a JOIN r ON a.n = r.n",
        "SELECT count() FROM l JOIN l AS k ON l.n = k.n JOIN r ON k.n = r.n",
        "SELECT count() FROM l LEFT SEMI JOIN r ON l.n = r.n",
        "SELECT count(), sum(r.n) FROM l RIGHT JOIN r ON l.n = r.n + 50",
        "SELECT count(), sum(r.n) FROM l RIGHT SEMI JOIN r ON l.n = r.n",
        "SELECT count(), sum(r.n) FROM l RIGHT ANTI JOIN r ON l.n = r.n",
    ] {
        let (checked, passed, _) = filtered(&session, sql);
        assert!(passed * 10 < checked, "{sql}: {passed} of {checked}");
    }
    // Rows without a partner are put out, or counted, or one row more changes which partner another has.
    for sql in [
        "SELECT count(), sum(l.n) FROM l LEFT JOIN r ON l.n = r.n",
        "SELECT count(), sum(l.n) FROM l FULL JOIN r ON l.n = r.n",
        "SELECT count(), sum(l.n) FROM l LEFT ANTI JOIN r ON l.n = r.n",
        "SELECT count(), sum(l.n) FROM l ANY JOIN r ON l.n % 2 = r.n",
        "SELECT count(), sum(x) FROM (SELECT n, rowNumberInAllBlocks() AS x FROM l) AS a JOIN r ON a.n = r.n",
    ] {
        assert_eq!(filtered(&session, sql).0, 0, "{sql}");
    }
}

#[test]
fn row_groups_are_skipped() {
    let _alone = alone();
    let session = Database::open(":memory:").unwrap().session();
    let path = std::env::temp_dir().join(format!("chalet-runtime-filters-{}.parquet", std::process::id()));
    let file = path.to_string_lossy();
    let settings =
        [("output_format_parquet_row_group_size", "1000"), ("max_block_size", "1000"), ("max_threads", "1")];
    run(
        &session,
        &format!("INSERT INTO FUNCTION file('{file}') SELECT number AS n FROM numbers(10000)"),
        &settings,
    );
    let sql = format!(
        "SELECT count() FROM file('{file}') AS l JOIN (SELECT number * 7 + 5100 AS n FROM numbers(9)) AS r ON l.n = r.n"
    );
    let pruned = total(Event::ParquetPrunedRowGroups);
    let (checked, passed, answer) = filtered(&session, &sql);
    std::fs::remove_file(&path).unwrap();
    assert_eq!((passed, &*answer), (9, "9\n"));
    assert!(checked <= 1000, "{checked}");
    assert_eq!(total(Event::ParquetPrunedRowGroups) - pruned, 9);
}
