"""`polars.read_database` and `pandas.read_sql` over our connections."""

import datetime
import decimal
import warnings

import pytest

import chalet
from chalet import dbapi

QUERY = "SELECT number AS n, toString(number) AS s, toDateTime('2020-01-02 03:04:05') AS t, toDecimal32(1.5, 2) AS d, [number] AS a FROM numbers(3)"
ROW = (2, "2", datetime.datetime(2020, 1, 2, 3, 4, 5), decimal.Decimal("1.50"), [2])


@pytest.fixture(params=["dbapi", "chalet"])
def connection(request):
    connection = dbapi.connect() if request.param == "dbapi" else chalet.connect()
    yield connection
    connection.close()


def test_polars(connection):
    pl = pytest.importorskip("polars")
    frame = pl.read_database(QUERY, connection=connection)
    assert frame.row(2) == ROW
    assert frame.schema["n"] == pl.UInt64 and frame.schema["t"] == pl.Datetime("us") and frame.schema["d"] == pl.Decimal(9, 2)
    batches = pl.read_database("SELECT number AS n FROM numbers(5)", connection=connection, iter_batches=True, batch_size=2)
    assert [batch.height for batch in batches] == [2, 2, 1]
    narrow = pl.read_database("SELECT number AS n FROM numbers(5)", connection=connection, schema_overrides={"n": pl.Int8})
    assert narrow.schema["n"] == pl.Int8
    empty = pl.read_database("SELECT number AS n, 'x' AS s FROM numbers(0)", connection=connection)
    assert empty.columns == ["n", "s"] and empty.height == 0
    options = {"args": (7,)} if isinstance(connection, dbapi.connections.Connection) else {"params": {"x": 7}}
    query = "SELECT %s AS x" if "args" in options else "SELECT {x:Int64} AS x"
    assert pl.read_database(query, connection=connection, execute_options=options)["x"].to_list() == [7]


def test_pandas(connection):
    pd = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        # That it was only tested with other packages.
        warnings.simplefilter("ignore", UserWarning)
        frame = pd.read_sql(QUERY, connection)
        assert frame.columns.tolist() == ["n", "s", "t", "d", "a"] and tuple(frame.iloc[2]) == ROW
        assert frame["n"].dtype == "int64" and frame["t"].dtype.kind == "M"
        chunks = pd.read_sql("SELECT number AS n FROM numbers(5)", connection, chunksize=2)
        assert [len(chunk) for chunk in chunks] == [2, 2, 1]
        indexed = pd.read_sql("SELECT number AS n, number * 2 AS m FROM numbers(3)", connection, index_col="n")
        assert indexed.loc[2, "m"] == 4
        assert pd.read_sql("SELECT number AS n FROM numbers(0)", connection).columns.tolist() == ["n"]
        if isinstance(connection, dbapi.connections.Connection):
            assert pd.read_sql_query("SELECT %s AS x, %s AS y", connection, params=(1, "o'k")).iloc[0].tolist() == [1, "o'k"]
            assert pd.read_sql("SELECT %(x)s AS x", connection, params={"x": 5})["x"].tolist() == [5]


def test_what_execute_returns():
    with dbapi.connect() as cursor:
        executed = cursor.execute("SELECT number FROM numbers(3)")
        assert executed == 3 and isinstance(executed, int) and executed.description[0][0] == "number"
        assert executed.fetchone() == (0,) and list(executed) == [(1,), (2,)] and executed.fetchall() == ()
        assert cursor.execute("CREATE TABLE t (x UInt8) ENGINE = Memory") == -1
