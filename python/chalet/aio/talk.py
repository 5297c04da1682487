"""One text of statements on its way to a server: the event loop waits for the socket, and rows are decoded between two waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._chalet import Call

if TYPE_CHECKING:
    from .. import _chalet
    from .server import ServerConnection

# What a step says is to be waited for, as `_chalet.Conversation` numbers it.
_DONE, _READ, _WRITE, _CONNECT, _AGAIN, _ROWS = range(6)

# Seconds after which it is looked whether the time of a silent server is over.
_LOOK = 1.0


class Talk:
    """A conversation that has a place among those of its connection while it runs: at most `pool_size` do."""

    def __init__(self, connection: ServerConnection, conversation: _chalet.Conversation, timeout: float | None) -> None:
        self._connection = connection
        self._conversation = conversation
        self._call = Call(timeout)
        self._ends = None if timeout is None else asyncio.get_running_loop().time() + timeout
        self._has_place = False
        self._interrupted = False
        self._woken: asyncio.Future[None] | None = None

    async def rows(self, timeout: float | None = None) -> Any:
        """Rows that have come, None when the statements are done. After `timeout` seconds, or when the time of the whole is
        over, the conversation is ended. Cancelled, too: the server is told, and the socket closed."""
        loop = asyncio.get_running_loop()
        limit = Call(timeout)
        ends = None if timeout is None else loop.time() + timeout
        call = self._call if ends is None or (self._ends is not None and self._ends < ends) else limit
        if ends is None or (self._ends is not None and self._ends < ends):
            ends = self._ends
        clock = asyncio.timeout_at(ends)
        try:
            async with clock:
                if not self._has_place:
                    await self._connection.enter(self)
                    self._has_place = True
                return await self._steps(loop)
        except TimeoutError:
            self.end()
            if clock.expired():
                call.expire()
            raise
        except BaseException:
            self.end()
            raise

    async def _steps(self, loop: asyncio.AbstractEventLoop) -> Any:
        conversation = self._conversation
        while True:
            if self._interrupted:
                self._call.stop()
                self._call.run(int)
            kind, patience, rows = conversation.step()
            if kind == _DONE:
                return None
            if kind == _ROWS:
                return rows
            if kind == _CONNECT:
                await loop.run_in_executor(None, conversation.connect)
            elif kind == _AGAIN:
                await asyncio.sleep(0)
            else:
                if patience:
                    await asyncio.sleep(patience)
                await self._ready(loop, conversation.fileno(), kind == _WRITE)

    async def _ready(self, loop: asyncio.AbstractEventLoop, fd: int, writes: bool) -> None:
        woken = self._woken = loop.create_future()
        add, remove = (loop.add_writer, loop.remove_writer) if writes else (loop.add_reader, loop.remove_reader)
        add(fd, _wake, woken)
        timer = loop.call_later(_LOOK, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()
            remove(fd)

    async def answer(self) -> Any:
        """What the statements gave."""
        while await self.rows() is not None:
            pass
        answer = self._conversation.answer()
        self.end()
        return answer

    def interrupt(self) -> None:
        """Lets who waits for it, or will, raise QUERY_WAS_CANCELLED."""
        self._interrupted = True
        if self._woken is not None:
            _wake(self._woken)

    def end(self) -> None:
        """Gives up what is not done, and its place. May be called again."""
        self._conversation.stop()
        if self._has_place:
            self._has_place = False
            self._connection.leave(self)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
