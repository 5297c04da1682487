"""clickhouse-connect's client over this engine."""

import datetime
import decimal
import io
import json
import uuid

import pytest

pytest.importorskip("clickhouse_connect")

from clickhouse_connect.driver.exceptions import DatabaseError, Error, NotSupportedError, ProgrammingError  # noqa: E402

import chalet  # noqa: E402
from chalet import clickhouse_connect  # noqa: E402


@pytest.fixture
def client():
    made = clickhouse_connect.get_client(tz_mode="schema")
    yield made
    made.close()


@pytest.fixture
def things(client):
    client.command("CREATE TABLE things (id UInt64, name Nullable(String), at DateTime64(3, 'UTC'), tags Array(String)) ENGINE = Memory")
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.timezone.utc)
    client.insert("things", [[n, None if n == 2 else f"n{n}", moment, ["a", str(n)]] for n in range(5)])
    return moment


def test_queries(client, things):
    result = client.query("SELECT * FROM things ORDER BY id")
    assert result.column_names == ("id", "name", "at", "tags") and result.row_count == 5
    assert result.result_rows[1] == (1, "n1", things, ["a", "1"]) and result.result_rows[2][1] is None
    assert [str(column.name) for column in result.column_types][0] == "UInt64"
    assert result.summary["result_rows"] == "5"
    assert client.query("SELECT 1 AS a WHERE 0").column_names == ("a",)
    assert client.query("SELECT * FROM things LIMIT 0").column_names == ("id", "name", "at", "tags")
    assert client.query("SELECT toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toDecimal64(1.5, 2), map('a', 1), (1, 'x')").result_rows == [
        (uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), decimal.Decimal("1.50"), {"a": 1}, (1, "x"))
    ]
    assert client.server_version.count(".") == 3 and client.ping()


def test_zones(client):
    sql = "SELECT toDateTime('2024-07-02 03:04:05', 'Europe/Berlin') AS a, [a] AS b, toDateTime64(a, 3) AS c, toDateTime(a, 'UTC') AS d"
    moment = datetime.datetime(2024, 7, 2, 1, 4, 5, tzinfo=datetime.timezone.utc)
    (row,) = client.query(sql).result_rows
    assert row == (moment, [moment], moment, moment) and row[0].utcoffset() == datetime.timedelta(hours=2)
    with client.query_rows_stream(sql) as rows:
        assert list(rows) == [row]
    other = client.query(sql, column_tzs={"a": "Asia/Tokyo"}).result_rows[0][0]
    assert other == moment and other.utcoffset() == datetime.timedelta(hours=9)


@pytest.mark.parametrize("value", [5, "it's \\ \t\n {x}", [1, 2], ["a'b"], None, True, datetime.date(2024, 1, 2), 1.5])
def test_parameters(client, value):
    kind = {int: "Int64", str: "String", type(None): "Nullable(String)", bool: "Bool", datetime.date: "Date", float: "Float64"}
    ty = kind.get(type(value)) or f"Array({kind[type(value[0])]})"
    assert client.query(f"SELECT {{v:{ty}}}", parameters={"v": value}).result_rows == [(value,)]
    if value is not None:
        assert client.query("SELECT %(v)s", parameters={"v": "x'y"}).result_rows == [("x'y",)]


def test_commands(client):
    assert client.command("SELECT 1") == 1 and client.command("SELECT 'a', 'b'") == ["a", "b"]
    assert client.command("CREATE TABLE t (a UInt8) ENGINE = Memory").written_rows == 0
    client.command("INSERT INTO t VALUES", data="(1), (2)")
    assert client.command("SELECT sum(a) FROM t") == 3 and client.command("EXISTS TABLE t") == 1
    assert client.command("SELECT a FROM t WHERE a > 5") == ""
    assert client.command("SELECT a FROM t ORDER BY a FORMAT JSONEachRow") == '{"a":1}\n{"a":2}'


def test_streams(client):
    with client.query_rows_stream("SELECT number, toString(number) FROM numbers(200000)") as rows:
        assert sum(row[0] for row in rows) == 199999 * 100000
    with client.query_column_block_stream("SELECT number FROM numbers(200000)") as blocks:
        assert sum(len(block[0]) for block in blocks) == 200000
    # One that is left amid its rows holds up nothing.
    with client.query_rows_stream("SELECT number FROM numbers(100000000000)") as rows:
        assert next(iter(rows)) == (0,) and client.command("SELECT 2") == 2
    with pytest.raises(Error, match="too far"), client.query_rows_stream("SELECT throwIf(number > 900000, 'too far') FROM numbers(1000000)") as rows:
        list(rows)


