"""Sources at their borders: memory that is written to later, filters that reach the source, odd types and names."""

import datetime
import decimal
import sys

import pytest

import chalet

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

N = 70_000


def rows(db, sql):
    """The rows of a statement that sees the local variables of who calls."""
    return db.sql(sql, tables=dict(sys._getframe(1).f_locals)).fetchall()


def types(db, name):
    return [row[1] for row in db.sql(f"DESCRIBE TABLE {name}", tables=dict(sys._getframe(1).f_locals)).fetchall()]


# --- memory that is written to later ---


@pytest.mark.parametrize("expr", ["tuple(a)", "[tuple(a)]", "tuple(tuple(a, 'x'))", "map('k', a)", "toNullable(a)"])
def test_what_is_kept_in_nested_values_is_a_copy(db, expr):
    array = np.arange(1000)
    frame = pd.DataFrame({"a": array}, copy=False)
    assert np.shares_memory(frame["a"].to_numpy(), array)
    db.query(f"CREATE TABLE m ENGINE = Memory AS SELECT {expr} AS t FROM frame")
    result = db.query(f"SELECT {expr} AS t FROM frame", "ArrowTable")
    before = [str(t) for t in result["t"].to_pylist()]
    array[:] = -7
    assert [str(t) for t in result["t"].to_pylist()] == before
    assert db.query("SELECT t FROM m", "ArrowTable")["t"].to_pylist() == result["t"].to_pylist()
    assert "-7" not in db.query("SELECT t FROM m LIMIT 5").data()


def shares(kind, array):
    """Objects whose values lie in the array."""
    if kind == "polars":
        return pl.Series("a", array).to_frame()
    if kind == "lazy":
        return pl.Series("a", array).to_frame().lazy()
    if kind == "dict":
        return {"a": pa.array(array)}
    if kind == "list":
        return pa.table({"a": pa.FixedSizeListArray.from_arrays(pa.array(array), 1)})
    if kind == "struct":
        return pa.table({"a": pa.StructArray.from_arrays([pa.array(array)], ["x"])})
    if kind == "bytes":
        return pa.table({"a": pa.Array.from_buffers(pa.binary(8), len(array), [None, pa.py_buffer(array)])})
    table = pa.table({"a": array})
    return table.to_reader(1000) if kind == "reader" else table


@pytest.mark.parametrize("kind", ["table", "reader", "dict", "list", "struct", "bytes", "polars", "lazy"])
def test_what_is_kept_of_arrow_is_a_copy(db, kind):
    array = np.arange(N)
    source = shares(kind, array)
    db.query("CREATE TABLE t ENGINE = Memory AS SELECT * FROM source")
    source = shares(kind, array)
    result = db.query("SELECT a FROM source")
    expected = pa.table(result)["a"].to_pylist()
    array[:] = 0
    assert pa.table(result)["a"].to_pylist() == expected
    assert db.sql("SELECT a FROM t").arrow()["a"].to_pylist() == expected
    assert str(expected[3]) != str(expected[0]) and source is not None


def test_many_chunks_are_copied_too(db):
    arrays = [np.arange(i, i + 3) for i in range(2000)]
    chunks = pa.table({"a": pa.chunked_array([pa.array(array) for array in arrays])})
    db.query("CREATE TABLE t ENGINE = Memory AS SELECT * FROM chunks")
    expected = int(sum(array.sum() for array in arrays))
    assert len(chunks) == 6000
    for array in arrays:
        array[:] = 0
    assert db.query("SELECT sum(a) FROM t").data() == f"{expected}\n"


# --- filters that reach the source ---


def same_answers(db, table, lazy, conditions):
    import pyarrow.dataset

    dataset = pyarrow.dataset.dataset(table)
    for columns in ("count()", "*"):
        for condition in conditions:
            sql = f"SELECT {columns} FROM {{}} WHERE {condition}"
            expected = rows(db, sql.format("table"))
            assert rows(db, sql.format("dataset")) == expected, condition
            assert rows(db, sql.format("lazy")) == expected, condition
    assert len(dataset.schema) == len(lazy.collect_schema())


def test_filters_on_bools(db):
    table = pa.table({"x": [1, 2, 3, 4], "flag": [True, False, None, True]})
    conditions = ["flag = true", "flag = false", "flag", "NOT flag", "flag > 0", "flag < 1", "flag >= 2", "flag < 5", "flag > -1"]
    same_answers(db, table, pl.from_arrow(table).lazy(), conditions)


