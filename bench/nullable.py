#!/usr/bin/env python3
"""Nullable columns beside plain ones: the same rows in three tables in memory, plain, Nullable without a NULL, and Nullable with one
NULL in ten, which take turns; a time is the best of the rounds.

  nullable.py [--rows 1000000] [--rounds 5] [--threads 1] [--processor-time] [--only TEXT]

With `--processor-time` a time is that of the process, where other programs run too.
"""

import argparse
import math
import sys
import time
from typing import Any

import chalet
from chalet.lab.contest import Times, take_turns

FORMS = ("plain", "no NULL", "1 in 10")
# Name, type, expression of the number `u`, which is shuffled.
COLUMNS = (
    ("i", "Int32", "toInt32(u % 1000000) - 500000"),
    ("k", "UInt8", "u % 50"),
    ("w", "UInt64", "cityHash64(u) % 100000"),
    ("f", "Float64", "u / 7 - 1000"),
    ("e", "Decimal(18, 2)", "u % 100000"),
    ("d", "Date", "toDate('2020-01-01') + u % 1500"),
    ("t", "DateTime('UTC')", "toDateTime('2020-01-01 00:00:00', 'UTC') + u % 100000000"),
    ("s", "String", "concat('word ', toString(u % 5000))"),
    ("x", "String", "concat('https://site', toString(u % 97), '.example/some/longer/path?q=', toString(u))"),
)
STATEMENTS = (
    ("aggregates", "SELECT sum(i), sum(w) FROM {t}"),
    ("aggregates", "SELECT avg(f), min(i), max(w) FROM {t}"),
    ("aggregates", "SELECT min(s), max(d) FROM {t}"),
    ("aggregates", "SELECT corr(f, i), covarPop(f, i) FROM {t}"),
    ("aggregates", "SELECT varPop(f), quantile(0.9)(f) FROM {t}"),
    ("aggregates", "SELECT sumIf(w, k = 3), countIf(i > 0) FROM {t}"),
    ("aggregates", "SELECT sum(e), count(e) FROM {t}"),
    ("distinct", "SELECT count(DISTINCT w) FROM {t}"),
    ("distinct", "SELECT count(DISTINCT s), uniq(w) FROM {t}"),
    ("distinct", "SELECT count() FROM (SELECT DISTINCT d, k FROM {t})"),
    ("groups", "SELECT max(c) FROM (SELECT k, count() AS c, sum(i) FROM {t} GROUP BY k)"),
    ("groups", "SELECT max(c) FROM (SELECT w, count() AS c, sum(i) FROM {t} GROUP BY w)"),
    ("groups", "SELECT max(c) FROM (SELECT s, count() AS c, avg(f) FROM {t} GROUP BY s)"),
    ("groups", "SELECT max(c) FROM (SELECT d, k, count() AS c FROM {t} GROUP BY d, k)"),
    ("groups", "SELECT max(c) FROM (SELECT s, w, count() AS c FROM {t} GROUP BY s, w)"),
    ("groups", "SELECT max(c) FROM (SELECT toStartOfMonth(t) AS m, count() AS c FROM {t} GROUP BY m)"),
    ("first rows", "SELECT i, s FROM {t} ORDER BY w, i LIMIT 10"),
    ("first rows", "SELECT s, f FROM {t} ORDER BY s DESC, i LIMIT 10"),
    ("joins", "SELECT count(), sum(a.i) FROM {t} AS a JOIN small_{t} AS b ON a.w = b.w"),
    ("joins", "SELECT count(), sum(a.i) FROM {t} AS a LEFT JOIN small_{t} AS b ON a.s = b.s AND a.k = b.k"),
    ("joins", "SELECT count() FROM {t} WHERE w IN (SELECT w FROM small_{t})"),
    ("filters", "SELECT count() FROM {t} WHERE i > 0 AND k < 10"),
    ("filters", "SELECT count() FROM {t} WHERE NOT (i > 0)"),
    ("filters", "SELECT sum(w) FROM {t} WHERE i BETWEEN -1000 AND 1000 OR k = 7"),
    ("filters", "SELECT count() FROM {t} WHERE s = 'word 77'"),
    ("filters", "SELECT count() FROM {t} WHERE i IN (1, 5, 9)"),
    ("filters", "SELECT count() FROM {t} WHERE s IN ('word 1', 'word 5', 'word 9')"),
    ("texts", "SELECT count() FROM {t} WHERE x LIKE '%path?q=77%'"),
    ("texts", "SELECT count() FROM {t} WHERE match(x, 'site[0-9]+7.*q=1')"),
    ("texts", "SELECT sum(length(s)), sum(position(x, 'path')) FROM {t}"),
    ("texts", "SELECT max(upper(x)), max(substring(x, 9, 12)) FROM {t}"),
    ("texts", "SELECT max(concat(s, '-', x)), max(replaceAll(x, 'site', 's')) FROM {t}"),
    ("texts", "SELECT max(toString(i)), max(toString(t)) FROM {t}"),
    ("dates", "SELECT sum(toYear(d)), sum(toYYYYMM(t)) FROM {t}"),
    ("dates", "SELECT max(toStartOfHour(t)), max(d + 7), sum(dateDiff('day', d, toDate(t))) FROM {t}"),
    ("dates", "SELECT count() FROM {t} WHERE toYYYYMM(t) = 202102"),
    ("arithmetic", "SELECT sum(i + w), sum(i * 3 - k), sum(f / 7) FROM {t}"),
    ("arithmetic", "SELECT sum(intDiv(w, 7)), sum(w % 13), sum(e * 2) FROM {t}"),
    ("choices", "SELECT sum(CASE WHEN k < 10 THEN i WHEN k < 20 THEN -i ELSE 0 END) FROM {t}"),
    ("choices", "SELECT sum(if(i > 0, w, k)), count(coalesce(i, 0)) FROM {t}"),
    ("windows", "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY w) AS r FROM {t})"),
    ("windows", "SELECT max(r) FROM (SELECT sum(i) OVER (PARTITION BY w ORDER BY t) AS r FROM {t})"),
    ("sorts", "SELECT max(i) FROM (SELECT i, s FROM {t} ORDER BY w, i OFFSET 5)"),
    ("sorts", "SELECT max(f) FROM (SELECT f, w FROM {t} ORDER BY d, f OFFSET 5)"),
    ("sorts", "SELECT max(i) FROM (SELECT i, w FROM {t} ORDER BY s, i OFFSET 5)"),
)


