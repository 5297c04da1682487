"""Objects of the program as tables: which names are found, what is shared, what is refused."""

import datetime
import decimal
import gc
import sys
import threading
import uuid

import pytest

import chalet

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

everywhere = pd.DataFrame({"x": [1, 2, 3]})
hidden = pd.DataFrame({"x": [10]})
seven = 7


def rows(db, sql, tables=None):
    """The rows of a statement that sees the local variables of who calls."""
    tables = sys._getframe(1).f_locals if tables is None else tables
    return db.sql(sql, tables=dict(tables)).fetchall()


def types(db, name, tables=None):
    tables = sys._getframe(1).f_locals if tables is None else tables
    return {row[0]: row[1] for row in rows(db, f"DESCRIBE TABLE {name}", tables)}


# --- names ---


@pytest.mark.parametrize("name", ["Python(everywhere)", "python(everywhere)", "Python('everywhere')", "everywhere"])
def test_a_global_variable(db, name):
    assert db.sql(f"SELECT sum(x) FROM {name}").fetchall() == [(6,)]


def test_a_local_variable_hides_a_global_one(db):
    hidden = pd.DataFrame({"x": [5]})
    assert db.query("SELECT x FROM hidden").data() == db.query("SELECT x FROM Python(hidden)").data() == "5\n"
    assert len(hidden) == 1


def test_only_the_caller_is_looked_at(db):
    mine = pd.DataFrame({"x": [5]})

    def helper():
        return rows_without_names(db, "SELECT x FROM mine")

    with pytest.raises(chalet.Error) as caught:
        helper()
    assert caught.value.name == "UNKNOWN_TABLE"
    assert len(mine) == 1


def rows_without_names(db, sql):
    return db.query(sql).data()


def test_every_way_to_ask_finds_the_callers_variables():
    here = pd.DataFrame({"x": [4]})
    session = chalet.session.Session()
    with chalet.connect() as db:
        cursor = db.cursor()
        assert chalet.query("SELECT x FROM here").data() == "4\n"
        assert chalet.sql("SELECT x FROM here").data() == "4\n"
        assert db.sql("SELECT x FROM here").data() == "4\n"
        assert session.query("SELECT x FROM here").data() == "4\n"
        assert cursor.execute("SELECT x FROM here").fetchall() == ((4,),)
        assert db.execute("SELECT x FROM here").fetchone() == (4,)
    assert len(here) == 1


def test_tables_of_the_database_come_before_variables(db):
    t = pd.DataFrame({"x": [1]})
    db.query("CREATE TABLE t (x UInt8) ENGINE = Memory; INSERT INTO t VALUES (2)")
    assert db.query("SELECT x FROM t").data() == "2\n"
    assert db.query("SELECT x FROM Python(t)").data() == "1\n"
    assert db.query("SELECT x FROM t", tables={"t": t}).data() == "1\n"


def test_a_common_table_expression_comes_first(db):
    assert db.query("WITH everywhere AS (SELECT 9 AS x) SELECT x FROM everywhere").data() == "9\n"


def test_given_tables(db):
    tables = {"a": {"x": [1, 2]}, "b": [{"x": 2, "y": "two"}]}
    assert rows(db, "SELECT a.x, y FROM a JOIN b ON a.x = b.x", tables=tables) == [(2, "two")]
    assert rows(db, "SELECT x FROM Python(a) ORDER BY x", tables=tables) == [(1,), (2,)]
    assert chalet.query("SELECT sum(x) FROM a", tables=tables).data() == "3\n"


def test_registered_tables(db):
    db.register("r", pd.DataFrame({"x": [1, 2]})).register("s", {"x": [5]})
    assert db.query("SELECT sum(x) FROM r").data() == "3\n"
    assert db.query("SELECT sum(r.x * s.x) FROM r, s").data() == "15\n"
    db.register("r", pd.DataFrame({"x": [7]}))
    assert db.query("SELECT x FROM r").data() == "7\n"
    db.unregister("r").unregister("r")
    with pytest.raises(chalet.Error, match="Unknown table expression identifier 'r'"):
        db.query("SELECT x FROM r")


