#!/usr/bin/env python3
"""How far is the order of joins that the optimizer chose from the best one? Others are tried: orders drawn at random in which each
table has a condition with one before it, joined as they are written.

  join_orders.py FOLDER [--tries 10] [--only 1a,28b] [--threads 2] [--packages FOLDER] [--json FILE]

FOLDER is what `suite_data.py movies` made: queries of the form SELECT ... FROM table AS alias, ... WHERE conditions. A time is the best of
three runs, an order that takes over three times ours is given up. Exit status 1 where ours takes over five times the best.
"""

import argparse
import json
import random
import re
import sys
from pathlib import Path

from processes import Process

from chalet.lab.contest import Times, take_turns
from chalet.lab.statistics import geometric_mean

SERVER = Path(__file__).with_name("suite_engines.py")
WORST = 5.0
RUNS = 3
# Nothing to be gained where a query takes less, in seconds.
LEAST = 0.002


def orders(sql: str, tries: int, dice: random.Random) -> list[str]:
    """The query with its tables in other orders."""
    select, _, rest = sql.partition(" FROM ")
    tables, _, where = rest.partition(" WHERE ")
    by_alias = {table.split(" AS ")[1]: table for table in tables.split(", ")}
    edges = [(a, b) for a, b in re.findall(r"\b(\w+)\.\w+ = (\w+)\.\w+", where)]
    found = []
    for _ in range(tries):
        order = [dice.choice(sorted(by_alias))]
        while len(order) < len(by_alias):
            near = {b for a, b in edges if a in order} | {a for a, b in edges if b in order}
            order.append(dice.choice(sorted(near - set(order) or by_alias.keys() - set(order))))
        found.append(f"{select} FROM {', '.join(by_alias[alias] for alias in order)} WHERE {where}")
    return found


def timed(process: Process, sql: str, settings: str) -> Times:
    times = {"ours": Times()}
    take_turns(times, lambda _: process.query(f"{sql} SETTINGS {settings}"), RUNS - 1, warm_up=False)
    return times["ours"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    queries = json.loads((options.folder / "queries.json").read_text())
    process = Process("chalet", options.threads, 120, False, options.packages, SERVER)
    process.attach(options.folder)
    dice = random.Random(1)
    ratios: dict[str, float] = {}
    for name, sql in queries.items():
        if options.only and name not in options.only.split(","):
            continue
        ours = timed(process, sql, "max_execution_time = 100").best
        best, n_better = ours, 0
        for other in orders(sql, options.tries, dice):
            limit = f"max_execution_time = {3 * ours + 0.05:.3f}, query_plan_optimize_join_order_limit = 0, query_plan_join_swap_table = 'false'"
            times = timed(process, other, limit)
            n_better += not times.error and times.best < ours
            best = best if times.error else min(best, times.best)
        ratios[name] = max(ours, LEAST) / max(best, LEAST)
        print(f"{name:>5}{ours * 1000:10.1f}{best * 1000:10.1f}{ratios[name]:8.2f}   {n_better} of {options.tries} are faster", flush=True)
    worst = max(ratios, key=ratios.__getitem__)
    print(f"ours to the best found: geometric mean {geometric_mean(list(ratios.values())):.2f}, worst {ratios[worst]:.2f} ({worst})")
    if options.json:
        options.json.write_text(json.dumps(ratios, indent=1))
    return 1 if ratios[worst] > WORST else 0


if __name__ == "__main__":
    sys.exit(main())
