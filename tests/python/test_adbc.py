"""The ADBC driver, through adbc_driver_manager."""

import threading

import patience
import pytest

pyarrow = pytest.importorskip("pyarrow")
manager = pytest.importorskip("adbc_driver_manager")

import chalet  # noqa: E402
from chalet import adbc  # noqa: E402


@pytest.fixture
def connection():
    with adbc.connect() as opened:
        yield opened


@pytest.fixture
def cursor(connection):
    with connection.cursor() as made:
        yield made


def test_queries(cursor):
    cursor.execute("SELECT number AS n, toString(number) AS s, [number] AS a, NULL AS z FROM numbers(3)")
    assert [column[0] for column in cursor.description] == ["n", "s", "a", "z"]
    table = cursor.fetch_arrow_table()
    assert table.schema.field("n").type == pyarrow.uint64() and not table.schema.field("n").nullable
    assert table.to_pylist()[2] == {"n": 2, "s": "2", "a": [2], "z": None}
    cursor.execute("SELECT toDateTime64('2024-01-02 03:04:05.678', 3, 'UTC'), toDecimal64(1.5, 2), 'x'")
    moment, number, text = cursor.fetchone()
    assert (moment.isoformat(), str(number), text) == ("2024-01-02T03:04:05.678000+00:00", "1.50", "x")
    cursor.execute("SELECT number FROM numbers(200000)")
    assert sum(batch.num_rows for batch in cursor.fetch_record_batch()) == 200000
    assert cursor.adbc_execute_schema("SELECT 1 AS x, 'a' AS y").names == ["x", "y"]


def test_statements_without_rows(cursor):
    cursor.execute("CREATE TABLE t (a UInt8) ENGINE = Memory")
    assert cursor.executescript("INSERT INTO t VALUES (1), (2)") is None
    cursor.execute("SELECT sum(a) FROM t")
    assert cursor.fetchone() == (3,)


def test_values_are_bound(cursor):
    cursor.execute("SELECT ? + 1, ?, ?, ? IS NULL", (41, "it's\t\\n", [1, 2], None))
    assert cursor.fetchone() == (42, "it's\t\\n", [1, 2], 1)
    cursor.execute("SELECT {x:UInt8} + {y:UInt8}, 1 ? 2 : 3", {"x": 1, "y": 2})
    assert cursor.fetchone() == (3, 2)
    cursor.execute("SELECT number FROM numbers(10) WHERE number > ? LIMIT ?", (3, 2))
    assert cursor.fetchall() == [(4,), (5,)]
    with pytest.raises(manager.ProgrammingError, match="2 placeholders"):
        cursor.execute("SELECT ?, ?", (1,))


def test_bytes_are_bound(cursor):
    row = (b"\xff", b"a\tb\n\\x\xfe\x00", b"text", [b"\xff'", b"\xc3\xa4"], "ä")
    cursor.execute("SELECT ?, ?, ?, ?, ?", row)
    (read,) = cursor.fetchall()
    assert [bytes(each, "utf-8") if isinstance(each, str) else each for each in (*read[:3], *read[3])] == [*row[:3], *row[3]]
    cursor.execute("SELECT hex({y:String}), hex({x:String})", {"x": b"\xff\n", "y": b"\\\xff"})
    assert cursor.fetchone() == ("5CFF", "FF0A")
    cursor.execute("CREATE TABLE t (a String) ENGINE = Memory")
    cursor.executemany("INSERT INTO t VALUES (?)", [(b"\xff",), (b"ok",)])
    cursor.execute("SELECT count() FROM t WHERE a = ?", (b"\xff",))
    assert cursor.fetchone() == (1,)


