"""`chalet.clickhouse_driver` over a real server (18.16), over ours and in the process; where the package is there, beside clickhouse-driver."""

import datetime
import decimal
import uuid

import clickhouse
import pytest
import tls

import chalet.server
from chalet.clickhouse_driver import Client, dbapi, errors


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with clickhouse.started(tmp_path_factory.mktemp("server")) as number:
        yield number


@pytest.fixture(scope="module")
def ours():
    with chalet.server.start(http=None) as server:
        yield server.tcp_port


@pytest.fixture(params=["real", "ours", "local"])
def place(request):
    """Arguments of a client."""
    if request.param == "local":
        return (":memory:",)
    if request.param == "ours":
        return "127.0.0.1", request.getfixturevalue("ours")
    return "127.0.0.1", request.getfixturevalue("port"), "default", "alice", "secret"


@pytest.fixture
def client(place):
    with Client(*place) as made:
        made.execute("DROP TABLE IF EXISTS driver_t")
        yield made


def test_rows_columns_and_counts(client):
    assert client.execute("CREATE TABLE driver_t (n UInt64, s String) ENGINE = Memory") == []
    assert client.execute("INSERT INTO driver_t VALUES", [(1, "a"), (2, "b")]) == 2
    assert client.execute("INSERT INTO driver_t (s, n) VALUES", ({"n": n, "s": str(n)} for n in (3, 4))) == 2
    assert client.execute("INSERT INTO driver_t (n, s) FORMAT Values", [[5, 6], ["e", "f"]], columnar=True) == 2
    assert client.last_query.progress.written_rows == 2
    assert client.execute("INSERT INTO driver_t VALUES", []) == 0
    assert client.execute("INSERT INTO driver_t VALUES (7, 'g')") == []
    rows = [(1, "a"), (2, "b"), (3, "3"), (4, "4"), (5, "e"), (6, "f"), (7, "g")]
    sql = "SELECT n, s FROM driver_t ORDER BY n"
    assert client.execute(sql) == rows
    assert client.execute(sql, with_column_types=True) == (rows, [("n", "UInt64"), ("s", "String")])
    assert client.execute(sql, columnar=True) == list(zip(*rows))
    assert client.execute(sql + " LIMIT 0", with_column_types=True) == ([], [("n", "UInt64"), ("s", "String")])
    assert list(client.execute_iter(sql)) == rows
    assert list(client.execute_iter(sql, chunk_size=3)) == [rows[:3], rows[3:6], rows[6:]]
    assert list(client.execute_iter(sql, with_column_types=True)) == [[("n", "UInt64"), ("s", "String")], *rows]
    progress = client.execute_with_progress(sql, columnar=True)
    assert all(len(told) == 2 for told in progress) and progress.get_result() == list(zip(*rows))
    with pytest.raises(errors.ServerException):
        client.execute_with_progress("SELECT no_such_column").get_result()


def test_values_in_the_place_of_names(client):
    when = datetime.datetime(2020, 1, 2, 3, 4, 5)
    params = {"n": 7, "s": "it's 100%\n", "none": None, "list": [1, 2], "when": when, "id": uuid.UUID(int=5), "f": 0.5}
    sql = "SELECT %(n)s, %(s)s, %(none)s, %(list)s, %(when)s, %(id)s, %(f)s, '%%'"
    (row,) = client.execute(sql, params)
    assert row == (7, "it's 100%\n", None, [1, 2], "2020-01-02 03:04:05", str(uuid.UUID(int=5)), 0.5, "%")
    assert client.substitute_params("%(t)s", {"t": (1, "a")}) == "(1, 'a')"
    with pytest.raises(KeyError):
        client.execute("SELECT %(missing)s", {})
    assert client.execute("SELECT '%d'") == [("%d",)]


def test_values_of_types(client):
    columns = "d Date, t DateTime, x Decimal(9, 2), a Array(Nullable(Int8)), u UUID, e Enum8('one' = 1), f FixedString(3)"
    client.execute(f"CREATE TABLE driver_t ({columns}) ENGINE = Memory")
    day, when = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5)
    row = (day, when, decimal.Decimal("1.25"), [1, None], uuid.UUID(int=7), "one", "abc")
    assert client.execute("INSERT INTO driver_t VALUES", [row]) == 1
    assert client.execute("SELECT * FROM driver_t") == [row]


