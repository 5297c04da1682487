"""The lab's statistics beside scipy's, and its verdicts."""

import importlib
import json
import random
import statistics
from collections import Counter

import pytest

from chalet.lab.statistics import center, holm, paired_ratio, rank_test, ratio, signed_rank_test
from chalet.lab.verdict import DISCARD, INCONCLUSIVE, KEEP, VOID, Rules, judge, judge_all, of_file


def drawn(generator, n, mean, deviation):
    """Values of exactly this mean and standard deviation."""
    values = [generator.gauss(0, 1) for _ in range(n)]
    own, spread = statistics.mean(values), statistics.stdev(values)
    return [mean + deviation * (value - own) / spread for value in values]


SAMPLES = [
    ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
    ([1.0, 5.0, 2.5, 7.0], [3.0, 4.0, 8.0, 9.0, 10.0]),
    ([1.0, 1.0, 2.0, 2.0, 3.0] * 4, [2.0, 2.0, 3.0, 4.0] * 5),
    ([1.0] * 12, [1.0] * 12),
    (drawn(random.Random(1), 40, 100, 5), drawn(random.Random(2), 35, 102, 5)),
    (drawn(random.Random(3), 9, 100, 5), drawn(random.Random(4), 11, 103, 5)),
]


@pytest.mark.parametrize("one, other", SAMPLES)
def test_the_rank_test_is_scipys(one, other):
    stats = importlib.import_module("scipy.stats")
    ties = len(set(one + other)) < len(one + other)
    method = "exact" if len(one) + len(other) <= 20 and not ties else "asymptotic"
    theirs = stats.mannwhitneyu(one, other, alternative="two-sided", method=method).pvalue
    assert rank_test(one, other) == pytest.approx(1.0 if theirs != theirs else theirs, rel=1e-9, abs=1e-12)
    assert rank_test(one, other) == rank_test(other, one)


DIFFERENCES = [
    [1.0, -2.0, 3.0, 4.5, -0.5],
    [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5],
    [1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -2.0] * 3,
    drawn(random.Random(8), 40, 1, 3),
    drawn(random.Random(9), 17, 0, 3),
]


@pytest.mark.parametrize("differences", DIFFERENCES)
def test_the_signed_rank_test_is_scipys(differences):
    stats = importlib.import_module("scipy.stats")
    sizes = [abs(difference) for difference in differences if difference]
    exact = len(sizes) <= 20 and len(set(sizes)) == len(sizes)
    theirs = stats.wilcoxon(differences, zero_method="wilcox", correction=False, method="exact" if exact else "approx").pvalue
    assert signed_rank_test(differences) == pytest.approx(theirs, rel=1e-9)
    assert signed_rank_test([-difference for difference in differences]) == pytest.approx(theirs, rel=1e-9)
    assert signed_rank_test([0.0, 0.0]) == 1.0


def test_pairs_do_not_mind_what_slows_both():
    generator = random.Random(10)
    # The machine takes between one and three times as long; the experiment 3 % longer.
    slowness = [generator.uniform(1, 3) for _ in range(40)]
    one = [s * generator.gauss(100, 1) for s in slowness]
    other = [s * generator.gauss(103, 1) for s in slowness]
    found = paired_ratio(one, other)
    assert 1.02 < found.low < found.value < found.high < 1.04
    assert not judge("seconds", one, other).is_worse
    assert judge("seconds", one, other, paired=True).is_worse
    # Another number of runs on each side, or a value that has no logarithm: no pairs.
    assert judge("seconds", one, other[:39], paired=True).ratio == ratio(one, other[:39])
    assert judge("seconds", [0.0, *one], [1.0, *other], paired=True).ratio == ratio([0.0, *one], [1.0, *other])


def test_the_center_is_scipys_trimmed_mean():
    stats = importlib.import_module("scipy.stats")
    values = drawn(random.Random(5), 33, 10, 3)
    assert center(values) == pytest.approx(stats.trim_mean(values, 0.1))
    assert center(values[:9]) == pytest.approx(statistics.mean(values[:9]))


def test_the_interval_is_scipys():
    numpy = importlib.import_module("numpy")
    stats = importlib.import_module("scipy.stats")
    one, other = drawn(random.Random(6), 30, 100, 5), drawn(random.Random(7), 30, 95, 5)
    trimmed = lambda x, axis=-1: stats.trim_mean(x, 0.1, axis=axis)  # noqa: E731
    theirs = stats.bootstrap(
        (numpy.array(other), numpy.array(one)),
        lambda x, y, axis=-1: trimmed(x, axis) / trimmed(y, axis),
        n_resamples=4000,
        method="percentile",
        random_state=1,
        vectorized=True,
    ).confidence_interval
    ours = ratio(one, other)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_holms_correction():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


