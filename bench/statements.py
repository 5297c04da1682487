"""Reads a query: what its outermost SELECT says about columns, order and limit."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<string>'(?:[^'\\]|\\.|'')*')
      | (?P<quoted>"(?:[^"\\]|\\.)*"|`[^`]*`)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<symbol><>|!=|<=|>=|==|\|\||::|->|.)""",
    re.S | re.X,
)
OPENING, CLOSING = "([{", ")]}"
# The words that end a list of columns or of sort keys.
CLAUSES = {"FROM", "WHERE", "PREWHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "UNION", "SETTINGS", "FORMAT"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


def tokens(sql: str) -> list[Token]:
    return [Token(m.lastgroup or "symbol", m[0], m.start(), m.end()) for m in TOKEN.finditer(sql)]


def outermost(found: list[Token]) -> list[Token]:
    """The tokens outside of all brackets, without spaces and comments."""
    depth, out = 0, []
    for token in found:
        depth -= token.kind == "symbol" and token.text in CLOSING
        if depth == 0 and token.kind != "space" and token.text not in CLOSING:
            out.append(token)
        depth += token.kind == "symbol" and token.text in OPENING
    return out


def chosen(text: str, count: int) -> set[int]:
    """The numbers that 5,20-24 names; all when it is empty."""
    if not text:
        return set(range(1, count + 1))
    spans = (part.partition("-") for part in text.split(","))
    return {n for low, dash, high in spans for n in range(int(low), int(high if dash else low) + 1)}


def parts(sql: str, found: list[Token]) -> list[str]:
    """What lies between the outermost commas."""
    if not found:
        return []
    cuts = [t for t in outermost(found) if t.text == ","]
    starts = [found[0].start, *(t.end for t in cuts)]
    ends = [*(t.start for t in cuts), found[-1].end]
    return [sql[a:b].strip() for a, b in zip(starts, ends)]


@dataclass
class Shape:
    """The outermost SELECT of a query; positions are offsets into it."""

    sql: str
    columns: list[str] = field(default_factory=list)
    columns_end: int | None = None
    sort_keys: list[str] = field(default_factory=list)
    limit: int | None = None

    def with_sort_keys(self) -> tuple[str, list[int]]:
        """A query that also answers its sort keys, and in which column each of them is."""
        sql, where, added = self.sql, [], []
        names = [name_of(column) for column in self.columns]
        texts = [plain(text_of(column)) for column in self.columns]
        fixed = not any(text.endswith("*") for text in texts)
        for key in self.sort_keys:
            if key.isdigit():
                where.append(int(key) - 1)
            elif fixed and key in names:
                where.append(names.index(key))
            elif fixed and plain(key) in texts:
                where.append(texts.index(plain(key)))
            else:
                added.append(key)
                where.append(-1)
        # Counted from the end: how many columns an asterisk stands for is the engine's to know.
        pending = len(added)
        for i, position in enumerate(where):
            if position == -1:
                where[i] = -pending
                pending -= 1
        if added and self.columns_end is not None:
            extra = "".join(f", {key} AS sort_key_{i}" for i, key in enumerate(added))
            sql = f"{sql[: self.columns_end]}{extra}{sql[self.columns_end :]}"
        return sql, where

    def without_limit(self) -> str:
        return self.sql if self.limit is None else self.sql[: self.limit].rstrip()


def plain(expression: str) -> str:
    return re.sub(r"\s+", "", expression).lower()


def name_of(column: str) -> str:
    """The alias of a column, or its whole text."""
    words = [t for t in outermost(tokens(column)) if t.kind in ("word", "quoted")]
    aliased = len(words) > 1 and words[-2].is_word("AS") and column.endswith(words[-1].text)
    return words[-1].text.strip('"`') if aliased else column


def text_of(column: str) -> str:
    """The expression of a column, without its alias."""
    cut = [t for t in outermost(tokens(column)) if t.is_word("AS")]
    return column[: cut[-1].start].strip() if cut else column


def shape(sql: str) -> Shape:
    found = tokens(sql)
    outer = outermost(found)
    out = Shape(sql)

    def between(start: int, end: int) -> list[str]:
        return parts(sql, [t for t in found if start <= t.start and t.end <= end and t.kind != "space"])

    def clause_after(position: int) -> int:
        return next((t.start for t in outer if t.start > position and t.is_word(*CLAUSES)), len(sql))

    for this, following in zip(outer, [*outer[1:], Token("end", "", len(sql), len(sql))]):
        if this.is_word("SELECT") and out.columns_end is None:
            end = clause_after(this.end)
            out.columns = between(following.end if following.is_word("DISTINCT") else this.end, end)
            out.columns_end = len(sql[:end].rstrip())
        elif this.is_word("ORDER") and following.is_word("BY"):
            keys = between(following.end, clause_after(following.end))
            out.sort_keys = [re.sub(r"\s+(ASC|DESC)$", "", key, flags=re.I) for key in keys]
        elif this.is_word("LIMIT", "OFFSET") and out.limit is None:
            out.limit = this.start
    return out
