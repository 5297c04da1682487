"""Columns as clickhouse-driver gives them with `use_numpy`: numpy arrays, Categoricals, and tuples of what numpy has no type for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._frame import time_zone
from ._types import arguments, zone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._chalet import Result

_NUMBERS = frozenset(
    "Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Bool".split(),
)
# In arrays of floats a NULL is what NaN is.
_NULL_IS_NAN = ("Nullable(Float32)", "Nullable(Float64)")
# The nanoseconds of a datetime64[ns] end with these days.
_FIRST, _LAST = "1677-09-22", "2262-04-11"


def columns(result: Result, names: list[tuple[str, str]], zone: Callable[[], str]) -> list[Any]:
    """The columns of a result. `zone` is that of date-times whose type names none."""
    arrays = list(result.numpy().values())
    objects: list[tuple[Any, ...]] = []
    if any(not _has_array(ty) or ty in _NULL_IS_NAN for _, ty in names):
        rows = result.fetchall()
        objects = list(zip(*rows)) if rows else [()] * len(names)
    made = []
    for at, ((_, ty), array) in enumerate(zip(names, arrays)):
        if ty in _NULL_IS_NAN:
            array = _object_array(objects[at])
        made.append(_column(ty, array, zone) if _has_array(ty) else _made(ty, objects[at]))
    return made


def rows(data: list[Any]) -> list[Any]:
    """The same by rows, which are arrays: of one type, as numpy's are."""
    import numpy as np

    return list(np.transpose(data)) if data else []


def is_array(column: Any) -> bool:
    """Is it what `use_numpy` takes for a column of an INSERT?"""
    return not isinstance(column, (list, tuple, str, bytes)) and hasattr(column, "__len__") and hasattr(column, "dtype")


def _has_array(ty: str) -> bool:
    inner = arguments(ty)
    if ty.startswith(("Nullable(", "LowCardinality(")):
        return _has_array(inner[0])
    return ty in _NUMBERS or ty.partition("(")[0] in ("String", "FixedString", "Date", "DateTime", "DateTime64")


def _column(ty: str, array: Any, zone: Callable[[], str]) -> Any:
    import numpy as np

    if ty.startswith("LowCardinality("):
        import pandas as pd

        (inner,) = arguments(ty)
        values = [None if value is np.ma.masked else value for value in array]
        return pd.Categorical(values if inner.startswith("Nullable(") else _column(inner, array, zone))
    if ty.startswith("Nullable("):
        mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
        plain = _column(arguments(ty)[0], np.ma.getdata(array), zone) if array.dtype != object else array
        # Nanoseconds would become integers.
        plain = plain.astype("datetime64[us]") if plain.dtype == "datetime64[ns]" else plain
        made = plain.astype(object)
        if mask is not None:
            made[mask] = None
        return made
    if ty == "Date":
        return array.astype("datetime64[D]")
    if ty.startswith("DateTime"):
        return _moments(ty, array, zone)
    if ty.startswith(("String", "FixedString")):
        return _texts(array)
    return array


def _moments(ty: str, array: Any, zone: Callable[[], str]) -> Any:
    """Of a type with a zone they are of UTC, of one without on the clock of the server."""
    import numpy as np

    if ty.startswith("DateTime64") and len(array):
        least, most = np.datetime64(_FIRST), np.datetime64(_LAST)
        if array.min() >= least and array.max() < most:
            array = array.astype("datetime64[ns]")
    elif ty.startswith("DateTime64"):
        array = array.astype("datetime64[ns]")
    if zone_of(ty) is None and zone() != "UTC":
        import pandas as pd

        moved = pd.to_datetime(array, utc=True).tz_convert(time_zone(zone()))
        array = moved.tz_localize(None).to_numpy(array.dtype)
    return array


def _texts(values: Any) -> Any:
    import numpy as np

    # Zeros at the end are none of the text, as numpy has it.
    values = [value.rstrip("\0") if isinstance(value, str) else value for value in values]
    kinds = set(map(type, values))
    if kinds <= {str}:
        return np.array(values, dtype=str)
    return np.array(values, dtype=bytes) if kinds == {bytes} else _object_array(values)


def _made(ty: str, values: Sequence[Any]) -> Any:
    """Of values that are objects: a Tuple as an array with fields, others as they are."""
    import numpy as np

    inner = arguments(ty)
    if not ty.startswith("Tuple(") or not inner:
        return tuple(values)
    parts = list(zip(*values)) if values else [()] * len(inner)
    fields = [_field(part, values) for part, values in zip(inner, parts)]
    made = np.empty(len(values), dtype=[(f"f{at}", field.dtype) for at, field in enumerate(fields)])
    for at, field in enumerate(fields):
        made[f"f{at}"] = field
    return made


def _field(ty: str, values: Sequence[Any]) -> Any:
    import numpy as np

    if ty.startswith("Tuple("):
        return _made(ty, values)
    if ty in _NUMBERS:
        return np.array(values, dtype=ty.lower())
    if ty.startswith(("String", "FixedString")):
        return _texts(values)
    return _object_array(values)


def _object_array(values: Sequence[Any]) -> Any:
    import numpy as np

    # Filled one by one: numpy would make a matrix of lists of one length.
    made = np.empty(len(values), dtype=object)
    for at, value in enumerate(values):
        made[at] = value
    return made
