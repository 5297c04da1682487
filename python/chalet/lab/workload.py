"""Workloads: the statements of a text, and how long one takes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any


def statements(text: str) -> Iterator[str]:
    """The statements of a text; semicolons in strings, names and comments end none."""
    pattern = r"""'(?:\\.|''|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|--[^\n]*|/\*.*?\*/|;|[^'"`;/-]+|."""
    statement = ""
    for token in re.findall(pattern, text, re.DOTALL):
        if token == ";":
            if statement.strip():
                yield statement.strip()
            statement = ""
        elif not token.startswith("--"):
            statement += token
    if statement.strip():
        yield statement.strip()


def is_query(sql: str) -> bool:
    """Does a statement give rows that somebody waits for? The others prepare."""
    return re.match(r"(?i)\s*(\(|SELECT\b|WITH\b)", sql) is not None


def seconds_of(connection: Any, sql: str) -> float:
    """How long a statement takes now."""
    start = time.perf_counter()
    connection.query(sql)
    return time.perf_counter() - start
