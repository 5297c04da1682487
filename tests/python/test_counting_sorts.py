"""Rows are put in order by the values of their keys where there are few of these: a counter shows it, and the order is that of a sort."""

import pytest
from switched import answers

# A key of few values, and one of more bytes that orders as it does.
KEYS = {
    "toInt8(h)": "toInt64(toInt8(h)) * 1000003",
    "h % 2 = 0": "toInt64(h % 2 = 0) * 1000003",
    "CAST(h % 3 + 1 AS Enum8('c' = 1, 'b' = 2, 'a' = 3))": "toInt64(h % 3) * 1000003",
    "toDate('2020-01-01') + h % 3000": "toInt64(h % 3000) * 1000003",
    "toUInt8(h % 200) AS a DESC": "toInt64(h % 200) * 1000003 DESC",
    "if(h % 11 = 0, NULL, toUInt8(h)) NULLS FIRST": "if(h % 11 = 0, NULL, toInt64(toUInt8(h)) * 1000003) NULLS FIRST",
    "if(h % 11 = 0, NULL, toUInt8(h)) DESC": "if(h % 11 = 0, NULL, toInt64(toUInt8(h)) * 1000003) DESC",
    "toLowCardinality(toUInt8(h))": "toInt64(toUInt8(h)) * 1000003",
    "h % 2 = 0, toUInt8(h % 7)": "toInt64(h % 2 = 0) * 1000003, toInt64(h % 7) * 1000003",
    # Most rows have one value.
    "if(number % 1000 = 0, toInt8(h), 5)": "toInt64(if(number % 1000 = 0, toInt8(h), 5)) * 1000003",
}
PROGRAM = """
import json, sys, chalet
with chalet.connect() as db:
    threads, keys = json.load(sys.stdin)
    db.query(f"SET max_threads = {threads}, allow_suspicious_low_cardinality_types = 1")
    db.query("CREATE TABLE t ENGINE = Memory AS SELECT number, cityHash64(number) AS h FROM numbers(500000)")
    asked = "SELECT sum(value) FROM system.events WHERE event = 'CountingSorts'"
    found = []
    for key in keys:
        before = int(str(db.query(asked, "TSV")))
        rows = [
            str(db.query(f"SELECT cityHash64(groupArray(tuple(number, h))), count() FROM (SELECT number, h FROM t ORDER BY {key}{rest})", "TSV"))
            for rest in ("", " LIMIT 300000 OFFSET 777")
        ]
        found.append((rows, int(str(db.query(asked, "TSV"))) - before))
    print(json.dumps(found))
"""


@pytest.mark.parametrize("threads", [1, 4])
def test_the_order_is_that_of_a_sort(threads):
    counted, sorted_ = (answers(PROGRAM, [threads, list(keys)], "") for keys in (KEYS, KEYS.values()))
    for key, (rows, n_counted), (others, n_others) in zip(KEYS, counted, sorted_, strict=True):
        assert rows == others, key
        assert (n_counted > 0, n_others) == (True, 0), key
