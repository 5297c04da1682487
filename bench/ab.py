#!/usr/bin/env python3
"""Compares two builds of chalet on chosen queries over Parquet files: is the new one faster, and how sure is that?

  ab.py BASE NEW --data FOLDER --only 5,20-24

BASE and NEW are wheels, folders that `import chalet` works from, or revisions of this repository. It is `chalet lab watch` with the
tables, the pinned cores and the comparison of answers that the other benchmarks have. Printed is a table for bench/experiments.
Exit status 1 when an answer of the new build differs.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import answers
import dialects
import machine
import statements
from processes import CannotStart, Process

from chalet.lab import revisions, watch
from chalet.lab.watch import Compared

HERE = Path(__file__).resolve().parent
COUNTERS = {"cpu": "CPU", "faults": "page faults", "peak_mb": "peak memory"}


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
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
        try:
            base, new = (
                revisions.packages(build, HERE.parent, Path(place, name))
                for build, name in ((options.base, "base"), (options.new, "new"))
            )
        except revisions.CannotBuild as reason:
            sys.exit(str(reason))
        start = lambda: (started(base, options), started(new, options))  # noqa: E731
        watch.compared(queries, start, options.runs, options.processes, same_answers)
    told = machine.description()
    print(
        f"{options.data.name}, {options.queries.name}, {options.threads} of {told['cores']} cores ({told['processor']}), "
        f"{options.runs} pairs of runs in {options.processes} pairs of processes.\n"
    )
    print(watch.table(queries, COUNTERS), end="")
    if options.json:
        options.json.write_text(json.dumps([vars(query) for query in queries], indent=1) + "\n")
    return 1 if any(query.problem for query in queries) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as reason:
        sys.exit(str(reason))
