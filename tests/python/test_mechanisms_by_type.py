"""What the engine does to save work it does for columns that are Nullable, LowCardinality and both: counters show it, a switch turns
it off, the answers stay."""

import pytest

import chalet

ROWS = 200_000
FORMS = {"plain": "{}", "nullable": "Nullable({})", "dictionary": "LowCardinality({})", "both": "LowCardinality(Nullable({}))"}

# Event, statement, and the settings without the mechanism. Columns: k is the key, n numbers, s short and t long texts, w many different words.
MECHANISMS = {
    "prewhere of numbers": ("PrewhereFilteredRows", "SELECT count(), max(t) FROM t WHERE n = 7 AND t LIKE '%5%' AND s <> ''", "optimize_move_to_prewhere = 0"),
    "prewhere of texts": ("PrewhereFilteredRows", "SELECT count(), max(v) FROM t WHERE s = 'word 7' AND t LIKE '%5%'", "optimize_move_to_prewhere = 0"),
    "skip index": ("SkipIndexPrunedRows", "SELECT count(), sum(v) FROM t WHERE w = 'key 777'", "use_skip_indexes = 0"),
    "read in order": ("ReadInOrder", "SELECT k FROM t ORDER BY k LIMIT 1000, 5", "optimize_read_in_order = 0"),
    "read in order, from the end": ("ReadInOrder", "SELECT k FROM t ORDER BY k DESC NULLS FIRST LIMIT 30000, 5", "optimize_read_in_order = 0"),
    "top-k": ("TopKFilteredRows", "SELECT v, m, t FROM t ORDER BY m, v, t LIMIT 10", "use_top_k_dynamic_filtering = 0"),
    "top-k, NULL first": (
        "TopKFilteredRows",
        "SELECT v, m, t FROM t WHERE v % 2 = 0 ORDER BY m DESC NULLS FIRST, v, t LIMIT 1000, 5",
        "use_top_k_dynamic_filtering = 0",
    ),
    "keys of several dictionaries": (
        "BlocksGroupedByCodes",
        "SELECT upper(s) AS a, substring(s, 1, 6) AS b, sum(v), count() FROM t GROUP BY a, b ORDER BY ALL",
        "",
    ),
    "run-time filter of numbers": ("RuntimeFiltersCreated", "SELECT count(), sum(v) FROM t JOIN d ON t.n = d.n", "enable_join_runtime_filters = 0"),
    "run-time filter of texts": ("RuntimeFiltersCreated", "SELECT count(), sum(v) FROM t JOIN d ON t.s = d.s", "enable_join_runtime_filters = 0"),
    "common table": (
        "CommonTablesShared",
        "WITH a AS (SELECT s, n, sum(v) AS x FROM t GROUP BY s, n) SELECT count(), sum(x), max(s) FROM a WHERE x > (SELECT avg(x) FROM a)",
        "enable_materialized_cte = 0",
    ),
    "shifted sums": ("ShiftedSumsRewritten", "SELECT sum(n + 1), sum(n + 2), sum(n - 3) FROM t", "optimize_arithmetic_operations_in_aggregate_functions = 0"),
    "two levels of numbers": (
        "AggregationHashTablesInitializedAsTwoLevel",
        "SELECT count(), sum(x), max(c) FROM (SELECT m, sum(v) AS x, count() AS c FROM t GROUP BY m)",
        "group_by_two_level_threshold = 0, group_by_two_level_threshold_bytes = 0",
    ),
    "two levels of texts": (
        "AggregationHashTablesInitializedAsTwoLevel",
        "SELECT count(), sum(x), max(c) FROM (SELECT w, sum(v) AS x, count() AS c FROM t GROUP BY w)",
        "group_by_two_level_threshold = 0, group_by_two_level_threshold_bytes = 0",
    ),
    "grouping sets": (
        "GroupingSetsOverGroups",
        "SELECT s, n % 3 AS g, sum(v), count() FROM t GROUP BY ROLLUP(s, g) ORDER BY ALL",
        "cascades_aggregation_pushdown = 0",
    ),
    "grouping before a join": (
        "EagerAggregations",
        "SELECT x.s, count(), sum(f.v) FROM t AS f JOIN d AS x ON f.n = x.n GROUP BY x.s ORDER BY 1",
        "cascades_aggregation_pushdown = 0",
    ),
    "semi join": (
        "JoinsToSemiJoins",
        "SELECT DISTINCT t.s FROM t JOIN d ON t.n = d.n ORDER BY 1",
        "query_plan_convert_any_join_to_semi_or_anti_join = 0",
    ),
    "filters on samples": ("SampledFilters", "SELECT count(), sum(x.v) FROM t AS x JOIN d ON x.n = d.n WHERE x.t LIKE '%55%'", "use_statistics = 0"),
    "lengths": ("StringsReadByLength", "SELECT sum(length(t)), countIf(empty(t)) FROM t", "optimize_functions_to_subcolumns = 0"),
    "parts by statistics": ("MergeTreePrunedParts", "SELECT count(), sum(v) FROM t WHERE p = 3", ""),
    "projection": ("ProjectionScans", "SELECT s, sum(v) FROM t GROUP BY s ORDER BY s", "optimize_use_projections = 0"),
    "texts searched together": ("StringsSearchedTogether", "SELECT count(), max(v) FROM t WHERE t LIKE '%12345%'", ""),
    "unread columns of joins": (
        "UnreadColumnsLeftOut",
        "SELECT count(), sum(v) FROM (SELECT * FROM t JOIN d ON t.n = d.n)",
        "query_plan_remove_unused_columns = 0",
    ),
    "right sides indexed by all": (
        "ParallelJoinBuilds",
        "SELECT count(), sum(x.v), max(x.s) FROM d LEFT JOIN t AS x ON d.n = x.n",
        "parallel_hash_join_threshold = 100000000",
    ),
    "narrow copies": ("NarrowJoinCopies", "SELECT count(), sum(x.v), sum(x.n) FROM t LEFT JOIN t AS x ON t.m = x.m", ""),
    "partial aggregation": (
        "PartialAggregationRows",
        "SELECT x.s, count(), sum(f.v) FROM t AS f JOIN d AS x ON f.n = x.n GROUP BY x.s ORDER BY 1",
        "cascades_aggregation_pushdown = 0",
    ),
    "sorts by wide entries": ("WideSorts", "SELECT cityHash64(groupArray(v)) FROM (SELECT * FROM t ORDER BY w, m)", ""),
    "partitions by entries": ("EntryBounds", "SELECT sum(r * v) FROM (SELECT rank() OVER (PARTITION BY n ORDER BY m) AS r, v FROM t)", ""),
    "final": ("FinalMergedRanges", "SELECT count(), sum(v), max(s), uniqExact(n) FROM r FINAL", ""),
    "counts of values": ("StatisticsAnswers", "SELECT count(), count(n), count(s), count(w) FROM t", "optimize_count_from_files = 0"),
    "windows for sub-queries": (
        "SubqueriesToWindows",
        "SELECT count(), sum(x.v) FROM t AS x JOIN d ON x.m = d.n WHERE x.v > (SELECT avg(v) FROM t AS o WHERE o.m = x.m)",
        "query_plan_optimize_join_order_limit = 0",
    ),
    "condition cache": ("QueryConditionCacheHits", "SELECT count() FROM t WHERE w = 'key 4711'", "use_query_condition_cache = 0"),
}

