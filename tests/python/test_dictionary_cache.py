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


def events(db, name):
    return int(str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{name}'", "TSV")))


def hits(db, sql):
    before = events(db, "ParquetDictionaryCacheHits")
    answer = str(db.query(sql, "TSV"))
    return answer, events(db, "ParquetDictionaryCacheHits") - before


def test_the_second_query_finds_them(db):
    expected = f"a rather long text, number {41237 * 7919 % 9000}\tanother text {41237 % 7000}\n"
    assert hits(db, ONE) == (expected, 0)
    assert hits(db, ONE) == (expected, 2)
    assert hits(db, "SELECT s FROM t WHERE k = 41300")[1] == 1


def test_a_switch_turns_it_off(db):
    off = f"{ONE} SETTINGS chalet_use_dictionary_cache = 0"
    kept = events(db, "ParquetDictionaryCacheInserts")
    answer, _ = hits(db, off)
    assert hits(db, off) == (answer, 0)
    assert events(db, "ParquetDictionaryCacheInserts") == kept
    assert hits(db, ONE) == (answer, 0)


def test_scans_of_all_rows_keep_nothing(db):
    before = events(db, "ParquetDictionaryCacheInserts")
    db.query("SELECT max(s), max(n) FROM t", "TSV")
    assert events(db, "ParquetDictionaryCacheInserts") == before


def test_a_changed_part_is_read_anew(db):
    db.query(ONE)
    db.query("ALTER TABLE t UPDATE s = 'changed' WHERE k = 41237 SETTINGS mutations_sync = 1")
    assert str(db.query("SELECT s FROM t WHERE k = 41237", "TSV")) == "changed\n"


def test_they_can_be_dropped(db):
    db.query(ONE)
    db.query("SYSTEM DROP UNCOMPRESSED CACHE")
    assert hits(db, ONE)[1] == 0


def test_a_row_group_is_read_by_several_workers(db):
    def groups(threads):
        before = events(db, "ParquetReadRowGroups")
        answer = str(db.query(f"SELECT sum(k), uniqExact(s) FROM t SETTINGS max_threads = {threads}", "TSV"))
        return answer, events(db, "ParquetReadRowGroups") - before

    alone, together = groups(1), groups(3)
    assert alone == (f"{ROWS * (ROWS - 1) // 2}\t9000\n", 1)
    assert together == (alone[0], 3)


def test_rows_found_in_pieces_are_remembered_as_those_of_the_row_group(db):
    sql = "SELECT count(), sum(k) FROM t WHERE s LIKE '%number 77' SETTINGS max_threads = 3"
    first = str(db.query(sql, "TSV"))
    before = events(db, "QueryConditionCacheHits")
    assert str(db.query(sql, "TSV")) == first
    assert events(db, "QueryConditionCacheHits") > before
