"""What an object of the caller is as a table: pandas, polars, pyarrow, numpy, dicts, lists of dicts, Arrow producers.

The engine asks `describe(object)` when a statement names it. No package is imported for that: whoever has a frame has
imported its package. The answers are read by the extension module:

- `("columns", n_rows, [column, ...])`, each column one of
    - `(name, "plain", array, dtype, missing, mask, zone)`: memory of a numpy array; `missing`: NaN is NULL;
      `mask`: a bool array, true where the value is NULL; `zone`: of UTC moments
    - `(name, "objects", values, missing)`: Python objects in an object array or a tuple
    - `(name, "codes", codes, dtype, categories)`: places in categories, which are a column; negative is NULL
    - `(name, "arrow", producer)`: anything with `__arrow_c_stream__` or `__arrow_c_array__`
    - `(name, "refused", why)`: raises when a statement reads the column
- `("arrow", schema, open, held, n_rows)`: `open(names, conditions)` gives a producer of those columns, or of all where
  names is None; None: the object can be read once. `conditions` are `(name, low, is low included, high, is high included)`, ends
  may be None: rows that break one are not needed.
  `schema` is a producer of the schema; `held`: all rows are in memory, so that they may be taken at once;
  `n_rows`: None where it is not known yet
- `("reader", reader, [(name, type), ...])`: `reader.read(names, count)` gives lists, no list or no rows at the end
- `("result", result)`: the answer of another query
- `("typed", [row, ...], [(name, type), ...])`: rows whose values are of these types
- `("relation", connection, query, params, tables, names, types)`: a query that has not run
- `None`: no table
"""

from __future__ import annotations

import functools
import importlib
import operator
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Column = tuple[Any, ...]
Description = tuple[Any, ...]


def describe(obj: Any) -> Description | None:
    """The description of an object, None if it is no table. TypeError, ValueError: it looks like one, but is broken."""
    kind = type(obj)
    root = (kind.__module__ or "").partition(".")[0]
    known = _KNOWN.get(root)
    if known is not None:
        found = known(obj, kind.__name__)
        if found is not None:
            return found
    if root == "chalet" and kind.__name__ == "Result":
        return ("result", obj)
    if root == "chalet" and any(base.__name__ == "Relation" for base in kind.__mro__):
        # That of asyncio has one too, which it makes when it is first needed.
        obj = obj._relation() if hasattr(obj, "_relation") else obj
        return ("relation", obj._connection, obj._query, obj._params, obj._outline[2], *obj._outline[:2])
    if kind is TypedRows:
        return ("typed", obj.rows, obj.columns)
    if callable(getattr(obj, "get_schema", None)) and callable(getattr(obj, "read", None)):
        return ("reader", obj, [(str(name), str(ty)) for name, ty in obj.get_schema()])
    if hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__"):
        again = any(hasattr(obj, name) for name in ("__len__", "num_rows", "shape"))
        return ("arrow", obj, (lambda names, _: obj) if again else None, False, None)
    if isinstance(obj, Mapping):
        return _mapping(obj)
    if isinstance(obj, (list, tuple)) and obj and all(isinstance(row, Mapping) for row in obj):
        return _records(obj)
    # Subclasses in modules of their own.
    for base in kind.__mro__[1:]:
        known = _KNOWN.get((base.__module__ or "").partition(".")[0])
        if known is not None:
            return known(obj, base.__name__)
    return None


class TypedRows:
    """Rows, as tuples, of columns whose types are declared."""

    __slots__ = ("columns", "rows")

    def __init__(self, columns: Sequence[tuple[str, str]], rows: list[Any]) -> None:
        self.columns, self.rows = [(str(name), str(ty)) for name, ty in columns], rows


def attribute(obj: Any, path: Sequence[str]) -> Any:
    """`Python(a.b.c)`: the object that is reached from a by names; AttributeError where there is none."""
    for name in path:
        obj = getattr(obj, name)
    return obj


# --- pandas ---------------------------------------------------------------------------------------------------------


def _pandas(obj: Any, name: str) -> Description | None:
    if name == "DataFrame":
        return _frame(obj)
    if name == "Series":
        return _frame(obj.to_frame("value" if obj.name is None else obj.name))
    return None


# The labels of the frame that was described last, and the names made of them: programs ask the same frame again and again.
_last_labels: tuple[Any, list[str]] = (lambda: None, [])


