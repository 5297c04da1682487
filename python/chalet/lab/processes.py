"""Programs that answer: a line of JSON to their standard input, a line of JSON from their standard output."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import machine

Reply = dict[str, Any]


class Child:
    """Such a program in a process of its own."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        threads: int | None = None,
    ) -> None:
        """`timeout` is for each answer, in seconds; `threads` holds the program to so many cores."""
        self.command, self.environment, self.timeout, self.threads = list(command), environment, timeout, threads
        self.start()

    def start(self) -> None:
        """Starts the program, also again after it has died."""
        self.errors = tempfile.TemporaryFile()
        pipe = subprocess.PIPE
        with machine.pinned(self.threads):
            self.child = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=self.errors, env=self.environment)

    def ask(self, what: object) -> Reply:
        """Sends a request and waits for the answer; a program that has ended, or is ended here for its time, is an `error` with `died`."""
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(what).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            pass
        return self.receive()

    def receive(self) -> Reply:
        """The next line that the program says."""
        assert self.child.stdout is not None
        # A line may come in pieces: only its first byte is waited for with the clock running.
        ready, _, _ = select.select([self.child.stdout], [], [], self.timeout)
        line = self.child.stdout.readline() if ready else b""
        if line:
            reply: Reply = json.loads(line)
            return reply
        if not ready:
            self.child.kill()
        status = self.child.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        last = f": {said[-1][:300]}" if said else ""
        return {"error": f"the process ended ({status}){last}" if ready else f"no answer within {self.timeout:g} s", "died": True}

    def close(self) -> None:
        """Lets the program end, and ends it where it does not."""
        if self.child.stdin is not None:
            try:
                self.child.stdin.close()
            except OSError:
                pass
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()
        self.errors.close()
