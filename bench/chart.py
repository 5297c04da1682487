"""Draws the times as an SVG: a line per query, a dot per engine, time on a logarithmic axis; a panel per run."""

import math
from html import escape

from summary import Measured

COLOURS = {"chalet": "#d1242f", "chdb": "#c9a200", "duckdb": "#1a1a1a", "datafusion": "#0969da", "polars": "#2da44e"}
OTHER_COLOUR = "#8250df"
LEFT, TOP, ROW, PANEL, GAP, BOTTOM = 44, 64, 14, 420, 56, 40


def drawn(title: str, panels: list[tuple[str, list[Measured]]], engines: list[str], ours: str) -> str:
    height = TOP + ROW * max((len(queries) for _, queries in panels), default=0) + BOTTOM
    width = (LEFT + PANEL) * len(panels) + GAP * (len(panels) - 1) + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="8" y="18" font-size="14">{escape(title)}</text>',
    ]
    x = LEFT
    for name in engines:
        out.append(f'<circle cx="{x}" cy="32" r="4" fill="{colour(name)}"/><text x="{x + 8}" y="36">{escape(name)}</text>')
        x += 24 + 7 * len(name)
    for number, (label, queries) in enumerate(panels):
        out += panel(label, queries, engines, ours, LEFT + number * (LEFT + PANEL + GAP))
    return "\n".join([*out, "</svg>", ""])


def colour(engine: str) -> str:
    return COLOURS.get(engine, OTHER_COLOUR)


def panel(label: str, queries: list[Measured], engines: list[str], ours: str, left: float) -> list[str]:
    times = [q.best(name) for q in queries for name in engines if math.isfinite(q.best(name))]
    if not times:
        return [f'<text x="{left}" y="{TOP}">{escape(label)}: no times</text>']
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    bottom = TOP + ROW * len(queries)

    def across(seconds: float) -> float:
        return left + PANEL * (math.log10(seconds) - low) / (high - low)

    out = [f'<text x="{left}" y="{TOP - 10}">{escape(label)}</text>']
    for power in range(low, high + 1):
        x = across(10.0**power)
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#d0d7de"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{in_words(power)}</text>')
    for row, query in enumerate(queries):
        y = TOP + ROW * row + ROW / 2
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{query.number}</text>')
        found = [(name, query.best(name)) for name in engines if math.isfinite(query.best(name))]
        if found:
            ends = [across(seconds) for _, seconds in found]
            out.append(f'<line x1="{min(ends):.1f}" y1="{y:.1f}" x2="{max(ends):.1f}" y2="{y:.1f}" stroke="#eaeef2" stroke-width="4"/>')
        # Ours last, so that it lies on top.
        for name, seconds in sorted(found, key=lambda pair: pair[0] == ours):
            words = f"query {query.number}, {name}: {seconds * 1000:.1f} ms"
            out.append(
                f'<circle cx="{across(seconds):.1f}" cy="{y:.1f}" r="{4.5 if name == ours else 3.5}" fill="{colour(name)}">'
                f"<title>{escape(words)}</title></circle>"
            )
    return out


def in_words(power: int) -> str:
    return f"{10**power} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"
