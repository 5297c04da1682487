"""Without pandas, pyarrow, polars and numpy everything works that does not need them; the rest says what to install."""

import subprocess
import sys
import textwrap

import pytest

PACKAGES = ("pandas", "pyarrow", "polars", "numpy")
REFUSING = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
import chalet

def says(package, ask):
    try:
        ask()
    except ImportError as error:
        assert f"pip install {{package}}" in str(error), error
    else:
        raise AssertionError(f"{{package}} was not needed")
"""


def program(code, absent=PACKAGES):
    whole = REFUSING.format(absent=absent) + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-W", "error", "-c", whole], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


def test_all_that_needs_none(tmp_path):
    program(
        f"""
        import asyncio, datetime, decimal, uuid, chalet.aio, chalet.dataframe, chalet.dbapi
        from chalet import rwabc, session, sqltypes, state, udf, utils

        with chalet.connect() as db:
            db.query("CREATE TABLE t ENGINE = Memory AS SELECT number AS n, toString(number) AS s FROM numbers(10)")
            assert db.query("SELECT sum(n) FROM t", "JSONEachRow").data() == '{{"sum(n)":45}}\\n'
            row = db.query("SELECT n, s, [n], today(), toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), 1.5::Decimal(9, 2) FROM t").fetchone()
            assert row[:3] == (0, "0", [0]) and isinstance(row[3], datetime.date) and isinstance(row[4], uuid.UUID)
            assert db.cursor().execute("SELECT count() FROM t").fetchall() == ((10,),)
            assert db.query("SELECT n FROM t LIMIT 1").to_dicts() == [{{"n": 0}}]
            assert sum(chunk.rows_read() for chunk in db.send_query("SELECT n FROM t", "Arrow")) == 10
            for fmt in ("Parquet", "Arrow", "ArrowStream", "Native", "CSV"):
                path = f"{tmp_path}/x.{{fmt}}"
                db.query(f"INSERT INTO FUNCTION file('{{path}}', '{{fmt}}') SELECT * FROM t")
                assert db.query(f"SELECT count() FROM file('{{path}}', '{{fmt}}')", "TSV").data() == "10\\n"
            rows, columns = [{{"a": 1}}, {{"a": None}}], {{"a": [1, 2], "b": ["x", None]}}
            assert db.query("SELECT sum(a) FROM rows").data() == "1\\n" and db.query("SELECT sum(a) FROM columns").data() == "3\\n"
            result = db.query("SELECT n FROM t")
            assert db.query("SELECT max(n) FROM result").data() == "9\\n"
            relation = db.sql("SELECT * FROM t").filter("n > 7")
            assert relation.fetchall() == [(8, "8"), (9, "9")] and "2 rows" in repr(relation) and "<td>9</td>" in relation._repr_html_()
            assert relation.summarize().shape == (2, 12)
            values = {{"d": decimal.Decimal("1.5"), "l": [1, 2], "t": datetime.datetime(2020, 1, 1), "n": None}}
            db.query("SELECT {{d:Decimal(9, 1)}}, {{l:Array(UInt8)}}, {{t:DateTime}}, {{n:Nullable(Int8)}}", params=values)
            assert relation.__arrow_c_stream__() is not None and result.__arrow_c_stream__() is not None
        chalet.create_function("twice", lambda x: x * 2, ["Int64"], "Int64")
        assert chalet.query("SELECT twice(4)").data() == "8\\n"
        with chalet.dbapi.connect() as cursor:
            cursor.execute("SELECT %s", (1,))
            assert cursor.fetchall() == ((1,),)
        assert session.Session().query("SELECT 1").data() == "1\\n"
        assert asyncio.run(chalet.aio.query("SELECT 1")).data() == "1\\n"
        assert chalet.dataframe.query("SELECT sum(a) AS s FROM __t__", t=columns).rows_read() == 1
        assert not {set(PACKAGES)!r} & set(sys.modules)
        """
    )


def test_what_needs_one_names_it():
    program(
        """
        import asyncio, chalet.aio, chalet.dataframe
        db = chalet.connect()
        one = "SELECT 1 AS x"
        result, relation = db.query(one), db.sql(one)
        for ask in (
            lambda: db.query(one, "DataFrame"),
            lambda: chalet.query(one, "dataframe"),
            lambda: db.send_query(one, "DataFrame").fetch(),
            result.df,
            relation.df,
            lambda: asyncio.run(chalet.aio.query(one, "DataFrame")),
            lambda: chalet.dataframe.query(one).to_pandas(),
            lambda: chalet.dataframe.pandas_read_parquet("x"),
        ):
            says("pandas", ask)
        for ask in (
            lambda: db.query(one, "ArrowTable"),
            lambda: db.send_query(one, "ArrowTable").fetch(),
            lambda: db.send_query(one, "Arrow").record_batch(),
            result.arrow,
            result.arrow_reader,
            relation.arrow,
            lambda: chalet.to_arrowTable(result),
        ):
            says("pyarrow", ask)
        says("polars", result.pl)
        says("polars", relation.pl)
        says("numpy", result.numpy)
        assert db.query("SELECT 1").data() == "1\\n"
        """
    )


@pytest.mark.parametrize("absent", PACKAGES[:3])
def test_one_that_is_absent(absent):
    """The others do not need it."""
    for package in PACKAGES[:3]:
        pytest.importorskip(package)
    program(
        f"""
        db = chalet.connect()
        result = db.query("SELECT number AS n, toString(number) AS s, now() AS t, [1] AS a FROM numbers(3)")
        if {absent!r} != "pandas":
            pass
        else:
            says("pandas", result.df)
        if {absent!r} == "pyarrow":
            says("pyarrow", result.arrow)
        elif {absent!r} != "pandas":
            assert result.arrow().num_rows == 3
        if {absent!r} == "polars":
            says("polars", result.pl)
        if {absent!r} != "pandas":
            frame = result.df()
            assert len(frame) == 3 and frame["s"].tolist() == ["0", "1", "2"]
            assert db.query("SELECT sum(n) FROM frame").data() == "3\\n"
        if {absent!r} != "polars":
            frame = result.pl()
            assert frame["s"].to_list() == ["0", "1", "2"]
            assert db.query("SELECT sum(n) FROM frame").data() == "3\\n"
        """,
        (absent,),
    )
