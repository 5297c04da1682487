#!/usr/bin/env python3
"""The oracle: fills and checks the answers of tests/sql from the real kernel (the chdb wheel), and compares ours with it.

  oracle.py bless FILE...       fill missing answers (--all: refresh every answer)
  oracle.py check [FILE...]     run on the kernel, print every answer that differs from the recorded one
  oracle.py compare [FILE...]   run on the kernel and on ours, print every statement that differs
  oracle.py draft FILE.sql OUT  make an .slt file of plain statements: one a line, or between lines <<< and >>>;
                                `#` comments and blank lines are kept, `!` before a statement says that it must fail

Development only: needs chdb, and for compare an installed chalet, in the Python that runs it.
"""

import argparse
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
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import slt

ROOT = Path(__file__).resolve().parents[2]
SQL = ROOT / "tests" / "sql"
DATA = ROOT / "tests" / "data"
DIFFERENCES = ROOT / "docs" / "differences.md"
WORKER = Path(__file__).with_name("worker.py")
START_SECONDS = 60  # for the engine to load and answer its first statement
STATEMENT_SECONDS = 30
MAX_RESTARTS = 8
AGREEMENT = 99.0  # percent
READS = re.compile(r"^[\s(]*(SELECT|WITH|FROM|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|VALUES)\b", re.I)
WRITES = re.compile(r"\bINTO\s+OUTFILE\b|^\s*WITH\b.*\bINSERT\s+INTO\b", re.I | re.S)
ERROR_TEXT = re.compile(r"Code: (\d+)\b")
ERROR_NAME = re.compile(r"\(([A-Z][A-Z0-9_]+)\)\s*(?:\(version [^)]*\))?\s*$")


@dataclass
class Answer:
    """What an engine said: output, or error (code, name, text), or a crash."""

    output: bytes = b""
    error: tuple | None = None
    text: str = ""
    crash: str = ""

    @classmethod
    def of(cls, message):
        if "error" not in message:
            return cls(output=base64.b64decode(message["output"]))
        text = message["error"]
        code, name = ERROR_TEXT.search(text), ERROR_NAME.search(text)
        return cls(error=(int(code[1]) if code else -1, name[1] if name else "?"), text=text)


