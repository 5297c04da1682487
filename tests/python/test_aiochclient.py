"""`chalet.aiochclient` over a real server (18.16), over ours and in the process; where the package is there, beside aiochclient."""

import asyncio
import datetime
import io
import uuid

import pytest

from chalet.aiochclient import ChClient, ChClientError, Record


@pytest.fixture(params=["real", "real native", "ours", "ours native", "local"])
def arguments(request):
    which, _, native = request.param.partition(" ")
    if which == "local":
        return {"url": ":memory:"}
    tcp, http = request.getfixturevalue(which)
    user = {"user": "alice", "password": "secret"} if which == "real" else {}
    return {"url": f"clickhouse://127.0.0.1:{tcp}" if native else f"http://127.0.0.1:{http}/", **user}


def run(arguments, program):
    async def main():
        async with ChClient(**arguments) as client:
            await client.execute("DROP TABLE IF EXISTS aio_t")
            return await asyncio.wait_for(program(client), 120)

    return asyncio.run(main())


def test_rows(arguments):
    async def program(client):
        assert await client.is_alive()
        assert await client.execute("CREATE TABLE aio_t (a UInt8, b Nullable(String), d Date) ENGINE = Memory") is None
        day = datetime.date(2018, 9, 7)
        await client.execute("INSERT INTO aio_t VALUES", (1, "it's\t1", day), (2, None, day))
        await client.execute("INSERT INTO aio_t (b, a) VALUES", ("three", 3))
        rows = await client.fetch("SELECT a, b, d FROM aio_t ORDER BY a")
        assert [row[:] for row in rows[:2]] == [(1, "it's\t1", day), (2, None, day)]
        row = rows[0]
        assert isinstance(row, Record) and row["b"] == row[1] == "it's\t1" and len(row) == 3
        assert list(row.keys()) == ["a", "b", "d"] and list(row.values()) == [1, "it's\t1", day] and dict(row)["a"] == 1
        with pytest.raises(KeyError):
            row["c"]
        with pytest.raises(IndexError):
            row[3]
        assert (await client.fetchrow("SELECT a FROM aio_t WHERE a = 3"))["a"] == 3
        assert await client.fetchrow("SELECT a FROM aio_t WHERE a = 4") is None
        assert await client.fetchval("SELECT b FROM aio_t WHERE a = {a} AND d = {d}", params={"a": 1, "d": day}) == "it's\t1"
        assert await client.fetchval("SELECT a FROM aio_t WHERE a = 4") is None
        assert [row[0] async for row in client.iterate("SELECT a FROM aio_t ORDER BY a DESC")] == [3, 2, 1]
        with pytest.warns(PendingDeprecationWarning):
            assert (await client.fetchone("SELECT 1"))[0] == 1
        with pytest.warns(PendingDeprecationWarning):
            assert [row[0] async for row in client.cursor("SELECT 1")] == [1]
        raw = await client.fetchrow("SELECT a, b FROM aio_t WHERE a = 1", decode=False)
        assert raw[:] == (b"1", b"it\\'s\\t1") and raw["a"] == b"1"
        assert await client.fetch("SHOW TABLES LIKE 'aio_t'") == [{"name": "aio_t"}]
        assert await client.fetch("DROP TABLE aio_t") == []

    run(arguments, program)


def test_json_and_files(arguments):
    async def program(client):
        await client.execute("CREATE TABLE aio_t (a UInt8, b String DEFAULT 'none', d Date) ENGINE = Memory")
        await client.execute("INSERT INTO aio_t", {"a": 1, "d": "2018-09-07"}, {"a": 2, "d": "2018-09-08"}, json=True)
        await client.execute("INSERT INTO aio_t FORMAT JSONEachRow", {"b": "x", "d": "2018-09-08", "a": 3})
        rows = await client.fetch("SELECT a, b, d FROM aio_t ORDER BY a", json=True)
        assert rows == [{"a": a, "b": b, "d": d} for a, b, d in [(1, "none", "2018-09-07"), (2, "none", "2018-09-08"), (3, "x", "2018-09-08")]]
        assert await client.fetchrow("SELECT a FROM aio_t WHERE a = 1 FORMAT JSONEachRow") == {"a": 1}
        await client.insert_file("INSERT INTO aio_t FORMAT CSV", b'4,"four",2018-09-09\n')
        await client.insert_file("INSERT INTO aio_t FORMAT TSV", io.BytesIO(b"5\tfive\t2018-09-09\n"))
        assert await client.fetchval("SELECT count() FROM aio_t") == 5
        with pytest.raises(ChClientError, match="only with INSERT"):
            await client.insert_file("SELECT 1", b"")
        with pytest.raises(ChClientError, match="its required to specify"):
            await client.insert_file("INSERT INTO aio_t VALUES", b"")

    run(arguments, program)


