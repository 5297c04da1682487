"""The same database for asyncio: statements are awaited, and cancelling the task that waits stops the query.

    import asyncio, chalet.aio

    async def main():
        async with chalet.aio.connect() as db:
            frame = await db.query("SELECT number AS n FROM numbers(10)", "DataFrame")
            async with db.send_query("SELECT number FROM numbers(1000000000)", "JSONEachRow") as stream:
                async for chunk in stream:
                    ...

    asyncio.run(main())

>>> import asyncio
>>> async def both():
...     async with chalet.aio.connect() as db:
...         found = await asyncio.gather(*(db.query(f"SELECT {n} * 2") for n in (1, 2)))
...         rows = [row async for row in await db.execute("SELECT number FROM numbers(3)")]
...         return [one.data() for one in found], rows
>>> asyncio.run(both())
(['2\\n', '4\\n'], [(0,), (1,), (2,)])

Queries run on threads without the GIL, so that the event loop goes on. Statements of one connection run one after the other,
in the order in which they were first awaited; connections, and streams of one connection, run beside each other. What a query answers
is the same as without asyncio: its rows are in memory, and nothing of it is to be awaited.
"""

from __future__ import annotations

from .connection import Connection, connect, query
from .cursor import Cursor
from .inserter import StreamingInserter
from .relation import Relation
from .stream import StreamingResult

sql = query

__all__ = ["Connection", "Cursor", "Relation", "StreamingInserter", "StreamingResult", "connect", "query", "sql"]
