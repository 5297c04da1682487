"""The side of an engine for suite.py: each Parquet file or folder of Parquet files of the data is a table.

  suite_engines.py NAME THREADS

Requests are those of engines.py; {"set": {name: value}} sets what all later statements run with.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
from serve import serve


def tables(folder: Path) -> Iterator[tuple[str, str]]:
    """Each table's name and the pattern of its files."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield path.name, f"{path}/*.parquet"
        elif path.suffix == ".parquet":
            yield path.stem, str(path)


class Views:
    """An engine that makes views by SQL."""

    reader = "SELECT * FROM read_parquet('{}')"

    def attach(self, folder: Path) -> None:
        for name, files in tables(folder):
            self.define(f"CREATE VIEW {name} AS {self.reader.format(files)}")


class Chalet(Views, engines.Chalet):
    reader = "SELECT * FROM file('{}')"

    def define(self, sql: str) -> None:
        self.connection.query(sql)


class Chdb(Views, engines.Chdb):
    reader = Chalet.reader
    define = Chalet.define


class DuckDB(Views, engines.DuckDB):
    def define(self, sql: str) -> None:
        self.connection.execute(sql)


class DataFusion(engines.DataFusion):
    def attach(self, folder: Path) -> None:
        for name, files in tables(folder):
            self.context.register_parquet(name, files.removesuffix("*.parquet"))


class Polars(engines.Polars):
    def attach(self, folder: Path) -> None:
        import polars

        self.context = polars.SQLContext({name: polars.scan_parquet(files) for name, files in tables(folder)})


def setting(engine: Any, name: str, value: str) -> None:
    """Sets it where the engine has settings by SQL."""
    if isinstance(engine, engines.ClickHouseLike):
        engine.connection.query(f"SET {name} = {value}")
    elif isinstance(engine, DuckDB):
        engine.connection.execute(f"SET {name} = {value}")


def answer(engine: Any, request: dict[str, Any]) -> dict[str, Any]:
    if "set" in request:
        try:
            for name, value in request["set"].items():
                setting(engine, name, value)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return {}
    return engines.answer(engine, request)


if __name__ == "__main__":
    serve({"chalet": Chalet, "chdb": Chdb, "duckdb": DuckDB, "datafusion": DataFusion, "polars": Polars}, answer)
