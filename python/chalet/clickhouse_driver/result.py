"""What clickhouse-driver tells of a query: its progress, and `Client.last_query`."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .._chalet import Result


class Progress:
    """What was read, of how much, and written, in how many nanoseconds."""

    def __init__(self, rows: int = 0, bytes: int = 0, written_rows: int = 0, written_bytes: int = 0, elapsed_ns: int = 0) -> None:
        self.rows, self.bytes, self.elapsed_ns = rows, bytes, elapsed_ns
        # Statements are shown when they have run.
        self.total_rows, self.total_bytes = rows, bytes
        self.written_rows, self.written_bytes = written_rows, written_bytes


class ProfileInfo:
    """What the result has."""

    def __init__(self, rows: int = 0, bytes: int = 0) -> None:
        self.rows, self.bytes = rows, bytes


class QueryInfo:
    """A statement that has run; `elapsed` in seconds."""

    def __init__(self) -> None:
        self.profile_info = ProfileInfo()
        self.progress = Progress()
        self.elapsed = 0.0

    @classmethod
    def of(cls, result: Result, elapsed: float) -> QueryInfo:
        """That of a result."""
        info = cls()
        info.profile_info = ProfileInfo(result.rows_read(), result.bytes_read())
        info.progress = Progress(
            result.storage_rows_read(),
            result.storage_bytes_read(),
            result.rows_written(),
            result.bytes_written(),
            int(result.elapsed() * 1e9),
        )
        info.elapsed = elapsed
        return info

    def add(self, result: Result, elapsed: float) -> None:
        """Rows of a stream that have come."""
        self.profile_info.rows += result.rows_read()
        self.profile_info.bytes += result.bytes_read()
        self.progress.rows, self.progress.bytes = self.profile_info.rows, self.profile_info.bytes
        self.elapsed = elapsed

    @classmethod
    def written(cls, rows: int, elapsed: float) -> QueryInfo:
        """That of an INSERT."""
        info = cls()
        info.progress = Progress(written_rows=rows)
        info.elapsed = elapsed
        return info


class ProgressQueryResult:
    """A query that runs on a thread of its own: iterating gives (rows read, rows to read) until its end."""

    def __init__(self, run: Callable[[Callable[[dict[str, int]], None]], Any]) -> None:
        self._told: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
        self._result: Any = None
        self._failure: BaseException | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._work, args=(run,), name="chalet-progress", daemon=True)
        self._thread.start()

    def _work(self, run: Any) -> None:
        try:
            self._result = run(lambda told: self._told.put((told["read_rows"], told["total_rows_to_read"])))
        except BaseException as error:
            self._failure = error
        finally:
            self._told.put(None)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return self

    def __next__(self) -> tuple[int, int]:
        told = None if self._is_over else self._told.get()
        if told is None:
            self._is_over = True
            self._thread.join()
            if self._failure is not None:
                raise self._failure
            raise StopIteration
        return told

    def get_result(self) -> Any:
        """What `execute` returns, at its end."""
        for _ in self:
            pass
        return self._result
