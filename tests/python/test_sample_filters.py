"""Conditions on tables that are joined are tried on a few rows before the order of the joins is chosen."""

import json
import re

import pytest

import chalet

ROWS = 300_000
# `people` is large, and few of its rows pass; half of the rows of `works` pass, which nobody can know from counts of values.
TABLES = {
    "people": f"SELECT number AS id, concat('name ', toString(number), if(number % 5000 = 7, ' the rare', '')) AS name FROM numbers({ROWS})",
    "works": f"SELECT number AS id, number % 150000 AS person, if(number % 2 = 0, 'common', toString(number)) AS kind FROM numbers({ROWS * 2})",
    "places": "SELECT number AS id, number % 60000 AS work FROM numbers(200000)",
}
# One in two hundred rows of each, or in a hundred, has the key 0, beside 100,000 others: joined, these alone are millions.
HUB = {
    "casts": "SELECT number AS id, if(number % 200 = 3, 0, cityHash64(number, 1) % 100000) AS movie, cityHash64(number, 2) % 300000 AS person FROM numbers(300000)",
    "words": "SELECT number AS id, if(number % 100 = 5, 0, cityHash64(number, 3) % 100000) AS movie, number % 101 AS word FROM numbers(100000)",
    "titles": "SELECT number AS id, if(number % 200 = 7, 0, cityHash64(number, 5) % 100000) AS movie, toString(number) AS title FROM numbers(60000)",
}
OF_HUB = """SELECT count(), min(people.name), max(title) FROM casts, words, titles, people
    WHERE casts.movie = words.movie AND titles.movie = words.movie AND casts.person = people.id
    AND words.word = 7"""
JOINS = """SELECT count(), min(people.id) FROM works, places, people
    WHERE works.person = people.id AND places.work = works.id AND works.kind = 'common' AND people.name LIKE '%the rare%'"""


@pytest.fixture(scope="module", params=["Memory", "MergeTree ORDER BY id", "on disk", "Parquet", "DataFrame", "ArrowTable"])
def db(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    with chalet.connect(str(folder / "tables.db") if request.param == "on disk" else ":memory:") as connection:
        for name, rows in (TABLES | HUB).items():
            if request.param in ("DataFrame", "ArrowTable"):
                connection.register(name, connection.query(rows, request.param))
            elif request.param == "Parquet":
                connection.query(f"INSERT INTO FUNCTION file('{folder}/{name}.parquet') {rows}")
                connection.query(f"CREATE VIEW {name} AS SELECT * FROM file('{folder}/{name}.parquet')")
            else:
                engine = "MergeTree ORDER BY id" if request.param == "on disk" else request.param
                connection.query(f"CREATE TABLE {name} ENGINE = {engine} AS {rows}")
        yield connection


def built(db, settings, joins=JOINS):
    """The rows that joins index, largest first."""
    stages = json.loads(db.query(f"EXPLAIN ANALYZE json = 1 {joins} SETTINGS {settings}", "TSVRaw").data())["stages"]
    return sorted((stage["sink"]["rows"] for stage in stages if stage["sink"]["name"] == "JoinBuild"), reverse=True)


def test_the_condition_that_leaves_few_rows_comes_first(db, counted):
    with_samples, n = counted(db, f"{JOINS} SETTINGS use_statistics = 1", "SampledFilters")
    without, none = counted(db, f"{JOINS} SETTINGS use_statistics = 0", "SampledFilters")
    assert with_samples == without
    # Parts and files that were changed just now may be read each time; they are tried all the same.
    assert n >= 2 and none == 0
    assert sum(built(db, "use_statistics = 1")) < sum(built(db, "use_statistics = 0")) / 3


def test_keys_that_are_frequent_on_several_sides_are_joined_late(db, counted):
    with_samples, n = counted(db, f"{OF_HUB} SETTINGS use_statistics = 1", "FrequentKeyValues")
    without, none = counted(db, f"{OF_HUB} SETTINGS use_statistics = 0", "FrequentKeyValues")
    assert with_samples == without
    assert n == 1 and none == 0
    assert sum(built(db, "use_statistics = 1", OF_HUB)) < sum(built(db, "use_statistics = 0", OF_HUB)) / 3


@pytest.mark.parametrize(
    "condition",
    ["rand() % 2 = 0 AND people.id < 0", "throwIf(people.id = 150001) = 0", "intDiv(1, people.id) = 7", "toUInt8(people.name) = 1"],
)
def test_conditions_that_are_not_tried(db, counted, condition):
    """What may answer differently the next time, or fail: the query itself says what becomes of it."""

    def outcome(settings):
        try:
            return db.query(f"SELECT count() FROM works JOIN people ON works.person = people.id WHERE {condition} SETTINGS {settings}").data()
        except chalet.Error as error:
            return error.code

    assert outcome("use_statistics = 1") == outcome("use_statistics = 0")


def test_functions_of_python_see_rows_once():
    seen = []

    def odd(x: int) -> int:
        seen.append(x)
        return x % 2

    chalet.create_function("odd_of_samples", odd)
    try:
        with chalet.connect() as db:
            for name in "ab":
                db.query(f"CREATE TABLE {name} ENGINE = Memory AS SELECT number AS id FROM numbers(100000)")
            assert db.query("SELECT count() FROM a JOIN b ON a.id = b.id WHERE odd_of_samples(a.id) = 1").data().strip() == "50000"
    finally:
        chalet.drop_function("odd_of_samples")
    assert len(seen) == 100_000


def test_a_changed_table_is_asked_again():
    with chalet.connect() as db:
        db.query("CREATE TABLE a ENGINE = Memory AS SELECT number AS id, 'x' AS s FROM numbers(200000)")
        db.query("CREATE TABLE b ENGINE = Memory AS SELECT number AS id FROM numbers(100000)")
        explain = "EXPLAIN ANALYZE json = 1 SELECT count() FROM a JOIN b ON a.id = b.id WHERE a.s = 'y'"

        def expected():
            text = db.query(explain, "TSVRaw").data()
            return [float(n) for n in re.findall(r'"estimated_rows":\s*([0-9.e+]+)', text)]

        before = expected()
        db.query("TRUNCATE TABLE a")
        db.query("INSERT INTO a SELECT number, 'y' FROM numbers(200000)")
        assert max(expected()) > max(before)
