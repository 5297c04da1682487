"""Several processes on one folder, killed at any moment: one after the other gets the right to write, what was acknowledged stays,
and readers see whole INSERTs at any time. CHALET_PROCESS_SECONDS sets how long."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import chalet

SECONDS = float(os.environ.get("CHALET_PROCESS_SECONDS", "6"))

# Takes the database whenever it can, changes something, says so, and gives it back.
WRITER = """
import random, sys, chalet
path, number = sys.argv[1], int(sys.argv[2])
rng, batch = random.Random(number), number * 1_000_000
while True:
    try:
        db = chalet.connect(path)
    except chalet.OperationalError as error:
        assert error.name == "CANNOT_OPEN_FILE" and "open for writing" in str(error), str(error)
        continue
    for _ in range(rng.randrange(1, 4)):
        batch += 1
        rows = rng.choice([1, 100, 30000])
        print("begin", batch, rows, flush=True)
        db.query(f"INSERT INTO t (batch, rows, n, s, v) SELECT {batch}, {rows}, number, hex(sipHash128(number)), 0 FROM numbers({rows})")
        print("done", batch, rows, flush=True)
        db.query(rng.choice([
            f"ALTER TABLE t UPDATE v = v + 1 WHERE batch % 2 = {batch % 2}", "OPTIMIZE TABLE t FINAL", "OPTIMIZE TABLE t",
            f"ALTER TABLE t ADD COLUMN IF NOT EXISTS c{batch % 3} UInt8", f"CREATE OR REPLACE TABLE x{batch % 3} ENGINE = Log AS SELECT {batch} AS b",
            f"RENAME TABLE t TO u, u TO t2, t2 TO t" if rng.random() < 0.5 else "SELECT 1",
        ]))
    db.close()
"""

# Looks at the table all the time.
READER = """
import sys, chalet
db = chalet.connect(sys.argv[1] + "?mode=ro")
while True:
    rows = db.query("SELECT batch, any(rows), count(), uniqExact(n), uniqExact(v) FROM t GROUP BY batch").fetchall()
    wrong = [row for row in rows if not (row[1] == row[2] == row[3] and row[4] == 1)]
    if wrong:
        print("wrong", wrong, flush=True)
    db.query("SELECT count() FROM t WHERE s = 'none' OR n = 17")
    print("read", len(rows), flush=True)
"""


def started(code, *args):
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_processes_that_are_killed(tmp_path):
    path = tmp_path / "db"
    with chalet.connect(str(path)) as db:
        declared = "(batch UInt64, rows UInt64, n UInt64, s String, v UInt64, PROJECTION p (SELECT batch, count() GROUP BY batch))"
        db.query(f"CREATE TABLE t {declared} ENGINE = MergeTree PARTITION BY batch % 3 ORDER BY (batch, n)")
    rng, number, until = random.Random(1), 0, time.monotonic() + SECONDS
    running, reader, known, begun, reads = [], started(READER, path), {}, {}, 0
    while time.monotonic() < until or running:
        while len(running) < 3 and time.monotonic() < until:
            number += 1
            running.append(started(WRITER, path, number))
        time.sleep(rng.random() * 0.7)
        one = running.pop(rng.randrange(len(running)))
        one.send_signal(signal.SIGKILL)
        said, failed = one.communicate()
        assert one.returncode == -signal.SIGKILL, failed
        for line in said.splitlines():
            words = line.split()
            if len(words) == 3:
                (known if words[0] == "done" else begun)[int(words[1])] = int(words[2])
        if rng.random() < 0.1:
            reader.send_signal(signal.SIGKILL)
            said, failed = reader.communicate()
            assert reader.returncode == -signal.SIGKILL and "wrong" not in said, said + failed
            reads += said.count("read")
            reader = started(READER, path)
    reader.send_signal(signal.SIGKILL)
    said, failed = reader.communicate()
    assert reader.returncode == -signal.SIGKILL and "wrong" not in said, said + failed
    with chalet.connect(str(path)) as db:
        found = {b: (rows, n, u) for b, rows, n, u in db.query("SELECT batch, any(rows), count(), uniqExact(n) FROM t GROUP BY batch").fetchall()}
        assert {passed for _, passed, _ in db.query("CHECK TABLE t").fetchall()} <= {1}
    assert all(rows == n == u for rows, n, u in found.values())
    assert all(batch in found and found[batch][0] == rows for batch, rows in known.items())
    assert all(batch in begun for batch in found)
    print(f"{number} writers, {len(known)} INSERTs, {reads + said.count('read')} reads")
