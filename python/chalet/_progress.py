"""How far a query is, as a line that is written over: on the terminal, on standard error, or in a notebook's cell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR_WIDTH = 24
# Below this many seconds nobody wants to know.
_PATIENCE = 0.3


def display(kind: str) -> Callable[[dict[str, int]], None]:
    """A progress callback: `tty` writes to the terminal, `err` to standard error, `auto` and `on` to where one looks."""
    if kind in ("auto", "on"):
        cell = _notebook()
        if cell is not None:
            return cell
    if kind == "tty" and not sys.stderr.isatty():
        try:
            terminal = open("/dev/tty", "w")  # noqa: SIM115 - it stays open as long as the connection
        except OSError:
            return lambda _told: None
        return _Line(terminal)
    if kind in ("auto", "on") and not sys.stderr.isatty():
        return lambda _told: None
    return _Line(None)


class _Line:
    def __init__(self, stream) -> None:
        self._stream = stream
        self._shown = 0

    def __call__(self, told: dict[str, int]) -> None:
        text = line(told)
        if told["elapsed_ns"] < _PATIENCE * 1e9:
            return
        stream = self._stream or sys.stderr
        stream.write("\r" + text.ljust(self._shown))
        if told["total_rows_to_read"] <= told["read_rows"]:
            stream.write("\r" + " " * len(text) + "\r")
        stream.flush()
        self._shown = len(text)


def line(told: dict[str, int]) -> str:
    """One line: a bar where the end is known, rows, bytes and the rate."""
    rows, total, seconds = told["read_rows"], told["total_rows_to_read"], told["elapsed_ns"] / 1e9
    rate = f", {_short(rows / seconds)} rows/s" if seconds > 0 else ""
    text = f"{_short(rows)} rows, {_short(told['read_bytes'])}B{rate}, {seconds:.1f} s"
    if total <= 0:
        return text
    full = min(_BAR_WIDTH, _BAR_WIDTH * rows // total)
    return f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}] {min(100, 100 * rows // total)}% {text}"


def _short(number: float) -> str:
    for unit in ("", "k", "M", "G", "T"):
        if number < 1000 or unit == "T":
            return f"{number:.3g} {unit}".rstrip() if unit else f"{number:.0f}"
        number /= 1000
    return ""


def _notebook() -> Callable[[dict[str, int]], None] | None:
    """Shows in the cell that runs, where this is a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if running is None or running.__class__.__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display as show

    handle = show({"text/plain": ""}, raw=True, display_id=True)
    return lambda told: handle.update({"text/plain": line(told)}, raw=True)
