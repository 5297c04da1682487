"""The features of clickhouse-connect, one by one, against `chalet.server`: each type both ways, streams, contexts, formats, sessions, asyncio."""

import asyncio
import datetime
import decimal
import gzip
import ipaddress
import threading
import time
import uuid

import pytest

clickhouse_connect = pytest.importorskip("clickhouse_connect")

UTC = datetime.timezone.utc
DAY, MOMENT = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 2, 3, 4)
ONE_ID = uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0")

TYPES = [
    *[(f"Int{bits}", [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]) for bits in (8, 16, 32, 64, 128, 256)],
    *[(f"UInt{bits}", [0, 2**bits - 1]) for bits in (8, 16, 32, 64, 128, 256)],
    ("Float32", [0.5, -1.25]),
    ("Float64", [0.1, float("inf")]),
    ("BFloat16", [0.5, -1.25]),
    ("Bool", [True, False]),
    ("String", ["", "ä"]),
    ("FixedString(4)", [b"abcd", b"\0\1\2\3"]),
    ("Date", [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)]),
    ("Date32", [datetime.date(1900, 1, 1), datetime.date(2299, 12, 31)]),
    ("DateTime", [datetime.datetime(2020, 1, 1), datetime.datetime(2106, 2, 7)]),
    ("DateTime('Europe/Berlin')", [datetime.datetime(2020, 7, 1, tzinfo=UTC)]),
    ("DateTime64(3)", [datetime.datetime(2020, 1, 1, 0, 0, 0, 123000)]),
    ("DateTime64(6, 'America/New_York')", [datetime.datetime(2020, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)]),
    ("Time", [datetime.timedelta(hours=3), datetime.timedelta(hours=-30)]),
    ("Time64(3)", [datetime.timedelta(milliseconds=1500)]),
    ("Decimal(9, 2)", [decimal.Decimal("1.50")]),
    ("Decimal(18, 5)", [decimal.Decimal("-1.5")]),
    ("Decimal(38, 10)", [decimal.Decimal("123456789012345678.5")]),
    ("Decimal(76, 20)", [decimal.Decimal("-123456789012345678.5")]),
    ("UUID", [uuid.UUID(int=5), ONE_ID]),
    ("IPv4", [ipaddress.ip_address("1.2.3.4")]),
    ("IPv6", [ipaddress.ip_address("::1")]),
    ("Enum8('a' = 1, 'b' = -2)", ["a", "b"]),
    ("Enum16('x' = 1000, 'y' = 2)", ["x", "y"]),
    ("Nullable(Int32)", [None, 5]),
    ("Nullable(String)", [None, "x"]),
    ("Nullable(DateTime64(3))", [None, datetime.datetime(2020, 1, 1)]),
    ("LowCardinality(String)", ["a", "b"]),
    ("LowCardinality(Nullable(String))", [None, "b"]),
    ("Array(Int32)", [[], [1, 2]]),
    ("Array(Array(Nullable(String)))", [[[None, "x"]], []]),
    ("Array(LowCardinality(String))", [["a", "b"], ["a"]]),
    ("Array(Tuple(a String, b Array(UInt8)))", [[{"a": "x", "b": [1]}], []]),
    ("Tuple(Int32, String)", [(1, "a"), (2, "b")]),
    ("Tuple(a Int32, b String)", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
    ("Nullable(Tuple(Int32, String))", [(1, "a"), None]),
    ("Map(String, UInt64)", [{"a": 1}, {}]),
    ("Map(String, Array(Int32))", [{"a": [1]}, {}]),
    ("Map(LowCardinality(String), Nullable(Int32))", [{"a": None}, {}]),
    ("Nested(a Int32, b String)", [[{"a": 1, "b": "x"}], []]),
    ("JSON", [{"a": 1, "b": "x"}, {"c": [1, 2]}]),
    ("JSON(a Int32)", [{"a": 1}, {"a": 2, "b": True}]),
    ("Variant(Int32, String)", [1, "x"]),
    # This client writes whatever goes into a Dynamic as text.
    ("Dynamic", ["1", "x"]),
    ("Point", [(1.0, 2.0)]),
    ("Ring", [[(1.0, 2.0)]]),
    ("LineString", [[(1.0, 2.0)]]),
    ("Polygon", [[[(1.0, 2.0)]]]),
    ("MultiLineString", [[[(1.0, 2.0)]]]),
    ("MultiPolygon", [[[[(1.0, 2.0)]]]]),
    ("SimpleAggregateFunction(sum, UInt64)", [1, 2]),
]


