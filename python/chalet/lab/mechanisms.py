"""What each mechanism of the engine is worth: an experiment that switches it off, over a table made for it.

The baseline is without the mechanism, so that KEEP says that it is worth having.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import machine
from .experiment import Outcome, conducted
from .spec import parsed
from .verdict import KEEP

ROWS = 2_000_000
MADE = (
    "CREATE TABLE t (k UInt64, day Date, user UInt32, url String, page String, v Float64, shop LowCardinality(String), state LowCardinality(String), INDEX i user TYPE bloom_filter "
    "GRANULARITY 1) ENGINE = MergeTree ORDER BY k",
    "INSERT INTO t SELECT number, toDate('2024-01-01') + number % 366, cityHash64(number) % 1000000, "
    "concat('https://example.com/', hex(cityHash64(number) % 50000)), "
    "concat('https://example.com/', hex(sipHash64(number)), '/', hex(cityHash64(number))), number * 3, "
    "concat('shop number ', toString(cityHash64(number) % 5)), concat('state ', toString(number % 3)) "
    f"FROM numbers({ROWS})",
    "CREATE TABLE d (user UInt32, name String) ENGINE = MergeTree ORDER BY user",
    "INSERT INTO d SELECT number * 997, toString(number) FROM numbers(1000)",
    "CREATE TABLE n (a Nullable(UInt64), b Nullable(Float64)) ENGINE = MergeTree ORDER BY tuple()",
    f"INSERT INTO n SELECT cityHash64(number), number / 7 FROM numbers({ROWS})",
)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: what of a variant switches it off (`settings` or `environment`) and what it is with it, the statement or command
    that shows it, and the counter that moves when it runs."""

    name: str
    about: str
    off: dict[str, Any]
    on: dict[str, Any]
    sql: str = ""
    counter: str = ""
    metric: str = "seconds"
    # Of both variants.
    common: dict[str, Any] = field(default_factory=dict)
    # Why it stays where no effect is seen.
    justified: str = ""


def by_settings(name: str, about: str, sql: str, counter: str = "", others: dict[str, object] | None = None, **off: object) -> Mechanism:
    """A mechanism that settings switch; `others` hold with it and without."""
    common = others or {}
    without = {"settings": {**common, **off}}
    return Mechanism(name, about, without, {"settings": {**common, **{key: _on(value) for key, value in off.items()}}}, sql, counter)


def _on(value: object) -> object:
    return 1 if value == 0 else 0


def by_switch(name: str, about: str, switch: str, sql: str, counter: str = "", on: bool = True, **more: Any) -> Mechanism:
    """One that only the environment switches, since it works below every query. `on` says whether it works when nothing is said."""
    switched = {"environment": {"CHALET_SWITCHES": f"{'-' if on else '+'}{switch}"}}
    nothing = {"environment": {"CHALET_SWITCHES": ""}}
    return Mechanism(name, about, *((switched, nothing) if on else (nothing, switched)), sql, counter, **more)


_START = "import chalet; print(chalet.connect().query('SELECT 1'))"
_EAGER = (
    "import chalet, chalet.dbapi, chalet.session, chalet.lab, chalet.aio, chalet.state.sqlitelike, chalet.udf, chalet.clickhouse_driver; "
)