def run(engine, statements):
    """Runs statements in one fresh session inside a scratch folder; a crash or a hang costs only its own statement."""
    answers, restarts = {}, 0
    while len(answers) < len(statements):
        job = [(i, s) for i, s in enumerate(statements) if not (i in answers and answers[i].crash)]
        with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
            if DATA.is_dir():
                shutil.copytree(DATA, Path(scratch) / "data")
            env = dict(os.environ, TZ="UTC")
            # The child must import the engine as this process would, from another working directory.
            env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p and p != str(WORKER.parent))
            child = subprocess.Popen(
                [sys.executable, str(WORKER), engine],
                cwd=scratch, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            lines, noise = queue.Queue(), []
            reader = threading.Thread(target=lambda: [lines.put(x) for x in child.stdout] + [lines.put(None)], daemon=True)
            errors = threading.Thread(target=lambda: noise.append(child.stderr.read()), daemon=True)
            reader.start(), errors.start()
            try:
                child.stdin.write(json.dumps(job).encode())
                child.stdin.close()
            except BrokenPipeError:
                pass  # it died at once: told below
            cause, done = "", 0
            while done < len(job):
                try:
                    line = lines.get(timeout=START_SECONDS if done == 0 else STATEMENT_SECONDS)
                except queue.Empty:
                    cause = "no answer in time"
                    break
                if line is None:
                    errors.join(2)
                    tail = b"".join(noise).decode(errors="replace").strip().split("\n")[-1]
                    cause = f"the process died ({child.wait()}) {tail}"
                    break
                message = json.loads(line)
                answers[message["i"]] = Answer.of(message)
                done += 1
            child.kill()
            child.wait()
        if cause:
            answers[job[done][0]] = Answer(crash=cause)
            restarts += 1
            if restarts > MAX_RESTARTS:
                for i, _ in job[done + 1 :]:
                    answers[i] = Answer(crash="not run: too many crashes before it")
                break
    return [answers[i] for i in range(len(statements))]


def session(engine, records, prelude=()):
    """The answers of one engine to the records of a file, None for a record of the other engine."""
    mine = [r for r in records if r.only in ("", engine)]
    found = run(engine, [*prelude, *(r.sql for r in mine)])[len(prelude) :]
    by_line = {r.line: a for r, a in zip(mine, found)}
    return [by_line.get(r.line) for r in records]


def rows(answer, record):
    out = slt.rows_of(answer.output, record.sql)
    return sorted(out) if record.rowsort else out


def problem(record, answer):
    """Why the answer is not what the record says, or ""."""
    if answer.crash:
        return "crash: " + answer.crash
    if record.kind == "error":
        if answer.error is None:
            return "no error, but " + show(answer)
        return "" if answer.error == record.error else f"{answer.error} instead of {record.error}: {answer.text}"
    if answer.error is not None:
        return answer.text
    if record.kind == "ok":
        return "a statement with output must be a query" if answer.output else ""
    got = rows(answer, record)
    return "" if got == record.rows else diff(record.rows, got)


def diff(expected, got):
    lines = []
    for i in range(max(len(expected), len(got))):
        a = expected[i] if i < len(expected) else "<no row>"
        b = got[i] if i < len(got) else "<no row>"
        if a != b:
            lines.append(f"row {i + 1}:\n  - {a}\n  + {b}")
    more = f"\n... {len(lines) - 5} more rows differ" if len(lines) > 5 else ""
    return "\n".join(lines[:5]) + more


def show(answer):
    if answer.crash:
        return "crash: " + answer.crash
    if answer.error:
        return answer.text
    text = answer.output.decode(errors="replace")
    return repr(text if len(text) < 300 else text[:300] + "...")


def load(path):
    text = path.read_text(encoding="utf-8")
    records = slt.parse(text, name(path))
    if slt.render(text, records) != text:
        raise slt.SltError(f"{name(path)}: a record is not written the one way it can be: bless would change it")
    return text, records


def name(path):
    path = path.resolve()
    return str(path.relative_to(SQL)) if path.is_relative_to(SQL) else str(path)


def files(args):
    chosen = [Path(f) for f in args.files] or [SQL]
    out = []
    for f in chosen:
        out += sorted(f.rglob("*.slt")) if f.is_dir() else [f]
    return out


def over_files(args, one):
    with ThreadPoolExecutor(args.jobs) as pool:
        yield from pool.map(one, files(args))


def bless(args):
    failed = 0

    def one(path):
        text, records = load(path)
        if not args.all and all(r.blessed() for r in records):
            return path, 0, []
        filled, complaints = 0, []
        for record, answer in zip(records, session("kernel", records)):
            if answer is None or (record.blessed() and not args.all):
                continue
            wrong = answer.crash or (record.kind == "error") != (answer.error is not None)
            if wrong or (record.kind == "ok" and answer.output):
                complaints.append(f"{name(path)}:{record.line}: not a `{record.head}`: {show(answer)}")
            elif record.kind == "error":
                record.error = answer.error
                filled += 1
            elif record.kind == "query":
                record.rows = rows(answer, record)
                filled += 1
        path.write_text(slt.render(text, records), encoding="utf-8")
        return path, filled, complaints

    for path, filled, complaints in over_files(args, one):
        if filled or complaints:
            print(f"{name(path)}: {filled} filled")
        for c in complaints:
            print("  " + c)
        failed += len(complaints)
    return 1 if failed else 0


def check(args):
    prelude = [f"SET {s}" for s in args.set]
    total = bad = 0

    def one(path):
        _, records = load(path)
        found = []
        for record, answer in zip(records, session(args.engine, records, prelude)):
            if answer is None:
                continue
            why = "no answer recorded" if not record.blessed() else problem(record, answer)
            if why:
                found.append((record, why))
        return path, len(records), found

    for path, n, found in over_files(args, one):
        total += n
        bad += len(found)
        for record, why in found:
            print(f"{name(path)}:{record.line}\n{record.sql}\n{why}\n")
    print(f"{total} statements, {bad} of the {args.engine} disagree with the files")
    return 1 if bad else 0


def explained():
    """The rows of the table in docs/differences.md: {(file, label or statement): reason}."""
    table = {}
    for line in DIFFERENCES.read_text(encoding="utf-8").split("\n"):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) == 3 and cells[0].strip("`").endswith(".slt"):
            key = cells[1].replace("\\|", "|")
            table[(cells[0].strip("`"), key[1:-1] if key.startswith("`") else key)] = cells[2]
    return table


def reason_for(table, file, record):
    statement = " ".join(record.sql.split())
    for key in (record.label, statement):
        if key and (file, key) in table:
            return (file, key)
    return None


def differs(record, kernel, ours):
    if ours.crash or kernel.crash:
        return f"kernel: {show(kernel)}\nours:   {show(ours)}"
    if kernel.error or ours.error:
        same = kernel.error and ours.error and kernel.error[0] == ours.error[0]
        return "" if same else f"kernel: {show(kernel)}\nours:   {show(ours)}"
    if record.kind != "query":
        return ""
    a, b = rows(kernel, record), rows(ours, record)
    return "" if a == b else diff(a, b)


