"""Tables of groups that outgrow the cache stay whole where keys are drawn evenly from a set of moderate size, and are divided elsewhere."""

import pytest

import chalet

ROWS = 600_000
KEYS = {
    "even": ("cityHash64(number, 1) % 40000", False),
    "even_texts": ("concat('key ', toString(cityHash64(number, 2) % 30000))", False),
    "even_nullable": ("if(cityHash64(number, 3) % 20 = 0, NULL, cityHash64(number, 1) % 40000)", False),
    "many": ("cityHash64(number, 4) % 400000", True),
    "distinct": ("cityHash64(number)", True),
    # What comes first lets expect fewer keys than there are.
    "more_later": ("if(number < 100000, cityHash64(number) % 20000, cityHash64(number) % 300000)", True),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", KEYS)
def test_groups_are_right_and_divided_where_that_pays(name, threads):
    key, is_divided = KEYS[name]
    with chalet.connect() as db:
        db.query(f"SET max_threads = {threads}")
        db.query(f"CREATE TABLE t ENGINE = Memory AS SELECT {key} AS k, number AS v FROM numbers({ROWS})")
        event = "SELECT sum(value) FROM system.events WHERE event = 'AggregationHashTablesInitializedAsTwoLevel'"
        before = int(str(db.query(event, "TSV")))
        found = db.query("SELECT count(), sum(c), sum(s), sum(cityHash64(k, c, s)) FROM (SELECT k, count() AS c, sum(v) AS s FROM t GROUP BY k)", "TSV")
        divided = int(str(db.query(event, "TSV"))) - before
        sorted_runs = db.query(
            "SELECT count(), sum(c), sum(s), sum(cityHash64(k, c, s)) FROM (SELECT k, count() AS c, sum(v) AS s FROM t GROUP BY k SETTINGS group_by_two_level_threshold = 0, group_by_two_level_threshold_bytes = 0)",
            "TSV",
        )
        assert str(found) == str(sorted_runs)
        assert str(found).split("\t")[1] == str(ROWS)
        if threads == 1:
            assert (divided > 0) == is_divided
