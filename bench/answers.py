"""Compares the engines' answers to a query, ties aside.

Rows that share the sort key of the first or the last row before a LIMIT may be others. So may all rows of a LIMIT
without ORDER BY, as long as the full answer has them. Whole numbers and texts must be equal, floats to nine digits.
"""

import math
import re
from collections.abc import Callable

from statements import Shape

Row = list[str]
WHOLE = re.compile(r"-?\d+")
MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d) 00:00:00(\.0+)?")
FRACTION = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.(\d*?)0+")
TRUTH = {"true": "1", "false": "0"}
EXACT = 1e-9
ESTIMATE = 0.05


def canonical(field: str) -> str:
    """One text for what engines write in several ways: midnight and the day, zeros after the seconds, true and 1."""
    if len(field) >= 19 and field[4] == "-":
        if found := MIDNIGHT.fullmatch(field):
            return found[1]
        if found := FRACTION.fullmatch(field):
            return f"{found[1]}.{found[2]}".rstrip(".")
    return TRUTH.get(field, field)


def same_field(a: str, b: str, tolerance: float = EXACT) -> bool:
    if a == b or canonical(a) == canonical(b):
        return True
    if tolerance == EXACT and WHOLE.fullmatch(a) and WHOLE.fullmatch(b):
        return False
    try:
        # A sum of floating-point numbers depends on its order.
        return math.isclose(float(a), float(b), rel_tol=tolerance)
    except ValueError:
        return False


def same_row(a: Row, b: Row, tolerance: float = EXACT) -> bool:
    return len(a) == len(b) and all(same_field(x, y, tolerance) for x, y in zip(a, b))


def same_rows(a: list[Row], b: list[Row], tolerance: float = EXACT) -> bool:
    return len(a) == len(b) and all(same_row(x, y, tolerance) for x, y in zip(a, b))


def first_difference(a: list[Row], b: list[Row], tolerance: float) -> str:
    for number, (x, y) in enumerate(zip(a, b), 1):
        if not same_row(x, y, tolerance):
            wrong = [i for i, (p, q) in enumerate(zip(x, y)) if not same_field(p, q, tolerance)]
            at = wrong[0] if wrong else 0
            return f"row {number}, column {at + 1}: {x[at][:80]} against {y[at][:80]}"
    return f"{len(a)} rows against {len(b)} after the ties"


def difference(
    query: Shape, key_columns: list[int], a: list[Row], b: list[Row], absent: Callable[[list[Row]], list[Row]], estimate: bool
) -> str:
    """Why two answers differ, or "". `absent` gives those of the rows that the full answer does not have."""
    tolerance = ESTIMATE if estimate else EXACT
    if same_rows(a, b, tolerance):
        return ""
    if len(a) != len(b):
        return f"{len(a)} rows against {len(b)}"
    if query.limit is not None and not query.sort_keys:
        strange = absent(a)
        return f"a row that the full answer does not have: {' | '.join(strange[0])[:160]}" if strange else ""
    if key_columns:

        def key(row: Row) -> Row:
            return [row[i] for i in key_columns]

        keys = [key(row) for row in a], [key(row) for row in b]
        if not same_rows(*keys, tolerance):
            return "sort keys, " + first_difference(*keys, tolerance)
        loose = [key(b[0]), key(b[-1])] if query.limit is not None else []
        a, b = ([r for r in rows if not any(same_row(key(r), end, tolerance) for end in loose)] for rows in (a, b))
    a, b = sorted(a), sorted(b)
    return "" if same_rows(a, b, tolerance) else first_difference(a, b, tolerance)
