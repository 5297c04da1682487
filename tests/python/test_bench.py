"""The benchmark's own reading of queries and answers: without it, it would measure the wrong thing and not say so."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import answers  # noqa: E402
import dialects  # noqa: E402
import statements  # noqa: E402
from engines import replaced, unescaped  # noqa: E402
from summary import Measured, against_best  # noqa: E402
from surface import Line, lines, same  # noqa: E402

from chalet.lab.contest import Times  # noqa: E402
from chalet.lab.workload import statements as split  # noqa: E402

PEERS = ["duckdb", "datafusion", "polars"]


@pytest.mark.parametrize(
    ("sql", "duckdb", "datafusion"),
    [
        ("SELECT count() FROM t", "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t"),
        ("SELECT sum(length(a))", "SELECT sum(strlen(a))", "SELECT sum(octet_length(a))"),
        ("SELECT extract(minute FROM a)", "SELECT extract(minute FROM a)", "SELECT extract(minute FROM a)"),
        ("SELECT extract(a, 'x(.)')", "SELECT regexp_extract(a, 'x(.)', 1)", "SELECT COALESCE(regexp_match(a, 'x(.)')[1], '')"),
        ("SELECT uniqExact(intDiv(a, 2))", "SELECT COUNT(DISTINCT (a // 2))", "SELECT COUNT(DISTINCT (a / 2))"),
        ("SELECT countIf(a = 1)", "SELECT COUNT(*) FILTER (WHERE a = 1)", "SELECT COUNT(*) FILTER (WHERE a = 1)"),
        ("SELECT sum(a) / 2", "SELECT sum(a) / 2", "SELECT sum(a) * 1e0 / 2"),
        ("SELECT quantileExactInclusive(0.9)(a)", "SELECT quantile_cont(a, 0.9)", "SELECT percentile_cont(a, 0.9)"),
        (
            "SELECT toStartOfInterval(a, INTERVAL 10 MINUTE)",
            "SELECT time_bucket(INTERVAL '10 minute', a)",
            "SELECT date_bin(INTERVAL '10 minute', a)",
        ),
        ("SELECT toStartOfInterval(a, INTERVAL 1 WEEK)", "SELECT date_trunc('week', a)", "SELECT date_trunc('week', a)"),
        (r"SELECT match(a, 'x\\.\d')", r"SELECT regexp_matches(a, 'x\.\d')", r"SELECT regexp_like(a, 'x\.\d')"),
        (r"SELECT 'it\'s' SETTINGS max_threads = 1", "SELECT 'it''s'", "SELECT 'it''s'"),
    ],
)
def test_dialects(sql, duckdb, datafusion):
    assert dialects.translate(sql, "duckdb") == duckdb
    assert dialects.translate(sql, "datafusion") == datafusion
    assert dialects.translate(sql, "chalet") == dialects.translate(sql, "chdb") == sql


def test_a_pattern_that_matches_once_is_not_asked_for_all_matches():
    assert dialects.translate("REGEXP_REPLACE(a, '^b', 'c')", "duckdb") == "regexp_replace(a, '^b', 'c')"
    assert dialects.translate("REGEXP_REPLACE(a, 'b', 'c')", "duckdb") == "regexp_replace(a, 'b', 'c', 'g')"


def test_words_in_texts_and_columns_are_left_alone():
    sql = "SELECT 'count()' AS length, length FROM t WHERE a LIKE '%if(%'"
    assert all(dialects.translate(sql, peer) == sql for peer in PEERS)


def test_our_queries_read_as_they_are_meant():
    queries = list(split((ROOT / "bench/queries.sql").read_text()))
    assert len(queries) > 40
    for sql in queries:
        shape = statements.shape(sql)
        assert shape.columns, sql
        assert (shape.limit is not None) == bool(re.search(r"\bLIMIT \d+( OFFSET \d+)?$", sql)), sql
        for peer in PEERS:
            assert "intDiv" not in dialects.translate(sql, peer)


def test_sort_keys_are_answered_too():
    by_name = statements.shape("SELECT a, count() AS c FROM t GROUP BY a ORDER BY c DESC, a LIMIT 3")
    assert by_name.with_sort_keys() == (by_name.sql, [1, 0])
    by_text = statements.shape("SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY count( * ) LIMIT 3")
    assert by_text.with_sort_keys() == (by_text.sql, [1])
    missing = statements.shape("SELECT a FROM t ORDER BY b DESC, c LIMIT 3 OFFSET 4")
    asked = "SELECT a, b AS sort_key_0, c AS sort_key_1 FROM t ORDER BY b DESC, c LIMIT 3 OFFSET 4"
    assert missing.with_sort_keys() == (asked, [-2, -1])
    assert missing.without_limit() == "SELECT a FROM t ORDER BY b DESC, c"


def compared(sql, a, b, absent=lambda rows: []):
    query = statements.shape(sql)
    _, keys = query.with_sort_keys()
    return answers.difference(query, keys, a, b, absent, dialects.is_estimate(sql))


def test_ties():
    sql = "SELECT a, c FROM t ORDER BY c DESC LIMIT 3"
    answer = [["x", "9"], ["y", "5"], ["z", "1"]]
    assert compared(sql, answer, [["x", "9"], ["y", "5"], ["other", "1"]]) == ""
    assert compared(sql, answer, [["x", "9"], ["other", "5"], ["z", "1"]]) != ""
    assert compared(sql, answer, [["x", "9"], ["y", "4"], ["z", "1"]]) != ""
    assert compared(sql, answer, answer[:2]) != ""
    # Without a LIMIT all rows are there, so a tie is no excuse.
    assert compared("SELECT a, c FROM t ORDER BY c DESC", answer, [["x", "9"], ["y", "5"], ["other", "1"]]) != ""


def test_rows_of_a_limit_without_order_must_exist():
    sql = "SELECT a, c FROM t LIMIT 1"
    assert compared(sql, [["x", "1"]], [["y", "2"]]) == ""
    assert "does not have" in compared(sql, [["x", "1"]], [["y", "2"]], absent=lambda rows: rows)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1.0000000000001", "1", True),
        ("1.001", "1", False),
        ("4927512499641486140", "4927512499641486141", False),
        ("2013-07-02 00:08:33.000", "2013-07-02 00:08:33", True),
        ("2013-07-02 00:00:00", "2013-07-02", True),
        ("2013-07-02 00:08:33.5", "2013-07-02 00:08:33", False),
        ("true", "1", True),
        ("\\N", "", False),
    ],
)
def test_fields(a, b, same):
    assert answers.same_field(a, b) is same


def test_estimates_may_be_near():
    assert compared("SELECT quantile(0.9)(a) FROM t", [["103"]], [["100"]]) == ""
    assert compared("SELECT quantileExact(0.9)(a) FROM t", [["103"]], [["100"]]) != ""


def test_times_that_the_files_keep_as_numbers():
    columns = replaced([("EventTime", "BIGINT"), ("EventDate", "UInt16"), ("Title", "String"), ("SendTiming", "Int32")], "t({})", "d({})")
    assert columns == '* REPLACE (t("EventTime") AS "EventTime", d("EventDate") AS "EventDate")'
    assert replaced([("EventTime", "DateTime64(3, 'UTC')"), ("EventDate", "Date32")], "t({})", "d({})") == "*"


def test_escapes_of_text_results():
    assert unescaped(r"a\tb\'c\\n") == "a\tb'c\\n"
    assert unescaped(r"\N") == r"\N"


def measured(number, **seconds):
    return Measured(number, "", {name: Times(seconds=[time] if time else [], error="" if time else "no") for name, time in seconds.items()})


def test_ratios_are_to_the_best_peer_of_each_query():
    queries = [measured(1, ours=1.0, a=2.0, b=4.0), measured(2, ours=8.0, a=4.0, b=2.0), measured(3, ours=1.0, a=None, b=None)]
    found = against_best(queries, "ours")
    assert (found.compared, found.not_slower, found.worst_query, found.worst_ratio) == (2, 1, 2, 4.0)
    assert math.isclose(found.mean_ratio, math.sqrt(0.5 * 4.0))
    assert (found.seconds, found.peer_seconds) == (9.0, 4.0)


def test_targets_of_the_surface():
    line = Line("a", "a", "ours a", ["b a", "c a"], ["d a"], most_seconds=0.5, most_ratio=0.8)
    assert (line.best_peer(), line.is_met()) == (None, None)
    seconds = {"ours a": [0.1, 0.4, 9.0], "b a": [0.5], "c a": [1.0], "d a": [0.01]}
    line.times = {name: Times(seconds=runs) for name, runs in seconds.items()}
    # What stands beside is no peer, and the median counts.
    assert (line.best_peer(), line.ratio(), line.is_met(), line.target()) == ("b a", 0.8, True, "< 500.0 ms, <= 0.8 x")
    line.times["b a"].seconds = [0.4]
    assert line.is_met() is False
    for name, sum_of_s in (("ours a", 1.0), ("b a", 1.0 + 1e-12), ("c a", 1.1)):
        line.times[name].told = [3, {"s": sum_of_s}]
    assert line.differing() == ["c a"]


def test_what_is_the_same_of_two_answers():
    assert same([1, {"a": 2.0}], [1, {"a": 2.0000000000001}])
    assert not same([1], [1, 1])
    assert not same({"a": 1}, {"b": 1})
    assert not same("1", "2")


def test_each_line_of_the_surface_has_a_name_and_a_target():
    found = lines(1000)
    assert len({line.name for line in found}) == len({line.title for line in found}) == len(found)
    assert all(line.target() != "-" and line.ours.startswith(("chalet ", "warm chalet")) for line in found)


def test_the_benchmark_and_the_answers_have_one_kernel():
    pinned, oracle = ((ROOT / folder / "requirements.txt").read_text().splitlines() for folder in ("bench", "tests/oracle"))
    assert [line for line in oracle if line.startswith("chdb==")] == [line for line in pinned if line.startswith("chdb==")] != []


def test_the_command_line_runs():
    for script in ("clickbench.py", "ab.py", "surface.py", "suite.py", "sorts.py", "functions.py", "operators.py", "frames.py", "clients.py", "startup.py", "join_orders.py"):
        subprocess.run([sys.executable, str(ROOT / "bench" / script), "--help"], check=True, capture_output=True)
