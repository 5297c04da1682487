"""Do the programs that chDB's own pages show run here too? Runs each under chDB and under chalet and compares.

    python tools/readme_programs.py [--only 3,7] [--show] [--json FILE]     # needs both packages, as the oracle's environment has

The programs are the Python blocks (and calls of `python3 -m chdb`) of the README in the metadata of the installed packages of
chDB; none of their text is kept here. For chalet nothing is changed but the imports: `import chdb` becomes
`import chalet as chdb`, `from chdb` becomes `from chalet`. Each runs in a process and a folder of its own, with the files that
the pages talk about in it. Before each stands `import chdb`, which some of the pages leave out; a block without any import goes on where
the one above it ended.

The exit status is 1 when a program that runs under chDB does not run under chalet, or prints something else, and
is not one of LEFT_OUT.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = ("chdb", "chdb-core")
# What a program needs that is not part of this package, with the reason.
LEFT_OUT = {
    r"\bdatastore\b": "chDB's DataFrame API over SQL is another project",
    r"\bgenerate_sql\(|\.ask\(": "needs a language model",
}
# Prints what is here otherwise on purpose: docs/migration-from-chdb.md says so.
OTHERWISE = {
    r"\.description\b": "description says more",
}
# Programs that only wait for a long query wait for a shorter one.
SHORTER = (re.compile(r"\bnumbers_mt\(1e10\)"), "numbers_mt(1e8)")
# Seconds for one program.
PATIENCE = 120

_BLOCK = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*python3?[ \t]+-m[ \t]+chdb\b(.*)$", re.MULTILINE)
_IMPORTS = re.compile(r"^[ \t]*(?:import|from)[ \t]", re.MULTILINE)

# Differ from run to run, or are each package's own.
_VERSION = re.compile(r"\b\d+(?:\.\d+){2,}\b")
_SECONDS = re.compile(r"\b\d+\.\d+(?:e-\d+)?(?= seconds)|(?<=\"elapsed\": )[\d.e-]+")
_BYTES = re.compile(r"\b\d+(?= bytes)|(?<=\"bytes_read\": )\d+")
_TIME = re.compile(r"(?:\b\d{4}-\d\d-\d\d )?\b\d\d:\d\d:\d\d\b")
_BOX = re.compile(r"[─━┌┐└┘┏┓┗┛├┤┬┴┼╇┡┩│┃ \-]+")


@dataclass
class Program:
    number: int
    package: str
    # Of Python, or the arguments of `python -m chdb`.
    source: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its first telling line, to find it by."""
        if self.arguments:
            return "-m chdb " + shlex.join(self.arguments)
        lines = [line.strip() for line in self.source.splitlines()]
        telling = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
        return (telling or lines)[0][:60]

    def excuse(self, excuses: dict[str, str]) -> str:
        return next((reason for pattern, reason in excuses.items() if re.search(pattern, self.source)), "")

    def command(self, module: str, folder: Path) -> list[str]:
        if self.arguments:
            return [sys.executable, "-m", module, *self.arguments]
        # A file, since some of chDB's functions look for their source.
        file = folder / "program.py"
        source = f"import chdb\n{self.source}"
        file.write_text(source if module == "chdb" else renamed(source))
        return [sys.executable, str(file)]


@dataclass
class Outcome:
    status: int | None
    out: str
    err: str

    @property
    def works(self) -> bool:
        return self.status == 0

    @property
    def reason(self) -> str:
        if self.status is None:
            return f"no end within {PATIENCE} s"
        last = [line for line in self.err.strip().splitlines() if line.strip()]
        return (last[-1].strip() if last else f"exit status {self.status}")[:200]


