//! Parts of queries that another server goes on with: keys and states under the names that the kernel's planner has for them.

use chalet_engine::{Database, Part, RunOptions, Stage};

fn part(sql: &str, stage: Stage) -> String {
    let db = Database::open(":memory:").expect("a database").session();
    db.part_of(sql, Part { stage, shard: (2, 3) }).expect("a part")
}

#[test]
fn groups_are_keys_and_states() {
    let sql = "SELECT `__table1`.`k` AS `k`, divide(sum(`__table1`.`v`) AS `s`, count()) AS `x` FROM `default`.`t` AS `__table1` \
               WHERE `__table1`.`v` > 2 GROUP BY `__table1`.`k` WITH TOTALS HAVING count() > 1 ORDER BY sum(`__table1`.`v`) ASC LIMIT \
               _CAST(3, 'UInt64')";
    assert_eq!(
        part(sql, Stage::MergeableState),
        "SELECT __table1.k AS `__table1.k`, sumState(__table1.v) AS `sum(__table1.v)`, countState() AS `count()` \
         FROM default.t AS __table1 WHERE __table1.v > 2 GROUP BY __table1.k"
    );
}

#[test]
fn names_are_those_of_functions_and_constants_with_types() {
    let sql = "SELECT quantile(0.5)(`t`.`v`) AS `q`, if((`t`.`k` > 2) AND (`t`.`s` = 'a\\'b') AND (`t`.`v` < -1), _CAST(7, 'UInt16'), \
               _CAST(NULL, 'Nullable(Nothing)')) AS `i` FROM `d`.`t` AS `t` GROUP BY if((`t`.`k` > 2) AND (`t`.`s` = 'a\\'b') AND \
               (`t`.`v` < -1), _CAST(7, 'UInt16'), _CAST(NULL, 'Nullable(Nothing)'))";
    let text = part(sql, Stage::MergeableState);
    assert!(text.contains("`quantile(0.5_Float64)(t.v)`"), "{text}");
    let key = "if(and(greater(t.k, 2_UInt8), equals(t.s, \\'a\\\\\\'b\\'_String), less(t.v, -1_Int8)), _CAST(7_UInt16, \
               \\'UInt16\\'_String), _CAST(NULL_Nullable(Nothing), \\'Nullable(Nothing)\\'_String))";
    assert!(
        text.contains(&format!("AS `{key}`")) || text.contains(&format!("AS `{}`", key.replace("\\'", "'"))),
        "{text}"
    );
}

#[test]
fn rows_stay_sorted_and_as_many_as_who_merges_may_need() {
    let sql = "SELECT `t`.`k` AS `k`, `t`.`v` + 1 AS `p` FROM `d`.`t` AS `t` ORDER BY `t`.`v` DESC LIMIT _CAST(3, 'UInt64') OFFSET _CAST(2, 'UInt64')";
    let text = part(sql, Stage::AfterAggregation);
    assert!(text.contains("t.k AS `t.k`"), "{text}");
    assert!(text.contains("t.v + 1 AS `plus(t.v, 1_UInt8)`"), "{text}");
    assert!(text.contains("t.v AS `t.v`"), "{text}");
    assert!(text.contains("ORDER BY t.v DESC LIMIT plus(_CAST(3, 'UInt64'), _CAST(2, 'UInt64'))"), "{text}");
}

#[test]
fn windows_are_computed_where_all_rows_are() {
    let sql = "SELECT `t`.`k` AS `k`, sum(`t`.`v`) OVER (PARTITION BY `t`.`s` ORDER BY `t`.`d` ASC) AS `w` FROM `d`.`t` AS `t` ORDER BY \
               `t`.`k` ASC LIMIT _CAST(3, 'UInt64')";
    assert_eq!(
        part(sql, Stage::MergeableState),
        "SELECT t.k AS `t.k`, t.v AS `t.v`, t.s AS `t.s`, t.d AS `t.d` FROM d.t AS t"
    );
}

#[test]
fn a_shard_knows_its_number() {
    let text = part(
        "SELECT shardNum() AS `_shard_num`, count() AS `count()` FROM `d`.`t` AS `t` GROUP BY shardNum()",
        Stage::MergeableState,
    );
    assert_eq!(
        text,
        "SELECT _CAST(2, 'UInt32') AS `shardNum()`, countState() AS `count()` FROM d.t AS t GROUP BY _CAST(2, 'UInt32')"
    );
}

#[test]
fn parts_run() {
    let db = Database::open(":memory:").expect("a database").session();
    let run = |sql: &str| {
        let options = RunOptions { format: Some("TabSeparated".into()), ..RunOptions::default() };
        db.run(sql, options).map(|answer| String::from_utf8(answer.bytes).expect("text"))
    };
    run("CREATE TABLE t (k UInt8, v UInt64) ENGINE = Memory").expect("made");
    run("INSERT INTO t VALUES (1, 2), (1, 3), (2, 4)").expect("filled");
    let sql = "SELECT `__table1`.`k` AS `k`, sum(`__table1`.`v`) AS `s` FROM `default`.`t` AS `__table1` GROUP BY `__table1`.`k` ORDER BY `__table1`.`k` ASC";
    let text = db.part_of(sql, Part { stage: Stage::MergeableState, shard: (1, 2) }).expect("a part");
    let merged =
        format!("SELECT `__table1.k`, sumMerge(`sum(__table1.v)`) FROM ({text}) GROUP BY 1 ORDER BY 1");
    assert_eq!(run(&merged).expect("rows"), "1\t5\n2\t4\n");
}

#[test]
fn parts_that_no_other_server_reads_are_refused() {
    let db = Database::open(":memory:").expect("a database").session();
    let part = Part { stage: Stage::MergeableState, shard: (1, 2) };
    for (sql, told) in [
        ("SELECT groupConcat(`t`.`s`) AS `x` FROM `d`.`t` AS `t`", "groupConcat"),
        (
            "SELECT `t`.`a` AS `a`, count() AS `c` FROM `d`.`t` AS `t` GROUP BY GROUPING SETS ((`t`.`a`), (`t`.`b`))",
            "GROUPING SETS",
        ),
    ] {
        let error = db.part_of(sql, part).expect_err("no part");
        assert!(error.message().contains(told), "{error}");
    }
}
