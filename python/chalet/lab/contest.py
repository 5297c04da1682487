"""A contest: contestants that take turns over a task, and what their runs took.

Another contestant begins each time, so that what slows the machine slows them all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# What a run says of itself: `seconds`, and perhaps `cpu`, `peak_mb`, `read_mb`, `told`; or `error`.
Reply = Mapping[str, Any]


@dataclass
class Times:
    """The runs of one contestant over one task, in seconds. A first run is kept apart: it finds nothing warm."""

    first: float | None = None
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    read_mb: float | None = None
    # One that has failed takes no further turn.
    error: str = ""
    # What the answer says, by which contestants are compared.
    told: Any = None

    @property
    def best(self) -> float:
        """The shortest run; NaN where there is none, or one has failed."""
        return min(self.seconds, default=math.nan) if not self.error else math.nan

    @property
    def median(self) -> float:
        """The run in the middle; NaN as above."""
        return statistics.median(self.seconds) if self.seconds and not self.error else math.nan

    def keep(self, reply: Reply, first: bool = False) -> None:
        """Adds a run."""
        if "error" in reply:
            self.error = reply["error"]
            return
        self.peak_mb = max(self.peak_mb, reply.get("peak_mb", 0.0))
        self.read_mb = reply.get("read_mb", self.read_mb)
        self.told = reply.get("told", self.told)
        if first:
            self.first = reply["seconds"]
            return
        self.seconds.append(reply["seconds"])
        if "cpu" in reply:
            self.cpu.append(reply["cpu"])


def rotated(names: Sequence[str], turn: int) -> list[str]:
    """The names, another one first in each turn."""
    shift = turn % len(names) if names else 0
    return [*names[shift:], *names[:shift]]


def take_turns(
    times: Mapping[str, Times], ask: Callable[[str], Reply | None], runs: int, *, shift: int = 0, warm_up: bool = True
) -> None:
    """Asks each contestant `runs` times, after one run to warm up.

    `ask` runs the task once on the contestant of that name; where it gives None, that turn is passed. `shift` says who is first in
    the first turn.
    """
    for turn in range(-1 if warm_up else 0, runs):
        for name in rotated([name for name, one in times.items() if not one.error], shift + turn):
            reply = ask(name)
            if reply is not None:
                times[name].keep(reply, first=turn < 0)
