#!/usr/bin/env python3
"""Runs a file of queries over the same Parquet files on chalet and its peers: compares answers, then times.

The table of the queries is `hits`, over FOLDER/*.parquet. Each engine runs in a process of its own; they take turns, query
by query. Hot: the best of --repeat runs after a first one that does not count. --cold: each run in a fresh process, with
the page cache of the files dropped; making the table counts. The exit status is 1 when we fail or answer otherwise than the kernel
(without it: than any peer). README.md beside this file says how to read the numbers.
"""

import argparse
import importlib.util
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import answers
import dialects
import report
import statements
from engines import ENGINES
from processes import CannotStart, Process
from summary import Measured, against, against_best, finite

from chalet.lab import charts, machine
from chalet.lab.contest import Times, take_turns
from chalet.lab.workload import statements as split

KERNEL = "chdb"
COLOURS = {"chalet": "#d1242f", "chdb": "#c9a200", "duckdb": "#1a1a1a", "datafusion": "#0969da", "polars": "#2da44e"}
HERE = Path(__file__).resolve().parent


class Run:
    """One pass over all queries with one number of threads."""

    def __init__(self, options: argparse.Namespace, threads: int, queries: list[Measured]) -> None:
        self.options, self.threads, self.queries = options, threads, queries
        self.engines: list[str] = options.engines
        self.memory = {name: {"peak": 0.0, "after_first_round": 0.0, "at_end": 0.0, "restarts": 0} for name in self.engines}
        self.versions: dict[str, str] = {}

    def start(self, engine: str) -> Process:
        pinned = self.options.pin and self.threads < len(machine.cores())
        process = Process(engine, self.threads, self.options.timeout, pinned)
        self.versions[engine] = process.version
        return process

    def hot(self) -> None:
        processes = {name: self.start(name) for name in self.engines}
        for process in processes.values():
            process.attach(self.options.data)
        rounds = self.options.rounds
        for number in range(rounds):
            for query in self.queries:
                ask = lambda name: processes[name].query(query.sent[name])  # noqa: B023, E731
                take_turns(query.times, ask, self.options.repeat, shift=query.number, warm_up=number == 0)
                if number == rounds - 1:
                    print(report.line(query, self.engines, self.options.ours), flush=True)
            for name, process in processes.items():
                own = process.memory().own
                self.memory[name]["at_end"] = own
                if number == 0:
                    self.memory[name]["after_first_round"] = own
        for name, process in processes.items():
            self.memory[name] |= {"peak": process.peak, "restarts": process.deaths}
            process.close()

    def cold(self) -> None:
        for query in self.queries:
            ask = lambda name: self.asked_cold(name, query.sent[name])  # noqa: B023, E731
            take_turns(query.times, ask, self.options.repeat, shift=query.number, warm_up=False)
            print(report.line(query, self.engines, self.options.ours), flush=True)

    def asked_cold(self, name: str, sql: str) -> dict[str, Any]:
        """In a fresh process that finds nothing of the files in the page cache; making the table counts."""
        process = self.start(name)
        machine.drop_page_cache(sorted(self.options.data.glob("*.parquet")))
        read = machine.read_from_storage(process.child.pid)
        attached = process.attach(self.options.data)
        reply = process.query(sql)
        now = machine.read_from_storage(process.child.pid)
        if read is not None and now is not None:
            reply["read_mb"] = now - read
        kept = self.memory[name]
        kept["peak"] = max(kept["peak"], process.peak)
        kept["at_end"] = kept["after_first_round"] = process.memory().own
        process.close()
        return reply if "error" in reply else {**reply, "seconds": attached + reply["seconds"]}

    def record(self) -> dict[str, Any]:
        ours = self.options.ours
        return {
            "threads": self.threads,
            "cold": self.options.cold,
            "versions": self.versions,
            "memory_mb": self.memory,
            "against": {name: vars(against(self.queries, ours, name)) for name in self.engines if name != ours},
            "against_best": vars(against_best(self.queries, ours)),
            "queries": [
                {
                    "number": query.number,
                    "sql": query.sql,
                    "best_peer": query.best_peer(ours),
                    "ratio": query.ratio(ours),
                    "differs": query.differs,
                    "engines": {name: {"sql": query.sent[name], **vars(times)} for name, times in query.times.items()},
                }
                for query in self.queries
            ],
        }


# --- tables of the engines' own ------------------------------------------------------------------------------------


def load(options: argparse.Namespace) -> None:
    """Has each engine that has none yet make its table, one after the other, and says how long that took and what it takes on disk."""
    for name in options.engines:
        place = options.tables / name
        if place.exists():
            continue
        process = Process(name, max(options.threads), 3600, options.pin)
        seconds = process.attach(options.data)
        process.close()
        if place.exists():
            files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
            print(f"{name}: loaded in {seconds:.1f} s, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB")


# --- answers -------------------------------------------------------------------------------------------------------


def check(options: argparse.Namespace, queries: list[tuple[int, str]]) -> dict[int, dict[str, str]]:
    """Per query, which engines answer otherwise than ours and why. Runs before the timing, in processes of its own."""
    if not options.check or len(options.engines) < 2:
        return {}
    processes = {name: Process(name, max(options.threads), options.timeout, False) for name in options.engines}
    for process in processes.values():
        process.attach(options.data)
    found = {}
    for number, sql in queries:
        differs = check_one(options, processes, sql)
        if differs:
            found[number] = differs
    for process in processes.values():
        process.close()
    return found


