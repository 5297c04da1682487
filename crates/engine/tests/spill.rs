//! GROUP BY with less memory than its groups need: temporary files, the same answers.

use chalet_base::events::{self, Event};
use chalet_engine::{Database, RunOptions};
use std::sync::Mutex;

/// The counters are those of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(sql: &str, settings: &[(&str, &str)]) -> chalet_base::Result<String> {
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..RunOptions::default()
    };
    let bytes = Database::open(":memory:")?.session().run(sql, options)?.bytes;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn spills() -> u64 {
    events::total(Event::ExternalAggregationWritePart)
}

/// A query over many groups, ended so that its answer is small: keys of every form, states of every kind.
const QUERIES: [&str; 7] = [
    "SELECT number % 400000 AS k, count(), sum(number), avg(number) FROM numbers(1000000) GROUP BY k ORDER BY k LIMIT 5",
    "SELECT toString(number % 300000) AS k, max(number), min(toString(number)) FROM numbers(900000) GROUP BY k \
     ORDER BY k LIMIT 5",
    "SELECT sum(cityHash64(k, c, u)) FROM (SELECT concat('a key of some length ', toString(number % 200000)) AS k, \
     number % 3 AS m, count() AS c, uniqExact(number) AS u FROM numbers(600000) GROUP BY k, m)",
    "SELECT sum(cityHash64(a, b, c)) FROM (SELECT toInt128(number % 250000) AS a, toUInt64(number % 5) AS b, \
     quantileExact(number) AS c FROM numbers(500000) GROUP BY a, b)",
    "SELECT sum(cityHash64(a, b, c)) FROM (SELECT toNullable(toString(number % 250000)) AS a, toString(number % 7) AS b, \
     argMax(number, number) AS c FROM numbers(500000) GROUP BY a, b)",
    "SELECT sum(cityHash64(k, g)) FROM (SELECT number % 100000 AS k, groupArray(number) AS g FROM numbers(400000) \
     GROUP BY k)",
    "SELECT sum(cityHash64(a, b, c)) FROM (SELECT number % 100000 AS a, number % 9 AS b, count() AS c \
     FROM numbers(400000) GROUP BY CUBE(a, b))",
];

#[test]
fn answers_are_the_same() {
    let _one = ONE_AT_A_TIME.lock();
    for sql in QUERIES {
        let before = spills();
        let expected = run(sql, &[]).unwrap();
        assert_eq!(spills(), before, "{sql}");
        for settings in [
            // So little memory that everything is written, again and again.
            &[("max_bytes_before_external_group_by", "1000000")][..],
            &[("max_bytes_before_external_group_by", "1000000"), ("max_threads", "1")],
            &[("max_bytes_before_external_group_by", "6000000"), ("max_threads", "4")],
        ] {
            let before = spills();
            assert_eq!(run(sql, settings).unwrap(), expected, "{sql} {settings:?}");
            assert!(spills() > before, "{sql} {settings:?} wrote nothing");
        }
    }
}

#[test]
fn refused_memory_is_done_without() {
    let _one = ONE_AT_A_TIME.lock();
    let sql = "SELECT sum(c), max(s) FROM (SELECT number AS k, count() AS c, sum(number) AS s FROM numbers(2000000) \
               GROUP BY k)";
    let limit = ("max_memory_usage", "40000000");
    let before = spills();
    assert_eq!(run(sql, &[limit]).unwrap(), "2000000\t1999999\n");
    // Half of the limit is the default; without it nothing is written before memory is refused.
    let at_half = spills();
    assert!(at_half > before);
    assert_eq!(
        run(sql, &[limit, ("max_bytes_ratio_before_external_group_by", "0")]).unwrap(),
        "2000000\t1999999\n"
    );
    assert!(spills() > at_half);
}

#[test]
fn what_has_no_keys_is_refused() {
    let sql = "SELECT length(groupArray(number)) FROM numbers(2000000)";
    let error = run(sql, &[("max_memory_usage", "10000000")]).unwrap_err();
    assert_eq!(error.code().number, 241, "{error}");
}
