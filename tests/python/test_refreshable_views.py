"""Materialized views that are filled by the clock: in the background while a database is open, and over closing and opening."""

import os
import signal
import subprocess
import sys
import time

import chalet
import patience


def rows(db, sql):
    return db.query(sql, "TabSeparated").data()


def test_it_is_filled_by_the_clock():
    with chalet.connect(":memory:") as db:
        db.query("CREATE TABLE src (k UInt32) ENGINE = MergeTree ORDER BY k")
        db.query("CREATE MATERIALIZED VIEW v REFRESH AFTER 1 SECOND ENGINE = Memory AS SELECT count() AS n FROM src")
        db.query("INSERT INTO src SELECT number FROM numbers(10)")
        patience.until(lambda: rows(db, "SELECT n FROM v") == "10\n")
        db.query("INSERT INTO src SELECT number FROM numbers(10)")
        patience.until(lambda: rows(db, "SELECT n FROM v") == "20\n")


def test_it_goes_on_after_closing(tmp_path):
    path = str(tmp_path / "db")
    with chalet.connect(path) as db:
        db.query("CREATE TABLE src (k UInt32) ENGINE = MergeTree ORDER BY k")
        db.query("INSERT INTO src VALUES (1), (2)")
        for name, period in (("soon", "AFTER 1 SECOND"), ("late", "AFTER 1 YEAR")):
            db.query(f"CREATE MATERIALIZED VIEW {name} REFRESH {period} APPEND ENGINE = MergeTree ORDER BY k AS SELECT k FROM src")
            db.query(f"SYSTEM WAIT VIEW {name}")
        # One that is wanted and not yet there when the database is closed.
        db.query("CREATE MATERIALIZED VIEW slow REFRESH AFTER 1 YEAR ENGINE = Log AS SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)")
        began = time.monotonic()
    # It would take hours.
    assert time.monotonic() - began < 60, "closing does not wait for a refresh"
    reader = chalet.connect(path + "?mode=ro")
    assert rows(reader, "SELECT count() FROM late") == "2\n"
    reader.close()
    with chalet.connect(path) as db:
        # The time of the last one is kept: rows are not added for each opening.
        assert rows(db, "SELECT status FROM system.view_refreshes WHERE view = 'late'") == "Scheduled\n"
        patience.until(lambda: rows(db, "SELECT status FROM system.view_refreshes WHERE view = 'slow'") == "Running\n")
        # The slow one goes on meanwhile.
        before = int(rows(db, "SELECT count() FROM soon"))
        patience.until(lambda: int(rows(db, "SELECT count() FROM soon")) > before)
        assert rows(db, "SELECT count() FROM late") == "2\n"


ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import chalet
db = chalet.connect(":memory:")
# They would take hours.
for number in range(3):
    db.query(f"CREATE MATERIALIZED VIEW slow{number} REFRESH AFTER 1 YEAR ENGINE = Log AS "
             "SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)")
db.query("CREATE MATERIALIZED VIEW quick REFRESH AFTER 1 YEAR ENGINE = Log AS SELECT 1 AS x")
db.query("SYSTEM WAIT VIEW quick")
print(db.query("SELECT x FROM quick", "TabSeparated").data(), end="")
print(db.query("SELECT view, status FROM system.view_refreshes ORDER BY view", "TabSeparated").data(), end="")
"""


def test_slow_views_keep_no_other_from_running_on_one_core():
    done = subprocess.run([sys.executable, "-c", ONE_CORE], stdout=subprocess.PIPE, text=True, check=True, timeout=patience.LONG)
    assert done.stdout == "1\nquick\tScheduled\n" + "".join(f"slow{number}\tRunning\n" for number in range(3))


KILLED = """
import sys, time, chalet
db = chalet.connect(sys.argv[1])
db.query("CREATE TABLE IF NOT EXISTS src (k UInt32) ENGINE = MergeTree ORDER BY k")
db.query("CREATE TABLE IF NOT EXISTS target (k UInt32, n UInt32) ENGINE = MergeTree ORDER BY k")
db.query("CREATE MATERIALIZED VIEW IF NOT EXISTS v REFRESH AFTER 1 SECOND TO target AS "
         "SELECT k, toUInt32(count() OVER ()) AS n FROM src")
print("open", flush=True)
while True:
    db.query("INSERT INTO src SELECT number FROM numbers(1000)")
    db.query("SYSTEM REFRESH VIEW v")
"""


def test_rows_are_of_one_refresh_when_a_process_is_killed(tmp_path):
    path = str(tmp_path / "db")
    for round_ in range(3):
        process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, env=os.environ.copy())
        process.stdout.readline()
        time.sleep(0.4 + 0.2 * round_)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with chalet.connect(path) as db:
            db.query("SYSTEM STOP VIEWS")
            # All rows of the table are of one count, which is as many as there are.
            assert rows(db, "SELECT count() = any(n), uniqExact(n) <= 1 FROM target") == "1\t1\n"
    with chalet.connect(path) as db:
        db.query("SYSTEM REFRESH VIEW v")
        db.query("SYSTEM WAIT VIEW v")
        assert rows(db, "SELECT (SELECT count() FROM src) = (SELECT count() FROM target)") == "1\n"
