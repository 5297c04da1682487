#!/usr/bin/env python3
"""The fuzzer of whole programs: tables of the MergeTree family from CREATE to DROP on the real kernel and on ours.

    fuzz_programs.py [--seed 1] [--seconds 60] [--program N] [--ours FOLDER] [--disk] [--length 40]

A program is made of a seed and a number; each runs in a fresh process and folder of either engine, and its statements are compared one
after the other. After a statement that one engine refuses and the other does not the rest of the program is left out: the tables
differ from there on. --program shows one program with both answers; --disk gives ours a database in a folder.

Development only: needs chdb, and an installed chalet, or the folder of its package (--ours), in the Python that runs it.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter

import fuzz_engine
from fuzz import SEVERITY, show, shown, wording
from fuzz_changes import Program
from fuzz_engine import Engine, difference

# What differs from run to run, or from engine to engine on purpose.
UNSURE = re.compile(r"now\(|generateUUID|_part_uuid")
UUID = re.compile(r" UUID '[0-9a-f-]{36}'| INNER UUID '[0-9a-f-]{36}'|^[0-9a-f]{8}-[0-9a-f-]{27}(?=\t(BACKUP_CREATED|RESTORED)$)")
# A part of few rows is a record of the journal here, and any other one file.
KIND = re.compile(r"\b(InMemory|Wide)$")
# Nobody defines a view here, where there are no users.
DEFINERS = re.compile(r"(\\n| )DEFINER = default SQL SECURITY DEFINER")
# Mutations take numbers of blocks in the kernel.
PART = re.compile(r"\b(all|\d[\d-]*|[0-9a-f]{32})_\d+_\d+_\d+(_\d+)?\b")
# Our default database is kept in memory or in the folder, the kernel's is an overlay of both.
LIMITS = ["SET max_threads = 1", "SET max_execution_time = 20"]


def statements(seed, number, length):
    rng = random.Random(f"{seed} {number}")
    return [s for s in Program(rng).statements(length) if not (UNSURE.search(s) and "SELECT" in s)]


# Merges that nobody asked for come at any time, and with them rows go whose TTL is over.
WAITS = ("CREATE", "ATTACH", "RENAME", "EXCHANGE", "UNDROP", "RESTORE", "SYSTEM START")
MERGES = ("OPTIMIZE", "ALTER", "DELETE", "UPDATE")


def around(sql):
    """What is run before and behind a statement, so that parts are merged by statements alone."""
    before = ["SYSTEM START MERGES"] * sql.startswith(MERGES)
    behind = ["SYSTEM STOP MERGES"] * sql.startswith(WAITS + MERGES)
    filled = re.match(r"CREATE MATERIALIZED VIEW (\w+) REFRESH (?!.* EMPTY )", sql)
    refreshed = [f"SYSTEM WAIT VIEW {filled[1]}"] if filled else []
    return before, ["SYSTEM STOP TTL MERGES"] * sql.startswith(WAITS) + behind + refreshed


def run(name, args, sqls):
    engine = Engine(name, args.ours if name == "chalet" else "", [])
    if args.disk and name == "chalet":
        engine.database = "db.chalet"
    engine.start()
    answers = []
    for sql in sqls:
        before, behind = around(sql)
        for one in before:
            engine.ask(one, 60)
        answer = engine.ask(sql, 60)
        answers.append(answer)
        for one in [] if answer.end else behind:
            engine.ask(one, 60)
        if answer.end:
            break
    engine.stop()
    return answers


def clean(answer):
    if any(plan in row for row in answer.rows for plan in PLANS):
        answer.rows = ()
    # The tables of views have names of their own here, which are not shown.
    answer.rows = tuple(row for row in answer.rows if not row.startswith(".inner"))
    answer.rows = tuple(KIND.sub("Compact", PART.sub(r"\1_N", UUID.sub("", DEFINERS.sub("", row)))) for row in answer.rows)
    return answer


# What a plan of either engine has and no other answer.
PLANS = ("ReadFromMergeTree", "ReadNothing", "ReadFromPreparedSource", "Output: ", "  Scan ", "Values 0 rows")
# What is told of parts that DELETE FROM has left no row: the kernel has them until they are merged.
OF_PARTS = re.compile(r"^CHECK TABLE|FROM system\.(parts|parts_columns|projection_parts)\b")
LEAVES_NO_ROWS = re.compile(r"^(DELETE|UPDATE|OPTIMIZE)|^ALTER.* (DELETE|UPDATE|DROP|DETACH|TTL)")
# What docs/differences.md tells: sets can be read, dropped tables are gone at once, statistics choose more parts than an index does.
KNOWN = re.compile(r"Method read is not supported by storage Set")

CREATED = re.compile(r"CREATE (?:OR REPLACE )?(?:TABLE|MATERIALIZED VIEW) (?:IF NOT EXISTS )?([tv]\d+) ")
# What the kernel refuses because of what its default database is.
OVERLAY = re.compile(r"DatabaseOverlay|engine Overlay")


def possible(sqls, answers):
    """The statements and the kernel's answers without what names a table whose CREATE it refused."""
    kept, refused = [], None
    for sql, answer in zip(sqls, answers):
        if refused and re.search(refused, sql):
            continue
        if not (answer.code and OVERLAY.search(answer.text)):
            kept.append((sql, answer))
        created = CREATED.match(sql)
        if created and answer.code:
            refused = rf"{refused}|\b{created[1]}\b" if refused else rf"\b{created[1]}\b"
    return [sql for sql, _ in kept], [answer for _, answer in kept]


