"""A damaged byte of a table of parts is an error or changes nothing, wherever it is; the files of other parts stay readable."""

import random

import chalet
import pytest

ASKED = [
    "SELECT count(), sum(cityHash64(*)) FROM t",
    "SELECT k, s FROM t WHERE k = 4711",
    "SELECT count() FROM t WHERE k BETWEEN 100 AND 300 AND n > 5",
    "SELECT s, n FROM t ORDER BY n DESC, k LIMIT 3",
]


def make(path, rows=20000):
    connection = chalet.connect(str(path))
    connection.query(
        "CREATE TABLE t (k UInt32, n Nullable(Int64), s LowCardinality(String), d Decimal(30, 3)) "
        "ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 512"
    )
    connection.query(
        "INSERT INTO t SELECT number, if(number % 9 = 0, NULL, number), toString(number % 50), number / 7 "
        f"FROM numbers({rows})"
    )
    connection.query("SYSTEM STOP MERGES t")
    connection.query("INSERT INTO t SELECT number, number, 'small', 1 FROM numbers(100)")
    answers = [connection.query(sql).fetchall() for sql in ASKED]
    connection.close()
    (folder,) = (path / "tables").iterdir()
    (part,) = folder.glob("*.parquet")
    return answers, part, folder / "journal"


def check(path, file, positions, answers):
    whole = file.read_bytes()
    errors = 0
    for at in positions:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << (at % 8)
        file.write_bytes(damaged)
        try:
            connection = chalet.connect(f"{path}?mode=ro")
        except chalet.Error:
            errors += 1
            continue
        for sql, answer in zip(ASKED, answers, strict=True):
            try:
                assert connection.query(sql).fetchall() == answer, f"byte {at}"
            except chalet.Error:
                errors += 1
        connection.close()
    file.write_bytes(whole)
    return errors


def test_a_part(tmp_path):
    path = tmp_path / "db"
    answers, part, _ = make(path)
    size = part.stat().st_size
    positions = [*random.Random(1).sample(range(size), 250), *range(size - 60, size), *range(20)]
    errors = check(path, part, positions, answers)
    assert errors > 100
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(chalet.Error, match="damaged"):
        chalet.connect(f"{path}?mode=ro").query(ASKED[0]).fetchall()


def test_the_journal(tmp_path):
    path = tmp_path / "db"
    answers, _, journal = make(path)
    size = journal.stat().st_size
    positions = [*range(min(size, 200)), *random.Random(2).sample(range(size), min(size, 200))]
    assert check(path, journal, positions, answers) > 100


def test_check_table_names_the_part(tmp_path):
    path = tmp_path / "db"
    # Several blocks with checksums: the one with the footer stays whole.
    _, part, _ = make(path, 200_000)
    damaged = bytearray(part.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    part.write_bytes(damaged)
    connection = chalet.connect(str(path))
    found = connection.query("CHECK TABLE t").fetchall()
    assert sorted(passed for _, passed, _ in found) == [0, 1]
    assert ["Checksum doesn't match" in message for _, passed, message in found if not passed] == [True]
    # What is in other parts can be read, and the damaged one can be dropped.
    assert connection.query("SELECT count() FROM t WHERE _part = 'all_2_2_0'").fetchall() == [(100,)]
    connection.query("ALTER TABLE t DROP PART 'all_1_1_0'")
    assert connection.query("SELECT count() FROM t").fetchall() == [(100,)]
