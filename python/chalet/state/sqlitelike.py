"""Connections and what they give, under the names that chDB has for them."""

from __future__ import annotations

from typing import Any

from .._chalet import Connection, Cursor, Error, InsertResult, StreamingInserter, StreamingResult
from .._frame import ChdbRecordBatchReader, to_arrowTable, to_datastore

ChdbError = Error


def connect(connection_string: str = ":memory:") -> Connection:
    """Opens a database, see `chalet.connect`."""
    return Connection(connection_string)


__all__: list[Any] = [
    "ChdbError",
    "ChdbRecordBatchReader",
    "Connection",
    "Cursor",
    "InsertResult",
    "StreamingInserter",
    "StreamingResult",
    "connect",
    "to_arrowTable",
    "to_datastore",
]
