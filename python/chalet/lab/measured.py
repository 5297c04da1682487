"""One run of a variant, in a process of its own, measured.

As a program (`python -m chalet.lab.measured`) it is that process: it takes what to do as JSON on standard input and says what it
measured as JSON on standard output.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .spec import Variant


@dataclass
class Run:
    """What one run took. A run with an `error` has no metrics."""

    variant: str
    metrics: dict[str, float] = field(default_factory=dict)
    # Of the answer.
    digest: str = ""
    error: str = ""


def run(variant: Variant, timeout: float) -> Run:
    """Runs a variant once and waits for it."""
    return _command(variant, timeout) if "command" in variant.does else _statements(variant, timeout, variant.does)


def profile_run(variant: Variant, timeout: float, into: Path) -> Run:
    """Runs the statements of a variant once with the profiler, which writes INTO.json and INTO.svg."""
    return _statements(variant, timeout, {**variant.does, "profile_into": str(into.resolve())})


def environment_of(does: Mapping[str, Any]) -> dict[str, str]:
    """What the process of a variant finds in its environment: its own build of chalet first, else this one."""
    environment = {**os.environ, **{key: str(value) for key, value in does.get("environment", {}).items()}}
    own = Path(__file__).resolve().parents[2]
    paths = [str(does["packages"])] if "packages" in does else []
    environment["PYTHONPATH"] = os.pathsep.join([*paths, str(own), environment.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return environment


def _statements(variant: Variant, timeout: float, does: dict[str, Any]) -> Run:
    environment = environment_of(does)
    # By its path, since another build need not have this module; -P, since its neighbours are no modules of Python.
    command = [sys.executable, "-P", str(Path(__file__).resolve())]
    try:
        done = subprocess.run(command, input=json.dumps(does), capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return Run(variant.name, error=f"no answer within {timeout:g} s")
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return Run(variant.name, error=f"exit status {done.returncode}: {said}")
    said = json.loads(lines[-1])
    return Run(variant.name, said["metrics"], said["digest"])


def _command(variant: Variant, timeout: float) -> Run:
    """Any program. A last line of JSON with `metrics` adds to what is measured, and is no part of the answer."""
    environment = {**os.environ, **{key: str(value) for key, value in variant.does.get("environment", {}).items()}}
    command = [str(part) for part in variant.does["command"]]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        try:
            child = subprocess.Popen(command, stdout=out, stderr=errors, stdin=subprocess.DEVNULL, env=environment)
        except OSError as error:
            return Run(variant.name, error=f"cannot start {command[0]}: {error}")
        usage = _wait(child, timeout)
        seconds = time.perf_counter() - start
        out.seek(0)
        errors.seek(0)
        said, complaint = out.read(), errors.read().decode(errors="replace").strip()
    if usage is None:
        return Run(variant.name, error=f"no end within {timeout:g} s")
    if child.returncode:
        last = (complaint.splitlines() or ["nothing was said"])[-1]
        return Run(variant.name, error=f"exit status {child.returncode}: {last}")
    metrics = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_rss_mb": usage.ru_maxrss / 1024,
    }
    body, _, last_line = said.rstrip(b"\n").rpartition(b"\n")
    try:
        own = json.loads(last_line)
        metrics.update({str(key): float(value) for key, value in own["metrics"].items()})
        said = body
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return Run(variant.name, metrics, hashlib.sha256(said).hexdigest())


def _wait(child: subprocess.Popen[bytes], timeout: float) -> resource.struct_rusage | None:
    """What a child used, or nothing where it was ended because its time was over."""
    deadline = time.monotonic() + timeout
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.monotonic() > deadline:
            child.kill()
            _, status, _ = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            return None
        time.sleep(0.0005)


# --- the other process ---------------------------------------------------------------------------------------------


def _connected(does: dict[str, Any]) -> Any:
    import chalet

    connection = chalet.connect(does.get("database", ":memory:"))
    for sql in does.get("setup", []):
        connection.query(sql)
    for name, value in does.get("settings", {}).items():
        written = f"'{value}'" if isinstance(value, str) else json.dumps(value)
        connection.query(f"SET {name} = {written}")
    return connection


def _serve() -> None:
    """Answers statement after statement: a line of JSON each, the first of which says what to connect to."""
    connection = None
    for line in sys.stdin:
        try:
            if connection is None:
                connection = _connected(json.loads(line))
                reply: dict[str, Any] = {}
            else:
                reply = _served(connection, json.loads(line))
        except Exception as error:
            reply = {"error": str(error).splitlines()[0] if str(error) else type(error).__name__}
        print(json.dumps(reply), flush=True)


def _served(connection: Any, sql: str) -> dict[str, Any]:
    _forget_peak()
    used, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    answer = connection.query(sql, "TabSeparated")
    seconds, now = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    rows = sorted(bytes(answer.bytes()).splitlines())
    return {
        "seconds": seconds,
        "cpu_seconds": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
        "peak_rss_mb": _peak(now),
        "digest": hashlib.sha256(b"\n".join(rows)).hexdigest(),
    }


def _child() -> None:
    does = json.load(sys.stdin)
    connection = _connected(does)
    statements = does["sql"] if isinstance(does["sql"], list) else [does["sql"]]
    ask = _asking(connection, does.get("fetch", "bytes"))
    for _ in range(int(does.get("warmup", 1))):
        for sql in statements:
            ask(sql)
    if "profile_into" in does:
        return _profile(connection, statements, does["profile_into"])
    _forget_peak()
    before, used = _events(connection), resource.getrusage(resource.RUSAGE_SELF)
    digest = hashlib.sha256()
    start = time.perf_counter()
    answers = [ask(sql) for sql in statements]
    seconds = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_SELF)
    after = _events(connection)
    for answer in answers:
        digest.update(bytes(answer.bytes()) if hasattr(answer, "bytes") else repr(answer).encode())
    metrics = {
        "seconds": seconds,
        "cpu_seconds": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
        "peak_rss_mb": _peak(now),
        **_memory(connection, statements),
        **{name: value - before.get(name, 0) for name, value in after.items()},
    }
    print(json.dumps({"metrics": metrics, "digest": digest.hexdigest()}))


def _events(connection: Any) -> dict[str, float]:
    text = bytes(connection.query("SELECT event, value FROM system.events", "TabSeparated").bytes()).decode()
    return {name: float(value) for name, value in (line.split("\t") for line in text.splitlines())}


def _asking(connection: Any, fetch: str) -> Callable[[str], Any]:
    if fetch == "rows":
        return lambda sql: connection.execute(sql).fetchall()
    return lambda sql: connection.query(sql, "TabSeparated")


def _profile(connection: Any, statements: list[str], into: str) -> None:
    """Operators and functions with seconds and allocated bytes as JSON, and a flame graph of the longest statement."""
    profiles = [connection.profile(sql) for sql in statements]
    parts = []
    for number, profile in enumerate(profiles, 1):
        before = f"statement {number}, " if len(profiles) > 1 else ""
        for one in profile.operators:
            name = f"{before}{one['name']} (stage {one['stage']})"
            parts.append((name, one["seconds"], one["allocated_bytes"]))
            parts += [(f"{name}, function {f['name']}", f["seconds"], f["allocated_bytes"]) for f in one["functions"]]
    Path(f"{into}.json").write_text(json.dumps(parts))
    longest = max(profiles, key=lambda profile: profile.seconds)
    longest.save(f"{into}.svg")
    print(json.dumps({"metrics": {"seconds": sum(profile.seconds for profile in profiles)}, "digest": ""}))


def _memory(connection: Any, statements: list[str]) -> dict[str, float]:
    """Memory as the system sees it now, and the highest that the tracker of a statement has seen."""
    found = {}
    try:
        kinds = {"Rss": "current_rss_mb", "Anonymous": "anonymous_mb"}
        for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in kinds:
                found[kinds[name]] = int(value.split()[0]) / 1024
    except (OSError, ValueError):
        pass
    try:
        logged = "SELECT max(memory_usage) FROM (SELECT memory_usage FROM system.query_log WHERE type = 'QueryFinish'"
        logged += f" ORDER BY event_time_microseconds DESC LIMIT {len(statements) + 1})"
        found["tracked_peak_mb"] = float(bytes(connection.query(logged, "TabSeparated").bytes())) / 1048576
    except Exception:
        # An older build has no log.
        pass
    return found


def _forget_peak() -> None:
    """Starts the peak again at what the process has now, where that is allowed."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _peak(usage: resource.struct_rusage) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return usage.ru_maxrss / 1024


if __name__ == "__main__":
    _serve() if "--serve" in sys.argv else _child()
