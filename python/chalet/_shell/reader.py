"""Statements typed at a terminal: with prompt_toolkit where it is installed, else with the standard library's readline."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Protocol

from .. import _chalet
from . import history
from .commands import COMMANDS
from .completion import Candidate, complete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .catalog import Catalog

_CONTINUED = "...> "


class Reader(Protocol):
    """Where statements come from."""

    def read(self, prompt: str) -> str:
        """The next statement or command; EOFError at the end, KeyboardInterrupt for what is thrown away."""


def is_complete(text: str) -> bool:
    """Can a text be run once its line ends: is it a command, or does each statement of it end? Data of an INSERT end with an
    empty line."""
    text = readable(text)
    stripped = text.strip()
    if not stripped or stripped.startswith("\\") or stripped.rstrip(";").strip().lower() in QUITTING:
        return True
    pieces = _chalet.split_statements(f"{text}\n")
    # Of a text that is only a comment there are none.
    return all(end != "text" for _, _, end in pieces) and "unclosed" not in (kind for kind, _ in _chalet.tokens(text))


def readable(text: str) -> str:
    """A text that can be taken apart: typed bytes that are none are question marks in it. (That a statement has such is told
    when it runs.)"""
    return text.encode("utf-8", "replace").decode()


QUITTING = ("exit", "quit", "logout")


def candidates(before: str, after: str, catalog: Catalog) -> tuple[str, list[Candidate]]:
    """The begun word and what it may become, of statements and of commands."""
    line = before.lstrip()
    if not line.startswith("\\"):
        return complete(before, after, catalog)
    command, space, rest = line[1:].partition(" ")
    if not space:
        return line, [Candidate(f"\\{word}", "command") for word in COMMANDS if word.startswith(command)]
    if command in ("i", "o"):
        word, found = complete("'" + rest, "", catalog)
        return word, found
    names = {"format": "output_formats", "c": "databases", "d": "tables", "set": "settings", "h": "functions"}
    if command not in names or " " in rest:
        return rest, []
    listed = getattr(catalog, names[command])
    return rest, [Candidate(text, command) for text in listed if text.lower().startswith(rest.lower())]


def open_reader(catalog: Catalog, path: str) -> Reader:
    """The best reader that there is; `path` is the file of the history."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            from .rich_reader import RichReader

            return RichReader(catalog, path)
    return PlainReader(catalog, path)


class PlainReader:
    """Lines by `input()`, which has history and completion where the platform has readline."""

    def __init__(self, catalog: Catalog, path: str) -> None:
        self._catalog = catalog
        self._path = path
        self._before: list[str] = []
        self._readline = _readline(path, self._completer)

    def read(self, prompt: str) -> str:
        self._before = []
        while True:
            line = input(_CONTINUED if self._before else prompt)
            self._before.append(line)
            text = "\n".join(self._before)
            if is_complete(text):
                self._remember(text.strip())
                return text

    def _remember(self, text: str) -> None:
        if text:
            history.append(self._path, text)
            if self._readline is not None:
                self._readline.add_history(text.replace("\n", " ") if "--" not in text else text)

    def _completer(self, word: str, state: int) -> str | None:
        if state == 0:
            self._found = list(self._matches(word))
        return self._found[state] if state < len(self._found) else None

    def _matches(self, word: str) -> Iterator[str]:
        line, end = self._readline.get_line_buffer(), self._readline.get_endidx()
        before = "\n".join([*self._before, line[:end]])
        begun, found = candidates(before, line[end:], self._catalog)
        # readline's word may begin elsewhere than ours.
        cut = len(begun) - len(word)
        for candidate in found:
            if cut >= 0:
                yield candidate.text[cut:]
            else:
                yield word[:-cut] + candidate.text


def _readline(path: str, completer: Callable[[str, int], str | None]):
    try:
        import readline
    except ImportError:
        return None
    if not sys.stdin.isatty():
        return None
    for entry in history.load(path):
        readline.add_history(entry.replace("\n", " "))
    if hasattr(readline, "set_auto_history"):
        readline.set_auto_history(False)
    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n(),;=.'/")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    return readline