def check_one(options: argparse.Namespace, processes: dict[str, Process], sql: str) -> dict[str, str]:
    query = statements.shape(sql)
    asked, key_columns = query.with_sort_keys()
    replies = {name: process.query(dialects.translate(asked, name), rows=True) for name, process in processes.items()}
    ours = replies.pop(options.ours)
    if "error" in ours:
        return {options.ours: ours["error"]}
    known: list[list[answers.Row]] = []

    def absent(rows: list[answers.Row]) -> list[answers.Row]:
        # One full answer is enough for all, and the kernel is first among those who can give it.
        if not known:
            able = sorted((name for name in replies if "error" not in replies[name]), key=lambda name: name != KERNEL)
            full = dialects.translate(query.without_limit(), able[0])
            reply = processes[able[0]].query(full, absent=rows)
            known.append(reply.get("absent", [[reply.get("error", "")]]))
        return known[0]

    estimate = dialects.is_estimate(sql)
    differs = {}
    for name, reply in replies.items():
        if "error" not in reply:
            why = answers.difference(query, key_columns, ours["rows"], reply["rows"], absent, estimate)
            if why:
                differs[name] = why
    return differs


def failures(options: argparse.Namespace, queries: list[Measured]) -> list[int]:
    """The queries that count against us: the kernel is the measure where it takes part."""
    judges = {KERNEL, options.ours} if KERNEL in options.engines else set(options.engines)
    return [q.number for q in queries if q.times[options.ours].error or judges & q.differs.keys()]


# --- the command line ----------------------------------------------------------------------------------------------


def installed(engine: str) -> bool:
    return importlib.util.find_spec(engine) is not None


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--queries", type=Path, default=HERE / "queries.sql", metavar="FILE")
    parser.add_argument("--engines", default=",".join(ENGINES), help="the first one is ours, the others its peers (default: all)")
    parser.add_argument("--threads", default="", help="numbers of threads, one run each: 1,2,4 (default: one for each core)")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each query on each engine (default 3)")
    parser.add_argument("--rounds", type=int, default=1, help="times through the whole file in the same processes (default 1)")
    parser.add_argument("--only", default="", help="numbers of queries: 5,20-24")
    parser.add_argument("--cold", action="store_true", help="fresh processes and no page cache")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a query is given up (default 300)")
    parser.add_argument("--no-check", dest="check", action="store_false", help="do not compare answers")
    parser.add_argument("--no-pin", dest="pin", action="store_false", help="do not hold the processes to as many cores as threads")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements here")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the times into this SVG")
    tables = "engines with tables of their own load the files into this folder, where they have not, and read those"
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help=tables)
    options = parser.parse_args()
    if options.tables:
        os.environ["CHALET_BENCH_TABLES"] = str(options.tables.resolve())
    options.data = options.data.resolve()
    if not any(options.data.glob("*.parquet")):
        parser.error(f"no .parquet files in {options.data}")
    if options.cold and options.rounds > 1:
        parser.error("--rounds watches the memory of processes that stay, --cold has none")
    named = options.engines.split(",")
    if unknown := [name for name in named if name not in ENGINES]:
        parser.error(f"no engine {unknown[0]}; there are {', '.join(ENGINES)}")
    options.engines = [name for name in named if installed(name)]
    if missing := [name for name in named if name not in options.engines]:
        print(f"not installed, left out: {', '.join(missing)}")
    if named[0] in missing:
        parser.error(f"{named[0]} is not installed")
    options.ours = named[0]
    options.threads = [int(n) for n in options.threads.split(",")] if options.threads else [len(machine.cores())]
    return options


def main() -> int:
    options = parsed()
    texts = list(split(options.queries.read_text()))
    wanted = statements.chosen(options.only, len(texts))
    queries = [(number, sql) for number, sql in enumerate(texts, 1) if number in wanted]
    if options.tables:
        load(options)
    differs = check(options, queries)
    runs = []
    for threads in options.threads:
        measured = []
        for number, sql in queries:
            sent = {name: dialects.translate(sql, name) for name in options.engines}
            times = {name: Times() for name in options.engines}
            measured.append(Measured(number, sql, times, sent, differs.get(number, {})))
        run = Run(options, threads, measured)
        runs.append(run)
        print(f"\n{label(run)}, {options.data.name}, {options.queries.name}\n{report.heading(options.engines)}")
        run.cold() if options.cold else run.hot()
        print("\n" + "\n".join(report.totals(measured, options.engines, options.ours, run.memory)))
    for text in report.remarks(runs[0].queries, options.engines):
        print(text)
    write(options, runs)
    failed = failures(options, runs[0].queries)
    if failed:
        print(f"we fail or answer otherwise in: {', '.join(map(str, failed))}")
    return 1 if failed else 0


def label(run: Run) -> str:
    return f"{'cold' if run.options.cold else 'hot'}, {run.threads} thread{'s' if run.threads > 1 else ''}"


def write(options: argparse.Namespace, runs: list[Run]) -> None:
    if options.json:
        files = sorted(options.data.glob("*.parquet"))
        record = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine.description(),
            "data": {"folder": options.data.name, "files": len(files), "bytes": sum(f.stat().st_size for f in files)},
            "queries": options.queries.name,
            "repeat": options.repeat,
            "rounds": options.rounds,
            "pinned": options.pin,
            "ours": options.ours,
            "runs": [run.record() for run in runs],
        }
        options.json.write_text(json.dumps(finite(record), indent=1) + "\n")
    if options.chart:
        title = f"{options.queries.name} over {options.data.name}"
        panels = [(label(run), [(str(q.number), {name: q.best(name) for name in q.times}) for q in run.queries]) for run in runs]
        options.chart.write_text(charts.dots(title, panels, options.engines, COLOURS))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as reason:
        sys.exit(str(reason))
