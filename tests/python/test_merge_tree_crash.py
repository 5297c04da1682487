"""Tables of parts survive a process that is killed at any moment: all that was acknowledged is there, nothing else, and no file
is left over. CHALET_CRASH_LOOPS sets how often (1,000 takes some minutes)."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import chalet
import patience

LOOPS = int(os.environ.get("CHALET_CRASH_LOOPS", "12"))

# Works on a table until it is killed. Before each statement it says what it is about to do, after it that it is done.
WORKER = """
import random, sys, threading, chalet
path, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
lock = threading.Lock()
def say(*words):
    with lock:
        print(*words, flush=True)
connection = chalet.connect(path)
def work(thread, rng):
    session = chalet.connect(path)
    batch = seed * 1000 + thread * 500
    mine = []
    while True:
        batch += 1
        kind = rng.choice(["insert"] * 6 + ["delete", "update", "optimize", "drop", "alter"])
        if kind == "insert":
            rows = rng.choice([1, 1, 10, 5000, 60000])
            say("begin insert", batch, rows)
            session.query(f"INSERT INTO t (p, batch, n, s) SELECT {batch} % 3, {batch}, number, toString(cityHash64(number)) FROM numbers({rows})")
            say("done insert", batch, rows)
            mine.append(batch)
        elif kind in ("delete", "update", "drop") and mine:
            old = mine.pop(rng.randrange(len(mine)))
            say("begin", kind, old, batch)
            if kind == "update":
                session.query(f"ALTER TABLE t UPDATE v = {batch} WHERE batch = {old}")
                mine.append(old)
            else:
                session.query(f"ALTER TABLE t DELETE WHERE batch = {old}")
            say("done", kind, old, batch)
        elif kind == "optimize":
            session.query("OPTIMIZE TABLE t FINAL")
        elif kind == "alter" and thread == 0:
            session.query(f"ALTER TABLE t ADD COLUMN c{batch} UInt32 DEFAULT {batch % 1000}")
            session.query(f"ALTER TABLE t DROP COLUMN c{batch}")
threads = [threading.Thread(target=work, args=(i, random.Random(seed * 7 + i)), daemon=True) for i in range(2)]
for thread in threads:
    thread.start()
threads[0].join()
"""


def rows_of(connection):
    found = connection.query("SELECT batch, count(), min(v), max(v), sum(n) FROM t GROUP BY batch").fetchall()
    return {batch: (count, low, high, total) for batch, count, low, high, total in found}


def check_files(path, connection):
    (folder,) = (path / "tables").iterdir()
    # Merges that were left go on when the database is opened: one may have begun a file.
    connection.query("SYSTEM STOP MERGES t")
    until = time.monotonic() + patience.LONG
    found, known = {"nothing seen"}, set()
    while found != known and time.monotonic() < until:
        parts = connection.query("SELECT path FROM system.parts WHERE table = 't' AND path != ''").fetchall()
        known = {Path(part).name for (part,) in parts}
        found = {file.name for file in folder.iterdir()} - {"journal"}
    assert found == known


def test_killed_while_it_works(tmp_path):
    path = tmp_path / "db"
    connection = chalet.connect(str(path))
    connection.query(
        "CREATE TABLE t (p UInt8, batch UInt64, n UInt64, s String, v UInt64) ENGINE = MergeTree PARTITION BY p ORDER BY (batch, n)"
    )
    connection.close()
    expected = {}  # batch -> (rows, value)
    for loop in range(LOOPS):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), str(loop + 1)], stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.25 + random.Random(loop).random() * 0.6)
        worker.send_signal(signal.SIGKILL)
        said, _ = worker.communicate()
        begun = {}
        for line in said.splitlines():
            words = line.split()
            if len(words) < 4:
                continue
            state, kind, first, second = words[0], words[1], int(words[2]), int(words[3])
            if state == "begin":
                begun[kind, first, second] = True
                continue
            begun.pop((kind, first, second), None)
            if kind == "insert":
                expected[first] = (second, 0)
            elif kind == "update":
                expected[first] = (expected[first][0], second)
            else:
                del expected[first]
        connection = chalet.connect(str(path))
        found = rows_of(connection)
        # What was begun and not acknowledged is there as a whole or not at all.
        for kind, first, second in begun:
            count = found.get(first, (0, 0, 0, 0))[0]
            if kind == "insert" and first in found:
                assert count == second
                expected[first] = (second, 0)
            elif kind == "update" and first in expected and found[first][2] == second:
                expected[first] = (expected[first][0], second)
            elif kind in ("delete", "drop") and first not in found:
                expected.pop(first, None)
        wanted = {
            batch: (rows, value, value, rows * (rows - 1) // 2) for batch, (rows, value) in expected.items()
        }
        assert found == wanted
        assert {passed for _, passed, _ in connection.query("CHECK TABLE t").fetchall()} <= {1}
        check_files(path, connection)
        connection.close()
