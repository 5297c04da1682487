"""Many threads at once, on one connection and on many; and databases that know nothing of each other."""

import gc
import threading
import time

import patience
import pytest

import chalet
from chalet.session import Session

N_THREADS = 32
ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"


def together(work, n=N_THREADS):
    """Runs `work(number)` on so many threads at the same time; raises what any of them raised."""
    failures, ready = [], threading.Barrier(n)

    def guarded(number):
        try:
            ready.wait(patience.LONG)
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience.LONG)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


def test_one_connection(db):
    db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")

    def work(number):
        for step in range(10):
            db.query(f"INSERT INTO t VALUES ({number * 10 + step})")
            assert int(db.query(f"SELECT count() FROM t WHERE x = {number * 10 + step}").data()) == 1
            assert db.cursor().execute("SELECT {n:UInt64} + 1", {"n": number}).fetchall() == ((number + 1,),)

    together(work)
    assert db.query("SELECT count(), uniqExact(x), max(x) FROM t", "TSV").data() == "320\t320\t319\n"


def test_many_connections():
    def work(number):
        with chalet.connect() as own:
            own.query(f"CREATE TABLE t ENGINE = Memory AS SELECT number + {number} AS x FROM numbers(1000)")
            for _ in range(5):
                assert int(own.query("SELECT min(x) FROM t").data()) == number
                assert int(chalet.query(f"SELECT {number} * 2").data()) == number * 2

    together(work)


def test_one_session():
    with Session() as session:
        session.query("CREATE TABLE t (x UInt64, s String) ENGINE = Memory")

        def work(number):
            if number % 4 == 0:
                with session.send_insert("INSERT INTO t", "TSV") as insert:
                    insert.append("".join(f"{number}\t{row}\n" for row in range(100)))
                    insert.finish()
            elif number % 4 == 1:
                rows = sum(chunk.rows_read() for chunk in session.send_query("SELECT number FROM numbers(100000)", "CSV"))
                assert rows == 100000
            else:
                session.query(f"INSERT INTO t SELECT {number}, toString(number) FROM numbers(100)")
                assert int(session.query(f"SELECT count() FROM t WHERE x = {number}").data()) == 100

        together(work)
        assert session.query("SELECT count(), uniqExact(x) FROM t", "TSV").data() == "2400\t24\n"


def test_one_of_each_object(db):
    """Objects that are meant for one user fail, if at all, with an error of Python."""
    relation = db.sql("SELECT number AS n, toString(number) AS s FROM numbers(5000)")
    result = db.query("SELECT number, toString(number) FROM numbers(5000)")
    cursor = db.cursor().execute("SELECT number FROM numbers(5000)")
    stream = db.send_query("SELECT number FROM numbers(500000)", "RowBinary")
    fetched, read, lock = [], [0], threading.Lock()

    def work(number):
        assert relation.filter(f"n = {number}").fetchone() == (number, str(number))
        assert result.data().count("\n") == 5000 and len(result.to_dicts()) == 5000
        while rows := cursor.fetchmany(100):
            with lock:
                fetched.extend(rows)
        while (chunk := stream.fetch()) is not None:
            with lock:
                read[0] += chunk.size() // 8

    together(work, 8)
    # Each row once, whoever got it.
    assert len(fetched) == len(set(fetched)) and read[0] == 500000


def test_a_cursor_gives_each_row_once(db):
    cursor = db.cursor().execute("SELECT number FROM numbers(20000)")
    fetched = []

    def work(_):
        while rows := cursor.fetchmany(7):
            fetched.extend(rows)

    together(work, 8)
    assert sorted(fetched) == [(n,) for n in range(20000)]


def test_functions_of_python_on_many_threads():
    chalet.create_function("plus_hundred", lambda x: x + 100, ["Int64"], "Int64")
    try:

        def work(number):
            with chalet.connect() as own:
                sums = own.query(f"SELECT sum(plus_hundred(number + {number})) FROM numbers(1000)").data()
                assert int(sums) == 499500 + 1000 * (number + 100)

        together(work, 8)
    finally:
        chalet.drop_function("plus_hundred")


def test_closing_while_others_run():
    connection = chalet.connect()
    ended = []

    def work(number):
        try:
            if number == 0:
                connection.close()
            else:
                while True:
                    connection.query("SELECT sum(number) FROM numbers(10000)")
        except chalet.Error as error:
            ended.append(str(error))

    together(work, 8)
    # The one that ran was stopped, unless it was just done.
    assert len(ended) == 7 and sum("QUERY_WAS_CANCELLED" in text for text in ended) <= 1
    assert sum("The connection is closed" in text for text in ended) >= 6


def test_closing_stops_what_runs():
    connection = chalet.connect()
    raised = []

    def endless():
        with pytest.raises(chalet.Error, match="QUERY_WAS_CANCELLED") as caught:
            connection.query(ENDLESS)
        raised.append(caught)

    thread = threading.Thread(target=endless, daemon=True)
    thread.start()
    with chalet.connect() as other:
        patience.until(lambda: patience.running(other, ENDLESS))
    connection.close()
    thread.join(patience.LONG)
    assert len(raised) == 1


