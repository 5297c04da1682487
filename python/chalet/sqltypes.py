"""Names of ClickHouse types as objects, for `create_function` and `chalet.udf`."""

from __future__ import annotations

from typing import Any


class ChdbType:
    """A type of ClickHouse by its name, which may be any: `ChdbType("Array(Int64)")`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        from ._chalet import normalised_type

        self._name = normalised_type(name)

    @classmethod
    def _known(cls, name: str) -> ChdbType:
        made = cls.__new__(cls)
        made._name = name
        return made

    @property
    def name(self) -> str:
        """As ClickHouse writes it."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"chalet.sqltypes.ChdbType('{self._name}')"

    def __eq__(self, other: Any) -> bool:
        return self._name == other._name if isinstance(other, ChdbType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._name)


BOOL = ChdbType._known("Bool")
INT8 = ChdbType._known("Int8")
INT16 = ChdbType._known("Int16")
INT32 = ChdbType._known("Int32")
INT64 = ChdbType._known("Int64")
INT128 = ChdbType._known("Int128")
INT256 = ChdbType._known("Int256")
UINT8 = ChdbType._known("UInt8")
UINT16 = ChdbType._known("UInt16")
UINT32 = ChdbType._known("UInt32")
UINT64 = ChdbType._known("UInt64")
UINT128 = ChdbType._known("UInt128")
UINT256 = ChdbType._known("UInt256")
FLOAT32 = ChdbType._known("Float32")
FLOAT64 = ChdbType._known("Float64")
STRING = ChdbType._known("String")
DATE = ChdbType._known("Date")
DATE32 = ChdbType._known("Date32")
DATETIME = ChdbType._known("DateTime")
DATETIME64 = ChdbType._known("DateTime64(6)")

__all__ = [
    "BOOL",
    "ChdbType",
    "DATE",
    "DATE32",
    "DATETIME",
    "DATETIME64",
    "FLOAT32",
    "FLOAT64",
    "INT128",
    "INT16",
    "INT256",
    "INT32",
    "INT64",
    "INT8",
    "STRING",
    "UINT128",
    "UINT16",
    "UINT256",
    "UINT32",
    "UINT64",
    "UINT8",
]
