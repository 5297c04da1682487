"""chDB's name for connections."""

from .sqlitelike import Connection, Cursor, connect

__all__ = ["Connection", "Cursor", "connect"]