def programs() -> list[Program]:
    found: list[Program] = []
    for package in PACKAGES:
        try:
            metadata = importlib.metadata.metadata(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        # Newer files have the page as their body, older ones as a field.
        page = str(metadata.get_payload() or metadata.get("Description") or "")
        above = ""
        for language, text in _BLOCK.findall(page):
            if language == "python":
                source = SHORTER[0].sub(SHORTER[1], text)
                source = source if _IMPORTS.search(source) else f"{above}\n{source}"
                above = source
                found.append(Program(len(found) + 1, package, source))
            elif language in ("bash", "sh", "shell"):
                calls = _MODULE.findall(text)
                found += [Program(len(found) + at, package, arguments=shlex.split(call)) for at, call in enumerate(calls, 1)]
    return found


def renamed(source: str) -> str:
    """The program with chalet in chDB's place, as its page of migration says."""
    source = re.sub(r"^([ \t]*)import chdb\.([\w.]+) as ", r"\1import chalet.\2 as ", source, flags=re.MULTILINE)
    source = re.sub(r"^([ \t]*)import chdb\.([\w.]+)", r"\1import chalet as chdb, chalet.\2", source, flags=re.MULTILINE)
    source = re.sub(r"^([ \t]*)import chdb\b(?! as)", r"\1import chalet as chdb", source, flags=re.MULTILINE)
    source = re.sub(r"^([ \t]*)import chdb as ", r"\1import chalet as ", source, flags=re.MULTILINE)
    return re.sub(r"^([ \t]*)from chdb\b", r"\1from chalet", source, flags=re.MULTILINE)


def fill(folder: Path) -> None:
    """The files that the pages read."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {
            "product": ["a", "b", "c", "d"],
            "revenue": [500.5, 1500.0, 2500.25, None],
            "number": [1, 2, 3, 4],
        }
    )
    pyarrow.parquet.write_table(table, folder / "data.parquet")
    (folder / "data.csv").write_text('1,"one",1.5\n2,"two",2.5\n3,"three",\n')


def run(program: Program, module: str) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        # The zone is the machine's for both; no width of a terminal, no bar of progress.
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
        try:
            done = subprocess.run(
                program.command(module, folder),
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=PATIENCE,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as late:
            return Outcome(None, (late.stdout or b"").decode(errors="replace"), "")
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def neutral(text: str) -> str:
    for pattern in (_VERSION, _SECONDS, _BYTES, _TIME):
        text = pattern.sub("*", text)
    return text.replace("chalet", "chdb")


def compared(theirs: str, ours: str) -> str:
    """How two outputs are alike; empty when they are not."""
    if theirs == ours:
        return "same output"
    theirs, ours = neutral(theirs), neutral(ours)
    if theirs == ours or _BOX.sub(" ", theirs) == _BOX.sub(" ", ours):
        return "same but for versions, times and bytes"
    if sorted(theirs.split()) == sorted(ours.split()):
        return "same words in another order"
    return ""


def judged(program: Program) -> dict[str, object]:
    theirs, ours = run(program, "chdb"), run(program, "chalet")
    alike, otherwise = compared(theirs.out, ours.out), program.excuse(OTHERWISE)
    if reason := program.excuse(LEFT_OUT):
        verdict, good = f"left out: {reason}", True
    elif not theirs.works:
        verdict, good = "does not run under chDB" + (", runs here" if ours.works else ""), True
    elif not ours.works:
        verdict, good = f"fails: {otherwise}" if otherwise else f"FAILS: {ours.reason}", bool(otherwise)
    else:
        verdict, good = alike or otherwise or "OTHER OUTPUT", bool(alike or otherwise)
    return {"number": program.number, "package": program.package, "label": program.label, "verdict": verdict, "good": good,
            "chdb": vars(theirs), "chalet": vars(ours)}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="numbers of programs: 3,7")
    parser.add_argument("--show", action="store_true", help="print what both printed where it differs or fails")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all outcomes here")
    options = parser.parse_args()
    wanted = {int(number) for number in options.only.split(",") if number}
    chosen = [program for program in programs() if not wanted or program.number in wanted]
    if not chosen:
        sys.exit(f"there is no program in the pages of {' and '.join(PACKAGES)}: are they installed?")
    rows = []
    for program in chosen:
        row = judged(program)
        rows.append(row)
        print(f"{row['number']:>3}  {row['label']:<60}  {row['verdict']}", flush=True)
        if options.show and (not row["good"] or "does not run" in str(row["verdict"])):
            for name in ("chdb", "chalet"):
                outcome = row[name]
                print(f"--- {name}: {outcome['status']}\n{outcome['out'][:2000]}\n{outcome['err'][-1500:]}")
    bad = [row for row in rows if not row["good"]]
    there = [row for row in rows if row["chdb"]["status"] == 0 and not str(row["verdict"]).startswith("left out")]
    here = [row for row in there if row["chalet"]["status"] == 0]
    print(f"{len(rows)} programs; of {len(there)} that run under chDB, {len(here)} run here; {len(bad)} to look at")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
