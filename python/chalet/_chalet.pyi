import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar, overload

from ._pipeline import Pipeline
from ._profile import Profile
from ._relation import Relation

_T = TypeVar("_T")

__version__: str
__file__: str

def split_statements(text: str) -> list[tuple[str, str | None, str]]:
    """The statements of a text as `(statement, data, end)`; `data` are those of an INSERT, `end` is "semicolon", "vertical" (`\\G`),
    "data" or "text"."""

def tokens(text: str) -> list[tuple[str, str]]:
    """All of a text as `(kind, text)`: "space", "comment", "word", "name", "number", "string", "symbol", "error", "unclosed"."""

class StandardError(RuntimeError): ...
class Warning(StandardError): ...

class Error(StandardError):
    """A statement failed. `code` and `name` are ClickHouse's, e.g. 47 and 'UNKNOWN_IDENTIFIER'."""

    code: int
    name: str

class InterfaceError(Error): ...
class DatabaseError(Error): ...
class DataError(DatabaseError): ...
class OperationalError(DatabaseError): ...
class IntegrityError(DatabaseError): ...
class InternalError(DatabaseError): ...
class ProgrammingError(DatabaseError): ...
class NotSupportedError(DatabaseError): ...

class MemoryView:
    """Bytes of a result, lent through the buffer protocol without a copy."""

    def tobytes(self) -> bytes: ...
    def view(self) -> memoryview: ...
    def size(self) -> int: ...
    def release(self) -> None: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Result:
    """The answer of a query."""

    def bytes(self) -> builtins.bytes: ...
    def data(self) -> str: ...
    def size(self) -> int: ...
    def show(self) -> None: ...
    def _with_totals(self) -> Result: ...
    def get_memview(self) -> MemoryView: ...
    def rows_read(self) -> int:
        """Rows of the result."""
    def bytes_read(self) -> int:
        """Bytes of memory of the result as columns."""
    def storage_rows_read(self) -> int:
        """Rows read from tables and files."""
    def storage_bytes_read(self) -> int:
        """Bytes read from tables and files."""
    def rows_written(self) -> int: ...
    def bytes_written(self) -> int: ...
    def elapsed(self) -> float:
        """Seconds."""
    def has_error(self) -> bool: ...
    def error_message(self) -> str: ...
    def to_format(self, format: str) -> builtins.bytes:
        """The rows as bytes of a format; ValueError where the result is text already."""
    def df(self) -> Any:
        """A pandas DataFrame."""
    def arrow(self) -> Any:
        """A pyarrow Table."""
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...

class StreamingResult:
    """Rows of a query, fetched while it runs. At most some megabytes wait to be fetched."""

    def fetch(self) -> Any:
        """The next rows: a `Result`, or a DataFrame or pyarrow Table; None at the end."""
    def record_batch(self, rows_per_batch: int = 1_000_000) -> Any:
        """A `pyarrow.RecordBatchReader` of the rest. Once; the format must be Arrow."""
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def _columns(self) -> list[tuple[str, str]] | None: ...
    def close(self) -> None: ...
    def cancel(self) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class InsertResult:
    rows_written: int
    bytes_written: int
    elapsed: float
    def __init__(self, rows_written: int, bytes_written: int, elapsed: float) -> None: ...

