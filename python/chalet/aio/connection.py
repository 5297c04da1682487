"""Connections for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _chalet
from .._chalet import Call, InterfaceError
from .._relation import relate
from .._schemes import SERVERS
from .cursor import Cursor
from .inserter import StreamingInserter
from .relation import Relation
from .stream import StreamingResult
from .worker import Awaited, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence


class Connection(Awaited):
    """`chalet.Connection` with methods to be awaited. `async with connect() as db` opens and closes it; without that,
    `db = await connect()` and `await db.close()`.

    A name in FROM may be a variable of the function that calls `query` and its like, whoever awaits what they return.
    """

    def __init__(self, connection_string: str = ":memory:") -> None:
        self._string = connection_string
        self._worker = Worker("chalet-aio")
        self._open: _chalet.Connection | None = None
        self._closed = False

    async def _begin(self) -> Connection:
        if self._open is None and not self._closed:
            self._open = await self._worker.run(Call(), _chalet.Connection, self._string)
        self._connection()
        return self

    def _connection(self) -> _chalet.Connection:
        if self._open is None:
            raise InterfaceError("The connection is closed" if self._closed else "The connection is not open: await it first")
        return self._open

    def _run(self, function: Callable[..., Any], *args: Any, timeout: float | None = None, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        # The caller's variables are those of now: a task that awaits has others.
        return self._worker.run(Call(timeout), function, *args, timeout=timeout, **kwargs)

    def query(
        self,
        query: str,
        format: str | None = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Awaits statements: a `Result`, a DataFrame or a pyarrow Table, see `chalet.Connection.query`. `settings`
        of ClickHouse hold for these statements. After `timeout` seconds it raises OperationalError with the name TIMEOUT_EXCEEDED."""
        run = self._connection().query
        return self._run(run, query, format, params, tables=tables, settings=settings, timeout=timeout)

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Relation:
        """A relation, to be awaited for the rows of statements or for steps in between: `await db.sql(...)` is a `Result`,
        `await db.sql(...).filter("x > 1").df()` a DataFrame."""
        connection = self._connection()
        given = None if params is None else dict(params)
        return Relation(self._worker, lambda: relate(connection, query, given, tables, timeout), timeout, query)

    def execute(
        self,
        query: str,
        params: dict[str, Any] | list[Any] | tuple[Any, ...] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Cursor]:
        """Awaits statements in a new cursor, for their rows: `async for row in await db.execute(...)`."""
        return self.cursor().execute(query, params, tables=tables, timeout=timeout)

    def executemany(self, query: str, rows: Iterable[Any], *, timeout: float | None = None) -> Coroutine[Any, Any, Cursor]:
        """Awaits a statement for each of many rows of values, see `chalet.Cursor.executemany`."""
        return self.cursor().executemany(query, rows, timeout=timeout)

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self._connection().cursor(), self._worker)

    def send_query(
        self,
        query: str,
        format: str = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> StreamingResult:
        """Sends one query whose rows are read while it runs: `async for chunk in db.send_query(...)`. Other queries of the
        connection may run meanwhile. `timeout` is that of the whole query, in seconds from now."""
        send = self._connection().send_query
        return StreamingResult(send(query, format, params, tables=tables, timeout=timeout, settings=settings))

    def send_insert(
        self, query: str, format: str = "CSV", *, settings: Mapping[str, Any] | None = None
    ) -> StreamingInserter:
        """Begins an INSERT whose data are appended in pieces: `async with db.send_insert(...) as insert`."""
        connection = self._connection()
        return StreamingInserter(lambda: connection.send_insert(query, format, settings=settings))

    def insert_rows(
        self, query: str, rows: Any, keys: Sequence[Any] | None = None, *, timeout: float | None = None
    ) -> Coroutine[Any, Any, int]:
        """Inserts many rows, see `chalet.Connection.insert_rows`; returns how many."""
        return self._run(self._connection().insert_rows, query, rows, keys, timeout=timeout)

    def register(self, name: str, object: Any) -> Connection:
        """Makes an object a table of this name for this connection."""
        self._connection().register(name, object)
        return self

    def unregister(self, name: str) -> Connection:
        """Forgets what was registered under this name."""
        self._connection().unregister(name)
        return self

    def set_progress_callback(self, callback: Callable[[dict[str, int]], object] | None) -> None:
        """See `chalet.Connection.set_progress_callback`. The callback runs on the thread of the query, not in the event loop."""
        self._connection().set_progress_callback(callback)

    def interrupt(self) -> None:
        """Stops the running query and open streams, which then raise QUERY_WAS_CANCELLED where they are awaited."""
        self._connection().interrupt()

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._closed

    async def close(self) -> None:
        """Ends the session; what runs or waits is stopped and raises QUERY_WAS_CANCELLED. May be called again."""
        connection, self._open = self._open, None
        self._closed = True
        if connection is not None:
            connection.interrupt()
            self._worker.stop()
            try:
                await self._worker.run(Call(), connection.close)
            finally:
                self._worker.close()


def connect(connection_string: str = ":memory:") -> Connection:
    """A database, see `chalet.connect`: `async with connect() as db`, or `db = await connect()`. Statements of a server,
    `clickhouse://user:password@host:port/database`, run side by side, without threads."""
    if connection_string.startswith(SERVERS):
        from .server import ServerConnection

        return ServerConnection(connection_string)
    return Connection(connection_string)


def query(
    sql: str,
    output_format: str = "CSV",
    path: str = "",
    udf_path: str = "",
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    tables: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Coroutine[Any, Any, Any]:
    """Awaits statements in a database of their own, see `chalet.query`."""
    from .. import query as run

    worker = Worker("chalet-aio-query")
    return _alone(
        worker, Call(timeout), run, sql, output_format, path, udf_path, params, options, tables=tables, timeout=timeout
    )


async def _alone(worker: Worker, call: Call, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return await worker.run(call, function, *args, **kwargs)
    finally:
        worker.close()
