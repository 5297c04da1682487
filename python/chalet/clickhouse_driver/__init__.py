"""The names of clickhouse-driver: `from chalet.clickhouse_driver import Client`. Needs no other package.

A program of clickhouse-driver changes its import, and nothing else. `Client("host", ...)` and `Client.from_url("clickhouse://...")`
speak to a server; `Client(":memory:")` and `Client("./folder")` have a database in the process.
"""

from __future__ import annotations

from . import errors
from .client import Client
from .dbapi import connect

# The release whose names these are.
VERSION = (0, 2, 11)
__version__ = ".".join(map(str, VERSION))

__all__ = ["VERSION", "Client", "connect", "errors"]
