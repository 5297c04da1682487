#!/usr/bin/env python3
"""Sorts and windows over a table in memory, ours beside chdb and duckdb, which take turns; a time is the best of the rounds.

  sorts.py [--rows 3000000] [--rounds 3] [--threads 2] [--packages FOLDER] [--base FOLDER] [--engines chalet,chdb,duckdb]

`--packages` is a folder to import chalet from; `--base` another build of it, which takes part as `base`. Answers are compared.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from processes import Process

from chalet.lab.contest import Times, take_turns

# One-to-one modulo 2^32, so that rows are shuffled alike in every engine.
SHUFFLED = "({n} * 2654435761) % 4294967296"
TABLE = (
    "CREATE TABLE t {engine} AS SELECT u AS a, CAST(u % 1000003 AS INTEGER) AS b, u % {tenth} AS k, u % 101 AS g, "
    "CAST(u % {twentieth} AS {text}) AS s FROM (SELECT {shuffled} AS u FROM {numbers})"
)
STATEMENTS = {
    "one key": "SELECT max(b) FROM (SELECT a, b FROM t ORDER BY b, a OFFSET 5)",
    "three keys": "SELECT max(a) FROM (SELECT a, b, s FROM t ORDER BY k, s, a OFFSET 5)",
    "far offset": "SELECT a FROM t ORDER BY a LIMIT 3 OFFSET {half}",
    "row_number": "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY a) AS r FROM t)",
    "rank": "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY g ORDER BY b) AS r FROM t)",
    "lag": "SELECT sum(r) FROM (SELECT lag(a) OVER (PARTITION BY g ORDER BY a) AS r FROM t)",
    "running sum": "SELECT max(r) FROM (SELECT sum(b) OVER (PARTITION BY k ORDER BY a) AS r FROM t)",
    "sum of partition": "SELECT max(r) FROM (SELECT sum(b) OVER (PARTITION BY k) AS r FROM t)",
    "by string": "SELECT max(r) FROM (SELECT count(*) OVER (PARTITION BY s ORDER BY a) AS r FROM t)",
    "no partition": "SELECT max(r) FROM (SELECT sum(b) OVER (ORDER BY a) AS r FROM t)",
    "sliding": "SELECT max(r) FROM (SELECT sum(b) OVER (PARTITION BY g ORDER BY a ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS r FROM t)",
}


def table(engine: str, rows: int) -> str:
    is_duckdb = engine == "duckdb"
    return TABLE.format(
        engine="" if is_duckdb else "ENGINE = Memory",
        text="VARCHAR" if is_duckdb else "String",
        shuffled=SHUFFLED.format(n="i" if is_duckdb else "number"),
        numbers=f"range({rows}) AS r(i)" if is_duckdb else f"numbers({rows})",
        tenth=rows // 10,
        twentieth=rows // 20,
    )


def ask(process: Process, sql: str) -> dict[str, Any]:
    reply = process.query(sql, rows=True)
    if "error" in reply:
        sys.exit(f"{process.engine}: {sql}: {reply['error']}")
    return {**reply, "told": [[float(value) for value in row] for row in reply.get("rows", [])]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--engines", default="chalet,chdb,duckdb")
    options = parser.parse_args()
    processes = {
        name: Process(name, options.threads, 300, False, options.packages if name == "chalet" else None)
        for name in options.engines.split(",")
    }
    if options.base:
        processes["base"] = Process("chalet", options.threads, 300, False, options.base)
    for name, process in processes.items():
        ask(process, table(name, options.rows))
    print(f"{'seconds':18}" + "".join(f"{name:>10}" for name in processes))
    different = 0
    for title, statement in STATEMENTS.items():
        sql = statement.format(half=options.rows // 2)
        times = {name: Times() for name in processes}
        take_turns(times, lambda name: ask(processes[name], sql), options.rounds, warm_up=False)  # noqa: B023
        told = [one.told for one in times.values()]
        differs = any(answer != told[0] for answer in told)
        different += differs
        print(f"{title:18}" + "".join(f"{one.best:10.3f}" for one in times.values()) + ("  differs" if differs else ""))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
