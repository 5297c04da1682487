"""Joins and sorts make the columns that somebody reads behind them, and give the same answers as with all columns."""

import chalet
import pytest

TABLES = """
CREATE TABLE a ENGINE = Memory AS SELECT number % 700 AS k, toString(number % 31) AS s, if(number % 5 = 0, NULL, number) AS n,
    toLowCardinality(toString(number % 7)) AS l FROM numbers(3000);
CREATE TABLE b ENGINE = Memory AS SELECT number % 900 + 100 AS k, concat('b', toString(number % 13)) AS t,
    if(number % 4 = 0, NULL, toInt32(number)) AS m, toDate('2020-01-01') + number AS d FROM numbers(2000)
"""
JOINS = [
    "a {} JOIN b ON a.k = b.k",
    "a {} JOIN b ON a.k = b.k AND a.s < b.t AND a.n > b.m",
    "a {} JOIN (SELECT * FROM b LIMIT 1 BY k) AS b USING k",
    "a {} JOIN b ON a.k = b.k JOIN (SELECT number AS k, number % 3 AS g FROM numbers(500)) AS c ON c.k = a.k",
]
KINDS = ["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "RIGHT ANTI", "LEFT ANY"]
READ = [
    "count()",
    "count(), sum(n), max(d)",
    "count(), any(l) = any(l), uniqExact(t), sum(length(s))",
    "groupArray(x), groupArray(y) FROM (SELECT l AS x, m AS y",
]
SORTS = [
    "SELECT max(n) FROM (SELECT * FROM a ORDER BY l, s OFFSET 5)",
    "SELECT groupArray(k) FROM (SELECT k, n FROM a ORDER BY n DESC, s LIMIT 30 OFFSET 3)",
    "SELECT count(), sum(k) FROM (SELECT k FROM a ORDER BY s, n NULLS FIRST LIMIT 1 WITH TIES)",
    "SELECT groupArray(t) FROM (SELECT t FROM b ORDER BY m, d LIMIT 2 BY k LIMIT 40)",
    "SELECT count() FROM (SELECT s, row_number() OVER (ORDER BY n) AS r FROM a ORDER BY l)",
    "SELECT sum(x) FROM (SELECT toUInt32(k) AS x, d FROM b ORDER BY d WITH FILL TO toDate('2027-01-01'))",
]
EVENT = "SELECT sum(value) FROM system.events WHERE event = 'UnreadColumnsLeftOut'"


def statements():
    for join in JOINS:
        for kind in KINDS:
            for read in READ:
                end = " ORDER BY n, x, y, d LIMIT 50)" if "(SELECT" in read else ""
                yield f"SELECT {read} FROM {join.format(kind)}{end}"
    yield from SORTS


@pytest.mark.parametrize("settings", ["", "max_bytes_in_join = 1, max_bytes_before_external_sort = 1", "join_use_nulls = 1", "max_block_size = 7, max_threads = 2"])
def test_the_same_answers_with_and_without(settings):
    with chalet.connect() as db:
        for statement in TABLES.split(";"):
            db.query(statement)
        options = f" SETTINGS {settings}" if settings else ""
        also = f"{options}, " if settings else " SETTINGS "
        for sql in statements():
            few, all_columns = [], []
            for answers, setting in (few, options), (all_columns, also + "query_plan_remove_unused_columns = 0"):
                try:
                    answers.append(str(db.query(sql + setting)))
                except chalet.Error as error:
                    answers.append(str(error).split(":")[0])
            assert few == all_columns, sql


def test_the_counter():
    with chalet.connect() as db:
        for statement in TABLES.split(";"):
            db.query(statement)
        for sql, columns in ("SELECT sum(n), max(d) FROM a JOIN b ON a.k = b.k", 2), (SORTS[0], 2):
            counted = []
            for value in 0, 1:
                before = db.query(EVENT).fetchone()[0]
                db.query(f"{sql} SETTINGS query_plan_remove_unused_columns = {value}")
                counted.append(db.query(EVENT).fetchone()[0] - before)
            assert counted == [0, columns]
