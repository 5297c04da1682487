"""A dialect of SQLAlchemy 2: `create_engine("chalet://")`, `create_engine("chalet:///path?max_threads=4")`.

`create_engine("chalet+clickhouse://user:password@host:9000/database")` is a server.

    from chalet.sqlalchemy import Memory, types
    table = Table("t", metadata, Column("id", types.UInt64), chalet_engine=Memory())

- `dialect`: what SQLAlchemy asks of a database
- `types`: the types of ClickHouse that SQLAlchemy has none for
- `type_names`: names of types as types
- `compiler`: statements, tables and types as text
- `engines`: table engines
- `reflection`: what a database knows of its tables
"""

from . import types
from .dialect import ChaletDialect, ClickHouseDialect
from .engines import Engine, File, Log, Memory

__all__ = ["ChaletDialect", "ClickHouseDialect", "Engine", "File", "Log", "Memory", "types"]
