//! Aggregations whose groups are merged before all rows are in.

use chalet_engine::{Database, RunOptions};

/// Groups that come again after equal ones were merged join those that are left, whose states have no room for them yet.
#[test]
fn groups_come_again_after_a_merge() {
    let sql = "SELECT count(), sum(a) FROM (
        SELECT cityHash64(number % 200000) AS k, sum(if(number % 3 = 0, NULL, number)) AS a
        FROM numbers_mt(20000000) GROUP BY k)";
    let options = RunOptions {
        format: Some("TabSeparated".into()),
        settings: vec![("max_threads".into(), "2".into())],
        ..RunOptions::default()
    };
    let answer = Database::open(":memory:").unwrap().session().run(sql, options).unwrap();
    assert_eq!(String::from_utf8(answer.bytes).unwrap(), "200000\t133333326666667\n");
}
