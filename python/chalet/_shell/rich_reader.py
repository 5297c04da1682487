"""Statements typed at a terminal with prompt_toolkit: many lines, colours, a menu of what may stand at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from .. import _chalet
from .._words import KEYWORDS
from .reader import candidates, is_complete, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from .catalog import Catalog

_KEYWORDS = frozenset(KEYWORDS)
_STYLE = Style.from_dict(
    {
        "keyword": "bold ansiblue",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack",
        "error": "ansired",
        "unclosed": "ansigreen",
    }
)


class RichReader:
    """Enter ends a statement that is complete, and begins another line of one that is not."""

    def __init__(self, catalog: Catalog, path: str) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_history(path),
            lexer=_SqlLexer(),
            style=_STYLE,
            completer=_SqlCompleter(catalog),
            complete_while_typing=False,
            multiline=Condition(lambda: not is_complete(self._session.default_buffer.text)),
            prompt_continuation="...> ",
            enable_open_in_editor=True,
        )

    def read(self, prompt: str) -> str:
        return self._session.prompt(prompt)


def _history(path: str) -> FileHistory | InMemoryHistory:
    try:
        with open(path, "a", encoding="utf-8"):
            return _FileHistory(path)
    except OSError:
        return InMemoryHistory()


class _FileHistory(FileHistory):
    def store_string(self, string: str) -> None:
        super().store_string(readable(string))


class _SqlCompleter(Completer):
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        begun, found = candidates(readable(document.text_before_cursor), readable(document.text_after_cursor), self._catalog)
        for candidate in found:
            yield Completion(candidate.text, start_position=-len(begun), display_meta=candidate.kind)


class _SqlLexer(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = coloured(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def coloured(text: str) -> list[StyleAndTextTuples]:
    """The lines of a text as `(style, text)`."""
    lines: list[StyleAndTextTuples] = [[]]
    for kind, token in _chalet.tokens(readable(text)):
        if kind == "word":
            kind = "keyword" if token.upper() in _KEYWORDS else ""
        style = f"class:{kind}" if kind in ("keyword", "string", "number", "comment", "error", "unclosed") else ""
        first, *others = token.split("\n")
        lines[-1].append((style, first))
        lines.extend([(style, part)] for part in others)
    return lines
