"""send_query, send_insert and progress."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import patience
import pytest

import chalet
from chalet.session import Session

ENDLESS = "SELECT number FROM numbers(1000000000000)"


def test_chunks_are_results(db):
    seen, first = 0, None
    for chunk in db.send_query("SELECT number FROM numbers(200000)", "CSVWithNames"):
        text = chunk.data()
        # Each chunk is a document of its own.
        assert text.startswith('"number"\n')
        first = first or text.splitlines()[1]
        seen += chunk.rows_read()
        assert len(text.splitlines()) == chunk.rows_read() + 1
    assert (seen, first) == (200_000, "0")


def test_fetch_ends_with_none(db):
    result = db.send_query("SELECT 1")
    assert result.fetch().data() == "1\n"
    assert result.fetch() is None and result.fetch() is None
    assert [chunk.data() for chunk in db.send_query("SELECT 1 WHERE 0")] == []


def test_the_format_of_the_statement_wins(db):
    assert db.send_query("SELECT 1 AS a FORMAT JSONEachRow").fetch().data() == '{"a":1}\n'
    assert db.send_query("SHOW DATABASES", "TSV").fetch() is not None


def test_parameters_and_settings_of_the_session(db):
    db.query("SET max_block_size = 1000; CREATE TABLE t (x UInt8) ENGINE = Memory; INSERT INTO t VALUES (1), (2), (3)")
    assert db.send_query("SELECT x FROM t WHERE x > {x:UInt8}", params={"x": 1}).fetch().data() == "2\n3\n"


@pytest.mark.parametrize(
    ("sql", "name", "at_once"),
    [
        ("SELECT 1; SELECT 2", "SYNTAX_ERROR", True),
        ("INSERT INTO t VALUES (1)", "BAD_ARGUMENTS", True),
        ("CREATE TABLE t (x UInt8) ENGINE = Memory", "BAD_ARGUMENTS", True),
        ("SELECT nosuch", "UNKNOWN_IDENTIFIER", False),
        ("SELECT {x:UInt8}", "UNKNOWN_QUERY_PARAMETER", False),
        ("SELECT throwIf(number = 150000) FROM numbers(200000)", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", False),
    ],
)
def test_errors(db, sql, name, at_once):
    with pytest.raises(chalet.Error) as caught:
        result = db.send_query(sql)
        assert not at_once
        list(result)
    assert caught.value.name == name
    assert at_once or str(caught.value).startswith("Streaming query failed: ")


def test_streams_do_not_hold_up_other_queries(db):
    first, second = db.send_query(ENDLESS), db.send_query("SELECT 'x'")
    assert first.fetch().data().startswith("0\n")
    assert db.query("SELECT 1").data() == "1\n"
    assert second.fetch().data() == '"x"\n'
    assert int(first.fetch().data().split()[0]) > 0
    first.close()
    assert first.fetch() is None
    first.cancel()


def test_streams_that_nobody_reads_hold_no_workers(db):
    """There are more of them than workers, and a query beside them still has one beside its own thread."""
    db.query("SET max_threads = 2")
    held = [db.send_query(ENDLESS) for _ in range(4 * max(os.cpu_count(), 2) + 2)]
    assert all(stream.fetch().rows_read() > 0 for stream in held)
    time.sleep(0.5)
    patience.until(lambda: "workers: 2" in db.query("EXPLAIN ANALYZE SELECT sum(sipHash64(number)) FROM numbers(1000000)", "TSV").data())
    for stream in held:
        stream.close()


def test_the_context_manager_cancels(db):
    with db.send_query(ENDLESS) as result:
        result.fetch()
    assert result.fetch() is None


def test_interrupt_stops_streams(db):
    result = db.send_query(ENDLESS)
    result.fetch()
    db.interrupt()
    with pytest.raises(chalet.Error, match="cancelled"):
        for _ in result:
            pass


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)"])
def test_the_timeout_is_that_of_the_whole_query(db, sql):
    begun = time.monotonic()
    with pytest.raises(chalet.OperationalError, match="Timeout exceeded: maximum: 300 ms") as caught:
        for _ in db.send_query(sql, timeout=0.3):
            pass
    assert caught.value.name == "TIMEOUT_EXCEEDED"
    assert 0.3 <= time.monotonic() - begun < 30
    # Rows that came in time are not lost.
    stream = db.send_query("SELECT 1", timeout=patience.LONG)
    assert [chunk.data() for chunk in stream] == ["1\n"]
    with pytest.raises(ValueError, match="timeout must be seconds"):
        db.send_query("SELECT 1", timeout=-1)
    with chalet.session.Session() as session, pytest.raises(chalet.OperationalError, match="Timeout"):
        list(session.send_query(sql, timeout=0))


def test_memory_is_bounded():
    code = """
        import resource, chalet
        db = chalet.connect()
        db.query("SELECT count() FROM numbers(1000000)")
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows, before = 0, peak()
        for chunk in db.send_query("SELECT number, toString(number) AS s FROM numbers(20000000)", "RowBinary"):
            rows += chunk.rows_read()
        assert rows == 20_000_000
        print((peak() - before) // 1024)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    # Megabytes; the result as a whole takes about 600.
    assert int(run.stdout) < 150


def test_a_forgotten_stream_ends(db):
    db.send_query(ENDLESS).fetch()
    gc.collect()
    patience.until(lambda: patience.threads("chalet-stream") == 0)


def test_frames_and_tables(db):
    pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frames = list(db.send_query("SELECT number AS n FROM numbers(150000)", "DataFrame"))
    assert sum(len(frame) for frame in frames) == 150_000 and list(frames[0].columns) == ["n"]
    tables = list(db.send_query("SELECT number AS n FROM numbers(150000)", "ArrowTable"))
    assert pyarrow.concat_tables(tables).num_rows == 150_000


def test_record_batches(db):
    pyarrow = pytest.importorskip("pyarrow")
    result = db.send_query("SELECT number AS n, toString(number) AS s FROM numbers(200000)", "Arrow")
    batches = list(result.record_batch(rows_per_batch=70_000))
    assert [batch.num_rows for batch in batches] == [70_000, 70_000, 60_000]
    assert batches[0].schema.names == ["n", "s"]
    with pytest.raises(RuntimeError, match="already consumed"):
        result.record_batch()
    with pytest.raises(RuntimeError, match="already consumed"):
        result.fetch()
    with pytest.raises(ValueError, match="Arrow"):
        db.send_query("SELECT 1", "CSV").record_batch()
    # Without a row there is still a schema.
    empty = pyarrow.table(db.send_query("SELECT 1 AS a WHERE 0", "Arrow"))
    assert empty.num_rows == 0 and empty.schema.names == ["a"]


def test_arrow_streams_report_errors(db):
    pyarrow = pytest.importorskip("pyarrow")
    stream = db.send_query("SELECT throwIf(number = 500000) FROM numbers(1000000)", "Arrow")
    with pytest.raises((pyarrow.ArrowException, OSError, chalet.Error)):
        pyarrow.table(stream)
    with pytest.raises((pyarrow.ArrowException, OSError, chalet.Error), match="UTF-8"):
        pyarrow.table(db.send_query("SELECT unhex('ff') AS x", "Arrow"))


def test_the_reader_of_chdb(db):
    pytest.importorskip("pyarrow")
    from chalet.state.sqlitelike import ChdbRecordBatchReader

    one = ChdbRecordBatchReader(db.send_query("SELECT 1 AS a", "Arrow"), 10)
    assert one.read_next_batch().to_pylist() == [{"a": 1}]
    with pytest.raises(StopIteration):
        one.read_next_batch()
    reader = ChdbRecordBatchReader(db.send_query("SELECT number FROM numbers(5)", "Arrow"), 2)
    assert reader.schema().names == ["number"]
    assert [batch.num_rows for batch in reader] == [2, 2, 1]
    reader.close()


def test_ctrl_c_while_a_fetch_waits():
    code = """
        import os, signal, threading, time, chalet
        db = chalet.connect()
        sent = []
        def send():
            # The time of the processor: how long it waits for one is not its own to say.
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)
        try:
            threading.Timer(0.3, send).start()
            db.send_query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)").fetch()
        except KeyboardInterrupt:
            print(time.process_time() - sent[0])
    """

    def took():
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=patience.LONG)
        assert run.returncode == 0, run.stderr
        return float(run.stdout)

    patience.in_time(1.2, took)


