"""DB-API 2.0 (PEP 249).

Placeholders are `%s`, `?` and `%(name)s`; values are bound by the engine and never pasted into the text.

>>> from chalet import dbapi
>>> with dbapi.connect() as cursor:
...     _ = cursor.execute("CREATE TABLE t (id UInt32, name String) ENGINE = Memory")
...     cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(1, "it's"), (2, "other")])
...     _ = cursor.execute("SELECT * FROM t WHERE id < %(most)s", {"most": 2})
...     cursor.fetchall()
2
((1, "it's"),)
"""

from __future__ import annotations

from typing import Any

from .. import _version
from .._chalet import __version__
from .connections import Connection as _Connection
from .constants import FIELD_TYPE
from .err import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    StandardError,
    Warning,
)
from .times import Date, DateFromTicks, Time, TimeFromTicks, Timestamp, TimestampFromTicks
from .types import DBAPISet

apilevel = "2.0"
# Threads may share connections: statements wait for each other.
threadsafety = 2
paramstyle = "format"

_F = FIELD_TYPE
STRING = DBAPISet((_F.ENUM, _F.STRING, _F.VAR_STRING), ("String", "FixedString", "Enum8", "Enum16", "UUID", "IPv4", "IPv6"))
BINARY = DBAPISet((_F.BLOB, _F.LONG_BLOB, _F.MEDIUM_BLOB, _F.TINY_BLOB), ("String", "FixedString"))
NUMBER = DBAPISet(
    (_F.DECIMAL, _F.DOUBLE, _F.FLOAT, _F.INT24, _F.LONG, _F.LONGLONG, _F.TINY, _F.YEAR),
    ("Bool", "BFloat16", "Float32", "Float64", "Decimal")
    + tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256)),
)
DATE = DBAPISet((_F.DATE, _F.NEWDATE), ("Date", "Date32"))
TIME = DBAPISet((_F.TIME,), ("Time", "Time64"))
TIMESTAMP = DATETIME = DBAPISet((_F.TIMESTAMP, _F.DATETIME), ("DateTime", "DateTime64"))
ROWID = DBAPISet((), ())

NULL = "NULL"
VERSION_STRING = __version__
chdb_version = _version.chalet_version


def Binary(x: Any) -> bytes:
    """The argument as bytes: for a str its UTF-8."""
    return x.encode() if isinstance(x, str) else bytes(x)


def Connect(*args: Any, **kwargs: Any) -> _Connection:
    """Opens a database: `connect(path=None)`, see `chalet.connect`."""
    return _Connection(*args, **kwargs)


connect = Connection = Connect


def get_client_info() -> str:
    """The version of this package."""
    return VERSION_STRING


__all__ = [
    "BINARY",
    "DATE",
    "DATETIME",
    "DBAPISet",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "FIELD_TYPE",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NULL",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "StandardError",
    "TIME",
    "TIMESTAMP",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "VERSION_STRING",
    "Warning",
    "Binary",
    "Connect",
    "Connection",
    "apilevel",
    "chdb_version",
    "connect",
    "get_client_info",
    "paramstyle",
    "threadsafety",
]
