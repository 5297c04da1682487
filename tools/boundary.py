"""Passes every kind of input and result across the boundary between Python and the engine, as many rounds as its argument says.

`boundary_check.py` runs it where freeing memory of another allocator, and keeping what nobody has any more, are seen. It needs
the packages of the Python tests. Prints what it has passed, and the bytes that malloc has given out at the end.
"""

import asyncio
import ctypes
import gc
import os
import sys
import tempfile
import threading
import warnings

import numpy
import pandas
import polars
import pyarrow

import chalet
import chalet.adbc
import chalet.aio
import chalet.clickhouse_connect
import chalet.dataframe
import chalet.dbapi
import chalet.session
SELECT = """
    SELECT number AS n, toString(number) AS s, repeat('long text ', 10) || s AS l, [n, n] AS a, map(s, n) AS m, (n, s) AS t,
           if(n % 3 = 0, NULL, n) AS o, toDecimal128(n, 3) AS d, now() AS z, toDate(n) AS y, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u,
           toLowCardinality(s) AS c, n / 7 AS f, toInt256(n) AS w, toIPv4('1.2.3.4') AS i, unhex('00ff') AS b
    FROM numbers(1000)
"""
FORMATS = ("CSV", "TSV", "JSON", "JSONEachRow", "Native", "RowBinary", "Arrow", "ArrowStream", "Parquet", "Pretty", "Values")


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
    for name in FORMATS:
        passed.append(len(db.query(SELECT, name).bytes()))
    for name in ("DataFrame", "ArrowTable", "Dict", "Objects"):
        try:
            passed.append(db.query("SELECT number, toString(number) AS s FROM numbers(1000)", name) is not None)
        except chalet.Error as error:
            passed.append(error.code)
    # The buffers that others read: of a result, and by the Arrow interfaces of C.
    view = db.query("SELECT repeat('x', 1000000)", "TSV").get_memview()
    kept = numpy.frombuffer(memoryview(view), dtype=numpy.uint8)
    del view
    gc.collect()
    passed.append(int(kept[:10].sum()))
    passed.append(pyarrow.RecordBatchReader.from_stream(db.query(SELECT)).read_all().num_rows)
    passed.append(polars.DataFrame(db.sql("SELECT number AS n FROM numbers(1000)")).height)
    # Streams that nobody reads to the end, and capsules that nobody opens.
    reader = db.query(SELECT).arrow_reader()
    passed.append(reader.read_next_batch().num_rows)
    unread = [db.query(SELECT).__arrow_c_stream__(), db.send_query(SELECT), db.query(SELECT).arrow_reader()]
    passed.append(len(unread))
    with db.send_query("SELECT number, toString(number) AS s FROM numbers(200000)", "Arrow") as stream:
        passed.append(sum(batch.num_rows for batch in stream.record_batch(rows_per_batch=70_000)))
    relation = db.sql("SELECT number AS n, number % 3 AS k, toString(number) AS s FROM numbers(1000)").filter("n > 10")
    passed += [len(relation.df()), relation.arrow().num_rows, relation.pl().height, len(relation.fetchmany(7)), len(relation.data())]
    passed.append(len(relation.aggregate("k, count()", "k").to_dicts()))
    return passed


