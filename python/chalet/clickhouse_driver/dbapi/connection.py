"""A connection of clickhouse-driver's DB-API: each cursor has a client of its own; those of a path share the database."""

from __future__ import annotations

from typing import Any

from ..client import Client
from .cursor import Cursor
from .errors import InterfaceError


class Connection:
    """Connects when the first statement runs. The arguments are those of `connect`."""

    def __init__(
        self,
        dsn: str | None = None,
        host: Any = None,
        user: str = "default",
        password: str = "",
        port: int | None = None,
        database: str = "",
        **others: Any,
    ) -> None:
        if dsn is None and host is None:
            raise ValueError("host or dsn is required")
        self.cursors: list[Cursor] = []
        self.is_closed = False
        self.dsn, self.host, self.port = dsn, host, port
        self.user, self.password, self.database = user, password, database
        self.connection_kwargs = others
        self._first: Client | None = None

    def _client(self) -> Client:
        if self.dsn is not None:
            made = Client.from_url(self.dsn)
        else:
            made = Client(self.host, self.port, self.database, self.user, self.password, **self.connection_kwargs)
        if not made._is_local:
            return made
        if self._first is None:
            self._first = made
        shared = Client(connection=self._first.connection, settings=self._first.settings)
        shared.client_settings = dict(self._first.client_settings)
        return shared

    def cursor(self, cursor_factory: Any = None) -> Any:
        """A new cursor."""
        if self.is_closed:
            raise InterfaceError("connection already closed")
        made = (cursor_factory or Cursor)(self._client(), self)
        self.cursors.append(made)
        return made

    def commit(self) -> None:
        """Does nothing: every statement stands on its own."""

    def rollback(self) -> None:
        """Does nothing: what was written stays."""

    def close(self) -> None:
        """Closes its cursors, and a database that it has opened. May be called again."""
        for cursor in list(self.cursors):
            cursor.close()
        self.is_closed = True
        first, self._first = self._first, None
        if first is not None:
            first.disconnect()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<chalet.clickhouse_driver.dbapi.Connection closed={self.is_closed}>"
