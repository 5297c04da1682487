"""`%sql` in IPython."""

import pytest

import chalet

pytest.importorskip("IPython")

from IPython.core.error import UsageError  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402

from chalet import _progress  # noqa: E402


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = InteractiveShell.instance()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "chalet")
    yield made
    made.run_line_magic("unload_ext", "chalet")
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell, code):
    """The value of a cell; its errors are raised."""
    with capture_output():
        done = shell.run_cell(code)
    done.raise_error()
    return done.result


def test_lines_and_cells(shell):
    result = run(shell, "%sql SELECT 1 AS a, 'x' AS b")
    assert result.fetchall() == [(1, "x")] and result.columns == ["a", "b"]
    assert run(shell, "%sql CREATE TABLE t (a UInt8) ENGINE = Memory") is None
    assert run(shell, "%%sql\nINSERT INTO t VALUES (1), (2);\nSELECT sum(a) AS s\nFROM t").fetchall() == [(3,)]
    # The connection is one.
    assert run(shell, "%sql SELECT count() FROM t").fetchone() == (2,)


def test_assignment(shell):
    assert run(shell, "%sql answer << SELECT 42 AS x") is None
    assert shell.user_ns["answer"].fetchone() == (42,)
    run(shell, "%%sql other <<\nSELECT 43 AS x")
    assert shell.user_ns["other"].fetchone() == (43,)
    assert run(shell, "rows = %sql SELECT 44\nrows.fetchone()") == (44,)


def test_variables_are_tables_and_parameters(shell):
    run(shell, "frame = {'x': [1, 2, 3]}\nleast = 1\nword = \"it's\"\nrun = {'x': [7]}")
    assert run(shell, "%sql SELECT sum(x) FROM frame WHERE x > {least:UInt8}").fetchone() == (5,)
    assert run(shell, "%sql SELECT {word:String}, x FROM run").fetchone() == ("it's", 7)
    run(shell, "%sql result << SELECT x * 2 AS y FROM frame")
    assert run(shell, "%sql SELECT sum(y) FROM result").fetchone() == (12,)
    # Local variables of a function, too.
    code = "def f():\n    mine = {'x': [8]}\n    lowest = 1\n    return get_ipython().run_line_magic('sql', 'SELECT x FROM frame LIMIT {least:UInt8}')\nf().fetchone()"
    assert run(shell, code) == (1,)
    with pytest.raises(chalet.Error, match="UNKNOWN_TABLE"):
        run(shell, "%sql SELECT * FROM no_such_frame")
    with pytest.raises(chalet.Error, match="missing"):
        run(shell, "%sql SELECT {missing:UInt8}")


def test_kinds_of_results(shell):
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    assert isinstance(run(shell, "%sql --to df SELECT 1 AS a"), pandas.DataFrame)
    assert isinstance(run(shell, "%sql --to=pl SELECT 1 AS a"), polars.DataFrame)
    assert isinstance(run(shell, "%%sql --to arrow\nSELECT 1 AS a"), pyarrow.Table)
    assert run(shell, "%sql --to numpy SELECT 1 AS a")["a"].tolist() == [1]
    assert run(shell, "%sql --format JSONEachRow SELECT 1 AS a").data() == '{"a":1}\n'
    assert isinstance(run(shell, "%sql --to df x << SELECT 1 AS a") or shell.user_ns["x"], pandas.DataFrame)
    for wrong in ("--to nowhere SELECT 1", "--what x SELECT 1", "--what", "", "--to df --format CSV SELECT 1"):
        with pytest.raises(UsageError):
            run(shell, f"%sql {wrong}")
    for name in ("to", "format", "using", "connect"):
        for wrong in (f"%sql --{name}", f"%sql --{name}=", f"%sql --{name} --to df SELECT 1", f"%%sql --{name}\nSELECT 1"):
            with pytest.raises(UsageError, match=f"--{name} needs a value"):
                run(shell, wrong)
    # A comment is none of them.
    assert run(shell, "%%sql -- to\nSELECT 5").fetchone() == (5,)


def test_statements_without_rows_have_no_kind(shell):
    for place, kind in enumerate(("df", "pl", "arrow", "numpy", "result")):
        assert run(shell, f"%sql --to {kind} made << CREATE TABLE t{place} (a UInt8) ENGINE = Memory") is None
        assert shell.user_ns["made"] is None
        assert run(shell, f"%sql --to {kind} INSERT INTO t{place} VALUES (1)") is None
        assert run(shell, f"%sql SELECT count() FROM t{place}").fetchone() == (1,)
    assert run(shell, "%sql SELECT 1 AS a FORMAT JSONEachRow").data() == '{"a":1}\n'


def test_connections(shell):
    shell.user_ns["db"] = chalet.connect()
    shell.user_ns["session"] = chalet.session.Session()
    run(shell, "%sql --using db CREATE TABLE t (a UInt8) ENGINE = Memory")
    assert shell.user_ns["db"].query("EXISTS t").data() == "1\n" and run(shell, "%sql EXISTS t").fetchone() == (0,)
    assert run(shell, "%sql --using session SELECT 5").fetchone() == (5,)
    assert run(shell, "%sql --connect :memory:?max_threads=3 SELECT getSetting('max_threads')").fetchone() == (3,)
    assert run(shell, "%sql SELECT getSetting('max_threads')").fetchone() == (3,)
    assert run(shell, "%sql --connect ':memory:'") is None
    for name in ("nothing", "run"):
        with pytest.raises(UsageError):
            run(shell, f"%sql --using {name} SELECT 1")
    for name in ("db", "session"):
        shell.user_ns[name].close()


def test_results_are_shown_as_tables(shell):
    result = run(shell, "%sql SELECT number AS `<n>`, '<b>' AS s, NULL AS z FROM numbers(1000)")
    shown, _ = shell.display_formatter.format(result)
    assert "<th" in shown["text/html"] and "&lt;n&gt;" in shown["text/html"] and "&lt;b&gt;" in shown["text/html"]
    assert "the first 20 rows of more, 3 columns" in shown["text/html"] and "NULL" in shown["text/html"]
    assert "UInt64" in shown["text/html"] and "┌─<n>─┬─s───┬─z────┐" in shown["text/plain"]
    text, _ = shell.display_formatter.format(run(shell, "%sql --format CSV SELECT 1"))
    assert text["text/plain"] == "1" and "text/html" not in text
    # Showing takes nothing away.
    assert len(result.fetchall()) == 1000


def test_progress_in_a_notebook(shell, monkeypatch):
    monkeypatch.setattr(_progress, "_is_notebook", lambda: True)
    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    with capture_output() as captured:
        # It is told between any two blocks.
        shell.run_cell("%sql --connect :memory:?interactive_delay=1 SELECT sum(sipHash64(number)) FROM numbers(3000000)").raise_error()
    progress = [output for output in captured.outputs if "rows/s" in output.data.get("text/plain", "")]
    assert progress and "<progress" in progress[-1].data["text/html"]
    # The first one is new, the others take its place.
    assert not progress[0].update and all(output.update for output in progress[1:])
    assert "100%" in progress[-1].data["text/plain"]