def test_schemas(connection, cursor):
    schema = cursor.adbc_execute_schema("SELECT ? AS a, ? AS b;", (1, "x"))
    assert schema.names == ["a", "b"] and schema.types == [pyarrow.int64(), pyarrow.utf8()]
    assert cursor.adbc_execute_schema("SELECT {a:UInt8} AS n", {"a": 1}).types == [pyarrow.uint8()]
    for sql in ("SHOW TABLES", "DESCRIBE TABLE system.one", "EXPLAIN SELECT 1", "EXISTS TABLE t", "WITH 1 AS x SELECT x -- end"):
        cursor.execute(sql)
        assert cursor.fetch_arrow_table().schema.names == cursor.adbc_execute_schema(sql).names, sql
    # In the zone of the session, as the rows.
    zoned = "SELECT toDateTime(0) AS t SETTINGS session_timezone = 'Asia/Tokyo'"
    assert cursor.adbc_execute_schema(zoned).field("t").type == cursor.execute(zoned).fetch_arrow_table().schema.field("t").type
    # Nothing runs.
    assert cursor.adbc_execute_schema("CREATE TABLE t (a UInt8) ENGINE = Memory").names == []
    assert cursor.adbc_execute_schema("SELECT throwIf(number = 5) AS n FROM numbers(1000000000000)").names == ["n"]
    cursor.execute("SELECT 1 + ?", (1,))
    assert cursor.fetchone() == (2,)
    for sql, text in (("SELECT nosuch", "UNKNOWN_IDENTIFIER"), ("SELECT (", "SYNTAX"), ("SELECT 1; SELECT 2", "Multi"), ("SELECT 1 FORMAT CSV", "leave")):
        with pytest.raises(manager.Error, match=text):
            cursor.adbc_execute_schema(sql)
    with pytest.raises(manager.ProgrammingError, match="2 placeholders, 1 values"):
        cursor.adbc_execute_schema("SELECT ?, ?", (1,))
    # Rows that told a schema are bound still, for their own query alone.
    cursor.adbc_execute_schema("SELECT ? AS a", (1,))
    cursor.execute("SELECT 5")
    assert cursor.fetchone() == (5,)
    batch = pyarrow.record_batch({"x": [7, 8]})
    with manager.AdbcStatement(connection.adbc_connection) as statement:
        statement.set_sql_query("SELECT ? AS a")
        statement.bind(batch)
        assert pyarrow.Schema._import_from_c(statement.execute_schema().address).names == ["a"]
        stream, _ = statement.execute_query()
        assert pyarrow.RecordBatchReader._import_from_c(stream.address).read_all().column("a").to_pylist() == [7, 8]


def test_executemany(cursor):
    cursor.execute("CREATE TABLE t (a UInt64, s Nullable(String)) ENGINE = Memory")
    cursor.executemany("INSERT INTO t (a, s) VALUES (?, ?)", [(n, None if n % 2 else f"s{n}") for n in range(1000)])
    cursor.execute("SELECT count(), sum(a), count(s), max(s) FROM t")
    assert cursor.fetchone() == (1000, 499500, 500, "s998")
    cursor.executemany("INSERT INTO t SELECT ?, upper(?)", [(1, "x"), (2, "y")])
    cursor.execute("SELECT groupArray(s) FROM (SELECT s FROM t WHERE s IN ('X', 'Y') ORDER BY s)")
    assert cursor.fetchone() == (["X", "Y"],)


def test_ingestion(connection, cursor):
    table = pyarrow.table(
        {
            "id": pyarrow.array(range(5), pyarrow.int64()),
            "odd `name`": ["a", "b", None, "d", "e"],
            "at": pyarrow.array([0, 1, 2, 3, None], pyarrow.timestamp("us", "UTC")),
            "list": [[1], [], [2, 3], [4], [5]],
        }
    )
    assert cursor.adbc_ingest("t", table, mode="create") == 5
    with pytest.raises(manager.Error, match="already exists") as caught:
        cursor.adbc_ingest("t", table, mode="create")
    assert caught.value.status_code == manager.AdbcStatusCode.ALREADY_EXISTS
    assert cursor.adbc_ingest("t", table.to_reader(max_chunksize=2), mode="append") == 5
    assert cursor.adbc_ingest("t", table, mode="create_append") == 5
    cursor.execute("SELECT count(), uniqExact(id), count(`odd ``name```) FROM t")
    assert cursor.fetchone() == (15, 5, 12)
    assert cursor.adbc_ingest("t", table.slice(0, 2), mode="replace") == 2
    cursor.execute("SELECT * FROM t ORDER BY id")
    read = cursor.fetch_arrow_table()
    assert read.to_pylist() == table.slice(0, 2).to_pylist()
    cursor.execute("CREATE DATABASE other")
    assert cursor.adbc_ingest("t", table, mode="create", db_schema_name="other") == 5
    cursor.execute("SELECT count() FROM other.t")
    assert cursor.fetchone() == (5,)
    with pytest.raises(manager.ProgrammingError):
        cursor.adbc_ingest("nowhere", table, mode="append")


