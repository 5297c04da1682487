"""The type objects of PEP 249."""

from __future__ import annotations

from typing import Any


class DBAPISet(frozenset):
    """Equal to each type code of its kind: to the numbers that chDB has for them, and to names of ClickHouse types,
    whatever stands around them (`Nullable(Int8) == NUMBER`)."""

    names: frozenset[str]

    def __new__(cls, codes: Any = (), names: tuple[str, ...] = ()) -> DBAPISet:
        made = super().__new__(cls, codes)
        made.names = frozenset(names)
        return made

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, frozenset):
            return super().__eq__(other)
        if isinstance(other, str):
            return bare(other) in self.names
        return other in self

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


def bare(ty: str) -> str:
    """`Decimal` of `LowCardinality(Nullable(Decimal(9, 2)))`."""
    for wrapper in ("LowCardinality(", "Nullable("):
        if ty.startswith(wrapper):
            ty = ty[len(wrapper) : -1]
    return ty.partition("(")[0]