def fails_later(table):
    yield table.to_batches()[0]
    raise ValueError("no more")


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
    class Reader(chalet.PyReader):
        """Rows by columns, as chDB asks for them."""

        def __init__(self, data):
            super().__init__(data)
            self.at = 0

        def read(self, names, count):
            start, self.at = self.at, min(self.at + count, 1000)
            return [self.data[name][start : self.at] for name in names]

    sources["rows"] = [{"a": n, "s": f"row {n}"} for n in range(1000)]
    sources["PyReader"] = Reader({"a": list(range(1000)), "s": texts})
    sources["arrow strings"] = pandas.DataFrame({"a": numbers, "s": pandas.Series(texts, dtype="string[pyarrow]")})
    sources["strided"] = {"a": numpy.arange(2000)[::2], "s": texts}
    sources["batches"] = pyarrow.Table.from_batches(table.to_batches(100))
    sources["dictionary"] = pyarrow.table({"a": numbers, "s": pyarrow.array(texts).dictionary_encode()})
    sources["lazy"] = polars.LazyFrame({"a": numbers, "s": texts})
    sources["result"] = db.query("SELECT number::Int64 AS a, toString(number) AS s FROM numbers(1000)").arrow()
    passed = []
    for name, source in sources.items():
        passed.append((name, db.query("SELECT sum(a), max(s) FROM source", "CSV", tables={"source": source}).data()))
    db.query("CREATE TABLE IF NOT EXISTS kept (a Int64, s String) ENGINE = Memory")
    frame = sources["pandas"]
    db.query("INSERT INTO kept SELECT a, s FROM source", tables={"source": frame})
    del frame, sources
    gc.collect()
    db.register("registered", table)
    passed.append(db.query("SELECT count() FROM registered", "CSV").data())
    db.unregister("registered")
    with db.send_insert("INSERT INTO kept", "CSV") as insert:
        for data in ("1,a\n", b"2,b\n", bytearray(b"3,c\n"), memoryview(b"4,d\n")):
            insert.append(data)
    given_up = db.send_insert("INSERT INTO kept", "CSV")
    given_up.append("5,e\n")
    given_up.cancel()
    db.insert_rows("INSERT INTO kept VALUES", [(n, f"row {n}") for n in range(100)])
    # A reader that fails in the middle, and rows that are none.
    failing = [{"a": 1, "s": "x"}, {"a": "no number", "s": object()}]
    for bad in (failing, pyarrow.RecordBatchReader.from_batches(table.schema, fails_later(table))):
        try:
            db.query("SELECT sum(a), max(s) FROM bad", tables={"bad": bad})
        except chalet.Error as error:
            passed.append(error.code)
    db.cursor().executemany("INSERT INTO kept VALUES (?, ?)", [(n, f"row {n}") for n in range(100)])
    passed.append(db.query("SELECT count(), max(s) FROM kept", "CSV").data())
    with tempfile.TemporaryDirectory() as folder:
        for end in ("parquet", "arrow", "jsonl.gz", "json", "jsonl.zst", "native"):
            file = os.path.join(folder, f"kept.{end}")
            db.query(f"INSERT INTO FUNCTION file('{file}') SELECT a, s FROM kept")
            passed.append(db.query(f"SELECT count(), max(s) FROM file('{file}')", "CSV").data())
    passed.append(db.query("SELECT {a:Array(String)}, {n:Nullable(Int64)}", "CSV", params={"a": texts[:5], "n": None}).data())
    return passed


def functions(db):
    chalet.create_function("doubled", lambda x: x * 2, ["Int64"], "Int64")
    chalet.create_function("shouted", lambda s: s.upper(), ["String"], "String")

    def fails(x):
        raise ValueError("not this one")

    chalet.create_function("fails", fails, ["Int64"], "Int64")
    class Total:
        def __init__(self):
            self.total = 0

        def update(self, x):
            if x == 77:
                raise ValueError("not this one")
            self.total += x

        def merge(self, other):
            self.total += other.total

        def evaluate(self):
            return self.total

    chalet.create_aggregate_function("total_of", Total, ["Int64"], "Int64")
    chalet.create_function("joined", lambda a: [*a, "end"], ["Array(String)"], "Array(String)")
    passed = [db.query("SELECT max(joined([toString(number)])), total_of(number % 70) FROM numbers(1000)", "CSV").data()]
    passed.append(len(db.query("SELECT number % 10 AS k, total_of(number % 70) FROM numbers(1000) GROUP BY k").fetchall()))
    passed += [db.query("SELECT sum(doubled(number::Int64)), max(shouted(toString(number))) FROM numbers(1000)", "CSV").data()]
    for statement in ("SELECT fails(1::Int64)", "SELECT total_of(77::Int64)", "SELECT 1 +", "SELECT throwIf(number = 5) FROM numbers(10)", "SELECT * FROM nothing"):
        try:
            db.query(statement)
        except (chalet.Error, ValueError) as error:
            passed.append(type(error).__name__)
    try:
        db.query("SELECT length(range(100000000))", settings={"max_memory_usage": 1 << 20})
    except chalet.Error as error:
        passed.append(error.code)
    # A callback that fails, a statement that is interrupted, one that takes too long.
    told = []
    db.set_progress_callback(told.append)
    passed.append(db.query("SELECT sum(sipHash64(number)) FROM numbers(3000000)").fetchone() is not None)
    db.set_progress_callback(None)
    passed.append(len(told) >= 0)
    timer = threading.Timer(0.05, db.interrupt)
    timer.start()
    for options in ({}, {"timeout": 0.05}):
        try:
            db.query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", **options)
        except (chalet.Error, KeyboardInterrupt) as error:
            passed.append(type(error).__name__)
    timer.join()
    for name in ("doubled", "shouted", "fails", "total_of", "joined"):
        chalet.drop_function(name)
    return passed


