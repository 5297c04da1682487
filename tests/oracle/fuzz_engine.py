"""The two engines of the statement fuzzer: a process each that answers statement after statement, and is started anew when it dies or hangs."""

import base64
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from oracle import DATA, ERROR_TEXT, START_SECONDS

WORKER = Path(__file__).with_name("fuzz_worker.py")
SECONDS = 5  # for one statement
PATIENCE = 30  # seconds for a statement that took too long, tried once more in a fresh process
# What each session begins with: no statement may take the machine, and the order of rows does not depend on threads.
LIMITS = [
    "SET max_threads = 1", "SET max_memory_usage = 1000000000", "SET max_execution_time = 4",
    "SET max_result_rows = 100000", "SET max_rows_to_read = 5000000",
]
# TIMEOUT_EXCEEDED, MEMORY_LIMIT_EXCEEDED, TOO_MANY_ROWS, ...: how far a statement gets before a limit is nobody's dialect.
RESOURCES = {158, 159, 160, 173, 241, 307, 396}
# What the kernel refuses and ours answers, by docs/differences.md.
BEYOND = re.compile(
    r"Cannot determine join keys|Convert overflow: while executing 'FUNCTION \w*in\("
    # Functions of text take a FixedString.
    r"|(illegal type:?|got:?|support|column of type) (Nullable\()?FixedString\b", re.I
)
PANIC = re.compile(r"panicked|attempt to (?!alloc)|index out of bounds|LOGICAL_ERROR")


@dataclass
class Answer:
    """What an engine said: names, types and rows, or a code, or how it ended."""

    names: str = ""
    types: str = ""
    rows: tuple = ()
    code: int = 0
    text: str = ""
    end: str = ""  # "crash" or "hang"


class Engine:
    """One engine in a process of its own."""

    def __init__(self, name, path, setup):
        self.name, self.path, self.setup = name, path, setup
        self.child = self.folder = None
        self.database = ":memory:"

    def start(self, seconds=START_SECONDS):
        self.stop()
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True)
        if DATA.is_dir():
            shutil.copytree(DATA, Path(self.folder.name) / "data")
        env = dict(os.environ, TZ="UTC", RUST_BACKTRACE="0")
        env["PYTHONPATH"] = os.pathsep.join([self.path] * bool(self.path) + [p for p in sys.path if p and p != str(WORKER.parent)])
        self.noise = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [sys.executable, str(WORKER), self.name, self.database], cwd=self.folder.name, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.noise,
        )
        self.lines = queue.Queue()
        child, lines = self.child, self.lines
        threading.Thread(target=lambda: [lines.put(x) for x in child.stdout] + [lines.put(None)], daemon=True).start()
        self.failed = [(s, a) for s in [*LIMITS, *self.setup] if (a := self.ask(s, seconds)).code or a.end]

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.folder.cleanup()
            self.child = None

    def ask(self, sql, seconds):
        try:
            self.child.stdin.write(json.dumps(sql).encode() + b"\n")
            self.child.stdin.flush()
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            return Answer(end="hang", text=f"no answer in {seconds} s")
        except BrokenPipeError:
            line = None
        if line is None:
            self.noise.seek(0)
            tail = self.noise.read()[-2000:].decode(errors="replace").strip().split("\n")[-1]
            return Answer(end="crash", text=f"the process died ({self.child.wait()}) {tail}")
        message = json.loads(line)
        if "error" in message:
            code = ERROR_TEXT.search(message["error"])
            return Answer(code=int(code[1]) if code else -1, text=message["error"])
        lines = base64.b64decode(message["output"]).decode(errors="backslashreplace").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        names, types = (lines + ["", ""])[:2]
        return Answer(names=names, types=types, rows=tuple(lines[2:]))

    def answer(self, sql):
        """The answer; a death or a hang counts when it happens again in a fresh process."""
        if self.child is None:
            self.start()
        answer = self.ask(sql, SECONDS)
        if answer.end:
            self.start()
            answer = self.ask(sql, PATIENCE)
            if answer.end:
                self.start()
        return answer


class Pair:
    """The kernel and ours, over the same tables."""

    def __init__(self, path="", setup=()):
        self.kernel, self.ours = Engine("kernel", "", setup), Engine("chalet", path, setup)

    def prepare(self, setup):
        """Starts both with these statements; what one of them refuses is left out for both."""
        for engine in (self.kernel, self.ours):
            engine.setup = setup
            engine.start()
        failed = {sql for engine in (self.kernel, self.ours) for sql, _ in engine.failed}
        if failed & set(setup):
            self.prepare([sql for sql in setup if sql not in failed])

    def ask(self, sql):
        answers = {}
        other = threading.Thread(target=lambda: answers.update(kernel=self.kernel.answer(sql)))
        other.start()
        ours = self.ours.answer(sql)
        other.join()
        return answers["kernel"], ours

    def stop(self):
        self.kernel.stop()
        self.ours.stop()


def difference(kernel, ours, ordered=False):
    """The kind of difference, "" for none, and None where nothing can be said."""
    if ours.end:
        return ours.end
    if ours.code and PANIC.search(ours.text) and not PANIC.search(kernel.text):
        return "panic"
    if kernel.end or kernel.code in RESOURCES or ours.code in RESOURCES or kernel.code in (-1, 49):
        return None
    if kernel.code and not ours.code and BEYOND.search(kernel.text):
        return None
    if kernel.rows[:2] == (ours.names, ours.types):
        # Without rows the kernel's text formats have totals before the names.
        return None
    if kernel.code or ours.code:
        if kernel.code == ours.code:
            return ""
        return "code" if kernel.code and ours.code else "refused" if ours.code else "accepted"
    if kernel.types != ours.types:
        return "type"
    if not same_rows(kernel.rows, ours.rows, ordered):
        return "order" if ordered and same_rows(kernel.rows, ours.rows, False) else "answer"
    return "" if kernel.names == ours.names else "name"


def same_rows(kernel, ours, ordered):
    if not ordered:
        kernel, ours = sorted(kernel), sorted(ours)
    return kernel == ours or (len(kernel) == len(ours) and all(map(same_row, kernel, ours)))


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def same_row(a, b):
    """Equal but for the last digits of floats, which a mathematics library decides."""
    if a == b:
        return True
    if NUMBER.sub("0", a) != NUMBER.sub("0", b):
        return False
    return all(x == y or ("." in x + y or "e" in x + y) and near(float(x), float(y)) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def near(x, y):
    return abs(x - y) <= 1e-6 * max(abs(x), abs(y), 1e-9)