class AsksItsOwner:
    """A source that asks the connection that reads it."""

    def __init__(self, db):
        self.db = db

    def get_schema(self):
        return [("a", "Int64")]

    def read(self, names, n):
        return [[self.db.query("SELECT 1").rows_read()]]


@pytest.mark.parametrize("threads", [1, 2])
def test_code_that_a_query_runs_must_not_ask_its_connection(db, threads):
    """It would wait for itself."""
    db.query(f"SET max_threads = {threads}")
    source = AsksItsOwner(db)
    with pytest.raises(chalet.Error, match="use another connection here"):
        db.query("SELECT sum(a) FROM source LIMIT 1")
    told = []

    def asks(progress):
        try:
            db.query("SELECT 1")
        except chalet.Error as error:
            told.append(str(error))

    db.set_progress_callback(asks)
    db.query("SELECT sum(number) FROM numbers(1000000)")
    db.set_progress_callback(None)
    assert told and all("use another connection here" in text for text in told)
    assert db.query("SELECT 1").data() == "1\n"


def test_interrupt_stops_who_runs_only(db):
    """Who waits for the connection goes on."""
    answers = []

    def endless():
        with pytest.raises(chalet.Error, match="QUERY_WAS_CANCELLED"):
            db.query(ENDLESS)
        answers.append("stopped")

    def waits():
        answers.append(db.query("SELECT 7").data())

    threads = [threading.Thread(target=endless), threading.Thread(target=waits)]
    threads[0].start()
    with chalet.connect() as other:
        patience.until(lambda: patience.running(other, ENDLESS))
    threads[1].start()
    time.sleep(0.2)
    assert answers == []
    db.interrupt()
    for thread in threads:
        thread.join(patience.LONG)
    assert sorted(answers) == ["7\n", "stopped"]


def test_time_limits(db):
    for ask in (
        lambda: db.query(ENDLESS, timeout=0.1),
        lambda: db.sql(ENDLESS, "CSV", timeout=0.1),
        lambda: db.execute(ENDLESS, timeout=0.1),
        lambda: db.cursor().execute(ENDLESS, timeout=0.1),
        lambda: db.query("SELECT sleep(3)", timeout=0.1),
        lambda: chalet.query(ENDLESS, timeout=0.1),
        lambda: Session().query(ENDLESS, timeout=0.1),
        lambda: db.query("SELECT 1", timeout=0),
        lambda: db.query("SELECT sum(number) FROM numbers(1000000000000)", timeout=1e-9),
    ):
        with pytest.raises(chalet.OperationalError, match="Timeout exceeded") as caught:
            ask()
        assert (caught.value.name, caught.value.code) == ("TIMEOUT_EXCEEDED", 159)
    assert db.query("SELECT 1", timeout=1e300).data() == "1\n"
    assert db.query("SELECT 1", timeout=None).data() == "1\n"
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            db.query("SELECT 1", timeout=wrong)
    with pytest.raises(TypeError):
        db.query("SELECT 1", timeout="1")
    # A time limit of one thread counts what it waits for others.
    reached, opened = threading.Event(), threading.Event()

    def wait(x):
        reached.set()
        opened.wait(patience.LONG)
        return x

    chalet.create_function("waits", wait, ["Int64"], "Int64")
    try:
        other = threading.Thread(target=lambda: db.query("SELECT waits(1)"))
        other.start()
        assert reached.wait(patience.LONG)
        with pytest.raises(chalet.OperationalError, match="Timeout exceeded"):
            db.query("SELECT 1", timeout=0.05)
        opened.set()
        other.join()
    finally:
        chalet.drop_function("waits")


def test_databases_know_nothing_of_each_other():
    databases = [chalet.connect() for _ in range(50)]
    for number, own in enumerate(databases):
        own.query(f"SET max_block_size = {number + 1}")
        own.query(f"CREATE TEMPORARY TABLE t AS SELECT {number} AS x; CREATE FUNCTION f AS () -> {number}")
        own.query(f"CREATE DATABASE d{number}; USE d{number}; CREATE TABLE u (x UInt64) ENGINE = Memory")
        own.register("given", {"x": [number]})
    for number, own in enumerate(databases):
        query = "SELECT getSetting('max_block_size'), (SELECT x FROM t), f(), currentDatabase(), (SELECT x FROM given)"
        assert own.query(query).data() == f'{number + 1},{number},{number},"d{number}",{number}\n'
        assert own.query("SELECT count() FROM system.databases WHERE name LIKE 'd_' OR name LIKE 'd__'").data() == "1\n"
    for own in databases[1:]:
        own.close()
    assert databases[0].query("SELECT x FROM t").data() == "0\n"
    databases[0].close()


def test_an_abandoned_connection_goes(db):
    """Its own cursor refers to it, and so does what is registered with it."""

    class Holder(dict):
        pass

    import weakref

    own, holder = chalet.connect(), Holder(x=[1])
    own.register("held", holder)
    holder.connection = own
    assert own.execute("SELECT x FROM held").fetchone() == (1,)
    gone = weakref.ref(holder)
    del own, holder
    # A worker may let go of it a moment later.
    patience.until(lambda: gc.collect() is not None and gone() is None)