def test_errors(client):
    with pytest.raises(errors.ServerException) as raised:
        client.execute("SELECT no_such_column")
    assert raised.value.code == 47 and raised.value.message.startswith("DB::Exception: ")
    assert isinstance(raised.value, errors.Error)
    client.execute("CREATE TABLE driver_t (n UInt8) ENGINE = Memory")
    with pytest.raises(errors.TypeMismatchError):
        client.execute("INSERT INTO driver_t VALUES", [("no number",)])
    with pytest.raises(ValueError, match="Different rows length"):
        client.execute("INSERT INTO driver_t VALUES", [(1,), (1, 2)])
    with pytest.raises(TypeError, match="Unsupported row type"):
        client.execute("INSERT INTO driver_t VALUES", [1])
    with pytest.raises(KeyError):
        client.execute("INSERT INTO driver_t VALUES", [{"m": 1}])
    assert client.execute("SELECT count() FROM driver_t") == [(0,)]
    assert errors.ErrorCodes.UNKNOWN_TABLE == 60 and errors.NetworkError.code == errors.ErrorCodes.NETWORK_ERROR
    with pytest.raises(AttributeError):
        errors.ErrorCodes.NO_SUCH_CODE
    with pytest.raises(errors.NotSupportedError):
        Client("127.0.0.1", ciphers="x")
    with pytest.raises(errors.ServerException):
        list(client.execute_iter("SELECT no_such_column"))


def test_frames_settings_and_ids(client):
    pandas = pytest.importorskip("pandas")
    client.execute("CREATE TABLE driver_t (n UInt64, s String) ENGINE = Memory")
    frame = pandas.DataFrame({"s": ["a", "b"], "n": [1, 2], "more": [0, 0]})
    assert client.insert_dataframe("INSERT INTO driver_t VALUES", frame) == 2
    found = client.query_dataframe("SELECT n, s AS `a b` FROM driver_t ORDER BY n")
    assert list(found.columns) == ["n", "a_b"] and found["n"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="missing required columns"):
        client.insert_dataframe("INSERT INTO driver_t (n) VALUES", frame[["s"]])
    block = "SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)"
    assert client.execute(block, settings={"max_block_size": 9}) == [(9,)]
    if client._is_local:
        with pytest.raises(errors.NotSupportedError):
            client.execute("SELECT 1", query_id="one")
    else:
        assert client.execute("SELECT 1", query_id="one") == [(1,)]


def test_external_tables(client):
    day = datetime.date(2020, 1, 2)
    structure = [("x", "Int32"), ("s", "Nullable(String)"), ("d", "Date"), ("a", "Array(UInt8)")]
    table = {"name": "given", "structure": structure, "data": [(1, "a", day, [1]), {"x": 2, "s": None, "d": day, "a": []}]}
    told = "SELECT toTypeName(x), toTypeName(s), toTypeName(d), toTypeName(a) FROM given LIMIT 1"
    asked = {"external_tables": [table]}
    assert client.execute(told, **asked) == [("Int32", "Nullable(String)", "Date", "Array(UInt8)")]
    assert client.execute("SELECT * FROM given ORDER BY x", **asked) == [(1, "a", day, [1]), (2, None, day, [])]
    assert list(client.execute_iter("SELECT x FROM given ORDER BY x", **asked)) == [(1,), (2,)]
    assert client.query_dataframe("SELECT x FROM given WHERE x IN other", external_tables=[
        table, {"name": "other", "structure": [("n", "Int32")], "data": [(2,)]}
    ])["x"].tolist() == [2]
    # A text that is not understood here.
    if not client._is_local:
        assert client.execute("SELECT count() FROM given WHERE 1 -- \\", **asked) == [(2,)]
        assert client.execute("SELECT count() FROM given", query_id="two", **asked) == [(2,)]
    assert client.execute("SELECT count() FROM given", external_tables=[{**table, "data": []}]) == [(0,)]
    with pytest.raises(ValueError, match='Empty table "t" structure'):
        client.execute("SELECT 1", external_tables=[{"name": "t", "structure": [], "data": []}])
    for wrong in ("text", None, 1 << 40, datetime.date(2020, 1, 2)):
        with pytest.raises(errors.Error):
            client.execute("SELECT * FROM given", external_tables=[{"name": "given", "structure": [("x", "Int32")], "data": [(wrong,)]}])
    assert client.execute("SELECT 1") == [(1,)]