def test_raw(client, things):
    assert client.raw_query("SELECT id FROM things ORDER BY id LIMIT 2", fmt="CSV") == b"0\n1\n"
    with client.raw_stream("SELECT number FROM numbers(100000)", fmt="TabSeparated") as stream:
        assert stream.read(4) == b"0\n1\n" and len(stream.read().split()) == 99998
    assert client.raw_stream("SELECT 1 AS a", fmt="Parquet").read(4) == b"PAR1"
    client.command("CREATE TABLE r (a UInt8, b String) ENGINE = Memory")
    for block in ("1,x\n", b"2,y\n", io.BytesIO(b"3,z\n"), (piece for piece in (b"4", b",q\n"))):
        assert client.raw_insert("r", ["a", "b"], block, fmt="CSV").written_rows == 1
    assert client.query("SELECT groupArray(b), sum(a) FROM (SELECT * FROM r ORDER BY a)").result_rows == [(["x", "y", "z", "q"], 10)]


def test_streams_of_whole_documents(client):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    for tail in ("FORMAT JSON", "FORMAT JSON SETTINGS max_threads=1", "SETTINGS max_threads=1 FORMAT JSON;", "format `JSON` -- FORMAT CSV"):
        text = client.raw_stream(f"SELECT number FROM numbers(200000) {tail}").read()
        assert json.loads(text)["rows"] == 200000, tail
    sql = "SELECT number AS format FROM numbers(200000) FORMAT {} SETTINGS max_threads=1"
    assert client.raw_stream(sql.format("CSVWithNames")).read().count(b"format") == 1
    read = pyarrow.read_table(io.BytesIO(client.raw_stream(sql.format("Parquet")).read()))
    assert read.num_rows == 200000
    assert not isinstance(client.raw_stream(sql.format("CSV")), io.BytesIO)
    # Rows of these formats may have something around them.
    array = "output_format_json_array_of_rows"
    sql = "SELECT number AS n FROM numbers(200000) FORMAT JSONEachRow"
    for text, settings in ((f"{sql} SETTINGS {array}=1", {}), (sql, {array: 1})):
        assert len(json.loads(client.raw_stream(text, settings=settings).read())) == 200000
    assert client.raw_stream("SELECT number AS a, count() FROM numbers(1) GROUP BY a WITH TOTALS FORMAT CSV").read() == b"0,1\n\n0,1\n"
    assert client.raw_stream("SELECT 1 AS a FORMAT CSV", settings={"extremes": 1}).read() == b"1\n\n1\n1\n"


def test_frames(client, things):
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    frame = client.query_df("SELECT id, name FROM things ORDER BY id")
    assert frame["id"].tolist() == [0, 1, 2, 3, 4] and frame["name"].isna().tolist() == [False, False, True, False, False]
    assert client.query_arrow("SELECT id FROM things ORDER BY id").column("id").to_pylist() == [0, 1, 2, 3, 4]
    client.command("CREATE TABLE f (a Int64, b String) ENGINE = Memory")
    assert client.insert_df("f", pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})).written_rows == 2
    assert client.insert_arrow("f", pyarrow.table({"a": [3], "b": ["z"]})).written_rows == 1
    assert client.insert_df_arrow("f", polars.DataFrame({"a": [4], "b": ["q"]})).written_rows == 1
    assert client.query_np("SELECT a FROM f ORDER BY a").ravel().tolist() == [1, 2, 3, 4]


def test_settings(client):
    assert client.query("SELECT getSetting('max_threads')", settings={"max_threads": 3}).result_rows == [(3,)]
    client.set_client_setting("max_block_size", 100)
    assert client.get_client_setting("max_block_size") == "100"
    assert client.command("SELECT getSetting('max_block_size')", settings={"max_threads": 2}) == 100
    assert client.raw_query("SELECT getSetting('max_threads')", settings={"max_threads": 5}) == b"5\n"
    with clickhouse_connect.get_client(settings={"max_threads": 7}) as other:
        assert other.command("SELECT getSetting('max_threads')") == 7
    with pytest.raises(Error, match="no_such_setting"):
        client.query("SELECT 1", settings={"no_such_setting": 1})


def test_databases_and_connections(client):
    client.command("CREATE DATABASE other")
    client.command("CREATE TABLE other.t (a UInt8) ENGINE = Memory")
    client.insert("t", [[1]], database="other")
    client.database = "other"
    assert client.command("SELECT count() FROM t") == 1
    with chalet.connect() as connection:
        connection.register("mine", {"x": [1, 2]})
        with clickhouse_connect.get_client(connection=connection) as over:
            assert over.query("SELECT sum(x) FROM mine").result_rows == [(3,)] and over.connection is connection
        assert connection.query("SELECT 1").data() == "1\n"
    client.close()
    with pytest.raises(ProgrammingError, match="closed"):
        client.query("SELECT 1")