# Where the tables are too small for it otherwise.
ON = {"right sides indexed by all": "parallel_hash_join_threshold = 0"}

# Dictionaries have few strings and few sums of a number and a constant: those are made value by value, which is less. NULL is behind all
# other keys in either direction, so that the order from the end is no order of the table.
UNSUITED = {"lengths": ("dictionary", "both"), "shifted sums": ("dictionary", "both"), "read in order, from the end": ("nullable", "both")}


def columns(form):
    def of(ty):
        return FORMS[form].format(ty)

    return (
        f"k {of('UInt32')}, n {of('UInt16')}, m {of('UInt32')}, p {of('UInt8')}, s {of('String')}, t {of('String')}, w {of('String')}, v Int64"
    )


@pytest.fixture(scope="module", params=FORMS)
def db(request, tmp_path_factory):
    form = request.param

    def value(made, at):
        return f"if(number % 13 = {at}, NULL, {made})" if form in ("nullable", "both") else made

    with chalet.connect(str(tmp_path_factory.mktemp(form) / "db")) as db:
        # Thresholds count what one worker has.
        db.query("SYSTEM STOP MERGES; SET allow_suspicious_low_cardinality_types = 1; SET max_threads = 2")
        db.query(
            f"CREATE TABLE t ({columns(form)}, INDEX i w TYPE bloom_filter GRANULARITY 1, PROJECTION q (SELECT s, sum(v) GROUP BY s)) "
            "ENGINE = MergeTree ORDER BY k SETTINGS allow_nullable_key = 1"
        )
        for part in range(2):
            made = [
                value("number", 0), value("number * 7 % 500", 3), value("cityHash64(number) % 150000", 4), f"{part * 3}",
                value("concat('word ', toString(number % 40))", 5), value("repeat(toString(number), 1 + number % 9)", 6),
                value("concat('key ', toString(number % 90000))", 7), "number % 1000",
            ]
            db.query(f"INSERT INTO t SELECT {', '.join(made)} FROM numbers({ROWS // 2 * part}, {ROWS // 2})")
        db.query(f"CREATE TABLE d (n {FORMS[form].format('UInt16')}, s {FORMS[form].format('String')}) ENGINE = MergeTree ORDER BY tuple()")
        word = value("concat('word ', toString(number % 30))", 4)
        db.query(f"INSERT INTO d SELECT {value('number', 2)}, {word} FROM numbers(500)")
        db.query(f"CREATE TABLE r ({columns(form)}) ENGINE = ReplacingMergeTree ORDER BY k SETTINGS allow_nullable_key = 1")
        for part in range(2):
            db.query(f"INSERT INTO r SELECT * FROM t WHERE v % 3 != {part}")
        yield form, db


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_mechanism_takes_each_form(db, name, counted):
    form, db = db
    event, sql, off = MECHANISMS[name]
    if form in UNSUITED.get(name, ()):
        assert counted(db, sql, event)[1] == 0
        return
    if name == "condition cache":
        db.query(sql, "TSV")
    answer, with_it = counted(db, f"{sql} SETTINGS {ON[name]}" if name in ON else sql, event)
    assert with_it > 0 and answer
    if off:
        other, without = counted(db, f"{sql} SETTINGS {off}", event)
        assert answer == other
        assert without == 0


