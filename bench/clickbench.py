#!/usr/bin/env python3
"""Runs a file of queries over the same Parquet files on chalet and on the real kernel: compares answers, then times.

  clickbench.py --data FOLDER --queries FILE [--repeat 3] [--only 5,20-24] [--engines chalet,chdb] [--json OUT]

The table of the queries is `hits`, a view over FOLDER/*.parquet. Ties aside: rows that share the sort key of the first
or last row before a LIMIT may be others, as may all rows of a LIMIT without ORDER BY as long as the full answer has them.
Each engine runs in a process of its own; they take turns, query by query. Exit status 1 when an answer differs.
"""

import argparse
import json
import math
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

SEPARATORS = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|[();,]|\b[A-Za-z_]\w*\b)""")


# --- the engine's side -------------------------------------------------------------------------------------------


def serve(engine):
    """Answers statements of stdin, one JSON a line, until it closes."""
    module = __import__(engine)
    connection = module.connect(":memory:")
    for line in sys.stdin:
        start = time.perf_counter()
        reply = {}
        try:
            reply["text"] = bytes(connection.query(json.loads(line), "TabSeparated").bytes()).decode(errors="replace")
        except Exception as error:
            reply["error"] = str(error)
        reply["seconds"] = time.perf_counter() - start
        reply["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(reply), flush=True)


class Engine:
    def __init__(self, name, data):
        self.name, self.peak_mb, self.data = name, 0, data
        self.start()

    def start(self):
        command = [sys.executable, __file__, "--serve", self.name]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made = self.ask(f"CREATE VIEW hits AS SELECT * FROM file('{self.data}/*.parquet')")
        if "error" in made:
            sys.exit(f"{self.name}: {made['error']}")

    def ask(self, sql):
        try:
            self.child.stdin.write(json.dumps(sql) + "\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self.child.wait()
            self.start()
            return {"error": f"the process died ({status})", "seconds": math.nan}
        reply = json.loads(line)
        self.peak_mb = max(self.peak_mb, reply["peak_mb"])
        return reply


# --- what a query says about its order -----------------------------------------------------------------------------


def statements(text):
    """The statements of a file, split at semicolons outside of literals."""
    start, out = 0, []
    for match in SEPARATORS.finditer(text):
        if match[0] == ";":
            out.append(text[start : match.start()])
            start = match.end()
    out.append(text[start:])
    return [s.strip() for s in out if re.sub(r"--[^\n]*", "", s).strip()]


def top_level(sql):
    """(word or symbol in upper case, start, end) of everything outside of brackets and literals."""
    depth = 0
    for match in SEPARATORS.finditer(sql):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0 and match[0][0] not in "'\"`-)":
            yield match[0].upper(), match.start(), match.end()


def shape(sql):
    """Where the parts of the outermost SELECT lie: (from, order by keys, limit), None for what is not there."""
    words = list(top_level(sql))
    at = {}
    for i, (word, start, end) in enumerate(words):
        following = words[i + 1][0] if i + 1 < len(words) else ""
        if word == "FROM":
            at.setdefault("from", start)
        elif word == "ORDER" and following == "BY":
            at["order"] = (start, words[i + 1][2])
        elif word in ("LIMIT", "OFFSET"):
            at.setdefault("limit", start)
    limit = at.get("limit")
    keys = None
    if "order" in at:
        body = sql[at["order"][1] : limit]
        cuts = [start for word, start, _ in top_level(body) if word == ","]
        parts = [body[a:b] for a, b in zip([0, *(c + 1 for c in cuts)], [*cuts, len(body)])]
        keys = [re.sub(r"\s+(ASC|DESC)\s*$", "", p.strip(), flags=re.I) for p in parts]
    return at.get("from"), keys, limit


def with_keys(sql):
    """The query with its sort keys as its last columns, and their number."""
    start, keys, limit = shape(sql)
    if not keys or limit is None or start is None:
        return sql, 0
    columns = "".join(f", {key} AS sort_key_{i}" for i, key in enumerate(keys))
    return sql[:start].rstrip() + columns + " " + sql[start:], len(keys)


# --- comparing -----------------------------------------------------------------------------------------------------


def rows_of(text):
    return [line.split("\t") for line in text.split("\n")[:-1]]


def same_field(a, b):
    if a == b:
        return True
    try:
        # A sum of floating-point numbers depends on its order.
        return math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return False


def same_row(a, b):
    return len(a) == len(b) and all(map(same_field, a, b))


def same_rows(a, b):
    return len(a) == len(b) and all(map(same_row, a, b))


def difference(sql, ours, theirs):
    """Why two engines' answers differ, or "". `ours` and `theirs` answer a statement."""
    start, keys, limit = shape(sql)
    asked, n_keys = with_keys(sql)
    replies = [ask(asked) for ask in (ours, theirs)]
    for reply, who in zip(replies, ("ours", "theirs")):
        if "error" in reply:
            return f"{who}: {reply['error'][:300]}"
    a, b = (rows_of(reply["text"]) for reply in replies)
    if same_rows(a, b):
        return ""
    if len(a) != len(b):
        return f"{len(a)} rows instead of {len(b)}"
    if limit is not None and not keys:
        full = Counter(map(tuple, rows_of(theirs(sql[:limit])["text"])))
        strange = Counter(map(tuple, a)) - full
        return f"a row that is not in the full answer: {next(iter(strange))}" if strange else ""
    if n_keys:
        key = lambda row: row[-n_keys:]
        if not same_rows([key(r) for r in a], [key(r) for r in b]):
            return first_difference(a, b)
        loose = [b[0][-n_keys:], b[-1][-n_keys:]]
        a, b = ([r for r in rows if key(r) not in loose] for rows in (a, b))
    a, b = sorted(a), sorted(b)
    return "" if same_rows(a, b) else first_difference(a, b)


