#!/usr/bin/env python3
"""TPC-H, TPC-DS, joins or sorts over Parquet, ours beside its peers, which take turns; a time is the best of the runs.

  suite.py FOLDER [--engines chalet,duckdb,datafusion] [--only 1,5,10-12,semi] [--repeat 5] [--threads 2] [--timeout 60]
         [--packages FOLDER] [--base FOLDER] [--set ENGINE:NAME=VALUE ...] [--json FILE]

FOLDER is what suite_data.py made. The first engine is "ours": ratios are its time to that of the fastest other engine, and answers
are compared with its. `--packages` is a folder to import it from, `--base` another build of it, which takes part as `base`.
`--set chalet:max_memory_usage=1000000000` sets what an engine runs with; ours and chdb run with the settings that standard SQL asks
for (NULLs of joins, casts and groupings, columns before aliases, DISTINCT where UNION, INTERSECT and EXCEPT do not say ALL), and a few
things are put into their dialect.
"""

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from answers import canonical
from processes import CannotStart, Process

from chalet.lab.contest import Times, take_turns
from chalet.lab.statistics import geometric_mean

SERVER = Path(__file__).with_name("suite_engines.py")
STANDARD = dict.fromkeys(["join_use_nulls", "group_by_use_nulls", "cast_keep_nullable", "prefer_column_name_to_alias"], "1") | dict.fromkeys(
    ["union_default_mode", "intersect_default_mode", "except_default_mode"], "'DISTINCT'"
)
# What the queries say otherwise in the dialect of ClickHouse: a column keeps the name of its table where another table has it too, names
# differ by case, a Decimal has no common type with a float, ORDER BY takes columns before aliases as everything else does, and a Decimal
# divided by one keeps its digits, so that a quotient with all of them is asked for.
IN_DIALECT = [
    (r"\bv1\.(\w+),\n", r"v1.\1 AS \1,\n"),
    (r"\bCATALOG\b", "catalog"),
    (r",\s*0\.0\)", ", 0)"),
    (r"\breturns_ DESC", "sum(returns_) DESC"),
    (r"((?:ORDER BY|i_item_id,)\s+)total_sales\b(?=\s+LIMIT|\s+NULLS FIRST,\s+i_item_id)", r"\1sum(total_sales)"),
    (r"\bext_price DESC NULLS FIRST,\s+i_brand_id\b", "sum(ext_price) DESC NULLS FIRST, i_brand_id"),
    (r"/ *cast\(", "/ toFloat64("),
    (r"(/ toFloat64\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*) AS decimal\(15,4\)\)", r"\1)"),
    (r"_item_rev\)/3\b", "_item_rev)/3e0"),
    (r"/(\w+_sales2|w_warehouse_sq_ft)\b", r"/toFloat64(\1)"),
    (r"/ sum\(volume\)", "/ toFloat64(sum(volume))"),
]
TOLERANCE = 1e-6


