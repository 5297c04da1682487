"""Connections of DB-API 2.0."""

from __future__ import annotations

from typing import Any

from .. import _chalet
from . import err
from .converters import escape_item, escape_string
from .cursors import Cursor

DEBUG = False
VERBOSE = False


class Connection:
    """A connection. As a context manager it gives a cursor, and closes at the end."""

    Warning = err.Warning
    Error = err.Error
    InterfaceError = err.InterfaceError
    DatabaseError = err.DatabaseError
    DataError = err.DataError
    OperationalError = err.OperationalError
    IntegrityError = err.IntegrityError
    InternalError = err.InternalError
    ProgrammingError = err.ProgrammingError
    NotSupportedError = err.NotSupportedError

    def __init__(self, path: str | None = None) -> None:
        self._connection: _chalet.Connection | None = _chalet.Connection(":memory:" if path is None else path)
        self._resp: str | None = None

    def _open(self) -> _chalet.Connection:
        if self._connection is None:
            raise err.InterfaceError("Connection closed")
        return self._connection

    def cursor(self, cursor: type[Cursor] | None = None) -> Cursor:
        """A new cursor, of another class where one is given."""
        self._open()
        return (cursor or Cursor)(self)

    def query(self, sql: str, fmt: str = "CSV") -> Any:
        """Runs statements and returns the result, see `chalet.Connection.query`."""
        result = self._open().query(sql, fmt)
        self._resp = result.data() if isinstance(result, _chalet.Result) else None
        return result

    @property
    def resp(self) -> str | None:
        """The text of the last `query`."""
        return self._resp

    @property
    def open(self) -> bool:
        """Can the connection be used?"""
        return self._connection is not None

    def escape(self, obj: Any, mapping: dict[type, Any] | None = None) -> str:
        """A value as a literal of SQL, for texts that are made by hand. Prefer placeholders."""
        return escape_item(obj, mapping)

    def escape_string(self, s: str) -> str:
        """The inside of a string literal."""
        return escape_string(s)

    def commit(self) -> None:
        """Does nothing: every statement stands on its own."""
        self._open()

    def rollback(self) -> None:
        """Does nothing: there is no transaction that could be undone."""
        self._open()

    def close(self) -> None:
        """Ends the connection. A second time is an error, as PEP 249 wants it."""
        connection, self._connection = self._open(), None
        connection.close()

    def __enter__(self) -> Cursor:
        return self.cursor()

    def __exit__(self, *_exception: Any) -> None:
        if self._connection is not None:
            self.close()

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
