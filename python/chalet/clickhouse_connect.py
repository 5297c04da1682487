"""Clients of clickhouse-connect that run on this engine instead of a server: `chalet.clickhouse_connect.get_client()`.

A program of clickhouse-connect changes where it makes its client, and nothing else. clickhouse-connect has no registry of
back ends; what is used here is the seam between its clients and its transports (`SyncBackend`), which it has since 1.6.
Needs the package clickhouse-connect.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import threading
from typing import TYPE_CHECKING, Any

from . import _chalet
from ._params import Escaped
from ._structures import numbered

try:
    from clickhouse_connect import common
    from clickhouse_connect.driver import tzutil
    from clickhouse_connect.driver._backend.httpcommon import is_columns_only_query
    from clickhouse_connect.driver._backend.models import Capabilities, CommandExecution, QueryExecution
    from clickhouse_connect.driver._backendclient import SyncBackendClient
    from clickhouse_connect.driver.binding import quote_identifier
    from clickhouse_connect.driver.exceptions import DatabaseError, NotSupportedError, ProgrammingError, StreamFailureError
    from clickhouse_connect.driver.transform import NativeTransform
except ImportError as error:
    raise ImportError(f"chalet.clickhouse_connect needs clickhouse-connect 1.6 or newer: pip install clickhouse-connect ({error})") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Those of HTTP, which mean nothing here.
_OF_TRANSPORT = frozenset(
    """
    database buffer_size session_id session_timeout session_check query_id quota_key compress decompress wait_end_of_query
    client_protocol_version role send_progress_in_http_headers http_headers_progress_interval_ms enable_http_compression
    """.split()
)
_ZONED = re.compile(r"DateTime\('([^']+)'\)")
# Formats of which pieces one after the other are the whole.
_IN_PIECES = frozenset(("native", "tabseparated", "tsv", "csv", "rowbinary", "jsoneachrow"))
# Settings that put something around the rows of those, too.
_AROUND_ROWS = ("extremes", "output_format_json_array_of_rows")


def get_client(
    path: str = ":memory:",
    database: str | None = None,
    *,
    connection: _chalet.Connection | None = None,
    settings: Mapping[str, Any] | None = None,
    query_limit: int = 0,
    tz_source: Any = None,
    tz_mode: Any = None,
    show_clickhouse_errors: bool | str | None = None,
    rename_response_column: str | None = None,
) -> Client:
    """A client of a database of its own, or of an open connection, which stays open after it. The other arguments are those of
    clickhouse_connect.get_client."""
    return Client(
        _Backend(connection or _chalet.Connection(path), owned=connection is None),
        path=path,
        database=database,
        settings=settings,
        query_limit=query_limit,
        tz_source=tz_source,
        tz_mode=tz_mode,
        show_clickhouse_errors=show_clickhouse_errors,
        rename_response_column=rename_response_column,
    )


class Client(SyncBackendClient):
    """clickhouse-connect's client, whole: queries, inserts, streams, DataFrames, Arrow, raw formats."""

    valid_transport_settings = set(_OF_TRANSPORT)

    def __init__(
        self,
        backend: _Backend,
        *,
        path: str,
        database: str | None,
        settings: Mapping[str, Any] | None,
        query_limit: int,
        tz_source: Any,
        tz_mode: Any,
        show_clickhouse_errors: Any,
        rename_response_column: str | None,
    ) -> None:
        self._backend = backend
        self._rename_response_column = rename_response_column
        self._transform = NativeTransform()
        self._client_settings: dict[str, str] = {}
        # Read by the base class when the server is asked for its settings.
        self._initial_settings = dict(settings or {})
        try:
            super().__init__(
                database=database,
                uri=f"chalet://{path}",
                query_limit=query_limit,
                query_retries=0,
                server_host_name=None,
                tz_source=tz_source,
                tz_mode=tz_mode,
                show_clickhouse_errors=show_clickhouse_errors,
                autoconnect=True,
            )
            for name, value in (settings or {}).items():
                self.set_client_setting(name, value)
        except BaseException:
            backend.close()
            raise

    @property
    def connection(self) -> _chalet.Connection:
        """The connection beneath, for what clickhouse-connect has no method for."""
        return self._backend.connection

    @property
    def show_clickhouse_errors(self) -> Any:
        """True for the whole text of errors, False for none."""
        return self._backend.show_errors

    @show_clickhouse_errors.setter
    def show_clickhouse_errors(self, value: Any) -> None:
        self._backend.show_errors = True if value is None else value

    def set_client_setting(self, key: str, value: Any) -> None:
        """A setting for all statements of this client."""
        text = self._validate_setting(key, value, common.get_setting("invalid_setting_action"))
        if text is not None:
            self._client_settings[key] = text
            self._backend.settings = {**_of_engine(self._client_settings)}

    def get_client_setting(self, key: str) -> str | None:
        """The value of a setting of this client."""
        return self._client_settings.get(key)

    def set_access_token(self, access_token: str) -> None:
        """Does nothing: there is nobody to show it to."""


