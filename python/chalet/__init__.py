"""An embedded analytical SQL database: the ClickHouse dialect, in this process.

    import chalet
    chalet.query("SELECT carrier, count() FROM file('flights.csv') GROUP BY carrier", "Pretty").show()

    with chalet.connect() as db:
        db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
        frame = db.sql("SELECT x FROM t").df()

The names, arguments and results of chDB work here too: `import chalet as chdb`. What takes long to import is imported when
it is first used.
"""

from __future__ import annotations

from ._chalet import (
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Error,
    InsertResult,
    IntegrityError,
    InterfaceError,
    InternalError,
    MemoryView,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Result,
    StandardError,
    StreamingInserter,
    StreamingResult,
    Warning,
    __version__,
)

# The module typing itself would be a third of this import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any

ChdbError = Error

# Where a name is found that is not there until it is asked for.
_LAZY = {
    **dict.fromkeys(
        ("create_function", "drop_function", "create_aggregate_function", "drop_aggregate_function"), "_functions"
    ),
    **dict.fromkeys(("NullHandling", "ExceptionHandling"), "_functions"),
    **dict.fromkeys(("func", "agg"), "udf"),
    **dict.fromkeys(("PyReader", "PyWriter"), "rwabc"),
    "Relation": "_relation",
    "Profile": "_profile",
    "Pipeline": "_pipeline",
    **dict.fromkeys(("to_arrowTable", "to_datastore"), "_frame"),
    **dict.fromkeys(("chalet_version", "engine_version", "core_version"), "_version"),
    **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "_magic"),
    **dict.fromkeys(("apilevel", "threadsafety", "paramstyle", "Binary", "STRING", "BINARY", "NUMBER", "DATETIME"), "dbapi"),
    **dict.fromkeys(("ROWID", "Date", "Time", "Timestamp", "DateFromTicks", "TimeFromTicks"), "dbapi"),
    **dict.fromkeys(("TimestampFromTicks", "get_client_info"), "dbapi"),
}
_MODULES = (
    *("adbc", "aio", "clickhouse_connect", "clickhouse_driver", "dataframe", "dbapi", "rwabc"),
    *("session", "sqltypes", "state", "udf", "utils"),
)

# Where chDB writes executable functions, and what guards its one connection: nothing here, nothing to guard.
g_udf_path = ""

__all__ = [
    "ChdbError",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "ExceptionHandling",
    "InsertResult",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "MemoryView",
    "NotSupportedError",
    "NullHandling",
    "OperationalError",
    "Pipeline",
    "Profile",
    "ProgrammingError",
    "PyReader",
    "Relation",
    "Result",
    "StreamingInserter",
    "StreamingResult",
    "__version__",
    "aio",
    "chdb_version",
    "connect",
    "create_aggregate_function",
    "create_function",
    "dbapi",
    "drop_aggregate_function",
    "drop_function",
    "engine_version",
    "func",
    "query",
    "session",
    "sql",
    "sqltypes",
    "state",
    "to_arrowTable",
    "to_datastore",
    "udf",
    "utils",
]


def connect(connection_string: str | PathLike[str] = ":memory:") -> Connection:
    """Opens a database: `:memory:` for one that lives as long as its connection, with options behind a `?`:
    `:memory:?mode=ro&progress=auto&max_threads=2`. Anything else is the path of a folder in which the database is kept, and
    which is made when it is not there. One process can write it at a time; others read it with `?mode=ro`.

    `clickhouse://user:password@host:9000/database` is a ClickHouse server, which runs all statements; rows, formats and errors
    are the same. Objects of the caller are no tables there.

    >>> with chalet.connect() as db:
    ...     _ = db.execute("CREATE TABLE t (x UInt64) ENGINE = Memory")
    ...     _ = db.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    ...     db.execute("SELECT count(), sum(x) FROM t").fetchone()
    (2, 3)
    """
    return Connection(connection_string)


def query(
    sql: str,
    output_format: str = "CSV",
    path: str = "",
    udf_path: str = "",
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    tables: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Any:
    """Runs statements in a database of their own and returns the output in a format of ClickHouse.

    `output_format` may also be "DataFrame" (pandas) or "ArrowTable" (pyarrow). `params` gives values to `{name:Type}`.
    `tables` gives objects to names; a name that is no table is looked up in the caller's variables. `options` are those of a
    connection string: `progress`, or settings of ClickHouse. After `timeout` seconds it raises TIMEOUT_EXCEEDED.

    >>> chalet.query("SELECT number, number * number FROM numbers(3)").data()
    '0,0\\n1,1\\n2,4\\n'
    >>> people = [{"name": "Ada", "born": 1815}, {"name": "Alan", "born": 1912}]
    >>> chalet.query("SELECT name FROM people WHERE born < {year:UInt16}", "TSV", params={"year": 1900}).data()
    'Ada\\n'
    """
    if udf_path:
        from .session.state import check_udf_path

        check_udf_path(udf_path)
    place = str(path or ":memory:")
    if options:
        from urllib.parse import urlencode

        place += ("&" if "?" in place else "?") + urlencode(options)
    with Connection(place) as connection:
        return connection.query(sql, output_format, params, tables=tables, timeout=timeout)


sql = query


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    elif name == "chdb_version":
        value = import_module("._version", __name__).chalet_version
    elif name == "g_conn_lock":
        from threading import Lock

        value = Lock()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES, "chdb_version", "g_conn_lock"})
