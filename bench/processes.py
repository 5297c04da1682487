"""The runner's side of an engine: its process, which is asked, ended when it takes too long, and started again when it has died."""

import os
import sys
from pathlib import Path
from typing import Any

from chalet.lab import machine
from chalet.lab.processes import Child

SERVER = Path(__file__).with_name("engines.py")


class CannotStart(Exception):
    pass


class Process(Child):
    def __init__(
        self, engine: str, threads: int, timeout: float, pinned: bool, packages: Path | None = None, server: Path = SERVER
    ) -> None:
        """`packages` is a folder to import the engine from, before what is installed; `server` the program of its side."""
        self.engine = engine
        self.folder: Path | None = None
        self.version = self.imported_from = ""
        self.peak = 0.0
        self.deaths = 0
        environment = {**os.environ, "PYTHONPATH": str(packages)} if packages else None
        super().__init__([sys.executable, str(server), engine, str(threads)], environment, timeout, threads if pinned else None)

    def start(self) -> None:
        super().start()
        started = self.receive()
        if "error" in started:
            self.close()
            raise CannotStart(f"{self.engine}: {started['error']}")
        self.version, self.imported_from = started["version"], started["from"]

    def attach(self, folder: Path) -> float:
        """Makes the table over the files of a folder: the seconds that it takes."""
        self.folder = folder
        reply = self.ask({"folder": str(folder)})
        if "error" in reply:
            self.close()
            raise CannotStart(f"{self.engine}: {reply['error']}")
        return reply["seconds"]

    def query(self, sql: str, **more: Any) -> dict[str, Any]:
        """The answer, with the memory that it took; a process that died is started again."""
        machine.forget_peak(self.child.pid)
        reply = self.ask({"sql": sql, **more})
        if reply.pop("died", False):
            self.deaths += 1
            self.close()
            self.start()
            if self.folder:
                self.attach(self.folder)
        else:
            measured = self.memory()
            self.peak = max(self.peak, measured.peak)
            reply["peak_mb"] = measured.peak
        return reply

    def memory(self) -> machine.Memory:
        return machine.memory(self.child.pid)
