"""DataFrames, Arrow tables and everything that reads the Arrow stream."""

import datetime

import pytest

import chalet

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

COLUMNS = """
    number AS u64,
    toInt8(number) AS i8,
    number / 4 AS f64,
    toString(number) AS s,
    number % 2 = 0 AS b8,
    number = 1 AS odd,
    if(number = 1, NULL, toInt32(number)) AS ni,
    if(number = 1, NULL, number / 2) AS nf,
    if(number = 1, NULL, toString(number)) AS ns,
    toDate('2024-01-01') + number AS d,
    toDateTime('2024-01-01 00:00:00') + number AS dt,
    toDateTime64('2024-01-01 00:00:00.125', 3, 'Europe/Paris') AS dt64,
    toDecimal64(1.25, 2) AS dec,
    [number, 1] AS arr,
    (number, 'x') AS tup,
    map('k', number) AS m,
    toUInt256(number) AS big,
    toBool(number) AS flag,
    toLowCardinality('low') AS lc
"""


@pytest.fixture
def frame(db):
    return db.query(f"SELECT {COLUMNS} FROM numbers(3)", "DataFrame")


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("u64", "uint64"),
        ("i8", "int8"),
        ("f64", "float64"),
        ("ni", "Int32"),
        ("nf", "float64"),
        ("d", "datetime64[s]"),
        ("dt", "datetime64[s]"),
        ("dt64", "datetime64[ms, Europe/Paris]"),
        ("dec", "float64"),
        ("arr", "object"),
        ("big", "object"),
        ("flag", "bool"),
    ],
)
def test_dtypes(frame, column, dtype):
    assert str(frame[column].dtype) == dtype


def test_values(frame):
    assert frame["u64"].tolist() == [0, 1, 2]
    assert frame["s"].tolist() == ["0", "1", "2"]
    assert frame["ni"].isna().tolist() == [False, True, False]
    assert frame["nf"].isna().tolist() == [False, True, False]
    assert frame["ns"].isna().tolist() == [False, True, False]
    assert frame["d"][2] == pd.Timestamp("2024-01-03")
    assert frame["dt"][2] == pd.Timestamp("2024-01-01 00:00:02")
    assert frame["dt64"][0] == pd.Timestamp("2024-01-01 00:00:00.125", tz="Europe/Paris")
    assert frame["dec"].tolist() == [1.25] * 3
    assert frame["arr"][2] == [2, 1]
    assert frame["tup"][2] == (2, "x")
    assert frame["m"][2] == {"k": 2}
    assert frame["big"][2] == 2
    assert frame["lc"].tolist() == ["low"] * 3


def test_a_frame_can_be_changed(frame):
    frame.loc[0, "u64"] = 9
    assert frame["u64"].tolist() == [9, 1, 2]


def test_frames_share_nothing_that_can_be_changed(db):
    ask = "SELECT 1 AS a, 'x' AS b FROM numbers(2)"
    first = db.query(ask, "DataFrame")
    first.columns.name, first.index.name = "letters", "numbers"
    first.iloc[0, 0] = 7
    second = db.query(ask, "DataFrame")
    assert (second.columns.name, second.index.name, second["a"].tolist()) == (None, None, [1, 1])
    assert first.columns.name == "letters"


def test_no_rows_keep_their_types(db):
    empty = db.query("SELECT number AS a, 'x' AS b, today() AS c FROM numbers(0)", "DataFrame")
    assert list(empty.columns) == ["a", "b", "c"] and len(empty) == 0
    assert str(empty["a"].dtype) == "uint64" and str(empty["c"].dtype) == "datetime64[s]"


def test_columns_of_one_name(db):
    twice = db.query("SELECT 1, 1", "DataFrame")
    assert list(twice.columns) == ["1", "1"] and twice.iloc[0].tolist() == [1, 1]


def test_df_of_a_result(db):
    assert db.sql("SELECT number FROM numbers(100000)").df()["number"].sum() == 4999950000


def test_bytes_and_df_of_one_result(db):
    result = db.sql("SELECT 5 AS x")
    assert result.data() == "5\n"
    assert result.df()["x"].tolist() == [5]
    assert result.data() == "5\n"


def test_arrow_table(db):
    table = db.query("SELECT number AS n, toString(number) AS s, if(number = 2, NULL, 1.5) AS f FROM numbers(3)", "ArrowTable")
    assert table.to_pydict() == {"n": [0, 1, 2], "s": ["0", "1", "2"], "f": [1.5, 1.5, None]}
    assert table.schema.field("n").type == pa.uint64()
    assert not table.schema.field("n").nullable and table.schema.field("f").nullable


def test_the_stream_can_be_read_twice(db):
    result = db.sql("SELECT number FROM numbers(100000)")
    for _ in range(2):
        assert pa.table(result).num_rows == 100000


def test_arrow_nested(db):
    table = db.query("SELECT [1, NULL] AS a, map('k', 'v') AS m, (1, 'x') AS t, toDate('2024-01-01') AS d", "ArrowTable")
    row = table.to_pylist()[0]
    assert row["a"] == [1, None] and dict(row["m"]) == {"k": "v"} and row["d"] == datetime.date(2024, 1, 1)
    assert list(row["t"].values()) == [1, "x"]


def test_polars_reads_a_result(db):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(db.sql("SELECT number AS n, toString(number) AS s FROM numbers(3)"))
    assert frame.to_dict(as_series=False) == {"n": [0, 1, 2], "s": ["0", "1", "2"]}


def test_a_stream_outlives_its_connection():
    with chalet.connect() as db:
        result = db.query("SELECT number AS n, toString(number) AS s FROM numbers(1000)")
    table = pa.table(result)
    del result
    assert table["n"].to_pylist() == list(range(1000))


def test_large_columns_as_arrays(db):
    """Arrays of some megabytes are written in another way than small ones."""
    pytest.importorskip("pandas")
    columns = "toInt64(number) - 5 AS i, number * 3 AS u, number / 4 AS f, if(number % 7 = 0, NULL, number / 8) AS n"
    frame = db.query(f"SELECT {columns} FROM numbers(700001)", "DataFrame")
    numbers = range(700001)
    assert frame.i.tolist() == [n - 5 for n in numbers] and frame.u.tolist() == [n * 3 for n in numbers]
    assert frame.f.tolist() == [n / 4 for n in numbers]
    assert frame.n.isna().sum() == 100001 and frame.n[1:7].tolist() == [n / 8 for n in range(1, 7)]
    assert frame.n.sum() == sum(n / 8 for n in numbers if n % 7)
