"""Conditions, orders and limits that servers apply: what they send, and that the answer is that of one table with all rows, with a real server
(18.16) and our own."""

import functools
import re

import clickhouse
import patience
import pytest
import shards

import chalet

OFF = "SETTINGS chalet_push_down_rows = 0, chalet_push_down_groups = 0"
COLUMNS = "k UInt8, n Int64, m Nullable(Int32), x Nullable(Float64), s Nullable(String), w String, d Date, t DateTime"
# Two shards with different rows: no two rows of both have the same n.
ROWS = (
    "SELECT toUInt8(number % 7) AS k, toInt64(number * 2 + {shard}) AS n, if(number % 3 = 0, NULL, toInt32(number % 50) - 20) AS m,"
    " if(number % 5 = 0, NULL, if(number % 11 = 0, nan, number / 8 - 10)) AS x, if(number % 4 = 0, NULL, concat('s', toString(number % 30))) AS s,"
    " substring('it''s', 1, number % 5) AS w, toDate('2019-01-01') + number AS d, toDateTime('2019-01-01 00:00:00') + number * 60 AS t FROM numbers(500)"
)


def fill(connection, shard):
    connection.query(f"CREATE TABLE r{shard} ({COLUMNS}) ENGINE = Memory")
    connection.query(f"INSERT INTO r{shard} {ROWS.format(shard=shard)}")


@pytest.fixture(scope="module", params=["18.16", "own"])
def ports(request, tmp_path_factory):
    """Of a server with the rows of both shards, as tables."""
    if request.param == "own":
        with shards.started(1) as (server,):
            with server.connect() as there:
                fill(there, 0), fill(there, 1)
            yield server.tcp_port
    else:
        with clickhouse.started(tmp_path_factory.mktemp("server")) as port:
            with chalet.connect(f"clickhouse://127.0.0.1:{port}") as there:
                fill(there, 0), fill(there, 1)
            yield port


@pytest.fixture(scope="module")
def tables(ports):
    """A database with both as one view of tables of servers, and with all rows."""
    with chalet.connect(":memory:") as db:
        one, two = (f"remote('127.0.0.1:{ports}', default.r{shard})" for shard in (0, 1))
        # The same table of two shards.
        both = f"remote('127.0.0.1:{ports},127.0.0.1:{ports}', default.r0)"
        db.query(f"CREATE TABLE all_rows ({COLUMNS}) ENGINE = Memory")
        db.query(f"CREATE TABLE twice ({COLUMNS}) ENGINE = Memory")
        db.query(f"INSERT INTO all_rows SELECT * FROM {one}")
        db.query(f"INSERT INTO all_rows SELECT * FROM {two}")
        db.query(f"INSERT INTO twice SELECT * FROM {both}")
        yield db, one, two, both


def text(db, sql):
    return db.query(sql, "TSVRaw").data()


def sent(db, sql):
    lines = text(db, f"EXPLAIN ANALYZE {sql}").splitlines()
    return [line.rpartition("Sent: ")[2] for line in lines if "Sent: " in line]


def received(db, sql):
    """Rows that the shards have sent."""
    lines = [line for line in text(db, f"EXPLAIN ANALYZE {sql}").splitlines() if "Received: " in line]
    return [int(rows) for line in lines for rows in re.findall(r" (\d+) rows in", line)]


CONDITIONS = (
    "m > 3", "m IS NULL", "m IS NOT NULL AND x < 5", "m = 3 OR x > 20", "m = 3 OR s IS NULL", "s = 's1'", "s LIKE 's1%'", "s NOT LIKE '%1%'", "s IN ('s1', 's2')",
    "k NOT IN (1, 2)", "m IN (1, 2, 3)", "NOT (k = 1)", "k != 3", "n % 7 = 3", "n + m > 100", "toMonth(d) = 2", "length(s) = 3", "x > 1.25", "x != x", "x >= 0 AND x <= 10",
    "k = 1 AND (m > 3 OR (m < 0 AND s = 's7'))", "d BETWEEN '2019-02-01' AND '2019-02-10'", "t >= '2019-01-01 05:00:00'", "startsWith(w, 'it')", "ifNull(m, 0) = 0",
    "notEmpty(w)", "upper(w) = 'IT'", "if(k = 1, m, m) > 5", "intDiv(n, 10) = 7", "m = k", "toDayOfWeek(d) IN (6, 7)", "position(w, '''') = 3",
)  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(tables, condition):
    db, _, _, both = tables
    sql = "SELECT n, k, m, s FROM {} WHERE {} ORDER BY n, k"
    expected = text(db, sql.format("twice", condition))
    assert text(db, sql.format(both, condition)) == expected
    assert text(db, f"{sql.format(both, condition)} {OFF}") == expected
    # No row travels that is not in the answer.
    assert sum(received(db, sql.format(both, condition))) == len(expected.splitlines())
    # A limit counts the rows that pass.
    few = f"SELECT count() FROM (SELECT n FROM {both} WHERE {condition} LIMIT 3)"
    assert text(db, few) == f"{min(3, len(expected.splitlines()))}\n"
    assert all(rows <= 3 for rows in received(db, few))