def test_rows_of_python_suspend_the_collector(db):
    form, db = db
    before = int(str(db.query("SELECT sum(value) FROM system.events WHERE event = 'CollectorSuspensions'", "TSV")))
    rows = db.query("SELECT n, s, t FROM t ORDER BY v, m, t LIMIT 20000").fetchall()
    assert len(rows) == 20_000
    assert any(None in row for row in rows) == (form in ("nullable", "both"))
    assert int(str(db.query("SELECT sum(value) FROM system.events WHERE event = 'CollectorSuspensions'", "TSV"))) > before


def test_texts_are_searched_together_as_one_by_one(db):
    # A condition that holds anyway, and that nobody can search for, has each row tested by itself.
    _, db = db
    one_by_one = "position(t, substring('x12345', 2)) > 0 OR position(t, materialize('12345')) > 0"
    found = [str(db.query(f"SELECT count(), max(v) FROM t WHERE {condition}", "TSV")) for condition in ("t LIKE '%12345%'", one_by_one)]
    assert found[0] == found[1]


def test_replaced_rows_come_once(db):
    # Each row of t is in one part of r or in both, and keys other than NULL have one row.
    _, db = db
    sums = "SELECT count(), sum(v), max(s), uniqExact(n) FROM {} WHERE k IS NOT NULL"
    assert str(db.query(sums.format("r FINAL"), "TSV")) == str(db.query(sums.format("t"), "TSV"))


@pytest.mark.parametrize("asked", ["count()", "min(n), max(n)", "min(s), max(w), count()", "max(k)", "min(p), max(m)"])
def test_counts_and_extremes_are_known_without_rows(db, counted, asked):
    # The counter is read by statements that have rows of their own.
    _, db = db
    known, read = counted(db, f"SELECT {asked} FROM t", "SelectedRows")
    off = "optimize_use_implicit_projections = 0, optimize_count_from_files = 0"
    looked_up, read_without = counted(db, f"SELECT {asked} FROM t SETTINGS {off}", "SelectedRows")
    assert known == looked_up
    assert read < 1000
    assert read_without >= ROWS
