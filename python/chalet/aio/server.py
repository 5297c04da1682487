"""Connections of asyncio to ClickHouse servers. No query has a thread: the event loop waits for the sockets."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from .. import _chalet
from .._bind import placed, rows_statement
from .._chalet import InterfaceError
from .connection import Connection
from .server_relation import ServerRows, fetched_in_turns
from .talk import Talk
from .worker import Awaited

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Generator, Iterable, Mapping, Sequence

    from .._chalet import Result

Row = tuple[Any, ...]


class ServerConnection(Connection):
    """`chalet.aio.connect("clickhouse://user:password@host:9000/database")`: the methods of `chalet.aio.Connection`, for
    statements that a server runs.

    Queries run side by side, each on a connection of its own, at most `pool_size` (an option of the URL; 10) at a time; others wait
    for their turn. `SET` and `USE` hold for all that begin later. Cancelling a task that waits tells the server to stop, and
    closes the socket. Objects of the program that are registered, or given in `tables=`, are sent with the queries that name them.
    """

    def __init__(self, connection_string: str) -> None:
        super().__init__(connection_string)
        self._places: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._talks: set[Talk] = set()

    async def _begin(self) -> ServerConnection:
        if self._open is None and not self._closed:
            self._loop = asyncio.get_running_loop()
            opened = await self._loop.run_in_executor(None, _chalet.Connection, self._string)
            self._places = asyncio.Semaphore(opened._pool_size)
            self._open = opened
        self._connection()
        return self

    async def enter(self, talk: Talk) -> None:
        """Waits for a place among those that run. `Talk` calls it."""
        self._connection()
        self._talks.add(talk)
        try:
            await self._places.acquire()
        except BaseException:
            self._talks.discard(talk)
            raise

    def leave(self, talk: Talk) -> None:
        """Gives the place up; from any thread, since a stream may end with the last who has it."""
        self._talks.discard(talk)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._places.release)

    def _talk(
        self,
        query: str,
        format: str | None,
        params: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        query_id: str | None = None,
        timeout: float | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        streams: bool = False,
        rows: Any = None,
        keys: Sequence[Any] | None = None,
    ) -> Talk:
        given = None if params is None else dict(params)
        objects = None if tables is None else dict(tables)
        set_here = None if settings is None else dict(settings)
        begun = self._connection()._converse(query, format, given, set_here, query_id, streams, rows, keys, objects)
        return Talk(self, begun, timeout)

    def query(
        self,
        query: str,
        format: str | None = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
        query_id: str | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Awaits statements: a `Result`, a DataFrame or a pyarrow Table, see `chalet.Connection.query`. The server knows the
        query by `query_id`, where one is given."""
        return self._talk(query, format, params, settings, query_id, timeout, tables=tables).answer()

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> ServerRows:
        """The rows of statements, or steps over them: `await db.sql(...)` is a `Result`, `await db.sql(...).filter("x > 1").df()` a
        DataFrame."""
        connection = self._connection()
        given = None if params is None else dict(params)
        objects = None if tables is None else dict(tables)
        return ServerRows(self, connection, query, given, objects, timeout)

    def cursor(self) -> ServerCursor:
        """A new cursor."""
        self._connection()
        return ServerCursor(self)

    def send_query(
        self,
        query: str,
        format: str = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
        query_id: str | None = None,
    ) -> ServerStream:
        """Sends one query whose rows are read while it runs: `async for chunk in db.send_query(...)`. It has one of the places
        of those that run until it is at its end, or closed. `timeout` is that of the whole query, in seconds from now."""
        return ServerStream(
            self._talk(query, format, params, settings, query_id, timeout, tables=tables, streams=True)
        )

    async def insert_rows(
        self, query: str, rows: Any, keys: Sequence[Any] | None = None, *, timeout: float | None = None
    ) -> int:
        """Inserts many rows, see `chalet.Connection.insert_rows`; returns how many."""
        if isinstance(rows, list) and not rows:
            return 0
        keys = None if keys is None else list(keys)
        answer = await self._talk(query, None, timeout=timeout, rows=rows, keys=keys).answer()
        return answer.rows_written()

    def interrupt(self) -> None:
        """Stops the running queries and open streams, which then raise QUERY_WAS_CANCELLED where they are awaited."""
        for talk in list(self._talks):
            talk.interrupt()

    async def close(self) -> None:
        """Ends the session; what runs or waits is stopped and raises QUERY_WAS_CANCELLED. May be called again."""
        opened, self._open = self._open, None
        self._closed = True
        if opened is not None:
            self.interrupt()
            opened.close()
            # Those that were stopped are told before this returns.
            await asyncio.sleep(0)
        self._worker.close()


