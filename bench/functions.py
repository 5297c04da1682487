#!/usr/bin/env python3
"""What every function costs beside the kernel: statements are generated from `system.functions`, none is picked by hand.

  functions.py [--kind scalar,aggregate,window,cast] [--only REGEX] [--sample K] [--rows 1000000] [--rounds 3] [--threads N]
               [--processor-time] [--text-bytes N] [--packages FOLDER] [--json FILE]

For each name that both engines have, arguments are tried over the columns of a Memory table of every type and over constants;
those that both take are asked in the forms plain, Nullable and LowCardinality. Where a function takes more than two arguments,
those of its example in the documentation are used. Both processes answer in turns, a time is the best of the rounds, and the
answers over the first rows are compared. Printed is the ratio of ours to the kernel's by kind and form, then the slowest. Where other
programs have the processors too, `--processor-time --threads 1` says more than the clock.
"""

import argparse
import json
import math
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from answers import same_rows
from processes import CannotStart, Process

from chalet.lab import machine
from chalet.lab.contest import Times, take_turns
from chalet.lab.statistics import geometric_mean

ENGINES = ["chalet", "chdb"]
SMALL_ROWS = 20_000
COMPARED_ROWS = 100
# Where the large table would take longer than this on either side, in seconds, the small one is asked instead.
LONG = 2.0
# Rows that cost less than this, in seconds, say more about the start of a statement than about the function.
SHORT = 0.0002

COLUMNS = {
    "u32": "toUInt32(intHash32(number))",
    "i64": "toInt64(intHash64(number) % 2000000) - 1000000",
    "f64": "(intHash32(number) % 1000003) / 97",
    "word": "concat('word', toString(intHash32(number) % 1000))",
    "text": "concat('https://host', toString(number % 5000), '.example.com/a/', hex(intHash64(number)), '?q=', toString(number))",
    "day": "toDate('2000-01-01') + intHash32(number) % 9000",
    "time": "toDateTime('2000-01-01 00:00:00', 'UTC') + intHash32(number) % 700000000",
    "time64": "toDateTime64('2000-01-01 00:00:00', 3, 'UTC') + intHash32(number) % 700000000",
    "money": "toDecimal64((intHash32(number) % 1000000) / 100, 2)",
    "id": "reinterpretAsUUID(concat(reinterpretAsString(intHash64(number)), reinterpretAsString(number + 1)))",
    "ip": "toIPv4(intHash32(number))",
    "numbers": "arrayMap(i -> toUInt32(intHash32(number + i)), range(number % 8))",
    "words": "arrayMap(i -> concat('w', toString((number + i) % 100)), range(1 + number % 4))",
    "pairs": "map('a', toUInt32(number % 100), 'b', toUInt32(number % 7))",
    "flag": "(number % 3 = 0)::Bool",
}
NULLABLE = [name for name in COLUMNS if name not in ("numbers", "words", "pairs")]
LOW_CARDINALITY = ["word", "day"]
CONSTANTS = ["3", "2.5", "'o'", "'%host4%'", "'/'", "'day'", "'UTC'", "toDate('2010-05-05')", "[1, 5, 9]", "['a', 'w1']", "'UInt32'", "'String'"]
LAMBDAS = ["x -> x", "x -> x % 3", "x -> x > 'w5'"]
CAST_TYPES = ["UInt8", "Int64", "Float64", "Decimal(18, 3)", "String", "Date", "DateTime('UTC')", "DateTime64(3, 'UTC')", "Bool", "UUID", "IPv4", "FixedString(16)"]
# A function that waits, raises or reads what is not there measures nothing.
LEFT_OUT = re.compile(r"sleep|throwIf|^file$|^catboost|^dict|^joinGet|_|^getSetting|^getMacro|^tcpPort|^neighbor|^runningDifference|^ignore$|^materialize$|^identity$", re.I)
# Estimates and what depends on the order of rows or on chance: another answer is none that differs.
FREE = re.compile(r"^(any|first|last|group|top|uniq|quantile|median|approx|deltaSum|sparkbar|largest|exponential|rand|generate|now|today|yesterday|UTCTime|current|timezone|version|uptime|fuzz|serial|row|block|max_?Intersections|host|FQDN|fqdn|show|server|bounding|entropy|estimate|simpleLinear|stochastic|rank|arg|min|max|array(Shuffle|PartialShuffle))", re.I)


