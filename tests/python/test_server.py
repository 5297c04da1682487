"""`chalet.connect("clickhouse://...")` and `remote()` against a real server (18.16), which the tests install and start."""

import datetime
import threading
import time

import clickhouse
import patience
import pytest

import chalet

@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with clickhouse.started(tmp_path_factory.mktemp("server")) as number:
        yield number


@pytest.fixture
def server(port):
    with chalet.connect(f"clickhouse://alice:secret@127.0.0.1:{port}/default") as connection:
        yield connection


@pytest.fixture
def table(server):
    server.query("DROP TABLE IF EXISTS t")
    server.query("CREATE TABLE t (n UInt64, s String, d Date, x Nullable(Float64)) ENGINE = MergeTree ORDER BY n")
    server.query("INSERT INTO t VALUES (1, 'one', '2018-12-21', 0.5), (2, 'two', '2018-12-22', NULL)")
    return "t"


ROWS = ((1, "one", datetime.date(2018, 12, 21), 0.5), (2, "two", datetime.date(2018, 12, 22), None))


def test_rows_and_formats(server, table):
    assert server.query("SELECT * FROM t ORDER BY n", "CSV").data() == '1,"one","2018-12-21",0.5\n2,"two","2018-12-22",\\N\n'
    assert server.query("SELECT n FROM t ORDER BY n FORMAT TSVWithNames").data() == "n\n1\n2\n"
    cursor = server.cursor().execute("SELECT * FROM t ORDER BY n")
    assert [column[0] for column in cursor.description] == ["n", "s", "d", "x"]
    assert cursor.fetchall() == ROWS
    assert server.execute("SELECT count() FROM t").fetchone() == (2,)
    assert [chunk.data() for chunk in server.send_query("SELECT s FROM t ORDER BY n", "TSV")] == ["one\ntwo\n"]


def test_frames_and_arrow(server, table):
    pytest.importorskip("pandas")
    frame = server.query("SELECT n, s FROM t ORDER BY n").df()
    assert frame["n"].tolist() == [1, 2] and frame["s"].tolist() == ["one", "two"]
    arrow = pytest.importorskip("pyarrow")
    read = arrow.table(server.query("SELECT n, x FROM t ORDER BY n"))
    assert read.to_pydict() == {"n": [1, 2], "x": [0.5, None]}


def test_inserts(server, table):
    server.executemany("INSERT INTO t VALUES", [(3, "three", datetime.date(2020, 1, 1), 1.5), (4, "it's", datetime.date(2020, 1, 2), None)])
    with server.send_insert("INSERT INTO t", "CSV") as inserter:
        inserter.append('5,"five","2020-01-03",\\N\n')
        inserter.append(b'6,"six","2020-01-04",2\n')
        assert inserter.finish().rows_written == 2
    rows = server.execute("SELECT n, s, x FROM t WHERE n > 2 ORDER BY n").fetchall()
    assert rows == ((3, "three", 1.5), (4, "it's", None), (5, "five", None), (6, "six", 2.0))


def test_errors_have_code_and_host(server, port):
    with pytest.raises(chalet.ChdbError) as raised:
        server.query("SELECT nothing FROM system.one")
    assert raised.value.code == 47
    assert f"Received from 127.0.0.1:{port}" in str(raised.value)
    with pytest.raises(chalet.ChdbError) as raised:
        chalet.connect(f"clickhouse://alice:wrong@127.0.0.1:{port}")
    assert raised.value.code == 193
    with pytest.raises(chalet.ChdbError) as raised:
        chalet.connect("clickhouse://127.0.0.1:1")
    assert raised.value.code == 210
    # The server is too old for them.
    with pytest.raises(chalet.ChdbError, match="too old for query parameters"):
        server.query("SELECT {x:UInt8}", params={"x": 1})
    assert server.query("SELECT 1", "TSV").data() == "1\n"


def test_settings_and_session(server):
    assert server.query("SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)", "TSV", settings={"max_block_size": 9}).data() == "9\n"
    server.query("SET max_block_size = 5")
    assert server.query("SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)", "TSV").data() == "5\n"


def test_what_is_set_beside_a_stream_holds_for_its_connection_too(server):
    """The connection of the stream has not seen the SET, and is the next to be used."""
    stream = iter(server.send_query("SELECT number FROM system.numbers LIMIT 20000000", "TSV"))
    next(stream)
    server.query("SET max_block_size = 7")
    assert sum(len(chunk.data()) for chunk in stream) > 1e8
    for _ in range(3):
        assert server.query("SELECT max(blockSize()) FROM (SELECT number FROM system.numbers LIMIT 100)", "TSV").data() == "7\n"


def test_a_query_is_stopped_and_the_next_one_runs(server):
    def limited():
        with pytest.raises(chalet.ChdbError):
            server.query("SELECT sleep(3)", timeout=0.3)

    def interrupted():
        is_over = threading.Event()

        def interrupt():
            # Again, where the query had not begun.
            while not is_over.wait(0.2):
                server.interrupt()

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(chalet.ChdbError):
            server.query("SELECT sleep(3)")
        is_over.set()
        thread.join()

    for attempt in (limited, interrupted):
        patience.in_time(1.5, attempt)
    assert server.query("SELECT 1", "TSV").data() == "1\n"


def test_the_interpreter_runs_on_while_the_server_thinks(server):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    server.query("SELECT sleep(3)")
    done.set()
    thread.join()
    # Were it held, there would be one, or two.
    assert len(ticks) > 10


def test_remote_joins_local_objects(port, server, table):
    names = [{"k": 1, "word": "eins"}, {"k": 2, "word": "zwei"}]  # noqa: F841
    with chalet.connect() as db:
        rows = db.execute(
            f"SELECT r.s, l.word FROM names AS l JOIN remote('127.0.0.1:{port}', default.t, 'alice', 'secret') AS r ON toUInt64(l.k) = r.n ORDER BY r.n"
        ).fetchall()
    assert rows == (("one", "eins"), ("two", "zwei"))