def test_urls_and_connections(ours, tmp_path):
    with Client.from_url(f"clickhouse://127.0.0.1:{ours}/default?compression=lz4&max_block_size=5") as client:
        block = "SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)"
        assert client.execute(block) == [(5,)]
        client.execute("CREATE TEMPORARY TABLE kept (x UInt8)")
        client.execute("INSERT INTO kept VALUES", [(1,)])
        assert client.execute("SELECT x FROM kept") == [(1,)]
        stream = client.execute_iter("SELECT number FROM system.numbers LIMIT 5")
        assert next(stream) == (0,)
        assert client.cancel() == []
        client.disconnect()
        assert client.execute("SELECT 1") == [(1,)]
    with pytest.raises(errors.NetworkError):
        Client("127.0.0.1", 1).execute("SELECT 1")
    with Client(tmp_path / "folder") as client:
        client.execute("CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x")
        client.execute("INSERT INTO t VALUES", [(1,)])
    with Client(str(tmp_path / "folder")) as client:
        assert client.execute("SELECT x FROM t") == [(1,)]


def test_dbapi(place):
    names = ("port", "database", "user", "password")
    with dbapi.connect(host=place[0], **dict(zip(names, place[1:]))) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.ProgrammingError):
            cursor.fetchall()
        assert cursor.description is None
        cursor.execute("DROP TABLE IF EXISTS dbapi_t")
        cursor.execute("CREATE TABLE dbapi_t (n UInt64, s String) ENGINE = Memory")
        cursor.executemany("INSERT INTO dbapi_t VALUES", [(n, str(n)) for n in range(5)])
        assert cursor.rowcount == 5
        other = connection.cursor()
        other.execute("SELECT n, s FROM dbapi_t WHERE n < %(most)s ORDER BY n", {"most": 4})
        assert other.rowcount == 4 and other.columns_with_types == [("n", "UInt64"), ("s", "String")]
        assert [(one.name, one.type_code) for one in other.description] == [("n", "UInt64"), ("s", "String")]
        assert other.fetchone() == (0, "0") and other.fetchmany(2) == [(1, "1"), (2, "2")]
        assert list(other) == [(3, "3")] and other.fetchall() == [] and other.fetchone() is None
        other.set_stream_results(True, 2)
        other.execute("SELECT n FROM dbapi_t ORDER BY n")
        assert other.fetchmany(2) == [(0,), (1,)] and other.fetchall() == [(2,), (3,), (4,)]
        with pytest.raises(dbapi.OperationalError) as raised:
            cursor.execute("SELECT no_such_column")
        assert raised.value.args[0].code == 47
    with pytest.raises(dbapi.InterfaceError):
        connection.cursor()
    with pytest.raises(dbapi.InterfaceError):
        cursor.execute("SELECT 1")
    with pytest.raises(ValueError):
        dbapi.connect()


def test_beside_clickhouse_driver(port):
    """The same programs give the same, by both, over one server."""
    theirs = pytest.importorskip("clickhouse_driver")
    arguments = ("127.0.0.1", port, "default", "alice", "secret")
    statements = [
        ("SELECT toUInt8(1), toInt64(-1), toFloat32(0.5), 'x', NULL",),
        ("SELECT [1, 2], ['a'], (1, 'a'), [(1, 'a')], [[1], []]",),
        ("SELECT toDate('2020-01-02'), toDateTime('2020-07-02 03:04:05')",),
        ("SELECT toDecimal32(1.5, 2), toFixedString('ab', 4), toUUID('00000000-0000-0000-0000-000000000001')",),
        ("SELECT CAST('a' AS Enum8('a' = 1)), toNullable(1)",),
        ("SELECT number FROM system.numbers LIMIT 3",),
        ("SELECT 1 WHERE 0",),
        ("SELECT %(a)s, %(b)s, %(c)s", {"a": 1, "b": "it's", "c": datetime.date(2020, 1, 2)}),
        ("SELECT number % 2 AS k, count() FROM (SELECT number FROM system.numbers LIMIT 5) GROUP BY k WITH TOTALS ORDER BY k",),
        ("SELECT %(a)s", {"a": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)}),
    ]
    with Client(*arguments) as ours, theirs.Client(*arguments) as real:
        for statement in statements:
            for columnar in (False, True):
                asked = {"with_column_types": True, "columnar": columnar}
                assert ours.execute(*statement, **asked) == real.execute(*statement, **asked), statement
        # Theirs is the number alone.
        assert ours.execute("SELECT toIntervalDay(3)") == [(datetime.timedelta(days=3),)]


