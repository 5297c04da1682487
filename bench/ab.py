#!/usr/bin/env python3
"""Compares two builds of chalet on benchmarks: is the new one faster, and how sure is that?

  ab.py BASE NEW --data FOLDER [--data FOLDER] [--only 5,20-24]

BASE and NEW are wheels, folders that `import chalet` works from, or revisions of this repository. A folder of Parquet files is
the table `hits`, for --queries; one that suite_data.py made is a suite. It is `chalet lab watch` with the tables, the pinned
cores and the comparison of answers that the other benchmarks have. Printed is a table for bench/experiments. Exit status 1 when an
answer of the new build differs, with --watch also where something got slower.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import answers
import dialects
import processes
import statements
import suite
from processes import CannotStart, Process

from chalet.lab import machine, revisions, watch
from chalet.lab.watch import Compared
from chalet.lab.workload import statements as split

HERE = Path(__file__).resolve().parent
COUNTERS = {"cpu": "CPU", "faults": "page faults", "peak_mb": "peak memory"}


class Hits:
    """Queries over a table of Parquet files."""

    server = processes.SERVER
    settings: dict[str, str] = {}

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        texts = list(split(options.queries.read_text()))
        wanted = statements.chosen(options.only, len(texts))
        self.queries = {str(number): sql for number, sql in enumerate(texts, 1) if number in wanted}

    def difference(self, sql: str, base: Process, new: Process) -> str:
        """What the new build answers otherwise; where one fails, its name first."""
        shape = statements.shape(sql)
        asked, key_columns = shape.with_sort_keys()
        rows, failed = both(asked, base, new)

        def absent(rows: list[answers.Row]) -> list[answers.Row]:
            return base.query(shape.without_limit(), absent=rows).get("absent", [])

        return failed or answers.difference(shape, key_columns, rows[1], rows[0], absent, dialects.is_estimate(sql))


class Suite:
    """TPC-H and its like: each file or folder of files is a table."""

    server = suite.SERVER
    settings = suite.STANDARD

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        queries = json.loads((folder / "queries.json").read_text())
        names = suite.chosen(options.only, queries) if options.only else list(queries)
        self.queries = {name: queries[name].strip().rstrip(";") for name in names}

    def difference(self, sql: str, base: Process, new: Process) -> str:
        """As above."""
        rows, failed = both(sql, base, new)
        return failed or suite.difference(rows[1], rows[0])


def both(sql: str, base: Process, new: Process) -> tuple[list[list[answers.Row]], str]:
    """The rows of both builds, or the error of one."""
    rows = []
    for name, process in (("base", base), ("new", new)):
        reply = process.query(sql, rows=True)
        if "error" in reply:
            return [], f"{name}: {reply['error']}"
        rows.append(reply["rows"])
    return rows, ""


def started(packages: Path, benchmark: Hits | Suite, options: argparse.Namespace) -> Process:
    pinned = options.threads < len(machine.cores())
    process = Process("chalet", options.threads, options.timeout, pinned, packages, benchmark.server)
    if not Path(process.imported_from).is_relative_to(packages):
        sys.exit(f"chalet came from {process.imported_from}, not from {packages}")
    process.attach(benchmark.folder)
    if benchmark.settings:
        process.ask({"set": benchmark.settings})
    return process


def measured(benchmark: Hits | Suite, builds: list[Path], options: argparse.Namespace) -> list[Compared]:
    prefix = f"{benchmark.folder.name} " if len(options.data) > 1 else ""
    queries = [Compared(f"{prefix}{name}", sql) for name, sql in benchmark.queries.items()]

    def same_answers(query: Compared, base: Process, new: Process) -> None:
        why = benchmark.difference(query.sql, base, new)
        query.problem = why if not why or why.startswith(("base: ", "new: ")) else f"the answers differ: {why}"

    start = lambda: tuple(started(build, benchmark, options) for build in builds)  # noqa: E731
    watch.compared(queries, start, options.runs, options.processes, same_answers)
    return queries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--data", type=Path, required=True, action="append", metavar="FOLDER", help="more than one, if named again")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.sql", metavar="FILE")
    parser.add_argument("--only", default="", help="numbers of queries: 5,20-24 (default: all)")
    parser.add_argument("--runs", type=int, default=20, help="pairs of runs of each query (default 20, at least 10)")
    parser.add_argument("--processes", type=int, default=5, help="pairs of fresh processes that share the runs (default 5)")
    parser.add_argument("--threads", type=int, default=len(machine.cores()))
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--watch", action="store_true", help="exit status 1 also where something got slower beyond the noise")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all runs here")
    options = parser.parse_args()
    if options.runs < 10:
        parser.error("fewer than 10 runs tell nothing")
    if options.processes < 2:
        parser.error("one pair of processes does not tell its luck from the build")
    options.data = [folder.resolve() for folder in options.data]
    benchmarks = [(Suite if (folder / "queries.json").exists() else Hits)(folder, options) for folder in options.data]
    with tempfile.TemporaryDirectory() as place:
        try:
            named = ((options.base, "base"), (options.new, "new"))
            builds = [revisions.packages(build, HERE.parent, Path(place, name)) for build, name in named]
        except revisions.CannotBuild as reason:
            sys.exit(str(reason))
        queries = [query for benchmark in benchmarks for query in measured(benchmark, builds, options)]
    told = machine.description()
    print(
        f"{', '.join(folder.name for folder in options.data)}, {options.threads} of {told['cores']} cores ({told['processor']}), "
        f"{options.runs} pairs of runs in {options.processes} pairs of processes.\n"
    )
    print(watch.table(queries, COUNTERS), end="")
    if options.json:
        options.json.write_text(json.dumps([vars(query) for query in queries], indent=1) + "\n")
    slower = options.watch and any(query.verdict() == watch.SLOWER for query in queries if query.pairs)
    return 1 if slower or any(query.problem for query in queries) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as reason:
        sys.exit(str(reason))
