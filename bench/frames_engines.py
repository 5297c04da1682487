"""The side of an engine in frames.py: has the frame ready and times statements over it.

  frames_engines.py NAME THREADS

A request is one JSON a line on stdin, an answer one JSON a line on stdout: {"kind": ..., "rows": ...} makes the frame (not timed),
{"sql": ...} asks a statement over `frame` and gives its seconds and its first rows.
"""

import gc
import os
import re
import time
from typing import Any

from serve import serve

# Rows of a result that are given for the comparison.
GIVEN = 50


def arrow_table(rows: int) -> Any:
    """The same rows for every kind of frame; NULL in each tenth of n and w."""
    import numpy
    import pyarrow
    import pyarrow.compute

    dice = numpy.random.default_rng(11)
    words = pyarrow.array([f"word {i}" for i in range(1000)])
    pages = pyarrow.array([f"https://example.com/{i % 97}/{i * 7919}" for i in range(100_000)])
    holes = pyarrow.array(dice.integers(0, 10, rows) == 0)

    def holed(values: Any) -> Any:
        return pyarrow.compute.if_else(holes, pyarrow.scalar(None, values.type), values)

    return pyarrow.table({
        "id": pyarrow.array(numpy.arange(rows)),
        "k": pyarrow.array(dice.integers(0, 1000, rows).astype("int32")),
        "u": pyarrow.array(dice.integers(0, rows // 5 + 1, rows)),
        "v": pyarrow.array(dice.random(rows)),
        "n": holed(pyarrow.array(dice.integers(-1000, 1000, rows))),
        "t": pyarrow.array(1_600_000_000_000_000 + dice.integers(0, 10**14, rows)).cast(pyarrow.timestamp("us")),
        "flag": pyarrow.array(dice.integers(0, 3, rows) == 0),
        "s": words.take(pyarrow.array(dice.integers(0, 1000, rows))),
        "w": holed(words.take(pyarrow.array(dice.integers(0, 1000, rows)))),
        "page": pages.take(pyarrow.array(dice.integers(0, 100_000, rows))),
    })  # fmt: skip


def frame_of(kind: str, rows: int) -> Any:
    table = arrow_table(rows)
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    import pandas
    import pyarrow

    if kind == "arrow":
        return table.to_pandas(types_mapper=pandas.ArrowDtype)
    if kind == "nullable":
        types = {
            pyarrow.int32(): pandas.Int32Dtype(), pyarrow.int64(): pandas.Int64Dtype(), pyarrow.float64(): pandas.Float64Dtype(),
            pyarrow.bool_(): pandas.BooleanDtype(), pyarrow.string(): pandas.StringDtype(),
        }  # fmt: skip
        return table.to_pandas(types_mapper=types.get)
    # Numbers with NULL as floats with NaN; strings as pandas has them today, or as objects, as before its third version.
    frame = table.to_pandas()
    return frame if kind == "default" else frame.astype({name: object for name in ("s", "w", "page")})


class Engine:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.frame: Any = None
        self.version = ""

    def run(self, sql: str) -> Any:
        raise NotImplementedError


class ClickHouseLike(Engine):
    """chalet and the kernel."""

    module = ""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        module = __import__(self.module)
        self.version = module.__version__
        self.connection = module.connect(":memory:")
        self.connection.query(f"SET max_threads = {threads}")


class Chalet(ClickHouseLike):
    module = "chalet"

    def run(self, sql: str) -> Any:
        frame = self.frame  # noqa: F841
        return self.connection.query(sql, "DataFrame")


class Chdb(ClickHouseLike):
    module = "chdb"

    def run(self, sql: str) -> Any:
        frame = self.frame  # noqa: F841
        return self.connection.query(re.sub(r"FROM frame( AS \w+)?", lambda found: f"FROM Python(frame){found[1] or ' AS frame'}", sql), "DataFrame")


class DuckDB(Engine):
    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect()
        for setting in (f"threads = {threads}", "TimeZone = 'UTC'", "enable_progress_bar = false"):
            self.connection.execute(f"SET {setting}")

    def run(self, sql: str) -> Any:
        frame = self.frame  # noqa: F841
        return self.connection.execute(sql).df()


class Polars(Engine):
    """Always over its own frame, so that nothing is converted; its result is not made one of pandas."""

    def __init__(self, threads: int) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        super().__init__(threads)
        import polars

        self.version = polars.__version__
        self.polars = polars

    def run(self, sql: str) -> Any:
        return self.polars.SQLContext(frame=self.frame).execute(sql).collect()


def told(result: Any) -> list[list[str]]:
    """The number of rows, and the first ones as text."""
    n = len(result)
    rows = result.head(GIVEN)
    rows = rows.rows() if hasattr(rows, "rows") else rows.itertuples(index=False, name=None)
    text = [["NULL" if value is None or value != value else str(value) for value in row] for row in rows]
    return [[str(n)], *text]


def answer(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if "kind" in request:
            engine.frame = None
            gc.collect()
            engine.frame = frame_of("polars" if isinstance(engine, Polars) else request["kind"], request["rows"])
            return {}
        start = time.perf_counter()
        result = engine.run(request["sql"])
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "rows": told(result)}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"}


if __name__ == "__main__":
    serve({"chalet": Chalet, "chdb": Chdb, "duckdb": DuckDB, "polars": Polars}, answer)
