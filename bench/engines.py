"""The side of an engine: runs in a process of its own, sets one engine up over the files and answers requests.

  engines.py NAME THREADS

A request is one JSON a line on stdin, an answer one JSON a line on stdout: {"folder": ...} makes the table `hits` over the
Parquet files there, {"sql": ...} runs a statement; both are timed. With it "rows": true gives the rows as text, and
"absent": [rows] says which of these rows the answer does not have.
Where the environment names a folder as CHALET_BENCH_TABLES, an engine that keeps tables of its own copies the files into one there
and reads that; the first to do so is a load.
A statement is timed until its whole result is in memory in the form that the engine itself gives.
"""

import os
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from answers import canonical
from serve import serve

Row = tuple[str, ...]
EPOCH = datetime(1970, 1, 1)
NULL = "\\N"
SORTING_KEY = "CounterID, EventDate, UserID, EventTime, WatchID"


def own_tables(engine: str) -> Path | None:
    """Where the tables of an engine are, when it does not read the files themselves."""
    folder = os.environ.get("CHALET_BENCH_TABLES")
    return Path(folder) / engine if folder else None


def stored_as_numbers(kinds: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Published files keep times as seconds and dates as days since 1970, in plain integers: (column, "time" or "date")."""
    for name, kind in kinds:
        if "int" in kind.lower() and name.endswith(("Time", "Date")):
            yield name, name[-4:].lower()


def replaced(kinds: Iterable[tuple[str, str]], time: str, date: str) -> str:
    """The columns of a view: all as they are in the file, but times and dates where these are kept as numbers."""
    casts = {"time": time, "date": date}
    quoted = ((f'"{name}"', kind) for name, kind in stored_as_numbers(kinds))
    found = [f"{casts[kind].format(name)} AS {name}" for name, kind in quoted]
    return f"* REPLACE ({', '.join(found)})" if found else "*"


class ClickHouseLike:
    """chalet and the kernel: one dialect, one interface, results as TabSeparated text."""

    module = ""

    def __init__(self, threads: int) -> None:
        module = __import__(self.module)
        self.version = module.__version__
        self.threads = threads
        self.connection = module.connect(":memory:")
        self.connection.query(f"SET max_threads = {threads}")

    def attach(self, folder: Path) -> None:
        files = f"file('{folder}/*.parquet')"
        described = self.rows(self.run(f"DESCRIBE TABLE {files}"))
        columns = replaced(((r[0], r[1]) for r in described), "toDateTime({}, 'UTC')", "toDate({})")
        tables = own_tables(self.module)
        if not tables:
            self.connection.query(f"CREATE VIEW hits AS SELECT {columns} FROM {files}")
            return
        self.connection.close()
        self.connection = __import__(self.module).connect(str(tables))
        self.connection.query(f"SET max_threads = {self.threads}")
        if not list(self.rows(self.run("SHOW TABLES LIKE 'hits'"))):
            kind = f"ENGINE = MergeTree ORDER BY ({SORTING_KEY})"
            self.connection.query(f"CREATE TABLE hits {kind} AS SELECT {columns} FROM {files} LIMIT 0")
            self.connection.query(f"INSERT INTO hits SELECT {columns} FROM {files}")

    def run(self, sql: str) -> bytes:
        return bytes(self.connection.query(sql, "TabSeparated").bytes())

    def rows(self, result: bytes) -> Iterator[Row]:
        for line in result.decode(errors="replace").split("\n")[:-1]:
            yield tuple(map(unescaped, line.split("\t")))


class Chalet(ClickHouseLike):
    module = "chalet"


class Chdb(ClickHouseLike):
    module = "chdb"


class DuckDB:
    def __init__(self, threads: int) -> None:
        import duckdb

        self.version = duckdb.__version__
        tables = own_tables("duckdb")
        if tables:
            tables.parent.mkdir(parents=True, exist_ok=True)
        self.connection = duckdb.connect(str(tables) if tables else ":memory:")
        # Keeps the footers of the files between queries, which it does only when asked to.
        for setting in (f"threads = {threads}", "TimeZone = 'UTC'", "parquet_metadata_cache = true", "enable_progress_bar = false"):
            self.connection.execute(f"SET {setting}")
        # Loads pyarrow, which the first query would pay for otherwise.
        self.connection.execute("SELECT 1").to_arrow_table()

    def attach(self, folder: Path) -> None:
        files = f"read_parquet('{folder}/*.parquet', binary_as_string = true)"
        described = self.connection.execute(f"DESCRIBE SELECT * FROM {files}").fetchall()
        kinds = ((r[0], r[1]) for r in described if r[1] != "INTERVAL")
        columns = replaced(kinds, "make_timestamp({}::BIGINT * 1000000)", "(DATE '1970-01-01' + {}::INTEGER)")
        kind = "TABLE IF NOT EXISTS" if own_tables("duckdb") else "VIEW"
        self.connection.execute(f"CREATE {kind} hits AS SELECT {columns} FROM {files}")
        if own_tables("duckdb"):
            self.connection.execute("CHECKPOINT")

    def run(self, sql: str) -> Any:
        return self.connection.execute(sql).to_arrow_table()

    def rows(self, result: Any) -> Iterator[Row]:
        return arrow_rows(result.to_batches())


class DataFusion:
    def __init__(self, threads: int) -> None:
        import datafusion

        self.version = datafusion.__version__
        settings = {
            "datafusion.execution.parquet.binary_as_string": "true",
            # Otherwise names without quotes are made lower case, and the columns are not.
            "datafusion.sql_parser.enable_ident_normalization": "false",
        }
        config = datafusion.SessionConfig(settings).with_target_partitions(threads)
        self.context = datafusion.SessionContext(config)

    def attach(self, folder: Path) -> None:
        self.context.register_parquet("files", str(folder))
        kinds = [(field.name, str(field.type)) for field in self.context.table("files").schema()]
        columns = replaced(kinds, "to_timestamp_seconds({})", "CAST(CAST({} AS INTEGER) AS DATE)")
        self.context.sql(f"CREATE VIEW hits AS SELECT {columns} FROM files").collect()

    def run(self, sql: str) -> Any:
        return self.context.sql(sql).collect()

    def rows(self, result: Any) -> Iterator[Row]:
        return arrow_rows(result)


class Polars:
    def __init__(self, threads: int) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.version = polars.__version__

    def attach(self, folder: Path) -> None:
        import polars

        frame = polars.scan_parquet(f"{folder}/*.parquet")
        schema = frame.collect_schema()
        changes = []
        for name, kind in stored_as_numbers((name, str(kind)) for name, kind in schema.items()):
            column = polars.col(name)
            is_time = kind == "time"
            changes.append(polars.from_epoch(column, "s") if is_time else column.cast(polars.Int32).cast(polars.Date))
        changes += [polars.col(name).cast(polars.String) for name, kind in schema.items() if kind == polars.Binary]
        self.context = polars.SQLContext(hits=frame.with_columns(changes) if changes else frame)

    def run(self, sql: str) -> Any:
        return self.context.execute(sql).collect(engine="streaming")

    def rows(self, result: Any) -> Iterator[Row]:
        return arrow_rows(result.to_arrow().to_batches())


ENGINES: dict[str, Any] = {"chalet": Chalet, "chdb": Chdb, "duckdb": DuckDB, "datafusion": DataFusion, "polars": Polars}


# --- results as text -----------------------------------------------------------------------------------------------


def unescaped(text: str) -> str:
    if "\\" not in text or text == NULL:
        return text
    letters = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}
    out, pieces = [], iter(text)
    for letter in pieces:
        if letter == "\\":
            letter = next(pieces, "\\")
            letter = letters.get(letter, letter)
        out.append(letter)
    return "".join(out)


def text_of(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return "[" + ",".join(repr(v) if isinstance(v, str) else text_of(v) for v in value) + "]"
    return str(value)


def values_of(column: Any) -> list[str]:
    import pyarrow

    if pyarrow.types.is_timestamp(column.type):
        # Python's own conversion would ask for a package of time zones.
        ticks = column.cast(pyarrow.timestamp("us", tz=column.type.tz), safe=False).cast(pyarrow.int64())
        return [NULL if v is None else text_of(EPOCH + timedelta(microseconds=v)) for v in ticks.to_pylist()]
    return list(map(text_of, column.to_pylist()))


def arrow_rows(batches: Iterable[Any]) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*map(values_of, batch.columns))


# --- requests ------------------------------------------------------------------------------------------------------


def answer(engine: Any, request: dict[str, Any]) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    used = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    try:
        if "folder" in request:
            engine.attach(Path(request["folder"]))
            return {"seconds": time.perf_counter() - start}
        result = engine.run(request["sql"])
        reply["seconds"] = time.perf_counter() - start
        now = resource.getrusage(resource.RUSAGE_SELF)
        reply["cpu"] = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        reply["faults"] = now.ru_minflt - used.ru_minflt
        reply["switches"] = now.ru_nvcsw + now.ru_nivcsw - used.ru_nvcsw - used.ru_nivcsw
        if request.get("rows"):
            reply["rows"] = list(engine.rows(result))
        if "absent" in request:
            reply["absent"] = absent(map(tuple, request["absent"]), engine.rows(result))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # A panic of a Rust extension is no Exception.
        reply["error"] = f"{type(error).__name__}: {error}"
    return reply


def absent(wanted: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
    left = Counter(tuple(map(canonical, row)) for row in wanted)
    for row in map(lambda row: tuple(map(canonical, row)), rows):
        if left.get(row):
            left[row] -= 1
    return list(left.elements())


if __name__ == "__main__":
    serve(ENGINES, answer)
