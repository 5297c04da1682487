"""The names of chDB: connection strings, sessions, modules and their data."""

import importlib
import pathlib
import re
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal

import pytest

import chalet
from chalet import rwabc, sqltypes, state, utils
from chalet.session import Session


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":memory:",
        "file::memory:",
        "file:",
        "file://",
        "file://localhost",
        ":memory:?verbose&log-level=test",
        ":memory:?verbose=1",
        ":memory:?mode=rw",
        *(f":memory:?progress={how}" for how in ("auto", "AUTO", "Tty", "", "OFF", "0", "true")),
    ],
)
def test_connection_strings_in_memory(text):
    with state.connect(text) as connection:
        assert isinstance(connection, chalet.Connection)
        assert connection.query("SELECT 1").data() == "1\n"


@pytest.mark.parametrize(
    "text", ["some/path", "file:some/path", "file://{}/some/path?mode=rw", "file://localhost{}/some/path", "//{}/some/path"]
)
def test_connection_strings_on_disk(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with chalet.connect(text.format(tmp_path)) as connection:
        assert connection.query("SELECT 1").data() == "1\n"
    assert (tmp_path / "some" / "path" / "catalog").is_file()


def test_options_of_connection_strings():
    with chalet.connect(":memory:?max_threads=3&max_block_size=100") as connection:
        assert connection.query("SELECT getSetting('max_threads'), getSetting('max_block_size')").data() == "3,100\n"
    with pytest.raises(chalet.Error, match="no_such_flag"):
        chalet.connect(":memory:?no_such_flag=1")
    with pytest.raises(ValueError, match="progress"):
        chalet.connect(":memory:?progress=sometimes")
    with pytest.raises(ValueError, match="host"):
        chalet.connect("file://elsewhere/tmp/database")
    with pytest.raises(ValueError, match="mode"):
        chalet.connect(":memory:?mode=wo")
    with pytest.raises(chalet.NotSupportedError, match="udf_path"):
        chalet.connect(":memory:?udf_path=/somewhere")


def test_the_database_of_a_connection_string(tmp_path):
    with chalet.connect(":memory:?database=system&max_threads=3") as connection:
        found = connection.query("SELECT currentDatabase(), count() > 0, getSetting('max_threads') FROM one")
        assert found.data() == '"system",1,3\n'
    assert chalet.query("SELECT currentDatabase()", options={"database": "system"}).data() == '"system"\n'
    assert chalet.query("SELECT currentDatabase()", options={"database": ""}).data() == '"default"\n'
    place = tmp_path / "base"
    with chalet.connect(str(place)) as connection:
        connection.query("CREATE DATABASE `a ``b`; CREATE TABLE `a ``b`.t (x UInt8); INSERT INTO `a ``b`.t VALUES (7)")
    with chalet.connect(f"{place}?mode=ro&database=a%20%60b") as connection:
        assert connection.query("SELECT x FROM t").data() == "7\n"
    for text in (":memory:?database=nosuch", f"{place}?database=nosuch"):
        with pytest.raises(chalet.Error) as caught:
            chalet.connect(text)
        assert caught.value.name == "UNKNOWN_DATABASE"
    # A connection that could not be opened keeps nobody out.
    with chalet.connect(str(place)) as connection:
        assert connection.query("SELECT 1").data() == "1\n"


def test_a_wrong_option_makes_no_folder(tmp_path):
    for option in ("b", "no_such=1", "max_threads=many", "mode=wo", "progress=sometimes"):
        with pytest.raises((chalet.Error, ValueError)):
            chalet.connect(f"{tmp_path}/place?{option}")
    assert list(tmp_path.iterdir()) == []


def test_frames_as_the_page_for_users_of_chdb_has_them(db):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    wanted = {
        "[1, 2]": [1, 2],
        "[[1], [2]]": [[1], [2]],
        "(1, 'a')": (1, "a"),
        "toInt128(1)": 1,
        "toUInt256(1)": 1,
        "toDecimal256(1.5, 2)": Decimal("1.50"),
        "NULL": None,
        "CAST(NULL, 'Nullable(UUID)')": None,
        "toIntervalMonth(2)": 2,
        "toIntervalYear(1)": 1,
        "toTime('-01:00:00')": timedelta(hours=-1),
        "unhex('ff')": b"\xff",
    }
    for sql, value in wanted.items():
        column = db.query(f"SELECT {sql} AS c", "DataFrame").c
        assert column.dtype == object and (type(column[0]), column[0]) == (type(value), value), sql
    units = {0: "s", 3: "ms", 6: "us", 9: "ns"}
    frame = db.query("SELECT " + ", ".join(f"toDateTime64(1, {digits}, 'UTC') AS d{digits}" for digits in units), "DataFrame")
    assert [str(dtype) for dtype in frame.dtypes] == [f"datetime64[{unit}, UTC]" for unit in units.values()]
    assert db.query("SELECT arrayJoin([toDecimal64(1, 2), NULL]) AS c", "DataFrame").c.dtype == "float64"
    # The last of several statements, and a FORMAT that says otherwise.
    assert db.query("SELECT 1 AS a; SELECT 2 AS b FORMAT CSV", "DataFrame").equals(pandas.DataFrame({"b": [2]}, dtype="uint8"))
    assert db.query("SELECT 1 AS a; SELECT 2 AS b FORMAT CSV", "ArrowTable").to_pydict() == {"b": [2]}
    assert db.query("SELECT 2 AS b FORMAT CSV", "JSONEachRow").data() == "2\n"
    # Results are true.
    assert bool(db.query("SELECT 1 WHERE 0")) and len(db.query("SELECT 1 WHERE 0")) == 0


def test_read_only_connections(tmp_path):
    with chalet.connect("file::memory:?mode=ro") as connection:
        assert connection.query("SELECT 1; SET max_threads = 1; SELECT 2").data() == "1\n2\n"
        out = tmp_path / "x.csv"
        for sql in (
            "CREATE TABLE t (x UInt8) ENGINE = Memory",
            "SET readonly = 0",
            f"INSERT INTO FUNCTION file('{out}') SELECT 1",
            f"SELECT 1 INTO OUTFILE '{out}'",
            "DROP DATABASE default",
        ):
            with pytest.raises(chalet.Error) as caught:
                connection.query(sql)
            assert caught.value.name == "READONLY"
        assert not out.exists()


def test_readonly_of_sql(db):
    db.query("SET readonly = 1")
    with pytest.raises(chalet.Error, match="READONLY"):
        db.query("SET max_threads = 7")
    assert db.query("SELECT 1").data() == "1\n"


def test_sessions():
    session = Session()
    with session as same:
        assert same is session
        session.query("CREATE TABLE t (x UInt8) ENGINE = Memory")
        with session.send_insert("INSERT INTO t") as stream:
            stream.append("1\n2\n")
            stream.finish()
        assert [chunk.data() for chunk in session.send_query("SELECT x FROM t WHERE x > {x:UInt8}", params={"x": 1})] == ["2\n"]
        with pytest.warns(UserWarning, match="Debug"):
            assert session.query("SELECT 1", "Debug").data() == "1\n"
        for ask in (session.generate_sql, session.ask):
            with pytest.raises(chalet.NotSupportedError, match="language model"):
                ask("how many rows are there?")
        with pytest.raises(chalet.NotSupportedError, match="udf_path"):
            session.query("SELECT 1", udf_path="/somewhere")
    with pytest.raises(chalet.InterfaceError, match="closed"):
        session.query("SELECT 1")
    session.cleanup()
    assert chalet.session.Session is Session is chalet.session.state.Session


def test_query_has_the_arguments_of_chdb(tmp_path):
    assert chalet.query("SELECT {a:UInt8}", "TSV", "", "", {"a": 1}, {"max_threads": 2}).data() == "1\n"
    assert chalet.query(sql="SELECT getSetting('max_threads')", output_format="TSV", options={"max_threads": 3}).data() == "3\n"
    assert chalet.query("SELECT 1", options={"verbose": True, "progress": False}).data() == "1\n"
    assert chalet.query("SELECT 1 AS a", output_format="debug").data() == "1\n"
    assert chalet.query("SELECT 1", path=str(tmp_path / "db")).data() == "1\n"
    with chalet.connect() as connection:
        assert connection.query(query="SELECT 1", format="TSV").data() == "1\n"


def test_counts_of_results(db):
    result = db.query("SELECT number, toString(number) AS s FROM numbers(1000) WHERE number % 2")
    assert (result.rows_read(), result.storage_rows_read(), result.storage_bytes_read()) == (500, 1000, 8000)
    assert result.bytes_read() > 0 and (result.rows_written(), result.bytes_written()) == (0, 0)
    db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
    result = db.query("INSERT INTO t SELECT number FROM numbers(10)")
    assert (result.rows_written(), result.bytes_written(), result.rows_read()) == (10, 80, 0)
    cursor = db.cursor().execute("SELECT number FROM numbers(7)")
    assert cursor._cursor.rows_read() == 7 == cursor.rowcount and cursor._cursor.elapsed() >= 0


def test_module_data():
    assert chalet.chdb_version == chalet.chalet_version == tuple(chalet.__version__.split("."))
    assert chalet.engine_version.startswith(chalet.core_version.rsplit(".", 1)[0])
    assert chalet.g_udf_path == ""
    with chalet.g_conn_lock:
        pass
    assert chalet.ChdbError is chalet.Error is state.sqlitelike.ChdbError
    with pytest.raises(AttributeError, match="no_such_name"):
        chalet.no_such_name  # noqa: B018
    assert {"dbapi", "udf", "create_function", "session"} <= set(dir(chalet))
    for name in chalet.__all__:
        assert getattr(chalet, name) is not None


def test_types_of_sql():
    assert sqltypes.INT64.name == str(sqltypes.INT64) == "Int64"
    assert sqltypes.DATETIME64.name == "DateTime64(6)"
    assert sqltypes.ChdbType("Int64") == sqltypes.INT64 != sqltypes.INT8
    assert len({sqltypes.ChdbType("Array(Int8)"), sqltypes.ChdbType("Array( Int8 )")}) == 1
    assert repr(sqltypes.BOOL) == "chalet.sqltypes.ChdbType('Bool')"
    with pytest.raises(chalet.Error, match="Nosuch"):
        sqltypes.ChdbType("Nosuch")
    assert all(isinstance(getattr(sqltypes, name), sqltypes.ChdbType) for name in sqltypes.__all__ if name != "ChdbType")


def test_nested_dicts():
    assert utils.flatten_dict({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": [{"x": 1}], "f": {}}) == {
        "a_b": 1,
        "a_c_0": 1,
        "a_c_1_d": 2,
        "e": '[{"x": 1}]',
    }
    assert utils.convert_to_columnar([{"a": 1, "b": {"c": 2}}, {"a": 3}, {"d": "x"}]) == {
        "a": [1, 3, None],
        "b_c": [2, None, None],
        "d": [None, None, "x"],
    }
    assert utils.convert_to_columnar([]) == {}
    # A list of nothing is not lost.
    assert utils.flatten_dict({"a": [], "b": 1, "c": [[], 2]}) == {"a": "[]", "b": 1, "c_0": [], "c_1": 2}
    assert utils.convert_to_columnar([{"a": []}, {"a": []}]) == {"a": ["[]", "[]"]}


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([1, 2], "int8"),
        ([300], "int16"),
        ([2**40, None], "int64"),
        ([2**70], "int128"),
        ([True], "int8"),
        ([1.5, 1], "float64"),
        (["a", 1], "string"),
        ([None], "string"),
        ([], "string"),
    ],
)
def test_inferred_types(values, name):
    assert utils.infer_data_type(values) == name
    assert utils.infer_data_types({"a": values}) == [("a", name)]


