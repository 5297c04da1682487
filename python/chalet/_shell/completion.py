"""Words that may stand at the cursor, by the tokens before it: names behind FROM, formats behind FORMAT, columns of the tables
that the statement names, and so on."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NamedTuple

from .. import _chalet
from .._words import KEYWORDS
from .catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterable


class Candidate(NamedTuple):
    """A word, and what it is."""

    text: str
    kind: str


class _Token(NamedTuple):
    kind: str
    text: str

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


_TABLE_FOLLOWS = ("FROM", "JOIN", "INTO", "TABLE", "DESCRIBE", "DESC", "TRUNCATE", "OPTIMIZE", "VIEW")
_NOTHING = _Token("", "")


def complete(before: str, after: str, catalog: Catalog) -> tuple[str, list[Candidate]]:
    """The begun word before the cursor, which may be empty, and what it may become."""
    tokens = [_Token(*token) for token in _chalet.tokens(before)]
    if tokens and tokens[-1].kind == "comment":
        return "", []
    if tokens and tokens[-1].kind == "unclosed":
        return _paths(tokens[-1].text)
    # Only this statement.
    for place in range(len(tokens) - 1, -1, -1):
        if tokens[place].text == ";":
            del tokens[: place + 1]
            break
    word = tokens.pop().text if tokens and tokens[-1].kind == "word" else ""
    left = [token for token in tokens if token.kind not in ("space", "comment")]
    right = [_Token(*token) for token in _chalet.tokens(after) if token[0] not in ("space", "comment")]
    return word, _chosen(word, _offered(left, _upto_semicolon(right), catalog))


def _upto_semicolon(tokens: list[_Token]) -> list[_Token]:
    ends = [place for place, token in enumerate(tokens) if token.text == ";"]
    return tokens[: ends[0]] if ends else tokens


def _chosen(word: str, offered: Iterable[Candidate]) -> list[Candidate]:
    """Those that begin with the word in any case, without repetition; keywords in the case in which the word is written."""
    folded, found = word.lower(), {}
    for text, kind in offered:
        if text.lower().startswith(folded):
            if kind == "keyword" and word and word == word.lower():
                text = text.lower()
            found.setdefault(text, Candidate(text, kind))
    return list(found.values())


def _all(texts: Iterable[str], kind: str) -> list[Candidate]:
    return [Candidate(text, kind) for text in texts]


def _offered(left: list[_Token], right: list[_Token], catalog: Catalog) -> Iterable[Candidate]:
    last = left[-1] if left else _NOTHING
    if last.text == "." and len(left) > 1:
        return _members(left, right, catalog)
    if last.is_word("FORMAT"):
        is_insert = left[0].is_word("INSERT") and not any(token.is_word("SELECT") for token in left)
        return _all(catalog.input_formats if is_insert else catalog.output_formats, "format")
    if last.is_word("USE", "DATABASE"):
        return _all(catalog.databases, "database")
    if last.is_word("SET", "SETTINGS", "SETTING") or (last.text == "," and _in_settings(left)):
        return _all(catalog.settings, "setting")
    if last.text == "=" and len(left) > 1 and left[-2].is_word("ENGINE"):
        return _all(catalog.engines, "engine")
    if last.is_word(*_TABLE_FOLLOWS) or (last.text == "," and _in_from(left)):
        tables = _all(catalog.tables, "table") + _all(catalog.databases, "database")
        more = ["IF", "EXISTS", "FUNCTION"] if last.is_word("TABLE", "INTO") else []
        return tables + _all(catalog.table_functions, "table function") + _all(more, "keyword")
    if left and left[0].is_word("CREATE") and any(token.text == "(" for token in left):
        return _all(catalog.types, "type") + _words(left, right, catalog)
    return _words(left, right, catalog)


def _words(left: list[_Token], right: list[_Token], catalog: Catalog) -> list[Candidate]:
    columns = [
        column
        for database, table in dict.fromkeys(_tables(left + right).values())
        for column in catalog.columns_of(database, table)
    ]
    names = [name for name in _tables(left + right) if name]
    functions = _all(catalog.functions, "function") if left else []
    return _all(columns, "column") + _all(names, "table") + _all(KEYWORDS, "keyword") + functions


def _members(left: list[_Token], right: list[_Token], catalog: Catalog) -> list[Candidate]:
    """What stands behind `name.`: columns of a table or alias, tables of a database."""
    owner = _plain(left[-2])
    if len(left) > 3 and left[-3].text == ".":
        return _all(catalog.columns_of(_plain(left[-4]), owner), "column")
    tables = _tables(left + right)
    if owner in tables:
        return _all(catalog.columns_of(*tables[owner]), "column")
    if owner in catalog.databases:
        return _all(catalog.tables_of(owner), "table")
    return _all(catalog.columns_of("", owner), "column")


def _plain(token: _Token) -> str:
    return token.text[1:-1] if token.kind == "name" else token.text


def _tables(tokens: list[_Token]) -> dict[str, tuple[str, str]]:
    """The tables that a statement names, by name and by alias, as database and table."""
    found: dict[str, tuple[str, str]] = {}
    place = 0
    while place < len(tokens):
        place += 1
        if not tokens[place - 1].is_word(*_TABLE_FOLLOWS) or place == len(tokens):
            continue
        if tokens[place].kind not in ("word", "name"):
            continue
        database, table = "", _plain(tokens[place])
        place += 1
        if place + 1 == len(tokens) and tokens[place].text == ".":
            # Of a database, and not written yet.
            continue
        if place + 1 < len(tokens) and tokens[place].text == ".":
            database, table = table, _plain(tokens[place + 1])
            place += 2
        found[table] = (database, table)
        if place < len(tokens) and tokens[place].is_word("AS"):
            place += 1
        if place < len(tokens) and tokens[place].kind in ("word", "name") and tokens[place].text.upper() not in KEYWORDS:
            found[_plain(tokens[place])] = (database, table)
    return found


def _in_settings(left: list[_Token]) -> bool:
    return _clause(left, ("SET", "SETTINGS"))


def _in_from(left: list[_Token]) -> bool:
    return _clause(left, ("FROM",))


def _clause(left: list[_Token], words: tuple[str, ...]) -> bool:
    """Is the clause that is being written, outside of parentheses that are closed, begun by one of these words?"""
    depth = 0
    for token in reversed(left):
        if token.text in ")]":
            depth += 1
        elif token.text in ("(", "["):
            if depth == 0:
                return False
            depth -= 1
        elif depth == 0 and token.is_word(*words):
            return True
        elif depth == 0 and token.is_word("SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "FROM", "SETTINGS", "BY"):
            return False
    return False


def _paths(unclosed: str) -> tuple[str, list[Candidate]]:
    """Paths that the text of a string may become; the word is the last part of it."""
    if not unclosed.startswith("'"):
        return "", []
    text = unclosed[1:]
    found = []
    for path in sorted(glob.glob(glob.escape(os.path.expanduser(text)) + "*")):
        is_folder = os.path.isdir(path)
        found.append(Candidate(os.path.basename(path) + ("/" if is_folder else ""), "folder" if is_folder else "file"))
    return os.path.basename(text), found
