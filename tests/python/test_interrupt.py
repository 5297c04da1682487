"""Ctrl-C, interrupt(), the GIL and forks."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import patience
import pytest

import chalet

ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"
# What the project promises for a query by itself, and what two threads may take until then. It is the time of the processor that counts: how
# long they wait for one is not theirs to say.
PROMISED_SECONDS = 0.1
SLACK_SECONDS = 0.4


def python(code):
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=patience.LONG)
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
        "SELECT sum(number) OVER (ORDER BY number ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW) FROM numbers(3000000)",
    ],
)
def test_ctrl_c_stops_a_query_at_once(sql):
    # Who sleeps takes no time of the processor.
    sleeps = "sleep" in sql
    code = f"""
        import os, signal, threading, time, chalet
        clock = time.{"perf_counter" if sleeps else "process_time"}
        db, sent = chalet.connect(), []
        def send():
            with chalet.connect() as other:
                while other.query("SELECT count() FROM system.processes WHERE query NOT LIKE '%system.processes%'").data() == "0\\n":
                    pass
            time.sleep(0.3)
            sent.append(clock())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Thread(target=send)
        timer.start()
        try:
            db.query("{sql}")
        except KeyboardInterrupt:
            print(clock() - sent[0])
        assert db.query("SELECT 1").data() == "1\\n"
        """
    patience.in_time(2 if sleeps else PROMISED_SECONDS + SLACK_SECONDS, lambda: float(python(code)))


def test_a_handler_that_does_not_raise_leaves_the_query_alone():
    output = python(
        """
        import os, signal, threading, chalet
        seen, is_over = [], threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        def send():
            while not is_over.wait(0.05):
                os.kill(os.getpid(), signal.SIGUSR1)
        sender = threading.Thread(target=send)
        sender.start()
        answer = chalet.query("SELECT count() FROM numbers(100) WHERE sleepEachRow(0.01) = 1 SETTINGS max_threads = 1").data()
        during = len(seen)
        is_over.set()
        sender.join()
        print(answer, during > 0)
        """
    )
    assert output == "0\n True\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_a_handler_that_asks_the_connection_it_interrupts(db):
    told, other = [], []

    def handler(*_):
        try:
            db.query("SELECT 5")
        except chalet.Error as error:
            told.append(str(error))
            # Once is enough.
            signal.setitimer(signal.ITIMER_REAL, 0)
        other.append(chalet.connect().query("SELECT 6").data())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        # Again and again: the query may not have begun when the first one comes.
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        with pytest.raises(chalet.OperationalError, match="Timeout exceeded"):
            db.query(ENDLESS, timeout=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(told) == 1 and "use another connection here" in told[0] and set(other) == {"6\n"}


def test_interrupt_from_another_thread(db):
    def interrupted():
        asked = []

        def interrupt():
            with chalet.connect() as other:
                patience.until(lambda: patience.running(other, ENDLESS))
            time.sleep(0.1)
            asked.append(time.process_time())
            db.interrupt()

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(chalet.Error) as caught:
            db.query(ENDLESS)
        stopped = time.process_time()
        thread.join()
        assert caught.value.name == "QUERY_WAS_CANCELLED"
        assert db.query("SELECT 1").data() == "1\n"
        return stopped - asked[0]

    patience.in_time(PROMISED_SECONDS + SLACK_SECONDS, interrupted)


def test_interrupt_without_a_query_does_nothing(db):
    db.interrupt()
    assert db.query("SELECT 1").data() == "1\n"


def test_other_threads_run_during_a_query(db):
    def longest_pause():
        ticks = [time.perf_counter()]
        done = threading.Event()

        def tick():
            while not done.is_set():
                time.sleep(0.005)
                ticks.append(time.perf_counter())

        thread = threading.Thread(target=tick)
        thread.start()
        with pytest.raises(chalet.OperationalError, match="Timeout exceeded"):
            db.query(ENDLESS, timeout=2)
        done.set()
        thread.join()
        return max(b - a for a, b in zip(ticks, ticks[1:]))

    # Less than as long as the query runs.
    patience.in_time(1, longest_pause)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_can_query():
    python(
        """
        import os, signal, sys, warnings, chalet
        warnings.simplefilter("ignore")
        chalet.query("SELECT sum(number) FROM numbers(1000000)")
        child = os.fork()
        if child == 0:
            signal.alarm(100)
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
