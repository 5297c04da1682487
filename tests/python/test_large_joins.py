"""Joins whose right side has very many keys: filters that are made once they pay, lists of the rows of a key, huge pages. The same answers
as without each of them, and as over small tables."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, chalet
answers = []
with chalet.connect() as db:
    # Keys that lie far apart: no array can be indexed by them. One in three of l is in r, every key of m is, no key of o.
    db.query("CREATE TABLE r ENGINE = Memory AS SELECT cityHash64(number % KEYS) AS k, if(number % 11 = 0, NULL, cityHash64(number % KEYS)) AS n, "
             "toUInt16(number) AS w, number FROM numbers(ROWS)")
    db.query("CREATE TABLE l ENGINE = Memory AS SELECT cityHash64(intHash64(number) % (3 * KEYS)) AS k, number AS v FROM numbers(ROWS + ROWS / 3)")
    db.query("CREATE TABLE m ENGINE = Memory AS SELECT cityHash64(number % KEYS) AS k, number AS v FROM numbers(ROWS + ROWS / 3)")
    db.query("CREATE TABLE o ENGINE = Memory AS SELECT cityHash64(number) + 1 AS k, number AS v FROM numbers(ROWS + ROWS / 3)")
    for statement in STATEMENTS:
        for threads in 1, 2:
            answers.append(str(db.query(statement + f" SETTINGS max_threads = {threads}EXTRA")))
    counted = dict(db.query("SELECT event, value FROM system.events WHERE event IN ('RuntimeFilterTrials', 'RuntimeFiltersCreated', 'HugePageTables')").fetchall())
print(json.dumps([answers, counted]))
"""

# Which of several left rows stands beside a right row of RIGHT SEMI depends on who comes first.
BOTH, RIGHT = "sum(v), sum(w), sum(cityHash64(v, number))", "sum(w), sum(number)"
JOINS = [
    f"SELECT count(), {RIGHT if join == 'RIGHT SEMI' else BOTH} FROM {left} AS l {join} JOIN r ON l.k = r.{key}"
    for left in "lmo"
    for join in ["INNER", "LEFT", "FULL", "LEFT SEMI", "RIGHT SEMI", "LEFT ANTI", "RIGHT ANTI"]
    for key in "kn"
]
OTHERS = [
    "SELECT count(), sum(v), sum(w) FROM l JOIN r ON l.k = r.k AND l.v > r.number",
    "SELECT count(), sum(v), sum(w) FROM l JOIN r ON l.k = r.k AND l.v % 7 = r.w % 7",
    "SELECT count(), sum(v), sum(number) FROM l ASOF JOIN r ON l.k = r.k AND l.v >= r.number",
    "SELECT count(), sum(v), sum(number) FROM l ASOF LEFT JOIN r ON l.k = r.n AND l.v < r.number",
    "SELECT count(), sum(v), sum(w > 0) FROM l LEFT ANY JOIN r ON l.k = r.k",
    "SELECT count(), sum(v) FROM l WHERE k IN (SELECT n FROM r)",
]


def asked(statements, keys, rows, switches="", settings=""):
    """The answers, which are those of one thread and of two, and what was counted."""
    program = PROGRAM.replace("STATEMENTS", json.dumps(statements)).replace("ROWS", str(rows)).replace("KEYS", str(keys)).replace("EXTRA", settings)
    environment = {**os.environ, "CHALET_SWITCHES": switches}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    answers, counted = json.loads(ran.stdout)
    assert answers[::2] == answers[1::2], "one thread and two give different answers"
    return answers[::2], counted


@pytest.mark.parametrize("keys, rows", [(180_000, 180_000), (60_000, 150_000)])
def test_answers_do_not_depend_on_how_keys_are_indexed(keys, rows):
    answers, _ = asked(JOINS + OTHERS, keys, rows)
    without, counted = asked(JOINS + OTHERS, keys, rows, "-late-blooms,-huge-pages")
    assert answers == without
    assert set(counted) == {"RuntimeFiltersCreated"}
    alone, counted = asked(JOINS + OTHERS, keys, rows, settings=", parallel_hash_join_threshold = 100000000")
    assert answers == alone
    assert "RuntimeFilterTrials" not in counted


@pytest.mark.parametrize("left, pays", [("l", True), ("m", False), ("o", True)])
def test_a_filter_of_many_keys_is_made_where_it_pays(left, pays):
    join = f"SELECT count(), sum(v), sum(w) FROM {left} JOIN r ON {left}.k = r.k"
    answers, counted = asked([join], 900_000, 900_000)
    assert counted["RuntimeFilterTrials"] >= 2
    assert counted.get("RuntimeFiltersCreated", 0) == (2 if pays else 0)
    without, counted = asked([join], 900_000, 900_000, "-late-blooms")
    assert answers == without
    assert "RuntimeFilterTrials" not in counted
    assert counted["RuntimeFiltersCreated"] == 2


FORMS = ["k", "n", "toLowCardinality(k)", "toLowCardinality(n)"]


@pytest.mark.parametrize("form", FORMS)
def test_such_filters_are_made_of_keys_in_every_form(form):
    # NULL is no key, whether it is in a dictionary or not.
    rows = f"(SELECT {form} AS key, w FROM r SETTINGS allow_suspicious_low_cardinality_types = 1)"
    join = f"SELECT count(), sum(v), sum(w) FROM l JOIN {rows} AS r ON l.k = r.key"
    answers, counted = asked([join], 900_000, 900_000)
    assert counted["RuntimeFilterTrials"] >= 2
    assert counted["RuntimeFiltersCreated"] == 2
    without, counted = asked([join], 900_000, 900_000, "-late-blooms")
    assert answers == without
    assert "RuntimeFilterTrials" not in counted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such advice")
def test_huge_pages_are_asked_for(form):
    rows = f"(SELECT {form} AS key, w FROM r SETTINGS allow_suspicious_low_cardinality_types = 1)"
    join = f"SELECT count(), sum(v), sum(w) FROM m JOIN {rows} AS r ON m.k = r.key"
    answers, counted = asked([join], 900_000, 900_000)
    assert counted["HugePageTables"] > 0
    without, counted = asked([join], 900_000, 900_000, "-huge-pages")
    assert answers == without
    assert "HugePageTables" not in counted
