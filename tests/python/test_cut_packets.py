"""Connections that break off amid tables that come along over HTTP, states of aggregates, sorted rows of shards and inserted frames: what comes is
the whole answer or an error, never a part, and the server goes on."""

import contextlib
import random
import socket
import threading

import pytest
import shards

import chalet

GIVEN = {"n": list(range(2000)), "s": [f"text {n}" for n in range(2000)]}


class Cutter:
    """Passes bytes to a server and back, and closes both ends when so many have gone up, or down, over one connection."""

    def __init__(self, port):
        self.to, self.up, self.down = port, None, None
        self.most = [0, 0]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._converse, args=(client,), daemon=True).start()

    def _converse(self, client):
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            down = threading.Thread(target=self._pass, args=(1, server, client), daemon=True)
            down.start()
            self._pass(0, client, server)
            down.join()

    def _pass(self, number, one, other):
        passed = 0
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                most = (self.up, self.down)[number]
                if most is not None and passed + len(data) >= most:
                    other.sendall(data[: most - passed])
                    break
                other.sendall(data)
                passed += len(data)
                self.most[number] = max(self.most[number], passed)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query("CREATE TABLE t (k UInt16, m Nullable(Int64), s String) ENGINE = Memory")
            there.query("INSERT INTO t SELECT number % 1000, if(number % 3 = 0, NULL, number), toString(number) FROM numbers(20000)")
            there.query("CREATE TABLE taken (n Int64, s String) ENGINE = Memory")
        yield server


@contextlib.contextmanager
def cutting(port):
    cutter = Cutter(port)
    try:
        yield cutter
    finally:
        # Whoever waits for connections is woken.
        cutter.listener.shutdown(socket.SHUT_RDWR)
        cutter.listener.close()


def cuts(cutter, ask, expected, n=25):
    """Asks with connections that are cut somewhere, each way."""
    assert ask() == expected
    most = list(cutter.most)
    chance = random.Random(7)
    n_errors = 0
    for direction in ("up", "down"):
        whole = most[direction == "down"]
        for at in sorted(chance.randrange(1, whole) for _ in range(n)):
            setattr(cutter, direction, at)
            try:
                assert ask() == expected
            except chalet.Error:
                n_errors += 1
        setattr(cutter, direction, None)
        assert ask() == expected
    assert n_errors > n


def test_tables_over_http(server):
    def ask():
        with chalet.connect(f"http://127.0.0.1:{cutter.port}") as db:
            return db.query("SELECT count(), sum(n), sum(length(s)) FROM given", "TSV", tables={"given": GIVEN}).data()

    with cutting(server.http_port) as cutter:
        cuts(cutter, ask, f"2000\t{sum(GIVEN['n'])}\t{sum(map(len, GIVEN['s']))}\n")
    with server.connect() as there, pytest.raises(chalet.Error, match="UNKNOWN_TABLE"):
        there.query("SELECT * FROM given")


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
def test_shards(server, scheme):
    for sql in (
        "SELECT count(), sum(c), sum(a), sum(u) FROM (SELECT k, count() AS c, sum(m) AS a, uniqExact(s) AS u FROM {} GROUP BY k)",
        "SELECT count(), sum(m), min(m) FROM (SELECT m FROM {} ORDER BY m DESC LIMIT 3000)",
    ):

        def ask(sql=sql):
            with chalet.connect(":memory:") as db:
                db.query(f"SET chalet_clusters = {{'main': '{scheme}://127.0.0.1:{cutter.port}'}}")
                return db.query(sql.format("cluster('main', default.t)"), "TSV").data()

        with cutting(server.tcp_port if scheme == "clickhouse" else server.http_port) as cutter, server.connect() as there:
            cuts(cutter, ask, there.query(sql.format("t"), "TSV").data(), 12)


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
def test_inserted_frames(server, scheme):
    def ask():
        server.settle()
        with server.connect() as there:
            there.query("TRUNCATE TABLE taken")
        with chalet.connect(f"{scheme}://127.0.0.1:{cutter.port}") as db:
            try:
                return db.insert_rows("INSERT INTO taken VALUES", GIVEN)
            finally:
                server.settle()
                with server.connect() as there:
                    # All or none.
                    assert there.query("SELECT count() FROM taken", "TSV").data() in ("0\n", "2000\n")

    with cutting(server.tcp_port if scheme == "clickhouse" else server.http_port) as cutter:
        cuts(cutter, ask, 2000, 12)
