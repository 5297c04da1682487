"""Queries over shards that are slow, or silent: they wait for the slowest alone, and nobody else waits for them."""

import re
import threading
import time

import patience
import pytest
import shards

import chalet

LOCAL = "SELECT sum(sipHash64(number)) FROM numbers(3000000)"
N_SHARDS = 4


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query("CREATE TABLE t (n UInt64) ENGINE = Memory")
            there.query("INSERT INTO t SELECT number FROM numbers(10)")
            there.query("CREATE TABLE silent (n UInt64) ENGINE = Memory")
            there.query("INSERT INTO silent SELECT number FROM numbers(10)")
            there.query("CREATE VIEW slow AS SELECT number AS n FROM numbers(10) WHERE sleep(1) = 0")
            there.query("CREATE VIEW large AS SELECT number AS n FROM numbers(15000000)")
        yield server


@pytest.fixture
def relay(server):
    """In front of the server; queries of `silent` are not answered."""
    relay = shards.Relay(server.tcp_port, b"FROM `default`.`silent`")
    yield relay
    relay.close()


def connect(*ports):
    db = chalet.connect(":memory:")
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    db.query(f"SET chalet_clusters = {{'main': 'clickhouse://{hosts}'}}")
    db.query("SET max_threads = 4")
    return db


def text(db, sql):
    return db.query(sql, "TSV").data()


class Asked(threading.Thread):
    """A query that waits in a thread of its own."""

    def __init__(self, db, sql):
        super().__init__(daemon=True)
        self.db, self.sql, self.error = db, sql, None
        self.start()

    def run(self):
        try:
            self.db.query(self.sql)
        except chalet.Error as error:
            self.error = str(error)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_shards_take_the_time_of_the_slowest(server, n_threads):
    with connect(*[server.tcp_port] * N_SHARDS) as db:
        db.query(f"SET max_threads = {n_threads}")

        def ask():
            assert text(db, "SELECT count(), sum(n) FROM cluster('main', default.slow) WHERE n < 100") == "40\t180\n"

        # One after the other they would take 4 s at least.
        patience.in_time(N_SHARDS - 1, ask)


def test_who_waits_holds_no_worker(server, relay):
    """More queries than the process has workers wait, and a query of this process still has workers beside its own thread."""
    waiting = []
    for _ in range(40):
        db = connect(*[relay.port] * N_SHARDS)
        waiting.append(Asked(db, "SELECT sum(n) FROM cluster('main', default.silent)"))
    for _ in range(len(waiting) * N_SHARDS):
        assert relay.held.acquire(timeout=300)
    with chalet.connect(":memory:") as local:

        def n_workers():
            explained = text(local, f"EXPLAIN ANALYZE {LOCAL} SETTINGS max_threads = 4")
            return max(int(n) for n in re.findall(r"workers: (\d+)", explained))

        # It is for the scheduler to say whether another worker comes before all is done.
        patience.until(lambda: n_workers() > 1)
    assert all(query.is_alive() for query in waiting)
    began = time.monotonic()
    for query in waiting:
        query.db.interrupt()
    for query in waiting:
        query.join(timeout=300)
        assert query.error is not None and "QUERY_WAS_CANCELLED" in query.error
        query.db.close()
    assert time.monotonic() - began < 60
    # The servers are told.
    for _ in range(len(waiting) * N_SHARDS):
        assert relay.ended.acquire(timeout=300)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_timeouts_end_who_waits(server, relay, n_threads):
    with connect(relay.port, relay.port) as db:
        began = time.monotonic()
        with pytest.raises(chalet.Error, match="TIMEOUT_EXCEEDED"):
            db.query(f"SELECT sum(n) FROM cluster('main', default.silent) SETTINGS max_execution_time = 1, max_threads = {n_threads}")
        assert time.monotonic() - began < 60
        while relay.held.acquire(timeout=0.5):
            assert relay.ended.acquire(timeout=300)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_a_limit_waits_for_no_silent_shard(server, relay, n_threads):
    for sql, expected in (
        ("SELECT n >= 0 FROM cluster('main', default.silent) LIMIT 2", "1\n1\n"),
        ("SELECT count() FROM (SELECT n FROM cluster('main', default.silent) LIMIT 3)", "3\n"),
        ("SELECT count() FROM (SELECT n FROM cluster('main', default.silent) LIMIT 3) AS l JOIN numbers(10) AS r ON l.n = r.number", "3\n"),
        ("SELECT count() FROM (SELECT DISTINCT n FROM cluster('main', default.silent) LIMIT 3)", "3\n"),
        ("SELECT count() FROM (SELECT * FROM (SELECT n FROM cluster('main', default.silent) UNION ALL SELECT n FROM cluster('main', default.silent)) LIMIT 3)", "3\n"),
        ("SELECT count() FROM (SELECT n FROM cluster('main', default.silent) LIMIT 1 BY n LIMIT 4)", "4\n"),
    ):
        with connect(relay.port, server.tcp_port) as db:
            assert text(db, f"{sql} SETTINGS max_threads = {n_threads}, max_execution_time = 100") == expected, sql


def test_an_error_of_one_shard_ends_the_others(server):
    """One is silent, the other fails."""
    with server.connect() as there:
        there.query("CREATE VIEW half AS SELECT throwIf(number = 5) AS h FROM numbers(10)")
    halves = shards.Relay(server.tcp_port, b"FROM `default`.`half`")
    with connect(halves.port, server.tcp_port) as db:
        for n_threads in (1, 4):
            began = time.monotonic()
            with pytest.raises(chalet.Error, match="FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"):
                db.query(f"SELECT sum(h) FROM cluster('main', default.half) SETTINGS max_threads = {n_threads}")
            assert time.monotonic() - began < 60
            while halves.held.acquire(timeout=0.5):
                assert halves.ended.acquire(timeout=300)
    halves.close()


def test_a_slow_reader_holds_servers_back(server):
    relay = shards.Relay(server.tcp_port)
    with connect(relay.port) as db:
        rows = db.send_query("SELECT n FROM cluster('main', default.large)", "Native")
        assert rows.fetch() is not None
        before = -1
        # Until nothing comes any more.
        while before != relay.passed:
            before = relay.passed
            time.sleep(1)
        n_rows = sum(chunk.rows_read() for chunk in rows)
        # What is on its way is in the buffers of sockets.
        assert n_rows > 10_000_000 and before < relay.passed * 0.7
    relay.close()
