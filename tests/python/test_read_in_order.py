"""Rows of tables in the order of their keys: read so instead of sorted, and merged for FINAL range by range; always the same rows."""

import random

import pytest

import chalet

ROWS = 200_000


def events(db, name):
    return int(str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{name}'", "TSV")))


@pytest.fixture(scope="module", params=["memory", "disk"])
def db(request, tmp_path_factory):
    path = ":memory:" if request.param == "memory" else str(tmp_path_factory.mktemp("order") / "db")
    with chalet.connect(path) as db:
        db.query("SYSTEM STOP MERGES")
        db.query("CREATE TABLE t (k UInt32, s LowCardinality(String), d DateTime, v Int64, n Nullable(Int32)) ENGINE = MergeTree ORDER BY (k, s, d)")
        db.query(f"CREATE TABLE r (k UInt32, s String, ver UInt32, v Int64) ENGINE = ReplacingMergeTree(ver) ORDER BY (k, s)")
        for part in range(5):
            db.query(
                f"INSERT INTO t SELECT cityHash64(number, {part}) % 5000, toString(number % 7), toDateTime(number * 37 % 100000, 'UTC'), "
                f"number, if(number % 3 = 0, NULL, number) FROM numbers({ROWS // 5})"
            )
            db.query(
                f"INSERT INTO r SELECT cityHash64(number) % {ROWS // 4}, toString(number % 3), {part}, number * {part} FROM numbers({ROWS // 5})"
            )
        yield db


def test_nothing_is_sorted(db):
    before = events(db, "ReadInOrder")
    in_order = db.query("SELECT k, s, d FROM t ORDER BY k, s, d", "TSV").bytes()
    assert events(db, "ReadInOrder") == before + 1
    off = db.query("SELECT k, s, d FROM t ORDER BY k, s, d SETTINGS optimize_read_in_order = 0", "TSV").bytes()
    assert events(db, "ReadInOrder") == before + 1
    assert in_order == off
    assert "Sort" not in str(db.query("EXPLAIN PIPELINE SELECT k FROM t ORDER BY k", "TSV"))
    # Another order, and another expression.
    for keys in ["s, k", "k, s DESC", "k + 1", "v"]:
        assert "Sort" in str(db.query(f"EXPLAIN PIPELINE SELECT k FROM t ORDER BY {keys}", "TSV")), keys


def test_a_limit_reads_little(db):
    read = {}
    for direction in ["", " DESC"]:
        for on in (0, 1):
            result = db.query(f"SELECT k, v FROM t ORDER BY k{direction}, s{direction}, d{direction} LIMIT 5 SETTINGS optimize_read_in_order = {on}", "TSV")
            read[direction, on] = result.storage_rows_read()
        assert read[direction, 1] < ROWS / 2, read


def test_final_is_merged_by_ranges(db):
    before = events(db, "FinalMergedRanges")
    query = "SELECT count(), sum(v), sum(ver), sum(cityHash64(k, s, ver, v)) FROM r FINAL"
    merged = str(db.query(query, "TSV"))
    after = events(db, "FinalMergedRanges")
    assert after > before + 1
    assert merged == str(db.query(query + " SETTINGS optimize_read_in_order = 0", "TSV"))
    assert events(db, "FinalMergedRanges") == after


def test_random_statements_agree_with_sorting(db):
    draw = random.Random(11)
    for _ in range(60):
        keys = ["k", "s", "d"][: draw.randint(1, 3)]
        direction = draw.choice(["", " DESC"])
        condition = draw.choice(["1", "k = 17", "k % 10 = 3", "k BETWEEN 100 AND 130", "v % 1000 = 1", "n IS NULL", "k = 17 AND s = '3'", "0"])
        bounds = draw.choice(["", f"LIMIT {draw.randint(1, 300)}", f"LIMIT {draw.randint(1, 300)} OFFSET {draw.randint(0, 5000)}"])
        table = draw.choice(["t", "(SELECT *, v AS w FROM t)"])
        order = ", ".join(key + direction for key in keys)
        settings = f"max_block_size = {draw.choice([100, 8192, 65409])}, max_threads = {draw.choice([1, 2, 4])}"
        query = f"SELECT {', '.join(keys)} FROM {table} WHERE {condition} ORDER BY {order} {bounds} SETTINGS {settings}"
        assert db.query(query, "TSV").bytes() == db.query(query + ", optimize_read_in_order = 0", "TSV").bytes(), query


def test_rows_that_do_not_count_are_counted_as_read(db):
    result = db.query("SELECT k FROM t WHERE v % 1000000 = -1 ORDER BY k", "TSV")
    assert result.storage_rows_read() == ROWS
    with pytest.raises(chalet.Error, match="TOO_MANY_ROWS"):
        db.query("SELECT k FROM t WHERE v % 1000000 = -1 ORDER BY k SETTINGS max_rows_to_read = 1000", "TSV")