def test_a_registered_table_keeps_its_object_until_the_end():
    frame = pd.DataFrame({"x": [1, 2]})
    db = chalet.connect()
    db.register("r", frame)
    del frame
    gc.collect()
    assert db.query("SELECT sum(x) FROM r").data() == "3\n"
    db.close()


def test_attributes(db):
    class Box:
        frame = pd.DataFrame({"x": [3]})

    box = Box()
    assert db.query("SELECT x FROM Python(box.frame)").data() == "3\n"
    assert box.frame is Box.frame


def test_an_alias_may_be_called_as_the_table(db):
    assert db.query("SELECT x AS everywhere FROM Python(everywhere) LIMIT 1").data() == "1\n"


@pytest.mark.parametrize(("name", "why"), [("nosuch", "not found"), ("seven", "is a int"), ("Python", "is a type|not found")])
def test_what_is_no_table(db, name, why):
    with pytest.raises(chalet.Error, match=why) as caught:
        db.query(f"SELECT * FROM Python({name})")
    assert caught.value.name == "PY_OBJECT_NOT_FOUND"


def test_an_unknown_table_says_what_the_variable_is(db):
    with pytest.raises(chalet.Error, match="'seven'.*is a int, which is no table") as caught:
        db.query("SELECT * FROM seven")
    assert caught.value.name == "UNKNOWN_TABLE"


# --- what a table can do ---


def test_joins_unions_subqueries_and_self_joins(db):
    left = pd.DataFrame({"k": [1, 2, 3], "v": ["a", "b", "c"]})
    right = pl.DataFrame({"k": [2, 3, 4], "w": [20, 30, 40]})
    assert rows(db, "SELECT v, w FROM left JOIN right ON left.k = right.k ORDER BY v") == [("b", 20), ("c", 30)]
    assert rows(db, "SELECT count() FROM left AS a JOIN left AS b ON a.k < b.k") == [(3,)]
    assert rows(db, "SELECT k FROM left WHERE k IN (SELECT k FROM right) ORDER BY k") == [(2,), (3,)]
    assert rows(db, "SELECT sum(k) FROM (SELECT k FROM left UNION ALL SELECT k FROM right)") == [(15,)]


def test_row_ids(db):
    big = pd.DataFrame({"x": np.arange(200_000)})
    assert rows(db, "SELECT count(), countIf(_row_id != x) FROM big") == [(200_000, 0)]
    assert rows(db, "SELECT _row_id, x FROM big WHERE x IN (3, 150000) ORDER BY x") == [(3, 3), (150_000, 150_000)]
    assert "_row_id" not in types(db, "Python(big)")


def test_counts_limits_and_filters_over_many_blocks(db):
    big = pd.DataFrame({"x": np.arange(300_000), "s": [str(i) for i in range(300_000)]})
    assert rows(db, "SELECT count() FROM big") == [(300_000,)]
    assert rows(db, "SELECT x, s FROM big LIMIT 3") == [(0, "0"), (1, "1"), (2, "2")]
    assert rows(db, "SELECT x, s FROM big WHERE x > 250000 LIMIT 2") == [(250_001, "250001"), (250_002, "250002")]
    assert rows(db, "SELECT sum(toUInt64(s)) FROM big WHERE x % 100000 = 7") == [(7 + 100_007 + 200_007,)]
    assert rows(db, "SELECT s FROM big WHERE x < 0") == []
    assert rows(db, "SELECT s FROM big ORDER BY x DESC LIMIT 1 OFFSET 1") == [("299998",)]


def test_rows_read_are_counted(db):
    big = pd.DataFrame({"x": np.arange(100_000)})
    assert db.query("SELECT sum(x) FROM big WHERE x < 5").storage_rows_read() == len(big)