def test_the_database_of_a_shared_connection():
    with chalet.connect() as owner:
        for name in ("first", "second"):
            owner.query(f"CREATE DATABASE {name}")
            owner.query(f"CREATE TABLE {name}.t (a String) ENGINE = Memory")
            owner.query(f"INSERT INTO {name}.t VALUES ('{name}')")
        owner.query("CREATE TABLE t (a String) ENGINE = Memory")
        owner.query("INSERT INTO t VALUES ('default')")
        ask = lambda: owner.query("SELECT a FROM t", "TabSeparated").data()  # noqa: E731
        first, second, any_ = (clickhouse_connect.get_client(connection=owner, database=name) for name in ("first", "second", None))
        for mover in ("default", "second", "first", "default"):
            owner.query(f"USE {mover}")
            assert (first.command("SELECT a FROM t"), second.command("SELECT a FROM t")) == ("first", "second")
            assert ask() == f"{mover}\n" and any_.command("SELECT a FROM t") == mover
        with first.query_rows_stream("SELECT a FROM t") as rows, pytest.raises(DatabaseError):
            second.query("SELECT nosuch FROM t")
            assert list(rows) == [("first",)]
        assert second.raw_stream("SELECT a FROM t", fmt="CSV").read() == b'"second"\n' and ask() == "default\n"
        first.insert("t", [["x"]])
        first.raw_insert("t", ["a"], "y\n", fmt="CSV")
        first.raw_insert("second.t", None, "y\n", fmt="CSV")
        owner.query("CREATE TEMPORARY TABLE here (a String)")
        first.raw_insert("here", ["a"], "z\n", fmt="CSV")
        assert [owner.query(f"SELECT count() FROM {table}").data() for table in ("first.t", "second.t", "t", "here")] == ["3\n", "2\n", "1\n", "1\n"]
        # One that is gone is not gone back to.
        owner.query("USE second")
        first.command("DROP DATABASE second")
    with clickhouse_connect.get_client() as own:
        own.command("CREATE DATABASE other")
        own.database = "other"
        own.connection.query("USE default")
        assert own.command("SELECT currentDatabase()") == "other"


def test_errors(client):
    with pytest.raises(DatabaseError, match="UNKNOWN_IDENTIFIER") as caught:
        client.query("SELECT nosuch")
    assert caught.value.code == 47
    client.command("CREATE TABLE t (a UInt8) ENGINE = Memory")
    with pytest.raises((Error, ValueError)):
        client.insert("t", [["x"]])
    with pytest.raises(DatabaseError, match="INCORRECT_DATA"):
        client.raw_insert("t", ["a"], "x\n", fmt="CSV")
    with pytest.raises(NotSupportedError):
        client.raw_insert("t", ["a"], b"", compression="gzip")
    assert client.command("SELECT count() FROM t") == 0
    client.show_clickhouse_errors = False
    with pytest.raises(DatabaseError) as caught:
        client.command("SELECT nosuch")
    assert "nosuch" not in str(caught.value) and caught.value.code == 47

def test_external_data(client):
    from clickhouse_connect.driver.external import ExternalData

    given = ExternalData(file_name="u.csv", data=b"1,a\n2,b\n", fmt="CSV", structure=["id UInt32", "s String"])
    given.add_file(file_name="k", data=b"5\t6\n", types=["UInt8", "Nullable(UInt8)"])
    binary = client.raw_query("SELECT number AS n FROM numbers(3)", fmt="Native")
    given.add_file(file_name="b", data=binary, fmt="Native", structure="n UInt64")
    assert client.query("SELECT * FROM u", external_data=given).result_rows == [(1, "a"), (2, "b")]
    assert client.query("SELECT _1 + _2 FROM k", external_data=given).first_row == (11,)
    assert client.raw_query("SELECT count() FROM u JOIN b ON u.id = b.n", external_data=given) == b"2\n"
    assert client.command("SELECT sum(id) FROM u", external_data=given) == 3
    with client.query_rows_stream("SELECT id FROM u", external_data=given) as rows:
        assert [row[0] for row in rows] == [1, 2]
    with client.raw_stream("SELECT id FROM u", fmt="CSV", external_data=given) as rows:
        assert rows.read() == b"1\n2\n"
    with pytest.raises(DatabaseError, match="UNKNOWN_TABLE"):
        client.query("SELECT * FROM u")
    wrong = ExternalData(file_name="u", data=b"x\n", structure="id UInt32")
    with pytest.raises(DatabaseError):
        client.query("SELECT * FROM u", external_data=wrong)
