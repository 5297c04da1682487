"""`Cursor` and `DictCursor` of asynch."""

from __future__ import annotations

import time
from collections import deque, namedtuple
from typing import TYPE_CHECKING, Any

from .. import _chalet
from .._bind import rows_statement
from ..aio.server import ServerConnection, ServerStream
from ..aio.stream import StreamingResult
from ..clickhouse_driver import client as _driver
from ..clickhouse_driver._literals import substituted
from ..clickhouse_driver.result import QueryInfo
from .errors import InterfaceError, NotSupportedError, ProgrammingError, raised

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from .. import aio
    from .connection import Connection

Column = namedtuple("Column", "name type_code display_size internal_size precision scale null_ok")

# Rows that become Python objects at a time.
_BATCH = 4096


class Cursor:
    """Statements of a connection, and the rows of the last one."""

    def __init__(self, connection: Connection | None = None, echo: bool = False) -> None:
        self.connection = connection
        self.echo = echo
        # Rows that `fetchmany` gives when it is not told how many.
        self.arraysize = 1
        self.rowcount = -1
        self.description: list[Column] | None = None
        self.status = "ready"
        self._settings: dict[str, Any] = {}
        self._query_id = ""
        self._external: dict[str, Any] = {}
        self._streams = False
        self._rows: deque[tuple[Any, ...]] | None = None
        self._stream: Any = None

    async def __aenter__(self) -> Cursor:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Cursor(connection={self.connection}, echo={self.echo}) object at {id(self):#x}; status: {self.status}>"

    async def close(self) -> None:
        """Ends the cursor, and what is left of its rows."""
        await self._forget()
        self.status = "closed"

    async def cancel(self) -> bool:
        """Stops the statement that another task waits for; was there one?"""
        return self.connection is not None and await self.connection.cancel()

    async def execute(self, query: str, args: Any = None, context: Any = None) -> int:
        """Runs a statement: an INSERT with rows in `args`, any other with values for the places `%(name)s`. Gives the number of
        rows."""
        connection = self._connection()
        await self._forget()
        opened = await connection.opened_connection()
        is_insert = args is not None and not isinstance(args, dict)
        if args and not is_insert:
            query = substituted(query, args, lambda: connection.zone)
        self.status, self.description = "running", []
        began = time.monotonic()
        connection.n_running += 1
        try:
            if is_insert:
                await self._insert(opened, query, args, began)
            elif self._streams:
                await self._begin_stream(opened, query)
            else:
                await self._ask(opened, query, began)
        except _chalet.Error as error:
            raise raised(error) from None
        finally:
            connection.n_running -= 1
            self.status = "finished"
        return self.rowcount

    async def executemany(self, query: str, args: Any = None, context: Any = None) -> int:
        """Runs a statement for each of `args`; those of an INSERT are its rows."""
        rows = list(args or [])
        if rows_statement(query) is not None:
            return await self.execute(query, rows)
        total = 0
        for one in rows:
            total += max(await self.execute(query, one), 0)
        self.rowcount = total
        return total

    async def fetchone(self) -> Any:
        """The next row, None at the end."""
        rows = await self._taken(1)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next rows, at most `size`."""
        return await self._taken(self.arraysize if size is None else size)

    async def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return await self._taken(None)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        rows = await self._taken(1)
        if not rows:
            raise StopAsyncIteration
        return rows[0]

    def set_settings(self, settings: dict[str, Any]) -> None:
        """Settings of ClickHouse for the statements that follow."""
        self._settings = dict(settings)

    def set_query_id(self, query_id: str = "") -> None:
        """The id by which the server knows the statements that follow."""
        self._query_id = query_id

    def set_external_table(self, name: str, structure: Sequence[tuple[str, str]], data: Any) -> None:
        """A table that is sent along with the statements that follow."""
        self._external[name] = _driver._external({"name": name, "structure": structure, "data": data})

    def set_stream_results(self, stream_results: bool, max_row_buffer: int) -> None:
        """Whether rows are read while the statement runs. How many wait meanwhile is this package's own."""
        self._streams = bool(stream_results)

    def set_types_check(self, types_check: bool) -> None:
        """Does nothing: values of an INSERT are always checked."""

    def setinputsizes(self, *args: Any) -> None:
        """Does nothing, as there."""

    def setoutputsizes(self, *args: Any) -> None:
        """Does nothing, as there."""

    def _connection(self) -> Connection:
        if self.status == "closed" or self.connection is None:
            raise InterfaceError(f"the {self} is already closed")
        return self.connection

    async def _forget(self) -> None:
        """The rows of the last statement."""
        stream, self._stream, self._rows = self._stream, None, None
        if stream is not None:
            await stream.close()

    def _given(self, connection: Connection) -> dict[str, Any]:
        given: dict[str, Any] = {"settings": {**connection.settings, **self._settings}}
        if self._query_id:
            if connection.is_local:
                raise NotSupportedError("query_id is not supported without a server")
            given["query_id"] = self._query_id
        return given

    async def _ask(self, opened: aio.Connection, query: str, began: float) -> None:
        connection, tables = self._connection(), self._external or None
        given = self._given(connection)
        if isinstance(opened, ServerConnection):
            result = await opened._talk(query, None, tables=tables, **given).answer()
        else:
            result = await opened._run(opened._connection()._read, query, None, None, tables, settings=given["settings"])
        connection.last_query = QueryInfo.of(result, time.monotonic() - began)
        self._rows = deque()
        try:
            names, types = result.columns, result.types
        except ValueError:
            # Nothing, or the text of a format.
            self.rowcount = -1
            return
        self._describe(names, types)
        while rows := result.fetchmany(_BATCH):
            self._rows.extend(rows)
        self.rowcount = len(self._rows)

    async def _begin_stream(self, opened: aio.Connection, query: str) -> None:
        given, tables = self._given(self._connection()), self._external or None
        if isinstance(opened, ServerConnection):
            self._stream = ServerStream(opened._talk(query, None, tables=tables, streams=True, **given))
        else:
            self._stream = StreamingResult(opened._connection()._stream(query, None, tables, given["settings"]))
        self._rows = deque()
        await self._more()
        self.rowcount = -1

    async def _more(self) -> None:
        """Rows of a stream that have come."""
        chunk = await self._stream.fetch()
        if chunk is None:
            self._stream = None
            return
        self._describe(chunk.columns, chunk.types)
        while rows := chunk.fetchmany(_BATCH):
            self._rows.extend(rows)  # type: ignore[union-attr]

    async def _insert(self, opened: aio.Connection, query: str, args: Any, began: float) -> None:
        connection, rows = self._connection(), list(args)
        given = self._given(connection)
        text = _driver._BEHIND.sub(" VALUES", query, count=1)
        keys = list(rows[0]) if rows and isinstance(rows[0], dict) else None
        if keys and (listed := rows_statement(query)) is not None and listed[1]:
            keys = list(listed[1])
        self._rows = deque()
        if not rows:
            self.rowcount = 0
        elif isinstance(opened, ServerConnection):
            answer = await opened._talk(text, None, rows=rows, keys=keys, **given).answer()
            self.rowcount = answer.rows_written()
        else:
            self.rowcount = await opened.insert_rows(text, rows, keys)
        connection.last_query = QueryInfo.written(self.rowcount, time.monotonic() - began)

    def _describe(self, names: Sequence[str], types: Sequence[str]) -> None:
        self.description = [Column(name, ty, None, None, None, None, True) for name, ty in zip(names, types)]

    async def _taken(self, size: int | None) -> list[Any]:
        self._connection()
        if self._rows is None:
            raise ProgrammingError(f"no results to fetch from the {self}")
        try:
            while self._stream is not None and (size is None or len(self._rows) < size):
                await self._more()
        except _chalet.Error as error:
            self._stream = None
            raise raised(error) from None
        n = len(self._rows) if size is None else min(size, len(self._rows))
        return self._made([self._rows.popleft() for _ in range(n)])

    def _made(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        return rows


class DictCursor(Cursor):
    """Rows as dicts by the names of their columns."""

    async def fetchone(self) -> Any:
        """The next row, an empty dict at the end."""
        return await super().fetchone() or {}

    def _made(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        names = [column.name for column in self.description or []]
        return [dict(zip(names, row)) for row in rows]
