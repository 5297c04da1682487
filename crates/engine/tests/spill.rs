//! Operators with less memory than their rows need: temporary files, the same answers.

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

/// Queries answer the same with these settings as without, and only with them they count this event.
fn same_answers(queries: &[&str], event: Event, settings: &[&[(&str, &str)]]) {
    let _one = ONE_AT_A_TIME.lock();
    for sql in queries {
        let before = events::total(event);
        // Workers that race for the first of equal rows would bring them out in different orders.
        let expected = run(sql, &[("max_threads", "1")]).unwrap();
        assert_eq!(events::total(event), before, "{sql}");
        for settings in settings {
            let before = events::total(event);
            assert_eq!(run(sql, settings).unwrap(), expected, "{sql} {settings:?}");
            assert!(events::total(event) > before, "{sql} {settings:?} wrote nothing");
        }
    }
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
fn groups() {
    let settings: [&[(&str, &str)]; 3] = [
        // So little memory that everything is written, again and again.
        &[("max_bytes_before_external_group_by", "1000000")],
        &[("max_bytes_before_external_group_by", "1000000"), ("max_threads", "1")],
        &[("max_bytes_before_external_group_by", "6000000"), ("max_threads", "4")],
    ];
    same_answers(&QUERIES, Event::ExternalAggregationWritePart, &settings);
}

/// Whole rows in order: types of every kind, equal keys that must keep their order, limits.
const SORTED: [&str; 7] = [
    "SELECT number, cityHash64(number) AS h FROM numbers(100000) ORDER BY h",
    "SELECT number, number % 7 AS k, toString(number) FROM numbers(70000) ORDER BY k DESC",
    "SELECT number, if(number % 3 = 0, NULL, number % 100) AS k, [number, k] AS a, ('x', toString(k)) AS t \
     FROM numbers(100000) ORDER BY k DESC NULLS FIRST, t, number % 5",
    "SELECT toLowCardinality(toString(number % 10)) AS l, 'a constant' AS c, number FROM numbers(100000) ORDER BY l",
    "SELECT number FROM numbers(100000) ORDER BY cityHash64(number) LIMIT 50000",
    "SELECT number FROM numbers(100000) ORDER BY number % 10 LIMIT 5 OFFSET 50000",
    "SELECT groupArray(h) = arraySort(groupArray(h)) FROM (SELECT concat('a string of some length', toString(\
     cityHash64(number))) AS h FROM numbers(100000) ORDER BY h)",
];

#[test]
fn sorted_rows() {
    let settings: [&[(&str, &str)]; 3] = [
        &[("max_bytes_before_external_sort", "1")],
        // So many runs that they are merged in passes.
        &[("max_bytes_before_external_sort", "1"), ("max_block_size", "1000"), ("max_threads", "4")],
        &[("max_bytes_before_external_sort", "1000000"), ("max_threads", "4")],
    ];
    same_answers(&SORTED, Event::ExternalSortWritePart, &settings);
    for event in
        [Event::ExternalSortMerge, Event::ExternalSortCompressedBytes, Event::ExternalProcessingFilesTotal]
    {
        same_answers(&SORTED[..1], event, &settings[..1]);
    }
}

/// Partitions of many sizes, one for all rows, arguments that are computed.
const WINDOWS: [&str; 4] = [
    "SELECT number, row_number() OVER (PARTITION BY number % 1000 ORDER BY cityHash64(number)) AS r FROM numbers(60000) \
     ORDER BY number",
    "SELECT number, sum(number + 1) OVER (ORDER BY number % 100, number ROWS 3 PRECEDING), lagInFrame(toString(number)) OVER w \
     FROM numbers(20000) WINDOW w AS (PARTITION BY intDiv(number, 7) ORDER BY number DESC) ORDER BY number",
    "SELECT number, count() OVER (), rank() OVER (PARTITION BY if(number % 3 = 0, NULL, number % 4) ORDER BY number % 50) \
     FROM numbers(30000) ORDER BY number",
    "SELECT k, max(s) OVER (PARTITION BY k ORDER BY s) AS m FROM (SELECT toString(number % 11) AS k, concat('some text ', \
     toString(cityHash64(number) % 1000)) AS s FROM numbers(20000))",
];

#[test]
fn windows() {
    let settings: [&[(&str, &str)]; 2] = [
        &[("max_bytes_before_external_sort", "1"), ("max_block_size", "3000")],
        &[("max_bytes_before_external_sort", "1000000"), ("max_threads", "1")],
    ];
    same_answers(&WINDOWS, Event::ExternalSortWritePart, &settings[..1]);
    same_answers(&WINDOWS[..1], Event::ExternalSortWritePart, &settings[1..]);
}

/// Columns of one word, several, NULLs, and few values that many rows have; in the order of the input.
const DISTINCT: [&str; 4] = [
    "SELECT DISTINCT cityHash64(number) % 60000 FROM numbers(100000)",
    "SELECT DISTINCT toString(cityHash64(number) % 30000), number % 3 FROM numbers(100000)",
    "SELECT DISTINCT if(number % 7 = 0, NULL, number % 20000) AS x FROM numbers(50000) WHERE number > 100",
    "SELECT x FROM (SELECT DISTINCT number % 30000 AS x FROM numbers(60000)) UNION ALL SELECT DISTINCT number % 20000 \
     FROM numbers(50000)",
];

#[test]
fn distinct_rows() {
    let settings: [&[(&str, &str)]; 2] = [
        &[("max_bytes_before_external_distinct", "1"), ("max_block_size", "3000"), ("max_threads", "1")],
        &[("max_bytes_before_external_distinct", "300000"), ("max_block_size", "5000"), ("max_threads", "1")],
    ];
    // Distinct rows come in any order.
    let sorted = DISTINCT.map(|sql| format!("SELECT * FROM ({sql}) ORDER BY ALL"));
    let sorted = sorted.each_ref().map(String::as_str);
    same_answers(&sorted, Event::ExternalDistinctWritePart, &settings);
    same_answers(&sorted, Event::ExternalDistinctMerge, &settings[..1]);
}

/// What is in both, and what is only in one; equal rows count where ALL asks for it.
const SET_OPS: [&str; 5] = [
    "SELECT number % 30000 FROM numbers(50000) INTERSECT ALL SELECT number * 2 FROM numbers(20000)",
    "SELECT toString(number % 9000), number % 2 FROM numbers(50000) INTERSECT DISTINCT SELECT toString(number * 3), 1 \
     FROM numbers(20000)",
    "SELECT number % 9000 FROM numbers(30000) EXCEPT ALL SELECT number FROM numbers(5000)",
    "SELECT if(number % 5 = 0, NULL, number % 9000) FROM numbers(30000) EXCEPT DISTINCT SELECT number * 2 FROM \
     numbers(2000)",
    "SELECT number % 9000 AS x FROM numbers(30000) EXCEPT DISTINCT SELECT 5",
];

#[test]
fn set_operations() {
    let settings: [&[(&str, &str)]; 2] = [
        &[("max_bytes_before_external_distinct", "1"), ("max_block_size", "3000"), ("max_threads", "1")],
        &[("max_bytes_before_external_distinct", "100000"), ("max_block_size", "5000"), ("max_threads", "1")],
    ];
    same_answers(&SET_OPS, Event::ExternalDistinctWritePart, &settings);
}

/// Every kind and strictness, with keys that both sides have, NULLs, and conditions beside the keys.
fn joins() -> Vec<String> {
    let left = "(SELECT if(number % 11 = 0, NULL, number % 3000) AS k, number AS l, toString(number) AS ls FROM numbers(5000))";
    let right = "(SELECT if(number % 7 = 0, NULL, number * 2) AS k, number % 500 AS r, number AS n FROM numbers(2500) UNION ALL \
                 SELECT 4 AS k, number AS r, number + 5000 AS n FROM numbers(30))";
    let kinds = [
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "LEFT SEMI",
        "RIGHT SEMI",
        "LEFT ANTI",
        "RIGHT ANTI",
        "ANY LEFT",
        "ANY INNER",
        "ANY RIGHT",
    ];
    let join = |kind: &str, on: &str| {
        format!("SELECT a.k, l, ls, b.k, r, n FROM {left} AS a {kind} JOIN {right} AS b ON {on} ORDER BY ALL")
    };
    let mut all: Vec<String> = kinds.iter().map(|kind| join(kind, "a.k = b.k")).collect();
    all.push(join("FULL", "a.k IS NOT DISTINCT FROM b.k"));
    all.push(join("LEFT", "a.k = b.k AND a.l < b.n"));
    all.push(join("INNER", "a.k = b.k AND toString(b.n) = a.ls"));
    all.push(join("ASOF LEFT", "a.l % 10 = b.n % 10 AND a.l >= b.n"));
    all.push(join("ASOF", "a.k = b.k AND a.l > b.n"));
    all.push(format!("{} SETTINGS join_use_nulls = 1", join("FULL", "a.k = b.k")));
    all
}

#[test]
fn joined_rows() {
    let settings: [&[(&str, &str)]; 2] = [
        // Which of several left rows is the partner depends on which comes first, where a right row has one alone.
        &[("max_bytes_before_external_join", "1"), ("max_block_size", "700"), ("max_threads", "1")],
        &[("max_bytes_before_external_join", "1"), ("max_block_size", "300"), ("max_threads", "4")],
    ];
    let all = joins();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    same_answers(&all, Event::ExternalJoinWritePart, &settings[..1]);
    same_answers(&all[..4], Event::ExternalJoinWritePart, &settings[1..]);
    same_answers(&all[..1], Event::ExternalJoinMerge, &settings[..1]);
}

#[test]
fn a_sort_needs_less_memory_than_its_rows() {
    let _one = ONE_AT_A_TIME.lock();
    let sql = "SELECT length(s) FROM (SELECT toString(number) || ' and some bytes more' AS s, cityHash64(number) AS h \
               FROM numbers(600000)) ORDER BY h, s";
    let expected = run(sql, &[]).unwrap();
    let before = events::total(Event::ExternalSortWritePart);
    // The rows take about 60 MB.
    assert_eq!(run(sql, &[("max_memory_usage", "40000000")]).unwrap(), expected);
    assert!(events::total(Event::ExternalSortWritePart) > before);
}

#[test]
fn temporary_files_are_limited() {
    let _one = ONE_AT_A_TIME.lock();
    let limit = ("max_temporary_data_on_disk_size_for_query", "100000");
    for (sql, setting) in
        [(SORTED[0], "max_bytes_before_external_sort"), (QUERIES[2], "max_bytes_before_external_group_by")]
    {
        let error = run(sql, &[limit, (setting, "1000")]).unwrap_err();
        assert_eq!(error.code().number, 396, "{error}");
        assert!(
            error.message().contains("Limit for temporary files size exceeded (would consume"),
            "{error}"
        );
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let _one = ONE_AT_A_TIME.lock();
    let before = std::env::var_os("TMPDIR");
    // SAFETY: tests of this file run one at a time, and nothing else of them reads the environment meanwhile.
    unsafe { std::env::set_var("TMPDIR", "/nowhere/at/all") };
    let error = run(SORTED[0], &[("max_bytes_before_external_sort", "1000")]).unwrap_err();
    match before {
        // SAFETY: as above.
        Some(folder) => unsafe { std::env::set_var("TMPDIR", folder) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var("TMPDIR") },
    }
    assert_eq!(error.code().number, 75, "{error}");
    assert!(error.message().contains("ORDER BY cannot keep temporary data in /nowhere/at/all"), "{error}");
    // Nothing else is harmed.
    assert_eq!(run("SELECT 1", &[]).unwrap(), "1\n");
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