def interfaces(_):
    """The other ways in: DB-API, sessions, DataFrames, clickhouse-connect, ADBC; and several threads on one database."""
    passed = []
    with chalet.dbapi.connect() as cursor:
        cursor.execute("SELECT number, %s FROM numbers(100)", ("it's",))
        passed += [len(cursor.fetchall()), len(cursor.description)]
    session = chalet.session.Session()
    passed += [len(session.query("SELECT 1", "Pretty").data()), session.close()]
    frame = pandas.DataFrame({"a": range(100)})
    passed.append(str(chalet.dataframe.query("SELECT sum(a) FROM __frame__", frame=frame)))
    client = chalet.clickhouse_connect.get_client()
    client.command("CREATE TABLE t (a UInt64, s String) ENGINE = Memory")
    client.insert("t", [[n, str(n)] for n in range(100)])
    client.insert_df("t", pandas.DataFrame({"a": numpy.arange(100, dtype="uint64"), "s": [str(n) for n in range(100)]}))
    passed += [len(client.query("SELECT * FROM t").result_rows), len(client.query_df("SELECT * FROM t"))]
    passed += [client.query_arrow("SELECT * FROM t").num_rows, client.close()]
    with chalet.adbc.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT number AS n, toString(number) AS s FROM numbers(1000)")
        passed.append(cursor.fetch_arrow_table().num_rows)
        cursor.execute("SELECT ? + 1, ?", (41, "it's"))
        passed.append(cursor.fetchone())
        cursor.adbc_ingest("ingested", pyarrow.table({"a": [1, 2, 3], "s": ["x", None, "z"]}), mode="create")
        try:
            cursor.execute("SELECT no_such_column")
        except Exception as error:
            passed.append(type(error).__name__)
    with chalet.connect() as shared:
        shared.query("CREATE TABLE t ENGINE = Memory AS SELECT number AS x, toString(number) AS s FROM numbers(10000)")
        threads = [threading.Thread(target=lambda: passed.append(len(shared.query("SELECT * FROM t").df()))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return passed


async def later():
    async with await chalet.aio.connect() as connection:
        return len((await connection.query("SELECT number FROM numbers(1000)", "CSV")).data())


def in_use():
    """Bytes that malloc has given out."""
    # arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost
    fields = ctypes.c_size_t * 10
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = type("mallinfo2", (ctypes.Structure,), {"_fields_": [("of", fields)]})
    info = mallinfo2().of
    return info[4] + info[7]


def main(rounds):
    warnings.simplefilter("ignore")
    for number in range(rounds):
        with chalet.connect() as db:
            for work in (results, inputs, functions, interfaces):
                print(number, work.__name__, len(work(db)), "passed", flush=True)
        print(number, "later", asyncio.run(later()), flush=True)
        gc.collect()
    print("malloc", in_use(), flush=True)
    # Left open on purpose: the interpreter ends over them.
    left = chalet.connect()
    globals()["left"] = (left, left.query(SELECT), left.query(SELECT).df(), left.send_query("SELECT number FROM numbers(1000000)"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
