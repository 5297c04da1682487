"""Aggregates over whole partitions of many rows are those of groups: a counter shows it, a switch turns it off, the answers stay."""

import pytest
from switched import answers

import chalet

ROWS = 1_200_000
EVENT = "WindowsOverGroups"

# Over which rows, by which keys: every source that is read twice, and sources that are shared; keys of every form.
SOURCES = {
    "file": "file('t.parquet')",
    "file, filtered": "(SELECT * FROM file('t.parquet') WHERE v % 1000 != 3)",
    "file, some rows": "(SELECT * FROM file('t.parquet') LIMIT 1200000)",
    "memory": "m",
    "merge tree": "mt",
    "numbers": "(SELECT number AS v, toString(number % 50) AS s, if(number % 7 = 0, NULL, number % 40) AS n, toLowCardinality(s) AS l FROM numbers(1200000))",
    "grouped": "(SELECT v, any(s) AS s, any(n) AS n, any(l) AS l FROM m GROUP BY v)",
}
STATEMENTS = [
    "SELECT sum(v), sum(a), sum(b), count() FROM (SELECT v, sum(v) OVER (PARTITION BY s) AS a, count() OVER (PARTITION BY s) AS b FROM {})",
    "SELECT sum(cityHash64(v, n, c, lo, hi, m)) FROM (SELECT v, n, count(n) OVER w AS c, min(v) OVER w AS lo, max(v) OVER w AS hi, avg(v) OVER w AS m FROM {} WINDOW w AS (PARTITION BY n))",
    "SELECT sum(cityHash64(v, l, c)) FROM (SELECT v, l, sum(v + 1) OVER (PARTITION BY l, n % 3 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c FROM {})",
    "SELECT v, x FROM (SELECT v, v - avg(v) OVER (PARTITION BY s) AS x FROM {}) ORDER BY v LIMIT 20",
    "SELECT sum(cityHash64(v, c, q)) FROM (SELECT v, uniqExact(n) OVER (PARTITION BY s) AS c, quantileExact(0.3)(v) OVER (PARTITION BY s) AS q FROM {})",
    "SELECT count(), sum(a = b) FROM (SELECT sum(v) OVER (PARTITION BY s) AS a, (sum(v) OVER (PARTITION BY s, n)) AS b FROM {})",
]
# A frame that is no partition, an order, a function that asks for the order of rows, keys of few rows, keys whose equality differs.
OTHERS = [
    "SELECT sum(x) FROM (SELECT sum(v) OVER (PARTITION BY s ORDER BY v) AS x FROM m)",
    "SELECT sum(x) FROM (SELECT sum(v) OVER (PARTITION BY s ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) AS x FROM m)",
    "SELECT sum(x[7]) FROM (SELECT groupArray(10)(v) OVER (PARTITION BY s) AS x FROM m)",
    "SELECT sum(x) FROM (SELECT first_value(v) OVER (PARTITION BY s) AS x FROM m)",
    "SELECT sum(x) FROM (SELECT sum(n) OVER (PARTITION BY v) AS x FROM m)",
    "SELECT sum(x) FROM (SELECT sum(v) OVER (PARTITION BY toFloat64(n)) AS x FROM m)",
    "SELECT count(x) FROM (SELECT sum(v) OVER (PARTITION BY s) AS x FROM (SELECT * FROM m LIMIT 1000))",
]
PROGRAM = """
import json, sys, chalet
with chalet.connect("db") as db:
    db.query("SET max_threads = 2")
    db.query("CREATE TEMPORARY TABLE m ENGINE = Memory AS SELECT * FROM mt")
    statements, limit = json.load(sys.stdin)
    if limit:
        db.query(f"SET max_memory_usage = {limit}")
    found = []
    for sql in statements:
        asked = "SELECT sum(value) FROM system.events WHERE event = 'WindowsOverGroups'"
        before = int(str(db.query(asked, "TSV")))
        found.append((str(db.query(sql, "TSV")), int(str(db.query(asked, "TSV"))) - before))
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    with chalet.connect(str(folder / "db")) as db:
        rows = f"SELECT number AS v, toString(number % 50) AS s, if(number % 7 = 0, NULL, number % 40) AS n, toLowCardinality(s) AS l FROM numbers({ROWS})"
        db.query(f"CREATE TABLE mt (v UInt64, s String, n Nullable(UInt64), l LowCardinality(String)) ENGINE = MergeTree ORDER BY v AS {rows}")
        db.query(f"INSERT INTO FUNCTION file('{folder}/t.parquet') SELECT * FROM mt")
    return folder


def asked(folder, statements, switches="", limit=0):
    return answers(PROGRAM, [statements, limit], switches, folder)


@pytest.mark.parametrize("source", SOURCES)
def test_a_switch_turns_it_off(folder, source):
    statements = [sql.format(SOURCES[source]) for sql in STATEMENTS]
    found, without = asked(folder, statements), asked(folder, statements, "-window-groups")
    for sql, (answer, counted), (other, uncounted) in zip(statements, found, without, strict=True):
        assert answer == other, sql
        assert uncounted == 0
        # How many keys a sub-query has is not known.
        assert counted > 0 or source in ("grouped", "numbers"), sql


def test_windows_that_are_no_groups(folder):
    for sql, (answer, counted) in zip(OTHERS, asked(folder, OTHERS), strict=True):
        assert counted == 0 and answer, sql


def test_little_memory(folder):
    statements = [STATEMENTS[0].format(SOURCES[source]) for source in ("file", "merge tree")]
    found, limited = asked(folder, statements), asked(folder, statements, limit=60_000_000)
    assert limited == found
