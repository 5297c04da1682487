"""Servers that end amid a statement, hosts that say nothing and disks that are full: each is named in the error, with the address, and
the next connection works."""

import contextlib
import os
import pathlib
import socket
import threading

import clickhouse
import patience
import pytest
import shards
from test_small_disk import NAMESPACE, can_mount

import chalet

SLOW = "SELECT sum(sleepEachRow(0.1)) FROM (SELECT number FROM system.numbers LIMIT 3000) SETTINGS max_block_size = 1"
ENDLESS = "SELECT number FROM system.numbers"
# The end is seen before something is said, amid it, or at the next word; a query of rows is asked once more, when nobody is there.
GONE = ("Connection refused", "the server has closed the connection", "Connection reset by peer", "Broken pipe", "The body ends early")


@contextlib.contextmanager
def real(folder):
    with clickhouse.process(folder) as (process, ports):
        yield process, ports


@contextlib.contextmanager
def ours(folder):
    with shards.started(1) as (server,):
        yield server.process, (server.tcp_port, server.http_port)


def asks(db, kill):
    threading.Thread(target=kill, args=("sleepEachRow",)).start()
    db.query(SLOW)


def streams(db, kill):
    chunks = db.send_query(ENDLESS, "TSV")
    next(iter(chunks))
    kill(None)
    for _ in chunks:
        pass


def inserts(db, kill):
    db.query("CREATE TABLE faults (n UInt64) ENGINE = Memory")
    with db.send_insert("INSERT INTO faults", "CSV") as insert:
        insert.append("1\n" * 100_000)
        kill(None)
        # What is under way fills what lies between, and then there is nobody.
        for _ in range(10_000):
            insert.append("1\n" * 100_000)
        insert.finish()


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
@pytest.mark.parametrize("ask", [asks, streams, inserts])
@pytest.mark.parametrize("kind", [real, ours])
def test_a_server_that_is_killed(kind, ask, scheme, tmp_path):
    with kind(tmp_path) as (process, ports):
        port = ports[scheme == "http"]

        def kill(text):
            if text is not None:
                with chalet.connect(f"clickhouse://127.0.0.1:{ports[0]}") as there:
                    running = f"SELECT count() FROM system.processes WHERE query LIKE '%{text}%' AND query NOT LIKE '%system.processes%'"
                    patience.until(lambda: there.query(running, "TSV").data() == "1\n")
            process.kill()
            process.wait()

        with chalet.connect(f"{scheme}://127.0.0.1:{port}/?connect_timeout=30") as db:
            with pytest.raises(chalet.Error) as caught:
                ask(db, kill)
            assert caught.value.code in (32, 210), caught.value
            assert any(gone in str(caught.value) for gone in GONE), caught.value
            assert f"127.0.0.1:{port}" in str(caught.value)
            # Nobody is there any more.
            with pytest.raises(chalet.Error, match="Connection refused") as caught:
                db.query("SELECT 1")
            assert caught.value.code == 210 and f"127.0.0.1:{port}" in str(caught.value)


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
def test_a_host_that_says_nothing(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(chalet.Error, match=rf"Timeout exceeded while reading from socket \(127.0.0.1:{port}, 500 ms\)") as caught:
            chalet.connect(f"{scheme}://127.0.0.1:{port}/?connect_timeout=0.5&receive_timeout=0.5").query("SELECT 1")
        assert caught.value.code == 209


@pytest.mark.skipif(not can_mount(), reason="there is no mounting here")
@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
def test_a_disk_of_a_server_that_is_full(scheme, tmp_path):
    numpy = pytest.importorskip("numpy")
    place = pathlib.Path(tmp_path) / "small"
    place.mkdir()
    within = [*NAMESPACE, 'mount -t tmpfs -o size=24m none "$1" && exec "${@:2}"', "bash", place]
    with clickhouse.process(place, within=within) as (_, ports):
        with chalet.connect(f"{scheme}://127.0.0.1:{ports[scheme == 'http']}") as db:
            db.query("CREATE TABLE faults (n UInt64) ENGINE = MergeTree ORDER BY tuple()")
            db.query("INSERT INTO faults VALUES (1)")
            many = "SELECT rand64() FROM (SELECT number FROM system.numbers LIMIT 8000000)"
            with pytest.raises(chalet.Error, match="No space left on device|enough") as caught:
                db.query(f"INSERT INTO faults {many}")
            assert f"127.0.0.1:{ports[scheme == 'http']}" in str(caught.value)
            with pytest.raises(chalet.Error, match="No space left on device|enough"):
                db.insert_rows("INSERT INTO faults VALUES", {"n": numpy.frombuffer(os.urandom(1 << 25), "u8")})
            assert int(db.query("SELECT min(n) FROM faults", "TSV").data()) >= 0
