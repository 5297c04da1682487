"""Values of query parameters: as the text that ClickHouse's parameters are, and the type under which each binds.

Any str binds as it is, None is NULL.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import uuid
from typing import Any

_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_QUOTED = {**_ESCAPED, "'": "\\'"}
_IN_TEXT, _IN_QUOTES = str.maketrans(_ESCAPED), str.maketrans(_QUOTED)
_NUMBERS = (int, float, decimal.Decimal)
_AS_STR = (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address, datetime.date, datetime.time)
_BYTES = (bytes, bytearray, memoryview)


class Escaped(str):
    """A text that is escaped as the engine reads it."""

    __slots__ = ()


def texts(params: dict[str, Any]) -> dict[str, str]:
    """A dict of values as a dict of texts, in the escaping that the engine reads parameters with."""
    return {str(name): _top(value) for name, value in params.items()}


def plain(value: Any) -> str | bytes | None:
    """A value as the text that a cast to its column's type reads; None stays None."""
    if value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, _BYTES):
        return bytes(value)
    return _nested(value) if _is_container(value) else _scalar(value)


def _top(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return str(value) if isinstance(value, Escaped) else value.translate(_IN_TEXT)
    if isinstance(value, _BYTES):
        return _of_bytes(bytes(value), _ESCAPED)
    if _is_container(value):
        return _nested(value)
    text = _scalar(value)
    return text if text is None or "\\" not in text else text.translate(_IN_TEXT)


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, dict))


