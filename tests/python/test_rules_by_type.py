"""Rules of the optimizer over columns that are plain, Nullable, LowCardinality and both: the plan shows that a rule ran and that a setting turns
it off, the answers stay. Rules that count are in test_mechanisms_by_type.py and test_switches_by_type.py as well."""

import pytest

import chalet

FORMS = {"plain": "{}", "nullable": "Nullable({})", "dictionary": "LowCardinality({})", "both": "LowCardinality(Nullable({}))"}

# A statement whose plan the rule changes, and the setting that turns it off.
RULES = {
    "unnest_subqueries": (
        "SELECT count(), sum(v) FROM t WHERE v > (SELECT avg(x) FROM d WHERE d.n = t.n)",
        "correlated_subqueries_substitute_equivalent_expressions = 0",
    ),
    "fold_empty_inputs": (
        "SELECT count(), sum(d.x) FROM (SELECT n FROM t WHERE 0) AS a JOIN d ON a.n = d.n",
        "query_plan_short_circuit_constant_false_join = 0",
    ),
    "factor_disjunctions": (
        "SELECT count() FROM t WHERE (n = 7 AND s = 'word 7') OR (n = 7 AND m > 1000)",
        "optimize_extract_common_expressions = 0",
    ),
    "push_down_filter": (
        "SELECT count(), sum(c) FROM (SELECT n, s, count() AS c FROM t GROUP BY n, s) WHERE n = 7",
        "query_plan_filter_push_down = 0",
    ),
    "share_common_tables": (
        "WITH a AS (SELECT s, n, sum(v) AS x FROM t GROUP BY s, n) SELECT count(), sum(x), max(s) FROM a WHERE x > (SELECT avg(x) FROM a)",
        "enable_materialized_cte = 0",
    ),
    "outer_join_to_inner": (
        "SELECT count(), sum(x) FROM t LEFT JOIN d ON t.n = d.n WHERE d.s = 'word 7'",
        "query_plan_convert_outer_join_to_inner_join = 0",
    ),
    "merge_projections": (
        "SELECT n, s FROM (SELECT s, n, m FROM (SELECT n, s, m, v FROM t)) ORDER BY ALL LIMIT 3",
        "query_plan_merge_expressions = 0",
    ),
    "filter_preimages": (
        "SELECT count(), sum(v) FROM t WHERE toYYYYMM(day) = 202405 AND toYear(at) != 2023",
        "optimize_time_filter_with_preimage = 0",
    ),
    "sum_of_shifted": ("SELECT sum(n + 1), sum(n + 2), sum(n - 3) FROM t", "optimize_arithmetic_operations_in_aggregate_functions = 0"),
    "reduce_group_keys": ("SELECT n, n + 1, count() FROM t GROUP BY n, n + 1 ORDER BY ALL LIMIT 3", "optimize_group_by_function_keys = 0"),
    "single_distinct_to_group_by": ("SELECT s, count(DISTINCT m) FROM t GROUP BY s ORDER BY s", "max_rows_to_group_by = 1000000000"),
    "remove_constant_keys": (
        "SELECT n, v FROM t WHERE s = 'word 7' ORDER BY 'a', n, v LIMIT 3",
        "query_plan_remove_redundant_sorting = 0",
    ),
    "push_down_limit": ("SELECT n, v FROM (SELECT n, v FROM t ORDER BY m, v) LIMIT 3", "query_plan_push_down_limit = 0"),
    "join_order": (
        "SELECT count() FROM d AS a JOIN d AS b ON a.n = b.n JOIN t AS c ON b.s = c.s WHERE a.x < 5",
        "query_plan_optimize_join_order_limit = 0",
    ),
    "inner_to_semi_join": (
        "SELECT DISTINCT t.s FROM t JOIN d ON t.n = d.n ORDER BY 1",
        "query_plan_convert_any_join_to_semi_or_anti_join = 0",
    ),
    "prune_columns": ("SELECT sum(v) FROM (SELECT * FROM t JOIN d ON t.n = d.n)", "query_plan_remove_unused_columns = 0"),
    "late_materialization": ("SELECT n, s, m, v FROM t ORDER BY m, v LIMIT 3", "query_plan_optimize_lazy_materialization = 0"),
    "only_lengths": ("SELECT sum(length(s)), countIf(empty(s)) FROM t", "optimize_functions_to_subcolumns = 0"),
}
# Rules without a setting of their own: what stands below the scan's filter or the aggregation of a plan without them, and not with them.
ALWAYS = {
    "unwrap_cast_in_comparison": ("SELECT count(), sum(v) FROM t WHERE toInt64(n) = 7", "toInt64("),
    "unwrap_cast_in_comparison, a CAST": ("SELECT count(), sum(v) FROM t WHERE CAST(m AS {type}) >= 140000 OR toUInt64(n) < 3", "CAST("),
    "unwrap_cast_in_comparison, a date": ("SELECT count(), sum(v) FROM t WHERE toDate(n) < '1970-01-17'", "toDate("),
    "min_max_through_cast": ("SELECT min(x), max(y) FROM (SELECT toInt64(n) AS x, toDate(n) AS y, v FROM t) WHERE v > 5", ":= toInt64("),
}
# Dictionaries have few strings and few sums of a number and a constant: those are made value by value, which is less.
UNSUITED = {"sum_of_shifted": ("dictionary", "both"), "only_lengths": ("dictionary", "both")}


