"""Relations of asyncio whose queries a server runs: the event loop waits for them, without a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .. import _relation as blocking
from .._chalet import ProgrammingError
from .cursor import _BATCH
from .relation import Relation, _shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from .._chalet import Connection, Result
    from .server import ServerConnection

Row = tuple[Any, ...]

# The table that looking at a relation is about.
_ITSELF = "rows"


class _Steps(blocking.Relation):
    """Queries that are made of each other without asking the server for their columns."""

    __slots__ = ()

    def _of(self, query: str, tables: dict[str, Any], params: Mapping[str, Any] | None = None) -> _Steps:
        return _Steps(self._connection, query, None if params is None else dict(params), ([], [], tables), self._timeout)

    def join(
        self,
        other: Any,
        on: str | Sequence[str] | None = None,
        how: str = "inner",
        *,
        params: Mapping[str, Any] | None = None,
    ) -> blocking.Relation:
        # One name is a column of both.
        return super().join(other, [on] if isinstance(on, str) and on.isidentifier() else on, how, params=params)


class ServerRows(Relation):
    """Statements that run when their rows are awaited, each time anew, and steps over a query: `await db.sql(...).filter("x > 1").df()`.

    What is wrong with a step is told when it is awaited. `join(other, "k")` joins by the column `k` of both; other conditions are expressions.
    """

    def __init__(
        self,
        server: ServerConnection,
        connection: Connection,
        text: str,
        params: dict[str, Any] | None,
        tables: dict[str, Any] | None,
        timeout: float | None,
        steps: Callable[[], Awaitable[_Steps]] | None = None,
        waits: bool = False,
    ) -> None:
        self._server = server
        self._connection = connection
        self._text, self._params, self._tables, self._timeout = text, params, tables, timeout
        # Makes the query of the last step; none where there is none.
        self._steps = steps
        # Does making it wait for rows of a server, or of another database?
        self._waits = waits
        # The answer that `fetchone` and `fetchmany` take rows of.
        self._fetched: Result | None = None
        # For those who take it for a coroutine.
        self._running = None

    async def _ask(self, query: str, format: str | None, params: Any, tables: Any) -> Any:
        return await self._server._talk(query, format, params, timeout=self._timeout, tables=tables).answer()

    async def _query_of(self) -> _Steps:
        if self._steps is not None:
            return await self._steps()
        return _Steps(self._connection, self._text, self._params, ([], [], self._tables or {}), self._timeout)

    def _relation(self) -> _Steps:
        """As a table of another query."""
        # Nothing may be asked here, where nobody awaits the answer.
        if not self._waits:
            making = self._query_of()
            try:
                making.send(None)
            except StopIteration as made:
                return made.value
            making.close()
        raise ProgrammingError("its columns are not known before it is awaited")

    async def _about(self, query: str, format: str | None = None) -> Any:
        """The answer to a query of the table that this is."""
        return await self._ask(query, format, None, {_ITSELF: await self._query_of()})

    async def _header(self) -> Result:
        """A result without rows."""
        return await self._about(f"SELECT * FROM {_ITSELF} LIMIT 0")

    def _step(self, name: str, *args: Any, **kwargs: Any) -> ServerRows:
        asks_columns = name in ("describe", "summarize")
        others = [other for other in args if isinstance(other, Relation)]
        waits = asks_columns or any(other._waits if isinstance(other, ServerRows) else True for other in [self, *others])

        async def made() -> _Steps:
            given = [await _table(other) for other in args]
            under = await self._query_of()
            if asks_columns:
                header = await self._header()
                under._outline = (header.columns, header.types, under._outline[2])
            return getattr(under, name)(*given, **kwargs)

        text = f"{self._text}.{name}({', '.join(map(_shown, args))})"
        return ServerRows(self._server, self._connection, text, None, None, self._timeout, made, waits)

    # --- to be awaited ----------------------------------------------------------------------------------------------

    async def execute(self) -> Any:
        """Runs it: a `Result`."""
        if self._steps is None:
            return await self._ask(self._text, None, self._params, self._tables)
        made = await self._steps()
        return await self._ask(made._query, None, made._params, made._outline[2])

    async def _told(self, name: str, *args: Any, **kwargs: Any) -> Any:
        result = await self.execute()
        return result if name == "execute" else getattr(result, name)(*args, **kwargs)

    async def _answered(self) -> Result:
        if self._fetched is None:
            self._fetched = await self.execute()
        return self._fetched

    async def fetchall(self) -> list[Row]:
        """The rows as tuples: those that `fetchone` and `fetchmany` have left. Then it is at its beginning again."""
        result, self._fetched = await self._answered(), None
        return await fetched_in_turns(result, None)

    async def fetchmany(self, size: int = 1) -> list[Row]:
        """The next rows, at most `size`."""
        return await fetched_in_turns(await self._answered(), blocking.counted(size))

    async def fetchone(self) -> Row | None:
        """The next row, None at the end."""
        return (await self._answered()).fetchone()

    async def __aiter__(self) -> AsyncIterator[Row]:
        result = await self.execute()
        while rows := result.fetchmany(_BATCH):
            for row in rows:
                yield row
            await asyncio.sleep(0)

    async def query(self) -> str:
        """The text of the query; a step names the relation that it was made of."""
        return (await self._query_of())._query

    async def columns(self) -> list[str]:
        """Names of the columns."""
        return (await (self._answered() if self._steps is None else self._header())).columns

    async def types(self) -> list[str]:
        """Types of the columns, as SQL text."""
        return (await (self._answered() if self._steps is None else self._header())).types

    dtypes = types

    async def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """Seven values a column, see `chalet.Relation.description`."""
        header = await self._header()
        return [(name, ty, None, None, None, None, None) for name, ty in zip(header.columns, header.types, strict=True)]

    async def shape(self) -> tuple[int, int]:
        """Rows, which are counted for that, and columns."""
        counted = await self._about(f"SELECT count() FROM {_ITSELF}")
        return counted.fetchone()[0], len((await self._header()).columns)

    async def explain(self, kind: str = "PLAN") -> str:
        """How the server would run it; `kind` is one of EXPLAIN."""
        words = " ".join(kind.upper().split())
        if words not in blocking._EXPLAINED:
            raise ProgrammingError(f"kind must be one of {', '.join(blocking._EXPLAINED[1:])}, not {kind!r}")
        made = await self._query_of()
        rows = await self._ask(f"EXPLAIN {words} {made._query}", None, made._params, made._outline[2])
        return "\n".join(str(row[0]) for row in rows.fetchall())

    async def show(self, n: int = blocking._SHOWN) -> None:
        """Prints the first `n` rows."""
        import json

        from .. import _show

        header = await self._header()
        first = await self._about(f"SELECT * FROM {_ITSELF} LIMIT {blocking.counted(n) + 1}", "JSONCompactStringsEachRow")
        rows = [json.loads(line) for line in first.data().split("\n") if line]
        print(_show.as_text(header.columns, header.types, rows[:n], len(rows) > n))


async def _table(other: Any) -> Any:
    """What a step takes from another relation: its query, or its rows where it is not one of a server."""
    if isinstance(other, ServerRows):
        return await other._query_of()
    return await other.execute() if isinstance(other, Relation) else other


async def fetched_in_turns(result: Result, size: int | None) -> list[Row]:
    """Rows in batches, between which others have their turn. The cyclic collector is off only while a batch is made."""
    rows: list[Row] = []
    while size is None or len(rows) < size:
        batch = result.fetchmany(_BATCH if size is None else min(_BATCH, size - len(rows)))
        if not batch:
            break
        rows.extend(batch)
        if len(batch) == _BATCH:
            await asyncio.sleep(0)
    return rows
