"""A cursor of clickhouse-driver's DB-API. What is set on it holds for the statements that it runs afterwards."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Error as DriverError
from .errors import InterfaceError, OperationalError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..client import Client
    from .connection import Connection


class Column(NamedTuple):
    """An entry of `Cursor.description`."""

    name: str
    type_code: str
    display_size: None
    internal_size: None
    precision: None
    scale: None
    null_ok: bool


class Cursor:
    """Made by `Connection.cursor`."""

    def __init__(self, client: Client, connection: Connection) -> None:
        self._client, self._connection = client, connection
        self.arraysize = 1
        self._is_closed = False
        self._has_run = False
        self._columns: list[tuple[str, str]] | None = None
        self._rows: Iterator[Any] = iter(())
        self._rowcount = -1
        self._settings: dict[str, Any] | None = None
        self._query_id: str | None = None
        self._row_buffer: int | None = None
        self._types_check = False
        self._external: dict[str, tuple[Any, Any]] = {}

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result; None before a statement has run."""
        if not self._has_run:
            return None
        return [Column(name, ty, None, None, None, None, True) for name, ty in self._columns or []]

    @property
    def rowcount(self) -> int:
        """Rows of the result, or written; -1 when that is not known."""
        return self._rowcount

    @property
    def columns_with_types(self) -> list[tuple[str, str]] | None:
        """Names and types of the columns."""
        return self._columns

    def execute(self, operation: str, parameters: Any = None) -> None:
        """Runs a statement, with a dict for its `%(name)s`, or with a list of rows for an INSERT."""
        if self._row_buffer is not None and not isinstance(parameters, (list, tuple)):
            self._stream(operation, parameters)
            return
        answer = self._run(operation, parameters, with_column_types=True)
        if isinstance(answer, int):
            self._rowcount = answer
            return
        rows, self._columns = answer
        self._rows = iter(rows)
        if self._columns:
            self._rowcount = len(rows)

    def executemany(self, operation: str, seq_of_parameters: Any) -> None:
        """Inserts rows, tuples or dicts: `INSERT INTO t VALUES`."""
        rows = seq_of_parameters if isinstance(seq_of_parameters, (list, tuple)) else list(seq_of_parameters)
        answer = self._run(operation, rows)
        self._rowcount = answer if isinstance(answer, int) else -1

    def _given(self) -> dict[str, Any]:
        tables = [{"name": name, "structure": structure, "data": data} for name, (structure, data) in self._external.items()]
        return {"external_tables": tables or None, "query_id": self._query_id, "types_check": self._types_check}

    def _run(self, operation: str, parameters: Any, **how: Any) -> Any:
        self._begin()
        try:
            return self._client.execute(operation, parameters, settings=self._settings, **self._given(), **how)
        except DriverError as error:
            raise OperationalError(error) from error

    def _stream(self, operation: str, parameters: Any) -> None:
        self._begin()
        settings = {**(self._settings or {}), "max_block_size": self._row_buffer}
        try:
            rows = self._client.execute_iter(operation, parameters, True, settings=settings, **self._given())
            self._columns = next(rows, [])
        except DriverError as error:
            raise OperationalError(error) from error
        self._rows = rows

    def _begin(self) -> None:
        if self._is_closed:
            raise InterfaceError("cursor already closed")
        self._has_run, self._columns, self._rows, self._rowcount = True, None, iter(()), -1

    def _fetched(self, size: int | None) -> list[Any]:
        if not self._has_run:
            raise ProgrammingError("no results to fetch")
        try:
            return list(islice(self._rows, size))
        except DriverError as error:
            raise OperationalError(error) from error

    def fetchone(self) -> Any:
        """The next row, None at the end."""
        rows = self._fetched(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows: `arraysize` of them without a size, all with a negative one."""
        size = self.arraysize if size is None else size
        return self._fetched(None if size < 0 else size)

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return self._fetched(None)

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    def set_stream_results(self, stream_results: bool, max_row_buffer: int) -> None:
        """Rows become Python objects as they are fetched; the server makes blocks of so many."""
        self._row_buffer = max_row_buffer if stream_results else None

    def set_settings(self, settings: dict[str, Any]) -> None:
        """Settings of the statements of this cursor."""
        self._settings = settings

    def set_types_check(self, types_check: bool) -> None:
        """Values are always checked."""
        self._types_check = types_check

    def set_external_table(self, name: str, structure: Any, data: Any) -> None:
        """A table for the statements of this cursor."""
        self._external[name] = (structure, data)

    def set_query_id(self, query_id: str) -> None:
        """What the server is to know the next statements by."""
        self._query_id = query_id

    def setinputsizes(self, sizes: Any) -> None:
        """Does nothing."""

    def setoutputsize(self, size: Any, column: Any = None) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Ends the cursor and its client. May be called again."""
        self._client.disconnect()
        self._is_closed = True
        if self in self._connection.cursors:
            self._connection.cursors.remove(self)

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