def test_filters_on_unsigned_numbers(db):
    table = pa.table({"u": pa.array([1, 7, 2**64 - 1, None], pa.uint64()), "b": pa.array([1, 7, 255, None], pa.uint8())})
    conditions = [f"{c} {o} {v}" for c in "ub" for o in ("=", ">", "<=", "!=") for v in (-1, 5, 7, 300, 2**63, 2**64 - 1)]
    conditions += ["u BETWEEN -1 AND 7", "u BETWEEN 5 AND 18446744073709551615", "b BETWEEN -5 AND 5", "u = 18446744073709551615"]
    same_answers(db, table, pl.from_arrow(table).lazy(), conditions)


def test_filters_on_small_floats(db):
    table = pa.table({"f": pa.array([0.1, 1, None, float("nan")], pa.float32()), "x": [1, 2, 3, 4]})
    conditions = ["f > 0.1", "f < 0.1", "f = 0.1", "f <= 0.1", "f >= toFloat32(0.1)", "x > 1.5", "f > 0.1 AND x < 3"]
    dropped = table.drop_columns("f").add_column(0, "f", pa.array([0.1, 1, None, 2], pa.float32()))
    same_answers(db, dropped, pl.from_arrow(dropped).lazy(), conditions)
    half = pa.table({"h": pa.array([1, 2, None], pa.float16())})
    same_answers(db, half, pl.from_arrow(half).lazy(), ["h > 1", "h = 2", "h < 1.5"])


def test_filters_on_texts(db):
    texts = ["a", None, "a longer text than a view holds", "é"]
    coded = pa.dictionary(pa.int32(), pa.string())
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view(), coded):
        given = texts if not pa.types.is_dictionary(kind) else pa.array(texts).dictionary_encode()
        values = pa.array([t and t.encode() for t in texts], kind) if "binary" in str(kind) else pa.array(given, kind)
        table = pa.table({"s": values, "x": [1, 2, 3, 4]})
        conditions = ["s = 'a'", "s > 'a'", "x > 2", "x > 2 AND s < 'b'", "s BETWEEN 'a' AND 'b'", "s = unhex('FF')"]
        same_answers(db, table, pl.from_arrow(table).lazy(), conditions)


def test_filters_beside_views(db):
    import pyarrow.dataset

    lists = pa.array([["a"], ["b"]], pa.list_(pa.string_view()))
    dataset = pyarrow.dataset.dataset(pa.table({"l": lists, "x": [1, 2], "y": [3, 4]}))
    assert rows(db, "SELECT l, y FROM dataset WHERE x = 2") == [(["b"], 4)]
    assert rows(db, "SELECT y FROM dataset WHERE x = 2") == [(4,)]
    assert dataset.count_rows() == 2


# --- columns that cannot be read ---


def test_categories_that_cannot_be_read(db):
    frame = pd.DataFrame({"x": [1, 5, 9]})
    frame["part"] = pd.cut(frame["x"], [0, 4, 10])
    frame["month"] = pd.Categorical(pd.period_range("2024-01", periods=3, freq="M"))
    frame["complex"] = pd.Categorical([1j, 2j, 1j])
    assert rows(db, "SELECT sum(x) FROM frame") == [(15,)]
    for column in ("part", "month", "complex"):
        with pytest.raises(chalet.Error, match=f"Unsupported dtype .* of column '{column}'"):
            db.query(f"SELECT {column} FROM frame")
    with pytest.raises(chalet.Error, match="astype"):
        db.query("SELECT * FROM frame")


def test_arrow_columns_that_cannot_be_read(db):
    gaps = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    columns = {"x": [1], "gap": gaps}
    assert rows(db, "SELECT x FROM columns") == [(1,)]
    with pytest.raises(chalet.Error, match="is not supported"):
        db.query("SELECT gap FROM columns")


# --- names ---


def test_names_that_look_like_patterns(db):
    frame = pl.DataFrame({"^a.*$": [1, 2], "abc": [30, 40], "*": [5, 6]})
    lazy = frame.lazy()
    for name in ("frame", "lazy"):
        assert rows(db, f"SELECT `^a.*$` FROM {name}") == [(1,), (2,)]
        assert rows(db, f"SELECT abc FROM {name} WHERE `^a.*$` = 2") == [(40,)]
        assert rows(db, f"SELECT `*` FROM {name} WHERE `*` > 5 AND abc < 100") == [(6,)]
    assert len(frame.columns) == len(lazy.collect_schema())


