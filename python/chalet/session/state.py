"""`Session`: a connection under the name and with the arguments that users of chDB know."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .._chalet import Connection, InterfaceError, NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._chalet import StreamingInserter, StreamingResult


class Session:
    """Keeps tables, settings and the current database between queries. `path` None means in memory; it may be any
    connection string.

    >>> with chalet.session.Session() as session:
    ...     _ = session.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
    ...     _ = session.query("INSERT INTO t VALUES (1), (2)")
    ...     session.query("SELECT count(), sum(x) FROM t", "JSONEachRow").data()
    '{"count()":2,"sum(x)":3}\\n'
    """

    def __init__(self, path: str | None = None) -> None:
        self._conn: Connection | None = None
        self._path = ":memory:" if path is None else str(path)
        self._conn = Connection(self._path)

    def _open(self) -> Connection:
        if self._conn is None:
            raise InterfaceError("The session is closed")
        return self._conn

    def query(
        self,
        sql: str,
        fmt: str | None = "CSV",
        udf_path: str = "",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Runs statements, see `Connection.query`. Python functions need no `udf_path`."""
        check_udf_path(udf_path)
        if fmt is not None and fmt.lower() == "debug":
            warnings.warn("the format Debug is CSV: there is no log of the engine to show", stacklevel=2)
        return self._open().query(sql, fmt, params, tables=tables, timeout=timeout)

    sql = query

    def send_query(
        self,
        sql: str,
        fmt: str = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> StreamingResult:
        """Sends one query whose rows are fetched while it runs, see `Connection.send_query`."""
        return self._open().send_query(sql, fmt, params, tables=tables, timeout=timeout)

    def send_insert(self, query: str, fmt: str = "CSV") -> StreamingInserter:
        """Begins an INSERT whose data are appended in pieces, see `Connection.send_insert`."""
        return self._open().send_insert(query, fmt)

    def generate_sql(self, prompt: str) -> str:
        """SQL from words needs a language model, which is not part of this package."""
        return self._open().generate_sql(prompt)

    def ask(self, prompt: str, **kwargs: Any) -> Any:
        """See `generate_sql`."""
        return self._open().ask(prompt, **kwargs)

    def interrupt(self) -> None:
        """Stops the running query from another thread."""
        self._open().interrupt()

    def close(self) -> None:
        """Ends the session; an in-memory database ends with it. May be called again."""
        connection, self._conn = self._conn, None
        if connection is not None:
            connection.close()

    def cleanup(self) -> None:
        """`close` under its other name."""
        self.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_conn", None) is not None:
            self.close()


def check_udf_path(udf_path: str) -> None:
    """Fails for a folder of executable functions: those of `chalet.udf` run in this process."""
    if udf_path:
        raise NotSupportedError(
            f"udf_path={udf_path!r}: executable functions are not supported. Functions of chalet.udf need no path"
        )