MECHANISMS = (
    Mechanism(
        "threads",
        "many threads, beside one",
        {"settings": {"max_threads": 1}},
        {"settings": {"max_threads": 0}},
        "SELECT user % 1000 AS u, count(), sum(v) FROM t GROUP BY u ORDER BY u",
    ),
    Mechanism(
        "two-level-aggregation",
        "groups divided by the hash of their keys, so that all threads merge",
        {"settings": {"group_by_two_level_threshold": 0, "group_by_two_level_threshold_bytes": 0}},
        {"settings": {"group_by_two_level_threshold": 100000, "group_by_two_level_threshold_bytes": 50000000}},
        "SELECT max(n), max(s) FROM (SELECT user, count() AS n, sum(v) AS s FROM t GROUP BY user)",
        "AggregationHashTablesInitializedAsTwoLevel",
    ),
    by_settings(
        "condition-cache",
        "the query condition cache, on a filter that was asked before",
        "SELECT count() FROM t WHERE url LIKE '%FFFF%'",
        "QueryConditionCacheHits",
        use_query_condition_cache=0,
    ),
    by_settings(
        "shifted-sums",
        "sums of a value and a constant, made of one sum",
        "SELECT " + ", ".join(f"sum(user + {n})" for n in range(30)) + " FROM t",
        "ShiftedSumsRewritten",
        optimize_arithmetic_operations_in_aggregate_functions=0,
    ),
    by_switch(
        "two-byte-search",
        "substrings searched in whole columns by two bytes at once",
        "two-byte-search",
        "SELECT count() FROM t WHERE page LIKE '%/FFFF%' SETTINGS use_query_condition_cache = 0",
        "StringsSearchedTogether",
    ),
    by_switch(
        "counter-shards",
        "counters in a cache line for each thread",
        "counter-shards",
        "SELECT sum(k) FROM t SETTINGS max_block_size = 512",
        justified="events are counted once a block, so that two threads meet rarely; it costs nothing either",
    ),
    Mechanism(
        "allocator-fit",
        "large free extents serve smaller requests (lg_extent_max_active_fit:8), beside the default of jemalloc",
        {"environment": {"_RJEM_MALLOC_CONF": "lg_extent_max_active_fit:6"}},
        {"environment": {"_RJEM_MALLOC_CONF": "lg_extent_max_active_fit:8"}},
        "SELECT max(length(a)), max(n) FROM (SELECT user, groupArray(v) AS a, count() AS n FROM t GROUP BY user)",
        justified="it spares mappings in long sessions of queries of many sizes; one statement does not show it",
    ),
    by_switch(
        "suspended-collector",
        "Python's cyclic collector waits while rows become objects of which it has to know: lists, tuples",
        "suspended-collector",
        "SELECT k, [user, user], (k, v) FROM t LIMIT 300000",
        "CollectorSuspensions",
        common={"fetch": "rows"},
    ),
    Mechanism(
        "lazy-start",
        "a process that imports chalet and asks SELECT 1, beside one that imports every module of it",
        {"command": [sys.executable, "-c", _EAGER + _START]},
        {"command": [sys.executable, "-c", _START]},
    ),
    by_switch(
        "ordered-runs",
        "aggregates that depend on the order of rows, by all workers: runs of rows that are merged in their order",
        "ordered-runs",
        "SELECT max(length(a)), max(l) FROM (SELECT user % 1000 AS u, groupArray(v) AS a, any(url) AS l FROM t GROUP BY u)",
        "AggregationRunsInOrder",
    ),
    by_switch(
        "free-lists",
        "free lists for the long strings of states, a candidate",
        "free-lists",
        "SELECT max(length(m)) FROM (SELECT user % 10000 AS u, max(page) AS m, argMax(page, v) FROM t GROUP BY u)",
        "ArenaFreeListReuses",
        on=False,
        justified="it is a candidate, and off",
    ),
    by_settings(
        "skip-indexes",
        "a bloom filter, on an equality that the sorting key knows nothing of",
        "SELECT count(), sum(v) FROM t WHERE user = 123456",
        "SkipIndexPrunedRows",
        {"use_query_condition_cache": 0},
        use_skip_indexes=0,
    ),
    by_settings(
        "prewhere",
        "conditions tested in stages, the columns of later ones read of the rows that are left",
        "SELECT count(), max(url) FROM t WHERE v % 1000 = 7 AND url LIKE '%FF%' AND page LIKE '%A%'",
        "PrewhereFilteredRows",
        {"use_query_condition_cache": 0},
        optimize_move_to_prewhere=0,
    ),
    by_settings(
        "read-in-order",
        "rows read in the order of the key, instead of being sorted",
        "SELECT k, v FROM t ORDER BY k LIMIT 100000, 5",
        "ReadInOrder",
        optimize_read_in_order=0,
    ),
    by_settings(
        "top-k-filter",
        "the threshold of a top-k sort as a filter of the scan",
        "SELECT url, v FROM t ORDER BY v DESC, url LIMIT 10",
        "TopKFilteredRows",
        use_top_k_dynamic_filtering=0,
    ),
    by_settings(
        "runtime-filters",
        "what a join's build side has, as a filter of its probe side",
        "SELECT count(), sum(v) FROM t JOIN d USING user",
        "RuntimeFiltersCreated",
        enable_join_runtime_filters=0,
    ),
    by_switch(
        "narrow-copies",
        "integers of the right side of a join picked from copies in fewer bytes",
        "narrow-copies",
        "SELECT sum(v + w) FROM t JOIN (SELECT toUInt32(number) AS user, toUInt64(number % 77) AS w FROM numbers(1000000)) AS small USING user",
        "NarrowJoinCopies",
    ),
    by_settings(
        "unread-columns",
        "columns that nobody reads behind a join or a sort not made",
        "SELECT sum(v) FROM t JOIN (SELECT toUInt32(number) AS user, number % 77 AS w FROM numbers(1000000)) AS small USING user",
        "UnreadColumnsLeftOut",
        query_plan_remove_unused_columns=0,
    ),
    by_settings(
        "time-filters",
        "conditions on functions of dates and moments as bounds of the column",
        "SELECT count(), sum(v) FROM t WHERE toYYYYMM(day) = 202405",
        optimize_time_filter_with_preimage=0,
    ),
    by_switch(
        "wide-sorts",
        "sorts whose entries hold all that is compared of their keys",
        "wide-sorts",
        "SELECT max(k + r) FROM (SELECT k, rowNumberInAllBlocks() AS r FROM t ORDER BY url, v)",
        "WideSorts",
    ),
    by_switch(
        "clustered-sorts",
        "blocks of large sorts clustered by bucket before their rows are gathered",
        "clustered-sorts",
        "SELECT max(v + user) FROM (SELECT v, user FROM t CROSS JOIN numbers(2) AS n ORDER BY cityHash64(v, number) OFFSET 5)",
        "ClusteredBlocks",
    ),
    by_switch(
        "entry-bounds",
        "partitions of windows told by sorted entries",
        "entry-bounds",
        "SELECT max(r) FROM (SELECT sum(v) OVER (PARTITION BY user ORDER BY k) AS r FROM t)",
        "EntryBounds",
    ),
    by_switch(
        "late-blooms",
        "Bloom filters of very many keys made when rows have shown that they pay",
        "late-blooms",
        "SELECT count(), sum(v) FROM t JOIN (SELECT cityHash64(number) AS h FROM numbers(1000000)) AS r ON cityHash64(t.k % 1000000) = r.h",
        "RuntimeFilterTrials",
    ),
    by_switch(
        "huge-pages",
        "huge pages for large hash tables",
        "huge-pages",
        "SELECT count(), sum(v) FROM t JOIN (SELECT cityHash64(number) AS h FROM numbers(1000000)) AS r ON cityHash64(t.k % 1000000) = r.h",
        "HugePageTables",
    ),
    by_switch(
        "window-groups",
        "aggregates over whole partitions by grouping and a join",
        "window-groups",
        "SELECT max(r) FROM (SELECT sum(v) OVER (PARTITION BY day) AS r FROM t)",
        "WindowsOverGroups",
    ),
    by_switch(
        "subquery-windows",
        "aggregates of sub-queries over rows that the query reads itself, as windows",
        "subquery-windows",
        "SELECT count(), sum(t.v) FROM t, d WHERE d.user = t.user AND t.v > (SELECT avg(v) FROM t AS o WHERE o.user = d.user)",
        "SubqueriesToWindows",
    ),
    by_switch(
        "ordered-inputs",
        "rows that come in order are not sorted",
        "ordered-inputs",
        "SELECT max(x) FROM (SELECT v + 1 AS x FROM t ORDER BY v + 1 LIMIT 1000000000)",
        "SortsOfOrderedRows",
    ),
    by_switch(
        "kept-mappings",
        "files of parts that stay mapped between queries",
        "kept-mappings",
        "SELECT v FROM t WHERE k = 1234567",
        "FileMappingsReused",
    ),
    by_switch(
        "jumped-pages",
        "pages that are passed by without a look at them",
        "jumped-pages",
        "SELECT day, user, url, page, v, shop, state FROM t WHERE k = 1234567",
        "ParquetJumpedPages",
    ),
    by_switch(
        "full-pages",
        "pages without a NULL, of columns that may have some, read as those of others",
        "full-pages",
        "SELECT count(), sum(a), sum(b) FROM n WHERE a % 7 = 0",
        "ParquetFullPages",
    ),
    by_switch(
        "parts-of-dictionaries",
        "dictionaries of strings decoded as far as the codes of few rows go",
        "parts-of-dictionaries",
        "SELECT shop, state FROM t WHERE k = 1234567",
        "ParquetPartsOfDictionaries",
    ),
    by_switch(
        "avx-512",
        "digests of sixteen strings side by side in registers of 512 bits, beside eight in those of 256",
        "avx-512",
        "SELECT count() FROM t WHERE NOT ignore(MD5(url), SHA1(url))",
    ),
    by_switch(
        "coded-keys",
        "keys of several dictionaries grouped by their codes",
        "coded-keys",
        "SELECT shop, state, sum(v) FROM t GROUP BY shop, state ORDER BY shop, state",
        "BlocksGroupedByCodes",
    ),
    by_settings(
        "shared-common-tables",
        "a common table expression that is read twice, run once",
        "WITH a AS (SELECT user, sum(v) AS s FROM t GROUP BY user) SELECT count() FROM a WHERE s > (SELECT avg(s) FROM a)",
        "CommonTablesShared",
        enable_materialized_cte=0,
    ),
    by_settings(
        "lengths-alone",
        "lengths of strings read without their bytes",
        "SELECT sum(length(page)) FROM t",
        "StringsReadByLength",
        optimize_functions_to_subcolumns=0,
    ),
    by_settings(
        "count-from-statistics",
        "count, min and max from statistics of files",
        "SELECT count(), min(k), max(k) FROM t",
        optimize_use_implicit_projections=0,
    ),
)


