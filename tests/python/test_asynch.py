"""`chalet.asynch`: programs of asynch, run with both, over a server, and with this package over a database in the process."""

import asyncio
import datetime
import decimal
import time
import uuid

import pytest

import chalet.asynch
import chalet.server

COLUMNS = "n Int64, s String, d Date, t DateTime('Asia/Tokyo'), x Nullable(Float64), c Decimal(9, 2), u UUID, a Array(String), b Tuple(UInt8, String)"
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
ROWS = [
    (n, f"it's {n}", datetime.date(2024, 1, 2), MOMENT, None if n % 2 else n / 4, decimal.Decimal("1.50"), uuid.UUID(int=n), ["a", "b"], (n, "z"))
    for n in range(20)
]


@pytest.fixture(scope="module")
def server():
    with chalet.server.start() as started:
        yield started


@pytest.fixture(params=["asynch", "server", "memory"])
def made(request, server):
    """The module, and the arguments of a connection."""
    if request.param == "asynch":
        return pytest.importorskip("asynch"), {"host": "127.0.0.1", "port": server.tcp_port}
    return chalet.asynch, {"host": ":memory:"} if request.param == "memory" else {"host": "127.0.0.1", "port": server.tcp_port}


def run(program):
    def test(made):
        asyncio.run(asyncio.wait_for(program(*made), 300))

    return test


@run
async def test_rows(asynch, where):
    async with asynch.Connection(**where) as connection:
        assert connection.opened and connection.status == "opened" and connection.database == "default"
        async with connection.cursor() as cursor:
            assert (cursor.rowcount, cursor.description, cursor.status, cursor.arraysize) == (-1, None, "ready", 1)
            with pytest.raises(asynch.ProgrammingError):
                await cursor.fetchall()
            await cursor.execute("DROP TABLE IF EXISTS kinds")
            await cursor.execute(f"CREATE TABLE kinds ({COLUMNS}) ENGINE = Memory")
            assert await cursor.execute("INSERT INTO kinds VALUES", ROWS) == len(ROWS) == cursor.rowcount
            assert await cursor.executemany("INSERT INTO kinds (n, s) VALUES", [{"n": -1, "s": "x"}]) == 1
            assert await cursor.execute("SELECT * FROM kinds WHERE n >= 0 ORDER BY n") == len(ROWS)
            assert cursor.description[1][:2] == ("s", "String") and cursor.description[0].name == "n"
            assert await cursor.fetchone() == ROWS[0] and list(await cursor.fetchmany(3)) == ROWS[1:4]
            assert [row async for row in cursor] == ROWS[4:] and await cursor.fetchone() is None and await cursor.fetchall() == []
            await cursor.execute("SELECT count(), %(s)s, %(at)s, %(l)s FROM kinds", {"s": "it's", "at": MOMENT.date(), "l": [1, 2]})
            assert await cursor.fetchall() == [(len(ROWS) + 1, "it's", "2024-01-02", [1, 2])]
            await cursor.execute("DROP TABLE kinds")
        with pytest.raises(asynch.InterfaceError):
            await cursor.execute("SELECT 1")
    assert connection.closed and connection.status == "closed"


@run
async def test_dicts_settings_and_tables(asynch, where):
    async with asynch.Connection(**where, cursor_cls=asynch.DictCursor) as connection, connection.cursor() as cursor:
        await cursor.execute("SELECT number AS n, toString(number) AS s FROM numbers(3)")
        assert await cursor.fetchone() == {"n": 0, "s": "0"} and await cursor.fetchall() == [{"n": 1, "s": "1"}, {"n": 2, "s": "2"}]
        assert await cursor.fetchone() == {}
        cursor.set_settings({"max_block_size": 77})
        await cursor.execute("SELECT getSetting('max_block_size') AS b")
        assert await cursor.fetchall() == [{"b": 77}]
        cursor.set_external_table("given", [("x", "Int32")], [(1,), (2,)])
        await cursor.execute("SELECT sum(x) AS x FROM given")
        assert await cursor.fetchone() == {"x": 3}
        cursor.set_stream_results(True, 100)
        await cursor.execute("SELECT number AS n FROM numbers(200000)")
        n = 0
        async for row in cursor:
            n += row["n"]
        assert n == 200000 * 199999 // 2


@run
async def test_errors(asynch, where):
    async with asynch.Connection(**where) as connection, connection.cursor() as cursor:
        for _ in range(3):
            with pytest.raises(asynch.Error) as raised:
                await cursor.execute("SELECT nothing")
            assert raised.value.code == 47 and type(raised.value).__name__ == "ServerException"
            await cursor.execute("SELECT 1")
            assert await cursor.fetchall() == [(1,)]
        assert await connection.is_live() and await connection.ping() is None and not await connection.cancel()
        with pytest.raises(asynch.NotSupportedError):
            await connection.commit()
    assert not await connection.is_live()


@run
async def test_pools(asynch, where):
    async with asynch.Pool(minsize=1, maxsize=3, **where) as pool:
        assert (pool.status, pool.free_connections, pool.acquired_connections, pool.maxsize) == ("opened", 1, 0, 3)

        async def ask(n):
            async with pool.connection() as connection, connection.cursor() as cursor:
                assert pool.acquired_connections <= 3
                await cursor.execute("SELECT %(n)s", {"n": n})
                return (await cursor.fetchone())[0]

        assert await asyncio.gather(*map(ask, range(30))) == list(range(30))
        with pytest.raises(asynch.Error):
            async with pool.connection() as connection, connection.cursor() as cursor:
                await cursor.execute("SELECT nothing")
        assert await ask(5) == 5 and pool.acquired_connections == 0 and 1 <= pool.free_connections <= 3
    assert pool.status == "closed"
    with pytest.raises(ValueError):
        asynch.Pool(minsize=3, maxsize=2)


def test_servers_alone(server):
    """What a database in the process does not have."""

    async def program():
        dsn = f"clickhouse://default@127.0.0.1:{server.tcp_port}/default?max_block_size=9&compression=lz4"
        async with chalet.asynch.connect(dsn) as connection, connection.cursor() as cursor:
            assert (connection.host, connection.port, connection.user) == ("127.0.0.1", server.tcp_port, "default")
            cursor.set_query_id("mine")
            await cursor.execute("SELECT getSetting('max_block_size'), queryID()")
            assert await cursor.fetchall() == [(9, "mine")]
            assert connection.last_query.elapsed > 0
            # Stopped by another task, and by the end of the own. The server may still know the id of one that it is told to stop.
            cursor.set_query_id()
            began = time.monotonic()
            slow = asyncio.create_task(cursor.execute("SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"))
            await asyncio.sleep(0.2)
            assert await connection.cancel()
            with pytest.raises(chalet.asynch.Error):
                await slow
            slow = asyncio.create_task(cursor.execute("SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"))
            await asyncio.sleep(0.2)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            # It would take hours.
            assert time.monotonic() - began < 60
            await cursor.execute("SELECT 1")
            assert await cursor.fetchall() == [(1,)]
        with pytest.raises(chalet.asynch.errors.NetworkError):
            await chalet.asynch.Connection(host="127.0.0.1", port=1).connect()
        with pytest.raises(chalet.asynch.errors.ServerException) as raised:
            await chalet.asynch.Connection(port=server.tcp_port, user="nobody").connect()
        assert raised.value.code == 516
        with pytest.raises(chalet.asynch.errors.AsynchPoolError):
            await chalet.asynch.Pool(port=1).startup()

    asyncio.run(program())