@dataclass
class Case:
    name: str
    kind: str
    form: str
    expression: str
    rows: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    differs: str = ""
    error: str = ""

    @property
    def ratio(self) -> float:
        ours, peer = (self.seconds.get(name, math.nan) for name in ENGINES)
        return max(ours, SHORT) / max(peer, SHORT)

    def statement(self, table: str) -> str:
        match self.kind:
            case "aggregate" if self.form.startswith("grouped"):
                return f"SELECT count() FROM (SELECT {self.expression} AS a FROM {table} GROUP BY number % 1000) WHERE NOT ignore(a)"
            case "aggregate":
                return f"SELECT ignore({self.expression}) FROM {table}"
            case "window":
                window = f"{self.expression} OVER (PARTITION BY number % 100 ORDER BY u32)"
                return f"SELECT count() FROM (SELECT {window} AS w FROM {table}) WHERE NOT ignore(w)"
        return f"SELECT count() FROM {table} WHERE NOT ignore({self.expression})"

    def compared(self) -> str:
        rows = f"(SELECT * FROM small WHERE number < {COMPARED_ROWS} ORDER BY number)"
        match self.kind:
            case "aggregate":
                return f"SELECT {self.expression} FROM {rows}"
            case "window":
                return f"SELECT number, {self.expression} OVER (PARTITION BY number % 100 ORDER BY u32) FROM {rows} ORDER BY number"
        return f"SELECT {self.expression} FROM {rows} ORDER BY number"


def tables(rows: int, text_bytes: int) -> Iterator[str]:
    made = dict(COLUMNS)
    if text_bytes:
        made["text"] = f"left(repeat({made['text']}, {text_bytes // 40 + 1}), {text_bytes})"
    plain = [f"{expression} AS {name}" for name, expression in made.items()]
    nullable = [f"if(number % 10 = 0, NULL, {name}) AS nullable_{name}" for name in NULLABLE]
    dictionaries = [f"toLowCardinality({name}) AS lc_{name}" for name in LOW_CARDINALITY]
    columns = ", ".join(["number", *plain, *nullable, *dictionaries])
    yield "SET allow_suspicious_low_cardinality_types = 1"
    for name, count in (("small", SMALL_ROWS), ("large", rows)):
        yield f"DROP TABLE IF EXISTS {name}"
        yield f"CREATE TABLE {name} ENGINE = Memory AS SELECT {columns} FROM numbers({count})"


class Engines:
    def __init__(self, packages: Path | None, timeout: float, threads: int) -> None:
        self.processes = {name: Process(name, threads, timeout, False, packages if name == "chalet" else None) for name in ENGINES}
        self.prepared: list[str] = []

    def prepare(self, statements: list[str]) -> None:
        self.prepared = statements
        for name in ENGINES:
            self.restore(name)

    def restore(self, name: str) -> None:
        for statement in self.prepared:
            reply = self.processes[name].query(statement)
            if "error" in reply:
                raise CannotStart(f"{name}: {statement[:80]}: {reply['error']}")

    def ask(self, name: str, sql: str, **more: Any) -> dict[str, Any]:
        deaths = self.processes[name].deaths
        reply = self.processes[name].query(sql, **more)
        if self.processes[name].deaths > deaths:
            self.restore(name)
        return reply

    def takes(self, name: str, expression: str) -> bool:
        return "error" not in self.ask(name, f"DESCRIBE TABLE (SELECT {expression} FROM small)")

    def rows(self, name: str, sql: str) -> list[list[str]]:
        reply = self.ask(name, sql, rows=True)
        if "error" in reply:
            raise ValueError(reply["error"])
        return reply["rows"]