def test_trace(capsys, monkeypatch):
    @utils.trace.trace
    def double(x):
        y = x * 2
        return y

    assert utils.trace.print_lines(len)("ab") == 2
    assert double(1) == 2 and capsys.readouterr().out == ""
    monkeypatch.setattr(utils.trace, "enable_print", True)
    assert double(2) == 4
    assert "y = x * 2" in capsys.readouterr().out


def test_abstract_readers_and_writers():
    with pytest.raises(TypeError):
        rwabc.PyReader([])

    class Writer(rwabc.PyWriter):
        def write(self, col_names, columns):
            self.data.extend(zip(*columns))

        def finalize(self):
            return repr(self.data).encode()

    writer = Writer(["a"], [int], [])
    writer.write(["a"], [[1, 2]])
    assert writer.finalize() == b"[(1,), (2,)]"


def test_converters(db):
    pyarrow = pytest.importorskip("pyarrow")
    for fmt in ("Arrow", "ArrowStream", None):
        table = chalet.to_arrowTable(db.query("SELECT 1 AS a, 'x' AS b", fmt))
        assert isinstance(table, pyarrow.Table) and table.to_pylist() == [{"a": 1, "b": "x"}]
    with pytest.raises(chalet.NotSupportedError, match="DataStore"):
        chalet.to_datastore(None)


def test_what_is_not_needed_is_not_imported():
    code = "import sys; before = set(sys.modules); import chalet; print(sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.stdout.strip() == "['__future__', 'chalet', 'chalet._chalet']", run.stderr


def test_the_page_of_names_is_true():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "api-parity.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \| (.*) \| (\S+) \|$", page, re.MULTILINE)
    assert len(rows) > 250
    sources = {path.name: path.read_text() for path in pathlib.Path(__file__).parent.glob("test_*.py")}
    for name, status, note, test in rows:
        assert status in ("same", "wider", "left out"), name
        assert note or status != "left out", name
        if test != "-":
            file, function = test.split("::")
            assert f"def {function}(" in sources[file], test
        if status != "left out":
            assert _find(name) is not None or name.endswith(("description", "lastrowid")), name


def _find(path):
    found = chalet
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                # What only members of an enumeration show.
                found = getattr(next(iter(found)), part)
    return found


def test_the_readme_example(db):
    @chalet.func(return_type="String")
    def shout(text):
        return text.upper() + "!"

    try:
        assert [chunk.data() for chunk in db.send_query("SELECT shout('a') AS x", "JSONEachRow")] == ['{"x":"A!"}\n']
    finally:
        chalet.drop_function("shout")