def connected(ours, **arguments):
    return clickhouse_connect.get_client(host="127.0.0.1", port=ours[1], **arguments)


@pytest.fixture
def client(ours):
    with connected(ours) as made:
        yield made


@pytest.fixture
def table(client):
    """A name for a table, which is dropped."""
    yield "example"
    client.command("DROP TABLE IF EXISTS example")


@pytest.mark.parametrize(("ty", "values"), TYPES, ids=[ty for ty, _ in TYPES])
def test_types_both_ways(client, table, ty, values):
    client.command(f"CREATE TABLE {table} (i UInt32, v {ty}) ENGINE = Memory", settings={"flatten_nested": 0})
    client.insert(table, [[i, value] for i, value in enumerate(values)], column_names=["i", "v"])
    assert [row[0] for row in client.query(f"SELECT v FROM {table} ORDER BY i").result_rows] == values


def test_results(client):
    result = client.query("SELECT number AS n, toString(number) AS s FROM numbers(3)", settings={"query_id": "connect-one"})
    assert result.query_id == "connect-one" and result.summary["read_rows"] == "3"
    assert result.column_names == ("n", "s") and [ty.name for ty in result.column_types] == ["UInt64", "String"]
    assert list(result.named_results())[2] == result.first_item | {"n": 2, "s": "2"}
    assert client.command("SELECT count() > 0 FROM system.query_log WHERE query_id = 'connect-one'") == 1
    totals = "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k"
    assert client.query(totals).result_rows == [(0, 3), (1, 2)]
    assert client.query("SELECT 1 AS a WHERE 0").result_rows == []
    explained = client.query("EXPLAIN SELECT 1")
    assert explained.column_names == ("explain",) and explained.row_count > 0
    for sql in ("DESCRIBE TABLE system.one", "SHOW DATABASES", "-- a comment\nWITH 1 AS x SELECT x", "(SELECT 1)"):
        assert client.query(sql).row_count > 0, sql


def test_streams(client):
    numbers = "SELECT number, toString(number) AS s FROM numbers(200000)"
    for method, size in (
        (client.query_rows_stream, lambda row: 1),
        (client.query_row_block_stream, len),
        (client.query_column_block_stream, lambda columns: len(columns[0])),
        (client.query_np_stream, len),
        (client.query_df_stream, len),
        (client.query_arrow_stream, lambda batch: batch.num_rows),
        (client.query_df_arrow_stream, len),
    ):
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        with method(numbers) as stream:
            assert sum(map(size, stream)) == 200000
    with client.raw_stream(numbers, fmt="CSV") as stream:
        assert stream.read().count(b"\n") == 200000


def test_errors(client):
    from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError

    late = "SELECT throwIf(number = 3000000), number FROM numbers(4000000)"
    for sql, code in (("SELECT nothing", 47), ("SELEC", 47), ("SELECT 1; SELECT 2", 62), (late, 395)):
        with pytest.raises(DatabaseError) as raised:
            client.query(sql) if code != 62 else client.command(sql)
        assert raised.value.code == code
    # Another thread may come to the error before the first rows are sent.
    alone = {"max_threads": 1}
    with pytest.raises(StreamFailureError, match="FUNCTION_THROW_IF"), client.query_row_block_stream(late, settings=alone) as stream:
        for _ in stream:
            pass
    with pytest.raises(Exception), client.query_arrow_stream(late, settings=alone) as stream:  # noqa: B017 (the transport's own)
        for _ in stream:
            pass
    with pytest.raises(DatabaseError, match="UNKNOWN_SETTING"):
        client.query("SELECT 1", settings={"no_such_setting": 1})
    assert client.query("SELECT 1").first_row == (1,)