def test_several_statements_and_views(db):
    frame = pd.DataFrame({"x": [1, 2]})
    db.query("CREATE TABLE t ENGINE = Memory AS SELECT * FROM frame; INSERT INTO t SELECT x + 10 FROM Python(frame)")
    assert rows(db, "SELECT x FROM t ORDER BY x") == [(1,), (2,), (11,), (12,)]
    db.query("CREATE VIEW v AS SELECT x * 2 AS y FROM Python(frame)")
    assert rows(db, "SELECT sum(y) FROM v", tables={"frame": frame}) == [(6,)]


# --- memory ---


def test_what_is_kept_does_not_follow_the_frame(db):
    array = np.arange(1000)
    frame = pd.DataFrame({"x": array}, copy=False)
    assert np.shares_memory(frame["x"].to_numpy(), array)
    db.query("CREATE TABLE t ENGINE = Memory AS SELECT x FROM frame")
    result = db.query("SELECT x FROM frame")
    cursor = db.cursor().execute("SELECT x FROM frame")
    array[:] = -1
    assert db.query("SELECT sum(x) FROM t").data() == "499500\n"
    assert result.df()["x"].sum() == 499500
    assert sum(x for (x,) in cursor.fetchall()) == 499500
    assert db.query("SELECT sum(x) FROM frame").data() == "-1000\n"


def test_a_frame_can_go_while_its_rows_are_read(db):
    frame = pd.DataFrame({"x": np.arange(1000), "s": [f"text number {i}" for i in range(1000)]})
    result = db.sql("SELECT x, s FROM frame")
    del frame
    gc.collect()
    assert result.df()["s"].tolist()[-1] == "text number 999"


def test_many_threads_read_one_frame():
    frame = pd.DataFrame({"x": np.arange(100_000), "o": pd.Series([str(i % 7) for i in range(100_000)], dtype=object)})
    failures = []

    def work():
        try:
            with chalet.connect() as db:
                for _ in range(5):
                    answer = db.query("SELECT sum(x), uniqExact(o) FROM frame", "TabSeparated", tables={"frame": frame}).data()
                    assert answer == "4999950000\t7\n", answer
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert not failures


# --- other sources ---


def test_answers_of_other_queries(db):
    first = db.sql("SELECT toDateTime('2024-01-01 00:00:00', 'UTC') + number AS t, toLowCardinality(toString(number)) AS s FROM numbers(5)")
    assert types(db, "Python(first)") == {"t": "DateTime('UTC')", "s": "LowCardinality(String)"}
    assert rows(db, "SELECT max(t), count(DISTINCT s) FROM first")[0][1] == 5


def test_readers_are_streams(db):
    table = pa.table({"x": list(range(10)), "s": [str(i) for i in range(10)]})
    reader = table.to_reader(max_chunksize=3)
    assert rows(db, "SELECT x, s FROM reader WHERE x >= 8 ORDER BY x") == [(8, "8"), (9, "9")]
    again = table.to_reader()
    with pytest.raises(chalet.Error, match="read it into a table first"):
        db.query("SELECT count() FROM again AS a JOIN again AS b ON a.x = b.x")


def test_a_reader_is_not_read_before_it_is_asked(db):
    def batches():
        yield pa.record_batch({"x": [1, 2]})
        raise ValueError("the source broke")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
    assert types(db, "Python(reader)") == {"x": "Nullable(Int64)"}
    with pytest.raises(chalet.Error, match="the source broke"):
        db.query("SELECT sum(x) FROM reader")


def test_record_batches_arrays_and_datasets(db, tmp_path):
    import pyarrow.dataset
    import pyarrow.parquet

    batch = pa.record_batch({"x": [1, 2, None]})
    assert rows(db, "SELECT sum(x), count() FROM batch") == [(3, 3)]
    array = pa.array([1, 2, 3])
    assert rows(db, "SELECT sum(column0) FROM array") == [(6,)]
    pyarrow.parquet.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "a.parquet")
    dataset = pyarrow.dataset.dataset(tmp_path)
    assert rows(db, "SELECT y FROM dataset WHERE x = 2") == [("b",)]
    assert rows(db, "SELECT count() FROM dataset") == [(2,)]


