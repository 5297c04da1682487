"""The result object: bytes and text, views, counts, and what formats do to them."""

import gc

import pytest

import chalet


def test_bytes_text_and_size_are_of_one_output():
    result = chalet.query("SELECT 1, 'é'")
    assert result.bytes() == '1,"é"\n'.encode()
    assert result.data() == str(result) == '1,"é"\n'
    assert len(result) == result.size() == len(result.bytes())


def test_formats_are_those_of_the_argument_or_of_the_statement():
    assert chalet.query("SELECT 1 AS a", "JSONEachRow").data() == '{"a":1}\n'
    assert chalet.query("SELECT 1 AS a FORMAT TSKV", "CSV").data() == "a=1\n"


def test_several_statements_give_their_outputs_one_after_the_other():
    assert chalet.query("SELECT 1; SELECT 'x'; SELECT 3", "TabSeparated").data() == "1\nx\n3\n"


def test_statements_without_rows_as_frames():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    with chalet.connect() as db:
        assert db.query("CREATE TABLE t (a Int8) ENGINE = Memory", "DataFrame").equals(pandas.DataFrame())
        assert db.query("INSERT INTO t VALUES (1)", "ArrowTable").equals(pyarrow.table({}))
        assert db.query("SELECT count() FROM t").data() == "1\n"
        # A format in the statement is not for frames.
        assert db.query("SELECT a FROM t FORMAT JSONEachRow", "DataFrame").a.tolist() == [1]
        with pytest.raises(ValueError, match="no rows"):
            db.sql("DROP TABLE t").columns


def test_results_in_arrow_are_lent_as_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    for format in ("Arrow", "ArrowStream"):
        result = chalet.query("SELECT number AS a, 'x' AS b FROM numbers(3)", format)
        for _ in range(2):
            assert pyarrow.table(result).to_pydict() == {"a": [0, 1, 2], "b": ["x"] * 3}
        reader = pyarrow.ipc.open_file if format == "Arrow" else pyarrow.ipc.open_stream
        assert reader(result.bytes()).read_all().num_rows == 3
        assert len(result) == len(result.bytes())
    with pytest.raises(ValueError, match="formats Arrow, DataFrame"):
        pyarrow.table(chalet.query("SELECT 1", "CSV"))


def test_show_prints_the_text(capfd):
    result = chalet.query("SELECT 7")
    result.show()
    shown = capfd.readouterr().out
    print(result)
    assert shown == capfd.readouterr().out == "7\n\n"


def test_bytes_that_are_not_text_stay_bytes():
    assert chalet.query("SELECT unhex('FF00')", "RawBLOB").bytes() == b"\xff\x00"


def test_rows_share_no_lists():
    """Not even those of constants, which the engine holds once."""
    rows = chalet.connect().sql("SELECT [1] AS a, map('k', 1) AS m, ([1], 2) AS t, number FROM numbers(3)").fetchall()
    rows[0][0].append(2)
    rows[0][1]["x"] = 2
    rows[0][2][0].append(2)
    assert rows[1:] == [([1], {"k": 1}, ([1], 2), 1), ([1], {"k": 1}, ([1], 2), 2)]


def test_a_view_outlives_its_result():
    view = chalet.query("SELECT 'abcdefghij' || toString(12345678901)").get_memview()
    assert view.tobytes() == b'"abcdefghij12345678901"\n'
    assert view.size() == len(view) == 24
    lent = memoryview(view)
    view.release()
    del view
    gc.collect()
    assert bytes(lent) == b'"abcdefghij12345678901"\n'
    assert lent.readonly


def test_counts():
    result = chalet.query("SELECT number FROM numbers(1000)")
    assert result.rows_read() == 1000
    assert result.bytes_read() >= 8000
    assert result.elapsed() > 0
    assert not result.has_error()
    assert result.error_message() == ""


def test_no_output():
    result = chalet.query("CREATE TABLE t (x UInt8) ENGINE = Memory")
    assert result.bytes() == b"" and len(result) == 0


@pytest.mark.parametrize("fmt", ["CSV", "TabSeparated", "JSONEachRow", "Parquet", "Arrow", "ArrowStream", "Native"])
def test_a_written_file_reads_back(db, fmt, tmp_path):
    path = tmp_path / "rows.bin"
    path.write_bytes(db.query("SELECT number AS n, toString(number) AS s FROM numbers(5000)", fmt).bytes())
    structure = "n UInt64, s String"
    read = f"SELECT sum(n), uniqExact(s) FROM file('{path}', '{fmt}', '{structure}')"
    assert db.query(read, "TabSeparated").data() == "12497500\t5000\n"


def test_rows_in_any_format(db):
    result = db.query("SELECT 1 AS a, 'x' AS b", None)
    assert result.to_format("JSONEachRow") == b'{"a":1,"b":"x"}\n' and result.to_format("CSV") == b'1,"x"\n'
    with pytest.raises(chalet.Error, match="UNKNOWN_FORMAT"):
        result.to_format("nosuch")
    with pytest.raises(ValueError):
        db.query("SELECT 1", "CSV").to_format("CSV")
