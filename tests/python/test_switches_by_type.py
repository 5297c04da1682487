"""What only CHALET_SWITCHES turns off, for columns that are plain, Nullable, LowCardinality and both: counters move with it and do not
without, the answers stay."""

import os
import subprocess
import sys

import pytest
from switched import answers
from test_mechanisms_by_type import MECHANISMS as BY_SETTINGS

import chalet
from chalet.lab.mechanisms import MECHANISMS

ROWS, MANY = 300_000, 1_250_000
FORMS = {"plain": "{}", "nullable": "Nullable({})", "dictionary": "LowCardinality({})", "both": "LowCardinality(Nullable({}))"}
NULLABLE = ("nullable", "both")

# Switch, event and statements. Columns: k is the key of a table on disk, n few numbers, m many, h numbers that lie far apart, s few texts, t long
# ones, w many different ones. `big` and `far` are in memory, with many rows.
SWITCHES = {
    "two-byte-search": ("StringsSearchedTogether", ["SELECT count(), max(v) FROM t WHERE t LIKE '%12345%'"]),
    "ordered-runs": (
        "AggregationRunsInOrder",
        [
            "SELECT count(), sum(cityHash64(a, b, c)) FROM (SELECT n, groupArray(m) AS a, any(w) AS b, anyLast(s) AS c FROM t GROUP BY n)",
            "SELECT count(), sum(cityHash64(a, b)) FROM (SELECT s, groupArray(t) AS a, first_value(n) AS b FROM t GROUP BY s)",
        ],
    ),
    "narrow-copies": ("NarrowJoinCopies", ["SELECT count(), sum(x.v), sum(x.n) FROM t LEFT JOIN t AS x ON t.m = x.m"]),
    "coded-keys": (
        "BlocksGroupedByCodes",
        ["SELECT upper(s) AS a, substring(s, 1, 6) AS b, sum(v), count() FROM t GROUP BY a, b ORDER BY ALL"],
    ),
    "wide-sorts": ("WideSorts", ["SELECT cityHash64(groupArray(v)) FROM (SELECT * FROM t ORDER BY w, m)"]),
    "clustered-sorts": (
        "ClusteredBlocks",
        [
            "SELECT cityHash64(groupArray(tuple(v, m, s))) FROM (SELECT v, m, s FROM big ORDER BY m, v)",
            "SELECT cityHash64(groupArray(tuple(v, s))) FROM (SELECT v, s FROM big ORDER BY s, cityHash64(v))",
        ],
    ),
    "entry-bounds": ("EntryBounds", ["SELECT sum(r * v) FROM (SELECT rank() OVER (PARTITION BY n ORDER BY m) AS r, v FROM t)"]),
    "late-blooms": ("RuntimeFilterTrials", ["SELECT count(), sum(v), sum(x) FROM big JOIN far ON big.h = far.h"]),
    "huge-pages": ("HugePageTables", ["SELECT count(), sum(v), sum(x) FROM big JOIN far ON big.h = far.h"]),
    "window-groups": (
        "WindowsOverGroups",
        [
            "SELECT sum(cityHash64(v, a, b)) FROM (SELECT v, sum(n) OVER (PARTITION BY s) AS a, max(m) OVER (PARTITION BY s) AS b FROM big)",
            "SELECT sum(cityHash64(v, a)) FROM (SELECT v, count(s) OVER (PARTITION BY n) AS a FROM big)",
        ],
    ),
    "subquery-windows": (
        "SubqueriesToWindows",
        ["SELECT count(), sum(x.v) FROM t AS x JOIN d ON x.m = d.n WHERE x.v > (SELECT avg(v) FROM t AS o WHERE o.m = x.m)"],
    ),
    "ordered-inputs": (
        "SortsOfOrderedRows",
        [
            "SELECT cityHash64(groupArray(tuple(*))) FROM (SELECT up, v, s FROM big ORDER BY up)",
            "SELECT cityHash64(groupArray(tuple(*))) FROM (SELECT text, v, n FROM big ORDER BY text LIMIT 1200000 OFFSET 777)",
        ],
    ),
    "kept-mappings": ("FileMappingsReused", ["SELECT * FROM t WHERE k = 123456", "SELECT m, s, w FROM t WHERE k = 223456"]),
    "jumped-pages": ("ParquetJumpedPages", ["SELECT * FROM t WHERE k = 123456", "SELECT m, s, w FROM t WHERE k IN (3, 223456)"]),
    # Of columns that may have a NULL: `full` has none in any of its pages.
    "full-pages": ("ParquetFullPages", ["SELECT count(), sum(full), max(full) FROM t WHERE full % 7 = 0", "SELECT sum(full), max(s) FROM t WHERE k < 9000"]),
    # A candidate: off where nobody says otherwise.
    "free-lists": (
        "ArenaFreeListReuses",
        ["SELECT count(), sum(cityHash64(a, b)) FROM (SELECT m % 10000 AS g, max(t) AS a, argMax(t, k) AS b FROM t GROUP BY g)"],
    ),
}
# The counters say nothing of these: they serve every statement, or are asked for elsewhere (lanes of several widths by the tests of each kernel, rows of
# Python by test_mechanisms_by_type.py, dictionaries of many values by test_parts_of_dictionaries.py).
UNCOUNTED = {"counter-shards", "suspended-collector", "avx-512", "parts-of-dictionaries"}
CANDIDATES = {"free-lists"}
# Where which worker takes which rows decides, a statement is asked again until it shows.
BY_CHANCE = {"ordered-runs"}
# Pages of a column that cannot have a NULL are read that way anyway.
UNSUITED = {"full-pages": ("plain", "dictionary")}

