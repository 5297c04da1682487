"""`chalet.dataframe`: chDB's Table over frames, Arrow and Parquet."""

import os

import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

import chalet  # noqa: E402
import chalet.dataframe as cdf  # noqa: E402


@pytest.fixture
def frame():
    return pd.DataFrame({"a": [1, 2, 3], "s": ["x", "y", None]})


@pytest.fixture
def path(frame, tmp_path):
    frame.to_parquet(tmp_path / "it's.parquet")
    return tmp_path / "it's.parquet"


def made(frame, path):
    return {
        "dataframe": cdf.Table(dataframe=frame),
        "arrow_table": cdf.Table(arrow_table=pa.Table.from_pandas(frame)),
        "parquet_path": cdf.Table(parquet_path=str(path)),
        "path": cdf.Table(path),
        "parquet_memoryview": cdf.Table(parquet_memoryview=memoryview(path.read_bytes()), use_memfd=True),
        "query": cdf.Table(dataframe=frame).query("SELECT * FROM __table__"),
    }


@pytest.mark.parametrize("form", ["dataframe", "arrow_table", "parquet_path", "path", "parquet_memoryview", "query"])
def test_every_form(frame, path, form):
    table = made(frame, path)[form]
    rows = table.query("SELECT a, s FROM __table__ WHERE a > {least:Int64} ORDER BY a", params={"least": 1})
    assert rows.to_pandas()["a"].tolist() == [2, 3] and rows.rows_read() == 2
    assert rows.bytes_read() > 0 and rows.elapsed() > 0
    assert rows.sql("select sum(a) as total from __table__").to_pandas()["total"].tolist() == [5]
    assert table.to_pandas()["a"].tolist() == [1, 2, 3] and repr(table).startswith("   a") and str(table) == repr(table)
    table.flush_to_disk()
    file = table._temp_parquet_path
    assert (file is None) == ("path" in form)
    assert table.query("SELECT count() AS n FROM __table__").to_pandas()["n"].tolist() == [3]
    assert table.to_pandas()["s"].tolist()[:2] == ["x", "y"]
    del table
    assert file is None or not os.path.exists(file)
    assert path.exists()


def test_several(frame):
    other = cdf.Table(dataframe=pd.DataFrame({"a": [2, 3, 4], "b": [20, 30, 40]}))
    joined = cdf.query("SELECT l.a, b FROM __left__ AS l JOIN __right_side__ AS r ON l.a = r.a ORDER BY b", left=frame, right_side=other)
    assert joined.to_pandas().values.tolist() == [[2, 20], [3, 30]]
    assert cdf.sql("SELECT {x:UInt8} AS x", params={"x": 7}).to_pandas()["x"].tolist() == [7]
    assert cdf.Table.queryStatic("SELECT sum(a) AS s FROM __t__", t={"a": [1, 2]}).to_pandas()["s"].tolist() == [3]
    with pytest.raises(ValueError, match="right"):
        cdf.query("SELECT * FROM __left__, __right__", left=frame)
    with pytest.raises(ValueError, match="int"):
        cdf.query("SELECT * FROM __t__", t=3)


def test_by_form(frame, path, capsys):
    tables = made(frame, path)
    for form, method in (("dataframe", "queryDF"), ("arrow_table", "queryArrowTable"), ("parquet_memoryview", "queryParquetBuffer")):
        assert getattr(tables[form], method)("SELECT a FROM __table__").rows_read() == 3
        with pytest.raises(ValueError, match="without"):
            getattr(tables["path"], method)("SELECT a FROM __table__")
    tables["path"].show()
    assert capsys.readouterr().out.startswith("   a")
    assert cdf.pandas_read_parquet(path)["a"].tolist() == [1, 2, 3]


def test_mistakes(frame):
    with pytest.raises(ValueError, match="FROM __table__"):
        cdf.Table(dataframe=frame).query("SELECT 1 FROM t")
    with pytest.raises(chalet.Error, match="UNKNOWN_IDENTIFIER"):
        cdf.Table(dataframe=frame).query("SELECT no_such FROM __table__")
    for ask in (lambda t: t.to_pandas(), lambda t: t.query("SELECT * FROM __table__"), repr, lambda t: t.flush_to_disk()):
        with pytest.raises(ValueError, match="no rows"):
            ask(cdf.Table())
    assert cdf.Table(dataframe=frame).rows_read() == 0