def test_conditions_that_stay_here(tables):
    db, _, _, both = tables
    for condition in ("toHour(t) = 3", "s LIKE '\\\\\\\\_%'", "m IN (SELECT toInt32(number) FROM numbers(5))", "n % (k + 1) = 1", "s NOT IN ('s1', 's2')", "match(w, 'i.')"):
        sql = "SELECT n, k, m FROM {} WHERE k < 6 AND " + condition + " ORDER BY n, k"
        assert text(db, sql.format(both)) == text(db, sql.format("twice")), condition
        # The other is sent.
        assert sent(db, sql.format(both))[0].endswith("WHERE `k` < 6") or "SELECT" in condition, sent(db, sql.format(both))


ORDERS = ("n", "n DESC", "m, n", "m DESC, n", "m NULLS FIRST, n", "m DESC NULLS FIRST, n DESC", "x, n", "x DESC, n", "x NULLS FIRST, n", "s, n", "s DESC, n", "w, n", "d DESC, n", "t, n",
          "k % 3, n", "length(w) DESC, n", "toMonth(d), n DESC", "ifNull(m, 7), n", "-n")  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
def test_orders_with_limits(tables, order):
    db, one, two, both = tables
    sql = "SELECT n, m, x, s FROM {} ORDER BY {} LIMIT {}"
    for limit in ("1", "10", "7 OFFSET 5", "2000"):
        assert text(db, sql.format(both, order, limit)) == text(db, sql.format("twice", order, limit)), limit
    if order != "-n":
        assert received(db, sql.format(both, order, "7 OFFSET 5")) == [12, 12]
        (there,) = sent(db, sql.format(both, order, "3"))
        assert "ORDER BY" in there and there.endswith("LIMIT 3")
    # With a condition, of which columns that are not read.
    sql = "SELECT n FROM {} WHERE k = 3 AND m > 0 ORDER BY {} LIMIT 4"
    assert text(db, sql.format(both, order)) == text(db, sql.format("twice", order))
    # Over both tables.
    sql = "SELECT n, m FROM {} ORDER BY {} LIMIT 9"
    union = f"(SELECT * FROM {one} UNION ALL SELECT * FROM {two})"
    assert text(db, sql.format(union, order)) == text(db, sql.format("all_rows", order))


def test_what_is_sent(tables):
    db, _, _, both = tables
    for sql, expected in (
        ("SELECT n FROM {} ORDER BY m DESC LIMIT 2", "SELECT `m`, `n` FROM {} ORDER BY `m` DESC NULLS LAST LIMIT 2"),
        ("SELECT n FROM {} WHERE m > 3 ORDER BY n LIMIT 2", "SELECT `n` FROM {} WHERE `m` > 3 ORDER BY `n` LIMIT 2"),
        ("SELECT k, n FROM {} LIMIT 2 BY k", "SELECT `k`, `n` FROM {} LIMIT 2 BY `k`"),
        ("SELECT n FROM {} WHERE toMonth(d) = 2 LIMIT 2", "SELECT `n` FROM {} WHERE equals(toMonth(`d`), 2) LIMIT 2"),
        ("SELECT DISTINCT k FROM {} LIMIT 2", "SELECT DISTINCT `k` FROM {} LIMIT 2"),
        ("SELECT count() FROM {} WHERE m > 3 OR s = 's1'", "SELECT countState() FROM {} WHERE (ifNull(greater(`m`, 3), 0) OR ifNull(equals(`s`, 's1'), 0))"),
    ):
        (found,) = sent(db, sql.format(both))
        columns = [set(re.split(", ", text.removeprefix("SELECT ").partition(" FROM")[0])) for text in (found, expected)]
        assert columns[0] == columns[1] and found.partition(" FROM")[2] == expected.format("`default`.`r0`").partition(" FROM")[2]
    # Nothing is ordered that is not limited, and ties count here.
    for sql in ("SELECT n FROM {} ORDER BY n", "SELECT k FROM {} ORDER BY k LIMIT 1 WITH TIES", "SELECT n FROM {} ORDER BY toHour(t), n LIMIT 3"):
        assert "ORDER BY" not in sent(db, sql.format(both))[0]
        assert text(db, sql.format(both)) == text(db, sql.format("twice"))


def test_limit_by(tables):
    db, _, _, both = tables
    for sql in (
        "SELECT k, n FROM {} ORDER BY n DESC LIMIT 2 BY k",
        "SELECT k, m, n FROM {} ORDER BY m, n LIMIT 3 BY k, m",
        "SELECT k, n FROM {} ORDER BY n LIMIT 1, 2 BY k",
        "SELECT k, n FROM {} WHERE m IS NOT NULL ORDER BY n, k LIMIT 2 BY k LIMIT 3",
        "SELECT n % 3 AS r, n FROM {} ORDER BY n LIMIT 4 BY r",
        "SELECT s, n FROM {} ORDER BY n LIMIT 1 BY s",
        "SELECT x, n FROM {} ORDER BY n LIMIT 1 BY x",
        "SELECT toHour(t) AS h, n FROM {} ORDER BY n LIMIT 1 BY h",
    ):
        assert text(db, sql.format(both)) == text(db, sql.format("twice")), sql
        assert ("BY x" in sql or "toHour" in sql) != (" LIMIT " in sent(db, sql.format(both))[0])
    counts = "SELECT k, count() FROM (SELECT k FROM {} LIMIT 2 BY k) GROUP BY k ORDER BY k"
    assert text(db, counts.format(both)) == text(db, counts.format("twice"))
    assert received(db, "SELECT k, n FROM {} LIMIT 2 BY k".format(both)) == [14, 14]
    # DISTINCT ON is one row of each.
    assert len(text(db, f"SELECT DISTINCT ON (k) k, n FROM {both}").splitlines()) == 7