def example_arguments(name: str, example: str) -> list[str] | None:
    """The arguments of the first call in an example, as text."""
    found = re.search(rf"\b{re.escape(name)}\(", example)
    if not found:
        return None
    out, depth, quoted, start = [], 0, False, found.end()
    for at in range(start, len(example)):
        c = example[at]
        if quoted:
            quoted = c != "'" or example[at - 1] == "\\"
        elif c == "'":
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth > 0:
            depth -= 1
        elif c in ",)" and depth == 0:
            out.append(example[start:at].strip())
            start = at + 1
            if c == ")":
                return out if out != [""] else []
    return None


def kind_of(column: str) -> str:
    return {"u32": "number", "i64": "number", "f64": "float", "word": "string", "text": "string"}.get(column, column)


def signatures(name: str, aggregate: bool, example: str, engines: Engines) -> Iterator[str]:
    """Calls that ours takes, some per number of arguments, of as many types as there are."""
    found: dict[str, str] = {}
    for column in COLUMNS:
        call = f"{name}({column})"
        if len(found) < 4 and kind_of(column) not in found and engines.takes("chalet", call):
            found[kind_of(column)] = call
    yield from found.values()
    found = {}
    pairs = [(first, second) for first in COLUMNS for second in [first, *CONSTANTS, *COLUMNS]]
    pairs += [(function, array) for function in LAMBDAS for array in ("numbers", "words")]
    for first, second in pairs:
        call = f"{name}({first}, {second})"
        key = kind_of(first)
        if len(found) < 4 and key not in found and engines.takes("chalet", call):
            found[key] = call
    yield from found.values()
    arguments = example_arguments(name, example)
    if arguments and len(arguments) > 2 and not aggregate:
        lambdas = arguments[0].partition("->")[1] != ""
        at = 1 if lambdas else 0
        arguments[at] = f"materialize({arguments[at]})"
        call = f"{name}({', '.join(arguments)})"
        if engines.takes("chalet", call):
            yield call


def in_form(expression: str, prefix: str, columns: list[str]) -> str | None:
    """The expression over Nullable or LowCardinality columns; None where it has none that could be."""
    name, _, arguments = expression.partition("(")
    changed = re.sub(rf"(?<!')\b({'|'.join(columns)})\b(?!')", rf"{prefix}\1", arguments)
    return f"{name}({changed}" if changed != arguments else None


def generated(options: argparse.Namespace, engines: Engines) -> Iterator[Case]:
    asked = "SELECT name, is_aggregate, alias_to, examples FROM system.functions ORDER BY name"
    ours = {row[0]: row for row in engines.rows("chalet", asked)}
    kernels = {row[0] for row in engines.rows("chdb", "SELECT name FROM system.functions")}
    names = [name for name in ours if name in kernels and not ours[name][2] and not LEFT_OUT.search(name)]
    names = [name for name in names if re.search(options.only, name)]
    if options.sample:
        names = random.Random(1).sample(names, min(options.sample, len(names)))
    for name in sorted(names):
        aggregate = ours[name][1] == "1"
        for call in signatures(name, aggregate, ours[name][3], engines):
            forms = {"plain": call}
            forms["nullable"] = in_form(call, "nullable_", NULLABLE) or ""
            forms["low cardinality"] = in_form(call, "lc_", LOW_CARDINALITY) or ""
            kind = "aggregate" if aggregate else "scalar"
            for form, expression in forms.items():
                if expression and engines.takes("chalet", expression):
                    yield Case(name, kind, form, expression)
                    if aggregate:
                        yield Case(name, kind, f"grouped {form}", expression)
            if aggregate or name in ("row_number", "rank", "dense_rank", "lag", "lead", "ntile"):
                yield Case(name, "window", "plain", call)
    for column in COLUMNS:
        for target in CAST_TYPES:
            call = f"CAST({column}, '{target.replace(chr(39), chr(92) + chr(39))}')"
            if re.search(options.only, "CAST") and engines.takes("chalet", call):
                yield Case("CAST", "cast", "plain", call)
                if column in NULLABLE:
                    nullable = call.replace(f"({column},", f"(nullable_{column},").replace(f"'{target[:1]}", f"'Nullable({target[:1]}")
                    yield Case("CAST", "cast", "nullable", nullable.removesuffix("')") + ")')")


