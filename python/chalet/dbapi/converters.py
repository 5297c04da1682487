"""Values as literals of SQL, for `escape` and `mogrify`; and texts as values. Statements are not made of these."""

from __future__ import annotations

import datetime
import ipaddress
import re
import time
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .err import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOCK = re.compile(r"(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d+)?)")
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def escape_string(value: str, mapping: Any = None) -> str:
    """The inside of a string literal."""
    return value.translate(_ESCAPES)


def escape_str(value: str, mapping: Any = None) -> str:
    return f"'{escape_string(value)}'"


escape_unicode = escape_str


def escape_bytes(value: bytes, mapping: Any = None) -> str:
    """As text where they are text, else in hexadecimal."""
    try:
        return escape_str(value.decode())
    except UnicodeDecodeError:
        return "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'"


def escape_bool(value: bool, mapping: Any = None) -> str:
    return str(int(value))


def escape_int(value: int, mapping: Any = None) -> str:
    return str(value)


escape_object = escape_int


def escape_float(value: float, mapping: Any = None) -> str:
    # Floats of numpy are floats, with another repr.
    return float.__repr__(value)


def escape_None(value: None, mapping: Any = None) -> str:
    return "NULL"


def escape_date(obj: datetime.date, mapping: Any = None) -> str:
    return f"'{obj.isoformat()}'"


def escape_datetime(obj: datetime.datetime, mapping: Any = None) -> str:
    return f"'{obj.replace(tzinfo=None).isoformat(sep=' ')}'"


def escape_time(obj: datetime.time, mapping: Any = None) -> str:
    return f"'{obj.isoformat()}'"


def escape_timedelta(obj: datetime.timedelta, mapping: Any = None) -> str:
    from .._params import _clock

    return f"'{_clock(obj)}'"


def escape_struct_time(obj: time.struct_time, mapping: Any = None) -> str:
    return escape_datetime(datetime.datetime(*obj[:6]))


def escape_sequence(val: Any, mapping: Any = None) -> str:
    """`(1,2)`: what stands behind IN."""
    return f"({escape_set(val, mapping)})"


def escape_set(val: Any, mapping: Any = None) -> str:
    """The elements alone."""
    return ",".join(escape_item(item, mapping) for item in val)


def escape_dict(val: dict[Any, Any], mapping: Any = None) -> dict[Any, str]:
    """Each value as a literal."""
    return {key: escape_item(item, mapping) for key, item in val.items()}


def escape_map(val: dict[Any, Any], mapping: Any = None) -> str:
    """`map(key, value, ...)`: a dict as one value."""
    items = (escape_item(item, mapping) for pair in val.items() for item in pair)
    return f"map({', '.join(items)})"


encoders: dict[type, Callable[..., str]] = {
    bool: escape_bool,
    int: escape_int,
    float: escape_float,
    str: escape_str,
    bytes: escape_bytes,
    type(None): escape_None,
    tuple: escape_sequence,
    list: escape_sequence,
    set: escape_sequence,
    frozenset: escape_sequence,
    dict: escape_map,
    datetime.date: escape_date,
    datetime.datetime: escape_datetime,
    datetime.time: escape_time,
    datetime.timedelta: escape_timedelta,
    time.struct_time: escape_struct_time,
    Decimal: escape_object,
    uuid.UUID: lambda value, mapping=None: f"'{value}'",
    ipaddress.IPv4Address: lambda value, mapping=None: f"'{value}'",
    ipaddress.IPv6Address: lambda value, mapping=None: f"'{value}'",
}


def escape_item(val: Any, mapping: dict[type, Callable[..., str]] | None = None) -> str:
    """A value as a literal; `mapping` has other functions by type."""
    known = mapping or encoders
    for kind in type(val).__mro__:
        if kind in known:
            return known[kind](val, mapping)
    from .._params import simpler

    simple = simpler(val)
    if simple is not val:
        return escape_item(simple, mapping)
    raise DataError(f"a {type(val).__name__} has no literal")


def convert_datetime(obj: str | bytes) -> datetime.datetime:
    """`2024-01-02 03:04:05.6` as a datetime."""
    try:
        return datetime.datetime.fromisoformat(_text(obj))
    except ValueError as error:
        raise DataError(f"no date and time: {error}") from None


def convert_date(obj: str | bytes) -> datetime.date:
    """`2024-01-02` as a date."""
    try:
        return datetime.date.fromisoformat(_text(obj))
    except ValueError as error:
        raise DataError(f"no date: {error}") from None


def convert_timedelta(obj: str | bytes) -> datetime.timedelta | str:
    """`[-]H:MM:SS[.ffffff]` as a timedelta; another text as it is."""
    text = _text(obj)
    found = _CLOCK.fullmatch(text)
    if found is None:
        return text
    length = datetime.timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]), seconds=float(found["seconds"]))
    return -length if found["sign"] else length


def convert_time(obj: str | bytes) -> datetime.time | datetime.timedelta | str:
    """`HH:MM:SS[.ffffff]` as a time; a longer one is a timedelta, another text stays as it is."""
    try:
        return datetime.time.fromisoformat(_text(obj))
    except ValueError:
        return convert_timedelta(obj)


def convert_set(s: Any) -> set[Any]:
    """The parts between commas."""
    return set(s.split(b"," if isinstance(s, bytes) else ","))


def _text(obj: str | bytes) -> str:
    return obj.decode(errors="replace") if isinstance(obj, (bytes, bytearray)) else obj


def convert_characters(connection: Any, data: Any) -> Any:
    return data


def convert_column_data(column_type: str, column_data: Any) -> Any:
    """A text as the value of a column type; other things as they are."""
    if not isinstance(column_data, str):
        return column_data
    convert = {"time": convert_time, "date": convert_date, "datetime": convert_datetime, "timestamp": convert_datetime}
    function = convert.get(column_type.lower())
    return function(column_data) if function else column_data