def test_polars(db):
    frame = pl.DataFrame({"i": [1, None], "s": ["a", None], "l": [[1], []], "c": ["x", "y"]}, schema_overrides={"c": pl.Categorical})
    assert rows(db, "SELECT i, s, l, c FROM frame") == [(1, "a", [1], "x"), (None, None, [], "y")]
    lazy = frame.lazy().filter(pl.col("i") == 1)
    assert rows(db, "SELECT s FROM lazy") == [("a",)]
    assert rows(db, "SELECT count() FROM lazy") == [(1,)]
    series = pl.Series("v", [1, 2, 3])
    assert rows(db, "SELECT sum(v) FROM series") == [(6,)]


def test_polars_types_that_arrow_lacks(db):
    odd = pl.DataFrame(
        {
            "o": pl.Series([datetime.date(2024, 1, 1), uuid.UUID(int=1)], dtype=pl.Object),
            "n": [None, None],
            "w": pl.Series([2**100, None], dtype=pl.Int128),
            "i": [1, 2],
        }
    )
    for frame in (odd, odd.lazy()):
        assert rows(db, "SELECT o, n, w, i FROM frame")[0] == ("2024-01-01", None, 2**100, 1)


def test_arrays_in_object_columns(db):
    frame = pd.DataFrame({"x": pd.Series([np.array([1.5, 2.0]), np.array([])], dtype=object)})
    assert rows(db, "SELECT x FROM frame") == [([1.5, 2.0],), ([],)]


def test_only_needed_columns_of_a_lazy_frame_are_computed(db):
    def fail(_):
        raise RuntimeError("computed")

    lazy = pl.DataFrame({"a": [1, 2], "b": [3, 4]}).lazy().with_columns(pl.col("b").map_batches(fail, return_dtype=pl.Int64))
    assert rows(db, "SELECT sum(a) FROM lazy") == [(3,)]
    with pytest.raises(chalet.Error, match="computed"):
        db.query("SELECT sum(b) FROM lazy")


