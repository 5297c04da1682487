#!/usr/bin/env python3
"""What the way between Python and the engine costs: frames in and out, rows out, rows in, functions of Python.

  surface.py [--rounds 5] [--only group,filter] [--json FILE]

Each engine has a process of its own; they take turns, line by line and round by round, and a time is the median of the
rounds. A line has a target: an absolute time, or a share of the best peer's. Engines that are not installed are left out.
clickhouse-driver needs a server: the installed one is started for the run, or is the one at --clickhouse-port.
The exit status is 1 when we fail or an engine answers otherwise than we do, 0 also where a target is missed.
"""

import argparse
import importlib.util
import json
import math
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clickhouse_server
import startup
from processes import CannotStart, Process
from summary import finite
from surface_engines import CALLED, ENGINES, FETCHED, INSERTED, SMALL

from chalet.lab import machine
from chalet.lab.contest import Times, take_turns

SERVER = Path(__file__).with_name("surface_engines.py")
MODULES = {"clickhouse-driver": "clickhouse_driver"}
ANY = math.inf


@dataclass
class Line:
    """What is measured: a program of ours and those of the peers, `engine program`."""

    name: str
    title: str
    ours: str
    peers: list[str]
    # For information: not what a user would compare it with.
    beside: list[str] = field(default_factory=list)
    # The target, in seconds or as a share of the best peer's time; where there is none it says nothing.
    most_seconds: float = ANY
    most_ratio: float = ANY
    # Rows that go through it, for rows a second.
    rows: int = 0
    # By program, of all that were asked.
    times: dict[str, Times] = field(default_factory=dict)

    @property
    def programs(self) -> list[str]:
        return [self.ours, *self.peers, *self.beside]

    def time(self, program: str) -> float:
        """The median of a program; NaN where it has none."""
        return self.times[program].median if program in self.times else math.nan

    def best_peer(self) -> str | None:
        return min((peer for peer in self.peers if math.isfinite(self.time(peer))), key=self.time, default=None)

    def ratio(self) -> float:
        peer = self.best_peer()
        return self.time(self.ours) / self.time(peer) if peer else math.nan

    def target(self) -> str:
        wanted = []
        if self.most_seconds < ANY:
            wanted.append(f"< {shown(self.most_seconds)}")
        if self.most_ratio < ANY:
            wanted.append(f"<= {self.most_ratio:g} x")
        return ", ".join(wanted) or "-"

    def is_met(self) -> bool | None:
        """None where it cannot be told, since there is no target, no time of ours, or no peer."""
        ours, ratio = self.time(self.ours), self.ratio()
        judged = [ours < self.most_seconds] if self.most_seconds < ANY and math.isfinite(ours) else []
        judged += [ratio <= self.most_ratio] if self.most_ratio < ANY and math.isfinite(ratio) else []
        return all(judged) if judged else None

    def differing(self) -> list[str]:
        """The programs that answer otherwise than ours."""
        told = {name: one.told for name, one in self.times.items() if one.told is not None}
        return [name for name in told if self.ours in told and not same(told[name], told[self.ours])]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)


