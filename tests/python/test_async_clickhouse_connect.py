"""clickhouse-connect's `AsyncClient` against `chalet.server`: each of its methods gives what the one that blocks gives."""

import asyncio
import gzip

import pytest
import test_server_examples_connect as examples
import tls

clickhouse_connect = pytest.importorskip("clickhouse_connect")
pytest.importorskip("aiohttp")

import chalet.server  # noqa: E402
from clickhouse_connect.driver.asyncclient import AsyncClient  # noqa: E402
from clickhouse_connect.driver.exceptions import DatabaseError, Error  # noqa: E402

SQL = "SELECT number AS n, toString(number) AS s, if(number % 3 = 0, NULL, number / 4) AS x FROM numbers(100000)"


def with_client(port, **options):
    """Runs a coroutine function of a client to its end."""

    def run(talk):
        async def limited():
            client = await clickhouse_connect.get_async_client(host="127.0.0.1", port=port, **options)
            try:
                return await talk(client)
            finally:
                await client.close()

        return asyncio.run(asyncio.wait_for(limited(), 300))

    return run


@pytest.fixture
def run(ours):
    return with_client(ours[1])


@pytest.fixture
def blocking(ours):
    with clickhouse_connect.get_client(host="127.0.0.1", port=ours[1]) as client:
        yield client


def test_nothing_of_it_is_forgotten():
    """What these tests call, and what is no conversation with a server."""
    called = {
        "close", "command", "create_insert_context", "create_query_context", "data_insert", "insert", "insert_arrow", "insert_df", "insert_df_arrow", "ping",
        "query", "query_arrow", "query_arrow_stream", "query_column_block_stream", "query_df", "query_df_arrow", "query_df_arrow_stream", "query_df_stream",
        "query_np", "query_np_stream", "query_row_block_stream", "query_rows_stream", "raw_insert", "raw_query", "raw_stream", "set_client_setting",
        "get_client_setting", "close_connections",
    }  # fmt: skip
    methods = {name for name in dir(AsyncClient) if not name.startswith("_") and callable(getattr(AsyncClient, name))}
    assert methods - called <= {"set_access_token", "min_version"}


@pytest.mark.parametrize("ty, values", examples.TYPES, ids=[ty for ty, _ in examples.TYPES])
def test_each_type_both_ways(run, blocking, ty, values):
    async def talk(client):
        await client.command(f"CREATE OR REPLACE TABLE async_types (i UInt32, v {ty}) ENGINE = Memory", settings={"flatten_nested": 0})
        await client.insert("async_types", list(enumerate(values)))
        return (await client.query("SELECT v FROM async_types ORDER BY i")).result_rows

    found = run(talk)
    assert found == blocking.query("SELECT v FROM async_types ORDER BY i").result_rows and len(found) == len(values)
    blocking.command("DROP TABLE async_types")


def test_streams(run, blocking):
    expected = blocking.query(SQL).result_rows

    async def talk(client):
        async with await client.query_rows_stream(SQL) as rows:
            assert [row async for row in rows] == expected
        async with await client.query_row_block_stream(SQL) as blocks:
            assert [row async for block in blocks for row in block] == expected
        async with await client.query_column_block_stream(SQL) as blocks:
            assert [n async for block in blocks for n in block[0]] == [row[0] for row in expected]
        async with await client.raw_stream("SELECT number FROM numbers(100000)", fmt="TSV") as raw:
            assert b"".join([piece async for piece in raw]).count(b"\n") == 100_000
        # One that is left amid its rows holds up nothing, and one that fails amid them says so.
        async with await client.query_rows_stream("SELECT number FROM numbers(1000000000000)") as rows:
            async for row in rows:
                assert row == (0,)
                break
            assert await client.command("SELECT 2") == 2
        sql = "SELECT number, throwIf(number = 1000000, 'too far') FROM numbers(1200000) SETTINGS max_threads = 1, max_block_size = 10000"
        with pytest.raises(Error):
            async with await client.query_rows_stream(sql) as rows:
                async for _ in rows:
                    pass
        with pytest.raises(DatabaseError, match="too far"):
            await client.query(sql, settings={"wait_end_of_query": 1})
        assert await client.ping()

    run(talk)