def compare(sqls, kernel, ours):
    """The differing statements up to the one from which on the tables differ."""
    deleted = False
    for sql, k, o in zip(sqls, kernel, ours):
        deleted = deleted or bool(LEAVES_NO_ROWS.match(sql))
        if sql.startswith("UNDROP"):
            return
        if KNOWN.search(k.text) or sql.startswith("EXPLAIN ESTIMATE") and not k.code and not o.code:
            continue
        if deleted and OF_PARTS.search(sql) and not k.code and not o.code:
            continue
        found = difference(clean(k), clean(o), "ORDER BY" in sql and "GROUP BY" not in sql)
        if found in (None, ""):
            if k.end or o.end:
                return
            continue
        yield sql, found, k, o
        if k.code != o.code and (not k.code or not o.code) and not sql.startswith(("SELECT", "SHOW", "DESC", "EXPLAIN", "CHECK", "EXISTS")):
            return


def kind(sql):
    """What statements of one kind have in common."""
    text = re.sub(r"'[^']*'|\d+", "?", sql)
    words = [w for w in re.findall(r"\b[A-Z]{2,}\b|system\.\w+|_[a-z_]+", text) if w not in ("AND", "FROM", "SELECT", "ORDER", "BY", "ALL", "AS", "WHERE")]
    return " ".join(words[:4])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--program", type=int, help="show this one")
    parser.add_argument("--ours", default="", help="the folder of the package to test, when it is not installed")
    parser.add_argument("--disk", action="store_true")
    parser.add_argument("--length", type=int, default=40, help="statements of a program, about")
    args = parser.parse_args()
    fuzz_engine.LIMITS[:] = LIMITS
    if args.program is not None:
        sqls = statements(args.seed, args.program, args.length)
        sqls, kernel = possible(sqls, run("kernel", args, sqls))
        for sql, k, o in zip(sqls, kernel, run("chalet", args, sqls)):
            k, o = clean(k), clean(o)
            found = difference(k, o, "ORDER BY" in sql)
            print(f"{sql};" + (f"\n-- {found}\n--   kernel: {shown(k)}\n--   ours:   {shown(o)}" if found else ""))
        return
    counts, groups, number = Counter(), {}, 0
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        sqls = statements(args.seed, number, args.length)
        sqls, kernel = possible(sqls, run("kernel", args, sqls))
        ours = run("chalet", args, sqls)
        found = list(compare(sqls, kernel, ours))
        if found:
            # Background merges and the clock: what the kernel does not say twice is left out.
            again = dict(zip(enumerate(sqls), run("kernel", args, sqls)))
            steady = {sql for (i, sql), answer in again.items() if i < len(kernel) and not difference(kernel[i], clean(answer), False)}
            found = [f for f in found if f[0] in steady]
        counts["programs"] += 1
        counts["statements"] += len(ours)
        counts["programs that differ"] += bool(found)
        for sql, what, k, o in found:
            counts[what] += 1
            detail = wording(o.text) if what in ("refused", "panic", "crash", "hang") else f"{k.code} {o.code} {wording(k.text)[:60]}" if k.code else kind(sql)
            groups.setdefault((what, detail), []).append((number, sql, k, o))
        number += 1
    print(", ".join(f"{counts[c]} {c}" for c in ["programs", "programs that differ", "statements", *SEVERITY] if counts[c]))
    for (what, detail), findings in sorted(groups.items(), key=lambda g: (SEVERITY.index(g[0][0]) >= 3, -len(g[1]))):
        number, sql, k, o = min(findings, key=lambda f: len(f[1]))
        print(f"\n{len(findings):5} {what} {detail} (program {number})\n      {sql}\n      kernel: {show(shown(k, what))}\n      ours:   {show(shown(o, what))}")
    sys.exit(1 if groups else 0)


if __name__ == "__main__":
    main()
