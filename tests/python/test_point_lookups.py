"""Single rows of large tables: files stay mapped, pages are jumped over, pages without a NULL are read as such. Counters show it,
switches turn it off, the answers stay."""

import json
import time

import pytest
from switched import answers

import chalet

ROWS = 400_000
KEYS = [0, 1, 8191, 8192, 65535, 100_000, 131_071, 131_072, 262_144, ROWS - 1, ROWS, 1 << 40]
MADE = f"""
CREATE TABLE t (k UInt64, n Nullable(UInt32), full Nullable(Int64), s String, ns Nullable(String), lc LowCardinality(String),
    d Date, f Float64, a Array(UInt8), tu Tuple(x Int32, y Nullable(String))) ENGINE = MergeTree ORDER BY k;
INSERT INTO t SELECT number, if(number % 3 = 0, NULL, number), number * 7, concat('text of ', toString(number)),
    if(number % 5 = 0, NULL, toString(number)), concat('c', toString(number % 11)), toDate('2020-01-01') + number % 1000, number / 3,
    range(number % 4), tuple(number, if(number % 7 = 0, NULL, 'y')) FROM numbers({ROWS})
"""
PROGRAM = """
import json, sys, time, chalet
folder, keys, statements = json.load(sys.stdin)
with chalet.connect(folder) as db:
    time.sleep(0.1)
    names = ["FileOpen", "FileMappingsReused", "ParquetJumpedPages", "ParquetFullPages"]
    def counts():
        known = dict(line.split("\t") for line in str(db.query("SELECT event, value FROM system.events", "TSV")).splitlines())
        return [int(known.get(name, 0)) for name in names]
    str(db.query("SELECT * FROM t WHERE k = 5", "TSV"))
    before = counts()
    found = [str(db.query(sql.format(key=key), "TSV")) for sql in statements for key in keys]
    print(json.dumps([found, dict(zip(names, (b - a for a, b in zip(before, counts()))))]))
"""
STATEMENTS = [
    "SELECT * FROM t WHERE k = {key}",
    "SELECT f, full, ns FROM t WHERE k IN ({key}, {key} + 9000)",
    "SELECT count(), sum(n), sum(full), max(s), max(ns), max(lc) FROM t WHERE k BETWEEN {key} AND {key} + 10000",
    "SELECT k, s, tu FROM t WHERE k >= {key} ORDER BY k LIMIT 2",
]
OFF = {"FileMappingsReused": "-kept-mappings", "ParquetJumpedPages": "-jumped-pages", "ParquetFullPages": "-full-pages"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("lookups") / "db")
    with chalet.connect(folder) as db:
        db.query(MADE)
    return folder


def row(k):
    """One row as TabSeparated has it."""
    cells = [k, "\\N" if k % 3 == 0 else k, k * 7, f"text of {k}", "\\N" if k % 5 == 0 else k, f"c{k % 11}"]
    return cells, ["[" + ",".join(map(str, range(k % 4))) + "]", f"({k}," + ("NULL" if k % 7 == 0 else "'y'") + ")"]


def test_rows_are_found(folder):
    found, counted = answers(PROGRAM, [folder, KEYS, STATEMENTS])
    for key, text in zip(KEYS, found):
        if key >= ROWS:
            assert text == ""
            continue
        cells = text.rstrip("\n").split("\t")
        first, last = row(key)
        assert cells[:6] == [str(cell) for cell in first] and cells[8:] == last
    assert counted["FileOpen"] == 0, "the file was mapped"
    assert all(counted[name] > 0 for name in OFF), counted


@pytest.mark.parametrize("counter", OFF)
def test_without_a_mechanism_the_answers_are_the_same(folder, counter):
    expected, _ = answers(PROGRAM, [folder, KEYS, STATEMENTS])
    found, counted = answers(PROGRAM, [folder, KEYS, STATEMENTS], OFF[counter])
    assert found == expected and counted[counter] == 0
    assert all(counted[name] > 0 for name in OFF if name != counter), counted


def test_a_file_that_changes_while_it_is_mapped_is_told(tmp_path):
    with chalet.connect(str(tmp_path / "db")) as db:
        db.query(MADE)
        time.sleep(0.1)
        assert str(db.query("SELECT s FROM t WHERE k = 7", "TSV")) == "text of 7\n"
        part = max((tmp_path / "db").rglob("*.parquet"), key=lambda file: file.stat().st_size)
        whole = part.read_bytes()
        for changed in (whole[: len(whole) // 2], b"", whole + b"more"):
            part.write_bytes(changed)
            with pytest.raises(chalet.Error):
                db.query("SELECT s FROM t WHERE k = 7", "TSV").bytes()
        part.unlink()
        with pytest.raises(chalet.Error):
            db.query("SELECT s FROM t WHERE k = 7", "TSV").bytes()
        part.write_bytes(whole)
        assert str(db.query("SELECT s FROM t WHERE k = 7", "TSV")) == "text of 7\n"


def test_small_reads_wake_no_thread(folder):
    plan = "EXPLAIN ANALYZE SELECT f FROM t WHERE k = 77"
    with chalet.connect(folder) as db:
        db.query("SET max_threads = 8")
        lines = json.dumps(str(db.query(plan, "TSVRaw")))
    assert "workers: 1" in lines and "workers: 8" not in lines
