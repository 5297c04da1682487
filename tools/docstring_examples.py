"""Do the examples in the docstrings of chDB's package do here what they do there?

    python tools/docstring_examples.py [--only Cursor,escape] [--show]      # needs both packages, as the oracle's environment has

Each docstring is one program: its `>>>` examples in order, once with chDB and once with chalet under chDB's name, in a process
and a folder of its own. An example that fails is noted and the next one goes on. Before the first one the names are there that the
examples speak of without making them: what their module has, `conn`, `cursor`, `session`, `df` and a table `users`. None of the
text of chDB is kept here.

The exit status is 1 when an example that runs under chDB fails under chalet, or shows something else, and no reason for it stands
below.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from readme_programs import compared, fill, renamed

# What is here otherwise on purpose, docs/migration-from-chdb.md says so: pattern of the example's source, reason. The first are
# of examples that fail, the others of those that show something else.
FAILING = {
    r"\bmemfd_create\b|^fd\b": "a helper of chDB's implementation",
}
SHOWING = {
    r"\.execute\(": "execute gives the cursor, or the number of rows",
    r"^for chunk in": "the rows come in other pieces",
}
# Modules that are not part of this package.
ELSEWHERE = ("agents", "durable", "cc_backend", "cc_extension", "datastore", "progress_display")
PATIENCE = 120

# What runs the examples: reads them as JSON, writes what each did as JSON.
RUNNER = """
import ast, contextlib, io, json, sys
package, module, folder = sys.argv[1:4]
given = json.load(sys.stdin)
names = {"__name__": "__main__"}
def quietly(source):
    try:
        exec(source, names)
    except Exception:
        pass
prelude = given["prelude"]
for line in prelude:
    quietly(line)
done = []
for source in given["examples"]:
    shown, error = io.StringIO(), ""
    with contextlib.redirect_stdout(shown):
        try:
            exec(compile(source, "<example>", "single"), names)
        except SystemExit:
            error = "SystemExit"
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
    done.append([shown.getvalue(), error])
print(json.dumps(done), file=sys.__stdout__)
"""
PRELUDE = [
    "import chdb",
    "import pandas as pd",
    "import pyarrow as pa",
    "df = pd.DataFrame({'id': [1, 2, 3], 'name': ['Alice', 'Bob', 'Charlie'], 'value': [1.5, 2.5, 3.5]})",
]
TABLE = "CREATE TABLE IF NOT EXISTS users (id UInt32, name String, age UInt8) ENGINE = Memory"
FILLED = "INSERT INTO users VALUES (1, 'Alice', 30), (2, 'Bob', 20)"


def prelude(module: str) -> list[str]:
    """The names that examples of the module speak of."""
    parts = ["chdb", *filter(None, module.split("."))]
    lines = [*PRELUDE, *(f"from {'.'.join(parts[:n])} import *" for n in range(1, len(parts) + 1))]
    if module.startswith("dbapi"):
        lines += ["import chdb.dbapi as dbapi", "conn = dbapi.connect()", "cursor = conn.cursor()", "cur = cursor"]
        lines += [f"cursor.execute({TABLE!r})", f"cursor.execute({FILLED!r})"]
    elif module.startswith("session"):
        lines += ["from chdb.session import Session", "session = Session()", f"session.query({TABLE!r})", f"session.query({FILLED!r})"]
    else:
        lines += ["conn = chdb.connect(':memory:')", f"conn.query({TABLE!r})", f"conn.query({FILLED!r})", "cursor = conn.cursor()"]
    return lines


def docstrings() -> list[tuple[str, str, list[str]]]:
    """Module, name, and the sources of the examples."""
    spec = importlib.util.find_spec("chdb")
    if spec is None or spec.origin is None:
        sys.exit("chDB is not installed")
    root, parser, found = Path(spec.origin).parent, doctest.DocTestParser(), []
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
        if module.split(".")[0] in ELSEWHERE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            text = ast.get_docstring(node)
            if text and ">>>" in text:
                try:
                    examples = parser.get_examples(text)
                except ValueError:
                    # Not as doctest wants it.
                    continue
                found.append((module, getattr(node, "name", "module"), [example.source for example in examples]))
    return found


def run(package: str, module: str, sources: list[str]) -> list[tuple[str, str]]:
    """What each example showed, and what it raised."""
    given = {"prelude": prelude(module), "examples": sources}
    if package == "chalet":
        given = {key: [renamed(source) for source in value] for key, value in given.items()}
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name))
        command = [sys.executable, "-c", RUNNER, package, module, name]
        try:
            done = subprocess.run(command, cwd=name, input=json.dumps(given), capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return [("", f"no end within {PATIENCE} s")] * len(sources)
    last = done.stdout.strip().splitlines()[-1:]
    try:
        return [(shown, error) for shown, error in json.loads(last[0])]
    except (IndexError, ValueError):
        return [("", f"the process died ({done.returncode}): {done.stderr.strip()[-200:]}")] * len(sources)


def without_places(text: str) -> str:
    """Addresses of objects and names of modules are each package's own; SELECT without FROM reads a row there, and none here."""
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = re.sub(r'(?<="rows_read": )[01]\b', "*", text)
    return re.sub(r"\b(?:chdb|chalet|_chalet|_chdb)(?:\.\w+)*\.(?=\w+)", "", text)


def same_value(a: str, b: str) -> bool:
    """Are they the same dict or set, written in another order?"""
    try:
        return bool(ast.literal_eval(a) == ast.literal_eval(b))
    except (ValueError, SyntaxError):
        return False


def verdict(source: str, theirs: tuple[str, str], ours: tuple[str, str]) -> tuple[str, str]:
    """What is otherwise, and the excuse for it; both empty where it is as it should be."""
    if theirs[1]:
        return "", ""
    if ours[1]:
        return f"fails: {ours[1].splitlines()[0][:150]}", excuse(source, FAILING)
    if compared(without_places(theirs[0]), without_places(ours[0])) or same_value(theirs[0], ours[0]):
        return "", ""
    return f"shows {ours[0].strip()[:100]!r}, chDB {theirs[0].strip()[:100]!r}", excuse(source, SHOWING)


def excuse(source: str, known: dict[str, str]) -> str:
    return next((reason for pattern, reason in known.items() if re.search(pattern, source)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, as of `dbapi.cursors.execute`")
    parser.add_argument("--show", action="store_true", help="print each example with what it does in both")
    options = parser.parse_args()
    wanted = [part for part in options.only.split(",") if part]
    count: dict[str, Any] = {"examples": 0, "run under chDB": 0, "excused": 0, "to look at": 0}
    for module, name, sources in docstrings():
        path = f"{module}.{name}"
        if wanted and not any(part in path for part in wanted):
            continue
        theirs, ours = run("chdb", module, sources), run("chalet", module, sources)
        for source, their, our in zip(sources, theirs, ours):
            problem, reason = verdict(source, their, our)
            count["examples"] += 1
            count["run under chDB"] += not their[1]
            count["excused"] += bool(problem and reason)
            count["to look at"] += bool(problem and not reason)
            if options.show:
                print(f"{path}: {source.strip()}\n  chdb   {their}\n  chalet {our}")
            if problem and not reason:
                print(f"{path}: {source.strip()[:80]!r} {problem}", flush=True)
    print(", ".join(f"{number} {what}" for what, number in count.items()))
    return 1 if count["to look at"] or not count["run under chDB"] else 0


if __name__ == "__main__":
    sys.exit(main())