def test_contexts_and_formats(client, table):
    client.command(f"CREATE TABLE {table} (n Int64, s String DEFAULT 'd', m Int64 MATERIALIZED n * 2, a Int64 ALIAS n * 3) ENGINE = MergeTree ORDER BY n")
    context = client.create_insert_context(table, ["n", "s"])
    for rows in ([[1, "a"], [2, "b"]], [[3, "c"]]):
        context.data = rows
        client.insert(context=context)
    client.insert(table, [[4, 5], ["x", "y"]], column_names=["n", "s"], column_oriented=True)
    client.insert(table, [[6]], column_names=["n"])
    client.insert(table, [[7, "q"]], column_names=["n", "s"], column_type_names=["Int64", "String"])
    rows = client.query(f"SELECT n, s, m, a FROM {table} ORDER BY n").result_rows
    assert rows == [(n, s, n * 2, n * 3) for n, s in zip(range(1, 8), "abcxydq")]
    context = client.create_query_context(query="SELECT {v:UInt32} AS x", parameters={"v": 1}, column_formats={"x": "string"})
    assert client.query(context=context).first_row == ("1",)
    context.set_parameter("v", 2)
    assert client.query(context=context).first_row == ("2",)
    sql = "SELECT toIPv4('1.2.3.4'), toFixedString('ab', 2), toDateTime('2020-01-01 00:00:00', 'UTC'), toUInt64(5)"
    formats = {"IPv*": "string", "FixedString": "string", "DateTime": "int", "UInt64": "string"}
    assert client.query(sql, query_formats=formats).first_row == ("1.2.3.4", "ab", 1577836800, "5")
    asked = "SELECT toDateTime('2020-01-01 00:00:00') AS x"
    for arguments in ({"query_tz": "Asia/Tokyo"}, {"column_tzs": {"x": "Asia/Tokyo"}}):
        (value,) = client.query(asked, **arguments).first_row
        assert value.utcoffset() == datetime.timedelta(hours=9)


def test_parameters(client):
    given = {
        "d": DAY, "t": MOMENT, "l": ["a", "it's"], "n": None, "tp": (1, "x"), "u": ONE_ID, "dec": decimal.Decimal("1.5"),
        "ip": ipaddress.ip_address("1.2.3.4"), "b": True, "f": 1.5, "arr": [[1], [2]], "id": "number",
    }  # fmt: skip
    sql = (
        "SELECT {d:Date}, {t:DateTime}, {l:Array(String)}, {n:Nullable(String)}, {tp:Tuple(Int32, String)}, {u:UUID}, {dec:Decimal(9, 2)}, "
        "{ip:IPv4}, {b:Bool}, {f:Float64}, {arr:Array(Array(Int32))}, {id:Identifier} FROM numbers(1)"
    )
    assert client.query(sql, parameters=given).first_row == (*list(given.values())[:-1], 0)
    client_side = client.query("SELECT %(l)s, %(n)s, %(tp)s, %(b)s", parameters=given).first_row
    assert client_side == (["a", "it's"], None, (1, "x"), True)
    assert client.query("SELECT %s, %s", parameters=[1, "x"]).first_row == (1, "x")


def test_external_data(client):
    from clickhouse_connect.driver.external import ExternalData

    given = ExternalData(file_name="u.csv", data=b"1,a\n2,b\n", fmt="CSV", structure=["id UInt32", "s String"])
    given.add_file(file_name="k", data=b"5\t6\n", fmt="TSV", types=["UInt8", "UInt8"])
    assert client.query("SELECT * FROM u", external_data=given).result_rows == [(1, "a"), (2, "b")]
    assert client.query("SELECT * FROM k", external_data=given).result_rows == [(5, 6)]
    assert client.raw_query("SELECT count() FROM u", external_data=given) == b"2\n"