def made(table: str, form: str, rows: int) -> str:
    """The statement that makes a table."""

    def column(at: int, name: str, ty: str, value: str) -> str:
        if form == "plain":
            return f"CAST({value} AS {ty}) AS {name}"
        # Other rows are NULL in each column, at random.
        value = value if form == "no NULL" else f"if(sipHash64(u, {at}) % 10 = 0, NULL, {value})"
        return f"CAST({value} AS Nullable({ty})) AS {name}"

    columns = ", ".join(column(at, *of) for at, of in enumerate(COLUMNS))
    # One-to-one modulo 2^32, so that rows are shuffled.
    return f"CREATE TABLE {table} ENGINE = Memory AS SELECT {columns} FROM (SELECT (number * 2654435761) % 4294967296 AS u FROM numbers({rows}))"


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--only", default="", help="statements that contain this text, or are of this kind")
    options = parser.parse_args()
    db = chalet.connect()
    db.query(f"SET max_threads = {options.threads}")
    tables = {"plain": "p", "no NULL": "n", "1 in 10": "m"}
    for form, table in tables.items():
        db.query(made(table, form, options.rows))
        db.query(made(f"small_{table}", form, max(options.rows // 50, 1)))
    clock = time.process_time if options.processor_time else time.perf_counter

    def ask(sql: str) -> dict[str, Any]:
        started = clock()
        db.query(sql, "Null")
        return {"seconds": clock() - started}

    ratios: dict[str, list[float]] = {form: [] for form in FORMS[1:]}
    print(f"{'plain, ms':>10}" + "".join(f"{form:>9}" for form in FORMS[1:]) + "  statement")
    for kind, statement in STATEMENTS:
        if options.only not in statement and options.only != kind:
            continue
        times = {form: Times() for form in FORMS}
        take_turns(times, lambda form: ask(statement.format(t=tables[form])), options.rounds)  # noqa: B023
        plain = max(times["plain"].best, 1e-9)
        line = f"{plain * 1000:10.2f}"
        for form in FORMS[1:]:
            ratios[form].append(times[form].best / plain)
            line += f"{ratios[form][-1]:9.2f}"
        print(f"{line}  {kind}: {statement.format(t='t')}", flush=True)
    print(f"{'':10}" + "".join(f"{mean(of):9.3f}" for of in ratios.values()) + f"  geometric mean of {len(ratios[FORMS[1]])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
