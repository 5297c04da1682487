"""Object columns of frames: their types come from a sample until it is known which of them a statement reads, and are those of
all values where it does."""

import chalet
import numpy
import pandas
import pytest

N = 50_000
# Behind all but the last objects of a sample, and beside them.
LATE = N - 3


def objects(values) -> numpy.ndarray:
    array = numpy.empty(N, dtype=object)
    array[:] = values
    return array


def frame_with(late) -> pandas.DataFrame:
    """Texts, and another object late."""
    texts = objects([f"text {i % 100}" for i in range(N)])
    texts[LATE] = late
    return pandas.DataFrame({"id": numpy.arange(N), "s": pandas.Series(texts, dtype=object)})


def answer(connection, sql: str, **tables):
    return [tuple(row) for row in connection.query(sql, tables=tables).fetchall()]


@pytest.fixture
def connection():
    with chalet.connect(":memory:") as made:
        yield made


@pytest.mark.parametrize(
    ("late", "ty", "value"),
    [
        ("another", "String", "another"),
        (None, "Nullable(String)", None),
        (float("nan"), "Nullable(String)", None),
        (numpy.nan, "Nullable(String)", None),
        (pandas.NA, "Nullable(String)", None),
        (7, "String", "7"),
        (b"bytes", "String", "bytes"),
        ("ä" * 40, "String", "ä" * 40),
        ("", "String", ""),
    ],
)
def test_a_late_value_decides(connection, late, ty, value):
    f = frame_with(late)
    types = f"SELECT DISTINCT toTypeName(s) FROM f WHERE id >= {LATE - 1}"
    assert answer(connection, types, f=f) == [(ty,)]
    assert answer(connection, f"SELECT s FROM f WHERE id = {LATE}", f=f) == [(value,)]
    assert answer(connection, "SELECT count(s), uniqExact(s) FROM f", f=f) == [
        (N - (value is None), 100 + (value is not None))
    ]
    # A column that is not read.
    assert answer(connection, "SELECT count(), sum(id) FROM f", f=f) == [(N, N * (N - 1) // 2)]
    assert answer(connection, "SELECT count(*) FROM f WHERE id % 2 = 0", f=f) == [(N // 2,)]


@pytest.mark.parametrize(
    ("late", "ty"), [(12, "Int64"), (2**70, "Int128"), (1.5, "Float64"), ("x", "String"), (None, "Nullable(Int64)")]
)
def test_numbers_that_are_objects(connection, late, ty):
    numbers = objects(list(range(N)))
    numbers[LATE] = late
    f = pandas.DataFrame({"n": pandas.Series(numbers, dtype=object), "k": numpy.arange(N)})
    assert answer(connection, "SELECT DISTINCT toTypeName(n) FROM f", f=f) == [(ty,)]
    assert answer(connection, "SELECT max(k) FROM f", f=f) == [(N - 1,)]
    # What does not fit the type of a sample is no error of the statement.
    if ty != "String":
        expected = sum(x for x in numbers if x is not None)
        assert answer(connection, "SELECT sum(n) FROM f", f=f) == [(expected,)]


def test_an_error_of_a_sample_is_none_of_the_statement(connection):
    """Adding to a number is bound by the sample's type, which no sum of texts has, and the other way round."""
    texts = objects(["1"] * N)
    texts[: N - 1 : 1] = 1
    texts[N - 1] = "one"
    f = pandas.DataFrame({"x": pandas.Series(texts, dtype=object)})
    assert answer(connection, "SELECT length(x) AS n, count() FROM f GROUP BY n ORDER BY n", f=f) == [(1, N - 1), (3, 1)]
    with pytest.raises(chalet.Error, match="Illegal type"):
        answer(connection, "SELECT sum(x) FROM f", f=f)


def counted(connection, sql: str, **tables) -> dict[str, int]:
    events = "SELECT event, value FROM system.events WHERE event LIKE 'ObjectColumns%'"
    before = dict(answer(connection, events))
    answer(connection, sql, **tables)
    return {name: value - before.get(name, 0) for name, value in answer(connection, events)}


def test_only_columns_that_are_named_are_looked_at(connection):
    f = frame_with("another")
    f["t"] = f["s"]
    for sql, settled in [
        ("SELECT count() FROM f", 0),
        ("SELECT count(*) FROM f WHERE id > 5", 0),
        ("SELECT g.id FROM f AS g JOIN f AS h USING (id) LIMIT 1", 0),
        ("SELECT max(s) FROM f", 1),
        ("SELECT count() FROM f WHERE s IS NULL", 1),
        ("SELECT count() FROM f ORDER BY max(f.t)", 1),
        ("SELECT * FROM f LIMIT 1", 2),
        ("SELECT COLUMNS('s|t') FROM f LIMIT 1", 2),
        ("SELECT 1 FROM loop(f) LIMIT 1", 2),
    ]:
        found = counted(connection, sql, f=f)
        assert found == {"ObjectColumnsAssumed": 2, "ObjectColumnsSettled": settled}, sql
    # The sample was wrong: all are looked at.
    g = frame_with(None)
    g["t"] = g["s"]
    assert counted(connection, "SELECT max(s) FROM g", g=g)["ObjectColumnsSettled"] == 2
    assert counted(connection, "DESCRIBE TABLE f", f=f)["ObjectColumnsAssumed"] == 0


def test_statements_that_say_what_types_there_are(connection):
    f = frame_with(None)
    described = dict(row[:2] for row in answer(connection, "DESCRIBE TABLE f", f=f))
    assert described["s"] == "Nullable(String)"
    connection.query("CREATE TABLE made ENGINE = Memory AS SELECT * FROM f", tables={"f": f})
    assert answer(connection, "SELECT type FROM system.columns WHERE table = 'made' AND name = 's'") == [("Nullable(String)",)]
    assert answer(connection, "SELECT count(), count(s) FROM made") == [(N, N - 1)]
    connection.query("CREATE TABLE other (id UInt64, s Nullable(String)) ENGINE = Memory")
    connection.query("INSERT INTO other SELECT id, s FROM f", tables={"f": f})
    assert answer(connection, "SELECT count(), count(s) FROM other") == [(N, N - 1)]


def test_columns_that_no_statement_names(connection):
    """Stars, sub-queries, sets, joins, functions and later statements of one call."""
    f = frame_with(None)
    assert answer(connection, "SELECT count(c) FROM (SELECT * EXCEPT (id) FROM f) AS x(c)", f=f) == [(N - 1,)]
    assert answer(connection, f"SELECT (SELECT s FROM f WHERE id = {LATE}) IS NULL", f=f) == [(1,)]
    assert answer(connection, "SELECT count() FROM f WHERE id IN (SELECT id FROM f WHERE s IS NULL)", f=f) == [(1,)]
    assert answer(connection, "SELECT count() FROM f AS a JOIN f AS b USING (id) WHERE b.s IS NULL", f=f) == [(1,)]
    connection.query("CREATE FUNCTION of_s AS () -> s IS NULL")
    assert answer(connection, "SELECT countIf(of_s()) FROM f", f=f) == [(1,)]
    connection.query("DROP FUNCTION of_s")
    script = "SELECT count() FROM f; CREATE TABLE later ENGINE = Memory AS SELECT s FROM f; SELECT count(s) FROM later"
    assert answer(connection, script, f=f) == [(N - 1,)]
    assert answer(connection, "EXPLAIN header = 1 SELECT s FROM f", f=f) != []


def test_arrays_with_gaps_and_other_orders(connection):
    f = frame_with(None)
    for view in (f[::2], f[::-1], f.iloc[10:40_000]):
        rows = answer(connection, "SELECT count(), count(s), sum(length(s)) FROM f", f=view)
        assert rows == [(len(view), view["s"].notna().sum(), view["s"].dropna().str.len().sum())]
    assert answer(connection, "SELECT count(s), uniqExact(s) FROM f", f={"s": tuple(f["s"])}) == [(N - 1, 100)]


def test_masks_of_nullable_columns(connection):
    """A mask that hides nothing in a block, something, and everything."""
    values = numpy.arange(N)
    mask = numpy.zeros(N, dtype=bool)
    mask[30_000:30_010] = True
    mask[40_000:] = True
    f = pandas.DataFrame({
        "x": pandas.arrays.IntegerArray(values.astype("int64"), mask),
        "b": pandas.arrays.BooleanArray(values % 3 == 0, mask),
    })  # fmt: skip
    left = values[~mask]
    expected = [(N, len(left), int(left.sum()), int((left % 3 == 0).sum()))]
    assert answer(connection, "SELECT count(), count(x), sum(x), countIf(b) FROM f", f=f) == expected
    assert answer(connection, "SELECT count() FROM f WHERE x IS NULL", f=f) == [(N - len(left),)]
    g = f[::3]
    kept = g["x"].dropna().astype(int)
    assert answer(connection, "SELECT count(), count(x), sum(x) FROM g", g=g) == [(len(g), len(kept), int(kept.sum()))]
    h = pandas.DataFrame({"v": numpy.where(mask, numpy.nan, values)})
    assert answer(connection, "SELECT count(v), sum(v) FROM h", h=h) == [(len(left), float(left.sum()))]


def test_relations_look_at_what_they_name(connection):
    f = frame_with(None)
    relation = connection.sql("SELECT * FROM f")
    assert relation.filter("s IS NULL").aggregate("count()").fetchall() == [(1,)]
    assert relation.aggregate("count(s)").fetchall() == [(N - 1,)]
    numbers = connection.sql("SELECT id FROM f WHERE id % 2 = 0")
    g = f
    before = dict(answer(connection, "SELECT event, value FROM system.events WHERE event = 'ObjectColumnsSettled'"))
    assert connection.sql("SELECT id FROM g").filter("id > 10").aggregate("count()").fetchall() == [(N - 11,)]
    assert numbers.aggregate("max(id)").fetchall() == [(N - 2,)]
    after = dict(answer(connection, "SELECT event, value FROM system.events WHERE event = 'ObjectColumnsSettled'"))
    assert before == after
    h = numbers
    assert connection.sql("SELECT count() FROM f WHERE id IN (SELECT id FROM h) AND s IS NOT NULL").fetchall() == [
        (N // 2 - (LATE % 2 == 0),)
    ]
