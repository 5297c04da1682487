"""Parts in memory are left out by the values of the columns of the partition key, as those in files are by their statistics."""

import pytest

import chalet

# With the parts and rows that the kernel's EXPLAIN ESTIMATE names.
CONDITIONS = {
    "d = '2024-02-03'": (1, 319),
    "d < '2024-02-01'": (1, 351),
    "d BETWEEN '2024-02-11' AND '2024-02-20'": (2, 329),
    "d > '2024-02-12' AND d < '2024-03-01'": (1, 319),
    "v = 3": (4, 1010),
}


@pytest.fixture(scope="module", params=[":memory:", "files"])
def tables(request, tmp_path_factory):
    path = request.param if request.param == ":memory:" else str(tmp_path_factory.mktemp("bounds") / "db")
    with chalet.connect(path) as db:
        db.query("CREATE TABLE t (d Date, k UInt32, v UInt32) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY k")
        db.query("SYSTEM STOP MERGES t")
        db.query("INSERT INTO t SELECT toDate('2024-01-01') + number % 90, number, number FROM numbers(1000)")
        db.query("INSERT INTO t SELECT toDate('2024-02-10') + number % 3, number, number FROM numbers(10)")
        yield db


@pytest.mark.parametrize("condition", CONDITIONS)
def test_which_parts_are_read(tables, counted, condition):
    found = tables.query(f"SELECT parts, rows FROM (EXPLAIN ESTIMATE SELECT * FROM t WHERE {condition})", "TSV").data()
    assert tuple(map(int, found.split())) == CONDITIONS[condition]
    _, pruned = counted(tables, f"SELECT count() FROM t WHERE {condition} SETTINGS use_query_condition_cache = 0", "MergeTreePrunedParts")
    assert pruned >= 4 - CONDITIONS[condition][0]
