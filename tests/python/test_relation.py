"""`connection.sql`: queries that run when their rows are asked for, and queries of queries."""

import gc
import weakref

import patience
import pytest

import chalet


@pytest.fixture
def nums(db):
    return db.sql("SELECT number AS n, number % 3 AS k, toString(number) AS s FROM numbers(10)")


def test_it_is_planned_and_not_run(db):
    relation = db.sql("SELECT throwIf(number = 5) AS x FROM numbers(10)")
    assert relation.columns == ["x"] and relation.types == ["UInt8"] and relation.description[0][:2] == ("x", "UInt8")
    with pytest.raises(chalet.Error, match="FUNCTION_THROW"):
        relation.fetchall()
    for bad in ("SELECT no_such_column", "SELECT * FROM no_such_table", "SELEC 1", "SELECT sum("):
        with pytest.raises(chalet.Error):
            db.sql(bad)
    assert bool(relation)


def test_steps(nums):
    assert nums.filter("n > 7").fetchall() == [(8, 2, "8"), (9, 0, "9")]
    assert nums.filter("n > {least:UInt8} -- at least\n", params={"least": 8}).fetchall() == [(9, 0, "9")]
    assert nums.select("n + 1 AS m", "upper(s)").limit(2).fetchall() == [(1, "0"), (2, "1")]
    assert nums.select("* EXCEPT (s)").columns == ["n", "k"]
    assert sorted(nums.aggregate("k, sum(n) AS total", "k").fetchall()) == [(0, 18), (1, 12), (2, 15)]
    assert nums.aggregate(["count()", "max(n)"]).fetchall() == [(10, 9)]
    assert nums.select(["n", "k + 1 AS m"], "s").order(["n DESC", "m"]).limit(1).fetchall() == [(9, 1, "9")]
    assert sorted(nums.aggregate("k, count()").fetchall()) == [(0, 4), (1, 3), (2, 3)]
    assert nums.order("k DESC", "n DESC").limit(2, offset=1).fetchall() == [(5, 2, "5"), (2, 2, "2")]
    assert nums.select("k").distinct().order("k").fetchall() == [(0,), (1,), (2,)]
    assert nums.limit(3).union(nums.limit(1)).aggregate("count()").fetchall() == [(4,)]
    assert nums.limit(3).union(nums.limit(1), distinct=True).aggregate("count()").fetchone() == (3,)
    assert nums.intersect(nums.filter("n = 4")).fetchall() == nums.filter("n = 4").fetchall()
    assert nums.except_(nums.filter("n < 9")).fetchall() == [(9, 0, "9")]
    assert nums.alias("t").filter("t.n = 1").fetchall() == [(1, 1, "1")]
    for wrong in (
        lambda: nums.filter("no_such"),
        lambda: nums.select(),
        lambda: nums.select([]),
        lambda: nums.limit(-1),
        lambda: nums.order(""),
    ):
        with pytest.raises(chalet.Error):
            wrong()
    with pytest.raises(TypeError):
        nums.limit("1; DROP TABLE t")
    with pytest.raises(chalet.Error):
        nums.filter("1; SELECT 2")


def test_joins(db, nums):
    names = db.sql("SELECT arrayJoin([0, 1]) AS k, ['zero', 'one'][k + 1] AS name")
    joined = nums.join(names, "k").aggregate("name, count() AS c", "name").order("name")
    assert joined.fetchall() == [("one", 3), ("zero", 4)]
    assert nums.join(names, ["k"], how="left").filter("name = ''").select("n").order("n").fetchall() == [(2,), (5,), (8,)]
    assert nums.join(names, "lhs.n = rhs.k").select("n", "name").order("n").fetchall() == [(0, "zero"), (1, "one")]
    assert nums.alias("a").join(names.alias("b"), "a.n = b.k").select("name").order("name").fetchall() == [("one",), ("zero",)]
    assert nums.join(names, how="cross").shape == (20, 5)
    assert nums.join({"k": [2]}, "k", how="semi").select("n").order("n").fetchall() == [(2,), (5,), (8,)]
    assert nums.join(nums, "n").aggregate("count()").fetchall() == [(10,)]
    with pytest.raises(chalet.ProgrammingError, match="how"):
        nums.join(names, "k", how="sideways")
    for none in (None, [], "", [""]):
        with pytest.raises(chalet.ProgrammingError, match="a join needs `on`"):
            nums.join(names, none)
    assert nums.join(names, [], how="cross").shape == (20, 5)
    with pytest.raises(chalet.ProgrammingError, match="alias"):
        nums.alias("a").join(names.alias("a"), "k")


