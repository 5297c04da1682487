"""The pipeline of a query: stages of operators, and what each of them did, as objects and as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._svg import PALETTE, count, duration, fitted, line, picture, rect, size, text

WIDTH = 1280.0
_MARGIN = 12.0
_ROW = 19.0
_LANE = 22.0
_LABEL = 130.0


class Pipeline:
    """Stages, the last to run first. `operators` lists what they are made of, in the order in which rows pass; with figures where
    the query was run for them."""

    def __init__(self, document: dict[str, Any], query: str):
        self.document = document
        self.query = query

    @property
    def is_measured(self) -> bool:
        """Was the query run?"""
        return "elapsed_ns" in self.document

    @property
    def stages(self) -> list[dict[str, Any]]:
        """As they are in the document."""
        return self.document["stages"]

    @property
    def lanes(self) -> list[dict[str, Any]]:
        """What each thread did for which stage, from when to when, in nanoseconds since the query began."""
        return self.document.get("lanes", [])

    @property
    def operators(self) -> list[dict[str, Any]]:
        """One dict for each operator, the first to run first: `stage`, `name`, `detail`, `estimated_rows`, and where the query was
        run `rows_in`, `rows_out`, `bytes_in`, `seconds` of all threads together, `cpu_seconds`, `waiting_seconds` in which they were
        on no processor, `allocated_bytes`, `freed_bytes`, `spilled_bytes` and `functions`."""
        return [_figures(*one) for stage in reversed(self.stages) for one in _chain(stage)]

    def skew(self, stage: int) -> float | None:
        """How much longer than the mean the busiest worker of a stage was at work: 1.0 where all had the same."""
        times = [time for time in self.stages[stage].get("workers_ns", []) if time]
        return max(times) * len(times) / sum(times) if times else None

    def to_json(self) -> str:
        """The document as the engine writes it."""
        return json.dumps(self.document)

    def svg(self) -> str:
        """A picture: the operators with their figures, and below what each thread did over time."""
        content: list[str] = []
        y = _head(self, content)
        slowest = max((one.get("seconds", 0.0) for one in self.operators), default=0.0)
        for stage in reversed(self.stages):
            y = _stage(self, stage, y, slowest, content)
        if self.lanes:
            y = _lanes(self, y + 14, content)
        return picture(WIDTH, y + _MARGIN, content, f"Pipeline of {self.query}")

    def save(self, path: str | Path) -> None:
        """Writes a file: JSON where its name ends in `.json`, else SVG."""
        path = Path(path)
        path.write_text(self.to_json() if path.suffix == ".json" else self.svg(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        measured = f", {duration(self.document['elapsed_ns'])}" if self.is_measured else ""
        return f"<chalet.Pipeline: {len(self.stages)} stages, {len(self.operators)} operators{measured}>"


def pipeline_of(query: str, document: str) -> Pipeline:
    return Pipeline(json.loads(document), query)


def _chain(stage: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], str, str]]:
    """What the rows of a stage pass, with the name of each and its part."""
    yield from _stream(stage["id"], stage)
    yield stage["id"], stage["sink"], stage["sink"]["name"], "sink"


def _stream(stage: int, stream: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], str, str]]:
    source = stream["source"]
    for inner in source.get("streams", ()):
        yield from _stream(stage, inner)
    yield stage, source, _source_name(source), "source"
    for operator in stream["operators"]:
        yield stage, operator, operator["name"], "operator"


def _source_name(source: dict[str, Any]) -> str:
    if source["kind"] == "union":
        return "Union"
    if source["kind"] == "stage":
        return f"Read stage {source['stage']}"
    if source["kind"] == "shared":
        return f"ReadShared {source['name']}" + ("" if source["stage"] is None else f" (stage {source['stage']})")
    return f"Read {source['name']}"


def _figures(stage: int, one: dict[str, Any], name: str, part: str) -> dict[str, Any]:
    found = {"stage": stage, "name": name, "part": part, "detail": one.get("detail", "")}
    found["estimated_rows"] = one.get("estimated_rows")
    if "wall_ns" in one:
        found |= {
            "rows_in": 0 if part == "source" else one["rows"],
            "rows_out": one["rows_out"],
            "bytes_in": one["bytes"],
            "blocks": one["blocks"],
            "seconds": one["wall_ns"] / 1e9,
            "cpu_seconds": one["cpu_ns"] / 1e9,
            "waiting_seconds": _waited(one) / 1e9,
            "allocated_bytes": one["allocated_bytes"],
            "freed_bytes": one["freed_bytes"],
            "spilled_bytes": one["spilled_bytes"],
            "functions": [
                {"name": f["name"], "seconds": f["wall_ns"] / 1e9, "cpu_seconds": f["cpu_ns"] / 1e9, "calls": f["calls"]}
                | {"allocated_bytes": f["allocated_bytes"]}
                for f in one["functions"]
            ],
        }
    return found


# With fewer samples the time of processors says nothing.
_ENOUGH_SAMPLES = 5


def _waited(one: dict[str, Any]) -> float:
    """Nanoseconds in which threads were not on a processor: for others, for the disk, or for a processor."""
    off = max(one["wall_ns"] - one["cpu_ns"], 0) if one["samples"] >= _ENOUGH_SAMPLES else 0
    return off + one["waiting_ns"]


# Columns of figures: heading, right end, what is shown.
_COLUMNS = (
    ("time", 700, lambda one: duration(one["seconds"] * 1e9)),
    ("on CPU", 775, lambda one: duration(one["cpu_seconds"] * 1e9)),
    ("waiting", 850, lambda one: duration(one["waiting_seconds"] * 1e9)),
    ("rows in", 945, lambda one: count(one["rows_in"]) if one["part"] != "source" else ""),
    ("rows out", 1035, lambda one: "" if one["rows_out"] is None else count(one["rows_out"])),
    ("estimated", 1120, lambda one: "" if one["estimated_rows"] is None else count(one["estimated_rows"])),
    ("allocated", 1200, lambda one: size(one["allocated_bytes"])),
    ("spilled", 1268, lambda one: size(one["spilled_bytes"])),
)
_BAR = (530.0, 90.0)


def _head(pipeline: Pipeline, content: list[str]) -> float:
    document = pipeline.document
    content.append(text(_MARGIN, 22, fitted(" ".join(pipeline.query.split()), WIDTH - 2 * _MARGIN, 14), 14, more="font-weight='bold'"))
    if not pipeline.is_measured:
        return 34
    said = [
        duration(document["elapsed_ns"]),
        f"{duration(document['cpu_ns'])} on processors",
        f"{len(pipeline.lanes)} thread{'' if len(pipeline.lanes) == 1 else 's'}",
        f"{count(document['read_rows'])} rows read",
        f"{size(document['read_bytes'])} read",
        f"peak memory {size(document['peak_memory'])}",
    ]
    content.append(text(_MARGIN, 41, " · ".join(said)))
    content += [text(right, 62, heading, 11, "end", "#666") for heading, right, _ in _COLUMNS]
    content.append(text(_MARGIN, 62, "the first to run first; time is that of all threads together", 11, fill="#666"))
    return 68


def _colour(stage: int | None) -> str:
    return "#dddddd" if stage is None else PALETTE[stage % len(PALETTE)]


def _stage(pipeline: Pipeline, stage: dict[str, Any], y: float, slowest: float, content: list[str]) -> float:
    number = stage["id"]
    said = [f"stage {number}"]
    if pipeline.is_measured:
        workers, skew = len(stage["workers_ns"]), pipeline.skew(number)
        said.append(duration(stage["time_ns"]))
        said.append(f"{workers} worker{'' if workers == 1 else 's'}")
        if workers > 1 and skew:
            said.append(f"skew {skew:.2f}")
        if stage["finish_ns"] * 20 > stage["time_ns"]:
            said.append(f"{duration(stage['finish_ns'])} to finish")
        said += [f"{name}: {value}" for name, value in stage["facts"]]
    if stage["after"]:
        said.append("after stage " + ", ".join(str(one) for one in stage["after"]))
    content.append(rect(_MARGIN, y + 4, WIDTH - 2 * _MARGIN, _ROW, _colour(number)))
    content.append(text(_MARGIN + 6, y + 18, fitted(" · ".join(said), WIDTH - 40), more="font-weight='bold'"))
    y += _ROW + 4
    for one in (_figures(*found) for found in _chain(stage)):
        y = _operator(one, y, slowest, pipeline.is_measured, content)
    return y + 6


def _operator(one: dict[str, Any], y: float, slowest: float, is_measured: bool, content: list[str]) -> float:
    base = y + 14
    room = (_BAR[0] if is_measured else WIDTH - _MARGIN) - 30
    content.append(f"<g><title>{_escaped(one['detail'] or one['name'])}</title>")
    content.append(text(_MARGIN + 14, base, fitted(one["name"], room), more="font-weight='bold'"))
    used = (len(one["name"]) + 2) * 12 * 0.602
    detail = one["detail"]
    # The name of a node is often that of the operator.
    detail = detail.removeprefix(f"{one['name']} ")
    content.append(text(_MARGIN + 14 + used, base, fitted(detail, room - used - 8, 11), 11, fill="#666"))
    content.append("</g>")
    if is_measured:
        width = _BAR[1] * one["seconds"] / slowest if slowest else 0.0
        content.append(rect(_BAR[0], y + 4, _BAR[1], _ROW - 7, "#f2f2f2"))
        content.append(rect(_BAR[0], y + 4, width, _ROW - 7, "#e76f51", f"{one['seconds']:.6f} s"))
        for heading, right, show in _COLUMNS:
            fill = "#c1121f" if heading == "spilled" and one["spilled_bytes"] else "#222"
            fill = "#c1121f" if heading == "estimated" and _is_far_off(one) else fill
            content.append(text(right, base, show(one), 12, "end", fill))
    return y + _ROW


def _is_far_off(one: dict[str, Any]) -> bool:
    """An estimate that is wrong by a factor of ten."""
    estimated, rows = one["estimated_rows"], one["rows_out"]
    if estimated is None or rows is None:
        return False
    low, high = sorted((estimated + 1, rows + 1))
    return high >= 10 * low


def _escaped(content: str) -> str:
    import html

    return html.escape(content)


def _lanes(pipeline: Pipeline, y: float, content: list[str]) -> float:
    end = max((span["end_ns"] for lane in pipeline.lanes for span in lane["spans"]), default=0)
    end = max(end, 1)
    left, width = _MARGIN + _LABEL, WIDTH - 2 * _MARGIN - _LABEL
    content.append(text(_MARGIN, y + 12, "threads over time", more="font-weight='bold'"))
    content.append(text(left, y + 12, "coloured by stage; what a sink finishes is paler, the part on a processor is the line below", 11, fill="#666"))
    y += 20
    for tick in range(6):
        x = left + width * tick / 5
        content.append(line(x, y, x, y + len(pipeline.lanes) * _LANE + 4, "#e5e5e5"))
        anchor = "start" if tick == 0 else "end" if tick == 5 else "middle"
        content.append(text(x, y + len(pipeline.lanes) * _LANE + 18, duration(end * tick / 5) if tick else "0", 11, anchor, "#666"))
    for number, lane in enumerate(pipeline.lanes):
        top = y + number * _LANE
        busy = lane["cpu_ns"] / max(pipeline.document["elapsed_ns"], 1)
        content.append(text(_MARGIN, top + 14, f"thread {number}, {busy:.0%} CPU", 11))
        content.append(rect(left, top + 2, width, _LANE - 6, "#f7f7f7"))
        for span in sorted(lane["spans"], key=lambda span: span["start_ns"]):
            x, length = left + width * span["start_ns"] / end, width * (span["end_ns"] - span["start_ns"]) / end
            sink = "" if span["stage"] is None else pipeline.stages[span["stage"]]["sink"]["name"]
            name = "sub-query" if span["stage"] is None else f"stage {span['stage']}: {sink}"
            took, on_cpu = span["end_ns"] - span["start_ns"], span["cpu_ns"]
            about = f"{name}, {span['phase']}: {duration(took)}, {duration(on_cpu)} on a processor"
            pale = "" if span["phase"] == "work" else "fill-opacity='0.6' stroke='#888' stroke-width='0.5'"
            content.append(rect(x, top + 2, length, _LANE - 9, _colour(span["stage"]), about, pale))
            content.append(rect(x, top + _LANE - 7, length * min(on_cpu / max(took, 1), 1.0), 2.5, "#444"))
            shown = fitted(name if span["phase"] == "work" else f"{name}, {span['phase']}", length - 6, 10)
            if shown:
                content.append(text(x + 3, top + 12, shown, 10, more="pointer-events='none'"))
    return y + len(pipeline.lanes) * _LANE + 24
