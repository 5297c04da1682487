"""Experiments for people: the report of one, its chart, and the overview of many."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from . import charts, profiles
from .verdict import described

if TYPE_CHECKING:
    from .experiment import Outcome


def write(outcome: Outcome, folder: Path) -> None:
    """Writes results.tsv, runs.svg and REPORT.md."""
    spec = outcome.spec
    lines = ["variant\tmetric\tbaseline\texperiment\tratio\tlow\thigh\tp\tverdict\twhy"]
    for variant, verdicts in outcome.verdicts.items():
        for metric, one in verdicts.items():
            sides = (outcome.values(spec.baseline.name, metric), outcome.values(variant, metric))
            numbers = (f"{one.ratio.value:.6g}", f"{one.ratio.low:.6g}", f"{one.ratio.high:.6g}", f"{one.p_value:.4g}")
            lines.append("\t".join([variant, metric, *map(described, sides), *numbers, one.verdict, one.why]))
    (folder / "results.tsv").write_text("\n".join(lines) + "\n")
    samples = [(variant.name, outcome.values(variant.name, spec.metric)) for variant in spec.variants]
    (folder / "runs.svg").write_text(charts.runs(samples, spec.metric))
    (folder / "REPORT.md").write_text(text(outcome, folder))


def text(outcome: Outcome, folder: Path) -> str:
    """The report in Markdown."""
    spec = outcome.spec
    known = json.loads((folder / "machine.json").read_text())
    lines = [f"# {spec.name}", "", spec.question, ""]
    for variant in spec.experiments:
        lines += [f"**{variant.name}: {outcome.verdict(variant.name).verdict}.** {outcome.verdict(variant.name).why}.", ""]
    lines += [
        f"- Baseline: {spec.baseline.name}. The variants differ in `{spec.differs_in}`.",
        f"- Rules: {spec.rules}",
        f"- Noise floor, {spec.baseline.name} against itself: {outcome.noise_floor:.2%} of {spec.metric}.",
        f"- Machine: {known['machine']['processor']}, {known['machine']['cores']} cores, {known['machine']['system']}; "
        f"chalet {known['machine']['chalet']}, {known['machine']['when']}.",
    ]
    lines += [f"- Warning: {warning}." for warning in known["warnings"]]
    if spec.counter:
        means = [(v.name, outcome.values(v.name, spec.counter)) for v in spec.variants]
        shown = ", ".join(f"{name} {sum(values) / len(values):.6g}" if values else f"{name} none" for name, values in means)
        lines.append(f"- Counter `{spec.counter}`, mean a run: {shown}.")
    lines += ["", "| variant | metric | baseline | variant | ratio (95 %) | p | verdict |", "|---|---|---|---|---|---|---|"]
    for name, verdicts in outcome.verdicts.items():
        for metric, one in verdicts.items():
            sides = (described(outcome.values(spec.baseline.name, metric)), described(outcome.values(name, metric)))
            lines.append(
                f"| {name} | {metric} | {sides[0]} | {sides[1]} | {one.ratio} | {one.p_value:.4g} | {one.verdict} |"
            )
    lines += profiles.compared(spec, folder)
    lines += ["", "![every run](runs.svg)", "", "Again: `python -m chalet.lab rerun FOLDER`", ""]
    return "\n".join(lines)


def overview(folder: Path) -> str:
    """All experiments below a folder as a table: those with a results.tsv, and reports in Markdown that say a verdict.

    A file RETRACTED in the folder of an experiment, or a line `Retracted: why` in a report, takes a verdict back.
    """
    lines = ["| experiment | variant | ratio (95 %) | verdict |", "|---|---|---|---|"]
    for results in sorted(folder.rglob("results.tsv")):
        retracted = results.with_name("RETRACTED")
        header, *rows = results.read_text().splitlines()
        names = header.split("\t")
        first: dict[str, dict[str, str]] = {}
        for row in rows:
            cells = dict(zip(names, row.split("\t")))
            first.setdefault(cells["variant"], cells)
        for variant, cells in first.items():
            verdict = f"retracted: {retracted.read_text().strip()}" if retracted.exists() else cells["verdict"]
            shown = f"{cells['ratio']} ({cells['low']} - {cells['high']})"
            lines.append(f"| {results.parent.relative_to(folder)} | {variant} | {shown} | {verdict} |")
    for written in sorted(folder.glob("*.md")):
        content = written.read_text()
        verdict = re.search(r"\*\*Verdict\.?\*\*\s*(.+)", content)
        retracted_line = re.search(r"^\W*Retracted:?\W*\s*(.+)$", content, re.MULTILINE)
        if verdict or retracted_line:
            said = f"retracted: {retracted_line[1]}" if retracted_line else verdict[1] if verdict else ""
            lines.append(f"| {written.stem} | | | {said} |")
    return "\n".join(lines) + "\n"