def compare(args):
    table, used = explained(), set()
    refused = Counter()
    total = equal = 0
    unexplained = 0

    def one(path):
        _, records = load(path)
        # A deliberate difference is one statement in two records, one for each engine: both are shown the kernel's.
        twice = {r.sql for r in records if r.only == "kernel"}
        records = [r for r in records if r.only != "chalet" or r.sql not in twice]
        for r in records:
            r.only = ""
        return path, records, session("kernel", records), session("chalet", records)

    for path, records, kernel, ours in over_files(args, one):
        file, same = name(path), 0
        for record, k, o in zip(records, kernel, ours):
            why = differs(record, k, o)
            if not why:
                same += 1
                continue
            key = reason_for(table, file, record)
            used.add(key)
            unexplained += key is None
            if o.error and not k.error and key is None:
                refused[" ".join(o.text.split())[:100]] += 1
            print(f"{file}:{record.line} {'explained: ' + table[key] if key else 'UNEXPLAINED'}\n{record.sql}\n{why}\n")
        total, equal = total + len(records), equal + same
        print(f"== {file}: {same} of {len(records)} agree", flush=True)
    if refused:
        print("what ours refuses most often:")
    for text, n in refused.most_common(20):
        print(f"{n:6} {text}")
    stale = [] if args.files else [k for k in table if k not in used]
    for key in stale:
        print(f"docs/differences.md explains a statement that does not differ: {key[0]} {key[1]}")
    percent = 100.0 * equal / max(total, 1)
    print(f"{equal} of {total} statements agree ({percent:.2f} %), {unexplained} differences without a reason")
    return 1 if unexplained or stale or percent < AGREEMENT else 0


def draft(args):
    source, target = (Path(f) for f in args.files)
    items, block = [], None
    for line in source.read_text(encoding="utf-8").split("\n"):
        if block is not None:
            if line == ">>>":
                items.append("\n".join(block))
                block = None
            else:
                block.append(line)
        elif line == "<<<":
            block = []
        else:
            items.append(line)
    statements = [s for s in items if s.strip() and not s.startswith("#")]
    answers = iter(run("kernel", [s.removeprefix("!").lstrip() for s in statements]))
    out, bad = [], 0
    for item in items:
        if not item.strip() or item.startswith("#"):
            if not (item == "" and out and out[-1] == ""):
                out.append(item)
            continue
        answer, sql = next(answers), item.removeprefix("!").lstrip()
        unexpected = (item[0] == "!") != (answer.error is not None)
        nameless = answer.error is not None and not answer.error[1].isupper()  # cut short, for example at a NUL byte
        if answer.crash or nameless or (unexpected and not args.accept):
            bad += 1
            print(f"{source.name}: left out: {sql}\n    {show(answer)}")
            continue
        if answer.error:
            record = slt.Record("error", 0, "", sql, error=answer.error)
        elif not READS.match(sql) or WRITES.search(sql):
            record = slt.Record("ok", 0, "statement ok", sql)
        else:
            try:
                record = slt.Record("query", 0, "query T", sql, rows=slt.rows_of(answer.output, sql))
            except UnicodeDecodeError:
                bad += 1
                print(f"{source.name}: left out, not UTF-8: {sql}")
                continue
            if len(record.rows) > 1 and not ordered(sql):
                record.head, record.rows = "query T rowsort", sorted(record.rows)
        out += [*record.lines(), ""]
    while out and out[-1] == "":
        out.pop()
    target.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(out) + "\n"
    slt.parse(text, str(target))
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(statements) - bad} statements, {bad} left out")
    return 1 if bad else 0


def ordered(sql):
    """Whether the order of the outermost rows is stated, or given by the kind of statement."""
    if not re.match(r"[\s(]*(SELECT|WITH|FROM|VALUES)\b", sql, re.I) or slt.FORMAT_CLAUSE.search(sql):
        return True
    flat, deeper = re.sub(r"'(?:[^'\\]|\\.|'')*'", "''", sql), None
    while flat != deeper:
        deeper, flat = flat, re.sub(r"\([^()]*\)", "", flat)
    return re.search(r"\bORDER\s+BY\b", flat, re.I) is not None and not re.search(r"\bUNION\b", flat, re.I)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["bless", "check", "compare", "draft"])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--all", action="store_true", help="bless: refresh answers that are there")
    parser.add_argument("--accept", action="store_true", help="draft: take errors and successes without `!` saying so")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="check: a setting of the session")
    parser.add_argument("--engine", choices=slt.ENGINES, default="kernel", help="check: whose answers")
    parser.add_argument("--jobs", type=int, default=2, help="files at a time")
    args = parser.parse_intermixed_args()
    command = {"bless": bless, "check": check, "compare": compare, "draft": draft}[args.command]
    try:
        sys.exit(command(args))
    except slt.SltError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
