"""Texts as bytes, or in another encoding than UTF-8: `strings_as_bytes` and `strings_encoding` of a Client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._types import arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Change = Callable[[Any], Any]


def is_plain(settings: Mapping[str, Any]) -> bool:
    """Are texts `str` in UTF-8?"""
    return not settings["strings_as_bytes"] and str(settings["strings_encoding"]).lower().replace("-", "") == "utf8"


def read(rows: Sequence[Any], types: Sequence[str], settings: Mapping[str, Any]) -> list[Any]:
    """Rows whose texts are as the settings say."""
    encoding = None if settings["strings_as_bytes"] else settings["strings_encoding"]

    def text(value: Any) -> Any:
        # What is no UTF-8 are bytes already.
        raw = value.encode() if isinstance(value, str) else value
        if encoding is None:
            return raw
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            return raw

    return _changed(rows, types, text)


def written(rows: Sequence[Any], types: Sequence[str], settings: Mapping[str, Any]) -> list[Any]:
    """Rows of an INSERT, whose texts are sent in the encoding of the settings."""
    encoding = settings["strings_encoding"]
    return _changed(rows, types, lambda value: value.encode(encoding) if isinstance(value, str) else value)


def _changed(rows: Sequence[Any], types: Sequence[str], text: Change) -> list[Any]:
    changes = [(at, change) for at, change in enumerate(_change(ty, text) for ty in types) if change is not None]
    if not changes:
        return list(rows)
    made = []
    for row in rows:
        values = list(row)
        for at, change in changes:
            if values[at] is not None:
                values[at] = change(values[at])
        made.append(tuple(values))
    return made


def _change(ty: str, text: Change) -> Change | None:
    """What becomes of a value of the type; None where there are no texts in it."""
    name, inner = ty.partition("(")[0], arguments(ty)
    if name in ("String", "FixedString"):
        return text
    if name in ("Nullable", "LowCardinality", "SimpleAggregateFunction") and inner:
        return _change(inner[-1], text)
    if name == "Array":
        return _of_lists(_change(inner[0], text))
    if name == "Map":
        return _of_maps(*(_change(one, text) for one in inner))
    if name == "Tuple":
        return _of_tuples([_change(one, text) for one in inner])
    if name == "Nested":
        return _of_lists(_of_tuples([_change(one, text) for one in inner]))
    return None


def _maybe(change: Change | None, value: Any) -> Any:
    return value if change is None or value is None else change(value)


def _of_lists(change: Change | None) -> Change | None:
    return None if change is None else lambda values: [_maybe(change, value) for value in values]


def _of_maps(key: Change | None, value: Change | None) -> Change | None:
    if key is None and value is None:
        return None
    return lambda values: {_maybe(key, one): _maybe(value, other) for one, other in values.items()}


def _of_tuples(changes: list[Change | None]) -> Change | None:
    if not any(changes):
        return None

    def change(values: Any) -> Any:
        if isinstance(values, dict):
            return {name: _maybe(each, value) for each, (name, value) in zip(changes, values.items())}
        return tuple([_maybe(each, value) for each, value in zip(changes, values)])

    return change
