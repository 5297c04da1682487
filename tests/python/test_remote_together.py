"""Tables of servers in one statement are asked at once: joins, sets and unions take the time of the slowest, and what a table looks like is
asked once."""

import re

import patience
import pytest
import shards

import chalet


@pytest.fixture(scope="module")
def servers():
    with shards.started(2) as started:
        for server in started:
            with server.connect() as there:
                there.query("CREATE VIEW slow AS SELECT number AS n, number * 2 AS m FROM numbers(10) WHERE sleep(1) = 0")
                there.query("CREATE TABLE large (n UInt64, m UInt64) ENGINE = MergeTree ORDER BY n")
                there.query("INSERT INTO large SELECT number, number * 2 FROM numbers(3000000)")
                there.query("CREATE TABLE few (n UInt64) ENGINE = Memory")
                there.query("INSERT INTO few VALUES (5), (7)")
        yield started


@pytest.fixture
def tables(servers):
    """The names of a table on both servers."""
    return lambda name: [f"remote('127.0.0.1:{server.tcp_port}', default.{name})" for server in servers]


def text(db, sql):
    return db.query(sql, "TSV").data()


JOINS = {
    "SELECT count(), sum(l.m) FROM {0} AS l JOIN {1} AS r ON l.n = r.n": "10\t90\n",
    "SELECT count(), sum(r.m) FROM {0} AS l LEFT JOIN {1} AS r ON l.n = r.n + 5": "10\t20\n",
    "SELECT count() FROM {0} AS l FULL JOIN {1} AS r ON l.n = r.n + 5": "15\n",
    "SELECT count() FROM {0} AS l, {1} AS r WHERE l.n < r.n": "45\n",
    "SELECT count() FROM {0} AS a JOIN {1} AS b ON a.n = b.n JOIN {0} AS c ON a.n = c.n": "10\n",
    "SELECT count() FROM {0} WHERE n IN (SELECT m FROM {1})": "5\n",
    "SELECT count() FROM {0} WHERE n NOT IN (SELECT m FROM {1})": "5\n",
    "SELECT count() FROM (SELECT n FROM {0} INTERSECT SELECT m FROM {1})": "5\n",
    "SELECT count() FROM (SELECT n FROM {0} UNION ALL SELECT m FROM {1})": "20\n",
    "SELECT count() FROM (SELECT n FROM {0} GROUP BY n) AS l JOIN (SELECT n, sum(m) FROM {1} GROUP BY n) AS r USING n": "10\n",
}


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("sql", JOINS)
def test_in_the_time_of_the_slowest(db, tables, sql, n_threads):
    def ask():
        assert text(db, f"{sql.format(*tables('slow'))} SETTINGS max_threads = {n_threads}") == JOINS[sql]

    # One after the other they would take 2 s at least.
    patience.in_time(1.9, ask)


def test_counts_of_shards_are_asked_at_once(db, servers):
    hosts = ",".join(f"127.0.0.1:{server.tcp_port}" for server in servers)

    def ask():
        assert text(db, f"SELECT count() FROM remote('{hosts}', default.slow)") == "20\n"

    patience.in_time(1.9, ask)


def test_much_of_the_left_side_is_asked_anew_for_what_is_wanted(db, servers, tables):
    """The right side is slow and says which rows of the left are wanted, of which much more would come."""
    left, right = tables("large")[0], tables("slow")[1]
    sql = f"SELECT count(), sum(l.m) FROM {left} AS l JOIN {right} AS r ON l.n = r.n"
    assert text(db, sql) == "10\t90\n"

    def is_asked_anew():
        explained = text(db, f"EXPLAIN ANALYZE {sql}")
        received = {int(rows) for rows in re.findall(r" (\d+) rows in \d+ blocks", explained)}
        return max(received) <= 10 and "WHERE" in explained

    # Where the server of the left side is the slower one for once, there is not much of it yet.
    patience.until(is_asked_anew)
    # A left side that is small is kept as it came.
    few = f"SELECT count() FROM {tables('few')[0]} AS l JOIN {right} AS r ON l.n = r.n"
    assert text(db, few) == "2\n"


def asked_for_columns(server, sql):
    with server.connect() as there:
        count = "SELECT count() FROM system.query_log WHERE type = 'QueryStart' AND query LIKE 'DESC TABLE %'"
        before = int(text(there, count))
        answer = sql()
        return answer, int(text(there, count)) - before


def test_columns_are_asked_once(db, servers, tables):
    few = tables("few")[0]
    for sql, answer in (
        (f"SELECT count() FROM {few} AS a JOIN {few} AS b USING n", "2\n"),
        (f"SELECT count() FROM {few} WHERE n IN (SELECT n FROM {few} WHERE n > 5)", "1\n"),
        (f"WITH t AS (SELECT n FROM {few}) SELECT (SELECT max(n) FROM t), (SELECT min(n) FROM t SETTINGS max_threads = 1)", "7\t5\n"),
    ):
        assert asked_for_columns(servers[0], lambda sql=sql: text(db, sql)) == (answer, 1), sql
    # The next statement asks again: the table may be another one.
    with servers[0].connect() as there:
        there.query("CREATE OR REPLACE TABLE changing (n UInt8) ENGINE = Memory")
        changing = tables("changing")[0]
        assert "UInt8" in text(db, f"DESC {changing}")
        there.query("CREATE OR REPLACE TABLE changing (s String) ENGINE = Memory")
        assert "String" in text(db, f"DESC {changing}")


def test_failures_and_ends(db, servers, tables):
    with servers[0].connect() as there:
        there.query("CREATE VIEW failing AS SELECT throwIf(number = 5) AS n FROM numbers(10)")
        running = "SELECT count() FROM system.processes WHERE query LIKE '%`default`.`slow`%' AND query NOT LIKE '%system.processes%'"
        for sql in ("SELECT count() FROM {0} AS l JOIN {1} AS r ON l.n = r.n", "SELECT count() FROM {1} AS l JOIN {0} AS r ON l.n = r.n"):
            with pytest.raises(chalet.Error, match="FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"):
                db.query(sql.format(tables("failing")[0], tables("slow")[0]))
        # A left side that nobody needs is told so.
        empty = f"SELECT count() FROM {tables('slow')[0]} AS l JOIN (SELECT n FROM {tables('few')[1]} WHERE n > 100) AS r ON l.n = r.n"
        assert text(db, empty) == "0\n"
        patience.until(lambda: text(there, running) == "0\n")
