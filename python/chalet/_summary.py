"""The SQL of a relation's summary: one row for each column, from one pass over the rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"(U?Int\d|Float|BFloat|Decimal|Bool)")
# Numbers of which there are no averages or quantiles, or none of all digits, and what is taken for them.
_AS_NUMBER = {"Decimal": "toFloat64OrNull(toString({}))", "Bool": "toUInt8({})", "BFloat": "toFloat32({})"}
# Types whose values have no order, or none that says anything.
_UNORDERED = re.compile(r"(Map|JSON|Object|Variant|Dynamic|AggregateFunction|Nothing)")
_FIELDS = (
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
)


def summary(names: Sequence[str], types: Sequence[str], ident: Callable[[str], str]) -> str:
    """Everything before FROM; behind the table a bracket is to be closed."""
    rows = ", ".join(_row(name, ty, ident(name)) for name, ty in zip(names, types, strict=True))
    fields = ", ".join(f"s.{place} AS {name}" for place, name in enumerate(_FIELDS, 1))
    return f"SELECT {fields} FROM (SELECT arrayJoin([{rows}]) AS s"


def _row(name: str, ty: str, column: str) -> str:
    bare = ty.removeprefix("LowCardinality(").removeprefix("Nullable(")
    number, is_ordered = _NUMBER.match(bare), not _UNORDERED.match(bare)
    values = _AS_NUMBER.get(number[1], "{}").format(column) if number else column
    numbers = [f"avg({values})", f"stddevSamp({values})", *(f"quantile({q})({values})" for q in (0.25, 0.5, 0.75))]
    texts = [f"min({column})", f"max({column})"]
    parts = [
        _text(name),
        _text(ty),
        *(_known(f"toString({text})" if is_ordered else "NULL", "String") for text in texts),
        f"uniq({column})" if is_ordered else "toUInt64(0)",
        *(_known(text if number else "NULL", "Float64") for text in numbers),
        "count()",
        f"if(count() = 0, 0., 100. * countIf(isNull({column})) / count())",
    ]
    return f"tuple({', '.join(parts)})"


def _known(value: str, ty: str) -> str:
    """What is said of some rows, but not of none: aggregate functions answer zero or nan then."""
    return f"CAST({value if value == 'NULL' else f'if(count() = 0, NULL, {value})'}, 'Nullable({ty})')"


def _text(value: str) -> str:
    """A literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
