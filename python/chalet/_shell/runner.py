"""Runs statements one after the other: their output, errors and times."""

from __future__ import annotations

import contextlib
import sys
import time

from .. import _chalet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from .arguments import Options
    from .data import Data

#: The format of output on a terminal, and elsewhere.
ON_TERMINAL, ELSEWHERE = "PrettyCompact", "TabSeparated"


class Runner:
    """Statements of one connection."""

    def __init__(self, connection: _chalet.Connection, options: Options, data: Data) -> None:
        self.connection = connection
        self.data = data
        self.on_terminal = sys.stdout.isatty()
        self.format = options.format or (ON_TERMINAL if self.on_terminal else ELSEWHERE)
        self.params: dict[str, Any] = dict(options.params)
        self.echo = options.echo
        self.ignore_error = options.ignore_error
        #: Say how long each statement took: plainly, or in words for a reader at a prompt.
        self.timing = options.time
        self.in_words = False
        self.failed = False
        #: Files for pictures of queries.
        self.pipeline = options.pipeline
        self.profile = options.profile
        #: What a server knows the statements by.
        self.query_id = options.query_id
        self._file: BinaryIO | None = None

    @property
    def out(self) -> BinaryIO:
        """Where output goes."""
        return self._file or sys.stdout.buffer

    def write_to(self, path: str | None) -> None:
        """Sends output to a file, or back to standard output. OSError: the file cannot be written."""
        opened = None if path is None else open(path, "wb")  # noqa: SIM115 - open until another one is named
        before, self._file = self._file, opened
        if before is not None:
            before.close()

    def script(self, text: str) -> bool:
        """Runs all statements of a text. False: one failed, and what follows it did not run, unless errors are ignored."""
        for statement, data, end in _chalet.split_statements(text):
            if not self.statement(statement, data, vertical=end == "vertical") and not self.ignore_error:
                return False
        return True

    def statement(self, text: str, data: str | None = None, *, vertical: bool = False) -> bool:
        """Runs one statement and writes its output; an error goes to standard error."""
        if self.echo:
            self.out.write(text.strip().encode() + b"\n")
        started = time.perf_counter()
        try:
            rows = self._run(text, data, "Vertical" if vertical else self.format)
        except (_chalet.Error, ImportError, ValueError) as error:
            undetected = getattr(error, "name", "") == "CANNOT_DETECT_FORMAT" and self.data.is_prepared
            self.error(f"{error}\n--input-format says which it is" if undetected else str(error))
            return False
        if self.timing or self.in_words:
            self._tell_time(time.perf_counter() - started, rows)
        return True

    def _run(self, text: str, data: str | None, fmt: str) -> tuple[str, int] | None:
        """What was done, as words and a number of rows."""
        if data is not None and not data.strip():
            written = self.data.insert(self.connection, text)
            if written is not None:
                return "written", written
        self.data.prepare(self.connection, text)
        if (self.pipeline or self.profile) and text.lstrip(" \t\r\n(")[:6].upper().startswith(("SELECT", "WITH", "FROM")):
            self._picture(text)
            return None
        result = self._answer(text, fmt)
        if not isinstance(result, _chalet.Result):
            self.out.write(f"{result}\n".encode())
            self.out.flush()
            return None
        self.out.write(result.get_memview().view())
        self.out.flush()
        if result.rows_written():
            return "written", result.rows_written()
        return ("", result.rows_read()) if result.size() or result.rows_read() else None

    def _answer(self, text: str, fmt: str) -> Any:
        if self.query_id is None:
            return self.connection.query(text, fmt, self.params or None)
        from .._waiting import answered

        return answered(self.connection._converse(text, fmt, self.params or None, None, self.query_id, False))

    def _picture(self, text: str) -> None:
        """Runs a query for what it does, not for its rows."""
        if self.pipeline:
            self.connection.pipeline(text, self.params or None).save(self.pipeline)
        if self.profile:
            self.connection.profile(text, self.params or None).save(self.profile)

    def error(self, text: str) -> None:
        """Says what failed."""
        self.failed = True
        # Whether output can be written is found out, and told, where it is written.
        with contextlib.suppress(OSError):
            self.out.flush()
        print(text, file=sys.stderr, flush=True)

    def _tell_time(self, seconds: float, rows: tuple[str, int] | None) -> None:
        if not self.in_words:
            print(f"{seconds:.3f}", file=sys.stderr, flush=True)
            return
        what = "done" if rows is None else f"{rows[1]:,} row{'' if rows[1] == 1 else 's'} {rows[0]}".rstrip()
        if self.timing:
            what += f", {seconds:.3f} s"
        print(f"{what}\n", flush=True)
