"""KILL QUERY ends statements of other connections of the process, and of a server."""

import threading
import time

import patience
import pytest

import chalet

# Some minutes.
LONG = "SELECT sum(sleepEachRow(0.01)) FROM numbers({n}) SETTINGS max_block_size = 1"


@pytest.fixture
def db():
    with chalet.connect() as db:
        yield db


class Running:
    """A statement on a thread and a connection of its own."""

    def __init__(self, sql):
        self.sql, self.error = sql, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with chalet.connect() as db:
            try:
                db.query(self.sql)
            except chalet.Error as error:
                self.error = error

    def is_shown(self, db):
        asked = "SELECT count() FROM system.processes WHERE query = {q:String}"
        return str(db.query(asked, "TSV", {"q": self.sql})) != "0\n"

    def wait(self, db):
        patience.until(lambda: self.is_shown(db))

    def join(self):
        self.thread.join(patience.LONG)
        assert not self.thread.is_alive()
        return str(self.error)


def killed(db, sql):
    return [line.split("\t") for line in str(db.query(sql, "TSV")).splitlines()]


def test_a_running_statement_is_cancelled(db):
    running = Running(LONG.format(n=30001))
    running.wait(db)
    begun = time.monotonic()
    [row] = killed(db, "KILL QUERY WHERE query LIKE '%numbers(30001)%' AND query NOT LIKE '%KILL%'")
    assert row[0] == "waiting" and row[2] == "default" and "numbers(30001)" in row[3]
    assert "QUERY_WAS_CANCELLED" in running.join()
    assert time.monotonic() - begun < 60


def test_sync_waits_for_its_end(db):
    running = Running(LONG.format(n=30002))
    running.wait(db)
    [row] = killed(db, "KILL QUERY WHERE query LIKE '%numbers(30002)%' AND query NOT LIKE '%KILL%' SYNC")
    assert row[0] == "finished"
    assert not running.is_shown(db)
    assert "QUERY_WAS_CANCELLED" in running.join()


def test_only_what_meets_the_condition_is_killed_and_never_the_statement_itself(db):
    one, other = Running(LONG.format(n=30003)), Running(LONG.format(n=30033))
    one.wait(db)
    other.wait(db)
    rows = killed(db, "KILL QUERY WHERE query LIKE '%numbers(30003)%'")
    assert [row[0] for row in rows] == ["waiting"]
    assert "QUERY_WAS_CANCELLED" in one.join()
    assert other.is_shown(db) and other.thread.is_alive()
    killed(db, "KILL QUERY WHERE query LIKE '%numbers(30033)%' AND query NOT LIKE '%KILL%'")
    other.join()


def test_test_kills_nothing(db):
    running = Running(LONG.format(n=30061))
    running.wait(db)
    sql = "KILL QUERY WHERE query LIKE '%numbers(30061)%' AND query NOT LIKE '%KILL%'"
    rows = killed(db, f"{sql} TEST")
    assert [row[0] for row in rows] == ["unknown_status"]
    time.sleep(0.2)
    assert running.is_shown(db) and running.thread.is_alive()
    killed(db, sql)
    running.join()


def test_nothing_to_kill_prints_nothing(db):
    assert str(db.query("KILL QUERY WHERE query_id = 'nobody'", "TSVWithNames")) == ""
    with pytest.raises(chalet.Error, match="UNKNOWN_IDENTIFIER"):
        db.query("KILL QUERY WHERE nothing = 1")


def test_clients_of_a_server_kill_their_own_statements(db):
    import chalet.server

    with chalet.server.start(db, tcp=0) as server:
        address = f"clickhouse://127.0.0.1:{server.tcp_port}"
        failed = []

        def run():
            with chalet.connect(address) as client:
                try:
                    client.query(LONG.format(n=30004))
                except chalet.Error as error:
                    failed.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        with chalet.connect(address) as client:
            rows = patience.until(lambda: killed(client, "KILL QUERY WHERE query LIKE '%numbers(30004)%' AND query NOT LIKE '%KILL%' SYNC"))
            assert [row[0] for row in rows] == ["finished"]
        thread.join(patience.LONG)
        assert not thread.is_alive() and "cancelled" in failed[0]
