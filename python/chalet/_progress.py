"""How far a query is, as a line that is written over: on the terminal, on standard error, or in the cell of a notebook."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR_WIDTH = 24
# Below this many seconds nobody wants to know.
_PATIENCE = 0.3


def display(kind: str) -> Callable[[dict[str, int]], None]:
    """A progress callback: `tty` writes to the terminal, `err` to standard error, `auto` and `on` to where one looks."""
    if kind in ("auto", "on"):
        if _is_notebook():
            return _Cell()
        if not sys.stderr.isatty():
            return lambda _told: None
    if kind == "tty" and not sys.stderr.isatty():
        try:
            terminal = open("/dev/tty", "w")  # noqa: SIM115 - it stays open as long as the connection
        except OSError:
            return lambda _told: None
        return _Line(terminal)
    return _Line(None)


class _Line:
    """A line that the next one is written over, and that is gone when the statement is over."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._shown = 0

    def __call__(self, told: dict[str, int]) -> None:
        stream = self._stream or sys.stderr
        if told["is_over"]:
            if self._shown:
                stream.write("\r" + " " * self._shown + "\r")
                stream.flush()
                self._shown = 0
        elif told["elapsed_ns"] >= _PATIENCE * 1e9:
            # One that is wrapped could not be written over.
            text = line(told)[: shutil.get_terminal_size().columns - 1]
            stream.write("\r" + text.ljust(self._shown))
            stream.flush()
            self._shown = len(text)


class _Cell:
    """A line in the cell that runs, for each statement that takes its time; it stays with its last numbers."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, told: dict[str, int]) -> None:
        shown = {"text/plain": line(told), "text/html": _html(told)}
        if self._handle is not None:
            self._handle.update(shown, raw=True)
        elif not told["is_over"] and told["elapsed_ns"] >= _PATIENCE * 1e9:
            from IPython.display import display as show

            self._handle = show(shown, raw=True, display_id=True)
        if told["is_over"]:
            self._handle = None


def fraction(told: dict[str, int]) -> float | None:
    """How much of what is to be read was read, from 0 to 1: by rows where their number is known, else by bytes of files; None
    where nothing is known."""
    for done, total in (("read_rows", "total_rows_to_read"), ("read_bytes", "total_bytes_to_read")):
        if told[total] > 0:
            return min(1.0, told[done] / told[total])
    return None


def line(told: dict[str, int]) -> str:
    """One line: a bar where the end is known, rows, bytes and the rate."""
    rows, seconds = told["read_rows"], told["elapsed_ns"] / 1e9
    rate = f", {_short(rows / seconds)} rows/s" if seconds > 0 else ""
    text = f"{_short(rows)} rows, {_short(told['read_bytes'])}B{rate}, {seconds:.1f} s"
    part = fraction(told)
    if part is None:
        return text
    full = int(_BAR_WIDTH * part)
    return f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {int(100 * part)}% {text}"


def _html(told: dict[str, int]) -> str:
    part = fraction(told)
    text = line(told)
    if part is None:
        return f"<code>{text}</code>"
    return f'<progress value="{part:.3f}"></progress> <code>{text[_BAR_WIDTH + 3 :]}</code>'


def _short(number: float) -> str:
    for unit in ("", "k", "M", "G", "T"):
        if number < 1000 or unit == "T":
            return f"{number:.3g} {unit}".rstrip() if unit else f"{number:.0f}"
        number /= 1000
    return ""


def _is_notebook() -> bool:
    """Does this run in a kernel of Jupyter?"""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and "IPKernelApp" in getattr(running, "config", {})
