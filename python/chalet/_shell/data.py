"""A file or standard input as a table, and as the data of an INSERT."""

from __future__ import annotations

import contextlib
import io
import os
import sys

from .. import _chalet
from .._structures import numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .arguments import Options

# Behind these a name may be a table's.
_BEFORE_TABLES = frozenset({"FROM", "JOIN", "IN", "DESCRIBE", "DESC", "TABLE"})
_PIECE = 1 << 20


class Data:
    """What `--file` names, or standard input: made a table when a statement first asks for it, since reading a standard
    input that nobody writes to would wait for ever."""

    def __init__(self, options: Options, standard_input_is_free: bool) -> None:
        self._options = options
        self._path = options.file or "-"
        self.is_given = options.file is not None or standard_input_is_free
        self._reads_standard_input = self._path == "-" and standard_input_is_free
        #: Is it a table already?
        self.is_prepared = False
        self._copy: str | None = None
        # Reads files for a server.
        self._here: _chalet.Connection | None = None

    def prepare(self, connection: _chalet.Connection, statement: str) -> None:
        """Makes the table if the statement names it."""
        if not self.is_given or not names_table(statement, self._options.table):
            return
        self.is_given, self.is_prepared = False, True
        path, known_format = self._path, self._options.input_format
        if path == "-":
            path = self._copy = _copied_standard_input()
        if known_format is None:
            known_format = "auto"
        arguments = [path, known_format]
        if self._options.structure is not None:
            arguments.append(self._options.structure)
        if self._options.has_server:
            # It has no file of this machine: the rows are sent along with each statement that names the table.
            self._send(connection, self._options.table, arguments)
            return
        listed = ", ".join(map(literal, arguments))
        connection.query(f"CREATE VIEW {name(self._options.table)} AS SELECT * FROM file({listed})")

    def register_external(self, connection: _chalet.Connection) -> None:
        """Makes the tables behind --external known."""
        for number, table in enumerate(self._options.external):
            path = table["file"]
            if path == "-":
                path = self._copy = _copied_standard_input()
                self.is_given = False
            structure = table.get("structure") or numbered(table.get("types", ""))
            called = table.get("name", "_data" if number == 0 else f"_data{number + 1}")
            self._send(connection, called, [path, table.get("format", "TabSeparated"), structure])

    def _send(self, connection: _chalet.Connection, called: str, arguments: list[str]) -> None:
        if self._here is None:
            self._here = _chalet.Connection()
        listed = ", ".join(map(literal, arguments))
        connection.register(called, self._here.sql(f"SELECT * FROM file({listed})"))

    def insert(self, connection: _chalet.Connection, statement: str) -> int | None:
        """Runs an INSERT over standard input; returns the number of rows, None where nothing can be read."""
        if not self._reads_standard_input or not self.is_given:
            return None
        self.is_given = False
        with connection.send_insert(statement) as insert:
            while piece := sys.stdin.buffer.read(_PIECE):
                insert.append(piece)
            return insert.finish().rows_written

    def close(self) -> None:
        """Removes what was copied."""
        if self._copy is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._copy)
            self._copy = None
        if self._here is not None:
            self._here.close()
            self._here = None


def names_table(statement: str, table: str) -> bool:
    """Does a table of this name stand in a statement, as far as its tokens tell?"""
    before = ""
    for kind, text in _chalet.tokens(statement):
        if kind in ("space", "comment"):
            continue
        if text == table or (kind == "name" and text[1:-1] == table):
            if before == "," or before.upper() in _BEFORE_TABLES:
                return True
        before = text
    return False


def _copied_standard_input() -> str:
    """A file is read twice: to find out its columns, and for its rows."""
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="chalet-", delete=False) as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, _PIECE)
    return copy.name


def text_of(path: str | None) -> str:
    """The statements of a file, None for standard input. ValueError: they are no UTF-8."""
    try:
        if path is None:
            if isinstance(sys.stdin, io.TextIOWrapper):
                # The locale may say otherwise.
                sys.stdin.reconfigure(encoding="utf-8", errors="strict")
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path or 'standard input'} is no UTF-8: {error}") from None


def literal(text: str) -> str:
    """A text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def name(text: str) -> str:
    """A text as a name in quotes."""
    escaped = text.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
