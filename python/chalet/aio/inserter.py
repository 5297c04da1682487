"""An INSERT in pieces, for asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._chalet import Call, InterfaceError
from .worker import Awaited, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import _chalet


class StreamingInserter(Awaited):
    """`chalet.StreamingInserter` to be awaited. `async with` cancels what was not finished."""

    def __init__(self, begin: Callable[[], _chalet.StreamingInserter]) -> None:
        self._start = begin
        self._inserter: _chalet.StreamingInserter | None = None
        self._worker = Worker("chalet-aio-insert")

    async def _begin(self) -> StreamingInserter:
        if self._inserter is None:
            self._inserter = await self._worker.run(Call(), self._start)
        return self

    def _open(self) -> _chalet.StreamingInserter:
        if self._inserter is None:
            raise InterfaceError("The insert has not begun: await it first")
        return self._inserter

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return await self._worker.run(Call(), function, *args)
        except asyncio.CancelledError:
            self._worker.close()
            raise

    async def append(self, data: str | bytes | bytearray | memoryview) -> None:
        """Adds data; waits while more is there than the engine has read. Cancelling does not take back what was added."""
        await self._run(self._open().append, data)

    async def finish(self) -> _chalet.InsertResult:
        """Ends the data and waits until the rows are in the table."""
        result = await self._run(self._open().finish)
        self._worker.close()
        return result

    async def cancel(self) -> None:
        """Gives the insert up: nothing of it is in the table. May be called again."""
        if self._inserter is not None:
            self._inserter.cancel()
        self._worker.close()

    close = cancel
