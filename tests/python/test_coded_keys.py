"""Groups by several columns whose values are in dictionaries: by their codes, and as by their values."""

import json
import os
import subprocess
import sys

import pytest

import chalet

ROWS = 60_000
COLUMNS = {
    "flag": "['A', 'N', 'R', ''][1 + intDiv(number, 7) % 4]",
    "status": "['open', 'closed', 'a status of more than twelve bytes'][1 + number % 3]",
    "maybe": "if(number % 5 = 0, NULL, toString(number % 4))",
    "many": "toString(number % 9000)",
    "small": "toUInt8(number % 3)",
}
STATEMENTS = [
    "SELECT flag, status, count(), sum(n) FROM rows GROUP BY flag, status ORDER BY ALL",
    "SELECT flag, maybe, count(), uniq(n) FROM rows GROUP BY flag, maybe ORDER BY ALL",
    "SELECT maybe, status, flag, max(n) FROM rows WHERE n % 11 != 0 GROUP BY maybe, status, flag ORDER BY ALL",
    "SELECT flag, small, count() FROM rows GROUP BY flag, small ORDER BY ALL",
    "SELECT flag, many, count() FROM rows GROUP BY flag, many ORDER BY ALL LIMIT 100",
    "SELECT flag, status, count() FROM rows GROUP BY flag, status WITH TOTALS ORDER BY ALL",
    "SELECT flag, status, count() FROM rows GROUP BY ROLLUP(flag, status) ORDER BY ALL",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Parquet with plain and optional columns and several dictionaries a column, and a table of LowCardinality."""
    folder = tmp_path_factory.mktemp("coded_keys")
    columns = ", ".join(f"{made} AS {name}" for name, made in COLUMNS.items())
    with chalet.connect(str(folder / "db")) as db:
        select = f"SELECT number AS n, {columns} FROM numbers({ROWS})"
        settings = "SETTINGS output_format_parquet_row_group_size = 20000, engine_file_truncate_on_insert = 1"
        db.query(f"INSERT INTO FUNCTION file('{folder}/plain.parquet') {select} {settings}")
        nullable = ", ".join(f"toNullable({name}) AS {name}" for name in COLUMNS)
        db.query(f"INSERT INTO FUNCTION file('{folder}/nullable.parquet') SELECT n, {nullable} FROM ({select}) {settings}")
        types = "n UInt64, flag LowCardinality(String), status LowCardinality(String), maybe LowCardinality(Nullable(String)), many LowCardinality(String), small UInt8"
        db.query(f"CREATE TABLE low ({types}) ENGINE = MergeTree ORDER BY n")
        db.query(f"INSERT INTO low {select}")
    return folder


SOURCES = {"plain": "file('{0}/plain.parquet')", "nullable": "file('{0}/nullable.parquet')", "low": "low"}

PROGRAM = """
import json, sys, chalet
folder, statements = sys.argv[1], json.loads(sys.argv[2])
with chalet.connect(folder + "/db") as db:
    answers = [str(db.query(sql)) for sql in statements]
    counted = db.query("SELECT sum(value) FROM system.events WHERE event = 'BlocksGroupedByCodes'").fetchone()[0]
print(json.dumps([answers, counted]))
"""


def run(folder, statements, switches=""):
    """The answers of a process of its own, and how many blocks it grouped by codes."""
    environment = {**os.environ, "CHALET_SWITCHES": switches}
    command = [sys.executable, "-c", PROGRAM, str(folder), json.dumps(statements)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("source", SOURCES)
def test_codes_and_values_give_the_same_groups(made, source):
    statements = [sql.replace("FROM rows", f"FROM {SOURCES[source].format(made)}") for sql in STATEMENTS]
    by_codes, counted = run(made, statements)
    by_values, never = run(made, statements, "-coded-keys")
    assert by_codes == by_values
    assert counted > 0
    assert never == 0


def test_many_combinations_are_looked_up(made):
    statements = [sql.replace("FROM rows", f"FROM {SOURCES['plain'].format(made)}") for sql in STATEMENTS if "many" in sql]
    assert run(made, statements)[1] == 0
