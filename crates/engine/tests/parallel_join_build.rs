//! Right sides of joins that all workers index: the answers are those of one worker's index, for each kind of join and of keys.

use chalet_base::events::{Event, total};
use chalet_engine::{Database, RunOptions, Session};

fn run(session: &Session, sql: &str, settings: &[(&str, &str)]) -> String {
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..RunOptions::default()
    };
    let answer = session.run(sql, options).unwrap_or_else(|e| panic!("{sql}: {e}"));
    String::from_utf8(answer.bytes).unwrap()
}

/// The answer, which is the same whoever indexes the right side; the counter tells who did. Keys of more than 8 bytes are indexed by
/// one worker.
fn answer(session: &Session, sql: &str, is_parallel: bool) -> String {
    let before = total(Event::ParallelJoinBuilds);
    let alone = run(session, sql, &[("parallel_hash_join_threshold", "100000000")]);
    assert_eq!(total(Event::ParallelJoinBuilds), before, "{sql}");
    for threads in ["1", "4"] {
        let settings = [("parallel_hash_join_threshold", "0"), ("max_threads", threads)];
        assert_eq!(run(session, sql, &settings), alone, "{sql}");
    }
    assert_eq!(total(Event::ParallelJoinBuilds) > before, is_parallel, "{sql}");
    alone
}

/// More rows than a worker takes at a time, of keys close together and far apart, unique and not, with NULL, one and two.
#[test]
fn each_kind_of_join_and_keys() {
    let session = Database::open(":memory:").unwrap().session();
    let columns = "number AS n, number * 1000003 + 17 AS far, intHash64(number) % 50000 * 1000003 AS some, \
        toInt32(number % 70001 - 35000) AS near, if(number % 11 = 0, NULL, toInt64(number) * 999983) AS maybe, \
        toString(number % 90000) AS short, if(number % 5 = 0, NULL, toUInt16(number % 3)) AS day, \
        toUInt128(number) * 1000000000000000003 AS wide";
    for sql in [
        format!("CREATE TABLE r ENGINE = Memory AS SELECT {columns} FROM numbers(300000)"),
        format!("CREATE TABLE l ENGINE = Memory AS SELECT {columns} FROM numbers(1000, 20000)"),
    ] {
        run(&session, &sql, &[]);
    }
    let mut n_pairs = Vec::new();
    for (keys, is_parallel) in [
        ("l.n = r.n", true),
        ("l.far = r.far", true),
        ("l.some = r.some", true),
        ("l.near = r.near", true),
        ("l.maybe = r.maybe", true),
        ("l.short = r.short", false),
        ("l.wide = r.wide", false),
        ("l.day = r.day AND l.near = r.near", true),
        ("l.day <=> r.day AND l.near = r.near", true),
        ("l.some = r.some AND l.short = r.short", false),
    ] {
        let sql =
            format!("SELECT count(), sum(l.n), sum(r.n), sum(l.n * r.n % 1000) FROM l JOIN r ON {keys}");
        n_pairs.push(answer(&session, &sql, is_parallel).split('\t').next().unwrap().to_string());
    }
    assert_eq!(n_pairs[..2], ["20000", "20000"]);
    // Which of several partners a semi join takes is not said.
    for (kind, asked) in [
        ("LEFT JOIN", "sum(l.n), sum(r.n)"),
        ("RIGHT JOIN", "sum(l.n), sum(r.n)"),
        ("FULL JOIN", "sum(l.n), sum(r.n)"),
        ("SEMI LEFT JOIN", "sum(l.n)"),
        ("SEMI RIGHT JOIN", "sum(r.n)"),
        ("ANTI LEFT JOIN", "sum(l.n)"),
        ("ANTI RIGHT JOIN", "sum(r.n)"),
    ] {
        for key in ["far", "some", "near"] {
            let sql = format!(
                "SELECT count(), {asked} FROM (SELECT * FROM l WHERE n % 2 = 0) AS l {kind} \
                 (SELECT * FROM r WHERE n % 3 > 0) AS r ON l.{key} = r.{key}"
            );
            answer(&session, &sql, true);
        }
    }
    for key in ["some", "near"] {
        for (kind, condition) in [("ASOF JOIN", "l.n >= r.n"), ("JOIN", "l.n > r.n AND l.n < r.n + 5000")] {
            let sql =
                format!("SELECT count(), sum(r.n) FROM l {kind} r ON l.{key} = r.{key} AND {condition}");
            answer(&session, &sql, true);
        }
    }
    // No key is valid.
    for kind in ["LEFT JOIN", "FULL JOIN"] {
        let sql = format!(
            "SELECT count() FROM l {kind} (SELECT materialize(NULL::Nullable(UInt64)) AS k FROM numbers(1000)) AS r ON l.n = r.k"
        );
        answer(&session, &sql, true);
    }
}
