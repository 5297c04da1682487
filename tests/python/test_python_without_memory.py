"""Python itself has no memory for one of the objects of a result: an exception says so, and no row is lost or of another type."""

import subprocess
import sys

import pytest

PROGRAM = """
import _testcapi
import chalet

SQL = '''SELECT number, toString(number) AS s, [number, 1] AS l, toDate(number) AS d, number / 7 AS f, unhex('ff00') AS b,
    toDecimal64(number, 2) AS e FROM numbers(20)'''
connection = chalet.connect(":memory:")

wanted = connection.query(SQL).fetchall()
assert isinstance(wanted[0][1], str) and isinstance(wanted[0][5], bytes), wanted[0]
ways = {
    "fetchall": lambda result: result.fetchall(),
    "fetchmany": lambda result: result.fetchmany(20),
    "fetchone": lambda result: result.fetchone(),
    "cursor": lambda result: result.fetchall(),
    "to_dicts": lambda result: result.to_dicts(),
    "html": lambda result: result._repr_html_(),
}
refused = dict.fromkeys(ways, 0)
for way, fetch in ways.items():
    for at in range(400):
        if way == "cursor":
            result = connection.cursor()
            result.execute(SQL)
        else:
            result = connection.query(SQL)
        got = None
        _testcapi.set_nomemory(at, at + 1)
        try:
            got = fetch(result)
        except MemoryError:
            refused[way] += 1
        finally:
            _testcapi.remove_mem_hooks()
        if way not in ("to_dicts", "html"):
            # What a refused call had taken may be had again.
            left = list(result.fetchall())
            had = [] if got is None else [got] if way == "fetchone" else list(got)
            assert had + left == wanted, (way, at, had, left)
for way, times in refused.items():
    assert times > 5, refused
"""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="_testcapi is CPython's")
def test_python_has_no_memory_for_an_object():
    hooks = pytest.importorskip("_testcapi")
    if not hasattr(hooks, "set_nomemory"):
        pytest.skip("this Python cannot refuse allocations")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
