"""The names of aiochclient: `from chalet.aiochclient import ChClient, ChClientError, Record`. Needs no other package.

A program of aiochclient changes its import, and nothing else. `ChClient(url="http://host:8123/")` speaks HTTP, a URL with `clickhouse://`
the native protocol; `ChClient(url=":memory:")` and `ChClient(url="./folder")` have a database in the process.
"""

from __future__ import annotations

from .client import ChClient
from .exceptions import ChClientError
from .records import Record

__all__ = ["ChClient", "ChClientError", "Record"]
