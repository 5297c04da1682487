"""Values as the literals that clickhouse-driver puts in the place of `%(name)s`."""

from __future__ import annotations

import datetime
import enum
import uuid
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Callable

_ESCAPED = str.maketrans(
    {"\b": "\\b", "\f": "\\f", "\r": "\\r", "\n": "\\n", "\t": "\\t", "\0": "\\0", "\a": "\\a", "\v": "\\v", "\\": "\\\\", "'": "\\'"}
)


def substituted(query: str, params: Any, zone: Callable[[], str]) -> str:
    """The statement with its values; `%%` stands for a percent sign. `zone` is asked for the server's time zone."""
    if not isinstance(params, dict):
        raise ValueError("Parameters are expected in dict form")
    return query % {name: literal(value, zone) for name, value in params.items()}


def literal(value: Any, zone: Callable[[], str]) -> Any:
    """One value; numbers as they are."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(ZoneInfo(zone()))
        return f"'{value:%Y-%m-%d %H:%M:%S}'"
    if isinstance(value, datetime.date):
        return f"'{value:%Y-%m-%d}'"
    if isinstance(value, datetime.time):
        return f"'{value:%H:%M:%S}'"
    if isinstance(value, str):
        return f"'{value.translate(_ESCAPED)}'"
    if isinstance(value, (list, tuple)):
        listed = ", ".join(str(literal(one, zone)) for one in value)
        return f"[{listed}]" if isinstance(value, list) else f"({listed})"
    if isinstance(value, enum.Enum):
        return literal(value.value, zone)
    if isinstance(value, uuid.UUID):
        return f"'{value}'"
    return value


