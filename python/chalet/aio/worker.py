"""A thread that runs calls one after the other for coroutines that wait for them."""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from .._chalet import Call, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# What the engine raises in threads that are left when the interpreter ends.
_ENDING = "The interpreter is ending"


class Worker:
    """Starts its thread with the first call; ends it when closed, or when nobody has it any more.

    The thread is a daemon, other than those of `concurrent.futures`: a program that ends does not wait for its query.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[Any] | None = None
        self._end: weakref.finalize | None = None
        # Those that run or wait.
        self._calls: set[Call] = set()

    def _submit(self, *called: Any) -> Future[Any]:
        if self._queue is None:
            self._queue = SimpleQueue()
            threading.Thread(target=_serve, args=(self._queue,), name=self._name, daemon=True).start()
            self._end = weakref.finalize(self, self._queue.put, None)
            self._end.atexit = False
        elif self._end is not None and not self._end.alive:
            raise InterfaceError("It is closed")
        future: Future[Any] = Future()
        self._queue.put((future, *called))
        return future

    async def run(self, call: Call, function: Callable[..., T], *args: Any, timeout: float | None = None, **kwargs: Any) -> T:
        """What `function(*args, **kwargs)` returns or raises. The call stops when the task is cancelled, and after `timeout`
        seconds, also those spent waiting for earlier calls."""
        future = self._submit(call, function, args, kwargs)
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
        if self._end is not None:
            self._end()


def _serve(queue: SimpleQueue[Any]) -> None:
    while (item := queue.get()) is not None:
        future, call, function, args, kwargs = item
        if future.set_running_or_notify_cancel():
            try:
                answer = call.run(function, *args, **kwargs)
            except BaseException as error:
                if isinstance(error, SystemExit) and error.code == _ENDING:
                    # And with it whoever waits.
                    return
                future.set_exception(error)
            else:
                future.set_result(answer)
                del answer
        # Nothing is kept while it waits.
        del item, future, call, function, args, kwargs


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
