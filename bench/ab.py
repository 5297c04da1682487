#!/usr/bin/env python3
"""Compares two builds of chalet on chosen queries: is the new one faster, and how sure is that?

  ab.py BASE NEW --data FOLDER --only 5,20-24

BASE and NEW are wheels, or folders that `import chalet` works from. Their runs alternate, in several pairs of fresh
processes, since the luck of one process (where its memory lies) stays with it. Printed is, per query, the ratio of the
medians, new to base, with the 95 % interval of a bootstrap over processes and over the pairs of runs in each, as a table
for bench/experiments.
Exit status 1 when an answer of the new build differs.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import answers
import dialects
import machine
import statements
from processes import CannotStart, Process
from summary import geometric_mean

RESAMPLES = 4000
HERE = Path(__file__).resolve().parent
COUNTERS = {"cpu": "CPU", "faults": "page faults", "peak_mb": "peak memory"}
Pair = tuple[dict[str, Any], dict[str, Any]]


@dataclass
class Compared:
    number: int
    sql: str
    # The pairs of runs of each pair of processes.
    by_process: list[list[Pair]] = field(default_factory=list)
    problem: str = ""

    @property
    def pairs(self) -> list[Pair]:
        return [pair for pairs in self.by_process for pair in pairs]

    def ratio(self, counter: str, pairs: list[Pair] | None = None) -> float:
        base, new = zip(*(pairs or self.pairs))
        below = statistics.median(run[counter] for run in base)
        return statistics.median(run[counter] for run in new) / below if below else float("nan")


def packages_of(build: Path, unpacked: Path) -> Path:
    """The folder to import from: a wheel is one when it is unpacked."""
    if build.suffix == ".whl":
        with zipfile.ZipFile(build) as wheel:
            wheel.extractall(unpacked)
        return unpacked
    if not (build / "chalet" / "__init__.py").is_file():
        sys.exit(f"{build} is neither a wheel nor a folder with chalet/ in it")
    return build.resolve()


def started(packages: Path, options: argparse.Namespace) -> Process:
    pinned = options.threads < len(machine.cores())
    process = Process("chalet", options.threads, options.timeout, pinned, packages)
    if not Path(process.imported_from).is_relative_to(packages):
        sys.exit(f"chalet came from {process.imported_from}, not from {packages}")
    process.attach(options.data)
    return process


def same_answers(query: Compared, base: Process, new: Process) -> None:
    shape = statements.shape(query.sql)
    asked, key_columns = shape.with_sort_keys()
    replies = [process.ask(asked, rows=True) for process in (base, new)]
    for reply, name in zip(replies, ("base", "new")):
        if "error" in reply:
            query.problem = f"{name}: {reply['error']}"
            return

    def absent(rows: list[answers.Row]) -> list[answers.Row]:
        return base.ask(shape.without_limit(), absent=rows).get("absent", [])

    why = answers.difference(shape, key_columns, replies[1]["rows"], replies[0]["rows"], absent, dialects.is_estimate(query.sql))
    if why:
        query.problem = f"the answers differ: {why}"


def measure(queries: list[Compared], folders: tuple[Path, Path], options: argparse.Namespace) -> None:
    per_process = -(-options.runs // options.processes)
    for number in range(options.processes):
        base, new = (started(folder, options) for folder in folders)
        for query in queries:
            if number == 0:
                same_answers(query, base, new)
            if query.problem.startswith(("base", "new")):
                continue
            for process in (base, new):
                process.ask(query.sql)
            pairs: list[Pair] = []
            query.by_process.append(pairs)
            for run in range(per_process):
                # The other one first, every other time.
                order = (base, new) if run % 2 == 0 else (new, base)
                replies = [process.ask(query.sql) for process in order]
                if failed := [r["error"] for r in replies if "error" in r]:
                    query.problem = f"new or base: {failed[0]}"
                    break
                pairs.append((replies[0], replies[1]) if order[0] is base else (replies[1], replies[0]))
        base.close()
        new.close()


def interval(measure_of: Callable[[random.Random], float]) -> tuple[float, float]:
    """Where the middle 95 % of resampled measures lie. The seed is fixed: the same runs give the same interval."""
    dice = random.Random(1)
    values = sorted(measure_of(dice) for _ in range(RESAMPLES))
    return values[int(RESAMPLES * 0.025)], values[int(RESAMPLES * 0.975)]


def resampled(query: Compared, dice: random.Random) -> float:
    processes = dice.choices([pairs for pairs in query.by_process if pairs], k=len(query.by_process))
    return query.ratio("seconds", [pair for pairs in processes for pair in dice.choices(pairs, k=len(pairs))])


def verdict(low: float, high: float) -> str:
    if high < 1:
        return "faster"
    return "slower" if low > 1 else "not told apart"


def printed(queries: list[Compared]) -> None:
    print(f"| query | base ms | new ms | new / base | 95 % interval | {' | '.join(COUNTERS.values())} | verdict |")
    print(f"|---:|---:|---:|---:|---:|{'---:|' * len(COUNTERS)}---|")
    for query in queries:
        if not query.pairs:
            continue
        base, new = (statistics.median(run["seconds"] for run in runs) * 1000 for runs in zip(*query.pairs))
        low, high = interval(partial(resampled, query))
        counters = " | ".join(f"{query.ratio(name):.2f}" for name in COUNTERS)
        print(
            f"| {query.number} | {base:.2f} | {new:.2f} | {query.ratio('seconds'):.3f} | "
            f"{low:.3f} - {high:.3f} | {counters} | {verdict(low, high)} |"
        )
    measured = [query for query in queries if query.pairs]
    if len(measured) > 1:
        mean = geometric_mean([query.ratio("seconds") for query in measured])
        low, high = interval(lambda dice: geometric_mean([resampled(query, dice) for query in measured]))
        print(f"\nGeometric mean over {len(measured)} queries: {mean:.3f} ({low:.3f} - {high:.3f}), {verdict(low, high)}.")
    for query in queries:
        if query.problem:
            print(f"\nQuery {query.number}: {query.problem}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.sql", metavar="FILE")
    parser.add_argument("--only", default="", help="numbers of queries: 5,20-24 (default: all)")
    parser.add_argument("--runs", type=int, default=20, help="pairs of runs of each query (default 20, at least 10)")
    parser.add_argument("--processes", type=int, default=5, help="pairs of fresh processes that share the runs (default 5)")
    parser.add_argument("--threads", type=int, default=len(machine.cores()))
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all runs here")
    options = parser.parse_args()
    if options.runs < 10:
        parser.error("fewer than 10 runs tell nothing")
    if options.processes < 2:
        parser.error("one pair of processes does not tell its luck from the build")
    options.data = options.data.resolve()
    texts = statements.split(options.queries.read_text())
    wanted = statements.chosen(options.only, len(texts))
    queries = [Compared(number, sql) for number, sql in enumerate(texts, 1) if number in wanted]
    with tempfile.TemporaryDirectory() as place:
        folders = tuple(packages_of(build, Path(place, name)) for build, name in ((options.base, "base"), (options.new, "new")))
        measure(queries, (folders[0], folders[1]), options)
    told = machine.description()
    print(
        f"{options.data.name}, {options.queries.name}, {options.threads} of {told['cores']} cores ({told['processor']}), "
        f"{options.runs} pairs of runs in {options.processes} pairs of processes.\n"
    )
    printed(queries)
    if options.json:
        options.json.write_text(json.dumps([vars(query) for query in queries], indent=1) + "\n")
    return 1 if any(query.problem for query in queries) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as reason:
        sys.exit(str(reason))
