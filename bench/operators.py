#!/usr/bin/env python3
"""What operators and clauses cost beside the kernel over columns of every type: comparisons, arithmetic, conditions, casts, aggregates,
GROUP BY, ORDER BY, joins and windows.

  operators.py [--only REGEX] [--rows 300000] [--rounds 3] [--threads 1] [--elapsed] [--packages FOLDER] [--json FILE]

Where `functions.py` tries each function over the arguments that it takes, this tries each type under what a query does with any of its
columns. Rows come in the order of their numbers, as those of a log do, and shuffled. Both processes answer in turns, a time is the best of
the rounds: processor time, unless `--elapsed`. A ratio above 1.5 needs a reason.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from functions import ENGINES, Engines

from chalet.lab.contest import Times, take_turns
from chalet.lab.statistics import geometric_mean

# A column of each type, over `number`.
NUMBERS = {
    "Int8": "toInt8(number)",
    "UInt16": "toUInt16(number)",
    "Int32": "toInt32(number * 7919)",
    "UInt64": "number * 1000003",
    "Int128": "toInt128(number) * 1000000007",
    "UInt256": "toUInt256(number) * 1000000007",
    "Float32": "toFloat32(number) * 1.5",
    "Float64": "number / 3",
    "Decimal32": "toDecimal32(number % 100000, 2)",
    "Decimal64": "toDecimal64(number, 4)",
    "Decimal128": "toDecimal128(number, 4)",
    "Decimal256": "toDecimal256(number, 4)",
    "NullableInt64": "if(number % 11 = 0, NULL, toInt64(number))",
    "NullableDecimal64": "if(number % 11 = 0, NULL, toDecimal64(number, 4))",
}
TIMES = {
    "Date": "toDate('2020-01-01') + number % 3000",
    "Date32": "toDate32('2020-01-01') + number % 3000",
    "DateTime": "toDateTime('2020-01-01 00:00:00', 'UTC') + number",
    "DateTime64": "toDateTime64('2020-01-01 00:00:00', 3, 'UTC') + number",
    "NullableDate": "if(number % 11 = 0, NULL, toDate('2020-01-01') + number % 3000)",
}
TEXTS = {
    "String": "concat('key ', toString(number % 100000))",
    "FixedString": "toFixedString(leftPad(toString(number), 10, '0'), 10)",
    "LowCardinality": "toLowCardinality(toString(number % 500))",
    "NullableString": "if(number % 11 = 0, NULL, concat('k', toString(number % 5000)))",
}
OTHERS = {
    "UUID": "reinterpretAsUUID(concat(reinterpretAsString(number % 65536), reinterpretAsString(number)))",
    "Enum8": "CAST(number % 3 + 1 AS Enum8('a' = 1, 'b' = 2, 'c' = 3))",
    "IPv4": "toIPv4(toUInt32(number * 7919))",
    "Bool": "number % 3 = 0",
    "Array": "[number, number + 1, number % 7]",
    "Tuple": "(number, toString(number % 10))",
    "Map": "map('a', number, 'b', number % 5)",
}
# {c}: the column; {o}: another of its type; {v}: one of its values; {t}: the table.
OF_ANY = [
    "countIf({c} = {v})", "countIf({c} < {v})", "countIf({c} = {o})", "countIf({c} < {o})", "countIf({c} BETWEEN {v} AND {w})",
    "countIf({c} IN (SELECT {c} FROM {t} LIMIT 5))", "countIf({c} NOT IN (SELECT {c} FROM {t} WHERE k % 20 = 0))",
    "ignore(if(k % 2, {c}, {o}))", "ignore(coalesce({c}, {o}))", "ignore(multiIf(k % 3 = 0, {c}, k % 3 = 1, {o}, {v}))", "ignore(greatest({c}, {o}))",
    "ignore(toString({c}))", "ignore(cityHash64({c}))", "ignore([{c}, {o}])", "max({c}), min({c})", "any({c}), anyLast({c})", "uniq({c})",
    "uniqExact({c})", "length(groupArray({c}))", "length(groupUniqArray({c}))", "argMax(k, {c}), argMin({c}, k)",
]
ARITHMETIC = [
    "ignore({c} + {o})", "ignore({c} - 3)", "ignore(3 - {c})", "ignore({c} * 3)", "ignore({c} / 7)", "ignore(intDiv({c}, 7))", "ignore({c} % 7)",
    "ignore(-{c})", "ignore(abs({c}))", "ignore(round({c}, 1))", "countIf({c} < 1234.5)", "countIf({c} = 1234)", "countIf({c} < k)", "sum({c}), avg({c})",
    "sumIf({c}, k % 2 = 0)", "quantile({c}), median({c})", "quantileExact({c})", "stddevPop({c})", "ignore(accurateCastOrNull({c}, 'Int64'))",
    "ignore(CAST({c} AS Nullable(Float64)))", "ignore(toDecimal128OrNull(toString({c}), 4))",
]
OF_TIMES = [
    *(f"ignore({name}({{c}}))" for name in ("toYear", "toMonth", "toStartOfMonth", "toStartOfWeek", "toDayOfWeek", "toYYYYMM", "toUnixTimestamp", "toDate", "toDateTime")),
    "ignore({c} + 1)", "ignore({c} + INTERVAL 1 MONTH)", "ignore(dateDiff('day', {c}, {o}))", "ignore(dateTrunc('month', {c}))", "countIf({c} < '2022-01-01')",
    "ignore(formatDateTime({c}, '%Y-%m-%d'))", "ignore(formatDateTime({c}, '%F %T'))",
]
OF_TEXTS = [
    "ignore(length({c}))", "ignore(upper({c}))", "ignore(substring({c}, 2, 3))", "countIf({c} LIKE '%12%')", "countIf({c} LIKE 'key%')", "countIf({c} ILIKE 'KEY 1%')",
    "ignore(concat({c}, 'x'))", "ignore(concat({c}, {o}))", "ignore(replaceAll({c}, '1', 'x'))", "ignore(reverse({c}))", "ignore(trim({c}))", "countIf(match({c}, '1.2'))",
    "ignore(extract(toString({c}), '(\\\\d+)'))", "countIf(startsWith({c}, 'k'))", "ignore(toUInt64OrZero({c}))", "ignore(hex({c}))", "ignore(lengthUTF8({c}))", "countIf({c} = '')",
]
STATEMENTS = [
    "SELECT k % 1000 AS g, max({c}), min({c}) FROM {t} GROUP BY g FORMAT Null", "SELECT {c}, count() FROM {t} GROUP BY {c} FORMAT Null",
    "SELECT {c}, k % 1000 AS g, count() FROM {t} GROUP BY {c}, g FORMAT Null", "SELECT DISTINCT {c} FROM {t} FORMAT Null", "SELECT {c} FROM {t} ORDER BY {c} FORMAT Null",
    "SELECT {c} FROM {t} ORDER BY {c} DESC LIMIT 10 FORMAT Null", "SELECT k, {c} FROM {t} ORDER BY {c}, k FORMAT Null",
    "SELECT count() FROM {t} JOIN (SELECT DISTINCT {c} AS x FROM {t} WHERE k % 10 = 0) AS r ON {t}.{c} = r.x", "SELECT lagInFrame({c}) OVER (ORDER BY k) FROM {t} FORMAT Null",
    "SELECT row_number() OVER (PARTITION BY {c} ORDER BY k) FROM {t} FORMAT Null", "SELECT arrayJoin([{c}, {o}]) FROM {t} FORMAT Null",
]
# The time of a statement itself, in ns a row, in which nothing is to be seen.
NOISE = 0.3
TABLES = ("ordered", "shuffled")


def tables(rows: int) -> Iterator[str]:
    columns = {**NUMBERS, **TIMES, **TEXTS, **OTHERS}
    made = [f"{expression} AS {name}, {expression.replace('number', '(number + 3)')} AS {name}_2" for name, expression in columns.items()]
    yield "SET allow_suspicious_low_cardinality_types = 1"
    for table, numbers in zip(TABLES, (f"numbers({rows})", f"(SELECT cityHash64(number) % {rows} AS number FROM numbers({rows}))"), strict=True):
        yield f"DROP TABLE IF EXISTS {table}"
        yield f"CREATE TABLE {table} ENGINE = Memory AS SELECT number AS k, {', '.join(made)} FROM {numbers}"


def statements(only: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Each statement with what stands for it in the report."""
    for columns, own in ((NUMBERS, ARITHMETIC), (TIMES, OF_TIMES), (TEXTS, OF_TEXTS), (OTHERS, [])):
        for name in columns:
            for pattern in [*(f"SELECT {expression} FROM {{t}}" for expression in [*OF_ANY, *own]), *STATEMENTS]:
                for table in TABLES:
                    places = {"c": name, "o": f"{name}_2", "t": table}
                    value, other = (f"(SELECT {name} FROM {table} LIMIT 1 OFFSET {row})" for row in (777, 4777))
                    title = pattern.format(**places, v="value", w="other")
                    if only.search(title):
                        yield title, pattern.format(**places, v=value, w=other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="expression that the statement contains")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--elapsed", action="store_true", help="compare elapsed time instead of processor time")
    parser.add_argument("--worst", type=int, default=60)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--packages", type=Path, help="folder to import chalet from")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engines = Engines(options.packages, options.timeout, options.threads)
    engines.prepare(list(tables(options.rows)))
    found: list[tuple[float, str, float, float]] = []
    refused: list[str] = []
    for title, sql in statements(options.only):
        times = {name: Times() for name in ENGINES}
        take_turns(times, lambda name, sql=sql: engines.ask(name, sql), options.rounds, warm_up=False)
        errors = {name: one.error for name, one in times.items() if one.error}
        if errors:
            # What both refuse is no statement.
            if len(errors) < len(ENGINES):
                refused.append(f"{title}: {', '.join(errors)}: {next(iter(errors.values()))[:120]}")
            continue
        ours, peer = ((one.best if options.elapsed else min(one.cpu)) / options.rows * 1e9 for one in times.values())
        found.append(((ours + NOISE) / (peer + NOISE), title, ours, peer))
        if options.json:
            # After each one: what was measured is kept when the run is stopped.
            options.json.write_text(json.dumps(found))
    if found:
        print(f"{len(found)} statements, mean ratio {geometric_mean([ratio for ratio, *_ in found]):.2f}, over 1.5: {sum(ratio > 1.5 for ratio, *_ in found)}")
    print("\nThe slowest, ours and the kernel's in ns a row:")
    for ratio, title, ours, peer in sorted(found, reverse=True)[: options.worst]:
        print(f"{ratio:>8.2f}{ours:>10.1f}{peer:>10.1f}  {title}")
    print(f"\n{len(refused)} that one of them refuses:")
    for line in refused:
        print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
