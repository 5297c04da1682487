"""The program `chalet`: arguments, scripts, standard input as data."""

import importlib
import os
import pathlib
import subprocess
import sys
import tomllib

import pytest

import chalet
from chalet._shell.arguments import UsageError, parse


# The environment of the program under test. How Python buffers and what it warns of is a test's choice, and polars, once
# imported, leaves options for its own allocator there, which ours reads too.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != "_RJEM_MALLOC_CONF"}


def run(*arguments, text="", **options):
    command = [sys.executable, "-m", "chalet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text, timeout=300, env=ENVIRONMENT, **options)


def run_in_shell(arguments, interpreter_options=""):
    command = f"'{sys.executable}' {interpreter_options} -m chalet {arguments}"
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)


def test_output_and_format():
    assert run("SELECT 1, 'x'").stdout == '1,"x"\n'
    assert run("SELECT 1 AS a", "JSONEachRow").stdout == '{"a":1}\n'
    assert run("-q", "SELECT 1, 'x'", "--query", "SELECT 2").stdout == "1\tx\n2\n"
    assert run("-q", "SELECT 1 AS a", "-f", "JSONEachRow").stdout == '{"a":1}\n'
    assert run("-Eq", "SELECT 1 AS a").stdout == "Row 1:\n──────\na: 1\n"
    assert run("-q", "SELECT 1 AS a\\G SELECT 2").stdout == "Row 1:\n──────\na: 1\n2\n"


def test_sql_that_begins_like_an_option():
    assert run("-- c\nSELECT 3").stdout == run("--c\nSELECT 3", "CSV").stdout == run("-- a = b\nSELECT 3").stdout == "3\n"
    assert run("-1").stdout == run("- 1").stdout == run("-(1)").stdout == "-1\n"
    assert "UNKNOWN_IDENTIFIER" in run("-x + 1").stderr
    assert run("-qSELECT 1 + 1").stdout == "2\n" and run("--param_x=a b", "-q", "SELECT {x:String}").stdout == "a b\n"


# What is left open at the end is reported in the development mode of Python.
@pytest.mark.parametrize("interpreter_options", ["", "-X dev"])
@pytest.mark.parametrize(
    ("closed", "arguments", "output"),
    [
        ("<&-", "-q 'SELECT 1'", "1\n"),
        ("<&-", "-q 'SELECT count() FROM table' -S 'x UInt8' --input-format CSV", "0\n"),
        ("<&-", "", ""),
        (">&-", "-q 'SELECT 1'", ""),
        ("2>&-", "-q 'SELECT 1' --time", "1\n"),
        ("<&- >&- 2>&-", "-q 'SELECT 1'", ""),
    ],
)
def test_standard_streams_that_are_closed(closed, arguments, output, interpreter_options):
    done = run_in_shell(f"{arguments} {closed}", interpreter_options)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
@pytest.mark.parametrize("interpreter_options", ["", "-u"])
def test_output_that_cannot_be_written(interpreter_options):
    for arguments in ("-q 'SELECT 1'", "-q 'SELECT nosuch; SELECT 1' --ignore-error", "--echo -q 'SELECT nosuch'", "--version", "--help"):
        done = run_in_shell(f"{arguments} > /dev/full", interpreter_options)
        assert done.returncode == 1 and done.stderr.count("No space left") == 1, arguments
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


def test_sql_from_standard_input():
    assert run("-", "TabSeparated", text="SELECT 1; SELECT 2").stdout == "1\n2\n"
    assert run("--output-format=CSV", text="SELECT ';'; -- ;\nSELECT 2;\n").stdout == '";"\n2\n'
    done = run(text="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_scripts_with_inline_data(tmp_path):
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE t (a UInt8, b String) ENGINE = Memory;\n"
        "INSERT INTO t VALUES (1, 'x;y');\n"
        "INSERT INTO t FORMAT CSV\n2,a;b\n3,c\n\n"
        'INSERT INTO t FORMAT JSONEachRow {"a": 4, "b": "d"}\n'
        "SELECT groupArray(a), groupArray(b) FROM t"
    )
    done = run("--queries-file", str(script))
    assert (done.stdout, done.stderr) == ("[1,2,3,4]\t['x;y','a;b','c','d']\n", "")