def test_frames_and_arrow(run, blocking):
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))

    async def talk(client):
        frame = await client.query_df(SQL)
        pandas.testing.assert_frame_equal(frame, blocking.query_df(SQL))
        async with await client.query_df_stream(SQL) as frames:
            assert sum([len(frame) async for frame in frames]) == len(frame)
        assert (await client.query_np("SELECT number FROM numbers(1000)")).ravel().tolist() == list(range(1000))
        async with await client.query_np_stream("SELECT number FROM numbers(200000)") as arrays:
            assert sum([len(array) async for array in arrays]) == 200_000
        assert (await client.query_arrow(SQL)).equals(blocking.query_arrow(SQL))
        async with await client.query_arrow_stream(SQL) as tables:
            assert sum([table.num_rows async for table in tables]) == len(frame)
        assert (await client.query_df_arrow("SELECT number AS n FROM numbers(10)", dataframe_library="polars"))["n"].sum() == 45
        async with await client.query_df_arrow_stream("SELECT number AS n FROM numbers(200000)", dataframe_library="polars") as frames:
            assert sum([len(frame) async for frame in frames]) == 200_000
        await client.command("CREATE OR REPLACE TABLE async_frames (n Int64, s Nullable(String)) ENGINE = Memory")
        assert (await client.insert_df("async_frames", pandas.DataFrame({"n": [1, 2], "s": ["x", None]}))).written_rows == 2
        assert (await client.insert_arrow("async_frames", pyarrow.table({"n": [3], "s": ["y"]}))).written_rows == 1
        assert (await client.insert_df_arrow("async_frames", polars.DataFrame({"n": [4], "s": ["z"]}))).written_rows == 1
        assert (await client.query("SELECT sum(n), count(s) FROM async_frames")).first_row == (10, 3)
        await client.command("DROP TABLE async_frames")

    run(talk)


def test_contexts_settings_and_raw_bytes(run):
    async def talk(client):
        await client.command("CREATE OR REPLACE TABLE async_raw (n Int64, s String) ENGINE = Memory")
        context = await client.create_insert_context("async_raw", data=[[n, "x"] for n in range(10)])
        assert (await client.data_insert(context)).written_rows == 10
        assert (await client.raw_insert("async_raw", ["n", "s"], gzip.compress(b"10,y\n"), fmt="CSV", compression="gzip")).written_rows == 1
        assert await client.raw_query("SELECT count(), sum(n) FROM async_raw", fmt="CSV") == b"11,55\n"
        asked = client.create_query_context("SELECT n FROM async_raw WHERE n >= {least:Int64} ORDER BY n", parameters={"least": 9})
        assert (await client.query(context=asked)).result_rows == [(9,), (10,)]
        assert (await client.query("SELECT {s:String}, {a:Array(Int8)}", parameters={"s": "it's\t\\", "a": [1, 2]})).first_row == ("it's\t\\", [1, 2])
        client.set_client_setting("max_block_size", 99)
        assert client.get_client_setting("max_block_size") == "99"
        assert await client.command("SELECT getSetting('max_block_size')", settings={"max_threads": 1}) == 99
        with pytest.raises(Error, match="no_such_setting"):
            await client.query("SELECT 1", settings={"no_such_setting": 1})
        result = await client.query("SELECT count() FROM async_raw", settings={"query_id": "async-one", "wait_end_of_query": 1})
        assert result.query_id == "async-one" and result.summary["read_rows"] == "11"
        await client.command("DROP TABLE async_raw")
        await client.close_connections()
        assert (await client.query("SELECT 1")).first_row == (1,)

    run(talk)


def test_sessions_compression_and_many_at_once(ours):
    async def in_session(client):
        await client.command("CREATE TEMPORARY TABLE kept (a Int32)")
        await client.insert("kept", [[1], [2]])
        assert await client.command("SELECT sum(a) FROM kept") == 3

    with_client(ours[1], session_id="async-session")(in_session)

    async def many(client):
        answers = await asyncio.gather(*[client.query("SELECT sum(number) + {n:UInt64} FROM numbers(100000)", parameters={"n": n}) for n in range(64)])
        assert [answer.first_row[0] - 4999950000 for answer in answers] == list(range(64))
        assert len((await client.query(SQL)).result_rows) == 100_000
        await client.command("CREATE OR REPLACE TABLE async_packed (n Int64, s String) ENGINE = Memory")
        await client.insert("async_packed", [[n, str(n)] for n in range(100_000)])
        assert (await client.query("SELECT count(), sum(n) FROM async_packed")).first_row == (100_000, 4999950000)
        await client.command("DROP TABLE async_packed")

    for compress in (False, "lz4", "zstd", "gzip"):
        with_client(ours[1], compress=compress, autogenerate_session_id=False)(many)


def test_users_and_encryption(tmp_path):
    cert, key = tls.certificate(tmp_path)
    users = {"default": {"password": ""}, "reader": {"password": "sécret", "readonly": True}}
    with chalet.server.start(https=0, certificate=cert, key=key, users=users) as server:

        async def reads(client):
            assert await client.command("SELECT currentUser()") == "reader"
            with pytest.raises(DatabaseError, match="READONLY"):
                await client.command("CREATE TABLE no (x UInt8) ENGINE = Memory")

        async def fails(client):
            raise AssertionError("nobody knows this one")

        for options in ({"port": server.http_port}, {"port": server.https_port, "secure": True, "ca_cert": str(cert), "server_host_name": "localhost"}):
            with_client(username="reader", password="sécret", **options)(reads)
            with pytest.raises(DatabaseError, match="AUTHENTICATION_FAILED"):
                with_client(username="reader", password="wrong", **options)(fails)
