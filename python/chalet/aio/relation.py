"""Relations for asyncio."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from .. import _relation
from .._chalet import Call, ProgrammingError, Result
from .cursor import fetched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence

    from .worker import Worker

Row = tuple[Any, ...]

# Rows that are made at once while others wait for the GIL: some milliseconds.
_BATCH = 2048


class Relation(Coroutine[Any, Any, Any]):
    """`chalet.Relation` with methods to be awaited where they run something; steps are put together without.

        trips = db.sql("SELECT * FROM 'trips.parquet'")
        frame = await trips.filter("distance > 10").order("fare DESC").limit(5).df()

    `await db.sql(...)` gives a `Result` with rows, or that of statements without.

    >>> import asyncio
    >>> async def main():
    ...     async with chalet.aio.connect() as db:
    ...         numbers = db.sql("SELECT number AS n, number % 3 AS k FROM numbers(10)")
    ...         sums = numbers.filter("n > 2").aggregate("k, sum(n) AS s", "k").order("k")
    ...         return await sums.columns(), await sums.fetchall(), (await numbers).fetchone()
    >>> asyncio.run(main())
    (['k', 's'], [(0, 18), (1, 11), (2, 13)], (0, 0))
    """

    def __init__(self, worker: Worker, make: Callable[[], Any], timeout: float | None, text: str) -> None:
        self._worker = worker
        self._timeout = timeout
        # The query, and the steps that were made of it.
        self._text = text
        # Makes the relation without asyncio, or the answer of statements that have none, with the caller's variables of now.
        self._make: Callable[[], Any] | None = make
        self._call: Call | None = Call()
        self._made: Any = None
        # The answer that `fetchone` and `fetchmany` take rows of.
        self._fetched: Result | None = None
        # For those who take it for a coroutine.
        self._running: Coroutine[Any, Any, Any] | None = None

    # --- to be awaited ----------------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, Any, Any]:
        return self.execute().__await__()

    def send(self, value: Any) -> Any:
        """As a coroutine has it: so a task may be made of it."""
        if self._running is None:
            self._running = self.execute()
        return self._running.send(value)

    def throw(self, *error: Any) -> Any:
        """See `send`."""
        if self._running is None:
            self._running = self.execute()
        return self._running.throw(*error)

    def close(self) -> None:
        """See `send`."""
        if self._running is not None:
            self._running.close()

    def _answer(self) -> Any:
        """What was made, on the worker's thread."""
        if self._make is not None and self._call is not None:
            self._made = self._call.run(self._make)
            self._make = self._call = None
        return self._made

    def _relation(self) -> _relation.Relation:
        made = self._answer()
        if isinstance(made, Result):
            raise ProgrammingError("statements without rows, or with a FORMAT, are no relation")
        return made

    def _rows(self) -> Result:
        """The answer whose rows are fetched, on the worker's thread."""
        if self._fetched is None:
            self._fetched = self._relation().execute()
        return self._fetched

    async def _run(self, function: Callable[[], Any]) -> Any:
        return await self._worker.run(Call(self._timeout), function, timeout=self._timeout)

    def _told(self, name: str, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        return self._run(lambda: getattr(self._relation(), name)(*args, **kwargs))

    async def execute(self) -> Any:
        """Runs it: a `Result` with rows. Statements that are no query run once."""

        def executed() -> Any:
            made = self._answer()
            return made if isinstance(made, Result) else made.execute()

        return await self._run(executed)

    async def df(self) -> Any:
        """A pandas DataFrame."""
        return await self._told("df")

    async def pl(self, lazy: bool = False) -> Any:
        """A polars DataFrame, or a LazyFrame over it."""
        return await self._told("pl", lazy)

    async def arrow(self) -> Any:
        """A pyarrow Table."""
        return await self._told("arrow")

    async def arrow_reader(self) -> Any:
        """A pyarrow RecordBatchReader."""
        return await self._told("arrow_reader")

    async def numpy(self) -> dict[str, Any]:
        """A dict of numpy arrays."""
        return await self._told("numpy")

    fetchdf, fetchnumpy, fetch_arrow_table = df, numpy, arrow
    to_df, to_arrow_table = df, arrow

    async def to_dicts(self) -> list[dict[str, Any]]:
        """A list of dicts by name."""
        return await self._told("to_dicts")

    async def fetchall(self) -> list[Row]:
        """The rows as tuples: those that `fetchone` and `fetchmany` have left. Then it is at its beginning again."""

        def left() -> list[Row]:
            result, self._fetched = self._rows(), None
            return fetched(result, None)

        return await self._run(left)

    async def fetchmany(self, size: int = 1) -> list[Row]:
        """The next rows, at most `size`."""
        return await self._run(lambda: fetched(self._rows(), _relation.counted(size)))

    async def fetchone(self) -> Row | None:
        """The next row, None at the end."""
        return await self._run(lambda: self._rows().fetchone())

    async def __aiter__(self) -> AsyncIterator[Row]:
        result = await self._told("execute")
        while rows := await self._run(lambda: result.fetchmany(_BATCH)):
            for row in rows:
                yield row

    async def bytes(self) -> bytes:
        """Its rows as CSV."""
        return await self._told("bytes")

    async def data(self) -> str:
        """Its rows as CSV text."""
        return await self._told("data")

    async def query(self) -> str:
        """The text of the query; a step names the relation that it was made of."""
        return await self._run(lambda: self._relation().query)

    async def columns(self) -> list[str]:
        """Names of the columns."""
        return await self._run(lambda: self._relation().columns)

    async def types(self) -> list[str]:
        """Types of the columns, as SQL text."""
        return await self._run(lambda: self._relation().types)

    dtypes = types

    async def description(self) -> list[tuple[str, str, None, None, None, None, None]]:
        """Seven values a column, see `chalet.Relation.description`."""
        return await self._run(lambda: self._relation().description)

    async def shape(self) -> tuple[int, int]:
        """Rows, which are counted for that, and columns."""
        return await self._run(lambda: self._relation().shape)

    async def explain(self, kind: str = "PLAN") -> str:
        """How it would run, see `chalet.Relation.explain`."""
        return await self._told("explain", kind)

    async def show(self, n: int = 20) -> None:
        """Prints the first `n` rows."""
        await self._told("show", n)

    # --- steps ------------------------------------------------------------------------------------------------------

    def _step(self, name: str, *args: Any, **kwargs: Any) -> Relation:
        def made() -> _relation.Relation:
            given = [other._relation() if isinstance(other, Relation) else other for other in args]
            return getattr(self._relation(), name)(*given, **kwargs)

        text = f"{self._text}.{name}({', '.join(map(_shown, args))})"
        return Relation(self._worker, made, self._timeout, text)

    def __repr__(self) -> str:
        return f"<chalet.aio.Relation {self._text}>"

    def alias(self, name: str) -> Relation:
        """The same under a name for the expressions of its steps and joins."""
        return self._step("alias", name)

    set_alias = alias

    def filter(self, condition: str, *, params: Mapping[str, Any] | None = None) -> Relation:
        """The rows for which an SQL expression holds."""
        return self._step("filter", condition, params=params)

    where = filter

    def select(self, *expressions: str | Sequence[str], params: Mapping[str, Any] | None = None) -> Relation:
        """Columns of SQL expressions."""
        return self._step("select", *expressions, params=params)

    project = select

    def aggregate(
        self, aggregates: str | Sequence[str], groups: str | Sequence[str] = "", *, params: Mapping[str, Any] | None = None
    ) -> Relation:
        """Columns of SQL expressions with aggregate functions, for each group."""
        return self._step("aggregate", aggregates, groups, params=params)

    def order(self, *keys: str | Sequence[str], params: Mapping[str, Any] | None = None) -> Relation:
        """The rows in order of SQL expressions."""
        return self._step("order", *keys, params=params)

    sort = order

    def limit(self, n: int, offset: int = 0) -> Relation:
        """The first `n` rows behind `offset` ones."""
        return self._step("limit", n, offset)

    def distinct(self) -> Relation:
        """Each row once."""
        return self._step("distinct")

    def join(
        self,
        other: Any,
        on: str | Sequence[str] | None = None,
        how: str = "inner",
        *,
        params: Mapping[str, Any] | None = None,
    ) -> Relation:
        """The rows of two relations side by side, see `chalet.Relation.join`. Relations of asyncio must be of one connection."""
        return self._step("join", other, on, how, params=params)

    def union(self, other: Any, *, distinct: bool = False) -> Relation:
        """The rows of both, with `distinct` each once."""
        return self._step("union", other, distinct=distinct)

    def intersect(self, other: Any) -> Relation:
        """The rows that are in both."""
        return self._step("intersect", other)

    def except_(self, other: Any) -> Relation:
        """The rows that are not in the other."""
        return self._step("except_", other)

    def describe(self) -> Relation:
        """Its columns: `name` and `type`."""
        return self._step("describe")

    def summarize(self) -> Relation:
        """What the values of each column are like, see `chalet.Relation.summarize`."""
        return self._step("summarize")


def _shown(given: Any) -> str:
    """What was given to a step, for who looks at it. A frame would be too much."""
    if isinstance(given, Relation):
        return repr(given)
    return repr(given) if isinstance(given, (str, int, list, type(None))) else f"<{type(given).__name__}>"