@pytest.fixture(scope="module", params=FORMS)
def db(request):
    form = request.param

    def column(name, ty, made, at):
        made = f"if(number % 13 = {at}, NULL, {made})" if form in ("nullable", "both") else made
        return f"CAST({made} AS {FORMS[form].format(ty)}) AS {name}"

    with chalet.connect() as db:
        db.query("SET allow_suspicious_low_cardinality_types = 1")
        for table, columns, rows in (
            ("t", [column("n", "UInt16", "number % 500", 3), column("s", "String", "concat('word ', toString(number % 40))", 5),
                   column("m", "UInt32", "cityHash64(number) % 150000", 4), column("day", "Date", "toDate('2024-01-01') + number % 366", 6), column("at", "DateTime('UTC')", "toDateTime('2023-01-01 00:00:00', 'UTC') + number * 3600", 8), "number AS v"], 20_000),
            ("d", [column("n", "UInt16", "number", 2), column("s", "String", "concat('word ', toString(number % 30))", 4), "number AS x"], 300),
        ):  # fmt: skip
            db.query(f"CREATE TABLE {table} ENGINE = MergeTree ORDER BY tuple() AS SELECT {', '.join(columns)} FROM numbers({rows})")
        yield form, db


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_takes_each_form(db, rule):
    form, db = db
    sql, off = RULES[rule]
    plan, without = (str(db.query(f"EXPLAIN {asked}", "TSV")) for asked in (sql, f"{sql} SETTINGS {off}"))
    assert (plan != without) == (form not in UNSUITED.get(rule, ()))
    answer = str(db.query(sql, "TSV"))
    assert answer
    assert str(db.query(f"{sql} SETTINGS {off}", "TSV")) == answer


@pytest.mark.parametrize("rule", ALWAYS)
def test_rules_without_a_setting_take_each_form(db, rule):
    form, db = db
    sql, conversion = ALWAYS[rule]
    sql = sql.format(type="Nullable(Int64)" if form in ("nullable", "both") else "Int64")
    off = "query_plan_enable_optimizations = 0"
    plan, without = (str(db.query(f"EXPLAIN {asked}", "TSV")) for asked in (sql, f"{sql} SETTINGS {off}"))
    assert conversion in without.partition("Aggregate")[2]
    assert conversion not in plan.partition("Aggregate")[2]
    assert str(db.query(sql, "TSV")) == str(db.query(f"{sql} SETTINGS {off}", "TSV"))
