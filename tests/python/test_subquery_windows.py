"""Aggregates of correlated sub-queries over rows that the query reads itself are windows: a counter shows it, a switch turns it off, the
answers stay."""

import pytest
from switched import answers

import chalet

ROWS = 200_000
# Each source has facts (k of 20,000 values, e of 100, v, w) and, for joins, e and its r; d has few values of k, some of them twice.
SOURCES = {
    "merge tree": ("f", "e"),
    "memory": ("m", "me"),
    "view": ("vf", "ve"),
    "file": ("file('f.parquet')", "file('e.parquet')"),
    "nullable": ("nf", "ne"),
    "nullable file": ("file('nf.parquet')", "file('ne.parquet')"),
    "dictionary": ("lf", "e"),
}
STATEMENTS = [
    "SELECT sum(f.v), count() FROM {f} AS f, d WHERE d.k = f.k AND d.b = 'x' AND f.v < (SELECT 0.7 * avg(v) FROM {f} AS g WHERE g.k = d.k)",
    "SELECT sum(f.v), count() FROM {f} AS f JOIN d ON d.k = f.k WHERE d.b = 'x' AND f.v = (SELECT max(v) FROM {f} AS g WHERE g.k = f.k)",
    # Rows that come twice count once in the sub-query.
    "SELECT sum(f.v), count() FROM {f} AS f, d WHERE d.k = f.k AND f.v * 10 > (SELECT sum(v) FROM {f} AS g WHERE g.k = f.k)",
    "SELECT sum(f.v), count(), max(f.w) FROM d, {f} AS f, {e} AS x WHERE d.k = f.k AND f.e = x.e AND x.r = 3 AND f.v = "
    "(SELECT min(v) FROM {f} AS g, {e} AS h WHERE g.k = d.k AND g.e = h.e AND h.r = 3)",
    "SELECT sum(f.v), count() FROM {f} AS f, d WHERE d.k = f.k AND f.v > (SELECT avg(v) FROM {f} AS g WHERE g.k = d.k) AND f.w < "
    "(SELECT quantileExact(0.9)(w) FROM {f} AS g WHERE g.k = d.k)",
    "SELECT sum(f.v), count() FROM {f} AS f, d WHERE d.k = f.k AND d.e = f.e AND f.v <= (SELECT sum(v) FROM {f} AS g WHERE g.k = d.k AND g.e = d.e)",
    "SELECT sum(f.v), count() FROM (SELECT * FROM {f} WHERE v % 3 = 0) AS f, d WHERE d.k = f.k AND f.v > "
    "(SELECT avg(v) FROM {f} AS g WHERE g.k = d.k AND v % 3 = 0)",
]
# Rows that are not those that are grouped, partitions of which all are left, an order of rows, keys whose equality differs, few rows.
OTHERS = [
    "SELECT sum(f.v) FROM f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM f AS g WHERE g.k = d.k AND g.v % 3 = 0)",
    "SELECT sum(f.v) FROM f, d WHERE d.k = f.k AND f.v % 3 = 0 AND f.v < (SELECT avg(v) FROM f AS g WHERE g.k = d.k)",
    "SELECT sum(f.v) FROM f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM m AS g WHERE g.k = d.k)",
    "SELECT sum(f.v) FROM f WHERE f.v < (SELECT avg(v) FROM f AS g WHERE g.k = f.k)",
    "SELECT sum(f.v) FROM f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM f AS g WHERE g.k < d.k AND g.k > 19990)",
    "SELECT sum(f.v) FROM f, d WHERE d.k = f.k AND f.v < (SELECT groupArray(v)[1] FROM f AS g WHERE g.k = d.k)",
    "SELECT sum(f.v) FROM (SELECT v, toFloat64(k) AS k FROM f) AS f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM (SELECT v, toFloat64(k) AS k FROM f) AS g WHERE g.k = f.k)",
    "SELECT sum(f.v) FROM (SELECT * FROM f LIMIT 1000) AS f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM (SELECT * FROM f LIMIT 1000) AS g WHERE g.k = d.k)",
    "SELECT sum(f.v) FROM d AS f, d WHERE d.k = f.k AND f.v < (SELECT avg(v) FROM d AS g WHERE g.k = d.k)",
]
PROGRAM = """
import json, sys, chalet
with chalet.connect("db") as db:
    db.query("SET max_threads = 2")
    for name in ("f", "e"):
        db.query(f"CREATE TEMPORARY TABLE m{name if name == 'e' else ''} ENGINE = Memory AS SELECT * FROM {name}")
        db.query(f"CREATE TEMPORARY VIEW v{name} AS SELECT * FROM file('{name}.parquet')")
    statements, limit = json.load(sys.stdin)
    if limit:
        db.query(f"SET max_memory_usage = {limit}")
    found = []
    for sql in statements:
        asked = "SELECT sum(value) FROM system.events WHERE event = 'SubqueriesToWindows'"
        before = int(str(db.query(asked, "TSV")))
        found.append((str(db.query(sql, "TSV")), int(str(db.query(asked, "TSV"))) - before))
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    rows = f"SELECT cityHash64(number) % 20000 AS k, number % 100 AS e, cityHash64(number, 1) % 1000 AS v, number AS w FROM numbers({ROWS})"
    with chalet.connect(str(folder / "db")) as db:
        db.query(f"CREATE TABLE f (k UInt64, e UInt64, v UInt64, w UInt64) ENGINE = MergeTree ORDER BY w AS {rows}")
        db.query("CREATE TABLE e (e UInt64, r UInt64) ENGINE = MergeTree ORDER BY e AS SELECT number, number % 5 FROM numbers(100)")
        db.query("CREATE TABLE nf (k Nullable(UInt64), e Nullable(UInt64), v Nullable(UInt64), w Nullable(UInt64)) ENGINE = MergeTree ORDER BY tuple()")
        db.query("INSERT INTO nf SELECT nullIf(k, 7), nullIf(e, 3), nullIf(v, 500), w FROM f")
        db.query("CREATE TABLE ne (e Nullable(UInt64), r Nullable(UInt64)) ENGINE = MergeTree ORDER BY tuple() AS SELECT nullIf(e, 8), r FROM e")
        db.query("SET allow_suspicious_low_cardinality_types = 1")
        db.query("CREATE TABLE lf (k LowCardinality(UInt64), e UInt64, v UInt64, w UInt64) ENGINE = MergeTree ORDER BY w AS SELECT * FROM f")
        db.query("CREATE TABLE d (k UInt64, e UInt64, v UInt64, b String) ENGINE = MergeTree ORDER BY k")
        db.query("INSERT INTO d SELECT number % 300 * 41, number % 100, number, if(number % 2 = 0, 'x', 'y') FROM numbers(400)")
        db.query("INSERT INTO d VALUES (7, 1, 1, 'x')")
        for name in ("f", "e", "nf", "ne"):
            db.query(f"INSERT INTO FUNCTION file('{folder}/{name}.parquet') SELECT * FROM {name}")
    return folder


def asked(folder, statements, switches="", limit=0):
    return answers(PROGRAM, [statements, limit], switches, folder)


@pytest.mark.parametrize("source", SOURCES)
def test_a_switch_turns_it_off(folder, source):
    facts, joined = SOURCES[source]
    statements = [sql.format(f=facts, e=joined) for sql in STATEMENTS]
    found, without = asked(folder, statements), asked(folder, statements, "-subquery-windows")
    for sql, (answer, counted), (other, uncounted) in zip(statements, found, without, strict=True):
        assert answer == other, sql
        assert answer.split()[1] != "0", sql
        assert (counted > 0, uncounted) == (True, 0), sql


def test_sub_queries_that_are_no_windows(folder):
    for sql, (answer, counted) in zip(OTHERS, asked(folder, OTHERS), strict=True):
        assert counted == 0 and answer, sql


def test_little_memory(folder):
    statements = [STATEMENTS[at].format(f="f", e="e") for at in (0, 3)]
    found, limited = asked(folder, statements), asked(folder, statements, limit=60_000_000)
    assert limited == found
