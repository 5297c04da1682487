"""Forks, the end of the interpreter, and the host's signal handlers."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"
# What programs begin with.
PREAMBLE = f"""
import os, signal, sys, threading, time, warnings
import chalet
warnings.simplefilter("ignore")
ENDLESS = "{ENDLESS}"

def run_in_background(work, daemon=True):
    thread = threading.Thread(target=work, daemon=daemon)
    thread.start()
    time.sleep(0.1)
    return thread

def in_child(work):
    "What a forked child says: its exit code, or a signal."
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        try:
            os._exit(0 if work() else 3)
        except BaseException as error:
            print(type(error), error, file=sys.stderr, flush=True)
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def program(code, expected=0, limit=300):
    """Runs a program; its output. It must end by itself with the expected code, soon."""
    whole = PREAMBLE + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=limit)
    assert run.returncode == expected, (run.returncode, run.stderr)
    return run


# --- forks ------------------------------------------------------------------------------------------------------------


@needs_fork
def test_a_child_of_an_idle_parent_has_its_tables():
    program(
        """
        db = chalet.connect()
        db.query("CREATE TABLE t ENGINE = Memory AS SELECT number AS x FROM numbers(1000)")
        def work():
            db.query("INSERT INTO t VALUES (1)")
            return db.query("SELECT count() FROM t").data() == "1001\\n"
        assert in_child(work) == 0
        assert db.query("SELECT count() FROM t").data() == "1000\\n"
        """
    )


@needs_fork
def test_a_child_of_a_busy_parent_has_an_engine():
    program(
        """
        chalet.create_function("plus_one", lambda x: x + 1, ["Int64"], "Int64")
        busy, other = chalet.connect(), chalet.connect()
        other.query("CREATE TABLE t ENGINE = Memory AS SELECT number AS x FROM numbers(1000)")
        stream = busy.send_query("SELECT number FROM numbers(100000000000)", "RowBinary")
        stream.fetch()
        run_in_background(lambda: busy.query(ENDLESS))
        big = "SELECT count() FROM (SELECT number % 1000 AS k FROM numbers(3000000) GROUP BY k)"
        def work():
            assert chalet.query(big).data() == "1000\\n"
            assert chalet.query("SELECT plus_one(1)").data() == "2\\n"
            assert other.query("SELECT sum(x) FROM t").data() == "499500\\n"
            assert sum(chunk.rows_read() for chunk in other.send_query("SELECT number FROM numbers(1000)")) == 1000
            for ask in (lambda: busy.query("SELECT 1"), stream.fetch, lambda: busy.sql("SELECT 1"), busy.interrupt):
                try:
                    ask()
                except chalet.InterfaceError as error:
                    assert "fork" in str(error), error
                else:
                    return False
            stream.close()
            busy.close()
            return True
        for _ in range(10):
            assert in_child(work) == 0
        # And a child of a child.
        assert in_child(lambda: in_child(work) == 0) == 0
        stream.close()
        """
    )


@needs_fork
def test_connections_to_one_database_on_disk(tmp_path):
    program(
        f"""
        one, two = chalet.connect({str(tmp_path / 'db')!r}), chalet.connect({str(tmp_path / 'db')!r})
        one.query("CREATE TABLE t (x UInt64) ENGINE = Log; INSERT INTO t SELECT number FROM numbers(1000)")
        def reads():
            return two.query("SELECT sum(x) FROM t").data() == one.query("SELECT sum(x) FROM t").data() == "499500\\n"
        assert reads() and in_child(reads) == 0
        run_in_background(lambda: one.query(ENDLESS))
        def refused():
            for connection in (one, two):
                try:
                    connection.query("SELECT 1")
                except chalet.InterfaceError:
                    continue
                return False
            return True
        assert in_child(refused) == 0
        assert two.query("SELECT count() FROM t").data() == "1000\\n"
        """
    )


@needs_fork
def test_multiprocessing_forks_under_load():
    program(
        """
        import multiprocessing
        def work(number):
            with chalet.connect() as db:
                return int(db.query(f"SELECT sum(number) + {number} FROM numbers(100000)").data())
        def load():
            while True:
                try:
                    chalet.query("SELECT count() FROM (SELECT number % 100 AS k FROM numbers(1000000) GROUP BY k)")
                except chalet.InterfaceError:
                    return
        for _ in range(2):
            run_in_background(load)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            assert pool.map(work, range(16)) == [4999950000 + number for number in range(16)]
        """
    )


@needs_fork
def test_a_child_ends_as_the_interpreter_does():
    run = program(
        """
        db = chalet.connect()
        stream = db.send_query("SELECT number FROM numbers(100000000000)", "RowBinary")
        stream.fetch()
        run_in_background(lambda: db.query(ENDLESS))
        child = os.fork()
        if child == 0:
            signal.alarm(100)
            print(chalet.query("SELECT 7").data(), end="")
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        print("parent")
        """
    )
    assert run.stdout == "7\nparent\n"


# --- the end ----------------------------------------------------------------------------------------------------------

