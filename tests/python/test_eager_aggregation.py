"""Grouping before joins and below grouping sets: counters show it, a switch turns it off, the answers stay."""

import pytest

import chalet

STATEMENTS = {
    "EagerAggregations": "SELECT x.name, count(), sum(f.v), avg(f.nv) FROM f JOIN x ON f.k = x.id GROUP BY x.name ORDER BY 1",
    "GroupingSetsOverGroups": "SELECT k, nv % 3 AS m, sum(v), count() FROM f GROUP BY ROLLUP(k, m) ORDER BY 1, 2, 4",
}


@pytest.fixture
def db(tmp_path):
    # Tables on disk know how many different values a column has.
    with chalet.connect(str(tmp_path / "db")) as db:
        db.query("CREATE TABLE f (k UInt32, v Int32, nv Nullable(Int64)) ENGINE = MergeTree ORDER BY k")
        db.query("INSERT INTO f SELECT number % 97, number % 1000, if(number % 3 = 0, NULL, number % 777) FROM numbers(300000)")
        db.query("CREATE TABLE x (id UInt32, name String) ENGINE = MergeTree ORDER BY id")
        db.query("INSERT INTO x SELECT number % 80, concat('name ', toString(number % 30)) FROM numbers(120)")
        yield db


def moved(db, event, sql):
    asked = f"SELECT sum(value) FROM system.events WHERE event = '{event}'"
    before = int(str(db.query(asked, "TSV")))
    answer = str(db.query(sql, "TSV"))
    return answer, int(str(db.query(asked, "TSV"))) - before


@pytest.mark.parametrize("event", STATEMENTS)
def test_a_switch_turns_it_off(db, event):
    sql = STATEMENTS[event]
    answer, with_it = moved(db, event, sql)
    other, without = moved(db, event, f"{sql} SETTINGS cascades_aggregation_pushdown = 0")
    assert answer == other and answer
    assert with_it > 0 and without == 0
