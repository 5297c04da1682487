"""Statistics of two samples: ratio with a bootstrap interval, rank test, correction for several tests.

Everything is computed here, in plain Python and from a fixed seed, so that a verdict can be given again anywhere; the tests
compare it with scipy's.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RESAMPLES = 2000
SEED = 20_260_101
# From so many values on the highest and the lowest tenth do not count: what else ran on the machine shows there.
LEAST_TO_TRIM = 10
TRIMMED = 0.1
# Up to so many values in both samples together the rank test counts all orders.
MOST_EXACT = 20


def center(values: Sequence[float]) -> float:
    """The mean without the highest and the lowest tenth; of fewer than ten values the mean."""
    cut = int(len(values) * TRIMMED) if len(values) >= LEAST_TO_TRIM else 0
    inner = sorted(values)[cut : len(values) - cut]
    return sum(inner) / len(inner)


@dataclass(frozen=True)
class Ratio:
    """What the experiment takes for one of what the baseline takes, with a 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} - {self.high:.4f})"

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def ratio(baseline: Sequence[float], experiment: Sequence[float], seed: int = SEED) -> Ratio:
    """The ratio of the centers, with the percentile interval of a bootstrap. One value on a side has an endless interval."""
    below = center(baseline)
    value = center(experiment) / below if below else math.nan
    if min(len(baseline), len(experiment)) < 2 or math.isnan(value):
        return Ratio(value, 0.0, math.inf)

    def drawn(dice: random.Random) -> float:
        base = center(dice.choices(baseline, k=len(baseline)))
        return center(dice.choices(experiment, k=len(experiment))) / base if base else math.inf

    return Ratio(value, *interval(drawn, seed))


def are_pairs(baseline: Sequence[float], experiment: Sequence[float]) -> bool:
    """May the runs be compared pair by pair, in logarithms?"""
    return len(baseline) == len(experiment) > 1 and min(*baseline, *experiment) > 0


def paired_ratio(baseline: Sequence[float], experiment: Sequence[float], seed: int = SEED) -> Ratio:
    """The same where runs were taken in turns: the center of the ratios of neighbours, which what slows both leaves as it is.

    In logarithms, so that a ratio and its inverse weigh alike; the bootstrap draws pairs.
    """
    logs = _log_ratios(baseline, experiment)

    def drawn(dice: random.Random) -> float:
        return math.exp(center(dice.choices(logs, k=len(logs))))

    return Ratio(math.exp(center(logs)), *interval(drawn, seed))


def _log_ratios(baseline: Sequence[float], experiment: Sequence[float]) -> list[float]:
    return [math.log(new / base) for base, new in zip(baseline, experiment)]


def interval(drawn: Callable[[random.Random], float], seed: int = SEED) -> tuple[float, float]:
    """Where the middle 95 % of a measure lie that is drawn again and again. The same runs give the same interval."""
    dice = random.Random(seed)
    values = sorted(drawn(dice) for _ in range(RESAMPLES))
    return quantile(values, 0.025), quantile(values, 0.975)


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values; NaN of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def quantile(ordered: Sequence[float], q: float) -> float:
    """The quantile of sorted values, between two of them where it falls there."""
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    if ordered[low] == ordered[high]:
        return ordered[low]
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def rank_test(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p-value of the Mann-Whitney U test.

    Exact for small samples without ties, else by the normal approximation with correction for ties and continuity (Mann and
    Whitney 1947).
    """
    n, m = len(one), len(other)
    if not n or not m:
        return 1.0
    ranks, ties = _ranks([*one, *other])
    u = sum(ranks[:n]) - n * (n + 1) / 2
    if not ties and n + m <= MOST_EXACT:
        return _exact(min(u, n * m - u), n, m)
    total = n + m
    spread = n * m / 12 * (total + 1 - sum(t**3 - t for t in ties) / (total * (total - 1)))
    if spread <= 0:
        return 1.0
    z = (abs(u - n * m / 2) - 0.5) / math.sqrt(spread)
    return min(1.0, math.erfc(z / math.sqrt(2)))


def paired_rank_test(baseline: Sequence[float], experiment: Sequence[float]) -> float:
    """The two-sided p-value of the signed-rank test on the ratios of neighbours (Wilcoxon 1945)."""
    return signed_rank_test(_log_ratios(baseline, experiment))


def signed_rank_test(differences: Sequence[float]) -> float:
    """The two-sided p-value of the hypothesis that differences lie evenly around zero; zeros do not count.

    Exact for small samples without ties, else by the normal approximation with correction for ties.
    """
    counted = [difference for difference in differences if difference]
    n = len(counted)
    if not n:
        return 1.0
    ranks, ties = _ranks([abs(difference) for difference in counted])
    w = sum(rank for rank, difference in zip(ranks, counted) if difference > 0)
    if not ties and n <= MOST_EXACT:
        return _exact_signed(min(w, n * (n + 1) / 2 - w), n)
    spread = math.sqrt((n * (n + 1) * (2 * n + 1) - sum(t**3 - t for t in ties) / 2) / 24)
    return math.erfc(abs(w - n * (n + 1) / 4) / spread / math.sqrt(2)) if spread else 1.0


def _exact_signed(w: float, n: int) -> float:
    """How likely a sum of positive ranks this small or smaller is, on either side, by counting the choices of signs."""
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return min(1.0, 2 * sum(ways[: int(w) + 1]) / 2**n)


def _ranks(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """The rank of each value, equal ones in the middle of theirs, and how many are equal each time."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, ties = [0.0] * len(values), []
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for position in order[start:end]:
            ranks[position] = (start + end + 1) / 2
        if end - start > 1:
            ties.append(end - start)
        start = end
    return ranks, ties


def _exact(u: float, n: int, m: int) -> float:
    """How likely a U this small or smaller is, on either side, by counting the orders of `n` and `m` values."""
    # ways[k][j]: selections of k of the first i ranks whose U is j.
    ways = [[0] * (n * m + 1) for _ in range(n + 1)]
    ways[0][0] = 1
    for i in range(1, n + m + 1):
        for k in range(min(i, n), 0, -1):
            shift = i - k
            if shift > m:
                continue
            source, target = ways[k - 1], ways[k]
            for j in range(n * m, shift - 1, -1):
                target[j] += source[j - shift]
    counts = ways[n]
    return min(1.0, 2 * sum(counts[: int(u) + 1]) / sum(counts))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for there being several tests (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for place, position in enumerate(order):
        highest = max(highest, min(1.0, p_values[position] * (len(p_values) - place)))
        corrected[position] = highest
    return corrected


def spread(values: Sequence[float]) -> float:
    """The standard deviation; 0 of a single value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0