def chosen(text: str, queries: dict[str, str]) -> list[str]:
    """The names of queries that `--only` lists: numbers, ranges of numbers, names."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += [part] if part in queries else [str(number) for number in range(int(first), int(last or first) + 1)]
    return found or list(queries)


def same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except ValueError:
        return False


def sort_key(row: list[str]) -> list[str]:
    """Fields that are no numbers first: numbers of several engines may differ in their last digits."""
    return [text for text in row if not text.replace(".", "").replace("-", "").isdigit()] + row


def difference(ours: list, theirs: list) -> str:
    """What differs, empty if nothing does. The order of rows is not compared."""
    one, other = ([[canonical(field).rstrip() for field in row] for row in rows] for rows in (ours, theirs))
    if len(one) != len(other):
        return f"{len(one)} rows, not {len(other)}"
    for mine, other_row in zip(sorted(one, key=sort_key), sorted(other, key=sort_key)):
        if not all(map(same, mine, other_row)):
            return f"{mine} is {other_row} there"
    return ""


class Contest:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.settings: dict[str, dict[str, str]] = {"chalet": dict(STANDARD), "base": dict(STANDARD), "chdb": dict(STANDARD)}
        for text in options.set:
            engine, _, rest = text.partition(":")
            name, _, value = rest.partition("=")
            self.settings.setdefault(engine, {})[name] = value
        self.processes: dict[str, Process] = {}
        for name in options.engines.split(","):
            self.start(name, name, options.packages if name == "chalet" else None)
        if options.base:
            self.start("base", "chalet", options.base)

    def start(self, name: str, engine: str, packages: Path | None) -> None:
        try:
            process = Process(engine, self.options.threads, self.options.timeout, False, packages, SERVER)
            process.attach(self.options.folder)
        except CannotStart as error:
            print(f"{name} cannot start: {error}")
            return
        self.processes[name] = process
        self.configure(name)

    def configure(self, name: str) -> None:
        reply = self.processes[name].ask({"set": self.settings.get(name, {})})
        if "error" in reply:
            sys.exit(f"{name}: {reply['error']}")

    def ask(self, name: str, sql: str, rows: bool) -> dict[str, Any]:
        if name in ("chalet", "base", "chdb"):
            for pattern, replacement in IN_DIALECT:
                sql = re.sub(pattern, replacement, sql)
        deaths = self.processes[name].deaths
        reply = self.processes[name].query(sql, rows=rows)
        if self.processes[name].deaths > deaths:
            self.configure(name)
        return reply

    def run(self, sql: str) -> dict[str, Times]:
        """By engine. The first run gives the answer, and its time counts where it is the only one."""
        times = {name: Times() for name in self.processes}
        for name, one in times.items():
            reply = self.ask(name, sql, True)
            one.keep({**reply, "told": reply.get("rows")}, first=self.options.repeat > 0)
        take_turns(times, lambda name: self.ask(name, sql, False), self.options.repeat, warm_up=False)
        return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engines", default="chalet,duckdb,datafusion")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    queries = json.loads((options.folder / "queries.json").read_text())
    only = chosen(options.only, queries) if options.only else list(queries)
    width = max(map(len, only))
    contest = Contest(options)
    names = list(contest.processes)
    ours, peers = names[0], [name for name in names[1:] if name != "base"]
    print(" " * width + "".join(f"{name:>12}" for name in names) + f"{'ratio':>8}   (ms)")
    ratios: dict[str, float] = {}
    against: dict[str, list[float]] = {name: [] for name in names[1:]}
    remarks, recorded, different = [], {}, 0
    for number in only:
        results = contest.run(queries[number].strip().rstrip(";"))
        best = {name: found.best for name, found in results.items() if not found.error}
        line = number.rjust(width)
        for name in names:
            text = f"{best[name] * 1e3:.1f}" if name in best else "-"
            said = results[name].error
            if said:
                remarks.append(f"{number} {name}: {said[:200]}")
            elif name != ours and results[ours].told is not None:
                if found := difference(results[ours].told, results[name].told):
                    text += "*"
                    different += name == peers[0] if peers else 0
                    remarks.append(f"{number} {name} differs: {found[:300]}")
            line += f"{text:>12}"
        if ours in best:
            for name in against:
                if name in best:
                    against[name].append(best[ours] / best[name])
            if others := [best[name] for name in peers if name in best]:
                ratios[number] = best[ours] / min(others)
                line += f"{ratios[number]:8.2f}"
        print(line, flush=True)
        recorded[number] = {name: {key: getattr(found, key) for key in ("error", "seconds", "peak_mb")} for name, found in results.items()}
    for remark in remarks:
        print(remark)
    for name, found in against.items():
        if found:
            print(f"to {name}: {geometric_mean(found):.3f} over {len(found)}, sum of times {sum_of(recorded, ours, name)}")
    if ratios:
        worst = sorted(ratios, key=ratios.__getitem__)[-3:]
        print(f"to the best peer: {geometric_mean(list(ratios.values())):.3f}; worst " + ", ".join(f"{n}: {ratios[n]:.2f}" for n in worst))
    if options.json:
        options.json.write_text(json.dumps(recorded, indent=1))
    return 1 if different or len(ratios) < len(only) else 0


def sum_of(recorded: dict[str, dict[str, Any]], ours: str, name: str) -> str:
    both = [found for found in recorded.values() if not found[ours]["error"] and not found[name]["error"]]
    mine, others = (sum(min(found[engine]["seconds"]) for found in both) for engine in (ours, name))
    return f"{mine:.2f} s to {others:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