def test_objects(connection, cursor):
    cursor.execute("CREATE TABLE things (a UInt8, b Nullable(String) DEFAULT 'x', c UInt8 ALIAS a) ENGINE = Memory")
    cursor.execute("CREATE VIEW seen AS SELECT a FROM things")
    cursor.execute("CREATE DATABASE other")
    schema = connection.adbc_get_table_schema("things")
    assert schema.names == ["a", "b"] and schema.field("b").nullable and not schema.field("a").nullable
    with pytest.raises(manager.Error) as caught:
        connection.adbc_get_table_schema("nothing")
    assert caught.value.status_code == manager.AdbcStatusCode.NOT_FOUND
    assert sorted(connection.adbc_get_table_types()) == ["table", "view"]
    (catalog,) = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    databases = {each["db_schema_name"]: each["db_schema_tables"] for each in catalog["catalog_db_schemas"]}
    assert {"default", "other", "system"} <= databases.keys() and databases["other"] == []
    tables = {each["table_name"]: each for each in databases["default"]}
    assert {name: each["table_type"] for name, each in tables.items()} == {"things": "table", "seen": "view"}
    columns = {each["column_name"]: each for each in tables["things"]["table_columns"]}
    assert list(columns) == ["a", "b", "c"] and columns["b"]["xdbc_type_name"] == "Nullable(String)"
    assert columns["b"]["xdbc_is_nullable"] == "YES" and columns["b"]["xdbc_column_def"] == "'x'"
    assert columns["c"]["xdbc_is_generatedcolumn"] is True and tables["things"]["table_constraints"] == []
    (catalog,) = connection.adbc_get_objects(depth="db_schemas", db_schema_filter="oth%").read_all().to_pylist()
    assert catalog["catalog_db_schemas"] == [{"db_schema_name": "other", "db_schema_tables": None}]
    (catalog,) = connection.adbc_get_objects(
        depth="tables", db_schema_filter="default", table_types_filter=["view"], table_name_filter="s%"
    ).read_all().to_pylist()
    found = [each["table_name"] for database in catalog["catalog_db_schemas"] for each in database["db_schema_tables"]]
    assert found == ["seen"]
    assert connection.adbc_get_objects(depth="catalogs").read_all().to_pylist() == [{"catalog_name": "", "catalog_db_schemas": None}]
    assert connection.adbc_get_objects(catalog_filter="nowhere").read_all().num_rows == 0


def test_info_and_options(connection, cursor):
    info = connection.adbc_get_info()
    assert info["vendor_name"] == "chalet" and info["driver_version"] == chalet.__version__
    cursor.execute("CREATE DATABASE other")
    connection.adbc_current_db_schema = "other"
    assert connection.adbc_current_db_schema == "other" and connection.adbc_current_catalog == ""
    cursor.execute("SELECT currentDatabase()")
    assert cursor.fetchone() == ("other",)
    with adbc.connect(":memory:?max_threads=3", {"max_block_size": "100"}) as tuned, tuned.cursor() as asked:
        asked.execute("SELECT getSetting('max_threads'), getSetting('max_block_size')")
        assert asked.fetchone() == (3, 100)
    with pytest.raises(manager.Error, match="UNKNOWN_SETTING"):
        adbc.connect(db_kwargs={"no_such_setting": "1"})
    with pytest.warns(UserWarning, match="autocommit"), adbc.connect(autocommit=False) as opened:
        opened.commit()


