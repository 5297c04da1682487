"""Abstract readers and writers of columns, as chDB declares them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class PyReader(ABC):
    """Rows for `Python(reader)`. Any object with `read` and `get_schema` is such a table too."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @abstractmethod
    def read(self, col_names: list[str], count: int) -> list[Any]:
        """The next `count` values of each column, one list a column; empty at the end."""

    def get_schema(self) -> list[tuple[str, str]]:
        """Pairs of name and type: of SQL (`Nullable(UInt8)`), of Python (`int`, `str`, `float`, `bool`) or of numpy."""
        if not isinstance(self.data, dict):
            raise NotImplementedError(f"{type(self).__name__} has no get_schema()")
        return [(str(name), _type_of(values)) for name, values in self.data.items()]


def _type_of(values: Any) -> str:
    dtype = getattr(values, "dtype", None)
    if dtype is not None:
        return str(dtype)
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return "bool" if kinds else "str"
    if kinds <= {int, bool}:
        return "int"
    return "float" if kinds <= {int, float} else "str"


class PyWriter(ABC):
    """A target of rows."""

    def __init__(self, col_names: list[str], types: list[type], data: Any) -> None:
        self.col_names = col_names
        self.types = types
        self.data = data

    @abstractmethod
    def write(self, col_names: list[str], columns: list[list[Any]]) -> None:
        """Takes a block of columns."""

    @abstractmethod
    def finalize(self) -> bytes:
        """What was written, as bytes."""
