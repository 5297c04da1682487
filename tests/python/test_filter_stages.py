"""Conditions of a filter that are tested in stages: what the first ones leave out is not read of the other columns, whatever file it is."""

import random

import pyarrow
import pyarrow.parquet
import pytest

import chalet

ROWS = 120_000


def events(db, name):
    return int(str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{name}'", "TSV")))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Files as pyarrow writes them, where every column is OPTIONAL, with and without NULL, and a table on disk of the same rows."""
    folder = tmp_path_factory.mktemp("stages")
    numbers = range(ROWS)
    for name, hole in [("nulls", 11), ("whole", ROWS + 1)]:
        table = pyarrow.table({
            "k": pyarrow.array([i // 1000 for i in numbers], pyarrow.int32()),
            "flag": pyarrow.array([None if i % hole == 5 else i % 2 for i in numbers], pyarrow.int16()),
            "n": pyarrow.array([None if i % hole == 3 else i * 7 % 1000 for i in numbers], pyarrow.int64()),
            "s": pyarrow.array([None if i % hole == 7 else "" if i % 4 == 0 else f"text {i % 500}" for i in numbers]),
            "t": pyarrow.array([f"{i} of many different texts" for i in numbers]),
        })
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    with chalet.connect(str(folder / "db")) as db:
        db.query(f"CREATE TABLE disk ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('{folder}/nulls.parquet')")
        yield db, {"nulls": f"file('{folder}/nulls.parquet')", "whole": f"file('{folder}/whole.parquet')", "table": "disk"}


@pytest.mark.parametrize("kind", ["nulls", "whole", "table"])
def test_columns_are_read_where_rows_are_left(source, kind):
    db, tables = source
    query = f"SELECT s, count() FROM {tables[kind]} WHERE s <> '' AND t LIKE '%many%' AND flag = 0 AND k = 62 GROUP BY s ORDER BY s SETTINGS use_query_condition_cache = 0"
    before = events(db, "PrewhereFilteredRows")
    found = db.query(query, "TSV").bytes()
    # Of the table, the page index leaves a granule.
    assert events(db, "PrewhereFilteredRows") >= before + (5000 if kind == "table" else ROWS - 2000)
    after = events(db, "PrewhereFilteredRows")
    assert db.query(query + ", optimize_move_to_prewhere = 0", "TSV").bytes() == found
    assert events(db, "PrewhereFilteredRows") == after


def test_conditions_that_may_fail_keep_their_place(source):
    db, tables = source
    # Behind what was written before it, and never on rows that an earlier condition took out.
    for table in tables.values():
        query = f"SELECT count() FROM {table} WHERE s <> '' AND intDiv(1000, n) > 3 AND n <> 0 AND k = 3"
        assert int(str(db.query(query, "TSV"))) > 0
        # Both of the last stage, where the second fails on rows that the first takes out.
        query = f"SELECT count() FROM {table} WHERE k < 90 AND s <> '' AND intDiv(1000, length(s)) > 3"
        assert int(str(db.query(query, "TSV"))) > 0
        with pytest.raises(chalet.Error, match="ILLEGAL_DIVISION"):
            db.query(f"SELECT count() FROM {table} WHERE intDiv(1000, n) >= 0", "TSV")


def test_random_filters_agree(source):
    db, tables = source
    draw = random.Random(5)
    conditions = [
        "k = 62", "k IN (1, 5, 90)", "k > 100", "flag = 1", "flag IS NULL", "n < 500", "n BETWEEN 10 AND 40", "s <> ''", "s LIKE '%1%'",
        "length(t) > 26", "t > '5'", "NOT (n = 7)", "n % 3 = 1", "k = 7 OR s = ''", "s IS NOT NULL", "coalesce(n, 3) = 3", "k <> flag", "1", "materialize(1)",
    ]
    for _ in range(60):
        chosen = " AND ".join(draw.sample(conditions, draw.randint(2, 5)))
        table = draw.choice(list(tables.values()))
        query = f"SELECT count(), sum(k), sum(n), sum(length(s)), min(t) FROM {table} WHERE {chosen}"
        query += f" SETTINGS use_query_condition_cache = {draw.choice([0, 1])}, max_block_size = {draw.choice([100, 65409])}"
        assert str(db.query(query, "TSV")) == str(db.query(query + ", optimize_move_to_prewhere = 0, use_query_condition_cache = 0", "TSV")), query
