"""Values of query parameters as the text that ClickHouse's parameters are: any str binds as it is, None is NULL."""

import datetime
import decimal
import ipaddress
import uuid

_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_QUOTED = str.maketrans({"\\": "\\\\", "'": "\\'"})
_PLAIN = (int, float, decimal.Decimal)
_TEXT = (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address, datetime.date, datetime.time)


def texts(params):
    """A dict of values as a dict of texts."""
    return {str(name): _top(value) for name, value in params.items()}


def _top(value):
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return value.translate(_ESCAPED)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode().translate(_ESCAPED)
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return _nested(value)
    return _scalar(value)


def _nested(value):
    """A value inside of an array, tuple or map, where texts stand in quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value.translate(_QUOTED)}'"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"'{bytes(value).decode().translate(_QUOTED)}'"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_nested(k)}:{_nested(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_nested, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, (list, set, frozenset)):
        return "[" + ",".join(map(_nested, value)) + "]"
    text = _scalar(value)
    return text if isinstance(value, (bool, *_PLAIN)) else f"'{text}'"


def _scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _PLAIN):
        return str(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value.isoformat(sep=" ")
        # A moment: as seconds since 1970 it needs no zone.
        since = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        seconds = since // datetime.timedelta(seconds=1)
        micros = since.microseconds
        return f"{seconds}.{micros:06}" if micros else str(seconds)
    if isinstance(value, _TEXT):
        return str(value)
    if hasattr(value, "tolist"):
        # Arrays and scalars of numpy.
        return _top(value.tolist())
    raise TypeError(f"a query parameter cannot be a {type(value).__name__}")
