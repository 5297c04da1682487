"""`chalet.aio` over a real server (18.16) and over ours: many queries on few sockets and no threads, cancelled, cut, and begun anew."""

import asyncio
import contextlib
import gc
import socket
import threading
import time

import clickhouse
import patience
import pytest

import chalet
import chalet.aio
import chalet.server


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with clickhouse.started(tmp_path_factory.mktemp("server")) as number:
        yield number


@pytest.fixture(scope="module")
def ours():
    with chalet.server.start(http=None) as server:
        yield server.tcp_port


@pytest.fixture(params=["real", "ours"])
def url(request):
    if request.param == "ours":
        return f"clickhouse://127.0.0.1:{request.getfixturevalue('ours')}"
    return f"clickhouse://alice:secret@127.0.0.1:{request.getfixturevalue('port')}/default"


def run(main):
    async def limited():
        async with asyncio.timeout(4 * patience.LONG):
            return await main

    return asyncio.run(limited())


def test_results_of_all_kinds(url):
    async def main():
        async with chalet.aio.connect(url) as db:
            sql = "SELECT number AS n, toString(number) AS s FROM system.numbers LIMIT 3"
            assert (await db.query(sql, "TSV")).data() == "0\t0\n1\t1\n2\t2\n"
            assert (await db.query(sql + " FORMAT JSONEachRow")).data().startswith('{"n"')
            cursor = await db.execute(sql)
            assert (cursor.rowcount, cursor.column_names()) == (3, ["n", "s"])
            assert [d[0] for d in cursor.description] == ["n", "s"]
            assert await cursor.fetchone() == (0, "0")
            assert await cursor.fetchmany(1) == ((1, "1"),)
            assert await cursor.fetchall() == ((2, "2"),)
            assert [row async for row in await db.execute(sql)] == [(0, "0"), (1, "1"), (2, "2")]
            rows = db.sql(sql)
            assert await rows.fetchall() == [(0, "0"), (1, "1"), (2, "2")]
            assert await rows.to_dicts() == [{"n": n, "s": str(n)} for n in range(3)]
            assert (await rows).fetchone() == (0, "0") and await rows.columns() == ["n", "s"]
            assert (await rows.df())["n"].tolist() == [0, 1, 2]
            assert (await rows.arrow()).num_rows == 3
            assert (await db.query("SELECT 1; SELECT 2", "TSV")).data() == "1\n2\n"
            with pytest.raises(chalet.Error, match="is no table"):
                await db.query("SELECT * FROM t", tables={"t": 1})

    run(main())