PROGRAM = """
import json, sys, chalet
folder, big, far, statements, patient = json.load(sys.stdin)
with chalet.connect(folder) as db:
    db.query("SET max_threads = 2, allow_suspicious_low_cardinality_types = 1, use_query_condition_cache = 0")
    db.query(f"CREATE TEMPORARY TABLE big ENGINE = Memory AS {big}")
    db.query(f"CREATE TEMPORARY TABLE far ENGINE = Memory AS {far}")
    def counted(event):
        return int(str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{event}'", "TSV")))
    found = {}
    for name, event, sql in statements:
        before = counted(event)
        for _ in range(200 if name in patient else 1):
            answer = str(db.query(sql, "TSV"))
            if counted(event) > before:
                break
        found.setdefault(name, []).append((answer, counted(event) - before))
    print(json.dumps(found))
"""


def known():
    """The names of all switches, as an unknown one is told."""
    asked = [sys.executable, "-c", "import chalet; chalet.connect().query('SELECT 1')"]
    done = subprocess.run(asked, env=os.environ | {"CHALET_SWITCHES": "-none-of-these"}, capture_output=True, text=True, timeout=300)
    return set(done.stderr.strip().splitlines()[-1].split("with a name of ")[1].split(". (")[0].replace(" (BAD_ARGUMENTS)", "").split(", "))


@pytest.fixture(scope="module", params=FORMS)
def found(request, tmp_path_factory):
    """Of a form, what each statement gives with all switches on and with all of them off."""
    form = request.param

    def column(name, ty, made, at=None):
        made = f"if(number % 13 = {at}, NULL, {made})" if at is not None and form in NULLABLE else made
        return f"CAST({made} AS {FORMS[form].format(ty)}) AS {name}"

    few = [column("n", "UInt16", "number * 7 % 50", 3), column("s", "String", "concat('word ', toString(number % 40))", 5)]
    spread = column("m", "UInt32", "cityHash64(number) % 150000", 4)
    folder = str(tmp_path_factory.mktemp(form) / "db")
    with chalet.connect(folder) as db:
        db.query("SYSTEM STOP MERGES; SET allow_suspicious_low_cardinality_types = 1; SET max_threads = 2")
        rows = [
            column("k", "UInt32", "number"), *few, spread, column("full", "Int64", "number * 7"),
            column("t", "String", "repeat(toString(number), 1 + number % 9)", 6), column("w", "String", "concat('key ', toString(number % 90000))", 7),
            "toInt64(number % 1000) AS v",
        ]  # fmt: skip
        made = "CREATE TABLE {} ENGINE = MergeTree ORDER BY {} SETTINGS allow_nullable_key = 1 AS SELECT {} FROM numbers({})"
        db.query(made.format("t", "k", ", ".join(rows), ROWS))
        db.query(made.format("d", "tuple()", column("n", "UInt16", "number", 2), 500))
    far = column("h", "UInt64", "cityHash64(number)", 9)
    big = [*few, spread, column("h", "UInt64", "cityHash64(intHash64(number) % 2700000)", 8), column("up", "UInt64", "number + 5")]
    text = column("text", "String", "leftPad(toString(intDiv(number, 30)), 9, '0')")
    given = [
        folder,
        f"SELECT {', '.join([*big, text])}, number AS v FROM numbers({MANY})",
        f"SELECT {far}, number % 1000 AS x FROM numbers(900000)",
        [(name, event, sql) for name, (event, statements) in SWITCHES.items() for sql in statements],
    ]
    on = answers(PROGRAM, [*given, sorted(BY_CHANCE)], ",".join(f"+{name}" for name in CANDIDATES))
    off = answers(PROGRAM, [*given, []], ",".join(f"-{name}" for name in SWITCHES if name not in CANDIDATES))
    return form, on, off


@pytest.mark.parametrize("name", SWITCHES)
def test_each_switch_takes_each_form(found, name):
    form, on, off = found
    assert [answer for answer, _ in on[name]] == [answer for answer, _ in off[name]]
    assert sum(n for _, n in off[name]) == 0
    assert [n > 0 for _, n in on[name]] == [form not in UNSUITED.get(name, ())] * len(on[name])


def test_every_switch_is_asked_for():
    assert known() == set(SWITCHES) | UNCOUNTED


def test_every_mechanism_is_asked_for_by_type():
    asked = {event for event, *_ in BY_SETTINGS.values()} | {event for event, _ in SWITCHES.values()} | {"CollectorSuspensions", "ParquetPartsOfDictionaries"}
    assert {one.counter for one in MECHANISMS if one.counter} <= asked
