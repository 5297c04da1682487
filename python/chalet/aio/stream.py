"""Rows of a query while it runs, for asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._chalet import Call
from .worker import Awaited, Worker

if TYPE_CHECKING:
    from .. import _chalet


class StreamingResult(Awaited):
    """`chalet.StreamingResult` to be awaited: `async for chunk in stream`, or `await stream.fetch()`. Leaving `async with`, and
    cancelling a task that waits for rows, ends the query."""

    def __init__(self, stream: _chalet.StreamingResult) -> None:
        self._stream = stream
        self._worker = Worker("chalet-aio-stream")

    async def fetch(self, timeout: float | None = None) -> Any:
        """The next rows: a `Result`, or a DataFrame or pyarrow Table; None at the end. After `timeout` seconds without any
        the query is ended and TIMEOUT_EXCEEDED raised."""
        try:
            return await self._worker.run(Call(timeout), self._stream.fetch, timeout=timeout)
        except asyncio.CancelledError:
            self._stream.close()
            raise

    def __aiter__(self) -> StreamingResult:
        return self

    async def __anext__(self) -> Any:
        chunk = await self.fetch()
        if chunk is None:
            self._worker.close()
            raise StopAsyncIteration
        return chunk

    async def close(self) -> None:
        """Ends the query; what was not fetched is gone. May be called again."""
        self._stream.close()
        self._worker.close()

    async def cancel(self) -> None:
        """`close` under its other name."""
        await self.close()