@pytest.fixture
def table(db):
    db.query("CREATE TABLE t (a UInt64, b String DEFAULT 'none') ENGINE = Memory")
    return db


def count(db):
    return int(db.query("SELECT count() FROM t", "TSV").data())


def test_insert_in_pieces(table):
    stream = table.send_insert("INSERT INTO t", "CSV")
    for piece in ('1,"a"\n2', b',"b"\n', bytearray(b"3"), memoryview(b',"c"\n')):
        assert stream.append(piece) is None
    assert count(table) == 0
    done = stream.finish()
    assert (done.rows_written, count(table)) == (3, 3)
    assert done.bytes_written > 0 and done.elapsed > 0 and "rows_written=3" in repr(done)
    with pytest.raises(RuntimeError, match="finished or cancelled"):
        stream.append("4,d\n")
    with pytest.raises(RuntimeError, match="finished or cancelled"):
        stream.finish()
    stream.close()


def test_columns_and_formats_of_an_insert(table):
    with table.send_insert("INSERT INTO t (a)", "JSONEachRow") as stream:
        stream.append('{"a": 5}\n')
        stream.finish()
    with table.send_insert("INSERT INTO t FORMAT TSV;") as stream:
        stream.append("6\tx\n")
        stream.finish()
    assert table.query("SELECT * FROM t ORDER BY a", "TSV").data() == "5\tnone\n6\tx\n"


