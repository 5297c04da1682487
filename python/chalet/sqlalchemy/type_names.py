"""Names of types as types of SQLAlchemy, for reflection."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sqlalchemy.types as sa

from .. import _chalet
from . import types

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine

_PLAIN: dict[str, Callable[[], TypeEngine[Any]]] = {
    "String": sa.String,
    "Bool": sa.Boolean,
    "UUID": sa.Uuid,
    **{name: getattr(types, name) for name in ("Float32", "Float64", "BFloat16", "Date", "Date32", "IPv4", "IPv6")},
    **{f"{sign}Int{bits}": getattr(types, f"{sign}Int{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256)},
}


def column_type(text: str) -> tuple[TypeEngine[Any], bool]:
    """The type of a column, and whether it may be NULL: Nullable is a property of the column then."""
    for wrapper in ("Nullable(", "LowCardinality(Nullable("):
        if text.startswith(wrapper):
            inner = type_of(text[len(wrapper) : -wrapper.count("(")])
            return (types.LowCardinality(inner) if wrapper.startswith("Low") else inner), True
    return type_of(text), False


@lru_cache(maxsize=512)
def type_of(text: str) -> TypeEngine[Any]:
    """A type by its text; one that SQLAlchemy cannot do anything with is `types.Other`."""
    tokens = [token for kind, token in _chalet.tokens(text) if kind not in ("space", "comment")]
    found = _known(tokens)
    return types.Other(text) if found is None else found


def _known(tokens: list[str]) -> TypeEngine[Any] | None:
    if len(tokens) == 1 and tokens[0] in _PLAIN:
        return _PLAIN[tokens[0]]()
    name, arguments = tokens[0], _arguments(tokens[1:])
    if name == "DateTime" and len(arguments) <= 1:
        return types.DateTime(*map(_text, arguments))
    if name == "DateTime64" and arguments:
        return types.DateTime64(int(arguments[0][0]), *map(_text, arguments[1:]))
    if name == "Time64" and arguments:
        return types.Time64(int(arguments[0][0]))
    if name == "Decimal" and len(arguments) == 2:
        return types.Decimal(int(arguments[0][0]), int(arguments[1][0]))
    if name == "FixedString" and arguments:
        return types.FixedString(int(arguments[0][0]))
    if name in ("Enum8", "Enum16"):
        made = types.Enum8 if name == "Enum8" else types.Enum16
        return made(values={_text(each[:1]): int("".join(each[2:])) for each in arguments})
    if name in ("Array", "Nullable", "LowCardinality") and len(arguments) == 1:
        return getattr(types, name)(_part(arguments[0]))
    if name == "Map" and len(arguments) == 2:
        return types.Map(_part(arguments[0]), _part(arguments[1]))
    if name == "Tuple" and arguments:
        if all(len(each) > 1 and each[1] not in ("(", ",") for each in arguments):
            return types.Tuple(**{each[0].strip('`"'): _part(each[1:]) for each in arguments})
        return types.Tuple(*map(_part, arguments))
    return None


def _part(tokens: list[str]) -> TypeEngine[Any]:
    found = _known(tokens)
    return types.Other(" ".join(tokens)) if found is None else found


def _arguments(tokens: list[str]) -> list[list[str]]:
    """The tokens between parentheses, apart at commas outside of inner ones."""
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens[1:-1]:
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found if tokens[1:-1] else []


def _text(tokens: list[str]) -> str:
    """What a string literal stands for."""
    inner = tokens[0][1:-1]
    return inner.replace("''", "'").replace("\\'", "'").replace("\\\\", "\\")
