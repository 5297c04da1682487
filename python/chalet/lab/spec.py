"""What an experiment is to be, as a TOML file.

    name = "cache-off"
    question = "What is the condition cache worth for a filter that repeats?"
    metric = "seconds"                     # the one that the verdict is about
    metrics = ["cpu_seconds", "peak_rss_mb"]
    counter = "QueryConditionCacheHits"    # must move in the variants that have the mechanism
    better = "lower"

    [common]                               # what all variants share
    setup = ["CREATE TABLE t ...", "INSERT INTO t ..."]
    sql = "SELECT count() FROM t WHERE s LIKE '%x%'"
    warmup = 1

    [[variant]]                            # the first is the baseline
    name = "off"
    settings = { use_query_condition_cache = 0 }

    [[variant]]
    name = "on"
    settings = { use_query_condition_cache = 1 }

    [rules]                                # see `verdict`
    least_effect = 0.01

A variant has, itself or from [common]: `sql` (a statement or a list), `setup`, `settings`, `environment`, `database` (a path),
`packages` (a folder to import chalet from: another build), `revision` (a revision of `repository`, a path, which is built once and
imported), `warmup`, `fetch` ("rows": the answer as tuples of Python's instead of bytes); or `command`, a list: any program, whose output is its
answer. Variants differ in exactly one of these.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .verdict import Rules

OF_VARIANT = {"sql", "setup", "settings", "environment", "database", "packages", "revision", "repository", "warmup", "fetch", "command"}
OF_SPEC = {"name", "question", "metric", "metrics", "counter", "better", "common", "variant", "rules", "runs"}
OF_RUNS = {"least", "most", "half_width", "noise", "seed", "timeout"}


class SpecError(ValueError):
    """A specification that cannot be run."""


@dataclass(frozen=True)
class Variant:
    """One side of an experiment: what one run of it does."""

    name: str
    does: dict[str, Any]


@dataclass(frozen=True)
class Runs:
    """How often: at least `least` times, then until half the width of the interval is `half_width`, at most `most` times."""

    least: int = 10
    most: int = 40
    half_width: float = 0.005
    # Pairs of runs of the baseline against itself.
    noise: int = 10
    seed: int = 1
    timeout: float = 300.0


@dataclass(frozen=True)
class Spec:
    """An experiment as it was written, checked."""

    name: str
    question: str
    metric: str
    metrics: tuple[str, ...]
    counter: str
    better: str
    baseline: Variant
    experiments: tuple[Variant, ...]
    differs_in: str
    rules: Rules
    runs: Runs
    text: str = field(repr=False)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The baseline and the others."""
        return (self.baseline, *self.experiments)


def parsed(text: str) -> Spec:
    """The specification of a TOML text. Raises SpecError."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"not TOML: {error}") from None
    _known("the specification", written, OF_SPEC)
    common = written.get("common", {})
    _known("[common]", common, OF_VARIANT)
    variants = []
    for one in written.get("variant", []):
        _known("a variant", one, OF_VARIANT | {"name"})
        name = one.get("name")
        if not isinstance(name, str) or name in [known.name for known in variants]:
            raise SpecError("each variant has a name of its own")
        variants.append(Variant(name, {**common, **{key: value for key, value in one.items() if key != "name"}}))
    if len(variants) < 2:
        raise SpecError("an experiment has two variants or more; the first is the baseline")
    for variant in variants:
        if ("command" in variant.does) == ("sql" in variant.does):
            raise SpecError(f"variant {variant.name} has either sql or a command")
    if written.get("better", "lower") not in ("lower", "higher"):
        raise SpecError("better is lower or higher")
    _known("[runs]", written.get("runs", {}), OF_RUNS)
    metric = written.get("metric", "seconds")
    try:
        rules, runs = Rules.of(written.get("rules", {})), Runs(**written.get("runs", {}))
    except (ValueError, TypeError) as error:
        raise SpecError(str(error)) from None
    return Spec(
        name=str(written.get("name", "experiment")),
        question=str(written.get("question", "")),
        metric=metric,
        metrics=(metric, *(one for one in written.get("metrics", []) if one != metric)),
        counter=written.get("counter", ""),
        better=written.get("better", "lower"),
        baseline=variants[0],
        experiments=tuple(variants[1:]),
        differs_in=_difference(variants),
        rules=rules,
        runs=runs,
        text=text,
    )


def _known(where: str, written: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(set(written) - known):
        raise SpecError(f"{where} has an unknown key {unknown[0]}: there are {', '.join(sorted(known))}")


def _difference(variants: list[Variant]) -> str:
    """The one thing in which variants differ. More than one makes an experiment that explains nothing."""
    keys = sorted({key for variant in variants for key in variant.does})
    differing = [key for key in keys if any(one.does.get(key) != variants[0].does.get(key) for one in variants[1:])]
    if not differing:
        raise SpecError("the variants do not differ")
    if len(differing) > 1:
        raise SpecError(f"variants are to differ in one thing, these do in {' and '.join(differing)}")
    return differing[0]
