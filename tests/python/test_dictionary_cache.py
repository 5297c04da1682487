"""Dictionaries of which a query needs few values are there for the next one: counters show it, a switch turns it off, the answers stay."""

import time

import pytest

import chalet

ROWS = 60_000
ONE = "SELECT s, n FROM t WHERE k = 41237"


@pytest.fixture
def db(tmp_path):
    with chalet.connect(str(tmp_path / "dictionaries")) as db:
        db.query("CREATE TABLE t (k UInt32, s String, n Nullable(String)) ENGINE = MergeTree ORDER BY k")
        db.query(
            "INSERT INTO t SELECT number, concat('a rather long text, number ', toString(number * 7919 % 9000)), "
            f"if(number % 9 = 0, NULL, concat('another text ', toString(number % 7000))) FROM numbers({ROWS})"
        )
        # A file that was changed just now is not known again.
        time.sleep(0.1)
        yield db


HITS, INSERTS = "ParquetDictionaryCacheHits", "ParquetDictionaryCacheInserts"


def test_the_second_query_finds_them(db, counted):
    expected = f"a rather long text, number {41237 * 7919 % 9000}\tanother text {41237 % 7000}\n"
    assert counted(db, ONE, HITS) == (expected, 0)
    assert counted(db, ONE, HITS) == (expected, 2)
    assert counted(db, "SELECT s FROM t WHERE k = 41300", HITS)[1] == 1


def test_a_switch_turns_it_off(db, counted):
    off = f"{ONE} SETTINGS chalet_use_dictionary_cache = 0"
    answer, kept = counted(db, off, INSERTS)
    assert kept == 0
    assert counted(db, off, HITS) == (answer, 0)
    assert counted(db, ONE, HITS) == (answer, 0)


def test_scans_of_all_rows_keep_nothing(db, counted):
    assert counted(db, "SELECT max(s), max(n) FROM t", INSERTS)[1] == 0


def test_a_changed_part_is_read_anew(db):
    db.query(ONE)
    db.query("ALTER TABLE t UPDATE s = 'changed' WHERE k = 41237 SETTINGS mutations_sync = 1")
    assert str(db.query("SELECT s FROM t WHERE k = 41237", "TSV")) == "changed\n"


def test_they_can_be_dropped(db, counted):
    db.query(ONE)
    db.query("SYSTEM DROP UNCOMPRESSED CACHE")
    assert counted(db, ONE, HITS)[1] == 0


def test_a_row_group_is_read_by_several_workers(db, counted):
    def groups(threads):
        return counted(db, f"SELECT sum(k), uniqExact(s) FROM t SETTINGS max_threads = {threads}", "ParquetReadRowGroups")

    sums = f"{ROWS * (ROWS - 1) // 2}\t9000\n"
    assert groups(1) == (sums, 1)
    assert groups(3) == (sums, 3)


def test_rows_found_in_pieces_are_remembered_as_those_of_the_row_group(db, counted):
    sql = "SELECT count(), sum(k) FROM t WHERE s LIKE '%number 77' SETTINGS max_threads = 3"
    first = str(db.query(sql, "TSV"))
    answer, found = counted(db, sql, "QueryConditionCacheHits")
    assert answer == first and found > 0
