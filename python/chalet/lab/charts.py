"""Charts of the lab, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, ROW, LEFT, RIGHT = 900, 46, 170, 30
COLOURS = ("#1f6feb", "#d1242f", "#2da44e", "#8250df", "#c9a200", "#0a7d83", "#bf3989", "#57606a")


def runs(samples: Sequence[tuple[str, Sequence[float]]], metric: str) -> str:
    """Every run as a point, one row a variant, with the order of runs from top to bottom within a row."""
    everything = [value for _, values in samples for value in values] or [0.0]
    low, high = min(everything), max(everything)
    span = high - low or 1.0
    height = ROW * len(samples) + 60
    place = lambda value: LEFT + (value - low) / span * (WIDTH - LEFT - RIGHT)  # noqa: E731
    parts = _begun(height)
    for row, (name, values) in enumerate(samples):
        top = 20 + row * ROW
        parts.append(f'<text x="{LEFT - 12}" y="{top + ROW / 2 + 4}" text-anchor="end">{escape(name)}</text>')
        for at, value in enumerate(values):
            y = top + 6 + (ROW - 12) * (at + 0.5) / len(values)
            parts.append(f'<circle cx="{place(value):.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[0] if row else "#777"}" opacity="0.7"/>')
    base = 20 + ROW * len(samples)
    parts.append(f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="#444"/>')
    for step in range(5):
        value = low + span * step / 4
        parts.append(f'<text x="{place(value):.1f}" y="{base + 16}" text-anchor="middle">{value:.4g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{base + 34}" text-anchor="middle">{escape(metric)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def speed_ups(lines: Mapping[str, Mapping[int, float]]) -> str:
    """How many times faster than with one thread, by threads, one line each, beside the diagonal of an ideal one."""
    threads = sorted({n for line in lines.values() for n in line})
    most = max([1.0, float(max(threads, default=1)), *(y for line in lines.values() for y in line.values())])
    left, top, size = 60, 20, 420
    span = max(max(threads, default=1) - 1, 1)
    x = lambda n: left + (n - 1) / span * size  # noqa: E731
    y = lambda speed: top + size - (speed - min(1.0, most)) / max(most - 1.0, 1e-9) * size  # noqa: E731
    # The legend may be longer than the chart is high.
    parts = _begun(max(top + size + 60, top + 17 * len(lines) + 20))
    parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#444"/>')
    for n in threads:
        parts.append(f'<text x="{x(n):.1f}" y="{top + size + 18}" text-anchor="middle">{n}</text>')
    for step in range(5):
        speed = 1 + (most - 1) * step / 4
        parts.append(f'<text x="{left - 8}" y="{y(speed) + 4:.1f}" text-anchor="end">{speed:.3g}</text>')
    parts.append(f'<text x="{left + size / 2}" y="{top + size + 40}" text-anchor="middle">threads</text>')
    ideal = " ".join(f"{x(n):.1f},{y(n):.1f}" for n in threads)
    parts.append(f'<polyline points="{ideal}" fill="none" stroke="#999" stroke-dasharray="5 4"/>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [(x(n), max(y(speed), top) if speed >= 1 else top + size) for n, speed in sorted(line.items())]
        joined = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>')
        at = top + 14 + 17 * number
        parts.append(f'<line x1="{left + size + 24}" y1="{at - 4}" x2="{left + size + 48}" y2="{at - 4}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + size + 56}" y="{at}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


# Of a chart of dots: the label of a line, the height of one, the width of a panel, and what is between two.
LABEL, LINE, PANEL, GAP, HEAD = 44, 14, 420, 56, 64
# A panel: its title, and for each line its label and the seconds of each contestant.
Panel = tuple[str, Sequence[tuple[str, Mapping[str, float]]]]


def dots(title: str, panels: Sequence[Panel], contestants: Sequence[str], colours: Mapping[str, str] | None = None) -> str:
    """A line a task, a dot a contestant, time on a logarithmic axis; the first contestant lies on top. NaN is no dot."""
    shown = {name: (colours or {}).get(name) or COLOURS[at % len(COLOURS)] for at, name in enumerate(contestants)}
    height = HEAD + LINE * max((len(lines) for _, lines in panels), default=0) + 40
    width = (LABEL + PANEL) * len(panels) + GAP * max(len(panels) - 1, 0) + 20
    parts = [*_begun(height, width, 11), f'<text x="8" y="18" font-size="14">{escape(title)}</text>']
    x = LABEL
    for name, colour in shown.items():
        parts.append(f'<circle cx="{x}" cy="32" r="4" fill="{colour}"/><text x="{x + 8}" y="36">{escape(name)}</text>')
        x += 24 + 7 * len(name)
    for number, panel in enumerate(panels):
        parts += _panel(panel, shown, LABEL + number * (LABEL + PANEL + GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, colours: Mapping[str, str], left: float) -> list[str]:
    title, lines = panel
    known = [{name: seconds for name, seconds in times.items() if math.isfinite(seconds)} for _, times in lines]
    times = [seconds for one in known for seconds in one.values()]
    if not times:
        return [f'<text x="{left}" y="{HEAD}">{escape(title)}: no times</text>']
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    across = lambda seconds: left + PANEL * (math.log10(seconds) - low) / (high - low)  # noqa: E731
    bottom = HEAD + LINE * len(lines)
    parts = [f'<text x="{left}" y="{HEAD - 10}">{escape(title)}</text>']
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts.append(f'<line x1="{x:.1f}" y1="{HEAD - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#d0d7de"/>')
        unit = f"{10**power} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{unit}</text>')
    for row, ((label, _), found) in enumerate(zip(lines, known)):
        y = HEAD + LINE * row + LINE / 2
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        if found:
            ends = f'x1="{across(min(found.values())):.1f}" x2="{across(max(found.values())):.1f}"'
            parts.append(f'<line {ends} y1="{y:.1f}" y2="{y:.1f}" stroke="#eaeef2" stroke-width="4"/>')
        # The first one last, so that it lies on top.
        for at, name in reversed([(at, name) for at, name in enumerate(colours) if name in found]):
            words = escape(f"{label}, {name}: {found[name] * 1000:.1f} ms")
            dot = f'<circle cx="{across(found[name]):.1f}" cy="{y:.1f}" r="{3.5 if at else 4.5}" fill="{colours[name]}">'
            parts.append(f"{dot}<title>{words}</title></circle>")
    return parts


def _begun(height: float, width: float = WIDTH, font: int = 13) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{font}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
