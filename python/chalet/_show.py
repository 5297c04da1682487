"""Rows of texts as a table: for a terminal as wide as it is, and for a notebook."""

from __future__ import annotations

import html
import shutil
import unicodedata
from collections.abc import Sequence

Rows = Sequence[Sequence[str | None]]

# Characters of a value that are shown, and of what is left out.
_MOST = 40
_CUT = "…"
_NULL = "NULL"
# How the engine writes NULL as text.
_WRITTEN_NULL = "ᴺᵁᴸᴸ"


def as_text(names: Sequence[str], types: Sequence[str], rows: Rows, more: bool) -> str:
    """A frame of lines. Columns that do not fit are left out in the middle."""
    columns = [[_cell(name), _cell(ty), *(_cell(row[at]) for row in rows)] for at, (name, ty) in enumerate(zip(names, types))]
    widths = [max(map(_width, column)) for column in columns]
    chosen = _fitting(widths, shutil.get_terminal_size((100, 24)).columns)
    if len(chosen) < len(columns):
        gap = [_CUT] * (len(rows) + 2)
        half = (len(chosen) + 1) // 2
        columns = [columns[at] for at in chosen[:half]] + [gap] + [columns[at] for at in chosen[half:]]
        widths = [max(map(_width, column)) for column in columns]
    numbers = [column[1].startswith(("UInt", "Int", "Float", "Decimal", "Nullable(UInt", "Nullable(Int")) for column in columns]

    def line(at: int, left: bool = False) -> str:
        cells = [_padded(column[at], width, right and not left) for column, width, right in zip(columns, widths, numbers)]
        return "│ " + " │ ".join(cells) + " │"

    def rule(begin: str, middle: str, end: str) -> str:
        return begin + middle.join("─" * (width + 2) for width in widths) + end

    body = [line(at) for at in range(2, len(rows) + 2)]
    lines = [rule("┌", "┬", "┐"), line(0, True), line(1, True), rule("├", "┼", "┤"), *body, rule("└", "┴", "┘")]
    return "\n".join([*lines, _said(len(rows), len(names), more)])


def as_html(names: Sequence[str], types: Sequence[str], rows: Rows, more: bool) -> str:
    """A table element; every text is escaped."""
    heads = "".join(f"<th>{html.escape(name)}<br><small>{html.escape(ty)}</small></th>" for name, ty in zip(names, types))
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    said = html.escape(_said(len(rows), len(names), more))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table><p>{said}</p>"


def values_as_html(names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[object]], n_rows: int) -> str:
    """The same of Python objects, which are the first rows of so many."""
    texts = [[None if value is None else str(value) for value in row] for row in rows]
    return as_html(names, types, texts, len(rows) < n_rows)


def _said(n_rows: int, n_columns: int, more: bool) -> str:
    rows = f"{n_rows} row{'' if n_rows == 1 else 's'}"
    columns = f"{n_columns} column{'' if n_columns == 1 else 's'}"
    return f"the first {rows} of more, {columns}" if more else f"{rows}, {columns}"


def _cell(value: str | None) -> str:
    if value is None or value == _WRITTEN_NULL:
        return _NULL
    text = value if len(value) <= _MOST else value[: _MOST - 1] + _CUT
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _width(text: str) -> int:
    """Columns of a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """Places of the columns to show: from both ends, two at least."""
    if sum(width + 3 for width in widths) + 1 <= room:
        return list(range(len(widths)))
    left, right, used = [], [], len(_CUT) + 4
    ends = list(range(len(widths)))
    while ends:
        at = ends.pop(0) if len(left) <= len(right) else ends.pop()
        if used + widths[at] + 3 > room and len(left) + len(right) >= 2:
            break
        used += widths[at] + 3
        (left if len(left) <= len(right) else right).append(at)
    return left + right[::-1]
