"""What a database knows of its tables, as SQLAlchemy asks for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import exc
from sqlalchemy.engine import default, reflection

from .. import _chalet
from .type_names import column_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_ENGINE = re.compile(r"\bENGINE = (.*)\Z", re.DOTALL)
_VIEWS = ("View", "MaterializedView", "LiveView", "WindowView")
_MATERIALIZED = "MaterializedView"


class Reflection(default.DefaultDialect):
    """A schema is a database. Keys, indexes and constraints of other databases there are none."""

    def _rows(self, connection: Connection, sql: str, **params: str) -> list[Any]:
        return list(connection.exec_driver_sql(sql, params).fetchall())

    def _database(self, schema: str | None) -> str:
        return schema or self.default_schema_name or "default"

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        return [row[0] for row in self._rows(connection, "SELECT name FROM system.databases ORDER BY name")]

    def has_schema(self, connection: Connection, schema_name: str, **kw: Any) -> bool:
        return schema_name in self.get_schema_names(connection)

    def _tables(self, connection: Connection, schema: str | None) -> list[Any]:
        sql = "SELECT name, engine FROM system.tables WHERE database = {d:String} AND NOT is_temporary ORDER BY name"
        return self._rows(connection, sql, d=self._database(schema))

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return [name for name, engine in self._tables(connection, schema) if engine not in _VIEWS]

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return [name for name, engine in self._tables(connection, schema) if engine in _VIEWS and engine != _MATERIALIZED]

    @reflection.cache
    def get_materialized_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return [name for name, engine in self._tables(connection, schema) if engine == _MATERIALIZED]

    def get_temp_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    def get_sequence_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        return []

    def has_sequence(self, connection: Connection, sequence_name: str, schema: str | None = None, **kw: Any) -> bool:
        return False

    @reflection.cache
    def get_temp_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        rows = self._rows(connection, "SELECT name FROM system.tables WHERE is_temporary ORDER BY name")
        return [row[0] for row in rows]

    def _table(self, connection: Connection, name: str, schema: str | None) -> Any:
        sql = (
            "SELECT create_table_query, comment, engine, as_select FROM system.tables WHERE name = {t:String} "
            "AND database IN ({d:String}, {temporary:String}) ORDER BY is_temporary DESC LIMIT 1"
        )
        temporary = "" if schema is None else schema
        rows = self._rows(connection, sql, t=name, d=self._database(schema), temporary=temporary)
        return rows[0] if rows else None

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        self._ensure_has_table_connection(connection)
        return self._table(connection, table_name, schema) is not None

    def _known_table(self, connection: Connection, name: str, schema: str | None) -> Any:
        row = self._table(connection, name, schema)
        if row is None:
            raise exc.NoSuchTableError(f"{schema}.{name}" if schema else name)
        return row

    @reflection.cache
    def get_columns(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        self._known_table(connection, table_name, schema)
        sql = (
            "SELECT name, type, default_kind, default_expression, comment FROM system.columns WHERE table = {t:String} "
            "AND database IN ({d:String}, {temporary:String}) ORDER BY position"
        )
        temporary = "" if schema is None else schema
        found = []
        for name, ty, kind, expression, comment in self._rows(
            connection, sql, t=table_name, d=self._database(schema), temporary=temporary
        ):
            made, nullable = column_type(ty)
            column = {"name": name, "type": made, "nullable": nullable, "default": None, "comment": comment or None}
            if kind == "DEFAULT":
                column["default"] = expression
            elif kind in ("MATERIALIZED", "ALIAS"):
                column["computed"] = {"sqltext": expression, "persisted": kind == "MATERIALIZED"}
            found.append(column)
        return found

    @reflection.cache
    def get_table_comment(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": self._known_table(connection, table_name, schema)[1] or None}

    @reflection.cache
    def get_table_options(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """The engine with what stands behind it, which makes the same table again."""
        query, comment, engine, _ = self._known_table(connection, table_name, schema)
        if engine in _VIEWS:
            return {}
        found = _ENGINE.search(query)
        text = found[1] if found else engine
        if comment:
            text = text.partition("\nCOMMENT ")[0].partition(" COMMENT '")[0]
        return {"chalet_engine": text.strip()}

    @reflection.cache
    def get_view_definition(self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any) -> str:
        _, _, engine, query = self._known_table(connection, view_name, schema)
        if engine not in _VIEWS:
            raise exc.NoSuchTableError(f"{view_name} is no view")
        return query

    def get_pk_constraint(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        self._known_table(connection, table_name, schema)
        return {"constrained_columns": [], "name": None}

    def _none(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        self._known_table(connection, table_name, schema)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = _none

    @reflection.cache
    def get_check_constraints(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        query = self._known_table(connection, table_name, schema)[0]
        return [{"name": name, "sqltext": text} for name, text in _checks(query)]


def _checks(query: str) -> Iterator[tuple[str, str]]:
    """Names and conditions of the CHECK constraints of a CREATE TABLE."""
    for part in _parts(query):
        solid = [place for place, (kind, _) in enumerate(part) if kind not in ("space", "comment")]
        words = [part[place][1].upper() for place in solid]
        if len(words) > 3 and words[0] == "CONSTRAINT" and words[2] == "CHECK":
            kind, name = part[solid[1]]
            if kind == "name":
                name = re.sub(r"\\(.)|``", lambda escape: escape[1] or "`", name[1:-1])
            yield name, "".join(piece for _, piece in part[solid[3] :]).strip()


def _parts(query: str) -> Iterator[list[tuple[str, str]]]:
    """The tokens of each part of the first parentheses, which are those of the columns."""
    part: list[tuple[str, str]] = []
    depth = 0
    for kind, piece in _chalet.tokens(query):
        is_symbol = kind == "symbol"
        depth -= is_symbol and piece in (")", "]", "}")
        if depth == 0 and is_symbol and piece == ")":
            yield part
            return
        if depth == 1 and is_symbol and piece == ",":
            yield part
            part = []
        elif depth:
            part.append((kind, piece))
        depth += is_symbol and piece in ("(", "[", "{")
