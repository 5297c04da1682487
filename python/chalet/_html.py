"""Rows as a table of HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = "text-align: left; white-space: pre-wrap"


def table(names: list[str], types: list[str], rows: list[tuple[Any, ...]], n_rows: int) -> str:
    """A table of the first rows; of all `n_rows` it says how many there are."""
    heads = "".join(
        f'<th style="{_STYLE}" title="{escape(ty)}">{escape(name)}</th>' for name, ty in zip(names, types, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    shown = f", the first {len(rows):,} are shown" if len(rows) < n_rows else ""
    count = f"<small>{n_rows:,} row{'' if n_rows == 1 else 's'}{shown}</small>"
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{count}"


def _cell(value: Any) -> str:
    if value is None:
        return f'<td style="{_STYLE}"><i>NULL</i></td>'
    style = "text-align: right" if isinstance(value, (int, float)) and not isinstance(value, bool) else _STYLE
    return f'<td style="{style}">{escape(str(value))}</td>'
