"""Nothing is kept that nobody has any more: memory, objects, callbacks, threads, files.

The counts are small here; CHALET_LONG_TESTS=1 makes them large (some minutes).
"""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref

import patience
import pytest

import chalet

LONG = os.environ.get("CHALET_LONG_TESTS", "") not in ("", "0")
# What a process may grow by, of its resident set, when it has warmed up.
GROWTH = 0.05

PROGRAM = """
import gc, sys
import chalet

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

def measure(work, warm, n):
    for number in range(warm):
        work(number)
    gc.collect()
    before = highest = resident()
    for number in range(n):
        work(number)
        if number % 200 == 0:
            highest = max(highest, resident())
    gc.collect()
    print(before, resident(), highest)

db = chalet.connect()
frame = {{"a": list(range(100)), "b": [str(n) for n in range(100)]}}
chalet.create_function("plus_one", lambda x: x + 1, ["Int64"], "Int64")
{work}
measure(work, {warm}, {n})
"""

WORKS = {
    "queries": (
        """
def work(number):
    kind = number % 8
    if kind == 0:
        db.query("SELECT number, toString(number) FROM numbers(100)").data()
    elif kind == 1:
        db.cursor().execute("SELECT number, [number], toString(number) FROM numbers(100)").fetchall()
    elif kind == 2:
        db.query("SELECT sum(a), max(b) FROM frame", "TSV", tables={"frame": frame})
    elif kind == 3:
        db.query("SELECT plus_one(number) FROM numbers(20)")
    elif kind == 4:
        db.query("SELECT {n:UInt64}, {s:String}", params={"n": number, "s": str(number)})
    elif kind == 5:
        db.sql("SELECT number % 7 AS k FROM numbers(100)").aggregate("k, count()", "k").fetchall()
    elif kind == 6:
        try:
            db.query(f"SELECT column_{number % 1000} FROM numbers(1)")
        except chalet.Error:
            pass
    elif number % 64 == 7:
        for chunk in db.send_query("SELECT number FROM numbers(1000)", "CSV"):
            chunk.size()
    else:
        db.query("SELECT number % 10 AS k, count() FROM numbers(1000) GROUP BY k ORDER BY k").to_dicts()
""",
        2000,
        6000,
        100_000,
    ),
    "databases": (
        """
def work(number):
    with chalet.connect() as own:
        own.query("CREATE TABLE t ENGINE = Memory AS SELECT number AS x, toString(number) AS s FROM numbers(2000)")
        own.query("SELECT uniq(s) FROM t").data()
    chalet.connect().execute("SELECT 1").fetchall()
""",
        100,
        200,
        1000,
    ),
    "frames": (
        """
import numpy, pandas
wide = pandas.DataFrame({"a": numpy.arange(20000), "b": numpy.arange(20000).astype(str)})
def work(number):
    db.query("SELECT a, b FROM wide WHERE a % 2 = 0", "DataFrame")
    db.query("SELECT a, b FROM wide WHERE a % 2 = 0", tables={"wide": wide}).arrow()
    db.query("SELECT a, b FROM wide LIMIT 100").pl()
""",
        60,
        100,
        2000,
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", WORKS)
def test_the_resident_set_is_flat(kind):
    work, warm, few, many = WORKS[kind]
    if kind == "frames":
        for package in ("pandas", "pyarrow", "polars"):
            pytest.importorskip(package)
    program = PROGRAM.format(work=work, warm=warm * (5 if LONG else 1), n=many if LONG else few)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after, highest = map(int, done.stdout.split())
    print(f"{kind}: {before} KB before, {after} KB after, {highest} KB at most")
    # A small run may still warm up a little.
    allowed = before * GROWTH if LONG else max(before * GROWTH, 4096)
    assert after - before < allowed, f"{before} KB became {after} KB"


def gone(*refs):
    """Waits until they are: a worker that took part in a query may let go of what it read a moment later."""

    def are_gone():
        gc.collect()
        return all(ref() is None for ref in refs)

    patience.until(are_gone, "something is kept")
    return [ref() is None for ref in refs]


class Rows(dict):
    """A table that can be referred to weakly."""


def test_tables_are_let_go(db):
    for read in (
        lambda rows: db.query("SELECT sum(a) FROM rows", tables={"rows": rows}),
        lambda rows: db.query("SELECT sum(a) FROM rows").data(),
        lambda rows: db.cursor().execute("SELECT a FROM rows").fetchall(),
        lambda rows: db.query("CREATE OR REPLACE TABLE t ENGINE = Memory AS SELECT a FROM rows"),
        lambda rows: [*db.send_query("SELECT a FROM rows", "CSV")],
        lambda rows: db.register("rows", rows) and db.query("SELECT a FROM rows") and db.unregister("rows"),
        lambda rows: db.sql("SELECT a FROM rows").filter("a > 1").fetchall(),
        lambda rows: chalet.query("SELECT a FROM rows"),
        lambda rows: pytest.raises(chalet.Error, db.query, "SELECT no_such FROM rows", tables={"rows": rows}),
    ):
        rows = Rows(a=[1, 2, 3])
        read(rows)
        ref = weakref.ref(rows)
        del rows
        assert gone(ref) == [True]


def test_frames_are_let_go(db):
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [1, 2, 3], "s": ["x", "y", None]})
    table = pyarrow.table({"a": [1, 2, 3]})
    assert db.query("SELECT count() FROM frame, table").data() == "9\n"
    results = [db.query("SELECT a, s FROM frame", "DataFrame"), db.query("SELECT a FROM table", "ArrowTable")]
    refs = [weakref.ref(thing) for thing in (frame, table, *results)]
    del frame, table, results
    assert gone(*refs) == [True] * 4


