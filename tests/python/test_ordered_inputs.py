"""Rows that come in the order that is asked for are not sorted: a counter shows it, a switch turns it off, the answers stay."""

import json
import os
import subprocess
import sys

import pytest

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
    environment = os.environ | {"CHALET_SWITCHES": switches}
    statements = [sql.format(pick=PICK) for sql in statements]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([threads, statements]),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
