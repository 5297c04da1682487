"""Rows that come in the order that is asked for are not sorted: a counter shows it, a switch turns it off, the answers stay."""

import pytest
from switched import answers

ROWS = 300_000
# Ascending and descending numbers, texts and several keys, equal rows, NULLs, floats with NaN, columns that nobody reads.
ORDERED = [
    "SELECT {pick} FROM t ORDER BY k",
    "SELECT {pick} FROM t ORDER BY -k DESC",
    "SELECT {pick} FROM t ORDER BY intDiv(k, 1000)",
    "SELECT {pick} FROM t ORDER BY intDiv(k, 100000), s",
    "SELECT {pick} FROM t ORDER BY s",
    "SELECT {pick} FROM t ORDER BY n NULLS FIRST",
    "SELECT {pick} FROM t ORDER BY f",
    "SELECT {pick} FROM t ORDER BY 1 - k DESC LIMIT 200000 OFFSET 777",
    "SELECT k, rowNumberInAllBlocks() >= 0 FROM t ORDER BY s LIMIT 250000, 10",
]
# One row is out of order; the order is the other way round; few rows of each block are left.
OTHERS = [
    "SELECT {pick} FROM t ORDER BY if(k = 299999, 0, k + 1)",
    "SELECT {pick} FROM t ORDER BY if(k = 1, 0, k + 1)",
    "SELECT {pick} FROM t ORDER BY k DESC",
    "SELECT {pick} FROM t ORDER BY cityHash64(k)",
    "SELECT {pick} FROM t WHERE k % 1000 = 0 ORDER BY k + 1",
]
PICK = "k, s, n, f"
PROGRAM = f"""
import json, sys, chalet
with chalet.connect() as db:
    threads, statements = json.load(sys.stdin)
    db.query(f"SET max_threads = {{threads}}")
    db.query("CREATE TABLE t (k UInt64, s String, n Nullable(Int64), f Float64) ENGINE = Memory")
    db.query("INSERT INTO t SELECT number, leftPad(toString(intDiv(number, 3)), 9, '0'), if(number < 1000, NULL, number), if(number > 299990, nan, number / 7) FROM numbers({ROWS})")
    found = []
    for sql in statements:
        asked = "SELECT sum(value) FROM system.events WHERE event = 'SortsOfOrderedRows'"
        before = int(str(db.query(asked, "TSV")))
        rows = f"SELECT cityHash64(groupArray(tuple(*))), count() FROM ({{sql}})"
        found.append((str(db.query(rows, "TSV")), int(str(db.query(asked, "TSV"))) - before))
    print(json.dumps(found))
"""


def asked(statements, threads, switches=""):
    statements = [sql.format(pick=PICK) for sql in statements]
    return answers(PROGRAM, [threads, statements], switches)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_switch_turns_it_off(threads):
    found, without = asked(ORDERED, threads), asked(ORDERED, threads, "-ordered-inputs")
    for sql, (answer, counted), (other, uncounted) in zip(ORDERED, found, without, strict=True):
        assert answer == other, sql
        assert (counted > 0, uncounted) == (True, 0), sql


def test_other_orders():
    found, without = asked(OTHERS, 2), asked(OTHERS, 2, "-ordered-inputs")
    for sql, (answer, counted), (other, _) in zip(OTHERS, found, without, strict=True):
        assert (answer, counted) == (other, 0), sql


LATEST = """
import json, sys, chalet
with chalet.connect() as db:
    db.query("SET max_threads = 2")
    db.query("CREATE TABLE t (k UInt64, s String, n Nullable(Int64), f Float64, c UInt64) ENGINE = Memory")
    db.query("INSERT INTO t SELECT number, leftPad(toString(number), 9, '0'), if(number % 7 = 0, NULL, number), if(number % 11 = 0, nan, number / 7), intDiv(number, 40) FROM numbers(300000)")
    asked = "SELECT sum(value) FROM system.events WHERE event = 'SampledTopKThresholds'"
    found = []
    for sql in json.load(sys.stdin):
        before = int(str(db.query(asked, "TSV")))
        found.append((str(db.query(sql, "TSV")), int(str(db.query(asked, "TSV"))) - before))
    print(json.dumps(found))
"""


def test_the_latest_of_rows_that_come_by_time():
    """Some rows of a block tell which others do not count; equal keys keep the order of the rows, and NULL and NaN their place."""
    keys = ["k DESC", "k", "s DESC", "n DESC", "n DESC NULLS FIRST", "f DESC", "c DESC", "c DESC, k", "c DESC, s DESC", "cityHash64(k)", "-k"]
    limits = [1, 10, 64]
    statements = [f"SELECT k, s FROM t ORDER BY {key} LIMIT {limit}" for key in keys for limit in limits]
    # What the whole order begins with, which is made without a limit.
    whole = [f"SELECT arraySlice(groupArray((k, s)), 1, {limit}) FROM (SELECT k, s FROM t ORDER BY {key})" for key in keys for limit in limits]
    limited = [f"SELECT groupArray((k, s)) FROM ({sql})" for sql in statements]
    found = answers(LATEST, limited + whole)
    for sql, (answer, _), (expected, unlimited) in zip(limited, found, found[len(limited):], strict=False):
        assert answer == expected, sql
        assert unlimited == 0, sql
    counted = {key: found[at * len(limits)][1] for at, key in enumerate(keys)}
    assert counted["k DESC"] > 0 and counted["s DESC"] > 0 and counted["c DESC, k"] > 0, counted
