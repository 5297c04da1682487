#!/usr/bin/env python3
"""The statement fuzzer: random statements on the real kernel and on ours, and where the two differ.

    fuzz.py [--kind function] [--kind clause] [--kind record] [--seed 1] [--seconds 60] [--ours FOLDER] [--json FILE]

Statements are calls of every function that both list, SELECTs of random clauses, and the records of tests/sql with something
changed; the same seed gives the same statements. Answers are compared as names, types, rows and codes. Differences are
grouped and shown with the smallest statement that was found for each, most frequent groups first.

Development only: needs chdb, and an installed chalet, or the folder of its package (--ours), in the Python that runs it.
"""

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass

from fuzz_clauses import Clauses
from fuzz_engine import Pair, difference
from fuzz_functions import Functions
from fuzz_records import TOKEN, UNSURE, Records

KINDS = {"function": Functions, "clause": Clauses, "record": Records}
SHRINK = 150  # attempts to make a statement smaller
SHOWN = 160  # characters of an answer in the report
# Worst first.
SEVERITY = ["crash", "panic", "hang", "answer", "type", "refused", "accepted", "code", "order", "name"]


@dataclass
class Finding:
    """A statement on which the engines differ."""

    kind: str
    sql: str
    label: str
    difference: str
    kernel: str
    ours: str
    codes: tuple
    ordered: bool = False

    def key(self):
        """What findings of one cause share, as far as that can be seen."""
        if self.difference in ("refused", "panic", "crash"):
            detail = wording(self.ours)
        elif self.difference in ("code", "accepted"):
            detail = f"{self.codes} {wording(self.kernel)[:60]}"
        else:
            detail = "{} / {}".format(*apart(self.kernel, self.ours)) if self.difference == "name" else ""
        if self.kind == "function":
            return (self.label, self.difference, detail)
        return ("" if detail else words(self.sql), self.difference, detail)


def apart(a, b):
    """The first two different cells without what they begin and end with in common."""
    a, b = next(((x, y) for x, y in zip(a.split("\t"), b.split("\t")) if x != y), (a, b))
    start = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    end = next((i for i, (x, y) in enumerate(zip(a[::-1], b[::-1])) if x != y), min(len(a), len(b)))
    return a[: len(a) - end][:40], b[: len(b) - end][:40]


def words(sql):
    """The key words and functions of a statement."""
    return " ".join(sorted({t for t in re.findall(r"\b(?:[A-Z]{2,}|[a-z]\w+(?=\()|\w+\()", sql) if t not in ("SELECT", "FROM", "AS")}))


def wording(text):
    """An error's text without names and numbers."""
    text = re.sub(r"'[^']*'|`[^`]*`|\d+", "?", text.replace("\n", " "))
    return re.sub(r"\?(\W+\?)+", "?", text)[:90]


def shown(answer, found=""):
    if found == "name":
        return answer.names
    if answer.end or answer.code:
        return (answer.text or answer.end).split("\n")[0]
    return f"{answer.types} | " + " / ".join(answer.rows)