class StreamingInserter:
    """Takes the data of an INSERT in pieces. Nothing is in the table before `finish`."""

    def append(self, data: str | bytes | bytearray | memoryview) -> None: ...
    def finish(self) -> InsertResult: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancels what was not finished."""

class Server:
    """What `chalet.server.start` starts."""

    def __init__(
        self,
        connection: Connection,
        host: str,
        http: int | None,
        tcp: int | None,
        users: list[tuple[str, str | None, str | None, int, str | None, list[tuple[int, list[tuple[str, int]]]]]],
        max_connections: int,
        https: int | None = None,
        tcp_secure: int | None = None,
        tls: tuple[str, str] | None = None,
        origins: list[str] = ...,
    ) -> None: ...
    @property
    def http_port(self) -> int | None: ...
    @property
    def tcp_port(self) -> int | None: ...
    def stop(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Cursor:
    """Rows as tuples of Python objects."""

    def execute(
        self,
        query: str,
        params: dict[str, Any] | list[Any] | tuple[Any, ...] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Self:
        """Runs statements, whose rows are then fetched. `params` is a dict for `{name:Type}`, or a list or tuple for `%s` or `?`."""
    def executemany(self, query: str, rows: Iterable[Any], *, timeout: float | None = None) -> Self:
        """Runs a statement for each of many rows of values, `%s`, `?` or `%(name)s`. `INSERT INTO t VALUES (%s, ...)` goes
        column by column, all rows or none."""
    def fetchone(self) -> tuple[Any, ...] | None: ...
    def fetchmany(self, size: int = 1) -> tuple[tuple[Any, ...], ...]: ...
    def fetchall(self) -> tuple[tuple[Any, ...], ...]: ...
    def column_names(self) -> list[str]: ...
    def column_types(self) -> list[str]: ...
    def rows_read(self) -> int: ...
    def bytes_read(self) -> int: ...
    def elapsed(self) -> float: ...
    @property
    def _pool_size(self) -> int | None: ...
    def _converse(
        self,
        query: str,
        format: str | None,
        params: dict[str, Any] | None,
        settings: dict[str, Any] | None,
        query_id: str | None,
        streams: bool,
        rows: list[Any] | None = None,
        keys: Sequence[Any] | None = None,
        tables: dict[str, Any] | None = None,
    ) -> Conversation: ...
    def _stream(
        self,
        query: str,
        params: dict[str, Any] | None = None,
        tables: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        query_id: str | None = None,
    ) -> StreamingResult: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...
    @property
    def rowcount(self) -> int:
        """Rows of the result, or written; -1 when that is not known."""
    @property
    def connection(self) -> Connection | None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, None]] | None: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def __next__(self) -> tuple[Any, ...]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Call:
    """A call of the engine for somebody who waits elsewhere, see `chalet.aio`."""

    def __init__(self, timeout: float | None = None) -> None: ...
    def run(self, function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T: ...
    def stop(self) -> None: ...
    def expire(self) -> NoReturn: ...

class Conversation:
    """Statements on their way to a server, in steps that wait for nothing, see `chalet.aio`."""

    def step(self) -> tuple[int, float, Any]: ...
    def connect(self) -> None: ...
    def fileno(self) -> int | None: ...
    def answer(self) -> Any: ...
    def stop(self) -> None: ...

class Connection:
    """One session of one database, usable from any thread, one query at a time."""

    def __init__(self, connection_string: str | PathLike[str] = ":memory:") -> None: ...
    def query(
        self,
        query: str,
        format: str | None = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Any:
        """A `Result`, or a DataFrame or pyarrow Table where `format` is "DataFrame" or "ArrowTable".

        A name in FROM is looked up in `tables`, among registered objects, in the database, and in the caller's local
        and global variables, in this order. After `timeout` seconds it raises OperationalError with the name
        TIMEOUT_EXCEEDED. `settings` are those of ClickHouse, for this call.

            db.query("SELECT max(price) FROM 'sales.parquet'").data()
            db.query("SELECT * FROM frame WHERE day = {day:Date}", "DataFrame", {"day": today}, timeout=2)
        """
    @overload
    def sql(
        self,
        query: str,
        format: None = None,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Relation:
        """A query as a relation: planned now, run when its rows are asked for.

            db.sql("SELECT * FROM 'trips.parquet'").filter("distance > 10").order("fare DESC").limit(5).df()

        A statement that is no query runs at once: its rows become a relation, without rows the `Result` is returned.
        """
    @overload
    def sql(
        self,
        query: str,
        format: str,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """With a format: `query`."""
    def profile(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Profile:
        """Runs one query, drops its rows and tells what it spent its time and memory on, by operators and functions.

            db.profile("SELECT ...").save("flames.svg")
        """
    def pipeline(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        run: bool = True,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Pipeline:
        """The stages and operators of one query; with what each of them did, and each thread over time, unless `run` is
        False. Its rows are dropped.

            db.pipeline("SELECT ...").save("pipeline.svg")
        """
    def send_query(
        self,
        query: str,
        format: str = "CSV",
        params: Mapping[str, Any] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> StreamingResult:
        """Other queries may run while its rows are fetched. `timeout` is that of the whole query, in seconds from now."""
    def send_insert(
        self, query: str, format: str = "CSV", *, settings: Mapping[str, Any] | None = None
    ) -> StreamingInserter:
        """`INSERT INTO t [(columns)] [FORMAT f]`; the data are appended in pieces."""
    def insert_rows(
        self, query: str, rows: Any, keys: Sequence[Any] | None = None, *, timeout: float | None = None
    ) -> int:
        """`INSERT INTO t [(columns)] VALUES` of many rows: a list of sequences or dicts, or a DataFrame, an Arrow table or a dict of arrays,
        whose columns are taken by name. Returns how many."""
    def set_progress_callback(self, callback: Callable[[dict[str, int]], object] | None) -> None: ...
    def register(self, name: str, object: Any) -> Self:
        """Makes a DataFrame, Arrow table, dict of arrays, ... a table of this name for this connection."""
    def unregister(self, name: str) -> Self: ...
    def cursor(self) -> Cursor: ...
    def execute(
        self,
        query: str,
        params: dict[str, Any] | list[Any] | tuple[Any, ...] | None = None,
        *,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Cursor:
        """Runs statements, whose rows are then fetched. `params` is a dict for `{name:Type}`, or a list or tuple for `%s` or `?`."""
    def executemany(self, query: str, rows: Iterable[Any], *, timeout: float | None = None) -> Cursor: ...
    def fetchone(self) -> tuple[Any, ...] | None: ...
    def fetchmany(self, size: int = 1) -> tuple[tuple[Any, ...], ...]: ...
    def fetchall(self) -> tuple[tuple[Any, ...], ...]: ...
    def interrupt(self) -> None:
        """Stops the running query and open streams from another thread."""
    def generate_sql(self, prompt: str) -> str: ...
    def ask(self, prompt: str, **options: Any) -> Any: ...
    def _outline(
        self, query: str, params: Mapping[str, Any] | None = None, tables: Mapping[str, Any] | None = None
    ) -> tuple[list[str], list[str], dict[str, Any]] | None: ...
    def _read(
        self,
        query: str,
        format: str | None = None,
        params: Mapping[str, Any] | None = None,
        tables: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Any: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def add_scalar(
    name: str,
    function: Callable[..., Any],
    args: Sequence[str] | None,
    arity: tuple[int, int],
    result: str,
    takes_null: bool,
    ignores_errors: bool,
) -> None: ...
def add_aggregate(
    name: str,
    factory: Callable[[], Any],
    args: Sequence[str] | None,
    arity: tuple[int, int],
    result: str,
    takes_null: bool,
    ignores_errors: bool,
    takes_batches: bool,
) -> None: ...
def remove_function(name: str) -> bool: ...
def normalised_type(text: str) -> str: ...
