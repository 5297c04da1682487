"""`python -m chalet`."""

import subprocess
import sys


def run(*arguments, text=""):
    command = [sys.executable, "-m", "chalet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text, timeout=60)


def test_output_and_format():
    assert run("SELECT 1, 'x'").stdout == '1,"x"\n'
    assert run("SELECT 1 AS a", "JSONEachRow").stdout == '{"a":1}\n'


def test_sql_from_standard_input():
    assert run("-", "TabSeparated", text="SELECT 1; SELECT 2").stdout == "1\n2\n"


def test_errors_go_to_stderr_without_a_traceback():
    done = run("SELECT nosuch")
    assert done.returncode == 1 and done.stdout == ""
    assert "UNKNOWN_IDENTIFIER" in done.stderr and "Traceback" not in done.stderr


def test_usage():
    assert run().returncode == 2
    assert "usage" in run().stderr
