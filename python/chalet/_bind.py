"""Placeholders of DB-API statements: `%s`, `?` and `%(name)s` become parameters of the engine, `{p0:Type}`.

No value is ever pasted into a statement. Placeholders in quotes and comments are text.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ._chalet import ProgrammingError, tokens
from ._params import BYTES, Unbindable, simpler, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ._chalet import Connection, Cursor

_INSERT = re.compile(r"\s*(?P<head>INSERT\s+INTO\b.*?\bVALUES)\s*(?P<row>\(.*\))?\s*;?\s*\Z", re.IGNORECASE | re.DOTALL)
_PLACE = re.compile(r"\s*(?:%s|\?|%\((?P<name>[^)]+)\)s)\s*")
_GIVEN = re.compile(r"\{\s*(\w+)\s*:")
# Longer statements seldom come twice.
_MOST_KEPT = 4096


class Split(NamedTuple):
    """A statement as texts and what stands between them: `%s`, `?`, `%%` or `%(name)s`. There is one text more."""

    texts: tuple[str, ...]
    places: tuple[str, ...]
    #: The parameters that the statement itself names, `{name:Type}`.
    given: frozenset[str]
    #: What the names of new parameters begin with, so that they are no others' names.
    prefix: str

    def filled(self, fill: Iterable[str]) -> str:
        """The statement with other texts in its places."""
        first, *others = self.texts
        return first + "".join([part for pair in zip(fill, others) for part in pair])


def split(query: str) -> Split:
    """The statement's texts and places."""
    return _kept_split(query) if len(query) <= _MOST_KEPT else _split(query)


def _split(query: str) -> Split:
    if "%" not in query and "?" not in query:
        texts, places = [query], []
    else:
        texts, places = _texts_and_places(tokens(query))
    given = frozenset(_GIVEN.findall(query))
    prefix = "p"
    while any(name.startswith(prefix) for name in given):
        prefix += "_"
    return Split(tuple(texts), tuple(places), given, prefix)


_kept_split = lru_cache(maxsize=256)(_split)


def _texts_and_places(parts: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    texts: list[str] = []
    places: list[str] = []
    text: list[str] = []
    at, end = 0, len(parts)
    while at < end:
        kind, part = parts[at]
        length = 0
        if kind == "symbol":
            if part == "?":
                length = 1
            elif part == "%" and at + 1 < end:
                following = parts[at + 1]
                if following == ("word", "s") or following == ("symbol", "%"):
                    length = 2
                elif following == ("symbol", "("):
                    length = _length_of_name(parts, at)
        if length:
            texts.append("".join(text))
            places.append("".join([part for _, part in parts[at : at + length]]))
            text = []
            at += length
        else:
            text.append(part)
            at += 1
    texts.append("".join(text))
    return texts, places


def _length_of_name(parts: list[tuple[str, str]], at: int) -> int:
    """How many tokens `%(name)s` has that begins here; 0 where there is none."""
    try:
        closed = parts.index(("symbol", ")"), at + 2)
    except ValueError:
        return 0
    is_name = closed > at + 2 and closed + 1 < len(parts) and parts[closed + 1] == ("word", "s")
    return closed + 2 - at if is_name else 0


def placed(query: str, args: Any) -> tuple[str, dict[str, Any]]:
    """The statement with `{name:Type}` for each placeholder, and the values by name.

    A dict fills `%(name)s`, and `{name:Type}` that stand in the statement; a sequence fills `%s`, or `?` where the
    statement has no `%s`, or both where there are as many values; any other value is a sequence of one.
    """
    if args is None:
        return query, {}
    values: dict[str, Any] = {}
    if isinstance(args, dict):
        statement = split(query)
        if not statement.places:
            return query, _named(statement, args)
        names: dict[str, str] = {}

        def parameter(name: str) -> str:
            if name not in names:
                names[name] = f"{statement.prefix}{len(names)}"
            return _parameter(names[name], args[name], values)

        text = statement.filled(_by_name(statement, args, parameter))
        return text, {**_named(statement, args), **values}
    args = args if isinstance(args, (tuple, list)) else (args,)
    if not args:
        return query, {}
    statement = split(query)
    prefix = statement.prefix
    literals = (_parameter(f"{prefix}{at}", value, values) for at, value in enumerate(args))
    return statement.filled(_by_position(statement, args, literals)), values


def shown(query: str, args: Any, literal: Any) -> str:
    """The statement with a literal of each value in its place."""
    statement = split(query)
    if isinstance(args, dict):
        fill = _by_name(statement, args, lambda name: literal(args[name]))
    else:
        args = args if isinstance(args, (tuple, list)) else (args,)
        fill = _by_position(statement, args, map(literal, args))
    # Only what `execute` is given has its percent signs doubled.
    return statement.filled(place if place == "%%" else text for place, text in zip(statement.places, fill))


def _by_name(statement: Split, args: Mapping[str, Any], text_of: Any) -> Iterator[str]:
    for place in statement.places:
        if place == "%%":
            yield "%"
        elif len(place) < 3:
            yield place
        elif place[2:-2] in args:
            yield text_of(place[2:-2])
        else:
            raise ProgrammingError(f"the statement asks for a value of {place[2:-2]!r}, which is not given")


def _by_position(statement: Split, args: Sequence[Any], texts: Iterator[str]) -> list[str]:
    places = statement.places
    n, n_formats = len(args), places.count("%s")
    # A question mark beside `%s` may be an operator.
    filled = ("?",) if n_formats == 0 else ("%s", "?") if n == n_formats + places.count("?") else ("%s",)
    n_places = n_formats if len(filled) == 1 and n_formats else sum(place in filled for place in places)
    if n_places != n:
        word = "more" if n_places > n else "fewer"
        raise ProgrammingError(f"the statement has {word} placeholders than the {n} values given")
    percent = "%" if n_formats else "%%"
    return [next(texts) if place in filled else percent if place == "%%" else place for place in places]


def _named(statement: Split, args: Mapping[str, Any]) -> dict[str, Any]:
    """Those that the statement itself names."""
    return {name: args[name] for name in statement.given if name in args}


def _parameter(name: str, value: Any, values: dict[str, Any]) -> str:
    value = simpler(value)
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
    if insert is not None and rows:
        head, names = insert
        if names is None and (isinstance(rows[0], (str, *BYTES)) or not hasattr(rows[0], "__len__")):
            # As `execute` takes them: each is the only value of its row.
            rows = [(row,) for row in rows]
        try:
            return connection.insert_rows(head, rows, None if names is None else list(names), timeout=timeout)
        except Unbindable as error:
            raise ProgrammingError(str(error)) from None
    ends = None if timeout is None else time.monotonic() + timeout
    total = 0
    for row in rows:
        text, params = placed(query, row)
        left = None if ends is None else max(ends - time.monotonic(), 0)
        total += max(cursor.execute(text, params or None, timeout=left).rowcount, 0)
    return total
