"""Values of query parameters: as the text that ClickHouse's parameters are, and the type under which each binds.

Any str binds as it is, None is NULL.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import enum
import ipaddress
import uuid
from collections.abc import KeysView, ValuesView
from typing import Any

_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
_QUOTED = {**_ESCAPED, "'": "\\'"}
_IN_TEXT, _IN_QUOTES = str.maketrans(_ESCAPED), str.maketrans(_QUOTED)
_NUMBERS = (int, float, decimal.Decimal)
_AS_STR = (uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address, datetime.date, datetime.time)
BYTES = (bytes, bytearray, memoryview)
_SEQUENCES = (range, collections.deque, array.array, KeysView, ValuesView)
# What is its own value; subclasses may be members of an enumeration.
_SIMPLE = frozenset((str, int, float, bool, type(None), bytes, list, tuple, dict, datetime.date, datetime.datetime))
_NULLS = ("NaTType", "NAType")


class Escaped(str):
    """A text that is escaped as the engine reads it."""

    __slots__ = ()


class Unbindable(TypeError):
    """No type of ClickHouse holds the value."""


class _Moment(str):
    """The text of a moment in nanoseconds, of which Python has none; `zone` is that of its type."""

    __slots__ = ("zone",)

    def __new__(cls, text: str, zone: str | None = None) -> _Moment:
        made = super().__new__(cls, text)
        made.zone = zone
        return made


def texts(params: dict[str, Any]) -> dict[str, str]:
    """A dict of values as a dict of texts, in the escaping that the engine reads parameters with."""
    return {str(name): _top(value) for name, value in params.items()}


def plain(value: Any) -> str | bytes | None:
    """A value as the text that a cast to its column's type reads; None stays None."""
    value = simpler(value)
    if value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, BYTES):
        return bytes(value)
    return _nested(value) if _is_container(value) else _scalar(value)


def json_text(value: Any, depth: int) -> str | bytes | None:
    """A value of a column of JSON, or of arrays of it, as the text that a cast to its type reads."""
    if value is None or isinstance(value, (str, bytes)):
        return value
    if depth and isinstance(value, (list, tuple)):
        return "[" + ",".join(_nested(json_text(one, depth - 1)) if depth == 1 else str(json_text(one, depth - 1)) for one in value) + "]"
    import json

    return json.dumps(value, default=_for_json, ensure_ascii=False)


def _for_json(value: Any) -> Any:
    """What `json` does not know, as what it does."""
    simple = simpler(value)
    if isinstance(simple, (set, frozenset)):
        return list(simple)
    return plain(value) if simple is value else simple


def _top(value: Any) -> str:
    value = simpler(value)
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return str(value) if isinstance(value, Escaped) else value.translate(_IN_TEXT)
    if isinstance(value, BYTES):
        return _of_bytes(bytes(value), _ESCAPED)
    return _nested(value) if _is_container(value) else _scalar(value)


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, dict))


def _nested(value: Any) -> str:
    """A value inside of an array, tuple or map, where texts stand in quotes."""
    value = simpler(value)
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value.translate(_IN_QUOTES)}'"
    if isinstance(value, BYTES):
        return f"'{_of_bytes(bytes(value), _QUOTED)}'"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_nested(k)}:{_nested(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_nested, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, (list, set, frozenset)):
        return "[" + ",".join(map(_nested, value)) + "]"
    text = _scalar(value)
    return text if isinstance(value, _NUMBERS) else f"'{text}'"


def _of_bytes(value: bytes, escapes: dict[str, str]) -> str:
    try:
        return value.decode().translate(_IN_QUOTES if escapes is _QUOTED else _IN_TEXT)
    except UnicodeDecodeError:
        # Any byte has an escape.
        return "".join(f"\\x{byte:02x}" for byte in value)


def _scalar(value: Any) -> str:
    """A value that `simpler` has nothing simpler for, and that is no text."""
    if isinstance(value, bool):
        # Of all types, as for chDB: those of numbers do not know "true".
        return "1" if value else "0"
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
    raise Unbindable(f"a query parameter cannot be a {type(value).__name__}")


def _clock(value: datetime.timedelta) -> str:
    """`[-]H:MM:SS[.ffffff]`, hours beyond a day included."""
    micros = value // datetime.timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def simpler(value: Any) -> Any:
    """A value of numpy or pandas as Python's own, the value of an enumeration's member; other values as they are."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if isinstance(value, enum.Enum):
        return simpler(value.value)
    if isinstance(value, _SEQUENCES):
        return list(value)
    package = kind.__module__.partition(".")[0]
    if package == "numpy":
        return _of_numpy(value)
    if package == "pandas":
        return _of_pandas(value)
    if package in ("polars", "pyarrow"):
        listed = getattr(value, "to_list", None) or getattr(value, "to_pylist", None)
        return value if listed is None else listed()
    return value


def _of_numpy(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        return value
    letter = value.dtype.kind
    if letter in "mM":
        if value.ndim:
            return list(value)
        if value != value:
            return None
    simple = value.tolist()
    if letter == "M" and isinstance(simple, int):
        return _Moment(str(value.astype("datetime64[ns]")).replace("T", " "))
    if letter == "m" and isinstance(simple, int):
        return value.astype("timedelta64[us]").tolist()
    if type(simple) is type(value):
        # Numbers longer than Python's.
        return float(simple) if letter == "f" else simple
    return simple


def _of_pandas(value: Any) -> Any:
    if type(value).__name__ in _NULLS:
        return None
    if isinstance(value, datetime.datetime) and getattr(value, "nanosecond", 0):
        if value.tzinfo is None:
            return _Moment(str(value))
        return _Moment(str(value.tz_convert(None)) + "Z", _zone(value))
    return value.tolist() if hasattr(value, "tolist") else value


def _zone(value: datetime.datetime) -> str | None:
    return None if value.tzinfo is None else getattr(value.tzinfo, "key", None) or "UTC"


def type_of(value: Any) -> str:
    """The ClickHouse type that holds a value exactly: what a literal of it would have."""
    return _name(_kind(value))


# Kinds are tuples: ("int", least, most), ("decimal", digits before, digits after), ("array", kind), ("nullable", kind), ...
def _kind(value: Any) -> tuple:
    value = simpler(value)
    if value is None:
        return ("nothing",)
    if isinstance(value, bool):
        return ("Bool",)
    if isinstance(value, int):
        return ("int", value, value)
    if isinstance(value, float):
        return ("Float64",)
    if isinstance(value, _Moment):
        return ("moment", 9, value.zone)
    if isinstance(value, (str, *BYTES, datetime.time, datetime.timedelta)):
        return ("String",)
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            return ("Float64",)
        _, digits, exponent = value.as_tuple()
        after = max(0, -exponent)
        return ("decimal", max(len(digits) + exponent, 0), after)
    if isinstance(value, datetime.datetime):
        is_short = not value.microsecond and 1970 < value.year < 2106
        return ("moment", 0 if is_short else 6, _zone(value))
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
        kind = ("moment", max(a[1], b[1]), a[2] if a[2] == b[2] else a[2] and b[2] and "UTC")
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
        if kind[1] == 0:
            return f"DateTime({zone})" if zone else "DateTime"
        return f"DateTime64({kind[1]}{', ' + zone if zone else ''})"
    if word == "date":
        return "Date" if kind[1] else "Date32"
    if word == "nullable":
        if kind[1][0] in ("array", "map", "tuple"):
            raise Unbindable(f"None cannot stand beside {_name(kind[1])}, which cannot be Nullable")
        return f"Nullable({_name(kind[1])})"
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
