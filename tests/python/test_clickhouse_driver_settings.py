"""Settings of clickhouse-driver's Client that change what values are: `use_numpy`, `strings_as_bytes`, `strings_encoding`; and Arrow.

`chalet.clickhouse_driver` gives what clickhouse-driver gives over the same server, and the same in the process.
"""

import datetime

import pytest

import chalet.server
from chalet.clickhouse_driver import Client

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")

COLUMNS = """
    number AS n, toString(number) AS s, toDateTime('2020-01-01 00:00:00') + number AS t, toDateTime('2020-07-01 00:00:00', 'Europe/Berlin') AS zoned,
    toDate('2020-01-01') + number AS d, toNullable(number) AS nn, if(number = 1, NULL, number) AS nullable, toFloat32(number) AS f,
    toDateTime64('2020-01-01 00:00:00.5', 3) AS fraction, [1] AS a, number = 1 AS byte, true AS b, CAST('a', 'Enum8(\\'a\\' = 1)') AS e,
    (number, 'x') AS pair, toUInt128(5) AS large, toDecimal32(1, 2) AS decimal, toFixedString('ab', 4) AS fixed, toNullable('x') AS ns,
    if(number = 1, NULL, toDateTime('2020-01-01 00:00:00')) AS nt, if(number = 1, NULL, 0.5) AS nf, map('a', 1) AS m,
    if(number = 1, NULL, toLowCardinality(toString(number))) AS low
"""


@pytest.fixture(scope="module")
def server():
    with chalet.server.start(http=None) as started:
        yield started.tcp_port


@pytest.fixture(params=["server", "local"])
def made(request):
    """Makes a client with settings."""
    place = ("127.0.0.1", request.getfixturevalue("server")) if request.param == "server" else (":memory:",)
    clients = []

    def make(**settings):
        clients.append(Client(*place, settings=settings))
        return clients[-1]

    yield make
    for client in clients:
        client.execute("DROP TABLE IF EXISTS settings_t")
        client.disconnect()


def is_same(one, other):
    """Of one kind, one type and one content."""
    return type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None) and list(one) == list(other)


def test_arrays_are_those_of_clickhouse_driver(server):
    theirs = pytest.importorskip("clickhouse_driver")
    settings = {"use_numpy": True}
    sql = f"SELECT {COLUMNS} FROM numbers(3)"
    with Client("127.0.0.1", port=server, settings=settings) as ours, theirs.Client("127.0.0.1", port=server, settings=settings) as real:
        got, header = ours.execute(sql, columnar=True, with_column_types=True)
        expected, of_real = real.execute(sql, columnar=True, with_column_types=True)
        assert header == of_real
        assert [name for (name, _), one, other in zip(header, got, expected) if not is_same(one, other)] == []
        pairs = "SELECT number, number * 2 AS m FROM numbers(3)"
        for run in (lambda c: c.execute(pairs), lambda c: list(c.execute_iter(pairs))):
            assert [row.tolist() for row in run(ours)] == [row.tolist() for row in run(real)] == [[0, 0], [1, 2], [2, 4]]
        one, other = ours.query_dataframe(sql), real.query_dataframe(sql)
        assert dict(one.dtypes) == dict(other.dtypes) and list(one) == list(other)
        assert list(ours.execute("SELECT toLowCardinality(toString(number)) FROM numbers(2)", columnar=True)[0]) == ["0", "1"]