def _nested(value: Any) -> str:
    """A value inside of an array, tuple or map, where texts stand in quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return f"'{value.translate(_IN_QUOTES)}'"
    if isinstance(value, _BYTES):
        return f"'{_of_bytes(bytes(value), _QUOTED)}'"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_nested(k)}:{_nested(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_nested, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, (list, set, frozenset)):
        return "[" + ",".join(map(_nested, value)) + "]"
    simpler = _simpler(value)
    if simpler is not value:
        return _nested(simpler)
    text = _scalar(value)
    return text if isinstance(value, (bool, *_NUMBERS)) else f"'{text}'"


def _of_bytes(value: bytes, escapes: dict[str, str]) -> str:
    try:
        return value.decode().translate(_IN_QUOTES if escapes is _QUOTED else _IN_TEXT)
    except UnicodeDecodeError:
        # Any byte has an escape.
        return "".join(f"\\x{byte:02x}" for byte in value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    simpler = _simpler(value)
    if simpler is not value:
        return _top(simpler)
    if isinstance(value, float):
        # numpy's floats are floats, with another repr.
        return float.__repr__(value)
    if isinstance(value, _NUMBERS):
        return int.__str__(value) if isinstance(value, int) else f"{value:f}" if value.is_finite() else str(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value.replace(tzinfo=None).isoformat(sep=" ")
        # A moment, whatever the zone of the type that it is read as.
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat(sep=" ") + "Z"
    if isinstance(value, datetime.timedelta):
        return _clock(value)
    if isinstance(value, _AS_STR):
        return str(value)
    raise TypeError(f"a query parameter cannot be a {type(value).__name__}")


def _clock(value: datetime.timedelta) -> str:
    """`[-]H:MM:SS[.ffffff]`, hours beyond a day included."""
    micros = value // datetime.timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def _simpler(value: Any) -> Any:
    """A value of numpy as Python's own, the value of an enumeration's member; other values as they are."""
    if isinstance(value, enum.Enum):
        return value.value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        simple = value.tolist()
        kind = value.dtype.kind
        if kind in "mM" and isinstance(simple, int):
            # Nanoseconds, of which Python has none: the text keeps them.
            return str(value).replace("T", " ") if kind == "M" else value.astype("timedelta64[us]").tolist()
        return simple
    return value


class Unbindable(TypeError):
    """No type of ClickHouse holds the value."""


def type_of(value: Any) -> str:
    """The ClickHouse type that holds a value exactly: what a literal of it would have."""
    return _name(_kind(value))


# Kinds are tuples: ("int", least, most), ("decimal", digits before, digits after), ("array", kind), ("nullable", kind), ...
def _kind(value: Any) -> tuple:
    value = _simpler(value)
    if value is None:
        return ("nothing",)
    if isinstance(value, bool):
        return ("Bool",)
    if isinstance(value, int):
        return ("int", value, value)
    if isinstance(value, float):
        return ("Float64",)
    if isinstance(value, (str, *_BYTES, datetime.time, datetime.timedelta)):
        return ("String",)
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return ("Float64",)
        _, digits, exponent = value.as_tuple()
        after = max(0, -exponent)
        return ("decimal", max(len(digits) + exponent, 0), after)
    if isinstance(value, datetime.datetime):
        zone = None if value.tzinfo is None else getattr(value.tzinfo, "key", None) or "UTC"
        is_short = not value.microsecond and 1970 < value.year < 2106
        return ("moment", is_short, zone)
    if isinstance(value, datetime.date):
        return ("date", 1970 <= value.year < 2149)
    if isinstance(value, uuid.UUID):
        return ("UUID",)
    if isinstance(value, ipaddress.IPv4Address):
        return ("IPv4",)
    if isinstance(value, ipaddress.IPv6Address):
        return ("IPv6",)
    if isinstance(value, tuple):
        return ("tuple", *map(_kind, value))
    if isinstance(value, (list, set, frozenset)):
        return ("array", _common(value))
    if isinstance(value, dict):
        return ("map", _common(value.keys()), _common(value.values()))
    raise Unbindable(f"a query parameter cannot be a {type(value).__name__}")


def _common(values: Any) -> tuple:
    kind: tuple | None = None
    for value in values:
        kind = _kind(value) if kind is None else _both(kind, _kind(value))
    return ("never",) if kind is None else kind


def _both(a: tuple, b: tuple) -> tuple:
    """The kind that holds the values of both."""
    if a == b or b[0] == "never":
        return a
    if a[0] in ("nothing", "never"):
        a, b = b, a
        if b[0] == "never":
            return a
    nullable = "nullable" in (a[0], b[0])
    a, b = (k[1] if k[0] == "nullable" else k for k in (a, b))
    if a == b or b[0] == "nothing":
        kind = a
    elif a[0] == b[0] == "int":
        kind = ("int", min(a[1], b[1]), max(a[2], b[2]))
    elif a[0] == b[0] == "decimal":
        kind = ("decimal", max(a[1], b[1]), max(a[2], b[2]))
    elif {a[0], b[0]} == {"int", "Float64"} or {a[0], b[0]} == {"decimal", "Float64"}:
        kind = ("Float64",)
    elif {a[0], b[0]} == {"int", "decimal"}:
        whole, exact = (a, b) if a[0] == "int" else (b, a)
        kind = ("decimal", max(exact[1], len(str(max(abs(whole[1]), abs(whole[2]))))), exact[2])
    elif a[0] == b[0] == "moment":
        kind = ("moment", a[1] and b[1], a[2] if a[2] == b[2] else a[2] and b[2] and "UTC")
    elif a[0] == b[0] == "date":
        kind = ("date", a[1] and b[1])
    elif a[0] == b[0] == "array":
        kind = ("array", _both(a[1], b[1]))
    elif a[0] == b[0] == "map":
        kind = ("map", _both(a[1], b[1]), _both(a[2], b[2]))
    elif a[0] == b[0] == "tuple" and len(a) == len(b):
        kind = ("tuple", *(_both(x, y) for x, y in zip(a[1:], b[1:])))
    else:
        raise Unbindable(f"the values of a list must have one type, not {_name(a)} and {_name(b)}")
    return ("nullable", kind) if nullable or b[0] == "nothing" else kind


_SIGNED = [(2 ** (bits - 1), f"Int{bits}") for bits in (8, 16, 32, 64, 128, 256)]
_UNSIGNED = [(2**bits, f"UInt{bits}") for bits in (8, 16, 32, 64, 128, 256)]
_MOST_DIGITS = 76


def _name(kind: tuple) -> str:
    word = kind[0]
    if word == "never":
        return "Nothing"
    if word == "nothing":
        return "Nullable(Nothing)"
    if word == "int":
        return _integer(kind[1], kind[2])
    if word == "decimal":
        digits = kind[1] + kind[2]
        if digits > _MOST_DIGITS:
            raise Unbindable(f"a Decimal has at most {_MOST_DIGITS} digits, not {digits}")
        return f"Decimal({max(digits, 1)}, {kind[2]})"
    if word == "moment":
        zone = "" if kind[2] is None else f"'{kind[2]}'"
        return (f"DateTime({zone})" if zone else "DateTime") if kind[1] else f"DateTime64(6{', ' + zone if zone else ''})"
    if word == "date":
        return "Date" if kind[1] else "Date32"
    if word == "nullable":
        return f"Nullable({_name(kind[1])})" if kind[1][0] not in ("array", "map", "tuple") else _name(kind[1])
    if word == "array":
        return f"Array({_name(kind[1])})"
    if word == "map":
        return "Map(String, String)" if kind[1] == ("never",) else f"Map({_name(kind[1])}, {_name(kind[2])})"
    if word == "tuple":
        return f"Tuple({', '.join(map(_name, kind[1:]))})"
    return word


def _integer(least: int, most: int) -> str:
    if least >= 0:
        found = next((name for bound, name in _UNSIGNED if most < bound), None)
    else:
        found = next((name for bound, name in _SIGNED if -bound <= least and most < bound), None)
    if found is None:
        raise Unbindable("an integer has at most 256 bits")
    return found
