"""What is worth an experiment: a workload is run once, and whatever takes time is listed with the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .tables import of_tables
from .workload import is_query, seconds_of, statements

# What may matter here, and what to set beside the default.
SETTINGS: tuple[tuple[str, object], ...] = (
    ("max_threads", 1),
    ("max_block_size", 8192),
    ("max_block_size", 262_144),
    ("use_query_condition_cache", 0),
    ("optimize_move_to_prewhere", 0),
    ("enable_join_runtime_filters", 0),
    ("use_skip_indexes", 0),
)
# A setting matters where it changes the best of some runs by this much, of a statement that takes as long as this.
LEAST_CHANGE = 0.1
LEAST_SECONDS = 0.002
RUNS = 5
# Estimates that are off by less do not change a plan.
FAR_OFF = 10
# Fewer rows are not worth a thought.
MANY_ROWS = 100_000


@dataclass(frozen=True)
class Candidate:
    """Something that may be made faster. `share` is its part of the time of the whole workload, where it has one."""

    what: str
    evidence: str
    share: float | None = None

    def __str__(self) -> str:
        share = f"{self.share:6.1%}  " if self.share is not None else "        "
        return f"{share}{self.what}: {self.evidence}"


def candidates(
    workload: str, database: str = ":memory:", least_share: float = 0.05, by_hand: str = "", settings: bool = True
) -> list[Candidate]:
    """The candidates of a workload, those with the largest share first. What has less than `least_share` is eliminated, and
    said so with its figure. `by_hand` has more of them, a line each, `what: evidence`; `settings` says whether some settings are
    tried on the statements that take most of the time."""
    from .. import connect

    connection = connect(database)
    measured: list[tuple[int, str, Any]] = []
    for number, sql in enumerate(statements(workload), 1):
        if is_query(sql):
            measured.append((number, sql, connection.profile(sql).pipeline))
        else:
            connection.query(sql)
    total = sum(pipeline.document["elapsed_ns"] for *_, pipeline in measured) / 1e9 or 1.0
    parts = [one for number, _, pipeline in measured for one in _operators(number, pipeline, total)]
    kept = sorted((one for one in parts if (one.share or 0) >= least_share), key=lambda one: -(one.share or 0))
    found = [one for number, _, pipeline in measured for one in _of_pipeline(number, pipeline, total, least_share)]
    if settings:
        for number, sql, pipeline in measured:
            seconds = pipeline.document["elapsed_ns"] / 1e9
            if seconds >= LEAST_SECONDS and seconds / total >= least_share:
                found += _settings(connection, number, sql, seconds / total)
    found += [Candidate(what, evidence) for what, evidence in of_tables(connection)]
    found += [Candidate(*line.split(": ", 1)) for line in by_hand.splitlines() if ": " in line]
    if dropped := [one.share or 0.0 for one in parts if (one.share or 0) < least_share]:
        evidence = f"each below {least_share:.0%}, {sum(dropped):.1%} together"
        found.append(Candidate(f"{len(dropped)} operators and functions eliminated", evidence))
    return kept + found


def _operators(number: int, pipeline: Any, total: float) -> Iterator[Candidate]:
    """Operators with their share of the time of the workload, and the functions that they call with theirs."""
    n_threads = max(1, len(pipeline.lanes))
    for one in pipeline.operators:
        seconds = one["seconds"]
        rows = f"{one['rows_in']:,} rows in" if one.get("rows_in") else f"{one['rows_out'] or 0:,} rows out"
        what = f"statement {number}, {one['name']}"
        evidence = f"{seconds * 1000:.1f} ms of all threads, {rows}, {one['allocated_bytes'] / 1e6:.1f} MB allocated"
        yield Candidate(what, evidence, seconds / n_threads / total)
        for function in one["functions"]:
            inside = function["seconds"]
            evidence = f"{inside * 1000:.1f} ms in {function['calls']:,} calls"
            yield Candidate(f"{what}, function {function['name']}", evidence, inside / n_threads / total)


def _of_pipeline(number: int, pipeline: Any, total: float, least_share: float) -> Iterator[Candidate]:
    """What a look at the stages shows: filters without effect, estimates, disk, phases that one worker does alone."""
    for stage in pipeline.stages:
        source = stage["source"]
        skipped = sum(int(value) for name, value in stage["facts"] if "skipped" in name)
        where = _condition(source.get("detail", ""))
        # The rows of all tables of the statement: those that a table gives are what the filter leaves.
        read = pipeline.document["read_rows"]
        if source["kind"] == "table" and where and not skipped and read >= MANY_ROWS:
            evidence = f"nothing of {source['name']} is left out of {read:,} rows read: a sorting key or a skip index may spare most"
            yield Candidate(f"statement {number} prunes nothing by {where}", evidence)
        share = stage["time_ns"] / 1e9 / total
        workers = [time for time in stage["workers_ns"] if time]
        if share >= least_share and workers:
            one_alone = max(workers) >= 0.9 * sum(workers)
            what = f"statement {number}, stage {stage['id']} ({stage['sink']['name']})"
            if one_alone and len(pipeline.lanes) > 1:
                yield Candidate(what, "one worker does it alone while others wait", share)
            elif max(workers) * len(workers) > 2 * sum(workers):
                yield Candidate(what, f"the busiest worker has {max(workers) * len(workers) / sum(workers):.1f} times the mean", share)
    for one in pipeline.operators:
        what = f"statement {number}, {one['name']}"
        estimated, actual = one.get("estimated_rows"), one.get("rows_out")
        if one["name"] == "Join" and estimated is not None and actual is not None and max(estimated, actual) >= MANY_ROWS:
            if max(estimated, actual) >= FAR_OFF * max(1, min(estimated, actual)):
                evidence = f"{actual:,} rows where {estimated:,} were expected: statistics or another order may help"
                yield Candidate(f"{what} is estimated wrongly", evidence)
        if one.get("spilled_bytes"):
            evidence = f"{one['spilled_bytes'] / 1e6:.1f} MB written: more memory, or less to hold"
            yield Candidate(f"{what} goes to disk", evidence)


def _condition(detail: str) -> str:
    """What a scan filters by, with the names of its columns instead of their numbers."""
    columns, _, where = detail.partition(" where ")
    names = {number: name for name, number in re.findall(r"(\w+)#(\d+)", columns)}
    return re.sub(r"#(\d+)", lambda found: names.get(found[1], found[0]), where)


def _settings(connection: Any, number: int, sql: str, share: float) -> Iterator[Candidate]:
    """Settings that change the time of a statement, runs of both taking turns."""
    for name, value in SETTINGS:
        changed = f"SELECT * FROM ({sql.rstrip().rstrip(';')}) SETTINGS {name} = {value}"
        plain = f"SELECT * FROM ({sql.rstrip().rstrip(';')})"
        try:
            times = [(seconds_of(connection, plain), seconds_of(connection, changed)) for _ in range(RUNS)]
        except Exception:
            # A FORMAT or SETTINGS of its own: not to be wrapped.
            return
        before, after = (min(side) for side in zip(*times))
        if abs(after / before - 1) >= LEAST_CHANGE and abs(after - before) >= LEAST_SECONDS / 10:
            word = "faster" if after < before else "slower"
            evidence = f"{before * 1000:.2f} -> {after * 1000:.2f} ms, {word} (best of {RUNS})"
            yield Candidate(f"statement {number}, {name} = {value} matters", evidence, share)
