"""Random joins, ours beside the real kernel's: kinds, strictness, NULLs, types, sizes, little memory.

    random_joins.py [--joins 2000] [--seed 1]

Runs in an environment that has both chalet and chdb. Every table is made by the same expressions over numbers() in both, each
answer is reduced to what does not depend on the order of rows. Prints the statements whose answers differ; exit status 1 if any.
"""

import argparse
import random
import sys

import chalet
from chdb import session

KEYS = {
    "UInt8": "toUInt8({})",
    "Int32": "toInt32({}) - 3",
    "UInt64": "toUInt64({}) * 1000000007",
    "Int64": "toInt64({}) - 40",
    "String": "concat('key ', toString({}))",
    "LowCardinality(String)": "toLowCardinality(toString({}))",
    "Nullable(Int32)": "if({0} % 5 = 0, NULL, toInt32({0}))",
    "Nullable(String)": "if({0} % 7 = 0, NULL, toString({0}))",
    "Date": "toDate('2020-01-01') + {}",
    "Decimal(18, 2)": "toDecimal64({}, 2)",
    "Float64": "toFloat64({}) / 4",
    "UUID": "reinterpretAsUUID(toUInt128({}))",
}
SIZES = [0, 1, 2, 10, 100, 1000, 1000, 5000, 30000, 100000]
# Which of several partners ANY gives is not said: their columns must not be asked for.
KINDS = [
    ("INNER JOIN", True), ("LEFT JOIN", True), ("RIGHT JOIN", True), ("FULL JOIN", True),
    ("LEFT ANY JOIN", False), ("RIGHT ANY JOIN", False), ("ANY INNER JOIN", False),
    ("LEFT SEMI JOIN", False), ("RIGHT SEMI JOIN", False), ("LEFT ANTI JOIN", False), ("RIGHT ANTI JOIN", False),
    ("ASOF JOIN", True), ("ASOF LEFT JOIN", True),
]


def spread(rng, size):
    """An expression over `number` whose values repeat more or less often."""
    distinct = max(1, int(size * rng.choice([0.001, 0.05, 0.5, 1, 3])))
    step = rng.choice([1, 3, 7919])
    skewed = "intDiv(number * number, {})".format(max(1, size))
    return rng.choice([f"(number * {step}) % {distinct}", f"number % {distinct}", f"{skewed} % {distinct}"])


def statement(rng):
    """The statements that make two tables, and the join."""
    kind, columns = rng.choice(KINDS)
    sizes = [rng.choice(SIZES), rng.choice(SIZES)]
    n_keys = rng.choice([1, 1, 1, 2, 3])
    types = [rng.choice(list(KEYS)) for _ in range(n_keys)]
    made = []
    for table, size in zip("lr", sizes):
        keys = ", ".join(f"{KEYS[ty].format('(' + spread(rng, size) + ')')} AS k{i}" for i, ty in enumerate(types))
        made.append(
            f"CREATE TABLE {table} ENGINE = Memory AS SELECT {keys}, number AS v, number % 11 AS w, "
            f"toNullable(toString(number % 13)) AS s FROM numbers({size})"
        )
    # What many rows have in common would make too many pairs.
    on = " AND ".join(f"l.k{i} = r.k{i}" for i in range(n_keys))
    if kind.startswith("ASOF"):
        # Equal values on the right would leave open which of them is nearest.
        on += f" AND l.w {rng.choice(['>=', '>', '<=', '<'])} r.v"
    elif kind in ("INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN") and rng.random() < 0.3:
        width = rng.choice([1, 2, 5])
        on += rng.choice(
            [
                f" AND l.w {rng.choice(['<', '<>', '>='])} r.w",
                f" AND l.v >= r.v AND l.v < r.v + {width}",
                f" AND r.w <= l.w AND r.w + {width} > l.w",
                f" AND l.s > r.s AND l.w <= r.w",
            ]
        )
    # Of outer joins some of these take out the rows without a partner.
    where = rng.choice(
        ["", "", "", " WHERE l.v % 2 = 0", " WHERE r.v > 10", " WHERE l.w > 3 AND r.w < 9", " WHERE l.w > r.w", " WHERE r.s != '3'"]
        + [" WHERE r.s IS NULL", " WHERE coalesce(l.v, 1) + coalesce(r.v, 1) > 3", " WHERE l.s < 'a' AND r.w >= 0"]
    )
    if columns:
        asked = "count(), sum(l.v), sum(r.v), sum(cityHash64(l.s, r.s)), countIf(r.s IS NULL), max(l.k0), min(r.k0)"
    elif kind.startswith("RIGHT"):
        asked, where = "count(), sum(r.v), max(r.k0)", rng.choice(["", " WHERE r.v % 2 = 0"])
    elif kind == "ANY INNER JOIN":
        asked, where = "count()", ""
    else:
        asked, where = "count(), sum(l.v), max(l.k0)", rng.choice(["", " WHERE l.v % 2 = 0"])
    settings = [f"join_use_nulls = {rng.choice([0, 1])}"]
    little = rng.random() < 0.2
    return made, f"SELECT {asked} FROM l {kind} r ON {on}{where}", ", ".join(settings), little


def too_many_pairs(ours, on):
    """Would the join of all pairs take too long in either?"""
    return ours.query(on).fetchone()[0] > 20_000_000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--joins", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    ours, kernel = chalet.connect(":memory:"), session.Session()
    differ = done = 0
    while done < args.joins:
        made, join, settings, little = statement(rng)
        for table, create in zip("lr", made):
            for run in (ours.query, kernel.query):
                run(f"DROP TABLE IF EXISTS {table}")
                run(create)
        pairs = (
            "SELECT sum(a.c * b.c) FROM (SELECT k0, count() AS c FROM l GROUP BY k0) AS a "
            "JOIN (SELECT k0, count() AS c FROM r GROUP BY k0) AS b ON a.k0 = b.k0"
        )
        if too_many_pairs(ours, pairs):
            continue
        done += 1
        limits = ", max_bytes_before_external_join = 1000" if little else ""
        limits += rng.choice(["", ", parallel_hash_join_threshold = 0"])
        answers = []
        for run, more in ((lambda sql: str(ours.query(sql, "TabSeparated")), limits), (lambda sql: str(kernel.query(sql, "TabSeparated")), "")):
            try:
                answers.append(run(f"{join} SETTINGS {settings}{more}"))
            except Exception as error:  # The message says which of both it is from.
                answers.append(f"{type(error).__name__}: {str(error)[:200]}")
        if answers[0] != answers[1] and not all(":" in answer and "Code" in answer for answer in answers):
            differ += 1
            print(*made, f"{join} SETTINGS {settings}{limits}", f"ours:   {answers[0]!r}", f"kernel: {answers[1]!r}", "", sep="\n", flush=True)
    print(f"{done} joins, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
