"""Who writes to somebody that does not read can be stopped: INSERTs into a server that takes nothing more, and shards whose rows nobody
wants any longer, because the client of their reader has stopped reading."""

import asyncio
import contextlib
import socket
import threading
import time

import patience
import proxy
import pytest
import shards

import chalet
import chalet.aio

ROWS = {"n": list(range(200_000)), "s": ["x" * 100] * 200_000}
# Seconds after which nobody would have been stopped: time limits are 300.
ENDLESS = 60


class Deaf(proxy.Proxy):
    """Takes so many bytes of what a client says, and then no more, without hanging up."""

    def __init__(self, port, most):
        self.left, self.is_over = most, threading.Event()
        super().__init__(port)

    def _pass(self, number, one, other):
        if number:
            return super()._pass(number, one, other)
        with contextlib.suppress(OSError):
            passed = 0
            while passed < self.left and (data := one.recv(65536)):
                passed += len(data)
                other.sendall(data)
        self.is_over.wait(300)

    def close(self):
        self.is_over.set()
        super().close()


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query("CREATE TABLE taken (n UInt32, s String) ENGINE = Memory")
        yield server


@pytest.fixture(params=["clickhouse", "http"])
def url(request, server):
    with contextlib.closing(Deaf(server.tcp_port if request.param == "clickhouse" else server.http_port, 300_000)) as between:
        yield f"{request.param}://127.0.0.1:{between.port}/?compression=none"


def took(began):
    return time.monotonic() - began


def test_inserts_are_interrupted(url, server):
    with chalet.connect(url) as db:
        is_over = threading.Event()

        def interrupt():
            # Again, where the INSERT had not begun.
            while not is_over.wait(1):
                db.interrupt()

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        began = time.monotonic()
        with pytest.raises(chalet.Error):
            db.insert_rows("INSERT INTO taken VALUES", ROWS)
        is_over.set()
        interrupting.join()
        assert took(began) < ENDLESS
    # One in pieces is nobody's but its own: its end is the time that a server has to take something.
    with chalet.connect(f"{url}&send_timeout=1&receive_timeout=1") as db:
        began = time.monotonic()
        with pytest.raises(chalet.Error), db.send_insert("INSERT INTO taken", "CSV") as insert:
            while took(began) < ENDLESS:
                insert.append("1,x\n" * 10000)
        assert took(began) < ENDLESS
    with server.connect() as there:
        assert there.query("SELECT count() FROM taken", "TSV").data() == "0\n"


def test_inserts_of_tasks_are_cancelled(url, server):
    async def run():
        async with chalet.aio.connect(url) as db:
            began = time.monotonic()
            task = asyncio.create_task(db.insert_rows("INSERT INTO taken VALUES", ROWS))
            await asyncio.sleep(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(chalet.Error, match="TIMEOUT_EXCEEDED"):
                await db.insert_rows("INSERT INTO taken VALUES", ROWS, timeout=1)
            assert took(began) < ENDLESS

    asyncio.run(run())
    with server.connect() as there:
        assert there.query("SELECT count() FROM taken", "TSV").data() == "0\n"


def running(server, text):
    with server.connect() as there:
        found = there.query("SELECT count() FROM system.processes WHERE query LIKE {t:String} AND query NOT LIKE '%system.processes%'", "TSV", {"t": f"%{text}%"})
        return int(found.data())


@pytest.mark.parametrize("how", ["kill", "leave"])
@pytest.mark.parametrize("threads", [1, 4])
def test_shards_end_with_who_reads_their_reader(how, threads):
    with shards.started(2) as (reader, shard):
        with shard.connect() as there:
            there.query("CREATE VIEW endless AS SELECT number FROM system.numbers")
        sql = f"SELECT * FROM remote('127.0.0.1:{shard.tcp_port}', default.endless) SETTINGS max_threads = {threads}"
        with socket.create_connection(("127.0.0.1", reader.http_port)) as client:
            client.sendall(b"POST /?query_id=unread HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(sql), sql.encode()))
            began = time.monotonic()
            while not running(shard, "endless"):
                assert took(began) < patience.LONG
            time.sleep(1)
            began = time.monotonic()
            if how == "leave":
                client.close()
            else:
                with reader.connect() as other:
                    other.query("KILL QUERY WHERE query_id = 'unread' SYNC")
            while running(shard, "endless") or running(reader, "remote("):
                assert took(began) < ENDLESS
                time.sleep(0.05)
        assert running(reader, "remote(") == 0
