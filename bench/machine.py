"""What the operating system knows: memory and reads of a process, the page cache, the cores. Linux; elsewhere parts are missing."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Memory:
    """Megabytes of a process. `own` leaves out pages of files, which the system takes back when it likes."""

    peak: float = 0.0
    now: float = 0.0
    own: float = 0.0


def memory(pid: int) -> Memory:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return Memory()
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def megabytes(name: str) -> float:
        return int(lines.get(name, "0 kB").split()[0]) / 1024

    return Memory(megabytes("VmHWM"), megabytes("VmRSS"), megabytes("RssAnon") + megabytes("RssShmem"))


def forget_peak(pid: int) -> None:
    """Starts the peak again at what the process has now; where that is not allowed the peak stays that of its life."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        pass


def read_from_storage(pid: int) -> float | None:
    """Megabytes that the process had the storage deliver, not the page cache."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith("read_bytes")), None)


def drop_page_cache(files: list[Path]) -> None:
    """Forgets what the system holds of the files. No other process may have them mapped."""
    for path in files:
        handle = os.open(path, os.O_RDONLY)
        try:
            # Pages that are not written back yet cannot be dropped.
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def cores() -> list[int]:
    """The cores that we may use; of the two threads of one core, the second comes late."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    allowed = sorted(os.sched_getaffinity(0))

    def first_sibling(core: int) -> int:
        try:
            text = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
        except OSError:
            return core
        return int(text.replace("-", ",").split(",")[0])

    return sorted(allowed, key=lambda core: (first_sibling(core) != core, core))


def pin(threads: int) -> None:
    """Holds this process, and all threads that it starts, to as many cores. For the moment before a program begins."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(cores()[:threads]))


def description() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    total = None
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        total = int(Path("/proc/meminfo").read_text().split()[1]) // 1024
    except OSError:
        pass
    return {
        "processor": model,
        "cores": len(cores()),
        "memory_mb": total,
        "system": platform.platform(),
        "python": platform.python_version(),
    }