def test_ranges_reach_the_source(db, tmp_path):
    import pyarrow.dataset
    import pyarrow.parquet

    table = pa.table({"x": list(range(1000)), "s": [f"{i:04}" for i in range(1000)], "f": [i / 2 for i in range(1000)]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    dataset = pyarrow.dataset.dataset(tmp_path)
    lazy = pl.from_arrow(table).lazy()
    for name in ("dataset", "lazy"):
        for condition, expected in (("x >= 998", 2), ("x < 3 AND f > 0.5", 1), ("s = '0500'", 1), ("x BETWEEN 5 AND 7", 3), ("x > 1e30", 0), ("f != 1", 999)):
            result = db.sql(f"SELECT count() FROM {name} WHERE {condition}", tables={"dataset": dataset, "lazy": lazy})
            assert result.fetchall() == [(expected,)], condition
    assert db.query("SELECT x FROM lazy WHERE x > 990").rows_read() < 1000
    assert rows(db, "SELECT _row_id FROM lazy WHERE x > 997 ORDER BY x") == [(998,), (999,)]


def test_dicts_lists_and_arrays(db):
    arrays = {"x": np.arange(3), "y": ["a", "b", None], "z": (1.5, None, 2.5)}
    assert rows(db, "SELECT * FROM arrays") == [(0, "a", 1.5), (1, "b", None), (2, None, 2.5)]
    records = [{"a": 1, "b": "x"}, {"a": 2, "c": [1, 2]}]
    assert rows(db, "SELECT a, b, c FROM records") == [(1, "x", []), (2, None, [1, 2])]
    matrix = np.arange(6).reshape(3, 2)
    assert rows(db, "SELECT column0, column1 FROM matrix") == [(0, 1), (2, 3), (4, 5)]
    structured = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert rows(db, "SELECT a, b FROM structured") == [(1, 2.5), (3, 4.5)]
    uneven = {"x": [1], "y": [1, 2]}
    with pytest.raises(chalet.Error, match="one length"):
        db.query("SELECT * FROM Python(uneven)")


def test_a_reader_of_python(db):
    class Reader:
        def __init__(self):
            self.left = [[1, 2], [3, None]]
            self.asked = []

        def get_schema(self):
            return [("a", "int"), ("b", "str"), ("c", "Array(UInt8)")]

        def read(self, names, count):
            self.asked.append(list(names))
            if not self.left:
                return []
            values = self.left.pop(0)
            columns = {"a": values, "b": [str(v) for v in values], "c": [[1]] * len(values)}
            return [columns[name] for name in names]

    reader = Reader()
    assert types(db, "Python(reader)") == {"a": "Nullable(Int64)", "b": "Nullable(String)", "c": "Array(UInt8)"}
    assert rows(db, "SELECT sum(a), count() FROM Python(reader)") == [(6, 4)]
    assert reader.asked[0] == ["a"]
    assert rows(db, "SELECT c, b FROM reader WHERE a = 2", tables={"reader": Reader()}) == [([1], "2")]


def test_the_class_of_readers(db):
    class Reader(chalet.PyReader):
        def read(self, names, count):
            data, self.data = self.data, dict.fromkeys(self.data, ())
            return [data[name] for name in names]

    reader = Reader({"i": [1, None], "f": [1, 0.5], "s": ["a", None], "b": [True, False], "n": np.array([1, 2], dtype="u2")})
    assert list(types(db, "Python(reader)").values()) == [f"Nullable({t})" for t in ("Int64", "Float64", "String", "Bool", "UInt16")]
    assert rows(db, "SELECT s, n, b FROM reader WHERE f = 1") == [("a", 1, True)]
    with pytest.raises(chalet.Error, match="has no get_schema"):
        db.query("SELECT * FROM Python(bare)", tables={"bare": Reader([1])})


def test_a_reader_that_raises(db):
    class Reader:
        def get_schema(self):
            return [("a", "int")]

        def read(self, names, count):
            raise OSError("no such device")

    broken = Reader()
    with pytest.raises(chalet.Error, match="OSError: no such device") as caught:
        db.query("SELECT a FROM broken")
    assert caught.value.name == "PY_EXCEPTION_OCCURED"


def test_a_variable_is_no_view_with_parameters(db):
    class Touched:
        def __getattribute__(self, name):
            raise RuntimeError(name)

    numbers = Touched()
    assert rows(db, "SELECT count() FROM numbers(10)") == [(10,)]
    db.execute("CREATE VIEW seen AS SELECT {n:UInt8} AS n")
    seen = Touched()
    assert rows(db, "SELECT n FROM seen(n = 3)") == [(3,)]


# --- pandas' ways ---


def test_labels_become_names(db):
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])
    assert types(db, "Python(twice)") == {"a": "Int64", "a_1": "Int64", "b": "Int64"}
    numbers = pd.DataFrame([[1, 2]])
    assert rows(db, "SELECT `0`, `1` FROM numbers") == [(1, 2)]
    nested = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert rows(db, "SELECT a_x, a_y FROM nested") == [(1, 2)]


def test_empty_frames(db):
    nothing = pd.DataFrame({"a": pd.Series([], dtype="int64"), "b": pd.Series([], dtype=object)})
    assert rows(db, "SELECT a, b FROM nothing") == []
    assert rows(db, "SELECT count(), sum(a) FROM nothing") == [(0, 0)]
    for empty in (pa.table({"a": pa.array([], pa.string())}), pl.DataFrame({"a": []}, schema={"a": pl.String})):
        assert rows(db, "SELECT a FROM empty") == [] and len(empty) == 0


