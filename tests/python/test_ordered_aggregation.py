"""Aggregates that depend on the order of rows, computed by all workers: runs of rows that follow each other, merged in their order."""

import os
import subprocess
import sys

import patience
import pytest

import chalet

ROWS = 300_000
COLUMNS = {
    "plain": "toString(number)",
    "nullable": "if(number % 3 = 0, NULL, toString(number))",
    "dictionary": "toLowCardinality(toString(intDiv(number, 50)))",
    "number": "number",
}
CALLS = [
    "groupArray(plain)",
    "groupArray(nullable)",
    "groupArray(dictionary)",
    "groupArray(5)(number)",
    "any(plain)",
    "any(nullable)",
    "anyLast(nullable)",
    "any_respect_nulls(nullable)",
    "first_value(dictionary)",
    "last_value(dictionary)",
    "deltaSum(number)",
    "groupConcat(',')(plain)",
    "groupArrayLast(3)(number)",
    "groupArrayMovingSum(number)",
    "singleValueOrNull(number)",
    "groupArrayInsertAt(number, number % 7)",
    "groupArrayIf(number, number % 2 = 0)",
    "groupArrayDistinct(number % 100)",
    "finalizeAggregation(groupArrayState(plain))",
]
# One group, few, many, and nearly one for each row.
KEYS = ["", "GROUP BY number % 10 AS k", "GROUP BY intHash32(number) % 30000 AS k", "GROUP BY plain AS k", "GROUP BY dictionary AS k"]


@pytest.fixture(scope="module")
def rows():
    """A table of many tasks: parts in memory are read by all workers."""
    with chalet.connect() as db:
        columns = ", ".join(f"{made} AS {name}" for name, made in COLUMNS.items())
        db.query(f"CREATE TABLE rows ENGINE = Memory AS SELECT {columns} FROM numbers({ROWS}) SETTINGS max_block_size = 5000, max_threads = 1")
        yield db


def digest(call, keys):
    found = f"SELECT {'k, ' if keys else ''}{call} AS a FROM rows {keys}"
    return f"SELECT count(), groupBitXor(cityHash64(*)) FROM ({found})"


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("call", CALLS)
def test_one_worker_and_many_answer_alike(rows, counted, call, keys):
    sql = digest(call, keys)
    alone, runs = counted(rows, f"{sql} SETTINGS max_threads = 1", "AggregationRunsInOrder")
    assert runs == 0
    assert counted(rows, f"{sql} SETTINGS max_threads = 8, max_block_size = 10000", "AggregationRunsInOrder")[0] == alone


def test_several_workers_take_part(rows, counted):
    # Who has read a block sleeps, and others take the next ones, however few processors there are.
    sql = "SELECT cityHash64(groupArray(plain)) FROM rows WHERE sleep(0.003) = 0 SETTINGS max_threads = 8, max_block_size = 10000"
    patience.until(lambda: counted(rows, sql, "AggregationRunsInOrder")[1] > 0)


@pytest.mark.parametrize("call", ["groupArray(plain)", "any(nullable)", "groupConcat(',')(plain)"])
def test_on_disk(rows, counted, call):
    sql = digest(call, "GROUP BY intHash32(number) % 30000 AS k")
    alone, written = counted(rows, f"{sql} SETTINGS max_threads = 1", "ExternalAggregationWritePart")
    assert written == 0
    settings = "max_threads = 8, max_block_size = 10000, max_bytes_before_external_group_by = 1000000"
    together, written = counted(rows, f"{sql} SETTINGS {settings}", "ExternalAggregationWritePart")
    assert together == alone
    assert written > 0


def test_totals_and_limits(rows):
    for sql in [
        "SELECT k, any(plain), groupArray(3)(number) FROM rows GROUP BY number % 10 AS k WITH TOTALS ORDER BY k",
        "SELECT k, groupArray(2)(number) FROM rows GROUP BY ROLLUP(number % 3 AS k) ORDER BY k",
        "SELECT any(plain), count() FROM rows WHERE number > 1000000",
    ]:
        answers = {rows.query(f"{sql} SETTINGS max_threads = {n}, max_block_size = 10000").data() for n in (1, 8)}
        assert len(answers) == 1
    with pytest.raises(chalet.Error, match="Limit for rows to GROUP BY exceeded"):
        rows.query("SELECT number AS k, any(plain) FROM rows GROUP BY k SETTINGS max_rows_to_group_by = 299999, max_threads = 8")


def test_samples_and_functions_of_python_have_one_worker(rows, counted):
    sql = "SELECT groupArraySample(5, 7)(number) FROM rows SETTINGS max_threads = {}, max_block_size = 10000"
    alone, _ = counted(rows, sql.format(1), "AggregationRunsInOrder")
    assert counted(rows, sql.format(8), "AggregationRunsInOrder") == (alone, 0)


PROGRAM = """
import os
import chalet
with chalet.connect() as db:
    db.query("CREATE TABLE rows ENGINE = Memory AS SELECT number FROM numbers(300000) SETTINGS max_block_size = 5000, max_threads = 1")
    # Who has read a block sleeps, and others take the next ones. It is for the scheduler to say whether there are others by then.
    for _ in range(20 if "-ordered-runs" in os.environ["CHALET_SWITCHES"] else 2000):
        answer = db.query("SELECT cityHash64(groupArray(number)) FROM rows WHERE sleep(0.003) = 0 SETTINGS max_threads = 8, max_block_size = 10000").data().strip()
        ran = db.query("SELECT sum(value) > 0 FROM system.events WHERE event = 'AggregationRunsInOrder'").data().strip()
        if ran == "1":
            break
    print(answer, ran)
"""


def test_the_switch():
    said = []
    for switches in ("", "-ordered-runs"):
        environment = {**os.environ, "CHALET_SWITCHES": switches}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        said.append(done.stdout.split())
    (on, ran), (off, ran_not) = said
    assert on == off and (ran, ran_not) == ("1", "0")
