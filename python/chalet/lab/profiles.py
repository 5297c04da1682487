"""Where the time of each variant went: one profiled run of each, beside the measured ones, and the difference by operators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .measured import Run, profile_run

if TYPE_CHECKING:
    from .spec import Spec

# Operators and functions that a report shows.
MOST = 12


def written(spec: Spec, folder: Path) -> None:
    """Profiles every variant that is a statement into FOLDER/profiles: NAME.json, and a flame graph NAME.svg."""
    place = folder / "profiles"
    for number, variant in enumerate(spec.variants):
        if "command" in variant.does:
            continue
        place.mkdir(exist_ok=True)
        done: Run = profile_run(variant, spec.runs.timeout, place / f"{number}")
        if done.error:
            (place / f"{number}.error").write_text(f"{variant.name}: {done.error}\n")


def compared(spec: Spec, folder: Path) -> list[str]:
    """Lines of Markdown: operators and functions with their milliseconds in each variant, the largest differences first."""
    parts: list[dict[str, tuple[float, int]]] = []
    for number in range(len(spec.variants)):
        path = folder / "profiles" / f"{number}.json"
        if not path.exists():
            return []
        found: dict[str, tuple[float, int]] = {}
        for what, seconds, allocated in json.loads(path.read_text()):
            before = found.get(what, (0.0, 0))
            found[what] = (before[0] + seconds, before[1] + allocated)
        parts.append(found)
    names = {name for found in parts for name in found}
    none = (0.0, 0)

    def difference(name: str) -> float:
        seconds = [found.get(name, none)[0] for found in parts]
        return max(seconds) - min(seconds)

    shown = sorted(names, key=lambda name: (-difference(name), name))[:MOST]
    lines = ["", "One profiled run of each variant (all threads together):", ""]
    lines += [f"| operator or function | {' | '.join(f'{v.name}, ms | MB allocated' for v in spec.variants)} |"]
    lines += ["|---|" + "---:|" * 2 * len(parts)]
    for name in shown:
        cells = [found.get(name, none) for found in parts]
        text = " | ".join(f"{seconds * 1000:.2f} | {allocated / 1e6:.1f}" for seconds, allocated in cells)
        lines.append(f"| {name} | {text} |")
    graphs = [f"[{variant.name}](profiles/{number}.svg)" for number, variant in enumerate(spec.variants)]
    return [*lines, "", f"Flame graphs: {', '.join(graphs)}."]
