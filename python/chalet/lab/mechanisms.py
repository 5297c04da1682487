"""What each mechanism of the engine is worth: an experiment that switches it off, over a table made for it.

The baseline is without the mechanism, so that KEEP says that it is worth having.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .experiment import Outcome, conducted
from .spec import parsed

ROWS = 2_000_000
MADE = (
    "CREATE TABLE t (k UInt64, day Date, user UInt32, url String, v Float64, INDEX i user TYPE bloom_filter GRANULARITY 1) "
    "ENGINE = MergeTree ORDER BY k",
    "INSERT INTO t SELECT number, toDate('2024-01-01') + number % 366, cityHash64(number) % 1000000, "
    f"concat('https://example.com/', hex(cityHash64(number) % 50000)), number * 3 FROM numbers({ROWS})",
    "CREATE TABLE d (user UInt32, name String) ENGINE = MergeTree ORDER BY user",
    "INSERT INTO d SELECT number * 997, toString(number) FROM numbers(1000)",
)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: the setting that switches it off, what shows it, and the counter that moves when it runs."""

    name: str
    about: str
    off: dict[str, object]
    on: dict[str, object]
    sql: str
    counter: str = ""


MECHANISMS = (
    Mechanism(
        "threads",
        "many threads, beside one",
        {"max_threads": 1},
        {"max_threads": 0},
        "SELECT user % 1000 AS u, count(), sum(v) FROM t GROUP BY u ORDER BY u",
    ),
    Mechanism(
        "condition-cache",
        "the query condition cache, on a filter that was asked before",
        {"use_query_condition_cache": 0},
        {"use_query_condition_cache": 1},
        "SELECT count() FROM t WHERE url LIKE '%FFFF%'",
        "QueryConditionCacheHits",
    ),
    Mechanism(
        "skip-indexes",
        "a bloom filter, on an equality that the sorting key knows nothing of",
        {"use_skip_indexes": 0, "use_query_condition_cache": 0},
        {"use_skip_indexes": 1, "use_query_condition_cache": 0},
        "SELECT count(), sum(v) FROM t WHERE user = 123456",
        "SkipIndexPrunedRows",
    ),
    Mechanism(
        "top-k-filter",
        "the threshold of a top-k sort as a filter of the scan",
        {"use_top_k_dynamic_filtering": 0},
        {"use_top_k_dynamic_filtering": 1},
        "SELECT url, v FROM t ORDER BY v DESC, url LIMIT 10",
    ),
    Mechanism(
        "runtime-filters",
        "what a join's build side has, as a filter of its probe side",
        {"enable_join_runtime_filters": 0},
        {"enable_join_runtime_filters": 1},
        "SELECT count(), sum(v) FROM t JOIN d USING user",
        "RuntimeFiltersCreated",
    ),
    Mechanism(
        "shared-common-tables",
        "a common table expression that is read twice, run once",
        {"enable_materialized_cte": 0},
        {},
        "WITH a AS (SELECT user, sum(v) AS s FROM t GROUP BY user) SELECT count() FROM a WHERE s > (SELECT avg(s) FROM a)",
        "CommonTablesShared",
    ),
    Mechanism(
        "count-from-statistics",
        "count, min and max from statistics of files",
        {"optimize_use_implicit_projections": 0},
        {"optimize_use_implicit_projections": 1},
        "SELECT count(), min(k), max(k) FROM t",
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
    return (
        "# What the mechanisms are worth\n\n"
        f"Each mechanism on, beside the same statement with it off: `python -m chalet.lab mechanisms --out FOLDER`, {ROWS:,} rows, "
        "a fresh process each run. A ratio is the time with the mechanism for one of the time without.\n\n"
        "| mechanism | what | ratio (95 %) | counter, a run | verdict |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _spec(one: Mechanism, database: Path, most: int) -> str:
    def table(settings: dict[str, object]) -> str:
        return "{ " + ", ".join(f"{name} = {value}" for name, value in settings.items()) + " }"

    counter = f'counter = "{one.counter}"\n' if one.counter else ""
    return (
        f'name = "{one.name}"\nquestion = "What is it worth: {one.about}?"\nmetric = "seconds"\n'
        f'metrics = ["cpu_seconds", "peak_rss_mb"]\n{counter}\n'
        f'[common]\ndatabase = "{database}?mode=ro"\nsql = """{one.sql}"""\nwarmup = 2\n\n'
        f'[[variant]]\nname = "off"\nsettings = {table(one.off)}\n\n'
        f'[[variant]]\nname = "on"\nsettings = {table(one.on)}\n\n'
        f"[runs]\nmost = {most}\nleast = {min(10, most)}\nnoise = 5\nhalf_width = 0.02\n"
    )


def _row(one: Mechanism, outcome: Outcome) -> str:
    verdict = outcome.verdict("on")
    values = outcome.values("on", one.counter) if one.counter else []
    counter = f"`{one.counter}` {sum(values) / len(values):,.0f}" if values else ""
    return f"| {one.name} | {one.about} | {verdict.ratio} | {counter} | {verdict.verdict}: {verdict.why} |"
