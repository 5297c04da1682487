"""Cursors for asyncio."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .._chalet import Call
from .worker import Awaited, Worker

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from .. import _chalet

Row = tuple[Any, ...]

# Rows that are made at once while others wait for the GIL: some milliseconds.
_BATCH = 2048


class Cursor(Awaited):
    """`chalet.Cursor` with methods to be awaited, and `async for row in cursor`."""

    def __init__(self, cursor: _chalet.Cursor, worker: Worker) -> None:
        self._cursor = cursor
        self._worker = worker
        # Rows that were made before they were asked for.
        self._ahead: deque[Row] = deque()

    def execute(
        self,
        query: str,
        params: dict[str, Any] | list[Any] | tuple[Any, ...] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Coroutine[Any, Any, Cursor]:
        """Awaits statements; the rows of the last one are then fetched. Returns the cursor."""
        return self._executed(Call(timeout), query, params, tables=tables, timeout=timeout)

    async def _executed(self, call: Call, *args: Any, **kwargs: Any) -> Cursor:
        self._ahead.clear()
        await self._worker.run(call, self._cursor.execute, *args, **kwargs)
        return self

    def executemany(self, query: str, rows: Iterable[Any], *, timeout: float | None = None) -> Coroutine[Any, Any, Cursor]:
        """Awaits a statement for each of many rows of values, see `chalet.Cursor.executemany`. Returns the cursor."""
        return self._executed_many(Call(timeout), query, rows, timeout)

    async def _executed_many(self, call: Call, query: str, rows: Iterable[Any], timeout: float | None) -> Cursor:
        self._ahead.clear()
        await self._worker.run(call, self._cursor.executemany, query, rows, timeout=timeout)
        return self

    async def fetchone(self) -> Row | None:
        """The next row, None at the end."""
        if not self._ahead:
            self._ahead.extend(await self._worker.run(Call(), self._cursor.fetchmany, _BATCH))
        return self._ahead.popleft() if self._ahead else None

    async def fetchmany(self, size: int = 1) -> tuple[Row, ...]:
        """The next rows, at most `size`."""
        rows = [self._ahead.popleft() for _ in range(min(size, len(self._ahead)))]
        if len(rows) < size:
            rows += await self._worker.run(Call(), fetched, self._cursor, size - len(rows))
        return tuple(rows)

    async def fetchall(self) -> tuple[Row, ...]:
        """All rows that are left."""
        rows = list(self._ahead)
        self._ahead.clear()
        rows += await self._worker.run(Call(), fetched, self._cursor, None)
        return tuple(rows)

    def __aiter__(self) -> Cursor:
        return self

    async def __anext__(self) -> Row:
        row = await self.fetchone()
        if row is None:
            raise StopAsyncIteration
        return row

    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._cursor.column_names()

    def column_types(self) -> list[str]:
        """Types of the columns, as SQL text."""
        return self._cursor.column_types()

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Seven values a column, see `chalet.Cursor`."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Rows of the result, or written; -1 when that is not known."""
        return self._cursor.rowcount

    async def close(self) -> None:
        """Ends the cursor. May be called again."""
        self._ahead.clear()
        self._cursor.close()


def fetched(cursor: _chalet.Cursor | _chalet.Result, size: int | None) -> list[Row]:
    """Rows in batches, between which other threads have the GIL."""
    rows: list[Row] = []
    while size is None or len(rows) < size:
        batch = cursor.fetchmany(_BATCH if size is None else min(_BATCH, size - len(rows)))
        if not batch:
            break
        rows.extend(batch)
    return rows