def _of_engine(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in _OF_TRANSPORT}


class _Backend:
    """What clickhouse-connect calls a transport."""

    capabilities = Capabilities(native_async=False, sessions=False)

    def __init__(self, connection: _chalet.Connection, owned: bool) -> None:
        self.connection = connection
        self.settings: dict[str, Any] = {}
        self.show_errors: Any = True
        self._owned = owned
        self._closed = False
        # Of the database and of what runs in it.
        self._lock = threading.RLock()

    def _run(self, run: Callable[[], Any], database: str | None) -> Any:
        with self._lock:
            if self._closed:
                raise ProgrammingError("The client has been closed")
            try:
                with self._inside(database):
                    return run()
            except _chalet.Error as error:
                raise self._failed(DatabaseError, error) from error

    @contextlib.contextmanager
    def _inside(self, database: str | None) -> Iterator[None]:
        """The session is in the client's database; that of somebody else's connection is put back."""
        before = None if self._owned or not database else self._current()
        if not database or before == database:
            yield
            return
        self.connection.query(f"USE {quote_identifier(database)}")
        try:
            yield
        finally:
            if before is not None:
                # It may have been dropped meanwhile.
                with contextlib.suppress(_chalet.Error):
                    self.connection.query(f"USE {quote_identifier(before)}")

    def _current(self) -> str:
        return self.connection.query("SELECT currentDatabase()", "TabSeparatedRaw").data().rstrip("\n")

    def _failed(self, kind: Any, error: _chalet.Error) -> Exception:
        if not self.show_errors:
            return kind("The database reported an error", code=error.code)
        return kind(str(error), code=error.code, name=error.name)

    def _query(
        self, sql: str | bytes, fmt: str | None, params: Mapping[str, Any] | None, runtime: Any, external_data: Any = None
    ) -> _chalet.Result:
        text = _text(sql)
        settings = {**self.settings, **_of_engine(runtime.settings)}
        with self._external(external_data) as given:
            run = lambda: self.connection._read(text, fmt, _bound(params), given.tables, settings=settings)  # noqa: E731
            return self._run(run, runtime.database)

    def _external(self, external_data: Any) -> _External:
        try:
            return _External(external_data)
        except _chalet.Error as error:
            raise self._failed(DatabaseError, error) from error

    def _stream(
        self, sql: str | bytes, fmt: str, params: Mapping[str, Any] | None, runtime: Any, tables: Mapping[str, Any] | None
    ) -> _chalet.StreamingResult:
        text = _text(sql)
        settings = {**self.settings, **_of_engine(runtime.settings)}
        run = lambda: self.connection.send_query(text, fmt, _bound(params), tables=tables, settings=settings)  # noqa: E731
        return self._run(run, runtime.database)

    # --- what clickhouse-connect calls ---------------------------------------------------------------------------------

    def execute_query(self, context: Any, runtime: Any, prepped_query: str | bytes, /) -> QueryExecution:
        given = context.external_data
        if is_columns_only_query(context):
            return _columns_only(self._query(context.final_query, None, context.bind_params, runtime, given))
        if context.is_insert:
            result = self._query(prepped_query, "TabSeparated", context.bind_params, runtime, given)
            return QueryExecution(source=_Source([]), summary=_summary(result))
        if context.streaming:
            return self._streamed(context, runtime, prepped_query)
        result = self._query(prepped_query, None, context.bind_params, runtime, given)
        _tell_zones(context, result.columns, result.types)
        # Of no rows the engine writes no columns either.
        block = result.to_format("Native") if result.rows_read() else _empty_block(result)
        return QueryExecution(source=_Source([block]), summary=_summary(result))

    def _streamed(self, context: Any, runtime: Any, prepped_query: str | bytes) -> QueryExecution:
        text, given = _text(prepped_query), self._external(context.external_data)
        try:
            outline = self._run(lambda: self.connection._outline(text, _bound(context.bind_params), given.tables), runtime.database)
            _tell_zones(context, *(outline or ((), ()))[:2])
            stream = self._stream(text, "Native", context.bind_params, runtime, given.tables)
        except BaseException:
            given.close()
            raise
        return QueryExecution(source=_Source(self._pieces(stream), stream, given))

    def _pieces(self, stream: _chalet.StreamingResult) -> Iterator[bytes]:
        try:
            for chunk in stream:
                yield chunk.bytes()
        except _chalet.Error as error:
            raise self._failed(StreamFailureError, error) from error

    def execute_command(
        self,
        bound_cmd: str | bytes,
        bind_params: dict[str, str],
        data: str | bytes | None,
        external_data: Any,
        runtime: Any,
        transport_settings: dict[str, str] | None,
        /,
    ) -> CommandExecution:
        command = _text(bound_cmd) if data is None else f"{_text(bound_cmd)}\n{_text(data)}"
        result = self._query(command, None, bind_params, runtime, external_data)
        try:
            has_rows = bool(result.columns)
        except ValueError:
            # Text of a format, or nothing.
            body = result.bytes()
            return CommandExecution(body=body, summary=_summary(result), result_format="TabSeparated" if body else None)
        body = result.to_format("TabSeparated") if has_rows else b""
        return CommandExecution(body=body, summary=_summary(result), result_format="TabSeparated")

    def execute_data_insert(self, context: Any, runtime: Any, body: Any, retry_body: Callable[[], Any], /) -> dict[str, Any]:
        def chunks() -> Iterator[bytes]:
            first = True
            for chunk in body:
                if context.insert_exception is not None:
                    failure, context.insert_exception = context.insert_exception, None
                    raise failure
                if first:
                    # The statement is in front of the data.
                    first, chunk = False, chunk.partition(b"\n")[2]
                yield chunk

        if isinstance(context.compression, str):
            raise NotSupportedError("the compression of an insert is not supported: nothing is sent anywhere")
        columns = ", ".join(map(quote_identifier, context.column_names))
        return self._insert(context.table, f" ({columns}) FORMAT Native", chunks(), runtime)

    def execute_raw_insert(
        self,
        table: str | None,
        column_names: Sequence[str] | None,
        insert_block: Any,
        fmt: str,
        compression: str | None,
        runtime: Any,
        transport_settings: dict[str, str] | None,
        /,
    ) -> dict[str, Any]:
        if compression and compression != "identity":
            raise NotSupportedError("the compression of an insert is not supported: nothing is sent anywhere")
        if not table:
            raise ProgrammingError("raw_insert needs the name of a table")
        columns = f" ({', '.join(map(quote_identifier, column_names))})" if column_names else ""
        return self._insert(table, f"{columns} FORMAT {fmt}", _pieces_of(insert_block), runtime)

    def _insert(self, table: str, rest: str, chunks: Iterable[bytes], runtime: Any) -> dict[str, Any]:
        settings = {**self.settings, **_of_engine(runtime.settings)}

        def begin() -> _chalet.StreamingInserter:
            # It runs in the database in which the session is when its thread has started, which may be after this.
            sql = f"INSERT INTO {self._whole_name(table, runtime.database)}{rest}"
            return self.connection.send_insert(sql, settings=settings)

        insert = self._run(begin, runtime.database)
        try:
            with insert:
                for chunk in chunks:
                    insert.append(chunk)
                done = insert.finish()
        except _chalet.Error as error:
            raise self._failed(DatabaseError, error) from error
        return {
            "written_rows": str(done.rows_written),
            "written_bytes": str(done.bytes_written),
            "elapsed_ns": str(int(done.elapsed * 1e9)),
        }

    def _whole_name(self, table: str, database: str | None) -> str:
        """The name of a table with its database, where the session is somebody else's; a temporary table has none."""
        tokens = [kind for kind, _ in _chalet.tokens(table)]
        if self._owned or not database or tokens not in (["word"], ["name"]):
            return table
        is_temporary = self.connection.query(f"EXISTS TEMPORARY TABLE {table}", "TabSeparated").data() == "1\n"
        return table if is_temporary else f"{quote_identifier(database)}.{table}"

    def execute_raw_query(
        self,
        final_query: str | bytes,
        bind_params: dict[str, str],
        external_data: Any,
        runtime: Any,
        transport_settings: dict[str, str] | None,
        /,
    ) -> bytes:
        return self._query(final_query, "TabSeparated", bind_params, runtime, external_data).bytes()

    def execute_raw_stream(
        self,
        final_query: str | bytes,
        bind_params: dict[str, str],
        external_data: Any,
        runtime: Any,
        transport_settings: dict[str, str] | None,
        /,
    ) -> io.IOBase:
        text = _text(final_query)
        # Data that come along are there until the statement has ended, so all of it is read.
        if external_data is not None or not _is_in_pieces(text) or self._is_around_rows(runtime):
            return io.BytesIO(self.execute_raw_query(text, bind_params, external_data, runtime, transport_settings))
        # A format that the text names goes before.
        stream = self._stream(text, "TabSeparated", bind_params, runtime, None)
        return io.BufferedReader(_File(self._pieces(stream), stream))

    def _is_around_rows(self, runtime: Any) -> bool:
        asked = " OR ".join(f"getSetting('{name}')" for name in _AROUND_ROWS)
        return self._query(f"SELECT toUInt8({asked})", "TabSeparated", None, runtime).bytes().startswith(b"1")

    def ping(self, timeout: float | None = None) -> bool:
        try:
            return self._run(lambda: self.connection.query("SELECT 1"), None).bytes() == b"1\n"
        except (DatabaseError, ProgrammingError):
            return False

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._owned:
                    self.connection.close()

    def close_connections(self) -> None:
        """There is one, and nothing to renew."""


