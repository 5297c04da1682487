"""Pieces of SVG pictures: shapes and texts at places, one picture around them."""

from __future__ import annotations

import html

FONT = "font-family='DejaVu Sans Mono, Menlo, Consolas, monospace'"
# Of a character of the font, as a share of its size.
_CHAR = 0.602

# Colours that are told apart also by those who see no red or no green; the text on them is black.
PALETTE = ("#8ecae6", "#f4a261", "#b5e48c", "#e5989b", "#cdb4db", "#ffd166", "#90be6d", "#a2d2ff", "#d4a373", "#bdb2ff")


def rect(x: float, y: float, width: float, height: float, fill: str, title: str = "", more: str = "") -> str:
    """A box; who points at it sees its title."""
    shape = f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.1):.1f}' height='{height:.1f}' fill='{fill}' {more}"
    return f"{shape}><title>{html.escape(title)}</title></rect>" if title else f"{shape}/>"


def text(x: float, y: float, content: str, size: float = 12, anchor: str = "start", fill: str = "#222", more: str = "") -> str:
    """A line of text, whose base line is at `y`."""
    place = f"x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' text-anchor='{anchor}' fill='{fill}'"
    return f"<text {place} {more}>{html.escape(content)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = "#ccc") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{stroke}'/>"


def fitted(content: str, width: float, size: float = 12) -> str:
    """As much of a text as there is room for; nothing where that would say nothing."""
    most = int(width / (size * _CHAR))
    if len(content) <= most:
        return content
    return content[: most - 1] + "…" if most >= 4 else ""


def picture(width: float, height: float, content: list[str], title: str) -> str:
    """A whole file."""
    size = f"width='{width:g}' height='{height:g}' viewBox='0 0 {width:g} {height:g}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {FONT} role='img'><title>{html.escape(title)}</title>"
    return "\n".join([head, rect(0, 0, width, height, "#ffffff"), *content, "</svg>", ""])


def duration(nanoseconds: float) -> str:
    """`1.2 ms`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 1000 * size else f"{nanoseconds / size:,.0f} {unit}"
    return f"{nanoseconds:.0f} ns" if nanoseconds else "0"


def size(n_bytes: float) -> str:
    """`1.2 MiB`."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}" if n_bytes < 1000 * factor else f"{n_bytes / factor:,.0f} {unit}"
    return f"{n_bytes:.0f} B" if n_bytes else "0"


def count(n: float) -> str:
    return f"{n:,.0f}"
