"""`Client` of clickhouse-driver: statements, INSERTs of rows, streams and DataFrames, over a connection of this package."""

from __future__ import annotations

import re
import time
import types
from typing import TYPE_CHECKING, Any

from .. import _chalet
from .._sources import TypedRows
from .._waiting import answered
from . import _arrays, _arrow, _place, _strings
from ._literals import substituted
from .errors import NotSupportedError, TypeMismatchError, raised
from .result import ProgressQueryResult, QueryInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Row = tuple[Any, ...]

_OF_CLIENT = {
    "insert_block_size": 1048576,
    "strings_as_bytes": False,
    "strings_encoding": "utf-8",
    "use_numpy": False,
    "opentelemetry_traceparent": None,
    "opentelemetry_tracestate": "",
    "quota_key": "",
    "input_format_null_as_default": False,
    "namedtuple_as_json": True,
    "server_side_params": False,
}
_INTO = re.compile(r"\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?P<table>(?:`[^`]*`|\"[^\"]*\"|[\w.])+)\s*(?P<columns>\([^()]*\))?", re.I)
_BEHIND = re.compile(r"\s*(?:\bVALUES|\bFORMAT\s+\w+)?\s*;?\s*\Z", re.I)
_PADDED = ("FixedString(", "Nullable(FixedString(", "LowCardinality(FixedString(")
# Rows that become Python objects at a time.
_BATCH = 4096
# Of values that a column does not take.
_OF_VALUES = frozenset((6, 26, 27, 38, 41, 43, 53, 69, 70, 72, 131, 321, 349, 376, 407))


