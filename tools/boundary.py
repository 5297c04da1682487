"""Passes every kind of input and result across the boundary between Python and the engine, again and again.

`make valgrind` runs it under valgrind: memory that one allocator made and another one frees is an invalid free there. It needs
the packages of the Python tests. Prints what it has passed.
"""

import asyncio
import gc
import sys

import numpy
import pandas
import polars
import pyarrow

import chalet

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
SELECT = """
    SELECT number AS n, toString(number) AS s, repeat('long text ', 10) || s AS l, [n, n] AS a, map(s, n) AS m, (n, s) AS t,
           if(n % 3 = 0, NULL, n) AS o, toDecimal128(n, 3) AS d, now() AS z, toDate(n) AS y, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u,
           toLowCardinality(s) AS c, n / 7 AS f, toInt256(n) AS w, toIPv4('1.2.3.4') AS i, unhex('00ff') AS b
    FROM numbers(1000)
"""


def results(db):
    result = db.query(SELECT, "CSV")
    view = memoryview(result.get_memview())
    passed = [len(result.bytes()), len(result.data()), len(view), str(result)[:0]]
    del result
    gc.collect()
    passed.append(bytes(view[:3]))
    rows = db.query(SELECT)
    passed += [len(rows.fetchall()), len(db.query(SELECT).to_dicts()), len(db.query(SELECT).fetchmany(10))]
    passed += [len(rows.df()), rows.arrow().num_rows, rows.pl().height, len(rows.numpy()), len(rows.to_format("JSON"))]
    # What is kept outlives its result and its connection.
    with chalet.connect() as other:
        kept = [other.query(SELECT).df(), other.query(SELECT).arrow(), other.query(SELECT).pl()]
    gc.collect()
    passed += [len(kept[0]["l"].sum()), kept[1].column("l").nbytes > 0, kept[2]["l"].len()]
    passed += [reader.read_all().num_rows for reader in [db.query(SELECT).arrow_reader()]]
    cursor = db.cursor().execute(SELECT)
    passed += [len(cursor.fetchone()), len(cursor.fetchall())]
    with db.send_query("SELECT number, toString(number) FROM numbers(200000)") as stream:
        passed.append(sum(len(chunk.data()) for chunk in stream))
    with db.send_query("SELECT number FROM numbers(1000000)") as stream:
        passed.append(len(next(iter(stream)).data()) > 0)
    return passed


def inputs(db):
    numbers = numpy.arange(1000)
    texts = [f"text of some length {n}" for n in range(1000)]
    table = pyarrow.table({"a": numbers, "s": texts, "l": [[n] for n in range(1000)]})
    sources = {
        "dict": {"a": list(range(1000)), "s": texts},
        "numpy": {"a": numbers, "s": numpy.array(texts, dtype=object)},
        "pandas": pandas.DataFrame({"a": numbers, "s": texts, "o": [None, 1.5] * 500}),
        "categories": pandas.DataFrame({"a": numbers, "s": pandas.Categorical(texts)}),
        "arrow": table,
        "reader": table.to_reader(),
        "polars": polars.DataFrame({"a": numbers, "s": texts, "l": [[n] for n in range(1000)]}),
    }
    passed = []
    for name, source in sources.items():
        passed.append((name, db.query("SELECT sum(a), max(s) FROM source", "CSV", tables={"source": source}).data()))
    db.query("CREATE TABLE IF NOT EXISTS kept (a Int64, s String) ENGINE = Memory")
    frame = sources["pandas"]
    db.query("INSERT INTO kept SELECT a, s FROM source", tables={"source": frame})
    del frame, sources
    gc.collect()
    db.cursor().executemany("INSERT INTO kept VALUES (?, ?)", [(n, f"row {n}") for n in range(100)])
    passed.append(db.query("SELECT count(), max(s) FROM kept", "CSV").data())
    passed.append(db.query("SELECT {a:Array(String)}, {n:Nullable(Int64)}", "CSV", params={"a": texts[:5], "n": None}).data())
    return passed


def functions(db):
    chalet.create_function("doubled", lambda x: x * 2, ["Int64"], "Int64")
    chalet.create_function("shouted", lambda s: s.upper(), ["String"], "String")

    def fails(x):
        raise ValueError("not this one")

    chalet.create_function("fails", fails, ["Int64"], "Int64")
    passed = [db.query("SELECT sum(doubled(number::Int64)), max(shouted(toString(number))) FROM numbers(1000)", "CSV").data()]
    for statement in ("SELECT fails(1::Int64)", "SELECT 1 +", "SELECT throwIf(number = 5) FROM numbers(10)", "SELECT * FROM nothing"):
        try:
            db.query(statement)
        except (chalet.Error, ValueError) as error:
            passed.append(type(error).__name__)
    try:
        db.query("SELECT length(range(100000000))", settings={"max_memory_usage": 1 << 20})
    except chalet.Error as error:
        passed.append(error.code)
    return passed


async def later():
    async with await chalet.aio.connect() as connection:
        return len((await connection.query("SELECT number FROM numbers(1000)", "CSV")).data())


def main():
    for number in range(ROUNDS):
        with chalet.connect() as db:
            for passed in (results(db), inputs(db), functions(db), [asyncio.run(later())]):
                print(number, len(passed), "passed", flush=True)
        gc.collect()
    # Left open on purpose: the interpreter ends over them.
    left = chalet.connect()
    globals()["left"] = (left, left.query(SELECT), left.query(SELECT).df(), left.send_query("SELECT number FROM numbers(1000000)"))


if __name__ == "__main__":
    import chalet.aio

    main()
