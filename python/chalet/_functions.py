"""Python functions as functions of SQL: what `create_function` and its kin make of their arguments."""

from __future__ import annotations

import ast
import datetime
import decimal
import enum
import inspect
import ipaddress
import re
import types
import typing
import uuid
from typing import TYPE_CHECKING, Any

from ._chalet import Error, ProgrammingError, add_aggregate, add_scalar, remove_function
from .sqltypes import ChdbType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class NullHandling(enum.IntEnum):
    """What a function does for a row with a NULL: SKIP makes the result NULL, PASS calls it with None."""

    SKIP = 0
    PASS = 1

    def __str__(self) -> str:
        return f"NullHandling.{self.name}"


class ExceptionHandling(enum.IntEnum):
    """What an exception does: PROPAGATE ends the query, IGNORE makes the row's result NULL."""

    PROPAGATE = 0
    IGNORE = 1

    def __str__(self) -> str:
        return f"ExceptionHandling.{self.name}"


_TYPES: dict[Any, str] = {
    bool: "Bool",
    int: "Int64",
    float: "Float64",
    str: "String",
    bytes: "String",
    bytearray: "String",
    datetime.date: "Date",
    datetime.datetime: "DateTime64(6)",
    uuid.UUID: "UUID",
    ipaddress.IPv4Address: "IPv4",
    ipaddress.IPv6Address: "IPv6",
    decimal.Decimal: "Decimal(38, 10)",
}


def create_function(
    name: str,
    func: Callable[..., Any],
    arg_types: Sequence[Any] | None = None,
    return_type: Any = None,
    *,
    on_null: Any = None,
    on_error: Any = None,
) -> None:
    """Makes a Python function known to SQL, in all databases of the process, until `drop_function`.

    Types are names of ClickHouse types, objects of `chalet.sqltypes` or Python types; those that are left out come from the
    annotations. Arguments without a type take any. The result is Nullable. `on_null` is "skip" (default) or "pass",
    `on_error` is "propagate" (default) or "ignore", see `NullHandling` and `ExceptionHandling`. The function is called once
    for each row; what it raises is the `__cause__` of the query's error. Under the name of a built-in function it takes the place
    of that one in calls by the name.

    >>> chalet.create_function("shout", lambda text: text.upper() + "!", ["String"], "String")
    >>> chalet.query("SELECT shout('hello'), shout(NULL)").data()
    '"HELLO!",\\\\N\\n'
    >>> chalet.drop_function("shout")
    """
    if not callable(func):
        raise TypeError(f"a function must be callable, not a {type(func).__name__}")
    declared, arity, annotated = _signature(name, func)
    declared, arity = _arguments(name, arg_types, declared, arity)
    result = _result("function", name, return_type, annotated)
    _register(add_scalar, name, func, declared, arity, result, on_null, on_error)


def create_aggregate_function(
    name: str,
    accumulator: Callable[[], Any],
    arg_types: Sequence[Any] | None = None,
    return_type: Any = None,
    *,
    on_null: Any = None,
    on_error: Any = None,
) -> None:
    """Makes accumulators an aggregate function of SQL. `accumulator()` is called for each group; what it returns has
    `update(*args)` for a row, `merge(other)`, `evaluate()` for the result and, optionally, `update_batch(*columns)`.

    Types and policies are as in `create_function`, from the annotations of `update` and `evaluate`. A NULL is skipped
    unless `on_null` is "pass"; `on_error="ignore"` skips rows that `update` fails for.

    >>> class Longest:
    ...     def __init__(self):
    ...         self.text = ""
    ...     def update(self, text: str):
    ...         self.text = max(self.text, text, key=len)
    ...     def merge(self, other):
    ...         self.update(other.text)
    ...     def evaluate(self) -> str:
    ...         return self.text
    >>> chalet.create_aggregate_function("longest", Longest)
    >>> chalet.query("SELECT longest(name) FROM values('name String', 'Bo', 'Barbara', 'Bea')").data()
    '"Barbara"\\n'
    >>> chalet.drop_aggregate_function("longest")
    """
    if not callable(accumulator):
        raise TypeError(f"an accumulator must be callable, not a {type(accumulator).__name__}")
    declared: list[str | None] | None = None
    arity, annotated = (0, _MANY), None
    batches = False
    if inspect.isclass(accumulator):
        for method in ("update", "merge", "evaluate"):
            if not callable(getattr(accumulator, method, None)):
                raise TypeError(f"the accumulator {accumulator.__name__} has no method {method}()")
        declared, arity, _ = _signature(name, accumulator.update, skip=1)
        annotated = _hints(accumulator.evaluate).get("return")
        batches = callable(getattr(accumulator, "update_batch", None)) and not _policy(on_error, ExceptionHandling)
    declared, arity = _arguments(name, arg_types, declared, arity)
    result = _result("aggregate function", name, return_type, annotated)
    _register(add_aggregate, name, accumulator, declared, arity, result, on_null, on_error, batches)


def create_text_function(name: str, func: Callable[..., Any], n_args: int, return_type: Any) -> None:
    """A function of texts, whose result is read from text. An earlier one of the name is replaced."""
    result = _type_name(return_type)

    def called(*args: Any) -> Any:
        return _read(func(*map(_text, args)), result)

    remove_function(name)
    _register(add_scalar, name, called, None, (n_args, n_args), result, "skip", None)


def drop_function(name: str) -> None:
    """Makes SQL forget a function of `create_function`; does nothing where there is none."""
    remove_function(name)


drop_aggregate_function = drop_function