@pytest.mark.parametrize("compress", [False, True, "lz4", "zstd", "gzip"])
def test_compression(ours, table, compress):
    with connected(ours, compress=compress) as client:
        client.command(f"CREATE TABLE {table} (n Int64, s String) ENGINE = Memory")
        client.insert(table, [[i, str(i)] for i in range(1000)])
        assert client.query(f"SELECT sum(n), max(s) FROM {table}").first_row == (499500, "999")
        assert client.query("SELECT number FROM numbers(100000)").row_count == 100000


def test_raw_inserts(client, table, tmp_path):
    from clickhouse_connect.driver import tools

    client.command(f"CREATE TABLE {table} (n Int64, s String) ENGINE = Memory")
    client.raw_insert(table, ["n", "s"], b"1,x\n", fmt="CSV")
    client.raw_insert(table, insert_block='{"n": 2, "s": "y"}', fmt="JSONEachRow")
    client.raw_insert(table, insert_block=gzip.compress(b"3\tz\n"), fmt="TSV", compression="gzip")
    (tmp_path / "rows.csv").write_text("n,s\n4,q\n")
    assert tools.insert_file(client, table, str(tmp_path / "rows.csv")).written_rows == 1
    assert client.command(f"INSERT INTO {table} FORMAT CSV", data="5,r\n").written_rows == 1
    assert client.query(f"SELECT * FROM {table} ORDER BY n").result_rows == list(zip(range(1, 6), "xyzqr"))


def test_frames_and_arrow(client, table):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    client.command(f"CREATE TABLE {table} (n Int64, s Nullable(String), d DateTime, f Nullable(Float64), i Nullable(Int32), c LowCardinality(String)) ENGINE = Memory")
    frame = pandas.DataFrame(
        {
            "n": [1, 2], "s": ["x", None], "d": pandas.to_datetime(["2020-01-01", "2021-01-01"]), "f": [1.5, None],
            "i": pandas.array([1, None], dtype="Int32"), "c": pandas.Categorical(["u", "v"]),
        }  # fmt: skip
    )
    client.insert_df(table, frame)
    found = client.query_df(f"SELECT * FROM {table} ORDER BY n")
    assert found["s"].isna().tolist() == [False, True] and found["i"].isna().tolist() == [False, True] and found["c"].tolist() == ["u", "v"]
    assert client.insert_arrow(table, pyarrow.table({"n": [3], "s": ["y"]})).written_rows == 1
    client.insert_df_arrow(table, polars.DataFrame({"n": [4], "s": ["z"]}))
    client.insert_df_arrow(table, pandas.DataFrame({"n": [5]}).convert_dtypes(dtype_backend="pyarrow"))
    assert client.query_np(f"SELECT n FROM {table} ORDER BY n").ravel().tolist() == [1, 2, 3, 4, 5]
    assert client.query_df_arrow(f"SELECT n FROM {table}", dataframe_library="polars")["n"].sum() == 15
    assert client.query_arrow("SELECT 'x' AS s", use_strings=False).schema.types == [pyarrow.binary()]


def test_settings_sessions_and_databases(ours):
    with connected(ours, settings={"max_threads": 2}, query_limit=7) as client:
        assert client.command("SELECT getSetting('max_threads')") == 2
        assert client.query("SELECT getSetting('max_threads')", settings={"max_threads": 3, "wait_end_of_query": 1}).first_row == (3,)
        assert client.query("SELECT number FROM numbers(100)").row_count == 7
        client.command("CREATE DATABASE example_database")
    with connected(ours, database="example_database") as client:
        client.command("CREATE TABLE t (a Int32) ENGINE = Memory")
        client.insert("t", [[1]])
        assert client.query("SELECT currentDatabase(), a FROM t").first_row == ("example_database", 1)
        client.command("DROP DATABASE example_database")
    with connected(ours, session_id="example") as client:
        client.command("CREATE TEMPORARY TABLE kept (a Int32)")
        client.insert("kept", [[1], [2]])
        client.command("SET max_block_size = 17")
        client.command("USE system")
        row = client.query("SELECT (SELECT sum(a) FROM kept), getSetting('max_block_size'), currentDatabase()").first_row
        assert row == (3, 17, "system")