def test_arrays(made):
    client = made(use_numpy=True)
    client.execute("CREATE TABLE settings_t (n Int64, s String, t DateTime, f Nullable(Float64)) ENGINE = Memory")
    moments = numpy.array(["2020-01-01", "2021-01-01"], dtype="datetime64[s]")
    columns = [numpy.array([1, 2]), numpy.array(["a", "b"], dtype=object), moments, numpy.array([1.5, None], dtype=object)]
    assert client.execute("INSERT INTO settings_t VALUES", columns, columnar=True) == 2
    n, s, t, f = client.execute("SELECT * FROM settings_t ORDER BY n", columnar=True)
    assert n.dtype == "int64" and s.dtype == "<U1" and (t == moments).all() and list(f) == [1.5, None]
    assert client.execute("SELECT * FROM settings_t WHERE 0", columnar=True)[0].dtype == "int64"
    frame = client.query_dataframe("SELECT n, s AS `a b` FROM settings_t ORDER BY n")
    assert list(frame.columns) == ["n", "a_b"] and frame["n"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="4 columns are expected"):
        client.execute("INSERT INTO settings_t VALUES", columns[:2], columnar=True)
    assert client.execute("SELECT 1", settings={"use_numpy": False}) == [(1,)]
    # Beyond what nanoseconds can say nothing is lost.
    (far,) = client.execute("SELECT toDateTime64('2290-01-01 00:00:00', 3, 'UTC') AS t", columnar=True)
    assert far.tolist() == [datetime.datetime(2290, 1, 1)]


TEXTS = """
    SELECT unhex('EFF0E8') AS s, 'x' AS y, ['a'] AS a, toFixedString('ab', 4) AS f, toLowCardinality('q') AS low, ('a', 1) AS pair,
    map('k', 'v') AS m, toNullable('z') AS n, CAST(NULL, 'Nullable(String)') AS none, CAST('a', 'Enum8(\\'a\\' = 1)') AS e, 5 AS five
"""


def test_texts(made):
    (row,) = made(strings_as_bytes=True).execute(TEXTS)
    assert row == (b"\xef\xf0\xe8", b"x", [b"a"], b"ab\0\0", b"q", (b"a", 1), {b"k": b"v"}, b"z", None, "a", 5)
    (row,) = made(strings_encoding="cp1251").execute_iter(TEXTS)
    assert row == ("при", "x", ["a"], "ab", "q", ("a", 1), {"k": "v"}, "z", None, "a", 5)
    for settings, text in (({"strings_as_bytes": True}, b"\xef"), ({"strings_encoding": "cp1251"}, "п")):
        client = made(**settings)
        client.execute("CREATE TABLE settings_t (s String, a Array(Nullable(String)), n Int8) ENGINE = Memory")
        assert client.execute("INSERT INTO settings_t VALUES", [(text, [text, None], 1)]) == 1
        assert client.execute("SELECT * FROM settings_t") == [(text, [text, None], 1)]
        assert client.execute("SELECT hex(s), hex(a[1]) FROM settings_t", settings={"strings_as_bytes": False}) == [("EF", "EF")]
        client.execute("DROP TABLE settings_t")


def test_texts_are_those_of_clickhouse_driver(server):
    theirs = pytest.importorskip("clickhouse_driver")
    for settings in ({"strings_as_bytes": True}, {"strings_encoding": "cp1251"}):
        with Client("127.0.0.1", port=server, settings=settings) as ours, theirs.Client("127.0.0.1", port=server, settings=settings) as real:
            assert ours.execute(TEXTS) == real.execute(TEXTS)


def test_arrow(made):
    pyarrow = pytest.importorskip("pyarrow")
    client = made()
    sql = "SELECT number AS n, 'x' AS s, toDateTime('2020-01-01 00:00:00', 'UTC') AS t FROM numbers(3)"
    schema = client.query_arrow(sql, arrow_types={"n": pyarrow.int32()}).schema
    assert schema.types == [pyarrow.int32(), pyarrow.string(), pyarrow.timestamp("s", "UTC")]
    assert schema.field("t").metadata == {b"clickhouse_type": b"DateTime('UTC')"}
    assert client.query_arrow(sql, field_metadata=False).schema.field("t").metadata is None
    reader = client.query_arrow_stream("SELECT number AS n FROM numbers(200000)", arrow_types={"n": pyarrow.int64()})
    assert isinstance(reader, pyarrow.RecordBatchReader) and reader.schema.types == [pyarrow.int64()]
    assert sum(batch.num_rows for batch in reader) == 200000
    reader = client.query_arrow_stream("SELECT number FROM system.numbers")
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert client.query_arrow_stream("SELECT 1 AS x WHERE 0").read_all().schema.names == ["x"]
    with pytest.raises(Exception, match="no_such_column"):
        client.query_arrow_stream("SELECT no_such_column")
