"""How often the rules err on this machine: one program against itself, and against itself made slower by a known amount."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .verdict import Rules, Verdict, judge
from .workload import seconds_of

# Some milliseconds: long against what a call costs, short enough for thousands of them.
STATEMENT = "SELECT sum(cityHash64(number)) FROM numbers({rows})"
WANTED_SECONDS = 0.004


def calibrated(experiments: int, pairs: int, slowdown: float, seed: int = 1) -> list[Verdict]:
    """The verdicts of experiments whose variant takes `slowdown` longer (0.03) than the baseline, or as long (0)."""
    from .. import connect

    connection = connect()
    connection.query("SET max_threads = 1")
    # The best of some: the first run of a process says little of the others.
    rows = _rows_of(WANTED_SECONDS, lambda n: min(seconds_of(connection, STATEMENT.format(rows=n)) for _ in range(5)))
    sql = STATEMENT.format(rows=rows)
    usual = sorted(seconds_of(connection, sql) for _ in range(50))[25]
    generator = random.Random(seed)
    verdicts = []
    for _ in range(experiments):
        samples: tuple[list[float], list[float]] = ([], [])
        for _ in range(pairs):
            for side in generator.sample((0, 1), 2):
                samples[side].append(_longer(connection, sql, usual * slowdown if side else 0.0))
        verdicts.append(judge("seconds", *samples, Rules(), paired=True))
    return verdicts


def _rows_of(wanted: float, seconds: Callable[[int], float]) -> int:
    rows = 100_000
    while seconds(rows) < wanted and rows < 1 << 30:
        rows *= 2
    return rows


def _longer(connection: Any, sql: str, more: float) -> float:
    """Seconds of a statement and so many more."""
    start = time.perf_counter()
    end = start + seconds_of(connection, sql) + more
    # Busy, not asleep: the scheduler's grain is coarser than what is added.
    while time.perf_counter() < end:
        pass
    return time.perf_counter() - start


def summary(verdicts: list[Verdict]) -> str:
    """How many of each kind."""
    counts = Counter("slower" if one.is_worse else one.verdict for one in verdicts)
    return ", ".join(f"{name} {n} of {len(verdicts)}" for name, n in sorted(counts.items()))
