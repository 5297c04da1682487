"""A file or standard input as a table, and as the data of an INSERT."""

from __future__ import annotations

import contextlib
import io
import os
import sys

from .. import _chalet

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
        listed = ", ".join(map(literal, arguments))
        connection.query(f"CREATE VIEW {name(self._options.table)} AS SELECT * FROM file({listed})")

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
