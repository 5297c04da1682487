"""Placeholders of DB-API statements: `%s`, `?` and `%(name)s` become parameters of the engine, `{p0:Type}`.

No value is ever pasted into a statement. Placeholders in quotes and comments are text.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ._chalet import ProgrammingError
from ._params import Unbindable, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._chalet import Connection, Cursor

_TOKENS = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/|(?P<doc>\$\w*\$).*?(?P=doc))"""
    r"""|%\((?P<name>[^)]+)\)s|(?P<format>%s)|(?P<percent>%%)|(?P<mark>\?)""",
    re.DOTALL,
)
_INSERT = re.compile(r"\s*(?P<head>INSERT\s+INTO\b.*?\bVALUES)\s*(?P<row>\(.*\))?\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_PLACE = re.compile(r"\s*(?:%s|\?|%\((?P<name>[^)]+)\)s)\s*")


def placed(query: str, args: Any) -> tuple[str, dict[str, Any]]:
    """The statement with `{name:Type}` for each placeholder, and the values by name.

    A dict fills `%(name)s`, and `{name:Type}` that stand in the statement; a sequence fills `%s`, or `?` where the
    statement has no `%s`; any other value is a sequence of one.
    """
    if args is None:
        return query, {}
    if isinstance(args, dict):
        return _by_name(query, args)
    values: Sequence[Any] = args if isinstance(args, (tuple, list)) else (args,)
    if not values:
        return query, {}
    return _by_position(query, values)


def _by_name(query: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {}
    names: dict[str, str] = {}

    def place(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return "%" if match["percent"] else match[0]
        if name not in args:
            raise ProgrammingError(f"the statement asks for a value of {name!r}, which is not given")
        if name not in names:
            names[name] = f"p{len(names)}"
        return _parameter(names[name], args[name], values)

    text = _TOKENS.sub(place, query)
    # Those that the statement itself names.
    return text, {**{name: value for name, value in args.items() if isinstance(name, str)}, **values}


def _by_position(query: str, given: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    kind = "format" if any(match["format"] for match in _TOKENS.finditer(query)) else "mark"
    values: dict[str, Any] = {}
    left = iter(enumerate(given))

    def place(match: re.Match[str]) -> str:
        if match["percent"] and kind == "format":
            return "%"
        if not match[kind]:
            return match[0]
        at, value = next(left, (len(given), None))
        if at == len(given):
            raise ProgrammingError(f"the statement has more placeholders than the {len(given)} values given")
        return _parameter(f"p{at}", value, values)

    text = _TOKENS.sub(place, query)
    if next(left, None) is not None:
        raise ProgrammingError(f"the statement has fewer placeholders than the {len(given)} values given")
    return text, values


def _parameter(name: str, value: Any, values: dict[str, Any]) -> str:
    if value is None:
        return "NULL"
    try:
        ty = type_of(value)
    except Unbindable as error:
        raise ProgrammingError(str(error)) from None
    values[name] = value
    return f"{{{name}:{ty}}}"


@lru_cache(maxsize=64)
def rows_statement(query: str) -> tuple[str, tuple[str, ...] | None] | None:
    """`INSERT INTO t (a, b) VALUES (%s, ?)` without its row, and the names of its placeholders or None where they have
    none. None when the row is anything but placeholders of one kind: then it is executed row by row. It may have no row
    at all, as clickhouse-driver wants it."""
    match = _INSERT.match(query)
    if match is None:
        return None
    row = match["row"]
    if row is None:
        return match["head"], None
    places = [_PLACE.fullmatch(part) for part in row[1:-1].split(",")]
    if not all(places):
        return None
    names = [place["name"] for place in places]
    if any(names) and not all(names):
        return None
    return match["head"], tuple(names) if any(names) else None


def run_many(cursor: Cursor, connection: Connection, query: str, args: Iterable[Any], timeout: float | None) -> int:
    """`executemany` of all cursors: runs the statement for each row of values. An INSERT of nothing but placeholders goes
    column by column, all rows or none. Returns how many rows there are in all results, or were written."""
    rows = args if isinstance(args, list) else list(args)
    insert = rows_statement(query)
    if insert is not None and rows and not isinstance(rows[0], str):
        head, names = insert
        return connection.insert_rows(head, rows, None if names is None else list(names), timeout=timeout)
    ends = None if timeout is None else time.monotonic() + timeout
    total = 0
    for row in rows:
        text, params = placed(query, row)
        left = None if ends is None else max(ends - time.monotonic(), 0)
        total += max(cursor.execute(text, params or None, timeout=left).rowcount, 0)
    return total
