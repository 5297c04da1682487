//! Tables of very many columns.

use chalet_engine::{Database, RunOptions, Session};
use std::time::{Duration, Instant};

fn run(session: &Session, sql: &str) -> String {
    let options = RunOptions { format: Some("TSV".into()), ..RunOptions::default() };
    let answer = session.run(sql, options).unwrap_or_else(|e| panic!("{}: {e}", &sql[..sql.len().min(100)]));
    String::from_utf8_lossy(&answer.bytes).into_owned()
}

/// What it costs to leave columns out grows with their number, not with its square.
#[test]
fn insert_of_one_column_of_many() {
    const N: usize = 12_000;
    let db = Database::default().session();
    let columns: Vec<String> = (0..N).map(|i| format!("c{i} UInt64")).collect();
    run(&db, &format!("CREATE TABLE t ({}) ENGINE = Memory", columns.join(", ")));
    // A machine that is busy with other things delays some attempts, a square delays all.
    let insert = || {
        run(&db, "TRUNCATE TABLE t");
        let since = Instant::now();
        run(&db, "INSERT INTO t (c1) VALUES (1)");
        run(&db, "INSERT INTO t (c2) SELECT 2");
        since.elapsed()
    };
    let late: Vec<Duration> =
        (0..5).map_while(|_| Some(insert()).filter(|took| took.as_secs() >= 3)).collect();
    assert!(late.len() < 5, "{late:?}");
    let last = N - 1;
    assert_eq!(
        run(&db, &format!("SELECT c0, c1, c2, c{last} FROM t ORDER BY c1")),
        "0\t0\t2\t0\n0\t1\t0\t0\n"
    );
}