def test_errors_settings_and_params(arguments):
    async def program(client):
        for failing in ("SELECT no_such_column", "DROP TABLE no_such_table", "SELEC 1"):
            with pytest.raises(ChClientError):
                await client.fetch(failing)
        with pytest.raises(ChClientError) as raised:
            await client.fetch("SELECT no_such_column")
        assert raised.value.code == 47 and "no_such_column" in str(raised.value)
        with pytest.raises(ChClientError, match="only for INSERT"):
            await client.execute("SELECT 1", (1,))
        with pytest.raises(ChClientError, match="Unrecognized type"):
            await client.fetch("SELECT {x}", params={"x": object()})
        with pytest.raises(TypeError):
            await client.fetch("SELECT {x}", params=[1])
        with pytest.raises(ChClientError, match="TSV"):
            await client.fetch("SELECT 1 FORMAT TSV")
        params = {"n": None, "s": "it's \\ ü", "a": [1, 2], "t": (1, "x"), "f": 0.5, "u": uuid.UUID(int=1), "b": True}
        row = await client.fetchrow("SELECT {n}, {s}, {a}, {t}, {f}, {u}, {b}", params=params)
        assert row[:] == (None, "it's \\ ü", [1, 2], (1, "x"), 0.5, str(uuid.UUID(int=1)), 1)
        if client._is_server:
            assert await client.fetchval("SELECT 1", query_id="aio-one") == 1
        else:
            with pytest.raises(ChClientError):
                await client.fetchval("SELECT 1", query_id="aio-one")
        block = "SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)"
        assert await client.fetchval(block) == 9
        # Rows come while the query runs, which ends when they are no longer wanted.
        seen = 0
        async for row in client.iterate("SELECT number FROM system.numbers"):
            seen += row[0]
            if row[0] == 5:
                break
        assert seen == 15
        many = [client.fetchval(f"SELECT {n}") for n in range(30)]
        assert await asyncio.gather(*many) == list(range(30))

    run({**arguments, "max_block_size": 9}, program)


def test_who_asks(real, ours):
    async def program():
        url = f"http://127.0.0.1:{real[1]}/"
        client = ChClient(url=url, user="alice", password="wrong")
        assert not await client.is_alive()
        assert not await ChClient(url="http://127.0.0.1:1/").is_alive()
        async with ChClient(url=f"http://127.0.0.1:{ours[1]}/", database="system", compress_response=True) as client:
            assert await client.fetchval("SELECT currentDatabase()") == "system"
            assert await client.fetchval("SELECT count() FROM (SELECT number FROM numbers(100000))") == 100_000
        await client.close()
        with pytest.raises(ChClientError, match="closed"):
            await client.fetch("SELECT 1")

    asyncio.run(program())


def test_beside_aiochclient(real, ours):
    """The same programs give the same, by both, over one server."""
    theirs = pytest.importorskip("aiochclient")
    aiohttp = pytest.importorskip("aiohttp")
    statements = [
        "SELECT toUInt8(1) AS a, toInt64(-1) AS b, toFloat32(0.5) AS c, 'x\\n\\t\\\\' AS d, NULL AS e",
        "SELECT [1, 2] AS a, ['a', 'it\\'s'] AS b, (1, 'a') AS c, emptyArrayUInt8() AS d",
        "SELECT toDate('2020-01-02') AS a, toDateTime('2020-07-02 03:04:05') AS b",
        "SELECT toDecimal32(1.25, 2) AS a, toUUID('00000000-0000-0000-0000-000000000001') AS b",
        "SELECT CAST('a' AS Enum8('a' = 1)) AS e, toNullable(1) AS n",
        "SELECT number FROM system.numbers LIMIT 3",
        "SELECT 1 AS a, 2 AS b",
        "SELECT 1 WHERE 0",
        "SHOW DATABASES",
    ]
    writes = [
        ("INSERT INTO both_t VALUES", (1, "it's", [1], datetime.date(2020, 1, 2), None)),
        ("INSERT INTO both_t (a, b, d) VALUES", (2, "\\ü\n", datetime.date(2020, 1, 3)), (3, "", datetime.date(2020, 1, 4))),
    ]

    async def both(client):
        told = []
        for statement in statements:
            for decode in (True, False):
                rows = await client.fetch(statement, decode=decode)
                told.append([(dict(row), row[:]) for row in rows])
        await client.execute("DROP TABLE IF EXISTS both_t")
        await client.execute("CREATE TABLE both_t (a UInt8, b String, c Array(UInt8), d Date, e Nullable(Float64)) ENGINE = Memory")
        for query, *rows in writes:
            await client.execute(query, *rows)
        await client.execute("INSERT INTO both_t", {"a": 9, "b": "json", "d": "2020-01-05"}, json=True)
        told.append([row[:] for row in await client.fetch("SELECT * FROM both_t ORDER BY a")])
        told.append(await client.fetch("SELECT a, b, c FROM both_t ORDER BY a", json=True))
        told.append(await client.fetchval("SELECT {x} + 1", params={"x": 1}))
        return told

    async def program(port, **user):
        url = f"http://127.0.0.1:{port}/"
        async with aiohttp.ClientSession() as session:
            expected = await both(theirs.ChClient(session, url=url, **user))
        async with ChClient(url=url, **user) as client:
            found = await both(client)
        for one, other in zip(found, expected, strict=True):
            assert one == other

    asyncio.run(program(real[1], user="alice", password="secret"))
    asyncio.run(program(ours[1]))