def measure(case: Case, engines: Engines, rounds: int, rows: int, processor_time: bool) -> None:
    compared = {}
    for name in ENGINES:
        reply = engines.ask(name, case.compared(), rows=True)
        if "error" in reply:
            case.error = f"{name}: {reply['error'][:200]}"
            return
        compared[name] = reply["rows"]
    ours, peers = compared.values()
    if not FREE.search(case.name) and not same_rows(ours, peers):
        at = next((i for i, (a, b) in enumerate(zip(ours, peers)) if not same_rows([a], [b])), 0)
        case.differs = f"{ours[at] if at < len(ours) else '-'} against {peers[at] if at < len(peers) else '-'}"
    table, case.rows = "large", rows
    for name in ENGINES:
        reply = engines.ask(name, case.statement("small"))
        if "error" in reply:
            case.error = f"{name}: {reply['error'][:200]}"
            return
        if reply["seconds"] * rows / SMALL_ROWS > LONG:
            table, case.rows = "small", SMALL_ROWS
    times = {name: Times() for name in ENGINES}
    take_turns(times, lambda name: engines.ask(name, case.statement(table)), rounds, warm_up=False)
    case.error = next((f"{name}: {one.error[:200]}" for name, one in times.items() if one.error), "")
    if not case.error:
        case.seconds = {name: min(one.cpu) if processor_time else one.best for name, one in times.items()}


def report(cases: list[Case], worst: int) -> None:
    done = [case for case in cases if case.seconds]
    for kind in sorted({case.kind for case in done}):
        for form in sorted({case.form for case in done if case.kind == kind}):
            ratios = [case.ratio for case in done if case.kind == kind and case.form == form]
            over = sum(ratio > 1.5 for ratio in ratios)
            print(f"{kind:<10}{form:<26}{len(ratios):>6} statements   mean ratio {geometric_mean(ratios):.2f}   over 1.5: {over}")
    if done:
        print(f"all: {len(done)} statements, mean ratio {geometric_mean([case.ratio for case in done]):.2f}")
    print("\nThe slowest, ours and the kernel's in ms:")
    for case in sorted(done, key=lambda case: -case.ratio)[:worst]:
        ours, peer = (case.seconds[name] * 1000 for name in ENGINES)
        print(f"{case.ratio:>8.2f}{ours:>10.2f}{peer:>10.2f}  {case.kind}, {case.form}, {case.rows} rows: {case.expression}")
    differing = [case for case in cases if case.differs]
    print(f"\n{len(differing)} answer otherwise:")
    for case in differing:
        print(f"  {case.kind} {case.expression}: {case.differs[:160]}")
    refused = [case for case in cases if case.error]
    print(f"\n{len(refused)} that ours takes and one of them does not answer:")
    for case in refused:
        print(f"  {case.kind} {case.expression}: {case.error[:160]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="scalar,aggregate,window,cast")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--sample", type=int, default=0, help="as many names, chosen by a fixed seed")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(machine.cores()))
    parser.add_argument("--processor-time", action="store_true", help="compare processor time instead of elapsed time")
    parser.add_argument("--text-bytes", type=int, default=0, help="the length of the column `text`, instead of about 60 bytes")
    parser.add_argument("--worst", type=int, default=60)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--packages", type=Path, help="folder to import chalet from")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engines = Engines(options.packages, options.timeout, options.threads)
    engines.prepare(list(tables(options.rows, options.text_bytes)))
    kinds = options.kind.split(",")
    cases: list[Case] = []
    for case in generated(options, engines):
        if case.kind in kinds:
            measure(case, engines, options.rounds, options.rows, options.processor_time)
            cases.append(case)
            if sys.stderr.isatty():
                print(f"\r{len(cases):>6} {case.expression[:70]:<70}", end="", file=sys.stderr)
            if options.json:
                # After each one: a run takes long, and what was measured is kept when it is stopped.
                with options.json.open("a" if len(cases) > 1 else "w") as out:
                    print(json.dumps(asdict(case)), file=out)
    report(cases, options.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
