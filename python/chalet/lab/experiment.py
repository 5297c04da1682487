"""An experiment: runs that take turns in random order, until the interval is narrow enough; the verdict; a folder of it all.

    FOLDER/spec.toml          what was to be done
    FOLDER/machine.json       machine, versions, what spoke against measuring
    FOLDER/runs.jsonl         every run in its order, those that failed too
    FOLDER/results.tsv        ratios, intervals and verdicts
    FOLDER/REPORT.md          all of it for people
    FOLDER/runs.svg           every run as a point
    FOLDER/profiles/          one profiled run of each variant: operators as JSON, a flame graph

Nothing is overwritten: a folder that is there is an error.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from . import machine, profiles, report, revisions
from .measured import Run, run
from .spec import Spec, Variant
from .statistics import Ratio
from .verdict import VOID, Verdict, judge_all, ratio_of

# What takes a variant and a limit of seconds, and says what a run took. Tests put something else here.
Measure = Callable[[Variant, float], Run]


class Failed(Exception):
    """A variant cannot be run at all."""


@dataclass
class Outcome:
    """What came of an experiment."""

    spec: Spec
    runs: list[Run] = field(default_factory=list)
    noise: list[Run] = field(default_factory=list)
    noise_floor: float = 0.0
    # By variant, then by metric.
    verdicts: dict[str, dict[str, Verdict]] = field(default_factory=dict)

    def values(self, variant: str, metric: str) -> list[float]:
        """A metric of all runs of a variant that succeeded, in their order."""
        return [one.metrics[metric] for one in self.runs if one.variant == variant and metric in one.metrics]

    def verdict(self, variant: str) -> Verdict:
        """On the metric that the experiment is about."""
        return self.verdicts[variant][self.spec.metric]


def conducted(spec: Spec, folder: Path | None = None, measure: Measure = run, tell: Callable[[str], None] = print) -> Outcome:
    """Runs an experiment and writes its folder, if one is given. Raises Failed where a variant fails twice in a row."""
    spec = _with_builds(spec)
    if folder is not None:
        folder.mkdir(parents=True)
        (folder / "spec.toml").write_text(spec.text)
        builds = [Path(variant.does["packages"]) for variant in spec.variants if "packages" in variant.does]
        told = machine.warnings() + revisions.warnings(builds)
        known = {"machine": machine.description(), "warnings": told, "differs_in": spec.differs_in, "builds": list(map(str, builds))}
        (folder / "machine.json").write_text(json.dumps(known, indent=1) + "\n")
        for warning in known["warnings"]:
            tell(f"warning: {warning}")
    outcome = Outcome(spec)
    log = _Log(folder)
    _noise(outcome, measure, log, tell)
    generator = random.Random(spec.runs.seed)
    while not _is_enough(outcome):
        turn = list(spec.variants)
        generator.shuffle(turn)
        for variant in turn:
            one = _once_more(variant, spec, measure, log, "run")
            outcome.runs.append(one)
    _judge(outcome)
    for name, verdicts in outcome.verdicts.items():
        tell(f"{name}: {verdicts[spec.metric]}")
    if folder is not None:
        profiles.written(spec, folder)
        report.write(outcome, folder)
    return outcome


def _with_builds(spec: Spec) -> Spec:
    """Revisions become the folders of their builds."""

    def of(variant: Variant) -> Variant:
        if "revision" not in variant.does:
            return variant
        repository = Path(variant.does.get("repository", ""))
        return Variant(variant.name, {**variant.does, "packages": str(revisions.built(variant.does["revision"], repository))})

    return replace(spec, baseline=of(spec.baseline), experiments=tuple(map(of, spec.experiments)))


def _noise(outcome: Outcome, measure: Measure, log: _Log, tell: Callable[[str], None]) -> None:
    """The baseline against itself: what differs there is no effect."""
    spec = outcome.spec
    for _ in range(2 * spec.runs.noise):
        outcome.noise.append(_once_more(spec.baseline, spec, measure, log, "noise"))
    values = [one.metrics[spec.metric] for one in outcome.noise]
    if len(values) >= 4:
        found = ratio_of(values[::2], values[1::2], paired=True)
        outcome.noise_floor = abs(found.value - 1)
        tell(f"{spec.baseline.name} against itself: {found}")


def _once_more(variant: Variant, spec: Spec, measure: Measure, log: _Log, kind: str) -> Run:
    """A run; one that failed is kept in the log and done again once."""
    for attempt in (1, 2):
        one = measure(variant, spec.runs.timeout)
        if not one.error and spec.metric not in one.metrics:
            one.error = f"it has not measured {spec.metric}"
        log.add(one, kind)
        if not one.error:
            return one
        if attempt == 2:
            raise Failed(f"variant {variant.name} fails: {one.error}")
    raise AssertionError("there are two attempts")


def _is_enough(outcome: Outcome) -> bool:
    """Decided by the width of the interval alone, never by where it lies: else chance would choose when to stop."""
    spec = outcome.spec
    n = len(outcome.values(spec.baseline.name, spec.metric))
    if n < spec.runs.least:
        return False
    return n >= spec.runs.most or all(
        _ratio(outcome, variant).half_width <= spec.runs.half_width for variant in spec.experiments
    )


def _ratio(outcome: Outcome, variant: Variant) -> Ratio:
    spec = outcome.spec
    return ratio_of(outcome.values(spec.baseline.name, spec.metric), outcome.values(variant.name, spec.metric), paired=True)


def _judge(outcome: Outcome) -> None:
    spec = outcome.spec
    digests = {one.digest for one in outcome.runs}
    for variant in spec.experiments:
        samples = {}
        for metric in spec.metrics:
            pair = (outcome.values(spec.baseline.name, metric), outcome.values(variant.name, metric))
            if all(pair):
                samples[metric] = pair
        outcome.verdicts[variant.name] = judge_all(
            samples,
            spec.rules,
            paired=True,
            higher_is_better=spec.better == "higher",
            noise_floor=outcome.noise_floor,
            counter_moved=_counter_moved(outcome),
            answers_equal=len(digests) == 1,
        )


def _counter_moved(outcome: Outcome) -> bool | None:
    """Does the mechanism run in some variant and not, or otherwise, in another? Nothing where none was named."""
    spec = outcome.spec
    if not spec.counter:
        return None
    means = []
    for variant in spec.variants:
        values = outcome.values(variant.name, spec.counter)
        means.append(sum(values) / len(values) if values else 0.0)
    return any(mean != means[0] for mean in means[1:])


def is_void(outcome: Outcome) -> bool:
    """Have the variants answered differently?"""
    return any(one.verdict == VOID for verdicts in outcome.verdicts.values() for one in verdicts.values())


class _Log:
    """Every run, on disk as soon as it has ended."""

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / "runs.jsonl" if folder is not None else None

    def add(self, one: Run, kind: str) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"kind": kind, **asdict(one)}) + "\n")
