"""Table engines, for the option `chalet_engine=` of a Table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import ColumnElement

    #: A column, an expression, or a text of SQL.
    Expression = ColumnElement[Any] | str
    Expressions = Expression | Iterable[Expression] | None


class Engine:
    """`Engine("MergeTree", order_by="id")`: an engine of any name, its arguments, and the clauses behind it. One that the database
    does not have is refused by it.

    Expressions are texts of SQL, columns of the table, or lists of these. Arguments are written as literals; settings are
    those of the table.
    """

    def __init__(
        self,
        name: str,
        *arguments: str | int | float,
        order_by: Expressions = None,
        partition_by: Expressions = None,
        primary_key: Expressions = None,
        sample_by: Expressions = None,
        ttl: Expressions = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.clauses = {
            "PARTITION BY": partition_by,
            "PRIMARY KEY": primary_key,
            "ORDER BY": order_by,
            "SAMPLE BY": sample_by,
            "TTL": ttl,
        }
        self.settings = dict(settings or {})

    def text(self, literal: Callable[[Any], str], expression: Callable[[Any], str]) -> str:
        """The clause ENGINE; the functions give the text of a value and of an expression."""
        arguments = f"({', '.join(map(literal, self.arguments))})" if self.arguments else ""
        parts = [f"ENGINE = {self.name}{arguments}"]
        for clause, given in self.clauses.items():
            if given is None:
                continue
            several = list(given) if isinstance(given, (list, tuple)) else [given]
            texts = [each if isinstance(each, str) else expression(each) for each in several]
            parts.append(f"{clause} {texts[0]}" if len(texts) == 1 else f"{clause} ({', '.join(texts)})")
        if self.settings:
            listed = ", ".join(f"{name} = {literal(value)}" for name, value in self.settings.items())
            parts.append(f"SETTINGS {listed}")
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"<Engine {self.text(repr, str)}>"


class Memory(Engine):
    """Rows in memory."""

    def __init__(self, **options: Any) -> None:
        super().__init__("Memory", **options)


class File(Engine):
    """Rows of a file: `File("CSV", "path.csv")`."""

    def __init__(self, fmt: str, path: str, **options: Any) -> None:
        super().__init__("File", fmt, path, **options)


class Log(Engine):
    """Rows on disk, of a database that has a path."""

    def __init__(self, **options: Any) -> None:
        super().__init__("Log", **options)
