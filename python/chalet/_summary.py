"""The SQL of a relation's summary: one row for each column, from one pass over the rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"(U?Int|Float|BFloat|Decimal|Bool)")
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
    is_number, is_ordered = bool(_NUMBER.match(bare)), not _UNORDERED.match(bare)
    values = f"toFloat64OrNull(toString({column}))" if bare.startswith(("Decimal", "Bool")) else column
    numbers = [f"avg({values})", f"stddevSamp({values})", *(f"quantile({q})({values})" for q in (0.25, 0.5, 0.75))]
    texts = [f"min({column})", f"max({column})"]
    parts = [
        _text(name),
        _text(ty),
        *(f"toNullable(toString({text}))" if is_ordered else "CAST(NULL, 'Nullable(String)')" for text in texts),
        f"uniq({column})" if is_ordered else "toUInt64(0)",
        *(f"CAST({number}, 'Nullable(Float64)')" if is_number else "CAST(NULL, 'Nullable(Float64)')" for number in numbers),
        "count()",
        f"if(count() = 0, 0., 100. * countIf(isNull({column})) / count())",
    ]
    return f"tuple({', '.join(parts)})"


def _text(value: str) -> str:
    """A literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
