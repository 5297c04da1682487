"""Abstract readers and writers of columns, as chDB declares them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class PyReader(ABC):
    """A source of rows."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @abstractmethod
    def read(self, col_names: list[str], count: int) -> list[Any]:
        """The next `count` values of each column, one list a column; empty at the end."""


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
