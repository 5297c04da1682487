"""The runner's side of an engine: starts its process, asks it, ends it when it takes too long, starts it again when it died."""

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import machine

SERVER = Path(__file__).with_name("engines.py")


class CannotStart(Exception):
    pass


class Process:
    def __init__(
        self, engine: str, threads: int, timeout: float, pinned: bool, packages: Path | None = None, server: Path = SERVER
    ) -> None:
        """`packages` is a folder to import the engine from, before what is installed; `server` the program of its side."""
        self.server = server
        self.engine, self.threads, self.timeout, self.pinned, self.packages = engine, threads, timeout, pinned, packages
        self.folder: Path | None = None
        self.version = self.imported_from = ""
        self.peak = 0.0
        self.deaths = 0
        self.start()

    def start(self) -> None:
        self.errors = tempfile.TemporaryFile()
        command = [sys.executable, str(self.server), self.engine, str(self.threads), "pinned" if self.pinned else "free"]
        environment = {**os.environ, "PYTHONPATH": str(self.packages)} if self.packages else None
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment
        )
        started = self.receive()
        if "error" in started:
            self.close()
            raise CannotStart(f"{self.engine}: {started['error']}")
        self.version, self.imported_from = started["version"], started["from"]

    def attach(self, folder: Path) -> float:
        """Makes the table over the files of a folder: the seconds that it takes."""
        self.folder = folder
        reply = self.request({"folder": str(folder)})
        if "error" in reply:
            self.close()
            raise CannotStart(f"{self.engine}: {reply['error']}")
        return reply["seconds"]

    def request(self, content: dict[str, Any]) -> dict[str, Any]:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(content).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass
        return self.receive()

    def receive(self) -> dict[str, Any]:
        assert self.child.stdout is not None
        line = b""
        # A line may come in pieces: only its first byte is waited for with the clock running.
        ready, _, _ = select.select([self.child.stdout], [], [], self.timeout)
        if ready:
            line = self.child.stdout.readline()
        if line:
            return json.loads(line)
        timed_out = not ready
        if timed_out:
            self.child.kill()
        status = self.child.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        last = f": {said[-1][:300]}" if said else ""
        return {"error": f"no answer within {self.timeout:g} s" if timed_out else f"the process died ({status}){last}", "died": True}

    def ask(self, sql: str, **more: Any) -> dict[str, Any]:
        """The answer, with the memory that it took; a process that died is started again."""
        machine.forget_peak(self.child.pid)
        reply = self.request({"sql": sql, **more})
        if reply.pop("died", False):
            self.deaths += 1
            self.close()
            self.start()
            if self.folder:
                self.attach(self.folder)
        else:
            measured = machine.memory(self.child.pid)
            self.peak = max(self.peak, measured.peak)
            reply["peak_mb"] = measured.peak
        return reply

    def memory(self) -> machine.Memory:
        return machine.memory(self.child.pid)

    def close(self) -> None:
        if self.child.stdin is not None:
            self.child.stdin.close()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()
        self.errors.close()
