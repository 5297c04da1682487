"""A disk without room and one that cannot be written, for real: a small tmpfs, and a folder that is mounted for reading. What is
acknowledged is there, what fails has changed nothing, room can be made while there is none, and readers need none.
CHALET_SMALL_DISK_ROUNDS sets how often."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

ROUNDS = int(os.environ.get("CHALET_SMALL_DISK_ROUNDS", "2"))
NAMESPACE = ["unshare", "--map-root-user", "--mount", "bash", "-c"]


def can_mount():
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    tried = subprocess.run([*NAMESPACE, "mount -t tmpfs none /mnt"], capture_output=True)
    return tried.returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="there is no mounting here")


def mounted(commands, code, *args):
    """What a program prints that runs where these commands have been run: `$1` is its first argument."""
    line = f'{commands} && exec "$0" -c "$CODE" "$@"'
    env = dict(os.environ, CODE=textwrap.dedent(code), PYTHONWARNINGS="error")
    done = subprocess.run([*NAMESPACE, line, sys.executable, *map(str, args)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


FILLS = """
import collections, os, random, sys, chalet
path, seed = sys.argv[1] + "/db", int(sys.argv[2])
rng = random.Random(seed)
FULL = ("CANNOT_WRITE_TO_FILE_DESCRIPTOR", "CANNOT_WRITE_TO_OSTREAM", "NOT_ENOUGH_SPACE", "CANNOT_OPEN_FILE", "CANNOT_CREATE_DIRECTORY")
TABLES = {
    "t": "ENGINE = MergeTree PARTITION BY batch % 3 ORDER BY (batch, n)",
    "p": "ENGINE = MergeTree ORDER BY n",
    "r": "ENGINE = ReplacingMergeTree ORDER BY (batch, n)",
    "l": "ENGINE = Log",
}
MORE = {"p": ", PROJECTION a (SELECT batch, count(), sum(n) GROUP BY batch), PROJECTION o (SELECT s, n ORDER BY s), INDEX i s TYPE bloom_filter"}

def open_it():
    db = chalet.connect(path)
    db.query("SET lightweight_deletes_sync = 2")
    return db

db = open_it()
for name, engine in TABLES.items():
    db.query(f"CREATE TABLE {name} (batch UInt64, n UInt64, s String, v UInt64{MORE.get(name, '')}) {engine}")
known = {name: {} for name in TABLES}  # batch -> (rows, v)
count = collections.Counter()

def seen(name):
    rows = db.query(f"SELECT batch, count(), uniqExact(n), min(v), max(v) FROM {name} GROUP BY batch").fetchall()
    assert all(n == u and low == high for _, n, u, low, high in rows), (name, rows)
    return {batch: (n, low) for batch, n, _, low, _ in rows}

def check(what):
    for name in TABLES:
        found = seen(name)
        assert found == known[name], (what, name, found, known[name])
    by_projection = db.query("SELECT batch, count(), sum(n) FROM p GROUP BY batch ORDER BY batch").fetchall()
    by_rows = db.query("SELECT batch, count(), sum(n) FROM p GROUP BY batch ORDER BY batch SETTINGS optimize_use_projections = 0").fetchall()
    assert by_projection == by_rows, what

batch = 0
for step in range(120):
    name = rng.choice(list(TABLES))
    batches = list(known[name])
    batch += 1
    rows = rng.choice([1, 50, 5000, 20000, 60000])
    after = dict(known[name])
    old = rng.choice(batches) if batches else 0
    kind = rng.choice(["insert"] * 6 + ["update", "delete", "lightweight", "optimize", "alter", "create", "drop partition"])
    if kind == "insert" or not batches:
        sql = f"INSERT INTO {name} (batch, n, s, v) SELECT {batch}, number, hex(sipHash128(number, {batch})), 0 FROM numbers({rows})"
        after[batch] = (rows, 0)
    elif name == "l":
        if rng.random() < 0.7:
            continue
        kind, sql, after = "truncate", "TRUNCATE TABLE l", {}
    elif kind == "update":
        sql = f"ALTER TABLE {name} UPDATE v = {batch} WHERE batch = {old} SETTINGS mutations_sync = 2"
        after[old] = (after[old][0], batch)
    elif kind in ("delete", "lightweight"):
        sql = f"DELETE FROM {name} WHERE batch = {old}" if kind == "lightweight" and name != "p" else f"ALTER TABLE {name} DELETE WHERE batch = {old} SETTINGS mutations_sync = 2"
        del after[old]
    elif kind == "optimize":
        sql = f"OPTIMIZE TABLE {name} FINAL"
    elif kind == "alter":
        sql = f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS c{rng.randrange(3)} UInt32 DEFAULT 7"
    elif kind == "create":
        sql = f"CREATE OR REPLACE TABLE x ENGINE = MergeTree ORDER BY n AS SELECT * FROM {name}"
    else:
        name = "t"
        gone = rng.randrange(3)
        sql = f"ALTER TABLE t DROP PARTITION {gone}"
        after = {b: of for b, of in known["t"].items() if b % 3 != gone}
    try:
        db.query(sql)
        known[name] = after
        count[kind] += 1
    except chalet.Error as error:
        count["failed"] += 1
        count["failed " + kind] += 1
        if error.name == "READONLY":
            # It is not known what is on disk: the statement is there as a whole, or nothing of it.
            db.close()
            db = open_it()
            count["opened again"] += 1
            if seen(name) == after:
                known[name] = after
        else:
            assert error.name in FULL, (sql, str(error))
    check(sql)
    if rng.random() < 0.05:
        db.close()
        db = open_it()
        check("opened again")
