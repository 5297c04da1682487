"""Ctrl-C, interrupt(), the GIL and forks."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import chalet

ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"
# What the project promises, and what the machine's scheduling may add to it.
PROMISED_SECONDS = 0.1
SLACK_SECONDS = 0.4


def python(code):
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        "SELECT number % 1000003 AS k, count() FROM numbers(1000000000000) GROUP BY k",
        "SELECT number FROM numbers(100000000000) ORDER BY sipHash64(number) LIMIT 5",
        "SELECT sleep(3)",
        # Elements that no memory holds at once.
        "SELECT count() FROM (SELECT arrayJoin(range(1000000)) FROM numbers(1000000))",
        # Frames of many rows.
        "SELECT sum(number) OVER (ORDER BY number ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW) FROM numbers(300000)",
    ],
)
def test_ctrl_c_stops_a_query_at_once(sql):
    output = python(
        f"""
        import os, signal, threading, time, chalet
        db = chalet.connect()
        sent = []
        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(0.5, send)
        timer.start()
        try:
            db.query("{sql}")
        except KeyboardInterrupt:
            print(time.perf_counter() - sent[0])
        assert db.query("SELECT 1").data() == "1\\n"
        """
    )
    assert float(output) < PROMISED_SECONDS + SLACK_SECONDS


def test_a_handler_that_does_not_raise_leaves_the_query_alone():
    output = python(
        """
        import os, signal, threading, chalet
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        print(chalet.query("SELECT count() FROM numbers(60000000) WHERE sipHash64(number) = 1").data(), seen)
        """
    )
    assert output == "0\n [1]\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_handler_that_asks_the_connection_it_interrupts(db):
    told = []

    def handler(*_):
        try:
            db.query("SELECT 5")
        except chalet.Error as error:
            told.append(str(error))
        told.append(chalet.connect().query("SELECT 6").data())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(chalet.OperationalError, match="Timeout exceeded"):
            db.query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)", timeout=1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(told) == 2 and "use another connection here" in told[0] and told[1] == "6\n"


def test_interrupt_from_another_thread(db):
    threading.Timer(0.2, db.interrupt).start()
    start = time.perf_counter()
    with pytest.raises(chalet.Error) as caught:
        db.query(ENDLESS)
    assert caught.value.name == "QUERY_WAS_CANCELLED"
    assert time.perf_counter() - start < 0.2 + PROMISED_SECONDS + SLACK_SECONDS
    assert db.query("SELECT 1").data() == "1\n"


def test_interrupt_without_a_query_does_nothing(db):
    db.interrupt()
    assert db.query("SELECT 1").data() == "1\n"


def test_other_threads_run_during_a_query(db):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    db.query("SELECT sum(sipHash64(number)) FROM numbers(30000000)")
    done.set()
    thread.join()
    assert max(b - a for a, b in zip(ticks, ticks[1:])) < 0.2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_query():
    python(
        """
        import os, signal, sys, warnings, chalet
        warnings.simplefilter("ignore")
        chalet.query("SELECT sum(number) FROM numbers(1000000)")
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            good = chalet.query("SELECT sum(number) FROM numbers(1000000)").data() == "499999500000\\n"
            os._exit(0 if good else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )


def test_importing_is_cheap():
    output = python(
        """
        import os, sys, threading
        before = set(sys.modules)
        handlers = __import__("signal").getsignal(2)
        import chalet
        assert __import__("signal").getsignal(2) is handlers
        heavy = {"pandas", "numpy", "pyarrow", "polars"} & set(sys.modules)
        tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
        print(tasks, sorted(heavy))
        """
    )
    assert output == "1 []\n"