def _frame_names(labels: Any) -> list[str]:
    global _last_labels
    last, names = _last_labels
    if last() is not labels:
        # Labels of an Index never change.
        names = _names(labels)
        _last_labels = (weakref.ref(labels), names)
    return names


def _frame(frame: Any) -> Description:
    names = _frame_names(frame.columns)
    # Ten times as fast as making a Series for each column, where pandas has it.
    get = getattr(frame, "_get_column_array", None)
    if get is not None:
        arrays = map(get, range(len(names)))
    else:
        arrays = (series.array for _, series in frame.items())
    return ("columns", len(frame), [_pandas_column(name, array) for name, array in zip(names, arrays, strict=True)])


def _pandas_column(name: str, array: Any) -> Column:
    if type(array) is sys.modules["numpy"].ndarray:
        return _numpy_column(name, array, missing=True)
    dtype = array.dtype
    kind = type(array).__name__
    if kind == "DatetimeArray":
        zone = getattr(dtype, "tz", None)
        text = f"M8[{dtype.unit}]" if zone is not None else dtype.str
        try:
            zone = None if zone is None else _zone_name(zone)
        except ValueError as error:
            return (name, "refused", str(error))
        return (name, "plain", array.asi8, text, True, None, zone)
    if kind == "TimedeltaArray":
        return (name, "plain", array.asi8, dtype.str, True, None, None)
    if kind in ("IntegerArray", "FloatingArray", "BooleanArray"):
        values = array._data
        return (name, "plain", values, values.dtype.str, False, array._mask, None)
    if kind == "Categorical":
        codes = array.codes
        categories = array.categories
        return (name, "codes", codes, codes.dtype.str, _pandas_column(name, _array_of_index(categories)))
    if kind == "SparseArray":
        return _pandas_column(name, array.to_dense())
    if kind in ("NumpyExtensionArray", "PandasArray"):
        return _numpy_column(name, array.to_numpy(), missing=True)
    if kind in ("PeriodArray", "IntervalArray"):
        return (name, "refused", f"Unsupported dtype {dtype} of column '{name}': convert it, e.g. with .astype(str)")
    if hasattr(array, "__arrow_array__") and "pyarrow" in sys.modules and getattr(dtype, "storage", "pyarrow") == "pyarrow":
        made = array.__arrow_array__()
        if hasattr(made, "__arrow_c_stream__") or hasattr(made, "__arrow_c_array__"):
            return (name, "arrow", made)
    return (name, "objects", sys.modules["numpy"].asarray(array, dtype=object), True)


def _array_of_index(index: Any) -> Any:
    array = index.array
    return array.to_numpy() if type(array).__name__ in ("NumpyExtensionArray", "PandasArray") else array