assert count["failed"], count
# Without any room it can be opened, and room can be made.
with open(sys.argv[1] + "/filling", "wb", buffering=0) as filling:
    try:
        while filling.write(bytes(4096)):
            pass
    except OSError:
        pass
db.close()
db = open_it()
check("opened without room")
made = []
for sql in ("ALTER TABLE t DROP PARTITION 0", "TRUNCATE TABLE p", "DROP TABLE l", "DROP TABLE IF EXISTS x"):
    try:
        db.query(sql)
        made.append(sql)
    except chalet.Error as error:
        print("without room", sql, error)
os.remove(sys.argv[1] + "/filling")
print(len(made), "of 4")
db.close()
db = open_it()
if made and made[0].endswith("PARTITION 0"):
    assert seen("t") == {b: of for b, of in known["t"].items() if b % 3}, "after the partition was dropped"
db.query("INSERT INTO r (batch, n, s, v) SELECT 1000000, number, '', 0 FROM numbers(10)")
assert db.query("SELECT count() FROM r WHERE batch = 1000000").fetchall()[0][0] == 10
print(dict(count))
"""


def test_a_disk_that_is_full(tmp_path):
    for seed in range(ROUNDS):
        out = mounted(f"mount -t tmpfs -o size={[4, 6, 8][seed % 3]}m none $1", FILLS, tmp_path, seed)
        print(out)
        assert "4 of 4" in out


def test_a_folder_that_cannot_be_written(tmp_path):
    place = tmp_path / "db"
    made = """
        import os, sys, chalet
        db = chalet.connect(sys.argv[1])
        db.query("CREATE TABLE t (n UInt64, s String, INDEX i s TYPE bloom_filter, PROJECTION o (SELECT s, n ORDER BY s)) ENGINE = MergeTree ORDER BY n SETTINGS lightweight_mutation_projection_mode = 'rebuild'")
        db.query("INSERT INTO t SELECT number, toString(number) FROM numbers(50000)")
        db.query("INSERT INTO t VALUES (1, 'small')")
        db.query("DELETE FROM t WHERE n = 7")
        db.query("CREATE TABLE l ENGINE = Log AS SELECT 1 AS x")
        db.query("CREATE VIEW v AS SELECT count() AS c FROM t")
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), 9)
    """
    asked = """
        import sys, chalet
        try:
            chalet.connect(sys.argv[1])
            print("opened to write")
        except chalet.Error as error:
            print(error.name)
        db = chalet.connect(sys.argv[1] + "?mode=ro")
        print(db.query("SELECT count(), sum(n), (SELECT c FROM v), (SELECT x FROM l) FROM t"), end="")
        print(db.query("SELECT n FROM t WHERE s = '49999'"), end="")
        for sql in ("INSERT INTO t VALUES (1, 'x')", "OPTIMIZE TABLE t FINAL", "DROP TABLE l", "CREATE TABLE m (x UInt8) ENGINE = Memory", "ALTER TABLE t DELETE WHERE 1", "TRUNCATE TABLE t", "ALTER TABLE t ADD COLUMN c UInt8"):
            try:
                db.query(sql)
                print("done", sql)
            except chalet.Error as error:
                print(error.name)
        print({passed for _, passed, _ in db.query("CHECK TABLE t").fetchall()})
    """
    for how in ("closed", "killed"):
        shutil.rmtree(place, ignore_errors=True)
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(made), place, how])
        assert done.returncode == (-9 if how == "killed" else 0)
        out = mounted('mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"', asked, place)
        refused, *others = out.splitlines()
        assert refused in ("CANNOT_OPEN_FILE", "READONLY", "CANNOT_WRITE_TO_FILE_DESCRIPTOR"), refused
        assert others == ["50000,1249974994,50000,1", "49999", *["READONLY"] * 7, "{1}"]
