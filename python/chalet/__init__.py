"""An embedded analytical SQL database: the ClickHouse dialect, in this process.

    import chalet
    chalet.query("SELECT carrier, count() FROM file('flights.csv') GROUP BY carrier", "Pretty").show()

    with chalet.connect() as db:
        db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
        frame = db.sql("SELECT x FROM t").df()
"""

from . import session
from ._chalet import Connection, Cursor, Error, MemoryView, Result, __version__

ChdbError = Error

__all__ = [
    "ChdbError",
    "Connection",
    "Cursor",
    "Error",
    "MemoryView",
    "Result",
    "__version__",
    "connect",
    "query",
    "session",
    "sql",
]


def connect(path=":memory:"):
    """Opens a database: a path, or `:memory:` for one that lives as long as its connection."""
    return Connection(path)


def query(sql, fmt="CSV", params=None, *, path=":memory:", tables=None):
    """Runs statements in a database of their own and returns the output in a format of ClickHouse.

    `fmt` may also be "DataFrame" (pandas) or "ArrowTable" (pyarrow). `params` gives values to `{name:Type}`,
    `tables` names to objects; a name that is no table is looked up in the caller's variables.
    """
    with Connection(path) as connection:
        return connection.query(sql, fmt, params, tables=tables)


sql = query