def test_inserts_streams_and_settings(url):
    async def main():
        async with chalet.aio.connect(url) as db:
            await db.query("DROP TABLE IF EXISTS aio_t")
            await db.query("CREATE TABLE aio_t (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
            await db.query("INSERT INTO aio_t VALUES (1, 'one'), (2, 'two')")
            cursor = await db.executemany("INSERT INTO aio_t VALUES", [(n, str(n)) for n in range(3, 10)])
            assert cursor.rowcount == 7
            assert await db.insert_rows("INSERT INTO aio_t VALUES", [(10, "ten")]) == 1
            async with db.send_insert("INSERT INTO aio_t", "CSV") as insert:
                await insert.append("11,eleven\n")
                assert (await insert.finish()).rows_written == 1
            assert (await db.query("SELECT count(), sum(n) FROM aio_t", "TSV")).data() == "11\t66\n"
            # More than a socket takes at once.
            many = [(n, "x" * 100) for n in range(200_000)]
            assert await db.insert_rows("INSERT INTO aio_t VALUES", many) == 200_000
            total = 0
            async with db.send_query("SELECT n, s FROM aio_t", "TSV") as stream:
                async for chunk in stream:
                    total += chunk.data().count("\n")
            assert total == 200_011
            result = await db.query("SELECT s FROM aio_t ORDER BY n", None)
            assert len(result.fetchall()) == 200_011
            with pytest.raises(chalet.Error):
                await db.insert_rows("INSERT INTO aio_t VALUES", [("no number", "x")])
            block = "SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)"
            assert (await db.query(block, "TSV", settings={"max_block_size": 9})).data() == "9\n"
            await db.query("SET max_block_size = 5")
            found = await asyncio.gather(*(db.query(block, "TSV") for _ in range(20)))
            assert {one.data() for one in found} == {"5\n"}

    run(main())


def test_a_hundred_queries_over_ten_sockets(url):
    async def main():
        async with chalet.aio.connect(url) as db:
            await db.query("SELECT 1")
            before = threading.active_count()
            most = 0

            async def one(n):
                nonlocal most
                sql = f"SELECT {n}, sum(number) FROM (SELECT number FROM system.numbers LIMIT 100000)"
                data = (await db.query(sql, "TSV")).data()
                most = max(most, len(db._talks))
                return data

            found = await asyncio.gather(*(one(n) for n in range(100)))
            assert found == [f"{n}\t4999950000\n" for n in range(100)]
            # Those of the loop's own executor, which open connections.
            others = [t for t in threading.enumerate() if not t.name.startswith("asyncio_")]
            assert len(others) <= before

    run(main())


def test_the_loop_goes_on_and_the_server_is_told(port):
    url = f"clickhouse://alice:secret@127.0.0.1:{port}/default"

    async def main():
        async with chalet.aio.connect(url) as db:
            sql = "SELECT count() FROM system.numbers WHERE NOT ignore(number, 'told')"
            task = asyncio.ensure_future(db.query(sql))
            ticks = 0
            for _ in range(30):
                await asyncio.sleep(0.01)
                ticks += 1
            assert ticks == 30 and not task.done()
            running = "SELECT count() FROM system.processes WHERE query LIKE '%told%' AND query NOT LIKE '%processes%'"

            async def runs(wanted):
                began = time.monotonic()
                while (await db.query(running, "TSV")).data() != f"{wanted}\n":
                    assert time.monotonic() - began < patience.LONG
                    await asyncio.sleep(0.02)

            await runs(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await runs(0)
            assert not db._talks

    run(main())


def test_time_limits_interrupts_and_places(url):
    async def main():
        async with chalet.aio.connect(url + "?pool_size=1") as db:
            with pytest.raises(chalet.OperationalError, match="TIMEOUT_EXCEEDED"):
                await db.query("SELECT count() FROM system.numbers", timeout=0.2)
            assert (await db.query("SELECT 1", "TSV")).data() == "1\n"
            stream = db.send_query("SELECT number FROM system.numbers", "TSV")
            assert (await stream.fetch()).data().startswith("0\n1\n")
            # Its place is taken.
            with pytest.raises(chalet.OperationalError, match="TIMEOUT_EXCEEDED"):
                await db.query("SELECT 1", timeout=0.1)
            await stream.close()
            assert (await db.query("SELECT 1", "TSV")).data() == "1\n"
            stream = db.send_query("SELECT number FROM system.numbers", "TSV")
            await stream.fetch()
            del stream
            assert (await db.query("SELECT 2", "TSV", timeout=patience.LONG)).data() == "2\n"
            asyncio.get_running_loop().call_later(0.2, db.interrupt)
            with pytest.raises(chalet.ChdbError, match="QUERY_WAS_CANCELLED"):
                await db.query("SELECT count() FROM system.numbers")
            assert (await db.query("SELECT 3", "TSV")).data() == "3\n"
            task = asyncio.ensure_future(db.query("SELECT count() FROM system.numbers"))
            await asyncio.sleep(0.1)
        with pytest.raises(chalet.ChdbError, match="QUERY_WAS_CANCELLED"):
            await task
        with pytest.raises(chalet.InterfaceError):
            db.query("SELECT 1")

    run(main())


def test_errors_leave_the_socket_clean(url):
    async def main():
        async with chalet.aio.connect(url + "?pool_size=1") as db:
            for _ in range(3):
                with pytest.raises(chalet.ChdbError) as raised:
                    await db.query("SELECT nothing_of_the_kind FROM system.one")
                assert raised.value.code == 47
                assert (await db.query("SELECT 1", "TSV")).data() == "1\n"
            with pytest.raises(chalet.ChdbError):
                async for _ in db.send_query("SELECT throwIf(number = 100000) FROM system.numbers LIMIT 200000"):
                    pass
            assert (await db.query("SELECT 1", "TSV")).data() == "1\n"

    run(main())


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_as_it_was_at_every_await(url, was_on):
    async def main():
        seen = set()

        async def look():
            while True:
                seen.add(gc.isenabled())
                await asyncio.sleep(0)

        async with chalet.aio.connect(url) as db:
            looking = asyncio.ensure_future(look())
            sql = "SELECT number, toString(number) FROM system.numbers LIMIT 50000"
            assert len(await (await db.execute(sql)).fetchall()) == 50_000
            async for _ in db.sql(sql):
                seen.add(gc.isenabled())
            with pytest.raises(chalet.Error):
                await db.query("SELECT nothing_of_the_kind")
            await db.query("DROP TABLE IF EXISTS aio_gc")
            await db.query("CREATE TABLE aio_gc (n UInt64) ENGINE = Memory")
            await db.insert_rows("INSERT INTO aio_gc VALUES", [(n,) for n in range(1000)])
            with pytest.raises(chalet.Error):
                await db.insert_rows("INSERT INTO aio_gc VALUES", [("x",)])
            looking.cancel()
        assert seen == {was_on}

    try:
        if not was_on:
            gc.disable()
        run(main())
        assert gc.isenabled() == was_on
    finally:
        gc.enable()


class Proxy:
    """Passes bytes on to a port; once, behind so many more bytes of the server, it hangs up or flips a bit."""

    def __init__(self, port):
        self.port, self.cut, self.flip = port, None, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.own = self.listener.getsockname()[1]
        self.threads = []

    def __enter__(self):
        self.start(self.accept)
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()

    def start(self, function, *arguments):
        self.threads.append(threading.Thread(target=function, args=arguments))
        self.threads[-1].start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.start(self.serve, client)

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            up = threading.Thread(target=self.up, args=(client, server))
            up.start()
            with contextlib.suppress(OSError):
                while data := server.recv(65536):
                    data, is_cut = self.changed(data)
                    client.sendall(data)
                    if is_cut:
                        break
            for one in (client, server):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            up.join()

    def up(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def changed(self, data):
        if self.flip is not None:
            if self.flip < len(data):
                data = bytearray(data)
                data[self.flip] ^= 1 << self.flip % 8
                self.flip = None
            else:
                self.flip -= len(data)
        if self.cut is not None:
            if self.cut < len(data):
                data, self.cut = data[: self.cut], None
                return data, True
            self.cut -= len(data)
        return data, False


SQL = "SELECT number, toString(number) FROM system.numbers LIMIT 100"
ROWS = [(n, str(n)) for n in range(100)]


def test_a_conversation_that_is_cut_is_run_again_or_fails(ours):
    """A query is run again, once, on a new connection; what may have changed something, or was seen, is an error."""

    async def main():
        with Proxy(ours) as proxy:
            async with chalet.aio.connect(f"clickhouse://127.0.0.1:{proxy.own}?pool_size=2") as db:
                for cut in [0, 1, 2, 5, 50, *range(100, 1200, 97)]:
                    proxy.cut = cut
                    began = time.monotonic()
                    assert await db.sql(SQL).fetchall() == ROWS, cut
                    proxy.cut = cut
                    try:
                        data = "".join([chunk.data() async for chunk in db.send_query(SQL, "TSV")])
                        assert data == "".join(f"{n}\t{s}\n" for n, s in ROWS), cut
                    except chalet.ChdbError as error:
                        assert error.code in (32, 33, 210), cut
                    proxy.cut = None
                    assert (await db.query("SELECT 1", "TSV")).data() == "1\n"
                    # Who waits for what will not come waits 300 s.
                    assert time.monotonic() - began < 60

    run(main())


def test_flipped_bits_are_errors_or_nothing(ours):
    async def main():
        with Proxy(ours) as proxy:
            async with chalet.aio.connect(f"clickhouse://127.0.0.1:{proxy.own}?receive_timeout=3") as db:
                for flip in range(0, 1200, 83):
                    proxy.flip = flip
                    try:
                        rows = await db.sql(SQL).fetchall()
                        # What is outside of the compressed blocks has no checksum, and is not rows.
                        assert rows == ROWS, flip
                    except chalet.ChdbError:
                        pass
                    proxy.flip = None
                    assert (await db.query("SELECT 1", "TSV")).data() == "1\n"

    run(main())


@pytest.fixture
def nobody():
    """A port at which nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_failover(ours, nobody):
    url = f"clickhouse://127.0.0.1:{nobody},127.0.0.1:{ours}"
    with chalet.connect(url) as db:
        assert db.query("SELECT 1", "TSV").data() == "1\n"
    with pytest.raises(chalet.ChdbError) as raised:
        chalet.connect(f"clickhouse://127.0.0.1:{nobody},127.0.0.1:{nobody}/")
    assert raised.value.code == 279

    async def main():
        async with chalet.aio.connect(url) as db:
            assert (await db.query("SELECT 1", "TSV")).data() == "1\n"

    run(main())


def test_a_host_that_goes_away_is_replaced(ours):
    """Sockets that are dead are noticed before they are used, and a query that meets a dead one is run elsewhere."""
    first = chalet.server.start(http=None)
    url = f"clickhouse://127.0.0.1:{first.tcp_port},127.0.0.1:{ours}"

    async def main():
        async with chalet.aio.connect(url) as db:
            await asyncio.gather(*(db.query("SELECT 1") for _ in range(5)))
            with chalet.connect(url) as sync:
                assert sync.query("SELECT 1", "TSV").data() == "1\n"
                task = asyncio.ensure_future(db.query("SELECT count() FROM system.numbers LIMIT 1"))
                await asyncio.sleep(0.1)
                await asyncio.to_thread(first.stop)
                assert sync.query("SELECT 2", "TSV").data() == "2\n"
                found = await asyncio.gather(*(db.query(f"SELECT {n}", "TSV") for n in range(20)))
                assert [one.data() for one in found] == [f"{n}\n" for n in range(20)]
                task.cancel()

    run(main())


def test_options_of_urls(ours):
    for wrong in ("pool_size=0", "pool_size=x", "connect_timeout=-1", "compression=gzip"):
        with pytest.raises(chalet.ChdbError):
            chalet.connect(f"clickhouse://127.0.0.1:{ours}?{wrong}")
    for method in ("none", "lz4", "zstd"):
        with chalet.connect(f"clickhouse://127.0.0.1:{ours}?compression={method}&max_block_size=3") as db:
            assert db.query(SQL, "TSV").data().count("\n") == 100
