"""Sorts whose entries hold all that is compared of their keys: the same order as by looking at the keys again."""

import json
import os
import subprocess
import sys

PROGRAM = """
import json, chalet
rows = "SELECT cityHash64(number) % 3000 AS k, toString(k % 1000) AS s, if(number % 7 = 0, NULL, toInt32(cityHash64(number, 1) % 50)) AS n, " \\
    "toUInt32(cityHash64(number, 2)) AS a, toLowCardinality(s) AS l FROM numbers(200000)"
answers = []
with chalet.connect() as db:
    db.query(f"CREATE TABLE t ENGINE = Memory AS {rows}")
    for keys in "k, s, a", "s, a", "l DESC, n, k, a DESC", "n NULLS FIRST, s, a", "k, n DESC, number":
        source = "t" if "number" not in keys else "(SELECT *, rowNumberInAllBlocks() AS number FROM t)"
        for threads in 1, 2:
            sql = f"SELECT cityHash64(groupArray((k, s, n, a))) FROM (SELECT * FROM {source} ORDER BY {keys}) SETTINGS max_threads = {threads}"
            answers.append(str(db.query(sql)))
    answers.append(str(db.query("SELECT sum(r * a) FROM (SELECT row_number() OVER (PARTITION BY s ORDER BY a, k) AS r, a FROM t)")))
    counted = db.query("SELECT sum(value) FROM system.events WHERE event = 'WideSorts'").fetchone()[0]
print(json.dumps([answers, counted]))
"""


def run(switches):
    """The answers of a process of its own, and how many such sorts there were."""
    environment = {**os.environ, "CHALET_SWITCHES": switches}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def test_the_same_order_with_and_without():
    wide, counted = run("")
    narrow, never = run("-wide-sorts")
    assert wide == narrow
    assert counted >= 4
    assert never == 0