def test_asynchronous_inserts(client, table):
    client.command(f"CREATE TABLE {table} (a Int64) ENGINE = MergeTree ORDER BY a")
    client.insert(table, [[1]], settings={"async_insert": 1, "wait_for_async_insert": 1})
    client.insert(table, [[2]], settings={"async_insert": 1, "wait_for_async_insert": 0})
    client.command("SYSTEM FLUSH ASYNC INSERT QUEUE")
    assert client.command(f"SELECT sum(a) FROM {table}") == 3


def test_statements_are_killed(ours, client):
    from clickhouse_connect.driver.exceptions import DatabaseError

    outcome = []

    def slow():
        with connected(ours) as other, pytest.raises(DatabaseError) as raised:
            other.query("SELECT count() FROM numbers(1000000000000000) WHERE sipHash64(number) = 1", settings={"query_id": "connect-slow"})
        outcome.append(raised.value.code)

    thread = threading.Thread(target=slow)
    thread.start()
    while not client.command("SELECT count() FROM system.processes WHERE query_id = 'connect-slow'"):
        time.sleep(0.01)
    assert client.query("KILL QUERY WHERE query_id = 'connect-slow' SYNC").first_row[:2] == ["finished", "connect-slow"]
    thread.join()
    assert outcome == [394]


def test_asyncio(ours):
    from clickhouse_connect.driver.exceptions import DatabaseError
    from clickhouse_connect.driver.external import ExternalData

    async def talk():
        client = await clickhouse_connect.get_async_client(host="127.0.0.1", port=ours[1])
        try:
            await client.command("CREATE OR REPLACE TABLE example_async (a Int64, s String) ENGINE = Memory")
            await client.insert("example_async", [[1, "a"], [2, "b"]])
            await client.raw_insert("example_async", insert_block=b"3\tc\n", fmt="TSV")
            assert (await client.query("SELECT sum(a), max(s) FROM example_async")).first_row == (6, "c")
            await client.command("DROP TABLE example_async")
            answers = await asyncio.gather(*[client.query(f"SELECT {i}") for i in range(50)])
            assert sum(answer.first_row[0] for answer in answers) == 1225
            async with await client.query_rows_stream("SELECT number FROM numbers(200000)") as stream:
                assert len([row async for row in stream]) == 200000
            given = ExternalData(file_name="u.csv", data=b"1,a\n", fmt="CSV", structure=["id UInt32", "s String"])
            assert (await client.query("SELECT * FROM u", external_data=given)).result_rows == [(1, "a")]
            for sql in ("SELECT nothing", "SELECT throwIf(number = 3000000) FROM numbers(4000000)"):
                with pytest.raises(DatabaseError):
                    await client.query(sql)
            slow = "SELECT count() FROM numbers(1000000000000000) WHERE sipHash64(number) = 1"
            task = asyncio.create_task(client.query(slow, settings={"query_id": "connect-async"}))
            running = "SELECT count() FROM system.processes WHERE query_id = 'connect-async'"
            while not await client.command(running):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The server notices that nobody is there.
            while await client.command(running):
                await asyncio.sleep(0.01)
        finally:
            await client.close()

    asyncio.run(asyncio.wait_for(talk(), 300))