def test_distinct(tables):
    db, _, _, both = tables
    for sql in ("SELECT DISTINCT m FROM {} ORDER BY m", "SELECT DISTINCT k, length(w) AS l FROM {} ORDER BY k, l", "SELECT DISTINCT x FROM {} ORDER BY x"):
        assert text(db, sql.format(both)) == text(db, sql.format("twice")), sql
        assert "DISTINCT" in sent(db, sql.format(both))[0]
    assert len(text(db, f"SELECT DISTINCT k FROM {both} LIMIT 3").splitlines()) == 3
    assert all(rows <= 3 for rows in received(db, f"SELECT DISTINCT k FROM {both} LIMIT 3"))
    assert len(text(db, f"SELECT DISTINCT k FROM {both} LIMIT 3 OFFSET 6").splitlines()) == 1


def test_unions(tables):
    db, one, two, _ = tables
    for sql in (
        "SELECT {columns} FROM {one} UNION ALL SELECT {columns} FROM {two}",
        "SELECT {columns} FROM {one} WHERE m > 3 UNION ALL SELECT {columns} FROM {two} WHERE s LIKE '%1%' UNION ALL SELECT {columns} FROM all_rows",
        "SELECT k, count() AS c, sum(m) AS s, max(n) FROM {one} GROUP BY k UNION ALL SELECT k, count(), sum(m), max(n) FROM {two} GROUP BY k",
        "SELECT count() AS n, 1 AS k FROM {one} UNION ALL SELECT count(), 2 FROM {two}",
        "(SELECT n, k FROM {one} ORDER BY n DESC LIMIT 3) UNION ALL (SELECT n, k FROM {two} WHERE k = 2 ORDER BY m, n LIMIT 3)",
        "SELECT n FROM (SELECT * FROM {one} UNION ALL SELECT * FROM {two}) WHERE k = 1 AND m > 2",
        "SELECT DISTINCT k FROM {one} UNION ALL SELECT DISTINCT k FROM {two}",
        "SELECT n FROM {one} LIMIT 0 UNION ALL SELECT n FROM {two}",
        "SELECT n FROM {one} WHERE n IN (SELECT n FROM {one} WHERE k = 1 UNION ALL SELECT n FROM {two})",
        "SELECT a.n FROM {one} AS a JOIN (SELECT n FROM {one} UNION ALL SELECT n FROM {two}) AS b ON a.n = b.n",
    ):
        there = sql.format(one=one, two=two, columns="n, k, m, s")
        here = sql.format(one="(SELECT * FROM all_rows WHERE n % 2 = 0)", two="(SELECT * FROM all_rows WHERE n % 2 = 1)", columns="n, k, m, s")
        assert sorted(text(db, there).splitlines()) == sorted(text(db, here).splitlines()), sql
    with pytest.raises(chalet.Error, match="(?i)no_such"):
        db.query(f"SELECT n FROM {one} UNION ALL SELECT n FROM {one.replace('r0', 'no_such')}")


def ask(db, sql):
    db.query(sql)


def test_inputs_of_unions_are_asked_at_once():
    with shards.started(1) as (server,), chalet.connect(":memory:") as db:
        with server.connect() as there:
            there.query("CREATE VIEW slow AS SELECT number AS n FROM numbers(3) WHERE sleep(1) = 0")
        slow = f"remote('127.0.0.1:{server.tcp_port}', default.slow)"
        for select in (f"SELECT n FROM {slow}", f"SELECT count() FROM {slow}", f"SELECT n FROM {slow} ORDER BY n LIMIT 1"):
            sql = " UNION ALL ".join([select] * 6 if "ORDER" not in select else [f"({select})"] * 6)
            # One after the other they would take 6 seconds.
            patience.in_time(4, functools.partial(ask, db, sql))
        # Those that are not read to their end are given up.
        assert text(db, "SELECT n FROM (" + " UNION ALL ".join([f"SELECT n FROM {slow}"] * 3) + ") LIMIT 1") != ""
        patience.until(lambda: patience.threads("chalet-receive") == 0)


def test_received_is_told(tables):
    db, _, _, both = tables
    found = text(db, f"EXPLAIN ANALYZE SELECT n FROM {both} WHERE k = 1")
    assert re.search(r"Received: 127\.0\.0\.1:\d+ 72 rows in \d+ blocks, 127\.0\.0\.1:\d+ 72 rows in \d+ blocks", found), found