def test_errors(cursor):
    with pytest.raises(manager.ProgrammingError, match="UNKNOWN_IDENTIFIER") as caught:
        cursor.execute("SELECT nosuch")
    assert caught.value.status_code == manager.AdbcStatusCode.INVALID_ARGUMENT
    with pytest.raises(manager.Error, match="the format CSV: leave that out"):
        cursor.execute("SELECT 1 FORMAT CSV")
    for several in ("SELECT 1; SELECT 2", "SELECT 1 FORMAT CSV; SELECT 2"):
        with pytest.raises(manager.ProgrammingError, match="one by one"):
            cursor.execute(several)
    cursor.execute("CREATE TABLE t (a UInt8) ENGINE = Memory; INSERT INTO t VALUES (1); SELECT a FROM t")
    assert cursor.fetchall() == [(1,)]
    # The cursor is of use afterwards.
    cursor.execute("SELECT 1")
    assert cursor.fetchone() == (1,)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT intDiv(1, 0)",
        "SELECT throwIf(1)",
        "SELECT toUInt8('x')",
        "SELECT CAST(NULL AS UInt8)",
        "SELECT toDecimal32('100000000000', 2)",
        "SELECT nosuch",
        "SELECT number FROM numbers(100) SETTINGS max_result_rows = 10",
        "ALTER TABLE t UPDATE a = 1 WHERE 1",
    ],
)
def test_errors_are_those_of_dbapi(cursor, sql):
    with pytest.raises(manager.Error) as caught, cursor:
        cursor.execute(sql)
    with chalet.connect() as connection, pytest.raises(chalet.Error) as other:
        connection.cursor().execute(sql)
    assert type(caught.value).__name__ == type(other.value).__name__
    assert dict(caught.value.details) == {b"clickhouse.code": b"%d" % other.value.code, b"clickhouse.name": other.value.name.encode()}


def test_a_zero_byte_in_an_error(cursor):
    with pytest.raises(manager.Error, match=r"'a\\0b' as UInt8"):
        cursor.execute(r"SELECT toUInt8('a\0b')")


def test_what_is_ingested_is_a_copy(cursor):
    """Arrow may share memory that its owner writes to."""
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(70000)
    cursor.adbc_ingest("kept", pyarrow.table({"a": numbers}))
    numbers[:] = 0
    cursor.execute("SELECT sum(a) FROM kept")
    assert cursor.fetchone() == (70000 * 69999 // 2,)


def test_connections_share_a_database():
    with adbc.database() as database, manager.AdbcConnection(database) as one, manager.AdbcConnection(database) as two:
        with manager.AdbcStatement(one) as statement:
            statement.set_sql_query("CREATE TABLE t (a UInt8) ENGINE = Memory")
            statement.execute_update()
        with manager.AdbcStatement(two) as statement:
            statement.set_sql_query("SELECT count() AS c FROM t")
            stream, _ = statement.execute_query()
            assert pyarrow.RecordBatchReader._import_from_c(stream.address).read_all().to_pylist() == [{"c": 0}]


def test_cancelling(connection, cursor):
    endless = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"

    def cancel():
        with chalet.connect() as other:
            patience.until(lambda: patience.running(other, endless))
        cursor.adbc_cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(manager.Error) as caught:
        cursor.execute(endless)
    thread.join()
    assert caught.value.status_code == manager.AdbcStatusCode.CANCELLED


def test_frames(connection):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert frame.to_sql("frame", connection, index=False) == 2
    assert pandas.read_sql("SELECT a, b FROM frame ORDER BY a", connection)["a"].tolist() == [1, 2]
    assert polars.read_database("SELECT * FROM frame ORDER BY a", connection)["b"].to_list() == ["x", None]