class _Source:
    """Bytes of a result, as clickhouse-connect reads them."""

    def __init__(
        self, pieces: Iterable[bytes], stream: _chalet.StreamingResult | None = None, given: _External | None = None
    ) -> None:
        self._pieces = pieces
        self._stream = stream
        self._given = given
        self.last_message: bytes | None = None
        self.exception_tag: str | None = None

    @property
    def gen(self) -> Iterator[bytes]:
        return iter(self._pieces)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        if self._given is not None:
            self._given.close()


class _File(io.RawIOBase):
    """A stream as a file."""

    def __init__(self, pieces: Iterator[bytes], stream: _chalet.StreamingResult) -> None:
        super().__init__()
        self._pieces = pieces
        self._stream = stream
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


def _text(sql: str | bytes) -> str:
    return sql.decode() if isinstance(sql, bytes) else sql


def _is_in_pieces(text: str) -> bool:
    """Are pieces of the result, one after the other, the whole of it, as far as the text tells?"""
    tokens = [piece.strip('`"').lower() for kind, piece in _chalet.tokens(text) if kind not in ("space", "comment")]
    if not {"totals", *_AROUND_ROWS}.isdisjoint(tokens):
        return False
    # Behind the format stand settings at most.
    ends = zip(tokens, tokens[1:], [*tokens[2:], ";"])
    return all(name in _IN_PIECES for word, name, behind in ends if word == "format" and behind in (";", "settings"))


