"""Dictionaries of strings in Parquet files: where few rows are wanted, the first values are decoded as far as the codes of these rows go."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from switched import answers

import chalet

ROWS = 60_000
VALUES = 9_000
COUNTER = "ParquetPartsOfDictionaries"


def texts(form: str) -> list[str | None]:
    """Frequent values and rare ones, so that both low and high codes are met in every part of the file."""
    draw = random.Random(7)
    words = ["" if form == "empty" and i == 0 else f"word {i} " + "x" * (i * 37 % 60) for i in range(VALUES)]
    made: list[str | None] = [words[min(int(draw.expovariate(1 / 900)), VALUES - 1)] for _ in range(ROWS)]
    if form == "nulls":
        made = [None if draw.random() < 0.2 else text for text in made]
    return made


@pytest.fixture(scope="module", params=["plain", "nulls", "empty"])
def column(request):
    return texts(request.param)


@pytest.fixture(params=["lz4", "none", "zstd", "snappy"])
def file(request, tmp_path, column):
    name = str(tmp_path / "t.parquet")
    table = pa.table({"k": pa.array(range(ROWS), pa.int64()), "s": pa.array(column, pa.string())})
    pq.write_table(table, name, compression=request.param, row_group_size=25_000, use_dictionary=["s"], data_page_size=20_000)
    return name, request.param


def test_few_rows_get_their_values(file, column, counted):
    name, codec = file
    draw = random.Random(11)
    n_parts = 0
    with chalet.connect() as db:
        for n in [1, 2, 5, 30, 400]:
            for _ in range(6):
                rows = sorted(draw.sample(range(ROWS), n))
                listed = ", ".join(map(str, rows))
                found, moved = counted(db, f"SELECT k, s FROM file('{name}') WHERE k IN ({listed}) ORDER BY k", COUNTER)
                assert found.splitlines() == [f"{row}\t{chr(92) + 'N' if column[row] is None else column[row]}" for row in rows]
                n_parts += moved
    assert (n_parts > 0) == (codec in ("lz4", "none"))


def test_conditions_on_the_strings_of_few_rows(file, column):
    name, _ = file
    with chalet.connect() as db:
        for last in [40, 500, 26_000]:
            found = db.sql(f"SELECT count(), min(s) FROM file('{name}') WHERE k % 1000 = 7 AND k < {last} AND s != 'word 3 ' || repeat('x', 51)").fetchall()
            left = [column[row] for row in range(7, last, 1000) if column[row] not in (None, "word 3 " + "x" * 51)]
            assert found == [(len(left), min(left) if left else None if None in column else "")]
        sql = f"SELECT s FROM file('{name}') WHERE s != '' ORDER BY (k * 7919) % {ROWS} LIMIT 10"
        order = sorted((row * 7919 % ROWS, row) for row in range(ROWS) if column[row])
        assert db.sql(sql).fetchall() == [(column[row],) for _, row in order[:10]]


def test_what_is_kept_serves_rows_with_other_codes(tmp_path):
    """Parts of a dictionary are kept too: the next query may need values behind them."""
    name = str(tmp_path / "t.parquet")
    long = [f"value {i} " + "y" * 200 for i in range(4000)]
    table = pa.table({"k": pa.array(range(8000), pa.int64()), "s": pa.array(long + long, pa.string())})
    pq.write_table(table, name, compression="lz4", use_dictionary=["s"], dictionary_pagesize_limit=1 << 24, data_page_size=1000)
    with chalet.connect() as db:
        for row in [3, 500, 1200, 1100, 2900, 1199, 3999, 10, 4000, 7999]:
            assert db.sql(f"SELECT s FROM file('{name}') WHERE k = {row}").fetchall() == [(long[row % 4000],)]
        assert db.sql(f"SELECT uniqExact(s), max(s) FROM file('{name}')").fetchall() == [(4000, max(long))]


def test_damaged_dictionaries_are_errors_or_the_same_answer(tmp_path):
    name = str(tmp_path / "t.parquet")
    words = [f"{i:05d} word" for i in range(2000)]
    table = pa.table({"k": pa.array(range(4000), pa.int64()), "s": pa.array(words + words, pa.string())})
    pq.write_table(table, name, compression="lz4", use_dictionary=["s"])
    place = pq.ParquetFile(name).metadata.row_group(0).column(1)
    start, size = place.dictionary_page_offset, place.data_page_offset - place.dictionary_page_offset
    whole = Path(name).read_bytes()
    draw = random.Random(3)
    with chalet.connect() as db:
        for number in range(300):
            damaged = bytearray(whole)
            damaged[start + draw.randrange(size)] ^= 1 << draw.randrange(8)
            bad = tmp_path / f"bad{number}.parquet"
            bad.write_bytes(damaged)
            try:
                found = db.sql(f"SELECT s FROM file('{bad}') WHERE k IN (5, 900)").fetchall()
            except chalet.Error as error:
                assert error.code in (33, 117, 636, 48, 131, 241, 173), error
            else:
                assert len(found) == 2


def test_the_switch_turns_it_off(tmp_path):
    name = str(tmp_path / "t.parquet")
    table = pa.table({"k": pa.array(range(4000), pa.int64()), "s": pa.array([f"word {i % 900}" for i in range(4000)], pa.string())})
    pq.write_table(table, name, compression="lz4", use_dictionary=["s"])
    sql = f"SELECT k, s FROM file('{name}') WHERE k IN (5, 3100) ORDER BY k"
    program = """
import json, sys, chalet
with chalet.connect() as db:
    sql, counter = json.load(sys.stdin)
    found = str(db.query(sql, "TSV"))
    print(json.dumps([found, str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{counter}'", "TSV")).strip()]))
"""
    on, off = (answers(program, [sql, COUNTER], switches) for switches in ("", "-parts-of-dictionaries"))
    assert on[0] == off[0] == "5\tword 5\n3100\tword 400\n"
    assert int(on[1]) > 0
    assert int(off[1]) == 0