class ServerCursor(Awaited):
    """`chalet.aio.Cursor` over a server."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection: ServerConnection | None = connection
        self._result: Result | None = None
        self._rowcount = -1

    def _open(self) -> ServerConnection:
        if self._connection is None:
            raise InterfaceError("The cursor is closed")
        return self._connection

    async def execute(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> ServerCursor:
        """Awaits statements; the rows of the last one are then fetched. Returns the cursor."""
        connection = self._open()
        self._result, self._rowcount = None, -1
        answer = await connection._talk(query, None, params, timeout=timeout, tables=tables).answer()
        try:
            _ = answer.columns
        except ValueError:
            # Statements without rows, or rows that are text by their own FORMAT.
            self._rowcount = answer.rows_written() or -1
        else:
            self._result, self._rowcount = answer, answer.rows_read()
        return self

    async def executemany(self, query: str, rows: Iterable[Any], *, timeout: float | None = None) -> ServerCursor:
        """Awaits a statement for each of many rows of values, see `chalet.Cursor.executemany`. Returns the cursor."""
        connection = self._open()
        given = rows if isinstance(rows, list) else list(rows)
        self._result, self._rowcount = None, -1
        insert = rows_statement(query)
        if insert is not None and given:
            head, names = insert
            if names is None and (isinstance(given[0], (str, bytes, bytearray)) or not hasattr(given[0], "__len__")):
                # As `execute` takes them: each is the only value of its row.
                given = [(row,) for row in given]
            self._rowcount = await connection.insert_rows(head, given, names, timeout=timeout)
            return self
        ends = None if timeout is None else time.monotonic() + timeout
        total = 0
        for row in given:
            text, params = placed(query, row)
            left = None if ends is None else max(ends - time.monotonic(), 0)
            total += max((await self.execute(text, params or None, timeout=left)).rowcount, 0)
        self._rowcount = total
        return self

    async def fetchone(self) -> Row | None:
        """The next row, None at the end."""
        return None if self._result is None else self._result.fetchone()

    async def fetchmany(self, size: int = 1) -> tuple[Row, ...]:
        """The next rows, at most `size`."""
        return () if self._result is None else tuple(await fetched_in_turns(self._result, max(size, 0)))

    async def fetchall(self) -> tuple[Row, ...]:
        """All rows that are left."""
        return () if self._result is None else tuple(await fetched_in_turns(self._result, None))

    def __aiter__(self) -> ServerCursor:
        return self

    async def __anext__(self) -> Row:
        row = await self.fetchone()
        if row is None:
            raise StopAsyncIteration
        return row

    def column_names(self) -> list[str]:
        """Names of the columns."""
        return [] if self._result is None else self._result.columns

    def column_types(self) -> list[str]:
        """Types of the columns, as SQL text."""
        return [] if self._result is None else self._result.types

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Seven values a column, see `chalet.Cursor`."""
        if self._result is None:
            return None
        return [(name, ty, None, None, None, None, None) for name, ty in zip(self._result.columns, self._result.types)]

    @property
    def rowcount(self) -> int:
        """Rows of the result, or written; -1 when that is not known."""
        return self._rowcount

    async def close(self) -> None:
        """Ends the cursor. May be called again."""
        self._connection = self._result = None


class ServerStream(Awaited):
    """`chalet.aio.StreamingResult` over a server: `async for chunk in stream`, or `await stream.fetch()`. Leaving `async with`,
    cancelling a task that waits for rows, and forgetting it end the query."""

    def __init__(self, talk: Talk) -> None:
        self._talk: Talk | None = talk

    async def fetch(self, timeout: float | None = None) -> Any:
        """The next rows: a `Result`, or a DataFrame or pyarrow Table; None at the end. After `timeout` seconds without any
        the query is ended and TIMEOUT_EXCEEDED raised."""
        if self._talk is None:
            return None
        try:
            rows = await self._talk.rows(timeout)
        except BaseException:
            self._end()
            raise
        if rows is None:
            self._end()
        return rows

    def _end(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.end()

    def __aiter__(self) -> ServerStream:
        return self

    async def __anext__(self) -> Any:
        chunk = await self.fetch()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def close(self) -> None:
        """Ends the query; what was not fetched is gone. May be called again."""
        self._end()

    async def cancel(self) -> None:
        """`close` under its other name."""
        self._end()

    def __del__(self) -> None:
        self._end()
