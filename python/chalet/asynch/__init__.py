"""asynch's way to talk to ClickHouse, for asyncio: `from chalet.asynch import connect, Connection, Pool, DictCursor`."""

from __future__ import annotations

from typing import Any

from .connection import Connection
from .cursors import Cursor, DictCursor
from .errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004
)
from .pool import Pool

apilevel = "2.0"
threadsafety = 1
paramstyle = "pyformat"


def connect(dsn: str | None = None, **kwargs: Any) -> Connection:
    """A connection, which `async with` opens."""
    return Connection(dsn=dsn, **kwargs)


__all__ = [
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "DictCursor",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Pool",
    "ProgrammingError",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