def first_difference(a, b):
    for i, (x, y) in enumerate(zip(a, b)):
        if not same_row(x, y):
            return f"row {i + 1}: {' | '.join(x)[:120]}  instead of  {' | '.join(y)[:120]}"
    return f"{len(a)} rows instead of {len(b)} after the ties"


# --- the run -------------------------------------------------------------------------------------------------------


def chosen(text, count):
    if not text:
        return set(range(1, count + 1))
    spans = (part.partition("-") for part in text.split(","))
    return {n for low, dash, high in spans for n in range(int(low), int(high if dash else low) + 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each query on each engine (default 3)")
    parser.add_argument("--only", default="", help="numbers of queries: 5,20-24")
    parser.add_argument("--engines", default="chalet,chdb", help="the second one is the yardstick")
    parser.add_argument("--json", type=Path, help="write all times here")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    if not options.data or not options.queries:
        parser.error("--data and --queries are needed")
    engines = [Engine(name, options.data.resolve()) for name in options.engines.split(",")]
    queries = statements(options.queries.read_text())
    wanted = chosen(options.only, len(queries))
    print("query  answer  " + "".join(f"{e.name:>10}" for e in engines) + "     ratio")
    failed, totals, ratios, record = 0, [0.0] * len(engines), [], []
    for number, sql in enumerate(queries, 1):
        if number not in wanted:
            continue
        why = difference(sql, engines[0].ask, engines[1].ask) if len(engines) > 1 else ""
        runs = [[] for _ in engines]
        for _ in range(options.repeat):
            for engine, times in zip(engines, runs):
                reply = engine.ask(sql)
                times.append(math.inf if "error" in reply else reply["seconds"])
        best = [min(times, default=math.nan) for times in runs]
        ratio = best[0] / best[-1] if all(map(math.isfinite, best)) and best[-1] else math.nan
        if math.isfinite(ratio):
            ratios.append(ratio)
            totals = [total + seconds for total, seconds in zip(totals, best)]
        failed += bool(why)
        record.append({"query": number, "sql": sql, "difference": why, "seconds": dict(zip(options.engines.split(","), runs))})
        times = "".join(f"{seconds * 1000:>8.1f}ms" if math.isfinite(seconds) else f"{'-':>10}" for seconds in best)
        print(f"{number:>5}  {'diff' if why else 'ok':<6}  {times}  {ratio:>8.2f}" + (f"  {why}" if why else ""), flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print("total          " + "".join(f"{total:>9.2f}s" for total in totals) + f"  {mean:>8.2f} geometric mean")
    print("peak memory    " + "".join(f"{e.peak_mb:>8.0f}MB" for e in engines))
    print(f"{len(record) - failed} ok, {failed} different")
    if options.json:
        options.json.write_text(json.dumps(record, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