def lines(rows: int) -> list[Line]:
    large = f"{rows / 1e6:g} M rows of pandas"
    fetched = f"{FETCHED:,} mixed rows"
    inserted = f"{INSERTED:,} rows of 5"
    called = f"{CALLED / 1e6:g} M rows"
    frames = ["chdb {}", "duckdb {}", "polars {}", "polars {}/streaming"]

    def peers(task: str) -> list[str]:
        return [name.format(task) for name in frames]

    scalar = [
        Line(f"call_{way}", f"scalar function of Python, {what}, {called}", f"chalet call/{way}", [f"chdb call/{way}"],
             [f"duckdb call/{way}"], most_ratio=1, rows=CALLED)
        for way, what in (("int", "Int64"), ("text", "String"), ("two", "two Float64"))
    ]  # fmt: skip
    aggregate = [
        Line(f"aggregate_{way}", f"aggregate function of Python, {what}, {called}", f"chalet aggregate/{way}",
             [f"chdb aggregate/{way}"], most_ratio=1, rows=CALLED)
        for way, what in (("rows", "row by row"), ("groups", "1,000 groups"), ("batches", "in batches"))
    ]  # fmt: skip
    return [
        Line("one", "SELECT 1, connection", "warm chalet query", ["warm duckdb execute", "warm chdb query"],
             most_seconds=100e-6),
        Line("one_module", "SELECT 1, module", "warm chalet module", [], ["warm duckdb execute", "warm chdb query"],
             most_seconds=200e-6),
        Line("tiny", f"filter and aggregate {SMALL:,} rows of pandas to pandas", "chalet tiny",
             ["chdb tiny", "duckdb tiny", "polars tiny/pandas"], ["polars tiny", "pandas tiny"], most_seconds=400e-6),
        Line("group", f"{large}, GROUP BY of 1,000 keys", "chalet group", peers("group"), most_ratio=0.8, rows=rows),
        Line("filter", f"{large}, filter of a tenth to pandas", "chalet filter",
             ["chdb filter", "duckdb filter", "polars filter/same"],
             # Frames of its own in, which need no conversion: to pandas, and as they are.
             ["polars filter/pandas", "polars filter", "polars filter/streaming"], most_ratio=0.8, rows=rows),
        Line("distinct", f"{large}, COUNT(DISTINCT Int64)", "chalet distinct", peers("distinct"), most_ratio=0.8, rows=rows),
        Line("fetch", f"{fetched}, fetchall of a cursor", "chalet fetchall/cursor",
             ["duckdb fetchall", "clickhouse-driver fetchall"], ["chdb fetchall"], most_ratio=0.5, rows=FETCHED),
        Line("fetch_dbapi", f"{fetched}, fetchall of chalet.dbapi", "chalet fetchall/dbapi",
             ["duckdb fetchall", "clickhouse-driver fetchall"], ["chdb fetchall"], most_ratio=0.5, rows=FETCHED),
        Line("many", f"{inserted}, executemany of a cursor", "chalet executemany/cursor",
             ["duckdb executemany", "chdb executemany", "clickhouse-driver executemany", "sqlite3 executemany"],
             most_seconds=50e-3, rows=INSERTED),
        Line("many_dbapi", f"{inserted}, executemany of chalet.dbapi", "chalet executemany/dbapi",
             ["duckdb executemany", "chdb executemany", "clickhouse-driver executemany", "sqlite3 executemany"],
             most_seconds=50e-3, rows=INSERTED),
        *scalar,
        *aggregate,
    ]  # fmt: skip


# --- measuring -----------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, options: argparse.Namespace, chosen: list[Line], port: int | None) -> None:
        self.options, self.lines = options, chosen
        self.versions: dict[str, str] = {}
        self.processes: dict[str, Process] = {}
        wanted = {program.split()[0] for line in chosen for program in line.programs} - {"warm"}
        for name in (name for name in ENGINES if name in wanted and is_installed(name)):
            if name == "clickhouse-driver" and port is None:
                continue
            process = Process(name, options.threads, options.timeout, options.threads < len(machine.cores()), server=SERVER)
            process.ask({"rows": options.rows, "port": port or 0})
            self.versions[name] = process.version
            self.processes[name] = process
        self.too_slow: set[str] = set()

    def ask(self, program: str) -> dict[str, Any] | None:
        engine, _, task = program.partition(" ")
        if engine == "warm":
            code = startup.WARM[task]
            return {"seconds": startup.warm(code)} if startup.installed(code) else None
        process = self.processes.get(engine)
        reply = process.ask({"program": task, "slow": self.options.slow}) if process else None
        if process and reply and reply.get("died"):
            self.processes.pop(engine).close()
        return reply

    def round(self, number: int) -> None:
        # A program stands in several lines and is asked once.
        replies: dict[str, dict[str, Any] | None] = {}

        def once(program: str) -> dict[str, Any] | None:
            if program not in replies:
                replies[program] = self.ask(program)
            return replies[program]

        for at, line in enumerate(self.lines):
            able = {name: line.times.setdefault(name, Times()) for name in line.programs if name not in self.too_slow}
            take_turns(able, once, 1, shift=number + at, warm_up=False)
        for line in self.lines:
            self.too_slow |= {name for name in line.times if line.time(name) > self.options.slow}

    def close(self) -> None:
        for process in self.processes.values():
            process.close()


def is_installed(engine: str) -> bool:
    return importlib.util.find_spec(MODULES.get(engine, engine)) is not None


# --- what is told --------------------------------------------------------------------------------------------------


def shown(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "-"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.{2 if seconds < 0.01 else 1 if seconds < 1 else 0}f} ms"