def test_scripts_that_are_no_utf_8(tmp_path):
    script = tmp_path / "script.sql"
    script.write_bytes(b"SELECT '\xff'")
    done = run("--queries-file", str(script))
    assert done.returncode == 1 and "script.sql is no UTF-8" in done.stderr
    done = subprocess.run([sys.executable, "-m", "chalet"], input=b"SELECT '\xff'", capture_output=True, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 1 and b"standard input is no UTF-8" in done.stderr


def test_errors_go_to_stderr_without_a_traceback():
    done = run("SELECT nosuch")
    assert done.returncode == 1 and done.stdout == ""
    assert "UNKNOWN_IDENTIFIER" in done.stderr and "Traceback" not in done.stderr


def test_a_script_ends_with_its_first_error():
    text = "SELECT 1; SELECT nosuch; SELECT 2"
    done = run(text=text)
    assert (done.returncode, done.stdout) == (1, "1\n") and "UNKNOWN_IDENTIFIER" in done.stderr
    done = run("--ignore-error", text=text)
    assert (done.returncode, done.stdout) == (1, "1\n2\n") and "UNKNOWN_IDENTIFIER" in done.stderr
    # Statements that come before one that cannot be parsed have run.
    assert run(text="SELECT 1; SELECT 'a").stdout == "1\n"


def test_parameters_settings_and_database():
    done = run("--param_x=5", "--param_s", "it's", "--max_threads", "3", "-q", "SELECT {x:UInt8}, {s:String}, getSetting('max_threads')")
    assert (done.stdout, done.stderr) == ("5\tit\\'s\t3\n", "")
    assert run("-d", "system", "-q", "SELECT currentDatabase(), dummy FROM one").stdout == "system\t0\n"
    done = run("--no_such_setting=1", "-q", "SELECT 1")
    assert done.returncode == 1 and "UNKNOWN_SETTING" in done.stderr and done.stdout == ""
    done = run("-d", "nosuch", "-q", "SELECT 1")
    assert done.returncode == 1 and "UNKNOWN_DATABASE" in done.stderr


def test_a_database_on_disk(tmp_path):
    path = str(tmp_path / "database")
    done = run("--path", path, "-q", "CREATE TABLE t (a UInt8); INSERT INTO t VALUES (1), (2)")
    assert (done.returncode, done.stderr) == (0, "")
    assert run("--path", path, "-q", "SELECT sum(a) FROM t").stdout == "3\n"


def test_time_echo_and_version():
    done = run("--time", "--echo", "-q", "SELECT 1")
    assert done.stdout == "SELECT 1\n1\n" and 0 <= float(done.stderr) < 300
    assert run("--version").stdout == f"chalet {chalet.__version__}\n"


def test_standard_input_as_a_table():
    csv = "a,b\n1,x\n2,y\n"
    assert run("-q", "SELECT sum(a), max(b) FROM table", "--input-format", "CSVWithNames", text=csv).stdout == "3\ty\n"
    done = run("-q", "SELECT x + 1 FROM t", "-S", "x UInt8", "--input-format", "TSV", "-N", "t", text="1\n2\n")
    assert (done.stdout, done.stderr) == ("2\n3\n", "")
    # Without its name the contents tell the format, where there are any.
    assert run("-q", "SELECT sum(c1), max(c2) FROM table", text="1,x\n2,y\n").stdout == "3\ty\n"
    done = run("-q", "SELECT * FROM table", text="")
    assert done.returncode == 1 and "--input-format" in done.stderr
    # Several times, and only where it is asked for.
    done = run("-q", "SELECT count() FROM table AS a, table AS b; SELECT 1", "-S", "x UInt8", "--input-format", "CSV", text="1\n2\n")
    assert (done.stdout, done.stderr) == ("4\n1\n", "")


def test_a_file_as_a_table(tmp_path):
    file = tmp_path / "it's.csv"
    file.write_text("1,x\n2,y\n")
    done = run("-F", str(file), "-S", "n UInt8, s String", "-q", "SELECT sum(n) FROM `table`")
    assert (done.stdout, done.stderr) == ("3\n", "")
    done = run("--file", str(file), "-q", "CREATE TABLE t ENGINE = Memory AS SELECT * FROM table; SELECT count() FROM t")
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_standard_input_as_data_of_an_insert(tmp_path):
    out = tmp_path / "out.tsv"
    sql = f"INSERT INTO FUNCTION file('{out}', 'TSV', 'a UInt32, b String') FORMAT CSV"
    rows = "".join(f"{n},x\n" for n in range(100_000))
    done = run("-q", sql, text=rows)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_text() == rows.replace(",", "\t")
    assert "NO_DATA_TO_INSERT" in run(text="CREATE TABLE t (a UInt8) ENGINE = Memory; INSERT INTO t FORMAT CSV").stderr


def test_output_that_nobody_reads_ends_quietly():
    command = [sys.executable, "-m", "chalet", "-q", "SELECT number FROM numbers(3000000)", "-q", "SELECT 1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout.read(2) == b"0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=300) == 1
    process.stderr.close()


def test_standard_input_that_stays_open_is_not_read():
    reader, writer = os.pipe()
    try:
        command = [sys.executable, "-m", "chalet", "-q", "SELECT 1 FROM numbers(1)"]
        done = subprocess.run(command, stdin=reader, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_the_script_of_the_package():
    project = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, name = project["scripts"]["chalet"].split(":")
    assert getattr(importlib.import_module(module), name)(["--version"]) == 0


def test_usage():
    done = run("--no-value-behind")
    assert done.returncode == 2 and "usage" in done.stderr
    assert run("--help").returncode == 0 and "--queries-file" in run("-h").stdout


@pytest.mark.parametrize("arguments", [["a", "b", "c"], ["-y"], ["--echo=1"], ["-q"], ["--progress=maybe"]])
def test_wrong_command_lines(arguments):
    with pytest.raises(UsageError):
        parse(arguments)


def test_command_lines():
    options = parse(["-qSELECT 1", "--queries_file=x", "-itE", "--max-threads=2", "--param_a=b=c", "--progress", "-n", "--", "-1", "CSV"])
    assert (options.queries, options.files, options.sql) == (["SELECT 1"], ["x"], "-1")
    assert options.interactive and options.time and options.format == "Vertical"
    assert options.settings == [("max_threads", "2")] and options.params == {"a": "b=c"} and options.progress == "auto"
    assert parse([]).sql is None and parse(["x"]).format == "CSV"


def test_a_server_by_its_name():
    import chalet.server

    with chalet.server.start(http=None, users={"alice": {"password": "s/cret@"}}) as server:
        who = ("--host", "127.0.0.1", "--port", str(server.tcp_port), "--user", "alice", "--password", "s/cret@")
        assert run(*who, "-q", "SELECT currentUser(), currentDatabase()").stdout == "alice\tdefault\n"
        assert run(*who, "--database", "system", "--max_threads", "3", "-q", "SELECT currentDatabase(), getSetting('max_threads')").stdout == "system\t3\n"
        assert run(*who, text="CREATE TABLE t (x UInt8) ENGINE = Memory; INSERT INTO t VALUES (1); SELECT x FROM t FORMAT CSV").stdout == "1\n"
        assert run(*who, "-q", "INSERT INTO t FORMAT CSV", text="2\n3\n").returncode == 0
        assert run(*who, "-q", "SELECT sum(x) FROM t").stdout == "6\n"
        assert run(*who, "--param_n=1", "-q", "SELECT count() FROM t WHERE x > {n:UInt8}").stdout == "2\n"
        failed = run(*who, "-q", "SELECT no_such_column")
        assert failed.returncode == 1 and "UNKNOWN_IDENTIFIER" in failed.stderr
        assert run(*who[:-1], "wrong", "-q", "SELECT 1").returncode == 1
    assert run("--host", "127.0.0.1", "--port", "1", "-q", "SELECT 1").returncode == 1
    assert parse(["--secure", "-u", "x"]).has_server and not parse(["-q", "SELECT 1"]).has_server
    for wrong in (["--host", "h", "--path", "p"], ["--port", "x"], ["--port", "70000"]):
        with pytest.raises(UsageError):
            parse(wrong)


def test_data_for_a_server(tmp_path):
    """They are read here and sent along with the statements, and nothing stays there."""
    import chalet.server

    (tmp_path / "rows.csv").write_text("1,a\n2,b\n")
    rows = ("--file", str(tmp_path / "rows.csv"))
    with chalet.server.start() as server:
        there = ("--host", "127.0.0.1", "--port", str(server.tcp_port))
        assert run(*there, "--query-id", "mine", "-q", "SELECT queryID(), {x:UInt8}", "--param_x", "5").stdout == "mine\t5\n"
        assert run(*there, *rows, "-q", "SELECT sum(c1) FROM table; SELECT max(c2) FROM table").stdout == "3\nb\n"
        assert run(*there, "--input-format", "CSV", "-q", "SELECT c1 + 1 FROM table", text="5,x\n").stdout == "6\n"
        external = ("--external", "--file", "-", "--name=t", "--structure", "a Int32")
        assert run(*there, "-q", "SELECT sum(a) FROM t", *external, text="5\n6\n").stdout == "11\n"
        two = ("--external", *rows, "--types", "Int32, Array(String)", "--format=TSV")
        wrong = run(*there, "-q", "SELECT * FROM _data", *two)
        assert wrong.returncode == 1 and "Code: 27." in wrong.stderr
        two = (*external, "--external", *rows, "--format", "CSV", "--types", "Int32, LowCardinality(String)")
        assert run(*there, "-q", "SELECT _1, _2 FROM _data2 WHERE _1 NOT IN t", *two, text="1\n").stdout == "2\tb\n"
        assert run(*there, "-q", "SHOW TABLES").stdout == ""
    assert run("-q", "SELECT sum(a) FROM t", *external, text="5\n6\n").stdout == "11\n"
    for arguments in (("--query-id", "x"), ("--external", "--name", "t"), ("--external", *rows), (*external, "--types", "Int32")):
        assert run("-q", "SELECT 1", *arguments).returncode == 2