class Client:
    """`Client("host")` speaks to a server, `Client(":memory:")` and `Client("./folder")` have a database in the process.

    It connects when its first statement runs. The arguments are those of clickhouse-driver; `connection` is an open connection of
    this package, which stays open after it.

    >>> from chalet.clickhouse_driver import Client
    >>> with Client(":memory:") as client:
    ...     client.execute("CREATE TABLE t (x UInt64) ENGINE = Memory")
    ...     client.execute("INSERT INTO t VALUES", [(1,), (2,)])
    ...     client.execute("SELECT x + %(n)s FROM t", {"n": 10}, with_column_types=True)
    []
    2
    ([(11,), (12,)], [('plus(x, 10)', 'UInt64')])
    """

    available_client_settings = tuple(_OF_CLIENT)

    def __init__(
        self,
        host: Any = ":memory:",
        port: int | None = None,
        database: str = "",
        user: str = "default",
        password: str = "",
        *,
        compression: Any = False,
        secure: bool = False,
        verify: bool = True,
        connect_timeout: float = 10,
        send_receive_timeout: float = 300,
        alt_hosts: str | None = None,
        settings: Mapping[str, Any] | None = None,
        connection: _chalet.Connection | None = None,
        **others: Any,
    ) -> None:
        self.settings = dict(settings or {})
        self.client_settings = {name: self.settings.pop(name, value) for name, value in _OF_CLIENT.items()}
        self.last_query: QueryInfo | None = None
        self._given = connection
        self._opened = connection
        self._zone: str | None = None
        self._database = database
        self._is_local = connection is not None or _place.is_local(host)
        if self._is_local:
            self._string = str(host)
        else:
            self._string = _place.connection_string(
                host,
                port,
                database,
                user,
                password,
                compression=compression,
                secure=secure,
                verify=verify,
                connect_timeout=connect_timeout,
                send_receive_timeout=send_receive_timeout,
                alt_hosts=alt_hosts,
                **others,
            )

    @classmethod
    def from_url(cls, url: str) -> Client:
        """`clickhouse://[user:password@]host[:port]/[database][?argument=value&...]`, `clickhouses://...` with TLS, or a path."""
        host, arguments = _place.arguments_of(url)
        return cls(host, **arguments)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.disconnect()

    @property
    def connection(self) -> _chalet.Connection:
        """The connection beneath, which is opened by this where none is open."""
        if self._opened is None:
            try:
                opened = _chalet.Connection(self._string)
                if self._is_local and self._database:
                    opened.query(f"USE {_quoted(self._database)}")
            except _chalet.Error as error:
                raise raised(error) from None
            self._opened = opened
        return self._opened

    def disconnect(self) -> None:
        """Closes the connection; the next statement opens another. A database in memory is gone then."""
        opened, self._opened = self._opened, self._given
        self.last_query = None
        if opened is not None and opened is not self._given:
            opened.close()

    def cancel(self, with_column_types: bool = False) -> Any:
        """Stops the statement that runs on another thread. What was not read of its rows is gone."""
        if self._opened is not None:
            self._opened.interrupt()
        return ([], []) if with_column_types else []

    def substitute_params(self, query: str, params: Any, context: Any = None) -> str:
        """The statement with the values in the place of `%(name)s`."""
        return substituted(query, params, self._server_zone)

    def _server_zone(self) -> str:
        if self._zone is None:
            self._zone = self.connection.query("SELECT timezone()", "TabSeparatedRaw").data().strip()
        return self._zone

    def _settings(self, settings: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Those of a statement, and of the client for it."""
        given = dict(settings or {})
        of_client = {name: given.pop(name, value) for name, value in self.client_settings.items()}
        return {**self.settings, **given}, of_client

    def _prepared(self, query: str, params: Any, settings: Mapping[str, Any] | None) -> tuple[Any, Any, str]:
        """Settings of a statement, the values that are sent with it, and its text with the others."""
        statement, of_client = self._settings(settings)
        if params is None:
            return statement, None, query
        if of_client["server_side_params"]:
            return statement, dict(params), query
        return statement, None, self.substitute_params(query, params)

    def _answer(
        self, query: str, params: Any, external_tables: Any, query_id: str | None, settings: Mapping[str, Any] | None
    ) -> _chalet.Result:
        statement, bound, query = self._prepared(query, params, settings)
        tables = self._tables(external_tables)
        began = time.monotonic()
        connection = self.connection
        try:
            if query_id is not None:
                result = self._converse(query, query_id, bound, statement, None, tables)
            else:
                result = connection._read(query, None, bound, tables, settings=statement)
        except _chalet.Error as error:
            raise raised(error) from None
        self.last_query = QueryInfo.of(result, time.monotonic() - began)
        return result._with_totals()

    def _converse(
        self, query: str, query_id: str, params: Any, settings: Any, rows: Any = None, tables: Any = None
    ) -> _chalet.Result:
        """A statement that the server knows by an id."""
        if self._is_local:
            raise NotSupportedError("query_id is not supported without a server")
        talk = self.connection._converse(query, None, params, settings, query_id, False, rows, None, tables)
        return answered(talk)

    def _tables(self, external_tables: Any) -> dict[str, Any] | None:
        return {one["name"]: _external(one) for one in external_tables} if external_tables else None

    def execute(
        self,
        query: str,
        params: Any = None,
        with_column_types: bool = False,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        types_check: bool = False,
        columnar: bool = False,
    ) -> Any:
        """Runs a statement: the rows as a list of tuples, `[]` where there are none.

        A dict of `params` stands for `%(name)s`. A list, tuple or generator is the rows of an INSERT, tuples or dicts, or with
        `columnar` its columns; how many were written is returned. With `columnar` the columns of a query are returned, as
        tuples. Values are always checked, whatever `types_check` says.
        """
        if isinstance(params, (list, tuple, types.GeneratorType)):
            return self._insert(query, params, query_id, settings, columnar)
        result = self._answer(query, params, external_tables, query_id, settings)
        columns = _header(result)
        data = self._data(result, columns, settings, columnar) if columns else []
        return (data, columns) if with_column_types else data

    def _data(self, result: _chalet.Result, columns: Any, settings: Mapping[str, Any] | None, columnar: bool) -> list[Any]:
        """The rows or the columns of a result."""
        _, of_client = self._settings(settings)
        if of_client["use_numpy"]:
            arrays = _arrays.columns(result, columns, self._server_zone)
            return arrays if columnar else _arrays.rows(arrays)
        rows = _of_settings(result.fetchall(), columns, of_client)
        return list(zip(*rows)) if columnar else rows

    def execute_with_progress(
        self,
        query: str,
        params: Any = None,
        with_column_types: bool = False,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        types_check: bool = False,
        columnar: bool = False,
    ) -> ProgressQueryResult:
        """Runs a query on a thread: iterating gives (rows read, rows to read), and `get_result()` what `execute` returns."""
        connection = self.connection

        def run(tell: Any) -> Any:
            connection.set_progress_callback(tell)
            try:
                return self.execute(
                    query, params, with_column_types, external_tables, query_id, settings, types_check, columnar
                )
            finally:
                if not connection.closed:
                    connection.set_progress_callback(None)

        return ProgressQueryResult(run)

    def execute_iter(
        self,
        query: str,
        params: Any = None,
        with_column_types: bool = False,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        types_check: bool = False,
        chunk_size: int = 1,
    ) -> Iterator[Any]:
        """The rows of a query one by one, or lists of `chunk_size` of them; first the columns, with `with_column_types`. The
        query runs while they are asked for, from the first one on; some megabytes of its rows wait at most. Closing the
        generator ends it."""
        rows = self._one_by_one(query, params, with_column_types, external_tables, query_id, settings)
        return _chunks(rows, chunk_size) if chunk_size > 1 else rows

    def _one_by_one(
        self, query: str, params: Any, with_column_types: bool, external_tables: Any, query_id: Any, settings: Any
    ) -> Iterator[Any]:
        of_client = self._settings(settings)[1]
        info, began = QueryInfo(), time.monotonic()
        self.last_query = info
        stream = None
        try:
            try:
                stream = self._begun(query, params, external_tables, query_id, settings)
            except _chalet.Error as error:
                if "Streaming query is not supported" not in str(error):
                    raise
                self._answer(query, params, external_tables, query_id, settings)
                if with_column_types:
                    yield []
                return
            columns = stream._columns() or []
            if with_column_types:
                yield columns
            while (result := stream.fetch()) is not None:
                info.add(result, time.monotonic() - began)
                if of_client["use_numpy"]:
                    yield from _arrays.rows(_arrays.columns(result, columns, self._server_zone))
                    continue
                while columns and (rows := result.fetchmany(_BATCH)):
                    yield from _of_settings(rows, columns, of_client)
            info.elapsed = time.monotonic() - began
        except _chalet.Error as error:
            raise raised(error) from None
        finally:
            if stream is not None:
                stream.close()

    def _begun(
        self, query: str, params: Any, external_tables: Any, query_id: Any, settings: Mapping[str, Any] | None
    ) -> _chalet.StreamingResult:
        """A query whose rows come as they are asked for."""
        statement, bound, query = self._prepared(query, params, settings)
        if query_id is not None and self._is_local:
            raise NotSupportedError("query_id is not supported without a server")
        return self.connection._stream(query, bound, self._tables(external_tables), statement, query_id)

    def query_dataframe(
        self,
        query: str,
        params: Any = None,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        replace_nonwords: bool = True,
    ) -> Any:
        """A query as a pandas DataFrame; what is no letter, digit or `_` in the names of its columns becomes `_`."""
        if self._settings(settings)[1]["use_numpy"]:
            frame = self._frame_of_arrays(query, params, external_tables, query_id, settings)
        else:
            frame = self._answer(query, params, external_tables, query_id, settings).df()
        if replace_nonwords:
            frame.columns = [re.sub(r"\W", "_", name) for name in frame.columns]
        return frame

    def _frame_of_arrays(self, query: str, params: Any, external_tables: Any, query_id: Any, settings: Any) -> Any:
        import pandas as pd

        data, columns = self.execute(query, params, True, external_tables, query_id, settings, columnar=True)
        frame = pd.DataFrame(dict(enumerate(data)))
        frame.columns = [name for name, _ in columns]
        return frame

    def insert_dataframe(
        self,
        query: str,
        dataframe: Any,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> int:
        """Inserts the columns of a DataFrame that the statement names, or all of its table; returns how many rows."""
        names = self._columns(query)
        missing = set(names) - set(dataframe.columns)
        if missing:
            raise ValueError(f"DataFrame missing required columns: {sorted(missing)}")
        statement, _ = self._settings(settings)
        # By its columns: no object is made of a value.
        return self._write_counted(query, dataframe[names], query_id, statement) if len(dataframe) else 0

    def query_arrow(
        self,
        query: str,
        params: Any = None,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        field_metadata: bool = True,
        arrow_types: Mapping[str, Any] | None = None,
    ) -> Any:
        """A query as a pyarrow Table. The fields tell the types of their columns as metadata, `clickhouse_type`, with
        `field_metadata`; `arrow_types` are other types for columns, by their names."""
        result = self._answer(query, params, external_tables, query_id, settings)
        table, columns = result.arrow(), _header(result)
        return table.cast(_arrow.schema(table.schema, columns, field_metadata, arrow_types)) if columns else table

    def query_arrow_stream(
        self,
        query: str,
        params: Any = None,
        external_tables: Any = None,
        query_id: str | None = None,
        settings: Mapping[str, Any] | None = None,
        field_metadata: bool = True,
        arrow_types: Mapping[str, Any] | None = None,
    ) -> Any:
        """The same as a pyarrow RecordBatchReader, whose batches are read as they come; dropped, it ends the query."""
        try:
            stream = self._begun(query, params, external_tables, query_id, settings)
            result = stream.fetch()
        except _chalet.Error as error:
            raise raised(error) from None
        if result is None:
            return self.query_arrow(query, params, external_tables, query_id, settings, field_metadata, arrow_types).to_reader()
        first = result.arrow()
        wanted = _arrow.schema(first.schema, stream._columns() or [], field_metadata, arrow_types)
        return _arrow.reader(first, stream, wanted)

    def _target(self, query: str) -> list[tuple[str, str]]:
        """Names and types of the columns that an INSERT takes."""
        found = _INTO.match(query)
        if found is None:
            raise ValueError(f"An INSERT was expected, not: {query}")
        listed = (found["columns"] or "()")[1:-1].strip()
        asked = f"SELECT {listed or '*'} FROM {found['table']} LIMIT 0"
        try:
            return _header(self.connection._read(asked, None))
        except _chalet.Error as error:
            raise raised(error) from None

    def _columns(self, query: str) -> list[str]:
        return [name for name, _ in self._target(query)]

    def _insert(self, query: str, data: Any, query_id: Any, settings: Mapping[str, Any] | None, columnar: bool) -> int:
        statement, of_client = self._settings(settings)
        if columnar and len(data) and all(map(_arrays.is_array, data)):
            names = self._columns(query)
            if len(names) != len(data):
                raise ValueError(f"{len(names)} columns are expected, not {len(data)}")
            return self._write_counted(query, dict(zip(names, data)), query_id, statement) if len(data[0]) else 0
        rows = _of_columns(data) if columnar else list(data)
        if rows and isinstance(rows[0], dict):
            names = self._columns(query)
            rows = [tuple([row[name] for name in names]) for row in rows]
        _check_rows(rows)
        if not rows:
            # The table may not be there.
            self._columns(query)
            self.last_query = QueryInfo()
            return 0
        if not _strings.is_plain(of_client) and not of_client["strings_as_bytes"]:
            rows = _strings.written(rows, [ty for _, ty in self._target(query)], of_client)
        return self._write_counted(query, rows, query_id, statement)

    def _write_counted(self, query: str, rows: Any, query_id: Any, statement: dict[str, Any]) -> int:
        """Writes rows, or the columns of a frame."""
        text = _BEHIND.sub(" VALUES", query, count=1)
        began = time.monotonic()
        try:
            n_rows = self._write(text, rows, query_id, statement)
        except _chalet.Error as error:
            if error.code in _OF_VALUES:
                raise TypeMismatchError(str(error)) from None
            raise raised(error) from None
        except TypeError as error:
            raise TypeMismatchError(str(error)) from None
        self.last_query = QueryInfo.written(n_rows, time.monotonic() - began)
        return n_rows

    def _write(self, text: str, rows: Any, query_id: Any, settings: dict[str, Any]) -> int:
        if self._is_local:
            if query_id is not None:
                raise NotSupportedError("query_id is not supported without a server")
            return self.connection.insert_rows(text, rows)
        return self._converse(text, query_id or "", None, settings, rows).rows_written()


def _header(result: _chalet.Result) -> list[tuple[str, str]]:
    """Names and types of the columns; none of statements without rows, and of rows that are text by their own FORMAT."""
    try:
        return list(zip(result.columns, result.types))
    except ValueError:
        return []


def _of_settings(rows: Any, columns: list[tuple[str, str]], settings: Mapping[str, Any]) -> list[Row]:
    """Rows as the settings of the client want them."""
    if settings["strings_as_bytes"]:
        return _strings.read(rows, [ty for _, ty in columns], settings)
    rows = _unpadded(rows, _padded(columns))
    return rows if _strings.is_plain(settings) else _strings.read(rows, [ty for _, ty in columns], settings)


def _padded(columns: list[tuple[str, str]]) -> list[int]:
    """Columns whose values have zeros at their ends."""
    return [at for at, (_, ty) in enumerate(columns) if ty.startswith(_PADDED)]


def _unpadded(rows: Any, padded: list[int]) -> list[Row]:
    if not padded:
        return list(rows)
    zero = {at: (lambda value: value.rstrip("\0" if isinstance(value, str) else b"\0") if value else value) for at in padded}
    return [tuple([zero[at](value) if at in zero else value for at, value in enumerate(row)]) for row in rows]


def _chunks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    chunk = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _of_columns(columns: Any) -> list[Row]:
    columns = list(columns)
    for column in columns:
        if not isinstance(column, (list, tuple)):
            raise TypeError(f"Unsupported column type: {type(column)}. list or tuple is expected.")
    if len(set(map(len, columns))) > 1:
        raise ValueError(f"Different column length: {sorted(set(map(len, columns)))}")
    return list(zip(*columns))


def _check_rows(rows: list[Any]) -> None:
    length = None
    for row in rows:
        if not isinstance(row, (list, tuple)):
            raise TypeError(f"Unsupported row type: {type(row)}. dict, list or tuple is expected.")
        if length is None:
            length = len(row)
        if len(row) != length:
            raise ValueError(f"Different rows length: {len(row)}, and {length}")


def _external(table: Mapping[str, Any]) -> TypedRows:
    """The rows, tuples or dicts, of a table of a structure."""
    structure = table["structure"]
    if not structure:
        raise ValueError(f'Empty table "{table["name"]}" structure')
    names = [name for name, _ in structure]
    rows = [tuple([row[name] for name in names]) if isinstance(row, dict) else row for row in table["data"]]
    _check_rows(rows)
    return TypedRows(structure, rows)


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