def test_a_bad_column_matters_only_when_it_is_read(db):
    frame = pd.DataFrame({"a": [1], "p": pd.period_range("2024-01", periods=1, freq="M"), "c": [1j]})
    assert rows(db, "SELECT a FROM frame") == [(1,)]
    for column in "pc":
        with pytest.raises(chalet.Error, match="Unsupported dtype") as caught:
            db.query(f"SELECT {column} FROM frame")
        assert caught.value.name == "NOT_IMPLEMENTED"


def test_objects_have_their_types(db):
    values = {
        "Int64": [1, -2],
        "UInt64": [1, 2**64 - 1],
        "Int128": [-1, 2**100],
        "Float64": [1, 2.5],
        "Bool": [True, False],
        "String": ["a", "é"],
        "Decimal(5, 3)": [decimal.Decimal("12.5"), decimal.Decimal("0.125")],
        "Date32": [datetime.date(2024, 1, 1), datetime.date(1900, 2, 3)],
        "DateTime64(6)": [datetime.datetime(2024, 1, 1, 2, 3, 4, 5), datetime.datetime(1950, 1, 1)],
        "UUID": [uuid.UUID(int=1), uuid.UUID(int=2**127)],
        "Array(Int64)": [[1, 2], []],
        "Array(Array(String))": [[["a"], []], []],
        "Tuple(Int64, String)": [(1, "a"), (2, "b")],
        "Map(String, Int64)": [{"a": 1}, {"b": 2, "c": 3}],
    }
    for expected, (first, second) in values.items():
        column = {"x": pd.Series([first, second], dtype=object)}
        assert types(db, "column", tables={"column": column}) == {"x": expected}
        assert [x for (x,) in rows(db, "SELECT x FROM column", tables={"column": column})] == [first, second]
        if expected[:5] in ("Array", "Tuple", "Map(S"):
            continue
        column = {"x": pd.Series([first, None, second], dtype=object)}
        assert types(db, "column", tables={"column": column}) == {"x": f"Nullable({expected})"}
        assert [x for (x,) in rows(db, "SELECT x FROM column", tables={"column": column})] == [first, None, second]


def test_objects_of_several_kinds_are_text(db):
    mixed = pd.DataFrame({"x": pd.Series([1, "a", 2.5, None], dtype=object), "y": pd.Series([2**60 + 1, 0.5, 1, 1], dtype=object)})
    assert rows(db, "SELECT x, y FROM mixed")[:2] == [("1", str(2**60 + 1)), ("a", "0.5")]


def test_bytes_are_bytes(db):
    frame = pd.DataFrame({"x": pd.Series([b"\xff\x00a", b""], dtype=object)})
    assert rows(db, "SELECT hex(x) FROM frame") == [("FF0061",), ("",)]


def test_a_frame_whose_columns_are_named_anew(db):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert db.query("SELECT sum(a) FROM frame").data() == "3\n"
    frame.columns = ["b", "a"]
    assert db.query("SELECT sum(b), max(a) FROM frame").data() == '3,"y"\n'
    frame = frame.rename(columns={"b": "c"})
    assert db.query("SELECT sum(c) FROM frame").data() == "3\n"


def test_python_sees_the_variables_of_callers():
    """`Python(name)` means a variable, in whatever function it is; a bare name is one of the function that asks."""
    pytest.importorskip("pandas")
    import pandas

    def asks(sql):
        return chalet.query(sql).data()

    def has():
        mine = pandas.DataFrame({"a": [1, 2]})
        found = [chalet.query(f"SELECT sum(a) + {n} FROM Python(mine)").data() for n in range(2)]
        with pytest.raises(chalet.Error, match="mine"):
            asks("SELECT sum(a) FROM mine")
        return [*found, asks("SELECT sum(a) FROM Python(mine)"), (lambda: asks("SELECT max(a) FROM Python(mine)"))()]

    assert has() == ["3\n", "4\n", "3\n", "2\n"]
    with pytest.raises(chalet.Error, match="not found"):
        asks("SELECT * FROM Python(mine)")