def test_streams(client):
    import resource

    sql = "SELECT number, toString(number) AS s FROM system.numbers LIMIT {}"
    stream = client.execute_iter(sql.format(3), with_column_types=True)
    assert list(stream) == [[("number", "UInt64"), ("s", "String")], (0, "0"), (1, "1"), (2, "2")]
    assert client.last_query.profile_info.rows == 3
    assert list(client.execute_iter(sql.format(0), with_column_types=True)) == [[("number", "UInt64"), ("s", "String")]]
    assert list(client.execute_iter("DROP TABLE IF EXISTS driver_t", with_column_types=True)) == [[]]
    # Without an end, and yet it begins; other statements run meanwhile; what is closed has ended.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    endless = client.execute_iter("SELECT number FROM system.numbers", chunk_size=1000)
    total = sum(len(next(endless)) for _ in range(500))
    assert total == 500_000 and client.execute("SELECT 1") == [(1,)]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10
    endless.close()
    rest = client.execute_iter("SELECT number FROM system.numbers")
    assert next(rest) == (0,)
    client.cancel()
    with pytest.raises(errors.ServerException) as raised:
        list(rest)
    assert raised.value.code == 394
    assert client.execute("SELECT 1") == [(1,)]
    with pytest.raises(errors.ServerException):
        list(client.execute_iter("SELECT throwIf(number = 200000) FROM system.numbers LIMIT 1000000"))


def test_cancelling_what_runs(client):
    import threading
    import time

    slow = "SELECT count() FROM system.numbers WHERE number % 2 = 3"
    failures = []

    def run():
        try:
            client.execute(slow)
        except errors.Error as error:
            failures.append(error)

    client.execute("SELECT 1")
    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        time.sleep(0.2)
        client.cancel()
    assert [failure.code for failure in failures] == [394]
    assert client.execute("SELECT 1") == [(1,)]


def test_totals_and_extremes(client):
    sql = "SELECT number % 2 AS k, count() AS c FROM (SELECT number FROM system.numbers LIMIT 5) GROUP BY k WITH TOTALS ORDER BY k"
    assert client.execute(sql) == [(0, 3), (1, 2), (0, 5)]
    assert client.execute(sql, columnar=True) == [(0, 1, 0), (3, 2, 5)]
    assert list(client.execute_iter(sql)) == [(0, 3), (1, 2), (0, 5)]
    numbers = "SELECT number FROM system.numbers LIMIT 3"
    assert client.execute(numbers, settings={"extremes": 1}) == [(0,), (1,), (2,), (0,), (2,)]
    assert list(client.execute_iter(numbers, settings={"extremes": 1})) == [(0,), (1,), (2,), (0,), (2,)]


def test_tls_and_other_hosts(ours, tmp_path):
    cert, key = tls.certificate(tmp_path)
    with chalet.server.start(http=None, tcp_secure=0, certificate=cert, key=key) as server:
        asked = {"port": server.tcp_secure_port, "secure": True}
        with Client("localhost", **asked, ca_certs=str(cert)) as client:
            assert client.execute("SELECT 1") == [(1,)]
        with Client("localhost", **asked, verify=False) as client:
            assert client.execute("SELECT 1") == [(1,)]
        with Client.from_url(f"clickhouses://localhost:{server.tcp_secure_port}?ca_certs={cert}") as client:
            assert client.execute("SELECT 1") == [(1,)]
        with pytest.raises(errors.Error, match="certificate verify failed"):
            Client("localhost", **asked).execute("SELECT 1")
    with Client("127.0.0.1", 1, alt_hosts=f"127.0.0.1:2,127.0.0.1:{ours}") as client:
        assert client.execute("SELECT 1") == [(1,)]
    with pytest.raises(errors.NetworkError):
        Client("127.0.0.1", 1, alt_hosts="127.0.0.1:2").execute("SELECT 1")
