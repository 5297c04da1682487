"""Flame graphs: what runs inside of what, each as wide as its share. The statement is at the bottom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ._svg import fitted, picture, rect, text

WIDTH = 1200.0
_MARGIN = 10.0
_ROW = 20.0
_HEAD = 54.0
# What is narrower than this, in pixels, is left out.
_NARROWEST = 0.4

# By depth: statement, stage, operator; everything above is a function.
_FILLS = ("#d9d9d9", "#a2d2ff", "#ffd166")
_FUNCTIONS = ("#f4a261", "#f2b279", "#ee9b6b", "#f6bd60", "#f7a072")


@dataclass
class _Box:
    value: float = 0.0
    inside: dict[str, _Box] = field(default_factory=dict)


def flame_graph(stacks: Iterable[tuple[list[str], float]], title: str, unit: str, show) -> str:
    """An SVG of stacks, from the outside in, with a value each. `show` makes a text of a value, `unit` says what they are."""
    root = _Box()
    for path, value in stacks:
        box = root
        box.value += value
        for name in path:
            box = box.inside.setdefault(name, _Box())
            box.value += value
    deepest = _depth(root)
    height = _HEAD + deepest * _ROW + _MARGIN
    content = [
        text(_MARGIN, 20, fitted(title, WIDTH - 2 * _MARGIN, 14), 14, more="font-weight='bold'"),
        text(_MARGIN, 38, f"{show(root.value)} {unit}; boxes are as wide as their share, what stands on a box runs inside of it"),
    ]
    base = height - _MARGIN - _ROW
    _draw(root, "all", 0, _MARGIN, (WIDTH - 2 * _MARGIN) / (root.value or 1.0), base, root.value or 1.0, show, content)
    return picture(WIDTH, height, content, title)


def _depth(box: _Box) -> int:
    return 1 + max((_depth(inner) for inner in box.inside.values()), default=0)


def _draw(box: _Box, name: str, depth: int, x: float, scale: float, base: float, total: float, show, content: list[str]) -> None:
    width = box.value * scale
    if width < _NARROWEST:
        return
    fill = _FILLS[depth] if depth < len(_FILLS) else _FUNCTIONS[sum(map(ord, name)) % len(_FUNCTIONS)]
    y = base - depth * _ROW
    about = f"{name}: {show(box.value)}, {box.value / total:.1%}"
    content.append(rect(x, y, width - 0.5, _ROW - 1, fill, about))
    shown = fitted(f"{name} {box.value / total:.0%}", width - 6) or fitted(name, width - 6)
    if shown:
        content.append(text(x + 3, y + 14, shown, more="pointer-events='none'"))
    for inner_name, inner in sorted(box.inside.items(), key=lambda item: -item[1].value):
        _draw(inner, inner_name, depth + 1, x, scale, base, total, show, content)
        x += inner.value * scale
