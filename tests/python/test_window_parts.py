"""Windows over partitions that do not fit into memory: computed part by part, from sorted rows on disk or beside what they are in."""

import pytest

import chalet

WINDOWS = [
    "row_number() OVER (ORDER BY x)",
    "rank() OVER (ORDER BY x)",
    "sum(y) OVER (ORDER BY x)",
    "sum(y) OVER (ORDER BY x, y ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
    "lag(y, 3) OVER (ORDER BY x, y)",
    "dense_rank() OVER (PARTITION BY y % 2 ORDER BY x)",
]
ROWS = "(SELECT intHash32(number) % 300000 AS x, number AS y FROM numbers(2000000))"


@pytest.mark.parametrize("window", WINDOWS)
def test_under_a_limit(db, counted, window):
    sql = f"SELECT sum(w), max(w) FROM (SELECT {window} AS w FROM {ROWS})"
    settings = "SETTINGS max_threads = 2, max_memory_usage"
    answer, parts = counted(db, f"{sql} {settings} = 0", "WindowParts")
    assert parts == 0
    limited, parts = counted(db, f"{sql} {settings} = 150000000", "WindowParts")
    assert limited == answer
    assert parts > 5


def test_a_whole_partition_that_does_not_fit(db):
    share = "percent_rank() OVER (ORDER BY x RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    with pytest.raises(chalet.Error) as raised:
        db.query(f"SELECT max(w) FROM (SELECT {share} AS w FROM {ROWS}) SETTINGS max_memory_usage = 60000000")
    assert raised.value.code == 241
    assert db.query("SELECT 1", "TSV").data() == "1\n"
