"""Cursors of DB-API 2.0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .._bind import placed, shown
from .._params import Unbindable
from . import err
from .converters import escape_item
from .types import bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .. import _chalet
    from .connections import Connection

Row = tuple[Any, ...]

_DECIMAL = re.compile(r"Decimal\((\d+), (\d+)\)")
# Bytes of a value, where all of a type take as many.
_SIZES = {"Bool": 1, "Date": 2, "Date32": 4, "DateTime": 4, "DateTime64": 8, "UUID": 16, "IPv4": 4, "IPv6": 16, "BFloat16": 2}
_BITS = re.compile(r"(?:U?Int|Float)(\d+)$")


class Executed(int):
    """What `Cursor.execute` returns: a number, as users of chDB expect, with the cursor's rows, as others do."""

    def __new__(cls, rowcount: int, cursor: Cursor) -> Executed:
        made = super().__new__(cls, rowcount)
        made._cursor = cursor
        return made

    @property
    def description(self) -> Any:
        """See `Cursor.description`."""
        return self._cursor.description

    def fetchone(self) -> Row | None:
        """See `Cursor.fetchone`."""
        return self._cursor.fetchone()

    def fetchmany(self, size: int | None = None) -> Sequence[Row]:
        """See `Cursor.fetchmany`."""
        return self._cursor.fetchmany(size)

    def fetchall(self) -> Sequence[Row]:
        """See `Cursor.fetchall`."""
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._cursor)


class Cursor:
    """Runs statements and fetches rows, as tuples of Python objects."""

    #: Characters of a statement; not a limit of the engine.
    max_stmt_length = 1024000

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection | None = connection
        self.arraysize = 1
        self.lastrowid = None
        self._cursor: _chalet.Cursor = connection._open().cursor()
        self._rowcount = -1
        self._has_rows = False
        self._rownumber = 0

    def _open(self) -> Connection:
        if self.connection is None:
            raise err.ProgrammingError("Cursor closed")
        return self.connection

    def execute(self, query: str, args: Any = None) -> Executed:
        """Runs a statement with the values of its placeholders: a sequence for `%s` or `?`, a dict for `%(name)s`.

        Returns the number of rows of the result, or that were inserted; -1 when there is none. Rows can be fetched of it too,
        as of the cursor: `for row in cursor.execute(...)`.
        """
        return self.execute_bound(*placed(query, args))

    def execute_bound(self, text: str, params: dict[str, Any] | None = None) -> int:
        """The same for a statement whose places are the engine's, `{name:Type}`, and their values by name."""
        self._open()._open()
        self._reset()
        try:
            self._cursor.execute(text, params or None)
        except Unbindable as error:
            raise err.ProgrammingError(str(error)) from None
        self._rowcount = self._cursor.rowcount
        self._has_rows = bool(self._cursor.column_names())
        return Executed(self._rowcount, self)

    def executemany(self, query: str, args: Iterable[Any]) -> int:
        """Runs a statement for each of many rows of values. `INSERT INTO t (...) VALUES (%s, ...)` goes column by column,
        all rows or none. Returns the number of rows, all of them."""
        self._open()._open()
        self._reset()
        self._cursor.executemany(query, args)
        self._rowcount = self._cursor.rowcount
        self._has_rows = bool(self._cursor.column_names())
        return self._rowcount

    def insert_rows(self, head: str, rows: list[Any], names: list[str] | None = None) -> int:
        """Inserts rows column by column: `INSERT INTO t (...) VALUES`, without the rows. They are sequences, or dicts whose
        `names` are the columns in order. Returns their number."""
        connection = self._open()._open()
        self._reset()
        self._rowcount = connection.insert_rows(head, rows, names)
        return self._rowcount

    def _reset(self) -> None:
        self._rowcount, self._has_rows, self._rownumber = -1, False, 0

    def mogrify(self, query: str, args: Any = None) -> str:
        """The statement with literals in place of its placeholders, to look at; `execute` does not do that."""
        return query if args is None else shown(query, args, escape_item)

    @property
    def rowcount(self) -> int:
        """Rows of the last result, or inserted by the last statement; -1 when there is none."""
        return self._rowcount

    @property
    def rownumber(self) -> int | None:
        """How many rows of the result were fetched."""
        return self._rownumber if self._has_rows else None

    @property
    def description(self) -> list[tuple[str, str, None, int | None, int | None, int | None, bool]] | None:
        """For each column: name, ClickHouse type, None, bytes of a value where all have as many, precision, scale and
        whether it may be NULL. The type equals one of the type objects: `description[0][1] == dbapi.NUMBER`."""
        if not self._has_rows or self.connection is None:
            return None
        names, types = self._cursor.column_names(), self._cursor.column_types()
        return [_described(name, ty) for name, ty in zip(names, types)]

    def _fetchable(self) -> _chalet.Cursor:
        self._open()._open()
        if not self._has_rows:
            raise err.ProgrammingError("There is no result to fetch: execute a query first")
        return self._cursor

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        row = self._fetchable().fetchone()
        self._rownumber += row is not None
        return row

    def fetchmany(self, size: int | None = None) -> Sequence[Row]:
        """The next rows, at most `size`, by default `arraysize`."""
        # A negative number asks for nothing, as in chDB.
        rows = self._fetchable().fetchmany(max(self.arraysize if size is None else size, 0))
        self._rownumber += len(rows)
        return rows

    def fetchall(self) -> Sequence[Row]:
        """All rows that are left."""
        rows = self._fetchable().fetchall()
        self._rownumber += len(rows)
        return rows

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def callproc(self, procname: str, args: Sequence[Any] = ()) -> Sequence[Any]:
        """There are no procedures."""
        raise err.NotSupportedError(f"there are no procedures, {procname!r} neither")

    def nextset(self) -> None:
        """There is one result."""
        self._open()

    def setinputsizes(self, *args: Any) -> None:
        """Does nothing."""

    def setoutputsizes(self, *args: Any) -> None:
        """Does nothing."""

    setoutputsize = setoutputsizes

    def close(self) -> None:
        """Ends the cursor. May be called again."""
        if self.connection is not None:
            self.connection = None
            self._cursor.close()

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.close()


def _described(name: str, ty: str) -> tuple[str, str, None, int | None, int | None, int | None, bool]:
    kind, decimal, bits = bare(ty), _DECIMAL.search(ty), _BITS.match(bare(ty))
    size = int(bits[1]) // 8 if bits else _SIZES.get(kind)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal and kind == "Decimal" else (None, None)
    return name, ty, None, size, precision, scale, "Nullable(" in ty.partition(kind)[0]