# --- the published case: one run of each said 7.8 % less memory, five said nothing ---------------------------------


def verdict_of(tmp_path, baseline, experiment, **more):
    from chalet.lab.commands import main

    file = tmp_path / "runs.json"
    file.write_text(json.dumps({"metric": "peak_rss_mb", "baseline": baseline, "experiment": experiment, **more}))
    assert main(["verdict", str(file)]) == 0


def test_single_runs_are_inconclusive(tmp_path, capsys):
    verdict_of(tmp_path, [1706.7], [1572.9])
    said = capsys.readouterr().out
    assert said.startswith(INCONCLUSIVE) and "0.9216" in said


@pytest.mark.parametrize("seed", range(20))
def test_five_runs_are_not_kept_and_twenty_are_discarded(seed):
    generator = random.Random(seed)
    five = judge("peak_rss_mb", drawn(generator, 5, 1320.6, 77.1), drawn(generator, 5, 1320.9, 64.2))
    assert five.verdict != KEEP
    twenty = judge("peak_rss_mb", drawn(generator, 20, 1320.6, 77.1), drawn(generator, 20, 1320.9, 64.2))
    assert twenty.verdict == DISCARD and not twenty.is_worse


# --- how often the rules err ---------------------------------------------------------------------------------------


def noisy(generator, mean):
    """Times as machines have them: never below what the work takes, and now and then something else runs."""
    return mean * (1 + abs(generator.gauss(0, 0.02)) + (generator.random() < 0.05) * generator.random() * 0.3)


def experiments(slower):
    generator = random.Random(11)
    found = Counter()
    for _ in range(200):
        one, other = [noisy(generator, 1) for _ in range(40)], [noisy(generator, 1 + slower) for _ in range(40)]
        verdict = judge("seconds", one, other)
        found["slower" if verdict.is_worse else verdict.verdict] += 1
    return found


def test_what_is_the_same_is_rarely_told_apart():
    found = experiments(0)
    assert found[KEEP] + found["slower"] <= 10


def test_three_per_cent_are_found():
    assert experiments(0.03)["slower"] >= 180


# --- the rules -----------------------------------------------------------------------------------------------------

FAST, SLOW = drawn(random.Random(8), 20, 90, 1), drawn(random.Random(9), 20, 100, 1)


def test_what_is_better_is_kept_and_what_is_worse_is_not():
    assert judge("seconds", SLOW, FAST).verdict == KEEP
    worse = judge("seconds", FAST, SLOW)
    assert (worse.verdict, worse.is_worse) == (DISCARD, True)
    assert judge("rows a second", FAST, SLOW, higher_is_better=True).verdict == KEEP
    assert judge("rows a second", SLOW, FAST, higher_is_better=True).is_worse


def test_what_goes_before_the_ratio():
    assert judge("seconds", SLOW, FAST, answers_equal=False).verdict == VOID
    assert judge("seconds", SLOW, FAST, counter_moved=False).verdict == DISCARD
    assert judge("seconds", SLOW, FAST, counter_moved=True).verdict == KEEP
    assert judge("seconds", SLOW, FAST, noise_floor=0.2).verdict == DISCARD
    assert judge("seconds", SLOW, FAST, Rules(least_effect=0.2)).verdict == DISCARD
    assert judge("seconds", SLOW[:9], FAST).verdict == INCONCLUSIVE
    assert judge("seconds", [], FAST).verdict == INCONCLUSIVE


def test_few_runs_without_room_for_an_effect_are_enough():
    near = [100 + 0.01 * value for value in range(12)]
    assert judge("seconds", near, near[::-1]).verdict == DISCARD
    wide = drawn(random.Random(10), 12, 100, 10)
    assert judge("seconds", wide, wide[::-1]).verdict == INCONCLUSIVE


def test_several_metrics_are_corrected():
    one = [float(value) for value in range(10)]
    alone = judge_all({"a": (one, [value + 3.2 for value in one])})["a"].p_value
    several = judge_all({name: (one, [value + 3.2 for value in one]) for name in "abc"})
    assert several["a"].p_value == pytest.approx(3 * alone)


@pytest.mark.parametrize(
    "text, said",
    [
        ("[]", "an object"),
        ('{"baseline": [1], "experiment": "x"}', "experiment is to be a list"),
        ('{"baseline": [true], "experiment": [1]}', "baseline is to be a list"),
        ('{"baseline": [1], "experiment": [1], "better": "blue"}', "lower or higher"),
        ('{"baseline": [1], "experiment": [1], "rules": {"lest": 1}}', "unknown rule lest"),
        ("{", "Expecting"),
    ],
)
def test_what_is_no_file_of_measurements(text, said):
    with pytest.raises(ValueError, match=said):
        of_file(text)
