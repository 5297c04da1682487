#!/usr/bin/env python3
"""Statements over a table of many rows of many types: every operator meets several blocks, threads, parts and partitions.

    large.py record     asks the real kernel, and writes large.tsv: statements with the answers

Answers are sums of hashes where rows come in no order. tests/python/test_large_tables.py asks the same of us, with one thread, with
several and with little memory.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROWS = 150_000
RECORDED = Path(__file__).with_name("large.tsv")
MADE = (
    f"""CREATE TABLE t ENGINE = MergeTree ORDER BY id AS SELECT
number AS id, cityHash64(number) AS h, toUInt8(h % 200) AS u8, toUInt16(h % 5000) AS u16, toUInt32(h % 100000) AS u32,
toInt32(h % 2000) - 1000 AS i32, (h % 10007) / 8 AS f64, toDecimal64(h % 9999 / 100, 2) AS de,
concat('w', toString(h % 3000)) AS s, concat('a long string of many characters ', toString(h % 70000)) AS ls,
toLowCardinality(concat('lc', toString(h % 300))) AS lc, if(h % 7 = 0, NULL, toString(h % 900)) AS ns,
if(h % 5 = 0, NULL, toInt32(h % 7000)) AS ni, CAST(if(h % 6 = 0, NULL, concat('n', toString(h % 40))) AS LowCardinality(Nullable(String))) AS nlc,
toDate('2000-01-01') + h % 4000 AS d, toDateTime64('2020-01-01 00:00:00.000', 3, 'UTC') + toIntervalMillisecond(h % 100000) AS dt64,
range(h % 4) AS a, (toUInt8(h % 20), toString(h % 30)) AS tu, intDiv(number, 1000) AS blk
FROM numbers({ROWS})""",
    "CREATE TABLE r ENGINE = MergeTree ORDER BY id AS SELECT * FROM t WHERE id % 37 = 0",
)
COLUMNS = ("u8", "u16", "u32", "i32", "f64", "de", "s", "ls", "lc", "ns", "ni", "nlc", "d", "dt64", "a", "tu", "blk")
ALL = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"

# `c` stands for a column.
OF_A_COLUMN = (
    "SELECT count(), sum(cityHash64(k, n, m)) FROM (SELECT c AS k, count() AS n, max(id) AS m FROM t GROUP BY c)",
    "SELECT count(), sum(cityHash64(k, n, o)) FROM (SELECT c AS k, uniqExact(u16) AS n, sum(u32) AS o FROM t GROUP BY c)",
    "SELECT count(), sum(cityHash64(k, u8)) FROM (SELECT DISTINCT c AS k, u8 FROM t)",
    "SELECT id, c FROM t ORDER BY c, id LIMIT 5 OFFSET 110000",
    "SELECT id, c FROM t ORDER BY c DESC NULLS FIRST, id DESC LIMIT 5 OFFSET 40000",
    "SELECT id FROM t ORDER BY c, id LIMIT 7",
    "SELECT sum(cityHash64(id, p)) FROM (SELECT id, row_number() OVER (ORDER BY c, id) AS p FROM t)",
    "SELECT sum(cityHash64(id, p, q)) FROM (SELECT id, rank() OVER (ORDER BY c) AS p, dense_rank() OVER (ORDER BY c) AS q FROM t)",
    "SELECT sum(cityHash64(id, p, q, m, l)) FROM (SELECT id, sum(u32) OVER (PARTITION BY c ORDER BY id) AS p, "
    "count() OVER (PARTITION BY c) AS q, max(u16) OVER (PARTITION BY c ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING) AS m, "
    "lagInFrame(id, 2) OVER (PARTITION BY c ORDER BY id) AS l FROM t)",
    "SELECT sum(cityHash64(id, l)) FROM (SELECT id, lag(c, 1) OVER (ORDER BY id) AS l FROM t)",
    f"SELECT sum(cityHash64(id, l)) FROM (SELECT id, last_value(c) OVER (PARTITION BY u16 ORDER BY id ROWS BETWEEN {ALL}) AS l FROM t)",
    "SELECT sum(cityHash64(id)) FROM (SELECT id FROM t ORDER BY c, id LIMIT 2 BY c)",
    "SELECT count(), sum(cityHash64(x.id, y.id)) FROM (SELECT id, c FROM t WHERE id % 9 = 0) AS x "
    "INNER JOIN (SELECT id, c FROM r WHERE id % 5 = 0) AS y ON x.c = y.c",
    "SELECT count(), sum(cityHash64(x.id, y.id)) FROM (SELECT id, c FROM t WHERE id % 9 = 0) AS x "
    "FULL JOIN (SELECT id, c FROM r WHERE id % 5 = 0) AS y ON x.c = y.c",
    "SELECT count(), sum(cityHash64(x.c)) FROM t AS x LEFT ANTI JOIN (SELECT id, c FROM r WHERE id % 4 = 0) AS y ON x.c = y.c",
    "SELECT count(), sum(cityHash64(y.c)) FROM t AS x RIGHT SEMI JOIN (SELECT id, c FROM r WHERE id % 4 = 0) AS y ON x.c = y.c",
    "SELECT count(), sum(cityHash64(y.c)) FROM (SELECT * FROM t WHERE id < 2000) AS x "
    "RIGHT ANTI JOIN (SELECT id, c FROM r WHERE id % 4 = 0) AS y ON x.c = y.c",
    "SELECT count(), sum(cityHash64(id)) FROM t WHERE c IN (SELECT c FROM r WHERE id % 11 = 0)",
    "SELECT u8, argMax(c, id), argMin(c, id), uniqExact(c) FROM t GROUP BY u8 ORDER BY u8 LIMIT 3, 4",
    "SELECT min(c), max(c), count(c), argMax(c, id) FROM t",
    "SELECT count(), sum(cityHash64(k)) FROM (SELECT c AS k FROM t WHERE id % 2 = 0 EXCEPT SELECT c FROM r WHERE id % 3 = 0)",
    "SELECT count(), sum(n) FROM (SELECT c AS k, i32, count() AS n FROM t GROUP BY ROLLUP(c, i32))",
    "SELECT count(), sum(cityHash64(x, c)) FROM (SELECT arrayJoin(a) AS x, c FROM t)",
    "SELECT count(), sum(cityHash64(k, g)) FROM (SELECT c AS k, arraySort(groupArray(id)) AS g FROM t GROUP BY c)",
    "SELECT count(), sum(cityHash64(k, ns, n)) FROM (SELECT c AS k, ns, sum(id) AS n FROM t GROUP BY c, ns)",
)

# Window functions and their windows.
OF_A_WINDOW = (
    "sum(u32) OVER ()",
    "avg(f64) OVER (ORDER BY id ROWS BETWEEN 50 PRECEDING AND 50 FOLLOWING)",
    "sum(u32) OVER (ORDER BY u32 RANGE BETWEEN 100 PRECEDING AND CURRENT ROW)",
    "count() OVER (ORDER BY d RANGE BETWEEN 7 PRECEDING AND 7 FOLLOWING)",
    f"ntile(13) OVER (ORDER BY u32, id ROWS BETWEEN {ALL})",
    f"round(percent_rank() OVER (ORDER BY u32 RANGE BETWEEN {ALL}), 6)",
    f"round(cume_dist() OVER (PARTITION BY u8 ORDER BY u32 RANGE BETWEEN {ALL}), 6)",
    "nth_value(id, 3) OVER (PARTITION BY u8 ORDER BY id)",
    "uniqExact(u8) OVER (ORDER BY id ROWS BETWEEN 20 PRECEDING AND CURRENT ROW)",
    "groupArray(u8) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)",
    "dense_rank() OVER (PARTITION BY lc ORDER BY d)",
    "sum(ni) OVER (PARTITION BY ns ORDER BY id)",
    "max(ls) OVER (PARTITION BY u16)",
    "min(s) OVER (ORDER BY id DESC)",
)

OTHERS = (
    "SELECT count(), sum(n) FROM (SELECT d, count() AS n FROM t GROUP BY d ORDER BY d WITH FILL)",
    "SELECT count() FROM t AS x ASOF JOIN r AS y ON x.u8 = y.u8 AND x.id >= y.id",
    "SELECT count() FROM (SELECT * FROM t WHERE id < 3000) AS x JOIN (SELECT * FROM r WHERE id < 90000) AS y ON x.u32 < y.u32 AND x.u8 = y.u8",
    "SELECT count() FROM (SELECT id FROM t WHERE id % 100 = 0) AS x CROSS JOIN (SELECT id FROM r LIMIT 300) AS y WHERE x.id % 300 = y.id % 300",
    "SELECT u8, u16, sum(u32) FROM t GROUP BY GROUPING SETS ((u8), (u16), ()) ORDER BY 1, 2, 3 LIMIT 20",
    "SELECT sum(cityHash64(id, s)) FROM t WHERE u32 BETWEEN 500 AND 9000 AND s LIKE '%7%'",
    "SELECT sum(cityHash64(id)) FROM (SELECT id FROM t ORDER BY u8, id LIMIT 3 BY u8)",
)


def statements() -> Iterator[str]:
    """All of them, always the same."""
    for column in COLUMNS:
        for sql in OF_A_COLUMN:
            # A name of one letter that stands alone.
            for before, after in (("(c ", f"({column} "), (" c ", f" {column} "), (" c,", f" {column},"), (" c)", f" {column})"), (".c", f".{column}"), ("(c,", f"({column},"), ("(c)", f"({column})")):
                sql = sql.replace(before, after)
            yield sql
    for window in OF_A_WINDOW:
        yield f"SELECT sum(cityHash64(id, w)) FROM (SELECT id, {window} AS w FROM t)"
        yield f"SELECT sum(cityHash64(id, w, ls)) FROM (SELECT id, ls, nlc, a, {window} AS w FROM t)"
    yield from OTHERS


def answers(run: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Statements and what they give, in a line."""
    for sql in statements():
        yield sql, run(sql).rstrip("\n").replace("\t", " ").replace("\n", " | ")


def recorded() -> dict[str, str]:
    """What the kernel has answered."""
    return dict(line.split("\t") for line in RECORDED.read_text().splitlines())


def record() -> None:
    """Asks the kernel."""
    from chdb import session

    kernel = session.Session()
    for sql in ("CREATE DATABASE large", "USE large", *MADE):
        kernel.query(sql)
    lines = [f"{sql}\t{answer}\n" for sql, answer in answers(lambda sql: str(kernel.query(sql, "TSV")))]
    RECORDED.write_text("".join(lines))
    print(f"{len(lines)} statements recorded")


if __name__ == "__main__":
    if sys.argv[1:] != ["record"]:
        sys.exit(__doc__)
    record()