def test_names_that_occur_twice(db):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["a", "a", "a_1"])
    assert rows(db, "SELECT a_1, a, a_2 FROM table") == [(3, 1, 2)]
    answer = db.query("SELECT 1, 1, 3 AS `1_1`")
    assert rows(db, "SELECT `1_1`, `1`, `1_2` FROM answer") == [(3, 1, 1)]
    assert len(table.columns) == 3 and answer is not None


def test_a_variable_is_in_no_database(db):
    frame = pd.DataFrame({"x": [1]})
    with pytest.raises(chalet.Error, match="'default.frame': the Python variable .*, a DataFrame, is in no database: write"):
        db.query("SELECT * FROM default.frame")
    assert len(frame) == 1


# --- readers ---


def test_a_reader_is_read_once_in_all_statements(db):
    table = pa.table({"x": list(range(10_000))})
    reader = table.to_reader(100)
    assert types(db, "reader") == ["Nullable(Int64)"]
    assert rows(db, "SELECT sum(x) FROM reader") == [(49_995_000,)]
    for _ in range(2):
        with pytest.raises(chalet.Error, match="read already"):
            db.query("SELECT sum(x) FROM reader")
    part = table.to_reader(100)
    assert rows(db, "SELECT x FROM part LIMIT 1") == [(0,)]
    with pytest.raises(chalet.Error, match="read already"), chalet.connect() as other:
        other.query("SELECT count() FROM part")
    assert reader is not part


# --- dicts ---


def test_series_of_polars_in_a_dict(db):
    moment = datetime.date(2024, 1, 1)
    columns = {
        "o": pl.Series([moment, "text"], dtype=pl.Object),
        "w": pl.Series([2**100, None], dtype=pl.Int128),
        "u": pl.Series([2**100, 1], dtype=pl.UInt128) if hasattr(pl, "UInt128") else [2**100, 1],
        "n": pl.Series([None, None]),
        "i": pl.Series([1, 2]),
    }
    assert rows(db, "SELECT * FROM columns") == [("2024-01-01", 2**100, 2**100, None, 1), ("text", None, 1, None, 2)]


def test_arrays_of_pandas_in_a_dict(db):
    moments = pd.to_datetime(["2024-01-01", None])
    columns = {
        "i": pd.array([1, None], dtype="Int64"),
        "c": pd.Categorical(["x", None]),
        "t": moments.array,
        "z": moments.tz_localize("UTC").array,
        "x": moments,
        "s": pd.Series([1.5, np.nan]),
        "a": pd.array(["a", None], dtype="string"),
        "n": pd.array([1, 2], dtype="int64"),
        "r": pd.RangeIndex(2),
    }
    first, second = rows(db, "SELECT i, c, toString(t), toString(z), toDate(x), s, a, n, r FROM columns")
    day = "2024-01-01 00:00:00.000000"
    assert (*first[:2], first[2][:26], first[3][:26], *first[4:]) == (1, "x", day, day, datetime.date(2024, 1, 1), 1.5, "a", 1, 0)
    assert second == (None, None, None, None, None, None, None, 2, 1)


# --- types ---


def test_nested_types_of_polars_that_arrow_lacks(db):
    frame = pl.DataFrame(
        {
            "l": pl.Series([[None], []], dtype=pl.List(pl.Null)),
            "s": pl.Series([{"a": 1, "b": None}, {"a": 2, "b": None}]),
            "d": pl.Series([[{"a": [None]}], []], dtype=pl.List(pl.Struct({"a": pl.List(pl.Null)}))),
            "w": pl.Series([[2**100], [None]], dtype=pl.List(pl.Int128)),
            "f": pl.Series([[None, None], [None, None]], dtype=pl.Array(pl.Null, 2)),
            "Null": [1, 2],
        }
    )
    wide = decimal.Decimal(2**100)
    expected = [([None], (1, None), [([None],)], [wide], [None, None], 1), ([], (2, None), [], [None], [None, None], 2)]
    lazy = frame.lazy()
    for name in ("frame", "lazy"):
        assert rows(db, f"SELECT * FROM {name}") == expected
    assert rows(db, "SELECT s.a FROM frame WHERE s.a > 1") == [(2,)]
    columns = {name: frame[name] for name in frame.columns}
    assert rows(db, "SELECT * FROM columns") == expected and lazy is not None
    huge = pl.DataFrame({"w": pl.Series([[2**127 - 1]], dtype=pl.List(pl.Int128)), "x": [1]})
    assert rows(db, "SELECT x FROM huge") == [(1,)]
    with pytest.raises(chalet.Error, match="Unsupported dtype"):
        db.query("SELECT w FROM huge")