def _tell_zones(context: Any, names: Sequence[str], types: Sequence[str]) -> None:
    """The zone of a DateTime, which the format Native leaves out of the names of types."""
    found = [(name, _ZONED.fullmatch(ty)) for name, ty in zip(names, types, strict=True)]
    zones = {name: tzutil.resolve_zone(match[1]) for name, match in found if match}
    if zones:
        context.column_tzs = {**zones, **(context.column_tzs or {})}


class _External:
    """Data that come along with a statement, as tables of it: files of their own, until it has ended."""

    def __init__(self, external_data: Any) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._reader: _chalet.Connection | None = None
        self.tables: dict[str, Any] | None = None
        if external_data is None or not external_data.files:
            return
        self._folder, self._reader, self.tables = tempfile.TemporaryDirectory(prefix="chalet-"), _chalet.Connection(), {}
        try:
            for number, file in enumerate(external_data.files):
                path = os.path.join(self._folder.name, str(number))
                with open(path, "wb") as written:
                    written.write(file.data)
                structure = file.structure or numbered(file.types or "")
                said = {"path": path, "format": file.fmt or "TabSeparated", "structure": structure}
                self.tables[file.name] = self._reader.sql(f"SELECT * FROM file({', '.join(f'{{{one}:String}}' for one in said)})", params=said)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Forgets them."""
        if self._reader is not None:
            self._reader.close()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> _External:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _bound(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """clickhouse-connect has escaped them, and says `param_` before their names."""
    return {name.removeprefix("param_"): Escaped(value) for name, value in (params or {}).items()}


def _empty_block(result: _chalet.Result) -> bytes:
    """Names and types of the columns in the format Native."""
    block = bytearray(_number(len(result.columns)) + _number(0))
    for column in zip(result.columns, result.types, strict=True):
        for text in map(str.encode, column):
            block += _number(len(text)) + text
    return bytes(block)


def _number(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _columns_only(result: _chalet.Result) -> QueryExecution:
    columns = [{"name": name, "type": ty} for name, ty in zip(result.columns, result.types, strict=True)]
    return QueryExecution(columns=columns, summary=_summary(result))


def _summary(result: _chalet.Result) -> dict[str, Any]:
    return {
        "read_rows": str(result.storage_rows_read()),
        "read_bytes": str(result.storage_bytes_read()),
        "written_rows": str(result.rows_written()),
        "written_bytes": str(result.bytes_written()),
        "result_rows": str(result.rows_read()),
        "elapsed_ns": str(int(result.elapsed() * 1e9)),
    }


def _pieces_of(block: Any) -> Iterator[bytes]:
    """Whatever raw_insert takes, in pieces."""
    if block is None:
        raise ProgrammingError("raw_insert needs data")
    if isinstance(block, str):
        yield block.encode()
    elif isinstance(block, (bytes, bytearray, memoryview)):
        yield bytes(block)
    elif hasattr(block, "read"):
        while piece := block.read(1 << 20):
            yield piece.encode() if isinstance(piece, str) else piece
    elif hasattr(block, "to_pybytes"):
        yield block.to_pybytes()
    else:
        for piece in block:
            yield piece.encode() if isinstance(piece, str) else piece
