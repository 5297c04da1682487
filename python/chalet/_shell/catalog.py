"""The names that the database knows, for completion. Those that statements change are asked for again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _chalet


class Catalog:
    """Names as lists, sorted. A statement that is not supported gives no names."""

    def __init__(self, connection: _chalet.Connection) -> None:
        self._connection = connection
        self._columns: dict[tuple[str, str], list[str]] = {}

    def forget(self) -> None:
        """Asks again for what a statement may have changed."""
        self._columns.clear()
        for name in ("databases", "tables", "database", "functions"):
            self.__dict__.pop(name, None)

    def _names(self, sql: str, **params: str) -> list[str]:
        from .. import _chalet

        try:
            return [row[0] for row in self._connection.query(sql, None, params).fetchall()]
        except _chalet.Error:
            return []

    @cached_property
    def functions(self) -> list[str]:
        return self._names("SELECT DISTINCT name FROM system.functions ORDER BY name")

    @cached_property
    def table_functions(self) -> list[str]:
        return self._names("SELECT name FROM system.table_functions ORDER BY name")

    @cached_property
    def settings(self) -> list[str]:
        return self._names("SELECT name FROM system.settings ORDER BY name")

    @cached_property
    def output_formats(self) -> list[str]:
        return self._names("SELECT name FROM system.formats WHERE is_output ORDER BY name")

    @cached_property
    def input_formats(self) -> list[str]:
        return self._names("SELECT name FROM system.formats WHERE is_input ORDER BY name")

    @cached_property
    def types(self) -> list[str]:
        return self._names("SELECT name FROM system.data_type_families ORDER BY name")

    @cached_property
    def engines(self) -> list[str]:
        return self._names("SHOW ENGINES")

    @cached_property
    def databases(self) -> list[str]:
        return self._names("SHOW DATABASES")

    @cached_property
    def database(self) -> str:
        """The current one."""
        return "".join(self._names("SELECT currentDatabase()"))

    @cached_property
    def tables(self) -> list[str]:
        """Of the current database, and temporary ones."""
        return self.tables_of(self.database, "")

    def tables_of(self, *databases: str) -> list[str]:
        listed = ", ".join(f"{{d{place}:String}}" for place in range(len(databases)))
        params = {f"d{place}": database for place, database in enumerate(databases)}
        return self._names(f"SELECT name FROM system.tables WHERE database IN ({listed}) ORDER BY name", **params)

    def columns_of(self, database: str, table: str) -> list[str]:
        """Of a table; an empty database is the current one."""
        key = (database or self.database, table)
        if key not in self._columns:
            sql = "SELECT name FROM system.columns WHERE database IN ({d:String}, '') AND table = {t:String} ORDER BY position"
            self._columns[key] = self._names(sql, d=key[0], t=table)
        return self._columns[key]