def measured(folder: Path, wanted: Sequence[str] = (), most: int = 20) -> str:
    """Runs the experiments of all mechanisms, or of those that are named, and gives a table of their effects in Markdown."""
    unknown = set(wanted) - {one.name for one in MECHANISMS}
    if unknown:
        raise ValueError(f"no mechanism {sorted(unknown)[0]}; there are {', '.join(one.name for one in MECHANISMS)}")
    from .. import connect

    folder.mkdir(parents=True, exist_ok=True)
    database = (folder / "tables").resolve()
    if not database.exists():
        with connect(str(database)) as connection:
            for sql in MADE:
                connection.query(sql)
    rows = []
    for one in MECHANISMS:
        if not wanted or one.name in wanted:
            rows.append(_row(one, conducted(parsed(_spec(one, database, most)), folder / one.name)))
    known = machine.description()
    return (
        "# What the mechanisms are worth\n\n"
        f"Each mechanism on, beside the same statement with it off: `python -m chalet.lab mechanisms --out FOLDER`, {ROWS:,} rows, "
        "a fresh process each run. A ratio is the time with the mechanism for one of the time without.\n\n"
        f"{known['processor']}, {known['cores']} cores, load {known['load']:.1f} at the end; chalet {known['chalet']}, {known['when']}.\n\n"
        "| mechanism | what | ratio (95 %) | counter, a run | verdict |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _spec(one: Mechanism, database: Path, most: int) -> str:
    common = dict(one.common)
    if one.sql:
        common |= {"database": f"{database}?mode=ro", "sql": one.sql, "warmup": 2}
    else:
        # A command finds this build of chalet, too.
        common |= {"environment": {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}}
    counter = f"counter = {_toml(one.counter)}\n" if one.counter else ""
    return (
        f"name = {_toml(one.name)}\nquestion = {_toml(f'What is it worth: {one.about}?')}\nmetric = {_toml(one.metric)}\n"
        f'metrics = ["seconds", "cpu_seconds", "peak_rss_mb"]\n{counter}\n'
        f"[common]\n{_lines(common)}\n"
        f'[[variant]]\nname = "off"\n{_lines(one.off)}\n'
        f'[[variant]]\nname = "on"\n{_lines(one.on)}\n'
        f"[runs]\nmost = {most}\nleast = {min(10, most)}\nnoise = 5\nhalf_width = 0.02\n"
    )


def _lines(table: dict[str, Any]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in table.items())


def _toml(value: Any) -> str:
    """A value as TOML: strings and lists are written as in JSON."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def _row(one: Mechanism, outcome: Outcome) -> str:
    verdict = outcome.verdict("on")
    values = outcome.values("on", one.counter) if one.counter else []
    counter = f"`{one.counter}` {sum(values) / len(values):,.0f}" if values else ""
    why = f"{verdict.verdict}: {verdict.why}"
    if verdict.verdict != KEEP and one.justified:
        why += f"; {one.justified}"
    return f"| {one.name} | {one.about} | {verdict.ratio} | {counter} | {why} |"
