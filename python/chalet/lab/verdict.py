"""Verdicts: KEEP, DISCARD, INCONCLUSIVE or VOID, by rules that stand before the runs.

In this order:

1. VOID: the variants answered differently. Nothing else counts.
2. INCONCLUSIVE: fewer than `least_runs` runs (10) on a side. A ratio of one run is an anecdote.
3. DISCARD: a counter of the mechanism was named, and did not move. What did not run has done nothing.
4. KEEP: better by at least `least_effect` (1 %) and by more than the noise floor that runs of one variant against itself
   have shown; the 95 % interval of the ratio lies wholly on the better side of 1; and the rank test, corrected for the number of
   metrics, gives p < `alpha` (0.01).
5. DISCARD, worse: the same on the other side.
6. DISCARD: `enough_runs` (20) on each side and no improvement seen, or fewer and the interval has no room for an improvement
   of `least_effect`.
7. INCONCLUSIVE: everything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from .statistics import (
    Ratio,
    are_pairs,
    center,
    holm,
    paired_rank_test,
    paired_ratio,
    rank_test,
    ratio,
    spread,
)

KEEP, DISCARD, INCONCLUSIVE, VOID = "KEEP", "DISCARD", "INCONCLUSIVE", "VOID"


@dataclass(frozen=True)
class Rules:
    """What is decided before the first run."""

    least_effect: float = 0.01
    least_runs: int = 10
    enough_runs: int = 20
    alpha: float = 0.01

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Rules:
        """Those of a table of names and values; other names are an error."""
        known = {one.name for one in fields(cls)}
        if unknown := sorted(set(written) - known):
            raise ValueError(f"unknown rule {unknown[0]}: there are {', '.join(sorted(known))}")
        return cls(**written)


@dataclass
class Verdict:
    """What is to be done, and why."""

    verdict: str
    why: str
    metric: str = ""
    ratio: Ratio = field(default_factory=lambda: Ratio(float("nan"), 0.0, float("inf")))
    p_value: float = 1.0
    is_worse: bool = False
    runs: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        counts = f"{self.runs[0]} and {self.runs[1]} runs"
        lines = [f"{self.verdict}: {self.why}"]
        if self.metric:
            lines.append(f"{self.metric}: ratio {self.ratio}, p = {self.p_value:.4g}, {counts}")
        return "\n".join(lines)


def judge(
    metric: str,
    baseline: Sequence[float],
    experiment: Sequence[float],
    rules: Rules | None = None,
    *,
    higher_is_better: bool = False,
    paired: bool = False,
    p_value: float | None = None,
    noise_floor: float = 0.0,
    counter_moved: bool | None = None,
    answers_equal: bool = True,
) -> Verdict:
    """The verdict on one metric. With `paired` the runs of one place in both lists were neighbours in time. `p_value` is given where
    it was corrected for several metrics.
    """
    rules = rules or Rules()
    runs = (len(baseline), len(experiment))
    if not baseline or not experiment:
        return Verdict(INCONCLUSIVE, "a side has no runs", metric, runs=runs)
    found = ratio_of(baseline, experiment, paired)
    p = _p_value(baseline, experiment, paired) if p_value is None else p_value

    def say(verdict: str, why: str, is_worse: bool = False) -> Verdict:
        return Verdict(verdict, why, metric, found, p, is_worse, runs)

    if not answers_equal:
        return say(VOID, "the variants answer differently")
    if min(runs) < rules.least_runs:
        return say(INCONCLUSIVE, f"fewer than {rules.least_runs} runs of a variant say nothing")
    if counter_moved is False:
        return say(DISCARD, "the counter of the mechanism did not move: it has done nothing")
    # As if lower were better.
    value, low, high = (found.value, found.low, found.high)
    if higher_is_better:
        value, low, high = (1 / x if x else float("inf") for x in (found.value, found.high, found.low))
    least = max(rules.least_effect, noise_floor)
    is_sure = p < rules.alpha
    if high < 1 and is_sure and value <= 1 - least:
        return say(KEEP, f"{1 - value:.1%} better, at least {1 - high:.1%} with 95 % confidence")
    if low > 1 and is_sure and value >= 1 + least:
        return say(DISCARD, f"{value - 1:.1%} worse, at least {low - 1:.1%} with 95 % confidence", is_worse=True)
    if min(runs) >= rules.enough_runs:
        return say(DISCARD, f"{min(runs)} runs of each show no improvement of {least:.1%} that is not noise")
    if low > 1 - rules.least_effect:
        return say(DISCARD, f"an improvement of {rules.least_effect:.1%} is not in the interval")
    return say(INCONCLUSIVE, f"between {1 - low:.1%} better and {high - 1:.1%} worse: more runs are needed")


def ratio_of(baseline: Sequence[float], experiment: Sequence[float], paired: bool) -> Ratio:
    """By pairs where the runs are some."""
    return (paired_ratio if paired and are_pairs(baseline, experiment) else ratio)(baseline, experiment)


def _p_value(baseline: Sequence[float], experiment: Sequence[float], paired: bool) -> float:
    return (paired_rank_test if paired and are_pairs(baseline, experiment) else rank_test)(baseline, experiment)


def judge_all(
    samples: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    rules: Rules | None = None,
    *,
    paired: bool = False,
    **known: Any,
) -> dict[str, Verdict]:
    """The verdicts on several metrics, with p-values corrected for their number."""
    corrected = holm([_p_value(*pair, paired) for pair in samples.values()])
    return {
        metric: judge(metric, *pair, rules, paired=paired, p_value=p, **known)
        for (metric, pair), p in zip(samples.items(), corrected)
    }


def of_file(text: str) -> Verdict:
    """The verdict on a JSON object with `metric`, `baseline` and `experiment`, and perhaps `better`, `counter`, `rules`.

    `counter` has the values of the mechanism's counter in the experiment. Raises ValueError where the object is not of that form.
    """
    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError("an object with metric, baseline and experiment is expected")
    sides = []
    for name in ("baseline", "experiment"):
        values = given.get(name)
        if not isinstance(values, list) or not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in values):
            raise ValueError(f"{name} is to be a list of numbers")
        sides.append([float(x) for x in values])
    better = given.get("better", "lower")
    if better not in ("lower", "higher"):
        raise ValueError("better is lower or higher")
    counter = given.get("counter")
    moved = None if counter is None else any(counter if isinstance(counter, list) else [counter])
    return judge(
        str(given.get("metric", "metric")),
        sides[0],
        sides[1],
        Rules.of(given.get("rules", {})),
        higher_is_better=better == "higher",
        counter_moved=moved,
        answers_equal=bool(given.get("answers_equal", True)),
    )


def described(values: Sequence[float]) -> str:
    """A sample in a few words."""
    return f"{center(values):.6g} +- {spread(values):.3g} ({len(values)} runs)" if values else "no runs"
