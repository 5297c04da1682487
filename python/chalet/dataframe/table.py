"""`Table`: rows in one of several forms, and SQL over them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .. import _sources
from .._chalet import Connection, Result
from .._frame import _package

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_OWN = "__table__"
_FROM_OWN = re.compile(r"\b(?:FROM|JOIN)\s+__table__", re.IGNORECASE)
_NAMED = re.compile(r"\b__([A-Za-z0-9]\w*?)__\b")


class Table:
    """A pandas DataFrame, a pyarrow Table, a Parquet file, Parquet in memory, or what a query of a Table gave.

    A file given as `temp_parquet_path` is removed with the Table. `use_memfd` is chDB's and changes nothing here.
    """

    def __init__(
        self,
        parquet_path: str | os.PathLike[str] | None = None,
        temp_parquet_path: str | os.PathLike[str] | None = None,
        parquet_memoryview: Any = None,
        dataframe: Any = None,
        arrow_table: Any = None,
        use_memfd: bool = False,
    ) -> None:
        self._parquet_path = parquet_path
        self._temp_parquet_path = temp_parquet_path
        self._parquet_memoryview = parquet_memoryview
        self._dataframe = dataframe
        self._arrow_table = arrow_table
        self._result: Result | None = None
        self.use_memfd = use_memfd
        self._rows_read, self._bytes_read, self._elapsed = 0, 0, 0.0

    def __del__(self) -> None:
        path = getattr(self, "_temp_parquet_path", None)
        if path is not None:
            import contextlib
            import os

            with contextlib.suppress(OSError, TypeError):
                os.remove(path)

    def rows_read(self) -> int:
        """Rows of the query that made this; 0 where none did."""
        return self._rows_read

    def bytes_read(self) -> int:
        """Bytes of memory of these rows as columns."""
        return self._bytes_read

    def elapsed(self) -> float:
        """Seconds that the query took."""
        return self._elapsed

    def query(self, sql: str, **kwargs: Any) -> Table:
        """A query over this, which it names `__table__`. `params` gives values to `{name:Type}`."""
        if not _FROM_OWN.search(sql):
            raise ValueError("the query must read FROM __table__")
        if self._source() is None:
            raise ValueError("the Table has no rows to query: give it a frame, an Arrow table or Parquet")
        return _queried(sql, {_OWN: self}, **kwargs)

    sql = query

    @staticmethod
    def queryStatic(sql: str, **kwargs: Any) -> Table:
        """A query over several tables: `__name__` in it is the argument `name`, a Table, a DataFrame or any other object
        that is a table of `chalet.query`."""
        tables = {}
        for name in dict.fromkeys(_NAMED.findall(sql)):
            if name not in kwargs:
                raise ValueError(f"the query names __{name}__: pass {name}=")
            given = kwargs[name]
            if not isinstance(given, Table) and _sources.describe(given) is None:
                raise ValueError(f"{name} must be a Table, a DataFrame or what else is a table, not a {type(given).__name__}")
            tables[f"__{name}__"] = given
        params = kwargs.get("params") if "__params__" not in tables else None
        return _queried(sql, tables, params=params)

    def queryDF(self, sql: str, **kwargs: Any) -> Table:
        """`query` of a Table that was made of a DataFrame."""
        return self._query_of("DataFrame", self._dataframe, sql, **kwargs)

    def queryArrowTable(self, sql: str, **kwargs: Any) -> Table:
        """`query` of a Table that was made of a pyarrow Table."""
        return self._query_of("Arrow table", self._arrow_table, sql, **kwargs)

    def queryParquetBuffer(self, sql: str, **kwargs: Any) -> Table:
        """`query` of a Table that was made of Parquet in memory."""
        return self._query_of("Parquet buffer", self._parquet_memoryview, sql, **kwargs)

    def _query_of(self, what: str, source: Any, sql: str, **kwargs: Any) -> Table:
        if source is None:
            raise ValueError(f"the Table was made without a {what}")
        return self.query(sql, **kwargs)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        if self._dataframe is not None:
            return self._dataframe
        if self._result is not None:
            return self._result.df()
        if self._arrow_table is not None:
            return self._arrow_table.to_pandas()
        source = self._source()
        if source is None:
            raise ValueError("the Table has no rows")
        if self._parquet_memoryview is not None:
            import io

            source = io.BytesIO(_bytes(self._parquet_memoryview))
        return _package("pandas", "a DataFrame").read_parquet(source)

    def flush_to_disk(self) -> None:
        """Moves the rows to a temporary Parquet file, unless they are in a file already."""
        if self._parquet_path is not None or self._temp_parquet_path is not None:
            return
        if self._source() is None:
            raise ValueError("the Table has no rows")
        path = _new_file()
        if self._parquet_memoryview is not None:
            with open(path, "wb") as file:
                file.write(_bytes(self._parquet_memoryview))
        else:
            with Connection() as connection:
                tables = {_OWN: _as_table(self, connection, [])}
                connection.query(f"INSERT INTO FUNCTION file({_literal(path)}, 'Parquet') SELECT * FROM {_OWN}", tables=tables)
        self._temp_parquet_path = path
        self._dataframe = self._arrow_table = self._parquet_memoryview = self._result = None

    def show(self) -> None:
        """Prints the rows as pandas does."""
        print(self.to_pandas())

    def __repr__(self) -> str:
        return repr(self.to_pandas())

    def __str__(self) -> str:
        return str(self.to_pandas())

    def _source(self) -> Any:
        """Where the rows are; None where there are none."""
        sources = (self._result, self._dataframe, self._arrow_table, self._parquet_memoryview, self._parquet_path)
        return next((source for source in sources if source is not None), self._temp_parquet_path)


def _queried(sql: str, tables: Mapping[str, Any], **kwargs: Any) -> Table:
    files: list[str] = []
    try:
        with Connection() as connection:
            given = {name: _as_table(table, connection, files) for name, table in tables.items()}
            result = connection.query(sql, None, tables=given, **kwargs)
    finally:
        import os

        for file in files:
            os.remove(file)
    made = Table()
    made._result = result
    made._rows_read, made._bytes_read, made._elapsed = result.rows_read(), result.bytes_read(), result.elapsed()
    return made


def _as_table(table: Any, connection: Connection, files: list[str]) -> Any:
    """What a query reads; `files` are those to be removed then."""
    if not isinstance(table, Table):
        return table
    path = table._parquet_path or table._temp_parquet_path
    for held in (table._result, table._dataframe, table._arrow_table):
        if held is not None:
            return held
    if table._parquet_memoryview is not None:
        path = _new_file()
        files.append(path)
        with open(path, "wb") as file:
            file.write(_bytes(table._parquet_memoryview))
    if path is None:
        raise ValueError("the Table has no rows to query: give it a frame, an Arrow table or Parquet")
    return connection.sql(f"SELECT * FROM file({_literal(path)}, 'Parquet')")


def _new_file() -> str:
    import os
    import tempfile

    handle, path = tempfile.mkstemp(suffix=".parquet")
    os.close(handle)
    # The engine makes files and does not write over them.
    os.remove(path)
    return path


def _bytes(view: Any) -> Any:
    """Bytes of a memoryview, or of a view of chDB's kind."""
    return view.tobytes() if hasattr(view, "tobytes") else bytes(view)


def _literal(path: str | os.PathLike[str]) -> str:
    text = str(path)
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
