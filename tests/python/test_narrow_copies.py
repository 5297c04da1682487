"""Integers of the right side of a join in fewer bytes: the same answers as from its columns, plain and Nullable."""

import json
import os
import subprocess
import sys

PROGRAM = """
import json, chalet
small = "SELECT number AS k, toInt64(number % 77) - 5 AS w, if(number % 3 = 0, NULL, toInt32(number % 300)) AS maybe, " \\
    "toDate('2020-01-01') + number % 4000 AS d, toDecimal64(number % 1000, 2) AS price, cityHash64(number) AS wide FROM numbers(200000)"
answers = []
with chalet.connect() as db:
    db.query(f"CREATE TABLE small ENGINE = Memory AS {small}")
    for kind in ("INNER", "LEFT", "FULL"):
        for key in ("number % 250000", "number * 3 % 250000", "toNullable(number % 250000)"):
            sums = "count(), sum(w), sum(maybe), count(maybe), max(d), sum(price), sum(wide)"
            sql = f"SELECT {sums} FROM (SELECT {key} AS p FROM numbers(300000)) AS l {kind} JOIN small ON p = k"
            answers.append(str(db.query(sql + " SETTINGS max_threads = 2, join_use_nulls = 1")))
            answers.append(str(db.query(f"SELECT * FROM ({sql.replace(sums, 'p, w, maybe, d, price')}) ORDER BY p DESC LIMIT 5")))
    counted = db.query("SELECT sum(value) FROM system.events WHERE event = 'NarrowJoinCopies'").fetchone()[0]
print(json.dumps([answers, counted]))
"""


def run(switches):
    """The answers of a process of its own, and how many columns it copied."""
    environment = {**os.environ, "CHALET_SWITCHES": switches}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def test_the_same_answers_with_and_without():
    narrow, counted = run("")
    plain, never = run("-narrow-copies")
    assert narrow == plain
    assert counted > 0
    assert never == 0
