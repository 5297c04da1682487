"""How a workload scales with threads: times by number of threads, the serial fraction, a chart.

The serial fraction of a statement is the s of Amdahl's law, T(n) = T(1) (s + (1 - s) / n), fitted by least squares (Amdahl 1967).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import charts, machine
from .statistics import center
from .workload import is_query, seconds_of, statements

Times = dict[str, dict[int, list[float]]]


def default_threads() -> list[int]:
    """1, 2, 4, ... and as many as there are cores."""
    cores = os.cpu_count() or 1
    return sorted({cores, *(1 << n for n in range(cores.bit_length()) if 1 << n <= cores)})


def measured(workload: str, database: str, threads: Sequence[int], runs: int = 10, seed: int = 1) -> Times:
    """Seconds of every query of a workload by number of threads; numbers of threads take turns in random order."""
    from .. import connect

    connection = connect(database)
    times: Times = {}
    generator = random.Random(seed)
    for number, sql in enumerate(statements(workload), 1):
        if not is_query(sql):
            connection.query(sql)
            continue
        of_statement = times[f"{number}: {' '.join(sql.split())[:60]}"] = {n: [] for n in threads}
        for turn in range(runs + 1):
            for n in generator.sample(list(threads), len(threads)):
                connection.query(f"SET max_threads = {n}")
                seconds = seconds_of(connection, sql)
                # The first turn warms up.
                if turn:
                    of_statement[n].append(seconds)
    return times


def serial_fraction(seconds: Mapping[int, float]) -> float:
    """Of times by number of threads, 1 among them: between 0, all of it scales, and 1, nothing does."""
    alone = seconds[1]
    # T(n) / T(1) - 1 / n = s (1 - 1 / n)
    pairs = [(1 - 1 / n, value / alone - 1 / n) for n, value in seconds.items() if n > 1]
    square = sum(x * x for x, _ in pairs)
    return min(1.0, max(0.0, sum(x * y for x, y in pairs) / square)) if square else 1.0


def report(times: Times) -> tuple[str, str]:
    """A table in Markdown and a chart in SVG; the last row is the whole workload."""
    threads = sorted({n for of_statement in times.values() for n in of_statement})
    rows = {name: {n: center(values) for n, values in of_statement.items()} for name, of_statement in times.items()}
    if len(rows) > 1:
        rows["all of them"] = {n: sum(one[n] for one in rows.values()) for n in threads}
    known = machine.description()
    lines = [
        f"{known['processor']}, {known['cores']} cores; chalet {known['chalet']}, {known['when']}.",
        "",
        f"| statement | {' | '.join(f'{n} threads, ms' if n > 1 else '1 thread, ms' for n in threads)} | speed-up | serial fraction |",
        f"|---|{'---:|' * (len(threads) + 2)}",
    ]
    for name, seconds in rows.items():
        cells = " | ".join(f"{seconds[n] * 1000:.2f}" for n in threads)
        speed = seconds[1] / seconds[threads[-1]]
        shown = name.replace("|", "\\|")
        lines.append(f"| {shown} | {cells} | {speed:.2f} | {serial_fraction(seconds):.2f} |")
    chart = charts.speed_ups({name[:48]: {n: seconds[1] / seconds[n] for n in threads} for name, seconds in rows.items()})
    return "\n".join(lines) + "\n", chart


def written(times: Times, folder: Path) -> str:
    """Writes scaling.json, SCALING.md and scaling.svg into a folder; gives the table."""
    table, chart = report(times)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scaling.json").write_text(json.dumps({"machine": machine.description(), "seconds": times}, indent=1) + "\n")
    (folder / "SCALING.md").write_text(f"# Scaling with threads\n\n{table}\n![speed-up by threads](scaling.svg)\n")
    (folder / "scaling.svg").write_text(chart)
    return table
