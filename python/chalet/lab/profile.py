"""Where the time and the memory of a workload go: operators and functions, with those that no work is worth eliminated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .workload import is_query, statements


@dataclass(frozen=True)
class Part:
    """An operator or a function of the workload, with its shares of the time and of what was allocated."""

    what: str
    seconds: float
    time_share: float
    allocated_bytes: int
    memory_share: float

    @property
    def share(self) -> float:
        """The larger one: what a change could save at most."""
        return max(self.time_share, self.memory_share)

    def __str__(self) -> str:
        return f"{self.time_share:6.1%} of the time, {self.memory_share:6.1%} of the memory  {self.what}"


def profiled(workload: str, database: str = ":memory:", least_share: float = 0.05) -> tuple[list[Part], list[Part]]:
    """The parts of a workload, those with the largest share first: which may be worth work, and which are eliminated because they
    are below `least_share` of both. Statements that are no queries run, and are not counted."""
    from .. import connect

    found: dict[str, list[float]] = {}
    with connect(database) as connection:
        for number, sql in enumerate(statements(workload), 1):
            if not is_query(sql):
                connection.query(sql)
                continue
            for what, seconds, allocated in _parts(number, connection.profile(sql)):
                sums = found.setdefault(what, [0.0, 0.0])
                sums[0] += seconds
                sums[1] += allocated
    # A function is part of its operator: operators alone make the whole.
    whole = [sums for what, sums in found.items() if ", function " not in what]
    time, memory = sum(sums[0] for sums in whole) or 1.0, sum(sums[1] for sums in whole) or 1.0
    parts = [
        Part(what, seconds, seconds / time, int(allocated), allocated / memory) for what, (seconds, allocated) in found.items()
    ]
    parts.sort(key=lambda part: (-part.share, part.what))
    return [part for part in parts if part.share >= least_share], [part for part in parts if part.share < least_share]


def report(kept: list[Part], eliminated: list[Part], least_share: float) -> str:
    """Both lists as lines, every part with its figures."""
    lines = [str(part) for part in kept]
    if eliminated:
        lines.append(f"eliminated, below {least_share:.0%} of the time and of the memory:")
        lines += [f"  {part}" for part in eliminated]
    return "\n".join(lines) + "\n"


def _parts(number: int, profile: Any) -> Iterator[tuple[str, float, int]]:
    for one in profile.operators:
        operator = f"statement {number}, {one['name']} (stage {one['stage']})"
        yield operator, one["seconds"], one["allocated_bytes"]
        for function in one["functions"]:
            yield f"{operator}, function {function['name']}", function["seconds"], function["allocated_bytes"]
