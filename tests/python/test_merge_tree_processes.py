"""Tables of parts that one process writes and merges while others read them."""

import os
import subprocess
import sys
import threading

import chalet
import pytest

READER = """
import sys, chalet
connection = chalet.connect(sys.argv[1] + "?mode=ro")
print("ready", flush=True)
before = 0
for _ in range(60):
    rows, total, keys = connection.query("SELECT count(), sum(k), uniqExact(k) FROM t").fetchall()[0]
    assert rows == keys and total == rows * (rows - 1) // 2 and rows >= before, (rows, total, keys, before)
    before = rows
print(before)
"""


def test_readers_see_whole_inserts_while_parts_are_merged(tmp_path):
    path = str(tmp_path / "db")
    connection = chalet.connect(path)
    connection.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    connection.query("INSERT INTO t SELECT number, toString(number) FROM numbers(1000)")
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, path], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    rows = 1000
    while any(reader.poll() is None for reader in readers):
        connection.query(f"INSERT INTO t SELECT number + {rows}, repeat('x', 100) FROM numbers(7000)")
        rows += 7000
        connection.query("OPTIMIZE TABLE t FINAL")
    for reader in readers:
        reader.communicate()
        assert reader.returncode == 0
    assert connection.query("SELECT count() FROM t").fetchall() == [(rows,)]
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_follows_its_parent(tmp_path):
    program = """
import os, sys, chalet
connection = chalet.connect(sys.argv[1])
connection.query("CREATE TABLE t (k UInt64) ENGINE = MergeTree ORDER BY k")
connection.query("INSERT INTO t SELECT number FROM numbers(100000)")
connection.query("SELECT count() FROM t").fetchall()
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.read(read, 1)
    assert connection.query("SELECT count(), sum(k) FROM t").fetchall() == [(150000, 6249925000)]
    try:
        connection.query("INSERT INTO t VALUES (1)")
    except chalet.Error as error:
        os._exit(0 if "can read, not write" in str(error) else 2)
    os._exit(3)
connection.query("INSERT INTO t SELECT number FROM numbers(50000)")
connection.query("OPTIMIZE TABLE t FINAL")
os.write(write, b"x")
assert os.waitpid(child, 0)[1] == 0
assert connection.query("SELECT count() FROM t").fetchall() == [(150000,)]
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "db")], check=True, timeout=300)


def test_many_threads_keep_sums(tmp_path):
    """Rows are moved between two groups by mutations; their number and sum stay, whatever is merged meanwhile."""
    path = str(tmp_path / "db")
    connection = chalet.connect(path)
    connection.query("CREATE TABLE t (id UInt64, side UInt8, v Int64) ENGINE = MergeTree PARTITION BY id % 4 ORDER BY id")
    connection.query("INSERT INTO t SELECT number, 0, number FROM numbers(4000)")
    errors = []

    def work(number):
        session = chalet.connect(path)
        try:
            for step in range(12):
                match (number + step) % 4:
                    case 0:
                        session.query(f"ALTER TABLE t UPDATE side = 1 - side WHERE id % 7 = {number % 7}")
                    case 1:
                        base = 10_000 + number * 1_000 + step * 10
                        session.query(f"INSERT INTO t SELECT {base} + number, 0, if(number = 0, 5, -5) FROM numbers(2)")
                    case 2:
                        session.query("OPTIMIZE TABLE t")
                    case _:
                        rows, total, keys = session.query("SELECT count(), sum(v), uniqExact(id) FROM t").fetchall()[0]
                        assert rows == keys and total == 4000 * 3999 // 2, (rows, total, keys)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert connection.query("SELECT sum(v) FROM t").fetchall() == [(4000 * 3999 // 2,)]
    connection.close()


def test_definitions_change_one_after_the_other(tmp_path):
    path = str(tmp_path / "db")
    connection = chalet.connect(path)
    connection.query("CREATE TABLE t (k UInt64) ENGINE = MergeTree ORDER BY k")
    errors = []

    def work(number):
        session = chalet.connect(path)
        try:
            for step in range(6):
                session.query(f"ALTER TABLE t ADD COLUMN c{number}_{step} UInt32 DEFAULT {number * 10 + step}")
                session.query(f"INSERT INTO t (k) VALUES ({number})")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    connection.close()
    with chalet.connect(path) as reopened:
        names = [f"c{number}_{step}" for number in range(4) for step in range(6)]
        wanted = tuple(number * 10 + step for number in range(4) for step in range(6))
        assert reopened.query(f"SELECT DISTINCT {', '.join(names)} FROM t").fetchall() == [wanted]
        assert reopened.query("SELECT count() FROM t").fetchall() == [(24,)]