def test_rows(nums):
    rows = [(n, n % 3, str(n)) for n in range(10)]
    assert nums.fetchall() == rows and nums.fetchall() == rows
    assert nums.fetchone() == rows[0] and nums.fetchmany(2) == rows[1:3] and nums.fetchall() == rows[3:]
    assert list(nums) == rows and list(nums) == rows
    assert nums.shape == (10, 3)
    assert nums.to_dicts()[1] == {"n": 1, "k": 1, "s": "1"}
    assert nums.limit(1).data() == '0,0,"0"\n' and nums.limit(1).bytes() == b'0,0,"0"\n'
    assert nums.execute().fetchall() == rows
    end = nums.filter("n > 100")
    assert end.fetchone() is None and end.fetchmany(3) == [] and list(end) == []
    with pytest.raises(chalet.ProgrammingError, match="-1"):
        nums.fetchmany(-1)


def test_packages(nums):
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    assert isinstance(nums.df(), pandas.DataFrame) and nums.df().n.tolist() == list(range(10))
    assert nums.arrow().num_rows == 10 and nums.arrow_reader().read_all().num_rows == 10
    assert pyarrow.table(nums).column_names == ["n", "k", "s"] == pyarrow.table(nums).column_names
    assert nums.pl().shape == (10, 3) and nums.pl(lazy=True).collect().shape == (10, 3)
    assert polars.DataFrame(nums).height == 10
    assert nums.numpy()["n"].tolist() == list(range(10))


def test_a_relation_is_a_table_by_its_name(db, nums):
    assert db.query("SELECT sum(n) FROM nums").data() == "45\n"
    assert db.sql("SELECT max(n) FROM nums").fetchall() == [(9,)]
    assert db.query("SELECT count() FROM Python(nums)").data() == "10\n"
    assert db.query("SELECT count() FROM x", tables={"x": nums}).data() == "10\n"
    db.register("known", nums)
    assert db.query("SELECT a.n FROM known AS a JOIN nums AS b ON a.n = b.n WHERE b.k = 0 ORDER BY a.n LIMIT 1").data() == "0\n"
    assert chalet.query("SELECT sum(n) FROM nums").data() == "45\n"
    # It is a sub-query of the statement, whose conditions reach into it.
    read = db.query("SELECT n FROM nums WHERE n = 3")
    assert read.data() == "3\n" and "numbers" in db.sql("SELECT n FROM nums").explain().lower()
    db.query("CREATE TABLE kept ENGINE = Memory AS SELECT n FROM nums")
    assert db.query("SELECT count() FROM kept").data() == "10\n"


def test_rows_of_what_cannot_be_read_twice_are_not_read_when_it_is_made(db):
    read = []

    class Reader:
        def get_schema(self):
            return [("x", "int")]

        def read(self, names, count):
            read.append(count)
            return [[1, 2]] if len(read) == 1 else []

    reader = Reader()
    relation = db.sql("SELECT x FROM reader")
    step = relation.filter("x > 1")
    assert read == []
    assert step.fetchall() == [(2,)] and read


