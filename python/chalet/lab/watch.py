"""Two builds over a workload: what got slower beyond the noise, statement by statement.

Their runs alternate, in several pairs of fresh processes, since the luck of one process (where its memory lies) stays with it. The
ratio of a statement is that of the medians, its interval the middle of a bootstrap over processes and over the pairs of runs in
each.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from .contest import rotated
from .measured import environment_of
from .processes import Child, Reply
from .statistics import geometric_mean, interval

Pair = tuple[Reply, Reply]
# Beside the time, which is `seconds`.
COUNTERS = {"cpu_seconds": "CPU", "peak_rss_mb": "peak memory"}
FASTER, SLOWER, NEITHER = "faster", "slower", "not told apart"


@dataclass
class Compared:
    """A statement, and what its runs took in both builds."""

    number: int | str
    sql: str
    # The pairs of runs of each pair of processes.
    by_process: list[list[Pair]] = field(default_factory=list)
    problem: str = ""

    @property
    def pairs(self) -> list[Pair]:
        """Those of all processes."""
        return [pair for pairs in self.by_process for pair in pairs]

    def ratio(self, counter: str = "seconds", pairs: Sequence[Pair] | None = None) -> float:
        """Of the medians, new to base."""
        base, new = zip(*(pairs or self.pairs))
        below = statistics.median(run[counter] for run in base)
        return statistics.median(run[counter] for run in new) / below if below else float("nan")

    def resampled(self, dice: random.Random) -> float:
        """The ratio of runs drawn again: processes first, then runs of each."""
        processes = dice.choices([pairs for pairs in self.by_process if pairs], k=len(self.by_process))
        return self.ratio("seconds", [pair for pairs in processes for pair in dice.choices(pairs, k=len(pairs))])

    def verdict(self) -> str:
        """Faster, slower, or not told apart."""
        return told_apart(*interval(self.resampled))


class Process(Child):
    """A build that answers statement after statement."""

    def __init__(self, packages: Path, database: str, settings: dict[str, object]) -> None:
        command = [sys.executable, "-P", str(Path(__file__).with_name("measured.py")), "--serve"]
        super().__init__(command, environment_of({"packages": packages}))
        self.ask({"database": database, "settings": settings})

    def query(self, sql: str) -> Reply:
        """What a statement took, and a digest of its rows."""
        return self.ask(sql)


def compared(
    queries: Sequence[Compared],
    start: Callable[[], tuple[Any, Any]],
    runs: int,
    processes: int,
    same_answers: Callable[[Compared, Any, Any], None],
) -> None:
    """Measures all queries. `start` gives a fresh process of each build, with `query` and `close`."""
    for number in range(processes):
        base, new = start()
        for query in queries:
            if number == 0:
                same_answers(query, base, new)
            if query.problem.startswith(("base", "new")):
                continue
            for process in (base, new):
                process.query(query.sql)
            pairs: list[Pair] = []
            query.by_process.append(pairs)
            for run in range(-(-runs // processes)):
                replies = {name: {"base": base, "new": new}[name].query(query.sql) for name in rotated(["base", "new"], run)}
                if failed := [f"{name}: {reply['error']}" for name, reply in replies.items() if "error" in reply]:
                    query.problem = failed[0]
                    break
                pairs.append((replies["base"], replies["new"]))
        base.close()
        new.close()


def same_digests(query: Compared, base: Process, new: Process) -> None:
    """Notes where the two answer differently; rows may come in any order."""
    replies = [process.query(query.sql) for process in (base, new)]
    for reply, name in zip(replies, ("base", "new")):
        if "error" in reply:
            query.problem = f"{name}: {reply['error']}"
            return
    if replies[0]["digest"] != replies[1]["digest"]:
        query.problem = "the answers differ"


def told_apart(low: float, high: float) -> str:
    """What an interval of a ratio says."""
    if high < 1:
        return FASTER
    return SLOWER if low > 1 else NEITHER


def table(queries: Sequence[Compared], counters: dict[str, str] = COUNTERS) -> str:
    """What was measured, in Markdown: those that got slower first."""
    rows = []
    for query in queries:
        if not query.pairs:
            continue
        base, new = (statistics.median(run["seconds"] for run in runs) * 1000 for runs in zip(*query.pairs))
        low, high = interval(query.resampled)
        verdict = told_apart(low, high)
        cells = " | ".join(f"{query.ratio(name):.2f}" for name in counters)
        line = f"| {query.number} | {base:.2f} | {new:.2f} | {query.ratio():.3f} | {low:.3f} - {high:.3f} | {cells} | {verdict} |"
        rows.append((verdict != SLOWER, line))
    lines = [f"| statement | base ms | new ms | new / base | 95 % interval | {' | '.join(counters.values())} | verdict |"]
    lines.append(f"|---:|---:|---:|---:|---:|{'---:|' * len(counters)}---|")
    lines += [line for _, line in sorted(rows, key=lambda row: row[0])]
    measured = [query for query in queries if query.pairs]
    if len(measured) > 1:
        mean = geometric_mean([query.ratio() for query in measured])
        low, high = interval(partial(_mean_resampled, measured))
        lines += ["", f"Geometric mean over {len(measured)} statements: {mean:.3f} ({low:.3f} - {high:.3f}), {told_apart(low, high)}."]
    for query in queries:
        if query.problem:
            lines += ["", f"Statement {query.number}: {query.problem}"]
    return "\n".join(lines) + "\n"


def _mean_resampled(queries: Sequence[Compared], dice: random.Random) -> float:
    return geometric_mean([query.resampled(dice) for query in queries])