def test_variables_do_not_outlive_their_names(db):
    """Looking for a variable by name makes a dict of them all; it must not keep them."""
    bystander, rows = Rows(), Rows(a=[1])
    assert db.query("SELECT a FROM rows").data() == "1\n"
    refs = weakref.ref(bystander), weakref.ref(rows)
    seen = locals()
    assert {"bystander", "rows", "refs"} <= set(seen)
    del seen, bystander, rows
    assert db.query("SELECT 1").data() == "1\n"
    assert locals()["refs"] is refs
    assert gone(*refs) == [True, True]


def test_locals_that_somebody_has_stay_as_they_are(db):
    rows, mine = {"a": [1]}, None
    mine = locals()
    assert db.query("SELECT a FROM rows").data() == "1\n"
    assert mine["rows"] is rows


def test_functions_and_callbacks_are_let_go(db):
    def plus_two(x):
        return x + 2

    class Total:
        def __init__(self):
            self.total = 0

        def update(self, x):
            self.total += x

        def merge(self, other):
            self.total += other.total

        def evaluate(self):
            return self.total

    made = []

    def accumulator():
        made.append(weakref.ref(total := Total()))
        return total

    def tell(progress):
        pass

    chalet.create_function("plus_two", plus_two, ["Int64"], "Int64")
    chalet.create_aggregate_function("total_of", accumulator, ["Int64"], "Int64")
    db.set_progress_callback(tell)
    assert db.query("SELECT total_of(plus_two(number)) FROM numbers(10)").data() == "65\n"
    db.set_progress_callback(None)
    chalet.drop_function("plus_two")
    chalet.drop_function("total_of")
    refs = [weakref.ref(plus_two), weakref.ref(accumulator), weakref.ref(tell), *made]
    del plus_two, accumulator, tell
    assert made and all(gone(*refs))


def test_errors_keep_no_frames(db):
    class Local:
        pass

    def fails():
        local = Local()
        refs.append(weakref.ref(local))
        raise ValueError("no")

    refs = []
    chalet.create_function("fails", fails, [], "Int64")
    try:
        for _ in range(3):
            with pytest.raises(chalet.Error):
                db.query("SELECT fails()")
    finally:
        chalet.drop_function("fails")
    assert refs and all(gone(*refs))


def test_objects_of_python_are_counted_right(db):
    """Immortal and shared objects too: None, small integers, names."""
    name, value = "column_of_a_name_" + "x" * 5, object()

    def work():
        db.query(f"SELECT number AS {name}, NULL AS nothing, toString(number) AS s, today() AS d FROM numbers(50)").to_dicts()
        db.cursor().execute("SELECT number, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), [number] FROM numbers(50)").fetchall()
        db.query("SELECT * FROM rows", tables={"rows": {"a": [None, 1, 2.5], "b": ["x", None, "y"]}})
        db.query("SELECT {a:Array(String)}", params={"a": ["x", "y"]})
        with pytest.raises(chalet.Error):
            db.query("SELECT")

    def grown():
        tracemalloc.start()
        try:
            before = tracemalloc.take_snapshot()
            for _ in range(200):
                work()
            gc.collect()
            stats = tracemalloc.take_snapshot().compare_to(before, "lineno")
        finally:
            tracemalloc.stop()
        return [stat for stat in stats if stat.count_diff >= 150 and "tracemalloc" not in str(stat.traceback)]

    for _ in range(20):
        work()
    gc.collect()
    blocks = sys.getallocatedblocks()
    # What leaks grows in every round; the interpreter's own caches fill up in one of them.
    rounds = [grown() for _ in range(3)]
    assert not all(rounds), rounds
    assert sys.getallocatedblocks() - blocks < 2000
    assert value is not None


def test_no_garbage_waits_for_the_collector(db):
    """What a query makes goes with its last reference."""
    db.query("SELECT 1")
    gc.collect()
    gc.disable()
    try:
        rows = Rows(a=[1, 2])
        ref = weakref.ref(rows)
        db.query("SELECT a FROM rows", tables={"rows": rows}).fetchall()
        relation = db.sql("SELECT a FROM rows", tables={"rows": rows})
        relation.filter("a > 1").fetchall()
        del rows, relation
        patience.until(lambda: ref() is None)
    finally:
        gc.enable()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="reads /proc")
def test_no_file_and_no_thread_stays_open(db, tmp_path):
    path = tmp_path / "a.parquet"
    db.query(f"INSERT INTO FUNCTION file('{path}') SELECT number AS x FROM numbers(10000)")

    def work():
        db.query(f"SELECT sum(x) FROM file('{path}')")
        with db.send_query(f"SELECT x FROM file('{path}')", "CSV") as stream:
            stream.fetch()
        with chalet.connect() as own:
            own.query("SELECT 1")

    for _ in range(5):
        work()
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    tasks = len(os.listdir("/proc/self/task"))
    for _ in range(50):
        work()
    # Threads of streams that were given up end when they next look.
    patience.until(lambda: len(os.listdir("/proc/self/task")) <= tasks, "there are more threads")
    patience.until(lambda: len(os.listdir("/proc/self/fd")) <= files and threading.active_count() <= threads, "there are more files")
