"""A thread that runs calls one after the other for coroutines that wait for them."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from .._chalet import Call

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Worker:
    """Starts its thread with the first call; ends it when closed, or when nobody has it any more."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        # Those that run or wait.
        self._calls: set[Call] = set()

    async def run(self, call: Call, function: Callable[..., T], *args: Any, timeout: float | None = None, **kwargs: Any) -> T:
        """What `function(*args, **kwargs)` returns or raises. The call stops when the task is cancelled, and after `timeout`
        seconds, also those spent waiting for earlier calls."""
        future: Future[T] = self._executor.submit(call.run, function, *args, **kwargs)
        waited = asyncio.wrap_future(future)
        self._calls.add(call)
        try:
            done, _ = await asyncio.wait((waited,), timeout=timeout)
            if not done and future.cancel():
                # It has waited for other calls only.
                call.expire()
            return await waited
        except asyncio.CancelledError:
            call.stop()
            waited.cancel()
            raise
        finally:
            self._calls.discard(call)

    def stop(self) -> None:
        """Stops the calls that run or wait."""
        for call in self._calls:
            call.stop()

    def close(self) -> None:
        """Takes no more calls; its thread ends when it has run those that it has."""
        self._executor.shutdown(wait=False)


class Awaited:
    """What has methods to be awaited: `await it`, `async with it`, or `async with await it`."""

    def __await__(self) -> Any:
        return self._begin().__await__()

    async def _begin(self) -> Any:
        return self

    async def __aenter__(self) -> Any:
        return await self._begin()

    async def __aexit__(self, *_exception: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends it. May be called again."""
        raise NotImplementedError
