"""What SQLAlchemy asks of a database."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import sqlalchemy.types as sa
from sqlalchemy import Table, pool

from .. import dbapi
from .._params import Unbindable, type_of
from .compiler import Compiler, DDLCompiler, Preparer, TypeCompiler, literal
from .reflection import Reflection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import URL

_PLACE = re.compile(r"\{([^{}]+):\$\}")
#: `INSERT INTO t (a, b) VALUES ({a:$}, {b:$}), ...`: rows of nothing but places.
_ROW = r"\(\{[^{}]+:\$\}(?:, \{[^{}]+:\$\})*\)"
_INSERT = re.compile(rf"(INSERT INTO .*? VALUES) ({_ROW}(?:, {_ROW})*)\Z", re.DOTALL)
#: What the standard says of outer joins and casts; `?join_use_nulls=0` has it ClickHouse's way.
_SETTINGS = {"join_use_nulls": "1", "cast_keep_nullable": "1"}


class _Binary(sa.LargeBinary):
    """Texts that are UTF-8 come as str."""

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        return lambda value: value.encode() if isinstance(value, str) else value


class _Boolean(sa.Boolean):
    """Comparisons are numbers."""

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        return lambda value: None if value is None else bool(value)


class _Places(sa.JSON.JSONElementType):
    """Where a part of a JSON document is, as arguments of functions, which count from 1."""

    def literal_processor(self, dialect: Any) -> Any:
        def place(index: Any) -> str:
            return literal(index) if isinstance(index, str) else str(index + 1 if index >= 0 else index)

        return lambda path: place(path) if isinstance(path, (str, int)) else ", ".join(map(place, path))


class _Index(_Places, sa.JSON.JSONIndexType):
    """Of one part in another."""


class _Path(_Places, sa.JSON.JSONPathType):
    """Of several steps."""


class _Time(sa.Time):
    """A time of ClickHouse may be longer than a day, or negative: then it is a timedelta."""

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        def time_of(value: Any) -> Any:
            if isinstance(value, datetime.timedelta) and value.days == 0:
                return (datetime.datetime.min + value).time()
            return value

        return time_of


class ChaletDialect(Reflection):
    """`chalet://` is a database in memory, one for each engine of SQLAlchemy; `chalet:///path` one on disk."""

    name = "chalet"
    driver = "chalet"
    statement_compiler = Compiler
    ddl_compiler = DDLCompiler
    type_compiler_cls = TypeCompiler
    preparer = Preparer
    colspecs = {
        sa.LargeBinary: _Binary,
        sa.Boolean: _Boolean,
        sa.Time: _Time,
        sa.JSON.JSONIndexType: _Index,
        sa.JSON.JSONPathType: _Path,
    }
    construct_arguments = [(Table, {"engine": None})]

    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_enum = True
    supports_native_uuid = True
    supports_multivalues_insert = True
    supports_default_values = False
    supports_empty_insert = False
    supports_sequences = False
    supports_alter = False
    supports_comments = True
    inline_comments = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_is_distinct_from = True
    postfetch_lastrowid = False
    cte_follows_insert = True
    div_is_floordiv = False
    tuple_in_values = False
    max_identifier_length = 255
    # SQLAlchemy 2.0 wants them of a dialect; None is the module json.
    _json_serializer = None
    _json_deserializer = None

    def __init__(self, **options: Any) -> None:
        # Places are our own; this only says that values go by name.
        super().__init__(paramstyle="named", **options)

    @classmethod
    def import_dbapi(cls) -> Any:
        return dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        # Two connections to memory would be two databases.
        return pool.StaticPool if _is_memory(url) else pool.QueuePool

    def create_connect_args(self, url: URL) -> Any:
        options = {**_SETTINGS, **{name: str(value) for name, value in url.query.items()}}
        place = ":memory:" if _is_memory(url) else str(url.database)
        return (), {"path": f"{place}?{urlencode(options)}"}

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        return tuple(map(int, connection.exec_driver_sql("SELECT version()").scalar().split(".")))

    def _get_default_schema_name(self, connection: Any) -> str:
        return connection.exec_driver_sql("SELECT currentDatabase()").scalar()

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.cursor().execute("SELECT 1")
        return True

    def get_isolation_level_values(self, dbapi_conn: Any) -> list[str]:
        return ["AUTOCOMMIT"]

    def get_isolation_level(self, dbapi_connection: Any) -> str:
        return "AUTOCOMMIT"

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """It is the only one: every statement stands on its own."""

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        if not statement:
            # Of what is left out.
            return
        if context is None or context.compiled is None:
            # What the program wrote, in one of the styles of DB-API.
            cursor.execute(statement, parameters or None)
            return
        insert = _INSERT.match(statement) if context.isinsert else None
        if insert is not None:
            # Not as text: by column.
            names = [_PLACE.findall(row) for row in re.findall(_ROW, insert[2])]
            cursor.insert_rows(insert[1], [tuple([parameters[name] for name in row]) for row in names])
            return
        cursor.execute_bound(*_bound(statement, parameters))

    def do_executemany(self, cursor: Any, statement: str, parameters: Sequence[Any], context: Any = None) -> None:
        insert = _INSERT.match(statement) if context is not None and context.isinsert else None
        names = _PLACE.findall(insert[2]) if insert is not None else []
        if insert is not None and len(re.findall(_ROW, insert[2])) == 1:
            cursor.insert_rows(insert[1], list(parameters), names)
            return
        if context is None or context.compiled is None:
            cursor.executemany(statement, parameters)
            return
        for each in parameters:
            self.do_execute(cursor, statement, each, context)


class ClickHouseDialect(ChaletDialect):
    """`chalet+clickhouse://user:password@host:port/database?secure=1` is a server, which must know query parameters."""

    driver = "clickhouse"
    supports_statement_cache = True

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        return pool.QueuePool

    def create_connect_args(self, url: URL) -> Any:
        # A connection of SQLAlchemy is one of the server: what is temporary there stays.
        options = {**_SETTINGS, "pool_size": "1", **{name: str(value) for name, value in url.query.items()}}
        who = quote(url.username or "default", safe="") + (f":{quote(str(url.password), safe='')}" if url.password else "")
        host = f"[{url.host}]" if ":" in (url.host or "") else url.host or "localhost"
        port = "" if url.port is None else f":{url.port}"
        place = f"clickhouse://{who}@{host}{port}/{quote(url.database or '', safe='')}"
        return (), {"path": f"{place}?{urlencode(options)}"}


def _is_memory(url: URL) -> bool:
    return url.database in (None, "", ":memory:")


def _bound(statement: str, parameters: Any) -> tuple[str, dict[str, Any]]:
    """The statement with the types of its values, and the values."""
    values: dict[str, Any] = {}
    names: dict[str, str] = {}

    def place(match: re.Match[str]) -> str:
        name = match[1]
        if name not in parameters:
            # In a literal.
            return match[0]
        value = parameters[name]
        if value is None:
            return "NULL"
        if name not in names:
            try:
                ty = "Time64(6)" if isinstance(value, datetime.time) else type_of(value)
            except Unbindable as error:
                raise dbapi.ProgrammingError(str(error)) from None
            names[name] = f"{{p{len(names)}:{ty}}}"
            values[f"p{len(values)}"] = value
        return names[name]

    return _PLACE.sub(place, statement), values
