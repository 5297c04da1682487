"""Experiments for people: the report of one, its chart, and the overview of many."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .verdict import described

if TYPE_CHECKING:
    from .experiment import Outcome

WIDTH, ROW, LEFT, RIGHT = 900, 46, 170, 30


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
    (folder / "runs.svg").write_text(chart(outcome))
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
    lines += ["", "![every run](runs.svg)", "", "Again: `python -m chalet.lab rerun FOLDER`", ""]
    return "\n".join(lines)


def chart(outcome: Outcome) -> str:
    """Every run of the metric as a point, one row a variant, with the order of runs from top to bottom within a row."""
    spec = outcome.spec
    samples = [(variant.name, outcome.values(variant.name, spec.metric)) for variant in spec.variants]
    everything = [value for _, values in samples for value in values] or [0.0]
    low, high = min(everything), max(everything)
    span = high - low or 1.0
    height = ROW * len(samples) + 60
    place = lambda value: LEFT + (value - low) / span * (WIDTH - LEFT - RIGHT)  # noqa: E731
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for row, (name, values) in enumerate(samples):
        top = 20 + row * ROW
        parts.append(f'<text x="{LEFT - 12}" y="{top + ROW / 2 + 4}" text-anchor="end">{escape(name)}</text>')
        for at, value in enumerate(values):
            y = top + 6 + (ROW - 12) * (at + 0.5) / len(values)
            parts.append(f'<circle cx="{place(value):.1f}" cy="{y:.1f}" r="3" fill="{"#1f6feb" if row else "#777"}" opacity="0.7"/>')
    base = 20 + ROW * len(samples)
    parts.append(f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="#444"/>')
    for step in range(5):
        value = low + span * step / 4
        parts.append(f'<text x="{place(value):.1f}" y="{base + 16}" text-anchor="middle">{value:.4g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{base + 34}" text-anchor="middle">{escape(spec.metric)}</text>')
    return "\n".join([*parts, "</svg>", ""])


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
