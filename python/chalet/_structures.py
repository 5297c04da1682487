"""Columns of tables that come along with a statement."""

from __future__ import annotations

from . import _chalet


def numbered(types: str) -> str:
    """Types, apart at commas, as columns `_1`, `_2` and so on."""
    found, depth = [""], 0
    for _, text in _chalet.tokens(types):
        depth += (text == "(") - (text == ")")
        if text == "," and depth == 0:
            found.append("")
        else:
            found[-1] += text
    return ", ".join(f"_{at} {ty.strip()}" for at, ty in enumerate(found, 1))
