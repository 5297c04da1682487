"""The side of an engine in surface.py: runs in a process of its own, has its programs ready and times them when asked.

  surface_engines.py NAME THREADS

A request is one JSON a line on stdin, an answer one JSON a line on stdout: {"rows": ..., "port": ...} sets the sizes,
{"program": ...} times a program. A program makes ready (not timed), runs, and what it gave is told as a few values, by which the
engines are compared.
"""

import datetime
import gc
import os
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from serve import serve

# Seconds in which a short program runs again and again; one that takes longer runs once.
LEAST = 0.3
# A process that was just started takes some runs until it is warm, a long program not more than one.
WARM_UP = 5
KEYS = 1000
SMALL = 1000
FETCHED = 500_000
INSERTED = 50_000
CALLED = 1_000_000


@dataclass
class Program:
    run: Callable[[], Any]
    # What the result says, for the comparison; not timed.
    told: Callable[[Any], Any]
    # Before each run; not timed.
    before: Callable[[], Any] = lambda: None


# --- the data ------------------------------------------------------------------------------------------------------


def columns(rows: int) -> dict[str, Any]:
    """A key of a thousand values, ids like those of users (hashes, each some five times), and a number between 0 and 1."""
    import numpy

    dice = numpy.random.default_rng(7)
    ids = dice.integers(0, 2**62, max(rows // 5, 1))
    return {
        "k": dice.integers(0, KEYS, rows),
        "u": ids[dice.integers(0, len(ids), rows)],
        "v": dice.random(rows),
    }


def small_columns() -> dict[str, Any]:
    import numpy

    dice = numpy.random.default_rng(8)
    cities = numpy.array(["Aalen", "Bern", "Chur", "Dover", "Essen", "Faro", "Genoa", "Hull", "Inverness", "Jena"], dtype=object)
    return {"city": cities[dice.integers(0, 10, SMALL)], "n": dice.integers(0, 100, SMALL), "v": dice.random(SMALL)}


def inserted_rows() -> list[tuple[Any, ...]]:
    start = datetime.datetime(2026, 1, 1)
    return [
        (n, f"name {n}", n / 8, start + datetime.timedelta(seconds=n), None if n % 10 == 0 else n % 1000)
        for n in range(INSERTED)
    ]


# The same rows in each dialect: UInt64, String, Float64, DateTime, Nullable(Int32), Date.
FETCHED_CLICKHOUSE = (
    "SELECT number AS id, concat('name ', toString(number)) AS name, number / 8 AS v, "
    "toDateTime('2026-01-01 00:00:00', 'UTC') + number AS t, "
    "if(number % 10 = 0, NULL, toNullable(toInt32(number % 1000))) AS n, "
    "toDate('2020-01-01') + toUInt16(number % 3000) AS d "
    f"FROM system.numbers LIMIT {FETCHED}"
)
FETCHED_DUCKDB = (
    "SELECT number::UBIGINT AS id, 'name ' || number::VARCHAR AS name, number / 8 AS v, "
    "TIMESTAMP '2026-01-01' + to_seconds(number) AS t, "
    "CASE WHEN number % 10 = 0 THEN NULL ELSE (number % 1000)::INTEGER END AS n, "
    "DATE '2020-01-01' + (number % 3000)::INTEGER AS d "
    f"FROM range({FETCHED}) AS s(number)"
)
INSERTED_CLICKHOUSE = "id UInt64, name String, v Float64, t DateTime('UTC'), n Nullable(Int32)"

# --- the queries ---------------------------------------------------------------------------------------------------

GROUP = "SELECT k, sum(v) AS s, avg(v) AS a, count(*) AS n FROM {} GROUP BY k"
FILTER = "SELECT k, u, v FROM {} WHERE v > 0.9"
DISTINCT = "SELECT COUNT(DISTINCT u) AS n FROM {}"
TINY = "SELECT city, sum(n) AS s, avg(v) AS a FROM {} WHERE v > 0.5 GROUP BY city"

# --- the functions -------------------------------------------------------------------------------------------------


def py_twice(x):
    return x * 2 + 1


def py_label(text):
    return "<" + text + ">"


def py_larger(a, b):
    return a if a > b else b


class PySum:
    def __init__(self):
        self.total = 0

    def update(self, value):
        self.total += value

    def merge(self, other):
        self.total += other.total

    def evaluate(self):
        return self.total


class PyBatchSum(PySum):
    def update_batch(self, values):
        self.total += sum(values)


SCALARS: dict[str, tuple[Callable[..., Any], list[str], str, str]] = {
    "call/int": (py_twice, ["Int64"], "Int64", "sum(py_twice(i))"),
    "call/text": (py_label, ["String"], "String", "sum(length(py_label(s)))"),
    "call/two": (py_larger, ["Float64", "Float64"], "Float64", "sum(py_larger(f, 0.5))"),
}
AGGREGATES: dict[str, tuple[type, str]] = {
    "aggregate/rows": (PySum, "SELECT py_sum(i) FROM called"),
    "aggregate/groups": (PySum, "SELECT sum(x) FROM (SELECT py_sum(i) AS x FROM called GROUP BY i % 1000)"),
    "aggregate/batches": (PyBatchSum, "SELECT py_batch_sum(i) FROM called"),
}


# --- what the results say ------------------------------------------------------------------------------------------


def told_frame(frame: Any) -> Any:
    """Rows, and the sum of each column that is a number."""
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    numbers = frame.select_dtypes("number")
    return [len(frame), {name: float(numbers[name].astype("float64").sum()) for name in numbers}]


def told_value(value: Any) -> Any:
    while isinstance(value, (list, tuple)):
        value = value[0]
    return float(value)


def told_rows(rows: Any) -> Any:
    """The number of rows, the sum of the first column, one row, and the NULLs of a column; zones of times are left out."""
    one = next(row for row in rows if row[0] == 1)
    row = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in one]
    return [len(rows), sum(row[0] for row in rows), list(map(str, row)), sum(row[4] is None for row in rows)]


# --- the engines ---------------------------------------------------------------------------------------------------


class Engine:
    """What is common: programs by name, made when they are first asked for."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.rows = 0
        self.port = 0
        self.version = ""
        self.made: dict[str, Program] = {}
        self._frames: dict[str, Any] = {}

    def frame(self, size: str) -> Any:
        if size not in self._frames:
            self._frames[size] = self.new_frame(small_columns() if size == "tiny" else columns(self.rows))
        return self._frames[size]

    def new_frame(self, data: dict[str, Any]) -> Any:
        import pandas

        return pandas.DataFrame(data)

    def program(self, name: str) -> Program:
        if name not in self.made:
            task, _, way = name.partition("/")
            self.made[name] = getattr(self, task)(way)
        return self.made[name]


class SqlEngine(Engine):
    """What is common to those that a statement asks for a frame."""

    def over_frame(self, size: str, sql: str) -> Program:
        raise NotImplementedError

    def tiny(self, way: str) -> Program:
        return self.over_frame("tiny", TINY)

    def group(self, way: str) -> Program:
        return self.over_frame("large", GROUP)

    def filter(self, way: str) -> Program:
        return self.over_frame("large", FILTER)

    def distinct(self, way: str) -> Program:
        return self.over_frame("large", DISTINCT)


class ClickHouseLike(SqlEngine):
    module = ""
    # How a query names the variable `frame`.
    source = ""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.package = __import__(self.module)
        self.version = self.package.__version__
        self.connection = self.package.connect(":memory:")
        self.connection.query(f"SET max_threads = {threads}")

    def over_frame(self, size: str, sql: str) -> Program:
        frame = self.frame(size)
        connection, text = self.connection, sql.format(self.source)

        def run() -> Any:
            # Both find the frame by the name of a variable.
            _ = frame
            return connection.query(text, "DataFrame")

        return Program(run, told_frame)

    def called(self) -> None:
        self.connection.query(
            "CREATE TABLE IF NOT EXISTS called ENGINE = Memory AS SELECT toInt64(number) AS i, toString(number) AS s, "
            f"number / {CALLED} AS f FROM numbers({CALLED})"
        )

    def value(self, sql: str) -> Program:
        return Program(lambda: str(self.connection.query(sql, "TabSeparated").data()), told_value)

    def call(self, way: str) -> Program:
        function, arguments, result, sql = SCALARS["call/" + way]
        self.called()
        self.package.create_function(function.__name__, function, arguments, result)
        return self.value(f"SELECT {sql} FROM called")

    def aggregate(self, way: str) -> Program:
        accumulator, sql = AGGREGATES["aggregate/" + way]
        self.called()
        name = "py_batch_sum" if way == "batches" else "py_sum"
        self.drop_aggregate(name)
        self.create_aggregate(name, accumulator, ["Int64"], "Int64")
        return self.value(sql)

    def fetched(self) -> None:
        self.connection.query(f"CREATE TABLE IF NOT EXISTS fetched ENGINE = Memory AS {FETCHED_CLICKHOUSE}")

    def empty(self) -> None:
        self.connection.query("DROP TABLE IF EXISTS filled")
        self.connection.query(f"CREATE TABLE filled ({INSERTED_CLICKHOUSE}) ENGINE = Memory")

    def filled(self) -> str:
        return self.connection.query("SELECT count(), sum(id), sum(v), count(n) FROM filled", "TabSeparated").data().split()


class Chalet(ClickHouseLike):
    module = "chalet"
    source = "frame"

    def create_aggregate(self, *args: Any) -> None:
        self.package.create_aggregate_function(*args)

    def drop_aggregate(self, name: str) -> None:
        self.package.drop_aggregate_function(name)

    def fetchall(self, way: str) -> Program:
        if way == "dbapi":
            from chalet import dbapi

            cursor = dbapi.connect().cursor()
            cursor.execute(f"CREATE TABLE fetched ENGINE = Memory AS {FETCHED_CLICKHOUSE}")
        else:
            self.fetched()
            cursor = self.connection.cursor()

        def run() -> Any:
            cursor.execute("SELECT * FROM fetched")
            return cursor.fetchall()

        return Program(run, told_rows)

    def executemany(self, way: str) -> Program:
        rows = inserted_rows()
        if way == "dbapi":
            from chalet import dbapi

            cursor = dbapi.connect().cursor()
            ask: Any = cursor
        else:
            cursor = self.connection.cursor()
            ask = self.connection

        def empty() -> None:
            ask.execute("DROP TABLE IF EXISTS filled")
            ask.execute(f"CREATE TABLE filled ({INSERTED_CLICKHOUSE}) ENGINE = Memory")

        def told(_: Any) -> Any:
            ask.execute("SELECT count(), sum(id), sum(v), count(n) FROM filled")
            return list(map(float, ask.fetchone()))

        return Program(lambda: cursor.executemany("INSERT INTO filled VALUES (%s, %s, %s, %s, %s)", rows), told, empty)


class Chdb(ClickHouseLike):
    module = "chdb"
    source = "Python(frame)"

    def create_aggregate(self, *args: Any) -> None:
        # The package's own name for it is not there in 4.4.0.
        from chdb import _chdb

        _chdb.create_aggregate_function(*args)

    def drop_aggregate(self, name: str) -> None:
        from chdb import _chdb

        _chdb.drop_aggregate_function(name)

    def fetchall(self, way: str) -> Program:
        self.fetched()
        cursor = self.connection.cursor()

        def run() -> Any:
            cursor.execute("SELECT * FROM fetched")
            return cursor.fetchall()

        return Program(run, told_rows)

    def executemany(self, way: str) -> Program:
        from chdb import dbapi

        rows = inserted_rows()
        cursor = dbapi.connect().cursor()

        def told(_: Any) -> Any:
            return list(map(float, self.filled()))

        # All `:memory:` databases of its process are one.
        return Program(lambda: cursor.executemany("INSERT INTO filled VALUES (%s, %s, %s, %s, %s)", rows), told, self.empty)


class DuckDB(SqlEngine):
    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect()
        for setting in (f"threads = {threads}", "TimeZone = 'UTC'", "enable_progress_bar = false"):
            self.connection.execute(f"SET {setting}")

    def over_frame(self, size: str, sql: str) -> Program:
        frame = self.frame(size)
        connection, text = self.connection, sql.format("frame")

        def run() -> Any:
            _ = frame
            return connection.execute(text).df()

        return Program(run, told_frame)

    def call(self, way: str) -> Program:
        function, arguments, result, sql = SCALARS["call/" + way]
        theirs = {"Int64": "BIGINT", "String": "VARCHAR", "Float64": "DOUBLE"}
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS called AS SELECT number AS i, number::VARCHAR AS s, "
            f"number / {CALLED} AS f FROM range({CALLED}) AS r(number)"
        )
        self.connection.create_function(function.__name__, function, [theirs[ty] for ty in arguments], theirs[result])
        return Program(lambda: self.connection.execute(f"SELECT {sql} FROM called").fetchall(), told_value)

    def fetchall(self, way: str) -> Program:
        self.connection.execute(f"CREATE TABLE fetched AS {FETCHED_DUCKDB}")
        return Program(lambda: self.connection.execute("SELECT * FROM fetched").fetchall(), told_rows)

    def executemany(self, way: str) -> Program:
        rows = inserted_rows()

        def empty() -> None:
            self.connection.execute("CREATE OR REPLACE TABLE filled (id UBIGINT, name VARCHAR, v DOUBLE, t TIMESTAMP, n INTEGER)")

        def told(_: Any) -> Any:
            row = self.connection.execute("SELECT count(*), sum(id), sum(v), count(n) FROM filled").fetchone()
            return list(map(float, row))

        return Program(lambda: self.connection.executemany("INSERT INTO filled VALUES (?, ?, ?, ?, ?)", rows), told, empty)


class Polars(Engine):
    """Its own frames; `pandas` makes one of pandas of the result, `same` also begins with the one of pandas that the others get,
    `streaming` is its other way to run a query."""

    def __init__(self, threads: int) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        super().__init__(threads)
        import polars

        self.polars = polars
        self.version = polars.__version__

    def new_frame(self, data: dict[str, Any]) -> Any:
        return self.polars.DataFrame({name: list(v) if v.dtype == object else v for name, v in data.items()})

    def over_frame(self, size: str, way: str, query: Callable[[Any], Any]) -> Program:
        if way == "same":
            import pandas

            frame = pandas.DataFrame(columns(self.rows))
            return Program(lambda: query(self.polars.from_pandas(frame).lazy()).collect().to_pandas(), told_frame)
        lazy = query(self.frame(size).lazy())
        engine = "streaming" if way == "streaming" else "auto"
        if way == "pandas":
            return Program(lambda: lazy.collect().to_pandas(), told_frame)
        return Program(lambda: lazy.collect(engine=engine), told_frame)

    def tiny(self, way: str) -> Program:
        c = self.polars.col
        chosen = [c("n").sum().alias("s"), c("v").mean().alias("a")]
        return self.over_frame("tiny", way, lambda f: f.filter(c("v") > 0.5).group_by("city").agg(chosen))

    def group(self, way: str) -> Program:
        c, length = self.polars.col, self.polars.len()
        chosen = [c("v").sum().alias("s"), c("v").mean().alias("a"), length.alias("n")]
        return self.over_frame("large", way, lambda f: f.group_by("k").agg(chosen))

    def filter(self, way: str) -> Program:
        return self.over_frame("large", way, lambda f: f.filter(self.polars.col("v") > 0.9))

    def distinct(self, way: str) -> Program:
        return self.over_frame("large", way, lambda f: f.select(self.polars.col("u").n_unique().alias("n")))


class Pandas(Engine):
    """What the frame itself does, for the small one: there is nothing to hand over."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        import pandas

        self.version = pandas.__version__

    def tiny(self, way: str) -> Program:
        frame = self.frame("tiny")

        def run() -> Any:
            return frame[frame["v"] > 0.5].groupby("city", as_index=False).agg(s=("n", "sum"), a=("v", "mean"))

        return Program(run, told_frame)


class SQLite(Engine):
    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.version = sqlite3.sqlite_version
        self.connection = sqlite3.connect(":memory:")

    def executemany(self, way: str) -> Program:
        # Its adapter for datetime is deprecated; texts are what it keeps anyway.
        rows = [(*row[:3], row[3].isoformat(" "), row[4]) for row in inserted_rows()]

        def empty() -> None:
            self.connection.execute("DROP TABLE IF EXISTS filled")
            self.connection.execute("CREATE TABLE filled (id INTEGER, name TEXT, v REAL, t TEXT, n INTEGER)")

        def told(_: Any) -> Any:
            return list(map(float, self.connection.execute("SELECT count(*), sum(id), sum(v), count(n) FROM filled").fetchone()))

        return Program(lambda: self.connection.executemany("INSERT INTO filled VALUES (?, ?, ?, ?, ?)", rows), told, empty)


class ClickHouseDriver(Engine):
    """The client of a server, which runs beside it."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        import clickhouse_driver

        self.package = clickhouse_driver
        self.version = clickhouse_driver.__version__

    def client(self) -> Any:
        if "client" not in self._frames:
            self._frames["client"] = self.package.Client("127.0.0.1", self.port, settings={"max_threads": self.threads})
        return self._frames["client"]

    def fetchall(self, way: str) -> Program:
        client = self.client()
        client.execute("DROP TABLE IF EXISTS fetched")
        client.execute(f"CREATE TABLE fetched ENGINE = Memory AS {FETCHED_CLICKHOUSE}")
        return Program(lambda: client.execute("SELECT * FROM fetched"), told_rows)

    def executemany(self, way: str) -> Program:
        client, rows = self.client(), inserted_rows()

        def empty() -> None:
            client.execute("DROP TABLE IF EXISTS filled")
            client.execute(f"CREATE TABLE filled ({INSERTED_CLICKHOUSE}) ENGINE = Memory")

        def told(_: Any) -> Any:
            return list(map(float, client.execute("SELECT count(), sum(id), sum(v), count(n) FROM filled")[0]))

        return Program(lambda: client.execute("INSERT INTO filled VALUES", rows), told, empty)


ENGINES: dict[str, Any] = {
    "chalet": Chalet,
    "chdb": Chdb,
    "duckdb": DuckDB,
    "polars": Polars,
    "clickhouse-driver": ClickHouseDriver,
    "pandas": Pandas,
    "sqlite3": SQLite,
}


# --- requests ------------------------------------------------------------------------------------------------------


def timed(program: Program) -> tuple[float, Any]:
    program.before()
    start = time.perf_counter()
    result = program.run()
    return time.perf_counter() - start, result


def answer(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    if "rows" in request:
        engine.rows, engine.port = request["rows"], request["port"]
        return {}
    name = request["program"]
    try:
        is_new = name not in engine.made
        program = engine.program(name)
        # What others left is not this program's to clean up; the collector itself stays on, as users have it.
        gc.collect()
        seconds, result = timed(program)
        reply = {"told": program.told(result)}
        del result
        if seconds > LEAST:
            # The first run of a long program warms up, unless it is too long to be done twice.
            again = is_new and seconds < request["slow"]
            if again:
                gc.collect()
                seconds = timed(program)[0]
            return {**reply, "seconds": seconds, "runs": 1}
        for _ in range(WARM_UP if is_new else 0):
            timed(program)
        times: list[float] = []
        end = time.perf_counter() + LEAST
        while time.perf_counter() < end:
            times.append(timed(program)[0])
        return {**reply, "seconds": statistics.median(times), "runs": len(times)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A panic of a Rust extension is no Exception.
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    serve(ENGINES, answer)