def test_it_keeps_what_its_query_named(db):
    def made(values, least):
        rows = {"a": values}
        return db.sql("SELECT a FROM rows WHERE a > {least:Int64}", params={"least": least})

    small, large = made([1, 2, 3], 1), made([10, 20, 30], 10)
    rows = {"a": [7]}
    assert (small.fetchall(), large.fetchall()) == ([(2,), (3,)], [(20,), (30,)])
    # Names and parameters of the two, and of who joins them, are different things.
    both = small.union(large).filter("a > {least:Int64} AND a NOT IN (SELECT a FROM rows)", params={"least": 2})
    assert sorted(both.fetchall()) == [(3,), (20,), (30,)]
    assert db.query("SELECT count() FROM small, large, rows").data() == "4\n"
    db.query("CREATE TABLE t (x UInt8) ENGINE = Memory; INSERT INTO t VALUES (1)")
    of_table = db.sql("SELECT x FROM t")
    t = {"x": [1, 2, 3]}
    assert of_table.fetchall() == [(1,)] and db.query("SELECT count() FROM of_table").data() == "1\n"
    assert t and rows


def test_other_statements(db):
    created = db.sql("CREATE TABLE t (x UInt8) ENGINE = Memory")
    assert isinstance(created, chalet.Result)
    db.sql("INSERT INTO t VALUES (1), (2)")
    assert db.sql("SHOW TABLES").fetchall() == [("t",)]
    last = db.sql("INSERT INTO t VALUES (3); SELECT x FROM t ORDER BY x")
    assert last.filter("x > 1").fetchall() == [(2,), (3,)] and db.query("SELECT count() FROM t").data() == "3\n"
    assert db.sql("SELECT 1 AS a", "JSONEachRow").data() == '{"a":1}\n'
    assert db.sql("SELECT 1 AS a FORMAT TSV").data() == "1\n"
    assert db.sql("SELECT x FROM t ORDER BY x DESC -- the last ones\n;").limit(1).fetchall() == [(3,)]
    assert db.sql("SELECT getSetting('max_block_size') SETTINGS max_block_size = 77").fetchall() == [(77,)]


def test_describe_explain_summarize(db, nums):
    assert nums.describe().fetchall() == [("n", "UInt64"), ("k", "UInt8"), ("s", "String")]
    assert "numbers" in nums.explain().lower() and nums.explain("syntax").upper().startswith("SELECT")
    with pytest.raises(chalet.ProgrammingError, match="kind"):
        nums.explain("PLAN SELECT 1; DROP TABLE t;")
    odd = db.sql("SELECT arrayJoin([1, NULL, 3]) AS `a'b`, 'x' AS `c``d`, [1] AS e, map(1, 2) AS f, toDecimal32(1.5, 1) AS g")
    rows = {row["column_name"]: row for row in odd.summarize().to_dicts()}
    assert list(rows) == ["a'b", "c`d", "e", "f", "g"]
    first = rows["a'b"]
    assert (first["min"], first["max"], first["avg"], first["count"], first["approx_unique"]) == ("1", "3", 2.0, 3, 2)
    assert round(first["null_percentage"]) == 33 and rows["c`d"]["avg"] is None and rows["c`d"]["min"] == "x"
    assert rows["f"]["min"] is None and rows["g"]["avg"] == 1.5
    assert nums.filter("n > 100").summarize().fetchall()[0][10] == 0


def test_summaries_of_all_types(db):
    columns = {
        "interval": "toIntervalDay(number)",
        "pauses": "[toIntervalDay(number)]",
        "small": "toBFloat16(number)",
        "truth": "number::Bool",
        "perhaps": "nullIf(number, 1)::Nullable(Bool)",
        "price": "toDecimal32(number, 2)",
        "name": "toString(number)",
        "nothing": "NULL",
    }
    relation = db.sql(f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} FROM numbers(3)")
    rows = {row["column_name"]: row for row in relation.summarize().to_dicts()}
    assert list(rows) == list(columns)
    ends = {name: (row["min"], row["max"]) for name, row in rows.items()}
    assert ends["interval"] == ("0", "2") == ends["small"] and ends["truth"] == ("false", "true") == ends["perhaps"]
    numbers = {name: [row[part] for part in ("avg", "std", "q25", "q50", "q75")] for name, row in rows.items()}
    assert numbers["interval"] == numbers["pauses"] == numbers["name"] == numbers["nothing"] == [None] * 5
    assert numbers["small"] == numbers["price"] == [1, 1, 0.5, 1, 1.5]
    assert [round(number, 2) for number in numbers["truth"]] == [0.67, 0.58, 0.5, 1, 1] and numbers["perhaps"][0] == 0.5
    # Of no rows nothing is known.
    empty = relation.filter("interval > toIntervalDay(100)").summarize().to_dicts()
    assert [row["count"] for row in empty] == [0] * len(columns)
    assert {row[part] for row in empty for part in ("min", "max", "avg", "std", "q25", "q50", "q75")} == {None}