def _zone_name(zone: Any) -> str:
    """The IANA name of a tzinfo, or `Fixed/UTC+01:00:00` of one with a fixed offset."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name:
        return str(name)
    offset = zone.utcoffset(None)
    if offset is None:
        # dateutil has zones of files.
        path = str(getattr(zone, "_filename", ""))
        if "zoneinfo/" in path:
            return path.split("zoneinfo/", 1)[1]
        raise ValueError(f"Unsupported time zone {zone!r}: use zoneinfo.ZoneInfo")
    seconds = round(offset.total_seconds())
    if seconds == 0:
        return "UTC"
    sign = "-" if seconds < 0 else "+"
    minutes, seconds = divmod(abs(seconds), 60)
    return f"Fixed/UTC{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"


# --- numpy ----------------------------------------------------------------------------------------------------------


def _numpy(obj: Any, name: str) -> Description | None:
    if name not in ("ndarray", "recarray", "MaskedArray"):
        return None
    if obj.dtype.names is not None and obj.ndim == 1:
        fields = [_numpy_column(field, obj[field], missing=False) for field in obj.dtype.names]
        return ("columns", len(obj), fields)
    if obj.ndim == 1:
        return ("columns", len(obj), [_numpy_column("column0", obj, missing=False)])
    if obj.ndim == 2:
        columns = [_numpy_column(f"column{i}", obj[:, i], missing=False) for i in range(obj.shape[1])]
        return ("columns", obj.shape[0], columns)
    return None


def _numpy_column(name: str, array: Any, missing: bool) -> Column:
    """Where `missing`, NaN stands for NULL, as in pandas."""
    numpy = sys.modules["numpy"]
    if array.ndim != 1:
        return (name, "objects", tuple(array.tolist()), missing)
    mask = None
    if isinstance(array, numpy.ma.MaskedArray):
        mask, array = numpy.ma.getmaskarray(array), array.data
    kind = array.dtype.kind
    if kind == "O":
        return (name, "objects", array, missing)
    if kind in "mM":
        return (name, "plain", array.view(array.dtype.byteorder.replace("|", "=") + "i8"), array.dtype.str, True, mask, None)
    if kind == "T":
        return (name, "objects", array.astype(object), True)
    if kind in "cV":
        return (name, "refused", f"Unsupported dtype {array.dtype} of column '{name}'")
    return (name, "plain", array, array.dtype.str, missing, mask, None)


# --- Arrow ----------------------------------------------------------------------------------------------------------


def _pyarrow(obj: Any, name: str) -> Description | None:
    if name in ("Table", "RecordBatch"):
        return ("arrow", obj.schema, lambda names, _: obj if names is None else obj.select(names), True, obj.num_rows)
    if name == "RecordBatchReader":
        return ("arrow", obj.schema, _once(obj), False, None)
    if name.endswith("Dataset"):
        return ("arrow", obj.schema, lambda names, conditions: _scanned(obj, names, conditions), False, None)
    if name == "Scanner":
        reader = obj.to_reader()
        return ("arrow", reader.schema, _once(reader), False, None)
    if name.endswith("Array"):
        return ("columns", len(obj), [("column0", "arrow", obj)])
    return None


# Readers that statements have read.
_spent: weakref.WeakSet[Any] = weakref.WeakSet()


def _once(reader: Any) -> Callable[[Any, Any], Any]:
    """A reader that is spent is not empty: to read it again is an error, in a later statement too."""

    def take(_names: Any, _conditions: Any) -> Any:
        if reader in _spent:
            raise ValueError("the reader was read already, by this statement or an earlier one: read it into a table first")
        _spent.add(reader)
        return reader

    return take


# Types whose values pyarrow compares with those that a range may end at.
_COMPARED = frozenset(("bool", "float", "double", "string", "large_string", "binary", "large_binary"))


def _scanned(dataset: Any, names: Any, conditions: Sequence[Any]) -> Any:
    """A reader of a dataset, which skips files and row groups by the conditions."""
    arrow, compute = sys.modules["pyarrow"], importlib.import_module("pyarrow.compute")
    tests: list[Any] = []
    # It cannot choose among rows where any of the columns has views.
    if not any("_view" in str(field.type) for field in dataset.schema):
        for name, low, from_low, high, to_high in conditions:
            kind = dataset.schema.field(name).type
            if arrow.types.is_unsigned_integer(kind):
                # A number of Python is a signed one to it, and so would the column be.
                low, high = (None if end is None else arrow.scalar(end, arrow.uint64()) for end in (low, high))
            elif not arrow.types.is_integer(kind) and str(kind) not in _COMPARED:
                continue
            tests += _tests(compute.field(name), low, from_low, high, to_high)
    return dataset.scanner(columns=names, filter=functools.reduce(operator.and_, tests) if tests else None).to_reader()


def _collected(lazy: Any, names: Any, conditions: Sequence[Any]) -> Any:
    if any(name == "*" or name.startswith("^") for name in (*(names or ()), *(name for name, *_ in conditions))):
        # To expressions such a name is a pattern.
        return _chosen(lazy.collect(), names)
    column = sys.modules["polars"].col
    tests = [test for name, *ends in conditions for test in _tests(column(name), *ends)]
    chosen = lazy.filter(*tests) if tests else lazy
    return (chosen if names is None else chosen.select(names)).collect()


def _chosen(frame: Any, names: Any) -> Any:
    """Some columns of a polars DataFrame, by exactly these names: `select` takes some for patterns."""
    return frame if names is None else sys.modules["polars"].DataFrame([frame.get_column(name) for name in names])


def _tests(column: Any, low: Any, from_low: bool, high: Any, to_high: bool) -> Iterable[Any]:
    if low is not None:
        yield column >= low if from_low else column > low
    if high is not None:
        yield column <= high if to_high else column < high


def _polars(obj: Any, name: str) -> Description | None:
    if name == "DataFrame":
        if any(map(_is_untold, obj.dtypes)):
            return ("columns", obj.height, [_polars_column(series.name, series) for series in obj.get_columns()])
        return ("arrow", obj, lambda names, _: _chosen(obj, names), True, obj.height)
    if name == "LazyFrame":
        if any(map(_is_untold, obj.collect_schema().dtypes())):
            return _polars(obj.collect(), "DataFrame")
        empty = sys.modules["polars"].DataFrame(schema=obj.collect_schema())
        return ("arrow", empty, lambda names, conditions: _collected(obj, names, conditions), True, None)
    if name == "Series":
        return _polars(obj.to_frame(obj.name or "value"), "DataFrame")
    return None


# Types that polars exports as what only polars reads, or, an Object, as an address.
_UNTOLD = frozenset(("Object", "Null", "Int128", "UInt128"))


def _is_untold(dtype: Any) -> bool:
    return not _UNTOLD.isdisjoint(re.findall(r"\w+", str(dtype))) and _told(dtype) != dtype


def _told(dtype: Any) -> Any:
    """The type with others, inside too, for those that polars exports as what only polars reads; an Object stays none."""
    polars, name = sys.modules["polars"], str(dtype)
    if name == "Null":
        return polars.String
    if name in ("Int128", "UInt128"):
        return polars.Decimal(38, 0)
    if name == "Object":
        return None
    fields = getattr(dtype, "fields", None)
    if fields is not None:
        parts = [(field.name, _told(field.dtype)) for field in fields]
        return None if any(part is None for _, part in parts) else polars.Struct([polars.Field(*part) for part in parts])
    inner = getattr(dtype, "inner", None)
    if inner is None:
        return dtype
    inner = _told(inner)
    if inner is None:
        return None
    return polars.Array(inner, dtype.size) if hasattr(dtype, "size") else polars.List(inner)


def _polars_column(name: str, series: Any) -> Column:
    dtype = series.dtype
    if not _is_untold(dtype):
        return (name, "arrow", series)
    if str(dtype) in _UNTOLD:
        return (name, "objects", tuple(series.to_list()), False)
    told = _told(dtype)
    try:
        if told is not None:
            return (name, "arrow", series.cast(told))
        why = "it holds Python objects"
    except sys.modules["polars"].exceptions.PolarsError as error:
        why = str(error)
    return (name, "refused", f"Unsupported dtype {dtype} of column '{name}': {why}")


# --- plain Python ---------------------------------------------------------------------------------------------------


def _mapping(obj: Mapping[Any, Any]) -> Description | None:
    """A dict of columns of one length."""
    values = list(obj.values())
    if not values or any(isinstance(v, (str, bytes, Mapping)) or not hasattr(v, "__len__") for v in values):
        return None
    lengths = {len(v) for v in values}
    if len(lengths) > 1:
        raise ValueError(f"the columns of a dict must have one length: these have {sorted(lengths)}")
    return ("columns", len(values[0]), [_any_column(n, v) for n, v in zip(_names(obj), values, strict=True)])


def _any_column(name: str, values: Any) -> Column:
    root = (type(values).__module__ or "").partition(".")[0]
    if root == "numpy":
        return _numpy_column(name, values, missing=False)
    if root == "pandas" and hasattr(values, "dtype"):
        # A Series and an Index have an array, the others are one.
        return _pandas_column(name, getattr(values, "array", values))
    if root == "polars" and hasattr(values, "dtype"):
        return _polars_column(name, values)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return (name, "arrow", values)
    return (name, "objects", tuple(values), False)


def _records(rows: Sequence[Mapping[Any, Any]]) -> Description:
    """A list of dicts: every key that occurs is a column, NULL where a dict has it not."""
    keys: dict[Any, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
    columns = [(name, "objects", tuple([row.get(key) for row in rows]), False) for name, key in zip(_names(keys), keys, strict=True)]
    return ("columns", len(rows), columns)


def _names(labels: Iterable[Any]) -> list[str]:
    """Labels as column names, all different: a second `a` is `a_1`; the parts of a tuple are joined with `_`."""
    texts = ["_".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
    taken = set(texts)
    if len(taken) == len(texts):
        return texts
    seen: set[str] = set()
    for place, text in enumerate(texts):
        if text in seen:
            number = 1
            while f"{text}_{number}" in taken:
                number += 1
            texts[place] = f"{text}_{number}"
            taken.add(texts[place])
        seen.add(texts[place])
    return texts


_KNOWN: dict[str, Callable[[Any, str], Description | None]] = {
    "pandas": _pandas,
    "numpy": _numpy,
    "pyarrow": _pyarrow,
    "polars": _polars,
}
