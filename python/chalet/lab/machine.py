"""What an experiment should say of the machine, and what speaks against measuring on it now."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any


def description() -> dict[str, Any]:
    """The machine and the programs, for those who want to run it again."""
    from .. import __version__

    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "chalet": __version__,
        "load": _load(),
    }


def warnings() -> list[str]:
    """What makes measurements now less sure than they could be."""
    found = []
    load = _load()
    if load is not None and load > 0.5:
        found.append(f"the load is {load:.2f}: something else runs on this machine")
    governors = {path.read_text().strip() for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    if governors - {"performance"}:
        found.append(f"the frequency of cores changes: governor {', '.join(sorted(governors))}")
    steal = stolen(0.2)
    if steal > 0.01:
        found.append(f"{steal:.1%} of the processor's time go to other machines on the same host")
    return found


def stolen(seconds: float) -> float:
    """The share of processor time that the host took away in a short while."""
    before = _times()
    time.sleep(seconds)
    after = _times()
    if not before or not after:
        return 0.0
    passed = sum(after) - sum(before)
    return (after[7] - before[7]) / passed if passed else 0.0


def _times() -> list[int]:
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except (OSError, IndexError):
        return []
    return [int(value) for value in first] if len(first) > 7 else []


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
