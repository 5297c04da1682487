"""Blocks of large sorts are clustered by bucket, and partitions of windows are told by the entries of the sort: the same answers as
without, in every type, order and kind of column."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, chalet
rows = "SELECT toUInt32(cityHash64(number) % 90000) AS k, if(number % 7 = 0, NULL, toInt32(cityHash64(number, 1) % 3000)) AS n, " \\
    "concat('a string that is long, number ', toString(k % 5000)) AS s, toLowCardinality(toString(k % 100)) AS l, " \\
    "[number, k] AS r, (k, toString(k)) AS t, toUInt32(cityHash64(number, 2)) AS a, toFixedString(toString(k % 1000), 4) AS f, " \\
    "toInt64(number) - 600000 AS number FROM numbers(ROWS)"
answers, counts = [], []
with chalet.connect() as db:
    db.query(f"CREATE TABLE t ENGINE = Memory AS {rows}")
    for statement in STATEMENTS:
        for threads in 1, 2:
            answers.append(str(db.query(statement + f" SETTINGS max_threads = {threads}")))
        counts.append(db.query("SELECT sum(value) FROM system.events WHERE event = EVENT").fetchone()[0])
print(json.dumps([answers, [now - before for before, now in zip([0, *counts], counts)]]))
"""

SORTS = [
    "SELECT cityHash64(groupArray((k, n, s, l))), cityHash64(groupArray((r, t, a, f))) FROM (SELECT * FROM t ORDER BY a, number)",
    "SELECT cityHash64(groupArray((k, s, number))) FROM (SELECT * FROM t ORDER BY s, a DESC)",
    "SELECT cityHash64(groupArray(number)) FROM (SELECT number FROM t ORDER BY k)",
    "SELECT cityHash64(groupArray((s, number))) FROM (SELECT * FROM t ORDER BY n NULLS FIRST, k DESC LIMIT 1100000)",
    "SELECT groupArray((s, number)) FROM (SELECT * FROM t ORDER BY l, n, a LIMIT 20 OFFSET 700000)",
    "SELECT cityHash64(groupArray((k, number))) FROM (SELECT * FROM t ORDER BY number)",
    "SELECT cityHash64(groupArray((l, number))) FROM (SELECT l, number FROM t ORDER BY l, number)",
    "SELECT cityHash64(groupArray((l, n))) FROM (SELECT l, n FROM t ORDER BY n, number)",
    "SELECT cityHash64(groupArray((k, number))) FROM (SELECT k, number FROM t ORDER BY toNullable(a), number)",
]
# Few rows are left of the one, and those of the other are in order already.
UNCLUSTERED = ["LIMIT 20 OFFSET 700000", "ORDER BY number)"]

FUNCTIONS = "row_number() OVER w AS x, rank() OVER w AS y, sum(a) OVER w AS z, avg(n) OVER w AS u, count(n) OVER w AS v, max(s) OVER w AS m"
WINDOWS = [
    "PARTITION BY k ORDER BY a",
    "PARTITION BY k",
    "PARTITION BY n ORDER BY a DESC",
    "PARTITION BY l ORDER BY a",
    "PARTITION BY f ORDER BY n",
    "PARTITION BY k % 3, n % 5 ORDER BY a, k",
    "PARTITION BY toFloat32(k % 1000) - 500 ORDER BY a",
    "PARTITION BY if(k % 2, 0., -0.) ORDER BY a",
    "PARTITION BY toUInt8(k % 2) ORDER BY toUInt16(a % 5000) ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING",
    "PARTITION BY k ORDER BY n NULLS FIRST",
    "PARTITION BY toUInt16(k % 1000) ORDER BY toUInt32(a % 100000) RANGE BETWEEN 50 PRECEDING AND CURRENT ROW",
    "PARTITION BY toUInt16(k) ORDER BY s",
    "PARTITION BY k ORDER BY l",
]
READ = [
    "sum(cityHash64(x, y, z, u, v, m, number, s, k))",
    "count(), sum(v), round(sum(ifNull(u, 0)), 3), max(z)",
]


def windows():
    for window in WINDOWS:
        unordered = "x" if "ORDER BY" not in window or "ROWS" in window else "0 AS x"
        functions = FUNCTIONS.replace("row_number() OVER w AS x", f"{unordered}" if unordered != "x" else "count() OVER w AS x")
        for read in READ:
            # Where rows are peers that differ, which is where is for the sort to say.
            yield f"SELECT {read} FROM (SELECT *, {functions} FROM t WINDOW w AS ({window}))"


def run(statements, rows, event, switches):
    """The answers of a process of its own, and how often the event was counted by each statement."""
    program = PROGRAM.replace("STATEMENTS", repr(list(statements))).replace("EVENT", f"'{event}'").replace("numbers(ROWS)", f"numbers({rows})")
    environment = {**os.environ, "CHALET_SWITCHES": switches}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("statements", "rows", "event", "switch", "least"),
    [(SORTS, 1_200_000, "ClusteredBlocks", "clustered-sorts", 50), (list(windows()), 100_000, "EntryBounds", "entry-bounds", 50)],
    ids=["sorts", "windows"],
)
def test_the_same_answers_with_and_without(statements, rows, event, switch, least):
    answers, counted = run(statements, rows, event, "")
    plain, never = run(statements, rows, event, f"-{switch}")
    assert answers == plain
    assert sum(counted) >= least
    assert sum(never) == 0
    if event == "ClusteredBlocks":
        # Plain, Nullable and LowCardinality keys, and such columns beside them.
        clustered = [n > 0 for n in counted]
        assert clustered == [not any(end in statement for end in UNCLUSTERED) for statement in statements]
