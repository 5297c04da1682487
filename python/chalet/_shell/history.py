"""Statements kept between sessions, in a file that prompt_toolkit reads too: each line of a statement behind a `+`."""

from __future__ import annotations

import contextlib
import os
import time


def default_path() -> str:
    """`$CHALET_HISTORY`, else `~/.chalet_history`."""
    return os.environ.get("CHALET_HISTORY") or os.path.expanduser("~/.chalet_history")


def load(path: str) -> list[str]:
    """The statements of a file, oldest first; none where it cannot be read."""
    entries: list[list[str]] = []
    inside = False
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("+"):
                if not inside:
                    entries.append([])
                entries[-1].append(line[1:].rstrip("\n"))
            inside = line.startswith("+")
    return ["\n".join(lines) for lines in entries]


def append(path: str, statement: str) -> None:
    """Adds a statement; a file that cannot be written is left alone."""
    lines = "".join(f"+{line}\n" for line in statement.split("\n"))
    with contextlib.suppress(OSError), open(path, "a", encoding="utf-8", errors="replace") as file:
        file.write(f"\n# {time.strftime('%Y-%m-%d %H:%M:%S')}\n{lines}")
