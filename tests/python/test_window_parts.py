"""Windows over partitions that do not fit into memory: computed part by part, from sorted rows on disk or beside what they are in."""

import pytest

import chalet

WINDOWS = [
    "row_number() OVER (ORDER BY x)",
    "rank() OVER (ORDER BY x)",
    "sum(y) OVER (ORDER BY x)",
    "sum(y) OVER (ORDER BY x, y ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
    "lag(y, 3) OVER (ORDER BY x, y)",
    "sum(y) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "count() OVER (ORDER BY x DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 50 PRECEDING)",
    "sum(y) OVER (ORDER BY x, y ROWS BETWEEN UNBOUNDED PRECEDING AND 5 FOLLOWING)",
    "leadInFrame(y, 2) OVER (ORDER BY x, y ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "dense_rank() OVER (PARTITION BY y % 2 ORDER BY x)",
]
ALL = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
WHOLE = [
    "sum(y) OVER ()",
    "y / sum(y) OVER () + row_number() OVER (ORDER BY y)",
    "count() OVER (PARTITION BY y % 2)",
    f"avg(y) OVER (PARTITION BY y % 3 ORDER BY x ROWS BETWEEN {ALL})",
    "y - max(y) OVER (PARTITION BY intDiv(x, 100000))",
    f"round(percent_rank() OVER (PARTITION BY y % 2 ORDER BY x RANGE BETWEEN {ALL}), 6)",
    f"cume_dist() OVER (PARTITION BY y % 2 ORDER BY x RANGE BETWEEN {ALL})",
    f"ntile(7) OVER (PARTITION BY y % 2 ORDER BY x, y ROWS BETWEEN {ALL})",
]
PLACES = [
    "row_number() OVER (ORDER BY x)",
    "rank() OVER (ORDER BY x)",
    "percent_rank() OVER (ORDER BY x DESC)",
    "cume_dist() OVER (ORDER BY x)",
    "ntile(7) OVER (ORDER BY x)",
    "row_number() OVER ()",
]
ROWS = "(SELECT intHash32(number) % 300000 AS x, number AS y FROM numbers(2000000))"


@pytest.mark.parametrize("window", WINDOWS)
def test_under_a_limit(db, counted, window):
    sql = f"SELECT sum(w), max(w) FROM (SELECT {window} AS w FROM {ROWS})"
    settings = "SETTINGS max_threads = 2, max_memory_usage"
    answer, spilled = counted(db, f"{sql} {settings} = 0", "ExternalSortWritePart")
    assert spilled == 0
    limited, parts = counted(db, f"{sql} {settings} = 60000000", "WindowParts")
    assert limited == answer
    assert parts > 5


@pytest.mark.parametrize("window", [*PLACES, f"{PLACES[1]} + row_number() OVER (ORDER BY x)"])
def test_ranges_of_one_partition(db, counted, window):
    # Ties go through many rows, and the last of them go through a half.
    rows = "(SELECT if(number % 2 = 0, intHash32(number) % 3000, 3000) AS x, number AS y FROM numbers(2000000))"
    sql = f"SELECT sum(w), max(w), sum(w * (x + 1) % 1013) FROM (SELECT x, toFloat64({window}) AS w FROM {rows}) SETTINGS max_threads = 2, max_memory_usage"
    answer, ranges = counted(db, f"{sql} = 0", "WindowRanges")
    assert ranges == 0
    limited, ranges = counted(db, f"{sql} = 60000000", "WindowRanges")
    assert [float(a) for a in limited.split()] == pytest.approx([float(a) for a in answer.split()])
    assert ranges > 1


@pytest.mark.parametrize("window", WHOLE)
def test_results_that_depend_on_the_whole_partition(db, counted, window):
    sql = f"SELECT sum(cityHash64(x, y, w)) FROM (SELECT x, y, {window} AS w FROM {ROWS})"
    settings = "SETTINGS max_threads = 2, max_memory_usage"
    answer, spooled = counted(db, f"{sql} {settings} = 0", "ExternalWindowWritePart")
    assert spooled == 0
    limited, spooled = counted(db, f"{sql} {settings} = 60000000", "ExternalWindowWritePart")
    assert limited == answer
    assert spooled > 0


def test_narrow_rows_are_sorted_under_a_limit(db, counted):
    # What sorts them is larger than they are.
    sql = "SELECT x FROM (SELECT intHash32(number) AS x FROM numbers(3000000)) ORDER BY x LIMIT 3 OFFSET 2900000"
    settings = "SETTINGS max_threads = 2, max_memory_usage"
    answer, written = counted(db, f"{sql} {settings} = 0", "ExternalSortWritePart")
    assert written == 0
    limited, written = counted(db, f"{sql} {settings} = 80000000", "ExternalSortWritePart")
    assert limited == answer
    assert written > 0


def test_an_offset_without_a_limit_holds_no_rows(db, counted):
    rows = "SELECT number AS x, concat('a text of some length ', toString(number)) AS s FROM numbers(3000000) ORDER BY cityHash64(number) OFFSET 5"
    sql = f"SELECT count(), sum(cityHash64(x)), sum(cityHash64(s)) FROM ({rows}) SETTINGS max_threads = 2, max_memory_usage"
    answer, written = counted(db, f"{sql} = 0", "ExternalSortWritePart")
    assert written == 0
    limited, written = counted(db, f"{sql} = 100000000", "ExternalSortWritePart")
    assert limited == answer
    assert written > 0


def test_a_whole_partition_that_does_not_fit(db):
    share = "sum(y) OVER (ORDER BY x RANGE BETWEEN 200000 PRECEDING AND 1000 PRECEDING)"
    with pytest.raises(chalet.Error) as raised:
        db.query(f"SELECT max(w) FROM (SELECT {share} AS w FROM {ROWS}) SETTINGS max_memory_usage = 25000000")
    assert raised.value.code == 241
    assert db.query("SELECT 1", "TSV").data() == "1\n"