def show(text):
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def smaller(pair, finding, deadline):
    """The statement with all parts taken out that the difference does not need."""
    tokens = [t for t in TOKEN.findall(finding.sql)]
    tries, size = 0, max(1, len(tokens) // 2)
    answers = None
    while size >= 1 and tries < SHRINK and time.monotonic() < deadline:
        i, removed = 0, False
        while i < len(tokens) and tries < SHRINK:
            rest = tokens[:i] + tokens[i + size :]
            text = "".join(rest)
            if text.count("(") == text.count(")") and text.split()[:1] == finding.sql.split()[:1]:
                tries += 1
                kernel, ours = pair.ask(text)
                if difference(kernel, ours, False) == finding.difference and (kernel.code, ours.code) == finding.codes:
                    tokens, removed, answers = rest, True, (kernel, ours)
                    continue
            i += max(1, size // 2)
        if not removed or size == 1:
            size //= 2
    if answers:
        finding.sql, finding.kernel, finding.ours = "".join(tokens).strip(), shown(answers[0], finding.difference), shown(answers[1], finding.difference)
    return finding


def fuzz(kind, args):
    """Runs one kind for its time; the counts of statements, and the findings, the smallest of each group first."""
    pair = Pair(args.ours)
    generator = KINDS[kind](pair)
    rng = random.Random(f"{args.seed} {kind}")
    if generator.setup:
        setup = generator.setup(rng)
        pair.prepare(setup)
    groups, counts, spent = {}, Counter(), 0
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        sql, label, token = generator.next(rng)
        if "\n\n" in sql or UNSURE.search(sql):
            continue
        kernel, ours = pair.ask(sql)
        generator.learn(token, kernel)
        counts["statements"] += 1
        counts["answered"] += not kernel.code and not kernel.end
        found = difference(kernel, ours)
        if found in ("answer", "type", "name"):
            # The kernel now and then puts what a failed statement had written before the next answer.
            kernel, ours = pair.ask(sql)
            found = difference(kernel, ours)
        if found is None:
            counts["left out"] += 1
        elif found:
            counts[found] += 1
            finding = Finding(kind, sql, label, found, shown(kernel, found), shown(ours, found), (kernel.code, ours.code))
            began = time.monotonic()
            if found not in ("hang", "crash") and (len(groups.get(finding.key(), ())) < args.shrink and spent < args.seconds / 2):
                smaller(pair, finding, end + 30)
            spent += time.monotonic() - began
            groups.setdefault(finding.key(), []).append(finding)
    pair.stop()
    return counts, groups


def report(kind, counts, groups):
    n = max(counts["statements"], 1)
    differing = sum(counts[s] for s in SEVERITY)
    print(f"== {kind}: {n} statements, the kernel answers {counts['answered']}, {counts['left out']} left out; {differing} differ, {1000 * differing / n:.1f} in 1,000")
    print("   " + ", ".join(f"{s} {counts[s]}" for s in SEVERITY if counts[s]))
    for (label, found, detail), findings in sorted(groups.items(), key=lambda g: (SEVERITY.index(g[0][1]) // 3 * (SEVERITY.index(g[0][1]) < 3), -len(g[1]))):
        least = min(findings, key=lambda f: len(f.sql))
        print(f"\n{len(findings):5} {found} {label} {detail}\n      {least.sql}\n      kernel: {show(least.kernel)}\n      ours:   {show(least.ours)}")
    if kind == "function":
        across(groups)


def across(groups):
    """What many functions have in common: a rule of the framework or of a family is behind it."""
    alike = {}
    for (label, found, _), findings in groups.items():
        for f in findings:
            pair = wording(f.kernel.replace(label, "F")), wording(f.ours.replace(label, "F"))
            key = (found, *(w if f.codes[i] else "" for i, w in enumerate(pair))) if any(f.codes) else (found, *apart(f.kernel.split(" | ")[0], f.ours.split(" | ")[0]))
            alike.setdefault(key, {}).setdefault(label, min(findings, key=lambda f: len(f.sql)))
    print("\n-- over functions")
    for (found, kernel, ours), labels in sorted(alike.items(), key=lambda a: -len(a[1]))[:60]:
        if len(labels) > 1:
            least = min(labels.values(), key=lambda f: len(f.sql))
            print(f"{len(labels):5} functions, {found}\n      kernel: {kernel}\n      ours:   {ours}\n      {least.sql}\n      {', '.join(labels)[:200]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="what to make: all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="for each kind")
    parser.add_argument("--ours", default="", help="the folder of the package to test, when it is not installed")
    parser.add_argument("--shrink", type=int, default=2, help="findings of a group that are made smaller")
    parser.add_argument("--json", help="all findings as JSON, a line each")
    args = parser.parse_args()
    lines, differing = [], 0
    for kind in args.kind or KINDS:
        counts, groups = fuzz(kind, args)
        report(kind, counts, groups)
        lines += [json.dumps(vars(f)) for findings in groups.values() for f in findings]
        differing += bool(groups)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            out.write("".join(line + "\n" for line in lines))
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
