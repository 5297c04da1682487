"""Where only the lengths of strings are asked for, a table reads no bytes: a counter shows it, a switch turns it off, the answers stay."""

import pytest

import chalet

EVENT = "StringsReadByLength"
STATEMENTS = [
    "SELECT sum(length(s)), max(length(n)) FROM t",
    "SELECT k % 3 AS g, avg(length(s)), count() FROM t WHERE s <> '' GROUP BY g ORDER BY g",
    "SELECT countIf(empty(n)), countIf(notEmpty(s)) FROM t",
    "SELECT sum(length(x)) FROM (SELECT s AS x FROM t WHERE k > 10)",
    "SELECT sum(length(a.s)) FROM t AS a JOIN t AS b ON a.k = b.k",
]


@pytest.fixture
def db(tmp_path):
    with chalet.connect(str(tmp_path / "lengths")) as db:
        db.query("CREATE TABLE t (k UInt32, s String, n Nullable(String)) ENGINE = MergeTree ORDER BY k")
        db.query(
            "INSERT INTO t SELECT number, repeat(toString(number), number % 31), "
            "if(number % 3 = 0, NULL, repeat('x', number % 50)) FROM numbers(50000)"
        )
        yield db


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_switch_turns_it_off(db, sql, counted):
    answer, with_it = counted(db, sql, EVENT)
    other, without = counted(db, f"{sql} SETTINGS optimize_functions_to_subcolumns = 0", EVENT)
    assert answer == other and answer
    assert with_it > 0 and without == 0


def test_strings_that_are_read_otherwise_too_are_read(db, counted):
    for sql in ("SELECT max(s), sum(length(s)) FROM t", "SELECT count() FROM t WHERE length(s) > 3 AND s LIKE '%1'"):
        assert counted(db, sql, EVENT)[1] == 0


def test_short_strings_have_no_lengths_of_their_own(tmp_path, counted):
    with chalet.connect(str(tmp_path / "short")) as db:
        db.query("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY tuple()")
        db.query("INSERT INTO t SELECT toString(number) FROM numbers(200000)")
        assert counted(db, "SELECT sum(length(s)) FROM t", EVENT) == ("1088890\n", 0)


def test_files_of_parts_show_the_lengths_to_other_programs(db, tmp_path):
    [part] = (tmp_path / "lengths").rglob("*.parquet")
    described = str(db.query(f"DESCRIBE TABLE file('{part}', Parquet)", "TSV"))
    assert [line.split("\t")[0] for line in described.splitlines()] == ["k", "s", "n", "s.size", "n.size"]
    sums = db.query(f"SELECT sum(length(s)) = sum(`s.size`), sum(length(n)) = sum(`n.size`) FROM file('{part}', Parquet)", "TSV")
    assert str(sums) == "1\t1\n"


def test_a_column_may_have_the_name_of_the_lengths(db):
    db.query("ALTER TABLE t ADD COLUMN `s.size` UInt32 DEFAULT 5")
    asked = "SELECT sum(length(s)), sum(`s.size`) FROM t"
    before = str(db.query(asked, "TSV"))
    assert before.split()[1] == "250000"
    db.query("OPTIMIZE TABLE t FINAL")
    db.query("INSERT INTO t SELECT number, repeat('a', 20), NULL, 7 FROM numbers(50000)")
    lengths, sizes = (int(x) for x in str(db.query(asked, "TSV")).split())
    assert (lengths, sizes) == (int(before.split()[0]) + 20 * 50000, 250000 + 7 * 50000)