def test_it_shows_itself(db, nums, capsys):
    text = repr(nums)
    assert "│ n " in text and "UInt64" in text and text.endswith("10 rows, 3 columns")
    nums.show(2)
    assert capsys.readouterr().out.endswith("the first 2 rows of more, 3 columns\n")
    many = db.sql("SELECT number AS n FROM numbers(1000000000000)")
    assert repr(many).endswith("the first 20 rows of more, 1 column") and "19" in repr(many)
    odd = db.sql("SELECT '<b>&\n\t' AS `<u>`, NULL AS nothing, repeat('x', 1000) AS long, '東京' AS wide")
    shown = odd._repr_html_()
    assert "<b>" not in shown and "<u>" not in shown and "&lt;b&gt;&amp;" in shown and "&lt;u&gt;" in shown
    assert "1 row," in shown and "the first 20 rows of more" in many._repr_html_()
    assert len(db.sql("SELECT repeat('x', 100000)")._repr_html_()) < 2000
    lines = repr(odd).splitlines()
    assert "\\n\\t" in lines[4] and "NULL" in lines[4] and "東京" in lines[4]
    wide = db.sql("SELECT " + ", ".join(f"'{'y' * 30}' AS c{n}" for n in range(40)))
    assert max(map(len, repr(wide).splitlines())) <= 120 and "…" in repr(wide) and "c39" in repr(wide)
    assert "0 rows" in repr(nums.filter("n > 100"))


def test_names_that_need_quotes(db):
    relation = db.sql("SELECT 1 AS `a b`, 2 AS `c``; DROP TABLE t; --`")
    assert relation.join(relation, ["c`; DROP TABLE t; --"]).shape == (1, 3)
    assert relation.alias("x` y").filter("`a b` = 1").fetchall() == [(1, 2)]
    assert relation.columns[1] == "c`; DROP TABLE t; --"


def test_long_chains(db):
    relation = db.sql("SELECT number AS n FROM numbers(100)")
    for least in range(40):
        relation = relation.filter(f"n > {least}")
    assert relation.fetchone() == (40,)


def test_closed_connections(db):
    other = chalet.connect()
    relation = other.sql("SELECT 1")
    other.close()
    with pytest.raises(chalet.InterfaceError, match="closed"):
        relation.fetchall()


def test_time_limits(db):
    endless = db.sql("SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)", timeout=0.1)
    for ask in (endless.fetchall, endless.limit(1).fetchall, lambda: repr(endless)):
        with pytest.raises(chalet.OperationalError) as caught:
            ask()
        assert caught.value.name == "TIMEOUT_EXCEEDED"


def test_nothing_of_it_stays(db):
    class Rows(dict):
        pass

    rows = Rows(a=[1, 2])
    relation = db.sql("SELECT a FROM rows").filter("a > 1")
    assert relation.fetchall() == [(2,)] and len(repr(relation)) > 10
    seen = weakref.ref(rows), weakref.ref(relation)
    del rows, relation
    # A worker may let go of them a moment later.
    patience.until(lambda: gc.collect() is not None and [ref() for ref in seen] == [None, None])


def test_separators_of_lines_in_values(db):
    assert "1 row," in repr(db.sql("SELECT 'a\u2028b\x85c\x0bd' AS s"))
