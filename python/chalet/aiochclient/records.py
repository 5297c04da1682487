"""Rows of aiochclient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Record(Mapping[str, Any]):
    """A row: fields by name, `row["a"]`, and by place, `row[0]`, `row[:]`."""

    __slots__ = ("_names", "_row")

    def __init__(self, row: tuple[Any, ...], names: dict[str, int]) -> None:
        self._row, self._names = row, names

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return self._row[self._names[key]]
            except KeyError:
                raise KeyError(f"No fields with name '{key}'") from None
        try:
            return self._row[key]
        except IndexError:
            raise IndexError(f"No fields with index '{key}'") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Record {dict(self)!r}>"
