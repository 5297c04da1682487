"""The machine: what an experiment should say of it, what speaks against measuring on it now, its cores, memory and page cache.

Much of it is known to Linux alone; elsewhere those parts are missing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def description() -> dict[str, Any]:
    """The machine and the programs, for those who want to run it again."""
    from .. import __version__

    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "system": platform.platform(),
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": len(cores()),
        "memory_mb": _megabytes(_field("/proc/meminfo", "MemTotal")),
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


# --- cores ---------------------------------------------------------------------------------------------------------


def cores() -> list[int]:
    """The cores that we may use; of the two threads of one core, the second comes late."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))

    def first_sibling(core: int) -> int:
        try:
            text = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
        except OSError:
            return core
        return int(text.replace("-", ",").split(",")[0])

    return sorted(os.sched_getaffinity(0), key=lambda core: (first_sibling(core) != core, core))


@contextlib.contextmanager
def pinned(threads: int | None) -> Iterator[None]:
    """Processes that are started meanwhile are held to so many cores, from before they can count them."""
    if threads is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores()[:threads]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


# --- memory and files ----------------------------------------------------------------------------------------------


@dataclass
class Memory:
    """Megabytes of a process. `own` leaves out pages of files, which the system takes back when it likes."""

    peak: float = 0.0
    now: float = 0.0
    own: float = 0.0


def memory(pid: int) -> Memory:
    """Of a process; zeros where it has ended."""
    known = _fields(f"/proc/{pid}/status")
    peak, now, own, shared = (_megabytes(known.get(name, "")) or 0.0 for name in ("VmHWM", "VmRSS", "RssAnon", "RssShmem"))
    return Memory(peak, now, own + shared)


def forget_peak(pid: int) -> None:
    """Starts the peak again at what the process has now; where that is not allowed the peak stays that of its life."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def read_from_storage(pid: int) -> float | None:
    """Megabytes that the process had the storage deliver, not the page cache."""
    found = _field(f"/proc/{pid}/io", "read_bytes")
    return int(found) / 1e6 if found else None


def drop_page_cache(files: Iterable[Path]) -> None:
    """Forgets what the system holds of the files. No other process may have them mapped."""
    for path in files:
        handle = os.open(path, os.O_RDONLY)
        try:
            # Pages that are not written back yet cannot be dropped.
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def _field(path: str, name: str) -> str:
    """A value of a file as below; empty where there is none."""
    return _fields(path).get(name, "")


def _fields(path: str) -> dict[str, str]:
    """The values of a file of `name: value` lines, by name; the first of each."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}


def _megabytes(text: str) -> float | None:
    """Of `123 kB`."""
    return int(text.split()[0]) / 1024 if text else None
