"""Charts of the lab, as SVG."""

from __future__ import annotations

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
    parts = _begun(top + size + 60)
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


def _begun(height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
