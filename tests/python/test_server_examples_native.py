"""The features of clickhouse-driver, asynch and aiochclient, one by one, against `chalet.server`: each type both ways, progress, ids, streams,
external tables, limits, cancelling, DB-API."""

import asyncio
import datetime
import decimal
import io
import ipaddress
import threading
import time
import uuid

import pytest

UTC = datetime.timezone.utc
SLOW = "SELECT count() FROM numbers(1000000000000000) WHERE sipHash64(number) = 1"
LATE = "SELECT throwIf(number = 3000000) FROM numbers(4000000)"

NUMBERS = [
    *[(f"Int{bits}", [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]) for bits in (8, 16, 32, 64, 128, 256)],
    *[(f"UInt{bits}", [0, 2**bits - 1]) for bits in (8, 16, 32, 64, 256)],
    ("Float32", [0.5, -1.25]),
    ("Bool", [True, False]),
    ("Decimal(9, 2)", [decimal.Decimal("1.50")]),
    ("Decimal(38, 10)", [decimal.Decimal("123456789012345678.5")]),
    ("Decimal(76, 20)", [decimal.Decimal("-123456789012345678.5")]),
]
VALUES = [
    ("String", ["a", "ä"]),
    ("Date", [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)]),
    ("DateTime", [datetime.datetime(2020, 1, 1), datetime.datetime(2106, 2, 7)]),
    ("DateTime64(3)", [datetime.datetime(2020, 1, 1, 0, 0, 0, 123000)]),
    ("UUID", [uuid.UUID(int=5), uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0")]),
    ("IPv4", [ipaddress.ip_address("1.2.3.4")]),
    ("IPv6", [ipaddress.ip_address("::1")]),
    ("Enum8('a' = 1, 'b' = -2)", ["a", "b"]),
    ("Enum16('x' = 1000, 'y' = 2)", ["x", "y"]),
    ("Nullable(Int32)", [None, 5]),
    ("Nullable(String)", [None, "x"]),
    ("Nullable(DateTime64(3))", [None, datetime.datetime(2020, 1, 1)]),
    ("Nullable(UUID)", [None, uuid.UUID(int=5)]),
    ("LowCardinality(String)", ["a", "b"]),
    ("LowCardinality(Nullable(String))", [None, "b"]),
    ("Array(Int32)", [[], [1, 2]]),
    ("Array(Array(Nullable(String)))", [[[None, "x"]], []]),
    ("Array(LowCardinality(String))", [["a", "b"], ["a"]]),
    ("Array(Tuple(a String, b Array(UInt8)))", [[("x", [1])], []]),
    ("Tuple(Int32, String)", [(1, "a"), (2, "b")]),
    ("Map(String, UInt64)", [{"a": 1}, {}]),
    ("Map(String, Array(Int32))", [{"a": [1]}, {}]),
    ("Map(LowCardinality(String), Nullable(Int32))", [{"a": None}, {}]),
    ("SimpleAggregateFunction(sum, UInt64)", [1, 2]),
]
# Those that aiochclient does not know.
NATIVE = [
    ("UInt128", [0, 2**128 - 1]),
    ("Date32", [datetime.date(1900, 1, 1), datetime.date(2299, 12, 31)]),
    ("DateTime('Europe/Berlin')", [datetime.datetime(2020, 7, 1, tzinfo=UTC)]),
    ("DateTime64(6, 'America/New_York')", [datetime.datetime(2020, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)]),
    ("JSON", [{"a": 1, "b": "x"}, {"c": [1, 2]}]),
    ("Point", [(1.0, 2.0)]),
    ("Ring", [[(1.0, 2.0)]]),
    ("Polygon", [[[(1.0, 2.0)]]]),
]


@pytest.fixture
def driver(ours):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    with clickhouse_driver.Client("127.0.0.1", port=ours[0]) as client:
        yield client


def until_it_runs(ask, query_id):
    while not ask(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'")[0][0]:
        time.sleep(0.01)


@pytest.mark.parametrize("compression", [False, "lz4"])
def test_driver_types(ours, compression):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    if compression:
        pytest.importorskip("clickhouse_cityhash")
        pytest.importorskip("lz4")
    with clickhouse_driver.Client("127.0.0.1", port=ours[0], compression=compression) as client:
        for ty, values in NUMBERS + VALUES + NATIVE + [("Nested(a Int32, b String)", [[(1, "x")], []])]:
            client.execute(f"CREATE TABLE example_driver (i UInt32, v {ty}) ENGINE = Memory", settings={"flatten_nested": 0})
            client.execute("INSERT INTO example_driver (i, v) VALUES", list(enumerate(values)))
            assert [row[0] for row in client.execute("SELECT v FROM example_driver ORDER BY i")] == values, ty
            client.execute("DROP TABLE example_driver")


def test_driver_queries(driver):
    rows = driver.execute("SELECT number, toString(number) FROM numbers(3)", columnar=True, with_column_types=True, query_id="driver-one")
    assert rows == ([(0, 1, 2), ("0", "1", "2")], [("number", "UInt64"), ("toString(number)", "String")])
    assert driver.last_query.progress.rows == driver.last_query.profile_info.rows == driver.last_query.progress.total_rows == 3
    assert driver.execute("SELECT queryID()", query_id="driver-two") == [("driver-two",)]
    # Told between any two blocks, it is told more than once.
    often = {"interactive_delay": 1}
    told = list(driver.execute_with_progress("SELECT sum(sipHash64(number)) FROM numbers(1000000)", settings=often))
    assert len(told) > 1 and told == sorted(told) and told[-1] == (1000000, 1000000)
    chunks = driver.execute_iter("SELECT number FROM numbers(1000)", settings={"max_block_size": 100}, chunk_size=300)
    assert [len(chunk) for chunk in chunks] == [300, 300, 300, 100]
    assert driver.execute("SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k", settings={"extremes": 1}) == [
        (0, 3), (1, 2), (0, 5), (0, 2), (1, 3),
    ]  # fmt: skip
    assert driver.execute("SELECT toDateTime('2020-01-01 00:00:00'), timezone()", settings={"session_timezone": "Asia/Tokyo"})[0][1] == "Asia/Tokyo"
    external = [
        {"name": "e1", "structure": [("a", "Int32"), ("b", "Array(Nullable(String))"), ("l", "LowCardinality(String)")],
         "data": [{"a": 1, "b": ["x", None], "l": "q"}]},
        {"name": "e2", "structure": [("a", "Int32")], "data": [{"a": 1}, {"a": 2}]},
    ]  # fmt: skip
    assert driver.execute("SELECT * FROM e1 JOIN e2 USING a", external_tables=external) == [(1, ["x", None], "q")]
    assert driver.execute("SELECT number FROM numbers(5) WHERE number IN e2", external_tables=external) == [(1,), (2,)]
    driver.execute("USE system")
    assert driver.execute("SELECT currentDatabase()") == [("system",)]


def test_driver_inserts(driver):
    driver.execute("CREATE OR REPLACE TABLE example_inserts (a Int32, b String) ENGINE = MergeTree ORDER BY a")
    insert = "INSERT INTO example_inserts VALUES"
    assert driver.execute(insert, [[1, 2], ["x", "y"]], columnar=True) == 2
    assert driver.execute(insert, [{"a": 3, "b": "q"}]) == 1
    assert driver.execute(insert, ((i, str(i)) for i in range(5)), settings={"insert_block_size": 2}) == 5
    assert driver.execute("INSERT INTO example_inserts (b, a) VALUES", [("z", 10)]) == 1
    assert driver.execute("INSERT INTO example_inserts VALUES (100, 'literal')") == []
    for wait in (0, 1):
        driver.execute("INSERT INTO example_inserts VALUES (200, 'async')", settings={"async_insert": 1, "wait_for_async_insert": wait})
    driver.execute("SYSTEM FLUSH ASYNC INSERT QUEUE")
    assert driver.execute("SELECT count(), sum(a) FROM example_inserts") == [(12, 526)]
    driver.execute("DROP TABLE example_inserts")


def test_driver_errors_limits_and_cancelling(ours, driver):
    from clickhouse_driver import Client, errors

    for sql, code in (("SELECT nothing", 47), ("SELECT 1; SELECT 2", 62), (LATE, 395)):
        with pytest.raises(errors.ServerException) as raised:
            driver.execute(sql)
        assert raised.value.code == code
    heavy = "SELECT number FROM numbers(10000000) ORDER BY sipHash64(number) LIMIT 100000"
    for settings, code in (({"max_result_rows": 10}, 396), ({"max_rows_to_read": 10}, 158), ({"max_memory_usage": 1000000}, 241)):
        with pytest.raises(errors.ServerException) as raised:
            driver.execute(heavy, settings=settings)
        assert raised.value.code == code
    with pytest.raises(errors.ServerException) as raised:
        driver.execute(SLOW, settings={"max_execution_time": 1})
    assert raised.value.code == 159
    with Client("127.0.0.1", port=ours[0], settings_is_important=True) as strict, pytest.raises(errors.ServerException) as raised:
        strict.execute("SELECT 1", settings={"no_such_setting": 1})
    assert raised.value.code == 115

    outcome = []

    def slow():
        with Client("127.0.0.1", port=ours[0]) as other, pytest.raises(errors.ServerException) as raised:
            other.execute(SLOW, query_id="driver-slow")
        outcome.append(raised.value.code)

    thread = threading.Thread(target=slow)
    thread.start()
    until_it_runs(driver.execute, "driver-slow")
    with pytest.raises(errors.ServerException) as raised:
        driver.execute("SELECT 1", query_id="driver-slow")
    assert raised.value.code == 216
    assert driver.execute("KILL QUERY WHERE query_id = 'driver-slow' SYNC")[0][:2] == ("finished", "driver-slow")
    thread.join()
    assert outcome == [394]
    rows = driver.execute_iter("SELECT number FROM system.numbers")
    next(rows)
    driver.cancel()
    assert driver.execute("SELECT 1") == [(1,)]


def test_driver_dbapi(ours):
    dbapi = pytest.importorskip("clickhouse_driver.dbapi")
    with dbapi.connect(f"clickhouse://127.0.0.1:{ours[0]}") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT number FROM numbers(%(n)s)", {"n": 5})
        assert (cursor.rowcount, cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall()) == (5, (0,), [(1,), (2,)], [(3,), (4,)])
        cursor.execute("CREATE OR REPLACE TABLE example_dbapi (a Int32) ENGINE = Memory")
        cursor.executemany("INSERT INTO example_dbapi VALUES", [(5,), (6,)])
        assert cursor.rowcount == 2
        cursor.execute("DROP TABLE example_dbapi")
        cursor.set_stream_results(True, 100)
        cursor.execute("SELECT number FROM numbers(1000)")
        assert len(list(cursor)) == 1000
        cursor.set_stream_results(False, 0)
        cursor.set_query_id("driver-cursor")
        cursor.set_settings({"max_block_size": 3})
        cursor.set_external_table("et", [("x", "Int32")], [{"x": 1}])
        cursor.execute("SELECT x, queryID(), getSetting('max_block_size') FROM et")
        assert cursor.fetchall() == [(1, "driver-cursor", 3)]


def test_asynch(ours):
    asynch = pytest.importorskip("asynch")
    from asynch.cursors import DictCursor

    async def talk():
        async with asynch.Connection(host="127.0.0.1", port=ours[0]) as connection, connection.cursor() as cursor:
            for ty, values in NUMBERS + VALUES + NATIVE:
                await cursor.execute(f"CREATE OR REPLACE TABLE example_asynch (i UInt32, v {ty}) ENGINE = Memory")
                await cursor.execute("INSERT INTO example_asynch (i, v) VALUES", list(enumerate(values)))
                await cursor.execute("SELECT v FROM example_asynch ORDER BY i")
                assert [row[0] for row in await cursor.fetchall()] == values, ty
            await cursor.execute("DROP TABLE example_asynch")
            await cursor.execute("CREATE TEMPORARY TABLE kept (a Int32)")
            assert await cursor.execute("INSERT INTO kept (a) VALUES", [{"a": 1}, {"a": 2}]) == 2
            async with connection.cursor(cursor=DictCursor) as dicts:
                await dicts.execute("SELECT sum(a) AS total FROM kept")
                assert await dicts.fetchall() == [{"total": 3}]
            cursor.set_settings({"max_block_size": 7})
            cursor.set_external_table("et", [("x", "Int32")], [{"x": 1}])
            await cursor.execute("SELECT x, getSetting('max_block_size') FROM et")
            assert await cursor.fetchall() == [(1, 7)]
            for sql, code in (("SELECT nothing", 47), (LATE, 395)):
                with pytest.raises(Exception) as raised:
                    await cursor.execute(sql)
                assert raised.value.code == code
        async with asynch.Connection(host="127.0.0.1", port=ours[0]) as connection, connection.cursor() as cursor:
            cursor.set_stream_results(True, 1000)
            await cursor.execute("SELECT number FROM numbers(100000)")
            assert len([row async for row in cursor]) == 100000
        async with asynch.Pool(minsize=1, maxsize=4, dsn=f"clickhouse://default@127.0.0.1:{ours[0]}/default") as pool:

            async def one(number):
                async with pool.connection() as connection, connection.cursor() as cursor:
                    await cursor.execute(f"SELECT {number}")
                    return (await cursor.fetchone())[0]

            assert sum(await asyncio.gather(*map(one, range(40)))) == 780
        async with asynch.Connection(host="127.0.0.1", port=ours[0]) as connection, connection.cursor() as cursor:
            # Without packets of progress: `wait_for` of Python 3.11 loses a cancellation that meets the end of a read, and the client would
            # wait for the answer.
            cursor.set_settings({"interactive_delay": 3600000000})
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(cursor.execute(SLOW), 0.5)

    asyncio.run(asyncio.wait_for(talk(), 300))


def test_aiochclient(ours):
    aiochclient, aiohttp = pytest.importorskip("aiochclient"), pytest.importorskip("aiohttp")

    async def talk():
        async with aiohttp.ClientSession() as session, aiochclient.ChClient(
            session, url=f"http://127.0.0.1:{ours[1]}/", compress_response=True, max_block_size=9
        ) as client:
            for ty, values in NUMBERS + VALUES:
                await client.execute(f"CREATE OR REPLACE TABLE example_aio (i UInt32, v {ty}) ENGINE = Memory")
                await client.execute("INSERT INTO example_aio VALUES", *enumerate(values))
                assert [row[0] for row in await client.fetch("SELECT v FROM example_aio ORDER BY i")] == values, ty
            await client.execute("CREATE OR REPLACE TABLE example_aio (a Int32, b String) ENGINE = Memory")
            records = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
            await client.execute("INSERT INTO example_aio FORMAT JSONEachRow", *records, json=True)
            assert await client.fetch("SELECT * FROM example_aio ORDER BY a", json=True) == records
            await client.insert_file("INSERT INTO example_aio FORMAT CSV", io.BytesIO(b"7,z\n"))
            assert await client.fetchval("SELECT sum(a) FROM example_aio") == 10
            await client.execute("DROP TABLE example_aio")
            row = await client.fetchrow("SELECT {x} AS q, queryID() AS id, getSetting('max_block_size')", params={"x": 5}, query_id="aio-one")
            assert (row["q"], row["id"], row[2]) == (5, "aio-one", 9)
            assert (await client.fetchrow("SELECT 1 AS a", decode=False))["a"] == b"1"
            assert [row[0] async for row in client.iterate("SELECT number FROM numbers(5)")] == [0, 1, 2, 3, 4]
            for sql in ("SELECT nothing", LATE):
                with pytest.raises(aiochclient.ChClientError, match="Code: "):
                    await client.fetch(sql)
                with pytest.raises(aiochclient.ChClientError, match="Code: "):
                    async for _ in client.iterate(sql):
                        pass
            assert sum(await asyncio.gather(*[client.fetchval(f"SELECT {n}") for n in range(50)])) == 1225

    asyncio.run(asyncio.wait_for(talk(), 300))


def test_what_servers_send_before_a_query(ours):
    """Another server asks which tables are there, and sends the values of subqueries before its blocks."""
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    from clickhouse_driver.block import ColumnOrientedBlock
    from clickhouse_driver.reader import read_binary_str, read_binary_uint8
    from clickhouse_driver.varint import read_varint, write_varint
    from clickhouse_driver.writer import write_binary_str

    for compression in (False, "lz4"):
        client = clickhouse_driver.Client("127.0.0.1", port=ours[0], compression=compression)
        client.execute("CREATE OR REPLACE TABLE asked (x UInt8) ENGINE = Memory")
        connection = client.connection
        write_varint(5, connection.fout)
        tables = [("default", "asked"), ("default", "it's `not` there"), ("nowhere", "t")]
        write_varint(len(tables), connection.fout)
        for name in sum(tables, ()):
            write_binary_str(name, connection.fout)
        connection.fout.flush()
        assert [read_varint(connection.fin), read_varint(connection.fin)] == [9, 1]
        assert [read_binary_str(connection.fin), read_binary_str(connection.fin)] == ["default", "asked"]
        assert read_binary_uint8(connection.fin) == 0
        assert client.execute("SELECT 1") == [(1,)]

        send_external_tables = connection.send_external_tables

        def send_scalar(*args, **kwargs):
            write_varint(7, connection.fout)
            write_binary_str("12_34", connection.fout)
            connection.block_out.write(ColumnOrientedBlock([("x", "UInt8")], [(7,)]))
            send_external_tables(*args, **kwargs)

        connection.send_external_tables = send_scalar
        assert client.execute("SELECT number FROM numbers(3)") == [(0,), (1,), (2,)]
        assert client.execute("INSERT INTO asked VALUES", [(1,), (2,)]) == 2
        assert client.execute("SELECT sum(x) FROM asked") == [(3,)]
        client.disconnect()