def test_dbapi(ours):
    from clickhouse_connect import dbapi

    cursor = dbapi.connect(host="127.0.0.1", port=ours[1]).cursor()
    cursor.execute("CREATE OR REPLACE TABLE example_dbapi (a Int64, s String) ENGINE = Memory")
    cursor.executemany("INSERT INTO example_dbapi (a, s) VALUES", [(1, "x"), (2, "y")])
    cursor.execute("SELECT * FROM example_dbapi WHERE a = %(a)s", {"a": 1})
    assert cursor.fetchall() == [(1, "x")] and [column[:2] for column in cursor.description] == [("a", "Int64"), ("s", "String")]
    cursor.execute("SELECT number FROM numbers(10)")
    assert (cursor.fetchone(), cursor.fetchmany(3), len(cursor.fetchall())) == ((0,), [(1,), (2,), (3,)], 6)
    cursor.execute("DROP TABLE example_dbapi")


def test_sqlalchemy(ours):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pandas = pytest.importorskip("pandas")
    from clickhouse_connect.cc_sqlalchemy.datatypes import sqltypes
    from clickhouse_connect.cc_sqlalchemy.ddl.tableengine import MergeTree
    from sqlalchemy.orm import Session, declarative_base

    engine = sqlalchemy.create_engine(f"clickhousedb://default:@127.0.0.1:{ours[1]}/default")
    base = declarative_base(metadata=sqlalchemy.MetaData())

    class Thing(base):
        __tablename__ = "example_things"
        __table_args__ = (MergeTree(order_by="id"),)
        id = sqlalchemy.Column(sqltypes.UInt32, primary_key=True)
        name = sqlalchemy.Column(sqltypes.String)
        when = sqlalchemy.Column(sqltypes.DateTime64(3))
        numbers = sqlalchemy.Column(sqltypes.Array(sqltypes.Int32))
        low = sqlalchemy.Column(sqltypes.LowCardinality(sqltypes.String))
        maybe = sqlalchemy.Column(sqltypes.Nullable(sqltypes.Float64))

    base.metadata.create_all(engine)
    table = Thing.__table__
    try:
        with Session(engine) as session:
            session.add_all([Thing(id=n, name=f"it's {n}", when=MOMENT, numbers=[n], low="q", maybe=None if n == 1 else 1.5) for n in (1, 2, 3)])
            session.commit()
            assert session.query(Thing).filter(Thing.name == "it's 2").one().numbers == [2]
        other = table.alias("other")
        with engine.begin() as connection:
            run = lambda statement: [tuple(row) for row in connection.execute(statement)]  # noqa: E731
            grouped = sqlalchemy.select(table.c.low, sqlalchemy.func.count(), sqlalchemy.func.sum(table.c.id)).group_by(table.c.low)
            assert run(grouped) == [("q", 3, 6)]
            assert run(sqlalchemy.select(table.c.id).where(table.c.id.in_([1, 3])).order_by(table.c.id.desc()).limit(1)) == [(3,)]
            joined = sqlalchemy.select(table.c.id, other.c.maybe).join(other, table.c.id == other.c.id).order_by(table.c.id)
            assert run(joined) == [(1, None), (2, 1.5), (3, 1.5)]
            connection.execute(table.delete().where(table.c.id == 1))
            assert run(sqlalchemy.text("SELECT count(), :x FROM example_things").bindparams(x="y")) == [(2, "y")]
        reflected = sqlalchemy.Table("example_things", sqlalchemy.MetaData(), autoload_with=engine)
        assert [str(column.type) for column in reflected.columns][-2:] == ["LowCardinality(String)", "Nullable(Float64)"]
        assert "example_things" in sqlalchemy.inspect(engine).get_table_names()
        pandas.DataFrame({"id": [5], "name": ["p"]}).to_sql("example_things", engine, if_exists="append", index=False)
        assert pandas.read_sql(sqlalchemy.select(table.c.id).order_by(table.c.id), engine).id.tolist() == [2, 3, 5]
    finally:
        base.metadata.drop_all(engine)
        engine.dispose()
