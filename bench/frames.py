#!/usr/bin/env python3
"""Statements over a large frame of pandas (its default types, numpy with objects, nullable and Arrow types) and of polars, ours beside
chdb, duckdb and polars.

  frames.py [--rows 10000000] [--rounds 3] [--threads 2] [--kinds default,numpy,nullable,arrow,polars] [--only REGEX] [--packages FOLDER]
            [--engines chalet,chdb,duckdb,polars] [--limit 0.8] [--json FILE]

The engines take turns; a time is the best of the rounds and ends when a frame of the result is there. Polars gets its own frame of
the same rows whatever the kind, and chdb and duckdb the same frame as we. Answers are compared. At the end stand the statements
that took us more than `--limit` of the best peer's time.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from answers import same_rows
from processes import CannotStart, Process

from chalet.lab.contest import Times, take_turns
from chalet.lab.statistics import geometric_mean

SERVER = Path(__file__).with_name("frames_engines.py")
KINDS = ["default", "numpy", "nullable", "arrow", "polars"]
ENGINES = ["chalet", "chdb", "duckdb", "polars"]

# Columns: id 0, 1, ...; k of 1,000 and u of rows / 5 different numbers, v a float, n a number that may be NULL, t a time, flag; s and w
# (which may be NULL) of 1,000 words, page of 100,000 addresses.
STATEMENTS = {
    "count": "SELECT count(*) AS c FROM frame",
    "sum": "SELECT sum(id) AS a, sum(v) AS b, max(k) AS c FROM frame",
    "null sum": "SELECT sum(n) AS a, count(n) AS b, min(n) AS c FROM frame",
    "filter count": "SELECT count(*) AS c FROM frame WHERE v > 0.9 AND k < 500",
    "filter rows": "SELECT id, k, v FROM frame WHERE v > 0.99 ORDER BY id",
    "filter many": "SELECT id, v FROM frame WHERE v > 0.5 ORDER BY id",
    "filter null": "SELECT count(*) AS c, sum(k) AS x FROM frame WHERE n IS NULL",
    "filter flag": "SELECT count(*) AS c, sum(v) AS x FROM frame WHERE flag",
    "filter word": "SELECT count(*) AS c, sum(k) AS x FROM frame WHERE s = 'word 77'",
    "filter words": "SELECT count(*) AS c, sum(k) AS x FROM frame WHERE s IN ('word 1', 'word 22', 'word 333', 'nothing')",
    "filter page": "SELECT count(*) AS c FROM frame WHERE page LIKE '%/42/%'",
    "filter prefix": "SELECT count(*) AS c FROM frame WHERE page LIKE 'https://example.com/7%'",
    "filter time": "SELECT count(*) AS c, sum(v) AS x FROM frame WHERE t >= '2021-06-01 00:00:00' AND t < '2021-07-01 00:00:00'",
    "group k": "SELECT k, sum(v) AS a, count(*) AS c FROM frame GROUP BY k ORDER BY k",
    "group u": "SELECT max(c) AS m, count(*) AS n FROM (SELECT u, count(*) AS c FROM frame GROUP BY u) AS g",
    "group null": "SELECT n, count(*) AS c FROM frame WHERE n IS NOT NULL GROUP BY n ORDER BY n",
    "group word": "SELECT s, sum(v) AS a, count(*) AS c FROM frame GROUP BY s ORDER BY s",
    "group null word": "SELECT w, count(*) AS c FROM frame WHERE w IS NOT NULL GROUP BY w ORDER BY w",
    "group page": "SELECT page, count(*) AS c FROM frame GROUP BY page ORDER BY c DESC, page LIMIT 10",
    "group two": "SELECT k, flag, avg(v) AS a FROM frame GROUP BY k, flag ORDER BY k, flag",
    "group two words": "SELECT count(*) AS c FROM (SELECT s, w FROM frame GROUP BY s, w) AS g",
    "distinct": "SELECT count(DISTINCT u) AS c FROM frame",
    "distinct page": "SELECT count(DISTINCT page) AS c FROM frame",
    "top numbers": "SELECT id, v FROM frame ORDER BY v DESC, id LIMIT 10",
    "top words": "SELECT s, id FROM frame ORDER BY s, id LIMIT 10",
    "sort": "SELECT id, k, v FROM frame ORDER BY k, v",
    "join": "SELECT count(*) AS c, sum(a.v) AS x FROM frame AS a JOIN (SELECT u AS bu, count(*) AS bc FROM frame WHERE k < 10 GROUP BY u) AS b ON a.u = b.bu",
    "window": "SELECT sum(r) AS x FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM frame) AS g",
    "expressions": "SELECT sum(v * k + n) AS a, avg(abs(n)) AS b FROM frame",
    "lengths": "SELECT sum(length(page)) AS a, max(length(s)) AS b FROM frame",
    "case": "SELECT sum(CASE WHEN k < 100 THEN v WHEN flag THEN 1.0 ELSE 0.0 END) AS a FROM frame",
}
# Where a dialect has another word for it.
WORDS = {"polars": {"length(": "LENGTH("}}


def statement(engine: str, sql: str) -> str:
    for ours, theirs in WORDS.get(engine, {}).items():
        sql = sql.replace(ours, theirs)
    return sql


def measured(processes: dict[str, Process], sql: str, rounds: int) -> dict[str, Times]:
    times = {name: Times() for name in processes}

    def ask(name: str) -> dict[str, Any]:
        reply = processes[name].ask({"sql": statement(name, sql)})
        return {**reply, "told": reply.get("rows")}

    take_turns(times, ask, rounds)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=0.8)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.engines.split(",")
    processes = {
        name: Process(name, options.threads, 300, False, options.packages if name == names[0] else None, server=SERVER) for name in names
    }
    kept, slow, different = [], [], 0
    for kind in options.kinds.split(","):
        for name, process in processes.items():
            reply = process.ask({"kind": kind, "rows": options.rows})
            if "error" in reply:
                raise CannotStart(f"{name}: {reply['error']}")
        print(f"\n{kind + ', ms':18}" + "".join(f"{name:>10}" for name in names) + "     ratio")
        ratios = []
        for title, sql in STATEMENTS.items():
            if not re.search(options.only, title):
                continue
            found = measured(processes, sql, options.rounds)
            best = {name: one.best for name, one in found.items() if math.isfinite(one.best)}
            rows = {name: one.told for name, one in found.items() if one.told is not None}
            errors = {name: one.error for name, one in found.items() if one.error}
            ours, peers = best.get(names[0], math.nan), [best[name] for name in names[1:] if name in best]
            ratio = ours / min(peers) if peers else math.nan
            differing = [name for name in rows if names[0] in rows and not same_rows(rows[name], rows[names[0]])]
            different += bool(differing)
            times = "".join(f"{best[name] * 1000:10.1f}" if name in best else f"{'-':>10}" for name in names)
            notes = [f"{name} differs" for name in differing] + [f"{name}: {error[:60]}" for name, error in errors.items()]
            print(f"{title:18}{times}{ratio:10.2f}  {'; '.join(notes)}", flush=True)
            kept.append({"kind": kind, "title": title, "seconds": best, "errors": errors, "differing": differing})
            if math.isfinite(ratio):
                ratios.append(ratio)
                if ratio > options.limit:
                    slow.append((ratio, kind, title))
        if ratios:
            print(f"{kind}: {len(ratios)} statements, mean ratio {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")
    print(f"\nOver {options.limit:g} of the best peer: {len(slow)}")
    for ratio, kind, title in sorted(slow, reverse=True):
        print(f"{ratio:8.2f}  {kind}, {title}")
    if options.json:
        options.json.write_text("".join(json.dumps(one) + "\n" for one in kept))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
