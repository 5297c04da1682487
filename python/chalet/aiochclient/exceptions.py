"""The error of aiochclient."""

from __future__ import annotations


class ChClientError(Exception):
    """A statement failed, or was not to be run; `code` is ClickHouse's, where there is one."""

    code: int | None = None
