"""Inner joins below DISTINCT and in sets are semi joins: a counter shows it, a switch turns it off, the answers stay."""

import pytest

import chalet

EVENT = "JoinsToSemiJoins"
STATEMENTS = [
    "SELECT DISTINCT a.w FROM a JOIN b ON a.k = b.k ORDER BY 1",
    "SELECT count() FROM b WHERE k IN (SELECT p.k FROM a AS p, a AS q WHERE p.k = q.k AND p.w <> q.w)",
    "SELECT count() FROM b WHERE EXISTS (SELECT 1 FROM a AS p, a AS q WHERE p.k = q.k AND p.w <> q.w AND p.k = b.k)",
    "SELECT p.k FROM a AS p JOIN b ON p.k = b.k INTERSECT DISTINCT SELECT k FROM a",
]


@pytest.fixture
def db():
    with chalet.connect() as db:
        db.query("CREATE TABLE a (k Nullable(UInt32), w UInt8) ENGINE = Memory")
        db.query("INSERT INTO a SELECT if(number % 13 = 0, NULL, number % 97), number % 5 FROM numbers(3000)")
        db.query("CREATE TABLE b (k UInt32) ENGINE = Memory")
        db.query("INSERT INTO b SELECT number % 150 FROM numbers(500)")
        yield db


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_switch_turns_it_off(db, sql, counted):
    answer, with_it = counted(db, sql, EVENT)
    other, without = counted(db, f"{sql} SETTINGS query_plan_convert_any_join_to_semi_or_anti_join = 0", EVENT)
    assert answer == other and answer
    assert with_it > 0 and without == 0


def test_rows_that_are_counted_keep_their_joins(db, counted):
    answer, rewritten = counted(db, "SELECT count() FROM (SELECT a.w FROM a JOIN b ON a.k = b.k)", EVENT)
    assert rewritten == 0 and int(answer) > 3000