AT_WORK = {
    "a query": "db.query(ENDLESS)",
    "queries": "[chalet.query('SELECT sum(number) FROM numbers(1000000)').data() for _ in forever()]",
    "a stream": "[chunk for chunk in db.send_query('SELECT number FROM numbers(100000000000)', 'RowBinary')]",
    "a stream of waiting": "db.send_query(ENDLESS).fetch()",
    "a function of Python": "db.query('SELECT sum(slow(number)) FROM numbers(1000000000)')",
    "rows": "[db.cursor().execute('SELECT number, toString(number) FROM numbers(100000)').fetchall() for _ in forever()]",
    "an insert": "endless_insert()",
    "a frame": "[db.query('SELECT max(a) FROM frame', tables={'frame': {'a': list(range(1000))}}) for _ in forever()]",
    "a relation": "[repr(db.sql('SELECT number FROM numbers(100)').filter('number > 3')) for _ in forever()]",
}
WORKERS = """
import itertools
forever = itertools.count
db = chalet.connect()
db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
chalet.create_function("slow", lambda x: time.sleep(0.001) or x, ["Int64"], "Int64")

def endless_insert():
    with db.send_insert("INSERT INTO t", "TSV") as insert:
        while True:
            insert.append("1\\n" * 100000)
"""


@pytest.mark.parametrize("work", AT_WORK.values(), ids=AT_WORK)
def test_the_end_with_daemon_threads_at_work(work):
    run = program(f"{WORKERS}\nfor _ in range(2): run_in_background(lambda: {work})\nprint('end')\nsys.exit(7)", 7)
    assert run.stdout == "end\n"
    assert run.stderr == ""


def test_the_end_with_open_streams():
    run = program(
        """
        db = chalet.connect()
        streams = [db.send_query("SELECT number FROM numbers(100000000000)", "RowBinary") for _ in range(4)]
        assert all(stream.fetch().size() for stream in streams)
        inserts = db.query("CREATE TABLE t (x UInt8) ENGINE = Memory") and db.send_insert("INSERT INTO t")
        inserts.append("1\\n")
        print("end")
        """
    )
    assert (run.stdout, run.stderr) == ("end\n", "")


def test_the_end_by_an_exception():
    run = program("run_in_background(lambda: chalet.query(ENDLESS))\nraise ValueError('what went wrong')", 1)
    assert run.stderr.rstrip().endswith("ValueError: what went wrong")


def test_the_end_by_ctrl_c():
    run = program(
        """
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        chalet.query(ENDLESS)
        """,
        -signal.SIGINT,
    )
    assert "KeyboardInterrupt" in run.stderr


def test_queries_at_the_very_end():
    """What the program registered before, and finalisers, still have an engine."""
    run = program(
        """
        import atexit
        db = None
        atexit.register(lambda: print(db.query("SELECT 1").data(), chalet.query("SELECT 2").data()))
        db = chalet.connect()
        db.query("SELECT 0")
        class Last:
            def __del__(self):
                print(db.query("SELECT 3").data())
        last = Last()
        run_in_background(lambda: chalet.query(ENDLESS))
        """
    )
    assert run.stdout.split() == ["1", "2", "3"]


def test_asyncio_ends_with_its_queries():
    run = program(
        """
        import asyncio
        async def main():
            db = await chalet.aio.connect()
            task = asyncio.create_task(db.query(ENDLESS))
            stream = db.send_query("SELECT number FROM numbers(100000000000)", "RowBinary")
            await stream.fetch()
            await asyncio.sleep(0.2)
            return 7
        sys.exit(asyncio.run(main()))
        """,
        7,
    )
    assert run.stderr == ""


def test_a_loop_that_is_left_with_its_queries():
    run = program(
        """
        import asyncio
        async def main():
            db = await chalet.aio.connect()
            left.append(asyncio.ensure_future(db.query(ENDLESS)))
            await asyncio.sleep(0.2)
        left, loop = [], asyncio.new_event_loop()
        loop.run_until_complete(main())
        print("end")
        sys.exit(7)
        """,
        7,
    )
    assert run.stdout == "end\n" and "Fatal" not in run.stderr


# --- signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals of POSIX")
def test_handlers_are_left_alone():
    program(
        """
        import ctypes, ctypes.util
        libc = ctypes.CDLL(ctypes.util.find_library("c"))
        def handlers():
            def raw(number):
                held = ctypes.create_string_buffer(256)
                assert libc.sigaction(number, None, held) == 0
                # The address of the handler: what is behind it may hold anything.
                return held.raw[:ctypes.sizeof(ctypes.c_void_p)]
            numbers = [n for n in signal.valid_signals() if n < 32]
            return [(n, signal.getsignal(n), raw(n)) for n in numbers]
        import faulthandler
        faulthandler.enable()
        signal.signal(signal.SIGTERM, lambda *_: None)
        before, masked = handlers(), signal.pthread_sigmask(signal.SIG_BLOCK, [])
        db = chalet.connect()
        db.query("SELECT number % 1000, count() FROM numbers(1000000) GROUP BY 1")
        sum(1 for _ in db.send_query("SELECT number FROM numbers(100000)"))
        try:
            db.query(ENDLESS, timeout=0.05)
        except chalet.Error:
            pass
        assert handlers() == before
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == masked
        db.close()
        assert handlers() == before
        """
    )


def test_a_crash_is_the_hosts_to_report():
    run = program("import faulthandler\nfaulthandler.enable()\nchalet.query('SELECT 1')\nos.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV)
    assert "Segmentation fault" in run.stderr
