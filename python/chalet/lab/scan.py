"""What is worth an experiment: a workload is run once, and whatever takes time is listed with the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OPERATOR = re.compile(r"^(?P<indent> *)(?P<name>[A-Z][A-Za-z ]*?)(?: (?P<rest>[^(]*))? \((?P<figures>[^()]*(?:\([^()]*\)[^()]*)*)\)$")
TIME = re.compile(r"time: ([\d.]+) ms")
TOTAL = re.compile(r"^Total: ([\d.]+) ms, (\d+) rows read")
# Strings of so few different values are a dictionary.
FEW_VALUES = 10_000
SPILLS = ("ExternalSortWritePart", "ExternalAggregationWritePart", "ExternalJoinWritePart", "ExternalDistinctWritePart")


@dataclass(frozen=True)
class Candidate:
    """Something that may be made faster. `share` is its part of the time of the whole workload, where it has one."""

    what: str
    evidence: str
    share: float | None = None

    def __str__(self) -> str:
        share = f"{self.share:6.1%}  " if self.share is not None else "        "
        return f"{share}{self.what}: {self.evidence}"


def candidates(workload: str, database: str = ":memory:", least_share: float = 0.05) -> list[Candidate]:
    """The candidates of a workload, those with the largest share first. What has less than `least_share` is eliminated, and
    said so with its figure in the last one."""
    from .. import connect

    connection = connect(database)
    found: list[Candidate] = []
    times: list[tuple[Candidate, float]] = []
    total = 0.0
    for number, sql in enumerate(statements(workload), 1):
        if not re.match(r"(?i)\s*(SELECT|WITH)\b", sql):
            connection.query(sql)
            continue
        before = _events(connection)
        lines = str(connection.query(f"EXPLAIN ANALYZE {sql}", "TSVRaw")).splitlines()
        after = _events(connection)
        total += sum(float(match[1]) for line in lines if (match := TOTAL.match(line)))
        times += [(one, milliseconds) for one, milliseconds in _operators(number, lines)]
        found += _scans(number, sql, lines)
        for event in SPILLS:
            if after.get(event, 0) > before.get(event, 0):
                found.append(Candidate(f"statement {number} goes to disk", f"{event} moved: more memory, or less to hold"))
    shared = [Candidate(one.what, one.evidence, milliseconds / total if total else 0.0) for one, milliseconds in times]
    kept = sorted((one for one in shared if one.share and one.share >= least_share), key=lambda one: -(one.share or 0))
    dropped = [one.share or 0.0 for one in shared if (one.share or 0) < least_share]
    found += list(_tables(connection))
    if dropped:
        found.append(
            Candidate(f"{len(dropped)} operators eliminated", f"each below {least_share:.0%}, {sum(dropped):.1%} together")
        )
    return kept + found


def statements(text: str) -> Iterator[str]:
    """The statements of a text; semicolons in strings, names and comments end none."""
    pattern = r"""'(?:\\.|''|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|--[^\n]*|/\*.*?\*/|;|[^'"`;/-]+|."""
    statement = ""
    for token in re.findall(pattern, text, re.DOTALL):
        if token == ";":
            if statement.strip():
                yield statement.strip()
            statement = ""
        elif not token.startswith("--"):
            statement += token
    if statement.strip():
        yield statement.strip()


def _operators(number: int, lines: list[str]) -> Iterator[tuple[Candidate, float]]:
    """Operators with their time: what a node says is its own."""
    for line in lines:
        match = OPERATOR.match(line)
        if match and (time := TIME.search(match["figures"])):
            figures = match["figures"].split(", each")[0]
            yield Candidate(f"statement {number}, {match['name']}", figures), float(time[1])


def _scans(number: int, sql: str, lines: list[str]) -> Iterator[Candidate]:
    """Filters that prune nothing: all rows of a table are read although there is a condition."""
    read = sum(int(match[2]) for line in lines if (match := TOTAL.match(line)))
    tables = [line.split("Read ", 1)[1].split()[0] for line in lines if line.lstrip().startswith("Read ")]
    filtered = any(line.lstrip().startswith("Filter") for line in lines)
    if filtered and len(tables) == 1 and read > 100_000:
        evidence = f"{read:,} rows of {tables[0]} are read: a sorting key or a skip index for the condition may spare most"
        if not any("Granules" in line or "Index" in line for line in lines):
            yield Candidate(f"statement {number} prunes nothing", evidence)


def _tables(connection: Any) -> Iterator[Candidate]:
    """Strings of few different values in tables."""
    strings = connection.query(
        "SELECT database, table, name FROM system.columns WHERE type = 'String' AND database NOT IN "
        "('system', 'information_schema', 'INFORMATION_SCHEMA')",
        "TSVRaw",
    )
    for line in str(strings).splitlines():
        database, table, name = line.split("\t")
        sample = f"SELECT count(), uniq(`{name}`) FROM (SELECT `{name}` FROM `{database}`.`{table}` LIMIT 1000000)"
        rows, values = map(int, str(connection.query(sample, "TSVRaw")).split())
        if rows > 100_000 and values < FEW_VALUES:
            evidence = f"{values:,} different values in {rows:,} rows: LowCardinality(String) may be smaller and faster"
            yield Candidate(f"{database}.{table}.{name}", evidence)


def _events(connection: Any) -> dict[str, int]:
    text = str(connection.query("SELECT event, value FROM system.events", "TSVRaw"))
    return {name: int(value) for name, value in (line.split("\t") for line in text.splitlines())}
