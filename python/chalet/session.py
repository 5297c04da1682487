"""`Session`: a connection under the name and with the arguments that users of chDB know."""

from ._chalet import Connection


class Session:
    """Keeps tables, settings and the current database between queries. `path` None means in memory."""

    def __init__(self, path=None):
        self._connection = Connection(":memory:" if path is None else path)

    def query(self, sql, fmt="CSV", udf_path="", params=None, *, tables=None):
        """Runs statements, see `chalet.query`. `udf_path` is accepted and must be empty."""
        if udf_path:
            raise ValueError("udf_path is not supported")
        return self._connection.query(sql, fmt, params, tables=tables)

    sql = query

    def interrupt(self):
        """Stops the running query from another thread."""
        self._connection.interrupt()

    def close(self):
        """Ends the session; an in-memory database ends with it."""
        self._connection.close()

    cleanup = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
