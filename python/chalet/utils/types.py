"""Nested dicts as columns, and the types of columns."""

from __future__ import annotations

import decimal
import json
from typing import Any

_INTEGERS = [(2**7, "int8"), (2**15, "int16"), (2**31, "int32"), (2**63, "int64"), (2**127, "int128"), (2**255, "int256")]


def flatten_dict(d: dict[str, Any], parent_key: str = "", sep: str = "_") -> dict[str, Any]:
    """A nested dict as one of a level; a list of dicts only, or of nothing, becomes JSON.

    >>> chalet.utils.flatten_dict({"a": {"b": 1}, "c": [1, 2], "d": [{"e": 3}]})
    {'a_b': 1, 'c_0': 1, 'c_1': 2, 'd': '[{"e": 3}]'}
    """
    flat: dict[str, Any] = {}
    for key, value in d.items():
        name = f"{parent_key}{sep}{key}" if parent_key else key
        if isinstance(value, dict):
            flat.update(flatten_dict(value, name, sep))
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            flat[name] = json.dumps(value)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, dict):
                    flat.update(flatten_dict(item, f"{name}{sep}{at}", sep))
                else:
                    flat[f"{name}{sep}{at}"] = item
        else:
            flat[name] = value
    return flat


def convert_to_columnar(items: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Dicts as lists of values by flattened key, None where a dict has no such key.

    >>> chalet.utils.convert_to_columnar([{"a": 1, "b": {"c": 2}}, {"a": 3}])
    {'a': [1, 3], 'b_c': [2, None]}
    """
    rows = [flatten_dict(item) for item in items]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def infer_data_type(values: list[Any]) -> str:
    """`int8` to `int256`, `float32`, `float64`, `decimal128`, `decimal256` or `string`, whichever holds all values but None."""
    known = [value for value in values if value is not None]
    if not known:
        return "string"
    if all(isinstance(value, int) for value in known):
        least, most = min(known), max(known)
        return next((name for bound, name in _INTEGERS if -bound <= least and most < bound), "string")
    if all(isinstance(value, (int, decimal.Decimal)) for value in known):
        digits = max(len(decimal.Decimal(value).as_tuple().digits) for value in known)
        return "decimal128" if digits <= 38 else "decimal256" if digits <= 76 else "string"
    if all(isinstance(value, (int, float, decimal.Decimal)) for value in known):
        return "float64"
    return "string"


def infer_data_types(column_data: dict[str, list[Any]], n_rows: int = 10000) -> list[tuple[str, str]]:
    """Name and type of each column, by its first `n_rows` values.

    >>> chalet.utils.infer_data_types({"small": [1, None, -2], "text": ["x"], "mixed": [1, 2.5]})
    [('small', 'int8'), ('text', 'string'), ('mixed', 'float64')]
    """
    return [(name, infer_data_type(values[:n_rows])) for name, values in column_data.items()]
