"""What a query spent its time and memory on: operators and the functions that they call."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from ._flame import flame_graph
from ._pipeline import Pipeline
from ._svg import count, duration, size

# What a flame graph may be of: where the figure stands, what it is, and how it is shown.
_OF = {
    "time": ("wall_ns", "of all threads", duration),
    "cpu": ("cpu_ns", "on processors, from samples", duration),
    "memory": ("allocated_bytes", "allocated", size),
}


class Profile:
    """One run of a query. Time is measured where operators and functions begin and end; time of processors is sampled."""

    def __init__(self, document: dict[str, Any], query: str):
        self.document = document
        self.query = query

    @property
    def pipeline(self) -> Pipeline:
        """The same run by stages."""
        return Pipeline(self.document, self.query)

    @property
    def seconds(self) -> float:
        """From the beginning of the query to its end."""
        return self.document["elapsed_ns"] / 1e9

    @property
    def samples(self) -> int:
        """How often a thread was looked at."""
        return sum(stack["samples"] for stack in self.document["stacks"])

    @property
    def operators(self) -> list[dict[str, Any]]:
        """One dict for each operator, that with the most time first: as those of a pipeline, with `share` of the time and
        `cpu_share`."""
        total, cpu = self.document["wall_ns"] or 1, self.document["sampled_cpu_ns"] or 1
        found = [
            one | {"share": one["seconds"] * 1e9 / total, "cpu_share": one["cpu_seconds"] * 1e9 / cpu}
            for one in self.pipeline.operators
        ]
        return sorted(found, key=lambda one: -one["seconds"])

    @property
    def functions(self) -> list[dict[str, Any]]:
        """One dict for each function, that with the most time of its own first: `name`, `calls`, `seconds` and `share` without
        functions inside of it, `cpu_seconds` and `allocated_bytes`."""
        total = self.document["wall_ns"] or 1
        found: dict[str, dict[str, Any]] = {}
        for stack in self.document["stacks"]:
            if not stack["functions"] or stack.get("waits"):
                continue
            name = stack["functions"][-1]
            zero = {"name": name, "calls": 0, "seconds": 0.0, "share": 0.0, "cpu_seconds": 0.0, "allocated_bytes": 0}
            one = found.setdefault(name, zero)
            one["calls"] += stack["calls"]
            one["seconds"] += stack["wall_ns"] / 1e9
            one["share"] += stack["wall_ns"] / total
            one["cpu_seconds"] += stack["cpu_ns"] / 1e9
            one["allocated_bytes"] += stack["allocated_bytes"]
        return sorted(found.values(), key=lambda one: -one["seconds"])

    @property
    def memory(self) -> list[dict[str, Any]]:
        """One dict for each operator, that which allocated most first: `stage`, `name`, `allocated_bytes`, `freed_bytes`, `share`
        of what was allocated, `spilled_bytes`."""
        total = sum(stack["allocated_bytes"] for stack in self.document["stacks"]) or 1
        names = ("stage", "name", "allocated_bytes", "freed_bytes", "spilled_bytes")
        found = [{name: one[name] for name in names} | {"share": one["allocated_bytes"] / total} for one in self.operators]
        return sorted(found, key=lambda one: -one["allocated_bytes"])

    @property
    def peak_memory(self) -> int:
        """Bytes that the query held at once, at most."""
        return self.document["peak_memory"]

    def flame_graph(self, of: str = "time") -> str:
        """An SVG of stages, operators and functions; `of` is "time", "cpu" or "memory"."""
        if of not in _OF:
            raise ValueError(f"of must be one of {', '.join(_OF)}, not {of!r}")
        key, unit, show = _OF[of]
        stacks = [
            (_path(stack), stack[key])
            for stack in self.document["stacks"]
            # To wait for other threads takes nothing from anybody.
            if stack[key] and not stack.get("waits")
        ]
        return flame_graph(stacks, " ".join(self.query.split()), unit, show)

    def allocation_graph(self) -> str:
        """A flame graph of the bytes that were allocated, whether or not they were soon freed."""
        return self.flame_graph("memory")

    def save(self, path: str | Path, of: str = "time") -> None:
        """Writes a file by the end of its name: `.json`, `.html` with all pictures, else the flame graph as SVG."""
        path = Path(path)
        if path.suffix == ".json":
            written = json.dumps(self.document)
        elif path.suffix in (".html", ".htm"):
            written = f"<!DOCTYPE html><meta charset='utf-8'><title>Profile</title>{self._repr_html_()}"
        else:
            written = self.flame_graph(of)
        path.write_text(written, encoding="utf-8")

    def _repr_html_(self) -> str:
        cells = [
            (f"{one['share']:.1%}", f"{one['cpu_share']:.1%}", duration(one["seconds"] * 1e9))
            + (count(one["rows_in"]), size(one["allocated_bytes"]), f"{one['name']} (stage {one['stage']})")
            for one in self.operators
        ]
        head = "".join(f"<th>{name}</th>" for name in ("time", "CPU", "", "rows in", "allocated", "operator"))
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        pictures = f"<h4>Time</h4>{self.flame_graph()}<h4>Memory</h4>{self.allocation_graph()}<h4>Pipeline</h4>{self.pipeline.svg()}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{pictures}"

    def __str__(self) -> str:
        lines = [f"{duration(self.document['elapsed_ns'])}, {self.samples} samples, peak memory {size(self.peak_memory)}"]
        for one in self.operators:
            lines.append(f"{one['share']:7.1%}  {one['name']} (stage {one['stage']})")
            inside = sorted(one["functions"], key=lambda inner: -inner["seconds"])
            total = self.document["wall_ns"] or 1
            lines += [f"{inner['seconds'] * 1e9 / total:7.1%}    {inner['name']}" for inner in inside]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<chalet.Profile: {duration(self.document['elapsed_ns'])}, {self.samples} samples>"


def _path(stack: dict[str, Any]) -> list[str]:
    """From the outside in."""
    if stack["stage"] is None:
        return ["planning and output", *stack["functions"]]
    return [stack["stage"], stack["operator"] or "between operators", *stack["functions"]]


def profile_of(query: str, document: str) -> Profile:
    return Profile(json.loads(document), query)