def test_time_spans_keep_their_values(db):
    days = datetime.timedelta(days=106_751_992)
    short = datetime.timedelta(microseconds=1)
    cases = [
        ([short, -datetime.timedelta(days=106_751_990)], "IntervalMicrosecond", [short, -datetime.timedelta(days=106_751_990)]),
        ([days, -days], "IntervalMillisecond", [days, -days]),
        ([datetime.timedelta(days=999_999_999)], "IntervalMillisecond", [datetime.timedelta(days=999_999_999)]),
        ([datetime.timedelta(days=999_999_999), short], "String", ["999999999 days, 0:00:00", "0:00:00.000001"]),
        ([pd.Timedelta(1, "ns"), pd.Timedelta(-1, "ns"), pd.Timedelta(3, "s")], "IntervalNanosecond", [1, -1, 3 * 10**9]),
        ([pd.Timedelta(3, "s"), short], "IntervalMicrosecond", [datetime.timedelta(seconds=3), short]),
    ]
    for given, expected, values in cases:
        frame = pd.DataFrame({"d": pd.Series(given, dtype=object)})
        records = [{"d": value} for value in given]
        for name in ("frame", "records"):
            assert types(db, name) == [expected]
            read = "toInt64(d)" if expected == "IntervalNanosecond" else "d"
            assert [v for (v,) in rows(db, f"SELECT {read} FROM {name}")] == values
        assert len(frame) == len(records)


def test_times_of_a_zone_are_texts(db):
    aware = datetime.time(12, 30, tzinfo=datetime.timezone.utc)
    records = [{"t": aware}, {"t": datetime.time(1, 2)}]
    assert types(db, "records") == ["String"]
    assert rows(db, "SELECT t FROM records") == [("12:30:00+00:00",), ("01:02:00",)]


def test_time_spans_of_a_reader(db):
    class Reader:
        def __init__(self, ty, value):
            self.ty, self.left = ty, [value]

        def get_schema(self):
            return [("d", self.ty)]

        def read(self, names, count):
            left, self.left = self.left, []
            return [left]

    minute = Reader("IntervalMinute", datetime.timedelta(hours=2))
    assert rows(db, "SELECT d FROM minute") == [(datetime.timedelta(hours=2),)]
    refused = [("IntervalHour", datetime.timedelta(minutes=1)), ("IntervalMonth", datetime.timedelta(days=31))]
    refused.append(("Time64(6)", datetime.time(1, tzinfo=datetime.timezone.utc)))
    refused.append(("IntervalNanosecond", datetime.timedelta(days=10**6)))
    for ty, value in refused:
        reader = Reader(ty, value)
        with pytest.raises(chalet.Error, match="does not fit into"):
            db.query("SELECT d FROM reader")
        assert reader.ty == ty


def test_a_dictionary_under_null_structs(db):
    empty = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array([], pa.string()), safe=False)
    days = pa.array([2**31 - 1, 5], pa.int32()).cast(pa.date32())
    records = pa.StructArray.from_arrays([pa.array([1, 2]), empty], ["a", "b"], mask=pa.array([True, True]))
    dates = pa.StructArray.from_arrays([days], ["d"], mask=pa.array([True, False]))
    deep = pa.StructArray.from_arrays([records], ["r"], mask=pa.array([True, True]))
    table = pa.table({"s": records, "t": dates, "d": deep})
    second = (None, None, datetime.date(1970, 1, 6), None)
    assert rows(db, "SELECT s, s.b, t.d, d FROM table") == [(None, None, None, None), second]
    values = pa.DictionaryArray.from_arrays(pa.array([9, 0], pa.int8()), pa.array(["x"]), safe=False)
    mixed = pa.table({"s": pa.StructArray.from_arrays([values], ["b"], mask=pa.array([True, False]))})
    assert rows(db, "SELECT s, s.b FROM mixed") == [(None, None), (("x",), "x")]
    offsets = pa.array([0, None, 2], pa.int32())
    lists = pa.table({"l": pa.ListArray.from_arrays(offsets, values), "x": [1, 2]})
    assert rows(db, "SELECT l FROM lists WHERE x = 2") == [([],)] and len(lists) == 2
    buffers = [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([0, 1, 2], "i4"))]
    gone = pa.ListArray.from_buffers(pa.list_(values.type), 2, buffers, children=[values])
    holes = pa.table({"l": gone, "d": pa.FixedSizeListArray.from_arrays(days, 1, mask=pa.array([True, False]))})
    assert rows(db, "SELECT l, d FROM holes") == [([], []), (["x"], [datetime.date(1970, 1, 6)])]
    assert len(table) == len(mixed) == len(holes)