def test_what_is_not_finished_is_not_inserted(table):
    with table.send_insert("INSERT INTO t") as stream:
        stream.append("1,a\n")
    stream = table.send_insert("INSERT INTO t")
    stream.append("1,a\n")
    stream.cancel()
    stream.cancel()
    with pytest.raises(RuntimeError):
        stream.finish()
    assert count(table) == 0


def test_errors_of_inserts(table):
    with pytest.raises(chalet.Error, match="INSERT"):
        table.send_insert("SELECT 1")
    with pytest.raises(chalet.Error, match="UNKNOWN_TABLE"):
        table.send_insert("INSERT INTO nosuch")
    with pytest.raises(chalet.Error, match="no_such_column|NO_SUCH_COLUMN"):
        table.send_insert("INSERT INTO t (no_such_column)")
    with pytest.raises(TypeError, match="int"):
        table.send_insert("INSERT INTO t").append(5)
    stream = table.send_insert("INSERT INTO t")
    stream.append("x,y,z\n")
    with pytest.raises(chalet.Error, match="(?s)Streaming insert failed: .*CANNOT_PARSE"):
        stream.finish()
    assert count(table) == 0


def test_classes_of_streams(table):
    assert isinstance(table.send_query("SELECT 1"), chalet.StreamingResult)
    with table.send_insert("INSERT INTO t") as stream:
        assert isinstance(stream, chalet.StreamingInserter)
        assert isinstance(stream.finish(), chalet.InsertResult)
    assert chalet.InsertResult(1, 2, 0.5).rows_written == 1


def test_capsules_are_used_once(db):
    stream = db.send_query("SELECT 1", "Arrow")
    assert "arrow_array_stream" in repr(stream.__arrow_c_stream__())
    with pytest.raises(RuntimeError, match="already consumed"):
        stream.__arrow_c_stream__()
    # A result can be asked again.
    result = db.query("SELECT 1", None)
    assert repr(result.__arrow_c_stream__()) != repr(result.__arrow_c_stream__())


def test_a_large_insert(table):
    piece = "".join(f"{i},name {i}\n" for i in range(10_000)).encode()
    with table.send_insert("INSERT INTO t") as stream:
        for _ in range(50):
            stream.append(piece)
        assert stream.finish().rows_written == 500_000
    assert count(table) == 500_000


def test_threads_stream_and_insert_at_once():
    with Session() as session:
        session.query("CREATE TABLE t (a UInt64) ENGINE = Memory")
        failures = []

        def work(number):
            try:
                for round_ in range(10):
                    with session.send_insert("INSERT INTO t") as stream:
                        stream.append(f"{number * 100 + round_}\n")
                        stream.finish()
                    assert sum(c.rows_read() for c in session.send_query("SELECT * FROM numbers(100000)")) == 100_000
                    session.query("SELECT count() FROM t")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert session.query("SELECT count(), uniqExact(a) FROM t", "TSV").data() == "50\t50\n"


