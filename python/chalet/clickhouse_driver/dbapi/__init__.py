"""The DB-API of clickhouse-driver: `from chalet.clickhouse_driver.dbapi import connect`."""

from __future__ import annotations

from typing import Any

from .connection import Connection
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
    Warning,
)

apilevel = "2.0"
threadsafety = 2
paramstyle = "pyformat"


def connect(
    dsn: str | None = None,
    host: Any = None,
    user: str = "default",
    password: str = "",
    port: int | None = None,
    database: str = "",
    **others: Any,
) -> Connection:
    """A connection to the server at `dsn` or `host`, or to a database in the process, where that is a path."""
    return Connection(dsn, host, user, password, port, database, **others)


__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Warning",
    "connect",
]
