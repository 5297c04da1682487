"""Decorators that make Python functions known to SQL, in all databases of the process."""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any

from .. import _functions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def func(
    arg_types: Sequence[Any] | None = None,
    return_type: Any = None,
    *,
    on_null: Any = None,
    on_error: Any = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function known under its own name, see `chalet.create_function`; returns it unchanged.

    >>> @chalet.udf.func()
    ... def half(x: int) -> float:
    ...     return x / 2
    >>> chalet.query("SELECT half(number) FROM numbers(3)").data()
    '0\\n0.5\\n1\\n'
    >>> half(3)
    1.5
    >>> chalet.drop_function("half")
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _functions.create_function(
            function.__name__, function, arg_types, return_type, on_null=on_null, on_error=on_error
        )
        return function

    return register


def agg(
    arg_types: Sequence[Any] | None = None,
    return_type: Any = None,
    *,
    name: str | None = None,
    on_null: Any = None,
    on_error: Any = None,
) -> Callable[[type], type]:
    """Makes a class an aggregate function: `update(*args)`, `merge(other)`, `evaluate()` and, optionally,
    `update_batch(*columns)`. One instance is made for each group. See `chalet.create_aggregate_function`.

    >>> @chalet.udf.agg(["Int64"], "Int64", name="span")
    ... class Span:
    ...     def __init__(self):
    ...         self.values = []
    ...     def update(self, value):
    ...         self.values.append(value)
    ...     def merge(self, other):
    ...         self.values += other.values
    ...     def evaluate(self):
    ...         return max(self.values) - min(self.values)
    >>> chalet.query("SELECT number % 2 AS odd, span(number) FROM numbers(10) GROUP BY odd ORDER BY odd").data()
    '0,8\\n1,8\\n'
    >>> chalet.drop_aggregate_function("span")
    """

    def register(accumulator: type) -> type:
        _functions.create_aggregate_function(
            name or accumulator.__name__, accumulator, arg_types, return_type, on_null=on_null, on_error=on_error
        )
        return accumulator

    return register


def chdb_udf(return_type: Any = "String") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """chDB's older decorator: arguments come as text and what is returned goes as text. Prefer `func`.

    >>> @chalet.udf.chdb_udf(return_type="Int32")
    ... def plus_one(text):
    ...     return int(text) + 1
    >>> chalet.query("SELECT plus_one(41)").data()
    '42\\n'
    >>> chalet.drop_function("plus_one")
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        count = len(inspect.signature(function).parameters)
        _functions.create_text_function(function.__name__, function, count, return_type)
        return function

    return register


def generate_udf(func_name: str, args: Sequence[str], return_type: Any, udf_body: str) -> None:
    """Makes the function that the source text defines known, as `chdb_udf` does."""
    namespace: dict[str, Any] = {}
    exec(compile(textwrap.dedent(udf_body), f"<udf {func_name}>", "exec"), namespace)
    if not callable(namespace.get(func_name)):
        raise ValueError(f"the text does not define a function {func_name!r}")
    _functions.create_text_function(func_name, namespace[func_name], len(args), return_type)