def test_progress(db, capsys):
    told = []
    db.set_progress_callback(told.append)
    db.query("SELECT sum(sipHash64(number)) FROM numbers(30000000)")
    assert told[-1]["read_rows"] == 30_000_000 == told[-1]["total_rows_to_read"]
    assert all(isinstance(value, int) and value >= 0 for one in told for value in one.values())
    assert {"read_rows", "read_bytes", "total_rows_to_read", "total_bytes_to_read", "elapsed_ns"} <= told[-1].keys()
    assert [one["read_rows"] for one in told] == sorted(one["read_rows"] for one in told)
    told.clear()
    list(db.send_query("SELECT number FROM numbers(1000000)"))
    assert told[-1]["read_rows"] == 1_000_000
    told.clear()
    # How often it is told is a setting.
    db.query("SET interactive_delay = 1, max_block_size = 1000, max_threads = 1")
    told.clear()
    db.query("SELECT sum(sipHash64(number)) FROM numbers(20000)")
    assert len(told) > 10
    db.query("SET interactive_delay = 3600000000")
    told.clear()
    db.query("SELECT sum(sipHash64(number)) FROM numbers(20000)")
    assert [one["is_over"] for one in told] == [True]
    told.clear()
    db.set_progress_callback(None)
    db.query("SELECT 1")
    assert told == []
    with pytest.raises(RuntimeError, match="callable"):
        db.set_progress_callback(5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_progress_callback_raises_does_not_end_the_query(db):
    def fail(_told):
        raise ValueError("not now")

    db.set_progress_callback(fail)
    assert db.query("SELECT 1").data() == "1\n"


def test_the_line_of_progress():
    from chalet._progress import line

    told = dict(read_rows=1500, read_bytes=2_000_000, total_rows_to_read=3000, total_bytes_to_read=0, elapsed_ns=2 * 10**9)
    assert line(told) == "[############............] 50% 1.5 k rows, 2 MB, 750 rows/s, 2.0 s"
    assert line({**told, "total_rows_to_read": 0}).startswith("1.5 k rows")
    by_bytes = line({**told, "total_rows_to_read": 0, "total_bytes_to_read": 8_000_000})
    assert by_bytes == "[######..................] 25% 1.5 k rows, 2 MB, 750 rows/s, 2.0 s"


def test_progress_of_files(db, tmp_path):
    """Of CSV the bytes are known, of Parquet the rows, also where a condition passes by some of them."""
    csv, parquet = tmp_path / "x.csv", tmp_path / "x.parquet"
    source = "SELECT number AS a, toString(number) AS b FROM numbers(300000)"
    told = []
    db.set_progress_callback(told.append)
    db.query(f"INSERT INTO FUNCTION file('{csv}', 'CSV', 'a UInt64, b String') {source}")
    assert (told[-1]["written_rows"], told[-1]["is_over"]) == (300000, True) and told[-1]["written_bytes"] > 0
    db.query(f"INSERT INTO FUNCTION file('{parquet}') {source}")
    db.query(f"SELECT max(b) FROM file('{csv}', 'CSV', 'a UInt64, b String')")
    assert told[-1]["total_bytes_to_read"] == told[-1]["read_bytes"] == csv.stat().st_size and told[-1]["read_rows"] == 300000
    for condition in ("length(b) > 0", "a < 1000"):
        db.query(f"SELECT max(b) FROM file('{parquet}') WHERE {condition}")
        assert told[-1]["total_bytes_to_read"] == parquet.stat().st_size
        # What statistics skip is not waited for.
        assert 300000 >= told[-1]["total_rows_to_read"] == told[-1]["read_rows"] > 0
    told.clear()
    with pytest.raises(chalet.Error):
        db.query("SELECT 1; SELECT throwIf(number = 5) FROM numbers(10)")
    assert [one["is_over"] for one in told if one["is_over"]] == [True, True]


def test_what_is_shown_of_progress_is_gone_at_the_end(db, monkeypatch, capsys):
    from chalet import _progress

    monkeypatch.setattr(_progress, "_PATIENCE", 0.0)
    # Between any two blocks.
    db.query("SET interactive_delay = 1")
    db.set_progress_callback(_progress.display("err"))
    db.query("SELECT sum(sipHash64(number)) FROM numbers(3000000)")
    with pytest.raises(chalet.Error):
        db.query("SELECT throwIf(sipHash64(number) % 30000001 = 5 OR number = 2999999) FROM numbers(3000000)")
    shown = capsys.readouterr().err
    assert "% " in shown and shown.split("\r")[-1] == "" and shown.split("\r")[-2].strip() == ""


def test_ctrl_c_in_a_progress_callback_ends_the_query(db):
    def interrupt(_told):
        raise KeyboardInterrupt

    db.set_progress_callback(interrupt)
    with pytest.raises(KeyboardInterrupt):
        db.query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)")
    db.set_progress_callback(None)
    assert db.query("SELECT 1").data() == "1\n"


def test_streams_read_objects_of_the_caller(db):
    pyarrow = pytest.importorskip("pyarrow")
    mine = pyarrow.table({"x": [1, 2, 3]})
    assert db.send_query("SELECT sum(x) FROM mine").fetch().data() == "6\n"
    assert db.send_query("SELECT sum(x) FROM other", tables={"other": mine}).fetch().data() == "6\n"
    with Session() as session:
        assert session.send_query("SELECT sum(x) FROM mine").fetch().data() == "6\n"


def test_the_interpreter_ends_while_queries_run():
    code = """
        import chalet
        db = chalet.connect()
        chalet.create_function("f", lambda x: x, ["UInt64"], "UInt64")
        held = [db.send_query("SELECT f(number) FROM numbers(1000000000000)"), db.send_query("SELECT 1")]
        held[0].fetch()
        db.query("CREATE TABLE t (a UInt8) ENGINE = Memory")
        insert = db.send_insert("INSERT INTO t")
        insert.append("1\\n")
        print("done")
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=patience.LONG)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
