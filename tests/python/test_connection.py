"""Connections and sessions: what they keep, what they share, how they end."""

import threading

import pytest

import chalet
from chalet.session import Session


def test_a_connection_keeps_its_tables(db):
    db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
    db.query("INSERT INTO t VALUES (1), (2)")
    assert db.query("SELECT sum(x) FROM t").data() == "3\n"


def test_two_databases_in_memory_are_two(db):
    db.query("CREATE TABLE t (x UInt8) ENGINE = Memory")
    with chalet.connect() as other, pytest.raises(chalet.Error, match="UNKNOWN_TABLE"):
        other.query("SELECT * FROM t")


def test_module_level_queries_share_nothing():
    chalet.query("CREATE TABLE t (x UInt8) ENGINE = Memory")
    with pytest.raises(chalet.Error):
        chalet.query("SELECT * FROM t")


def test_settings_last_as_long_as_the_session(db):
    db.query("SET max_block_size = 7")
    assert db.query("SELECT getSetting('max_block_size')").data() == "7\n"


def test_use_lasts(db):
    db.query("CREATE DATABASE d; USE d; CREATE TABLE t (x UInt8) ENGINE = Memory")
    assert db.query("SELECT currentDatabase(), count() FROM t").data() == '"d",0\n'


def test_a_closed_connection_says_so():
    connection = chalet.connect()
    connection.close()
    connection.close()
    with pytest.raises(chalet.Error, match="closed"):
        connection.query("SELECT 1")


def test_session_has_the_names_of_chdb():
    with Session() as session:
        assert session.query("SELECT 1", "TabSeparated").data() == "1\n"
        assert session.sql("SELECT 2").data() == "2\n"
        assert session.query("SELECT {x:UInt8}", params={"x": 3}).data() == "3\n"
    with pytest.raises(chalet.Error):
        session.query("SELECT 1")


def test_sql_is_query():
    assert chalet.sql is chalet.query
    assert chalet.sql("SELECT 1").data() == "1\n"


def test_threads_share_a_connection(db):
    db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
    failures = []

    def work(base):
        try:
            for i in range(20):
                db.query(f"INSERT INTO t VALUES ({base + i})")
                db.query("SELECT count() FROM t")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert db.query("SELECT count(), uniqExact(x) FROM t", "TabSeparated").data() == "80\t80\n"