def _arguments(
    name: str, given: Sequence[Any] | None, declared: list[str | None] | None, arity: tuple[int, int]
) -> tuple[list[str | None] | None, tuple[int, int]]:
    """Types and number of arguments: those that are given, else those of the signature."""
    if not given:
        return declared, arity
    types: list[str | None] = [_type_name(ty) for ty in given]
    least, most = arity
    if not least <= len(types) <= most:
        count = str(least) if least == most else f"{least} or more"
        why = f"Python UDF '{name}': arg_types has {len(types)} elements but function has {count} parameters"
        raise ProgrammingError(f"Failed to create function '{name}': {why}")
    return types, (len(types), len(types))


def _result(kind: str, name: str, given: Any, annotated: Any) -> str:
    """The type of the result: the one that is given, else that of the annotation."""
    returned = given if given is not None else annotated
    if returned is None:
        raise ProgrammingError(f"Failed to create {kind} '{name}': return type not specified")
    return _type_name(returned)


def _register(add, name, func, declared, arity, result, on_null, on_error, *more) -> None:
    null, error = bool(_policy(on_null, NullHandling)), bool(_policy(on_error, ExceptionHandling))
    # One type that is left out leaves out all: the engine checks them by position.
    args = None if declared is None or None in declared else declared
    try:
        add(name, func, args, arity, result, null, error, *more)
    except Error as failed:
        failed.args = (f"Failed to create function '{name}': {failed}",)
        raise


def _policy(given: Any, kind: type[enum.IntEnum]) -> int:
    if given is None:
        return 0
    if isinstance(given, kind):
        return int(given)
    if isinstance(given, str) and given.upper() in kind.__members__:
        return int(kind[given.upper()])
    option = "on_null" if kind is NullHandling else "on_error"
    words = " or ".join(f"'{member.name.lower()}'" for member in kind)
    raise ProgrammingError(f"{option} must be {words}, got {given!r}")


_MANY = 2**31


def _signature(name: str, func: Callable[..., Any], skip: int = 0):
    """Types of the parameters (None where there is no annotation), least and most arguments, type of the result."""
    try:
        parameters = list(inspect.signature(func).parameters.values())[skip:]
    except (TypeError, ValueError):
        # Some functions of C have no signature.
        return None, (0, _MANY), None
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            why = f"Python UDF '{name}': parameter '{parameter.name}' is KEYWORD_ONLY, only positional parameters are supported"
            raise ProgrammingError(f"Failed to create function '{name}': {why}")
    hints = _hints(func)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in positional)
    most = _MANY if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional)
    try:
        declared = [_type_name(hints[p.name]) if p.name in hints else None for p in positional]
        returned = _type_name(hints["return"]) if hints.get("return") not in (None, type(None)) else None
    except ProgrammingError as error:
        raise ProgrammingError(f"Failed to create function '{name}': {error}") from None
    return declared, (least, most), returned


def _hints(func: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(func)
    except (NameError, TypeError):
        return {}


def _type_name(ty: Any) -> str:
    if isinstance(ty, ChdbType):
        return ty.name
    if isinstance(ty, str):
        return ty
    origin, args = typing.get_origin(ty), typing.get_args(ty)
    if origin in (typing.Union, types.UnionType):
        # Every argument and result may be NULL anyway.
        some = [arg for arg in args if arg is not type(None)]
        if len(some) == 1:
            return _type_name(some[0])
    if origin is list and args:
        return f"Array({_type_name(args[0])})"
    if origin is dict and args:
        return f"Map({_type_name(args[0])}, {_type_name(args[1])})"
    if origin is tuple and args and ... not in args:
        return f"Tuple({', '.join(map(_type_name, args))})"
    if isinstance(ty, type) and ty in _TYPES:
        return _TYPES[ty]
    raise ProgrammingError(f"there is no ClickHouse type for {ty!r}: name one")


def _text(value: Any) -> str:
    """A value as SQL's toString has it."""
    from ._params import plain

    if isinstance(value, bool):
        return "true" if value else "false"
    text = plain(value)
    if isinstance(value, float):
        return text.removesuffix(".0").replace("e+", "e")
    if isinstance(value, decimal.Decimal) and "." in text:
        return text.rstrip("0").removesuffix(".")
    return text.decode(errors="replace") if isinstance(text, bytes) else text


_WRAPPED = re.compile(r"(?:LowCardinality|Nullable)\((.*)\)\Z", re.DOTALL)
_NULL_WORD = re.compile(r"'(?:[^'\\]|\\.)*'|\bNULL\b|\btrue\b|\bfalse\b", re.DOTALL)
_WORDS = {"NULL": "None", "true": "True", "false": "False"}


def _read(value: Any, ty: str) -> Any:
    """A text as a value of the type, where it is one; what is no text as it is."""
    while wrapped := _WRAPPED.match(ty):
        ty = wrapped[1]
    if value is None or value == "\\N":
        return None
    if ty == "String":
        return str(value)
    if not isinstance(value, str):
        return value
    if ty.startswith(("Array(", "Map(", "Tuple(")):
        # Literals of such types are those of Python but for these words.
        return ast.literal_eval(_NULL_WORD.sub(lambda word: _WORDS.get(word[0], word[0]), value))
    if ty.startswith(("Int", "UInt")):
        return int(value)
    if "Float" in ty:
        return float(value)
    if ty.startswith("Decimal"):
        return decimal.Decimal(value)
    if ty.startswith("DateTime"):
        return datetime.datetime.fromisoformat(value)
    if ty.startswith("Date"):
        return datetime.date.fromisoformat(value)
    if ty == "Bool":
        return value.lower() in ("1", "true", "t", "yes")
    if ty.startswith("IPv"):
        return ipaddress.ip_address(value)
    return uuid.UUID(value) if ty == "UUID" else value
