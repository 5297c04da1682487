"""`Pool` of asynch: so many connections at most, for as many tasks."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from .connection import Connection
from .errors import AsynchPoolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Pool:
    """Connections that are kept for the next task; further arguments are those of each `Connection`. One that does not answer any more is
    replaced when its turn comes, unless it has answered within `liveness_grace` seconds; one that nobody has wanted for `idle_timeout`
    seconds is closed, as long as `minsize` are left."""

    def __init__(
        self, minsize: int = 1, maxsize: int = 10, idle_timeout: float | None = None, liveness_grace: float = 1.0, **kwargs: Any
    ) -> None:
        if maxsize < 1:
            raise ValueError("maxsize is expected to be greater than zero")
        if minsize < 0:
            raise ValueError("minsize is expected to be greater or equal to zero")
        if minsize > maxsize:
            raise ValueError("minsize is greater than maxsize")
        if idle_timeout is not None and idle_timeout <= 0:
            raise ValueError("idle_timeout is expected to be greater than zero")
        self.minsize, self.maxsize = minsize, maxsize
        self._idle_timeout, self._grace = idle_timeout, liveness_grace
        self._arguments = kwargs
        self._places = asyncio.Semaphore(maxsize)
        # With the time at which each was heard of; the one that came back last is the next to go.
        self._free: list[tuple[float, Connection]] = []
        self._acquired: set[Connection] = set()
        self.opened = self.closed = False

    async def __aenter__(self) -> Pool:
        return await self.startup()

    async def __aexit__(self, *exception: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"<Pool(minsize={self.minsize}, maxsize={self.maxsize}) object at {id(self):#x}; status: {self.status}>"

    @property
    def status(self) -> str:
        """`created`, `opened` or `closed`."""
        return "opened" if self.opened else "closed" if self.closed else "created"

    @property
    def acquired_connections(self) -> int:
        """Connections that tasks have."""
        return len(self._acquired)

    @property
    def free_connections(self) -> int:
        """Connections that nobody has."""
        return len(self._free)

    async def startup(self) -> Pool:
        """Opens the first connections."""
        if not self.opened:
            try:
                made = await asyncio.gather(*(self._made() for _ in range(self.minsize)))
            except Exception as error:
                raise AsynchPoolError(f"failed to create the {self.minsize} connection(s) for the {self}") from error
            self._free += [(time.monotonic(), connection) for connection in made]
            self.opened, self.closed = True, False
        return self

    async def shutdown(self) -> None:
        """Closes all connections, also those that tasks have."""
        free, self._free = self._free, []
        acquired, self._acquired = self._acquired, set()
        self.opened, self.closed = False, True
        for connection in [*(connection for _, connection in free), *acquired]:
            await connection.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for one task; others wait for it where there are no more."""
        async with self._places:
            connection = await self._taken()
            self._acquired.add(connection)
            try:
                yield connection
            finally:
                self._acquired.discard(connection)
                await self._given_back(connection)

    async def _made(self) -> Connection:
        connection = Connection(**self._arguments)
        await connection.connect()
        return connection

    async def _taken(self) -> Connection:
        if self.closed:
            raise AsynchPoolError(f"no free connection in {self}")
        while self._free:
            heard, connection = self._free.pop()
            if connection.opened and (time.monotonic() - heard <= self._grace or await connection.is_live()):
                return connection
            await connection.close()
        return await self._made()

    async def _given_back(self, connection: Connection) -> None:
        if self.closed or not connection.opened:
            with suppress(Exception):
                await connection.close()
            return
        self._free.append((time.monotonic(), connection))
        if self._idle_timeout is None:
            return
        while len(self._free) + len(self._acquired) > self.minsize and time.monotonic() - self._free[0][0] >= self._idle_timeout:
            _, idle = self._free.pop(0)
            await idle.close()