def table(chosen: list[Line]) -> list[str]:
    out = [f"{'':<58}{'ours':>10}  {'best peer':<34}{'ratio':>6}  target"]
    for line in chosen:
        peer, ratio, met = line.best_peer(), line.ratio(), line.is_met()
        best = f"{shown(line.time(peer)):>10}  {peer.removeprefix('warm ')}" if peer else f"{'-':>10}"
        said = {None: "", True: ", met", False: ", MISSED"}[met]
        known = f"{ratio:6.2f}" if math.isfinite(ratio) else f"{'-':>6}"
        out.append(f"{line.title:<58}{shown(line.time(line.ours)):>10}  {best:<34}{known}  {line.target()}{said}")
        others = [name for name in [*line.peers, *line.beside] if name != peer and math.isfinite(line.time(name))]
        texts = [f"{name.removeprefix('warm ')} {shown(line.time(name))}" for name in others]
        if line.rows and math.isfinite(line.time(line.ours)):
            texts.append(f"ours {line.rows / line.time(line.ours) / 1e6:.1f} M rows/s")
        if texts:
            out.append("    " + ", ".join(texts))
    return out


def remarks(chosen: list[Line]) -> list[str]:
    failed = [(line.name, name, one.error) for line in chosen for name, one in line.times.items() if one.error]
    out = [f"{line}: {name} cannot: {why.splitlines()[0][:200]}" for line, name, why in failed]
    for line in chosen:
        ours = line.times[line.ours]
        out += [f"{line.name}: {name} answers {line.times[name].told}, ours is {ours.told}" for name in line.differing()]
    return out


def record(options: argparse.Namespace, run: Run) -> dict[str, Any]:
    return {
        "machine": machine.description(),
        "rounds": options.rounds,
        "threads": options.threads,
        "versions": run.versions,
        "lines": [
            {
                "name": line.name,
                "title": line.title,
                "ours": line.ours,
                "best_peer": line.best_peer(),
                "ratio": line.ratio(),
                "target": line.target(),
                "met": line.is_met(),
                "rows": line.rows or None,
                "median": {name: one.median for name, one in line.times.items() if one.seconds},
                "seconds": {name: one.seconds for name, one in line.times.items() if one.seconds},
                "errors": {name: one.error for name, one in line.times.items() if one.error},
            }
            for line in run.lines
        ],
    }


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that each program is asked (default 5)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large frame (default 10,000,000)")
    parser.add_argument("--threads", type=int, default=len(machine.cores()), help="threads of each engine (default: all cores)")
    parser.add_argument("--only", default="", help="names of lines: " + ",".join(line.name for line in lines(0)))
    parser.add_argument("--without", default="", help="engines to leave out: " + ",".join(ENGINES))
    parser.add_argument("--slow", type=float, default=5, help="seconds after which a program is not asked again (default 5)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a program is given up (default 300)")
    parser.add_argument("--clickhouse-port", type=int, metavar="PORT", help="a server on 127.0.0.1 for clickhouse-driver")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements here")
    return parser.parse_args()


def main() -> int:
    options = parsed()
    chosen = [line for line in lines(options.rows) if not options.only or line.name in options.only.split(",")]
    for name in filter(None, options.without.split(",")):
        for line in chosen:
            line.peers = [program for program in line.peers if program.split()[0] != name]
            line.beside = [program for program in line.beside if program.split()[0] != name]
    with ExitStack() as stack:
        port = options.clickhouse_port
        driven = any("clickhouse-driver" in program for line in chosen for program in line.peers)
        if driven and is_installed("clickhouse-driver") and port is None:
            try:
                port = stack.enter_context(clickhouse_server.running())
            except clickhouse_server.CannotServe as reason:
                print(f"clickhouse-driver is left out: {reason}")
        run = Run(options, chosen, port)
        stack.callback(run.close)
        absent = [name for name in ENGINES if name not in run.processes and any(name in p for line in chosen for p in line.programs)]
        if absent:
            print(f"left out: {', '.join(absent)}")
        for number in range(options.rounds):
            run.round(number)
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        print("\n".join([*table(chosen), *remarks(chosen)]))
        if options.json:
            options.json.write_text(json.dumps(finite(record(options, run), 9), indent=1) + "\n")
    failed = [line.name for line in chosen if line.times[line.ours].error or line.differing()]
    if failed:
        print(f"we fail, or the answers differ, in: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotStart as reason:
        sys.exit(str(reason))
