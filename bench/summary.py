"""The figures of a run: best times, ratios to the best peer, sums and means."""

import math
from dataclasses import dataclass, field
from typing import Any

from chalet.lab.contest import Times
from chalet.lab.statistics import geometric_mean


@dataclass
class Measured:
    number: int
    sql: str
    times: dict[str, Times]
    sent: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)

    def best(self, engine: str) -> float:
        return self.times[engine].best

    def best_peer(self, ours: str) -> str | None:
        """The fastest of the others that answered, also where its answer differs: that is said beside it."""
        peers = [name for name in self.times if name != ours and math.isfinite(self.best(name))]
        return min(peers, key=self.best, default=None)

    def ratio(self, ours: str) -> float:
        peer = self.best_peer(ours)
        return self.best(ours) / self.best(peer) if peer else math.nan


@dataclass
class Against:
    """One engine beside ours, over the queries that both answered."""

    engine: str
    answered: int
    seconds: float
    our_seconds: float
    mean_ratio: float
    faster_than_it: int


def against(queries: list[Measured], ours: str, engine: str) -> Against:
    both = [q for q in queries if math.isfinite(q.best(ours)) and math.isfinite(q.best(engine))]
    ratios = [q.best(ours) / q.best(engine) for q in both]
    return Against(
        engine,
        sum(math.isfinite(q.best(engine)) for q in queries),
        sum(q.best(engine) for q in both),
        sum(q.best(ours) for q in both),
        geometric_mean(ratios),
        sum(ratio < 1 for ratio in ratios),
    )


@dataclass
class AgainstBest:
    """Ours beside the best peer of each query."""

    compared: int
    seconds: float
    peer_seconds: float
    mean_ratio: float
    # With 10 ms added to both, so that the shortest queries do not decide.
    damped_ratio: float
    worst_ratio: float
    worst_query: int | None
    not_slower: int

    @property
    def sum_ratio(self) -> float:
        return self.seconds / self.peer_seconds if self.peer_seconds else math.nan


def against_best(queries: list[Measured], ours: str) -> AgainstBest:
    known = [(q, q.ratio(ours)) for q in queries if math.isfinite(q.ratio(ours))]
    peers = [q.best(q.best_peer(ours) or ours) for q, _ in known]
    worst = max(known, key=lambda pair: pair[1], default=None)
    return AgainstBest(
        compared=len(known),
        seconds=sum(q.best(ours) for q, _ in known),
        peer_seconds=sum(peers),
        mean_ratio=geometric_mean([ratio for _, ratio in known]),
        damped_ratio=geometric_mean([(q.best(ours) + 0.01) / (peer + 0.01) for (q, _), peer in zip(known, peers)]),
        worst_ratio=worst[1] if worst else math.nan,
        worst_query=worst[0].number if worst else None,
        not_slower=sum(ratio <= 1 for _, ratio in known),
    )


def finite(value: Any, digits: int = 6) -> Any:
    """For JSON, which knows no NaN."""
    if isinstance(value, dict):
        return {key: finite(inner, digits) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner, digits) for inner in value]
    if isinstance(value, float):
        return round(value, digits) if math.isfinite(value) else None
    return value
