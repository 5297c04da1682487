"""Calls of every function that both engines list, with arguments of every type: what the kernel took is varied further."""

import json
import re

import fuzz_values as values
import slt
from oracle import SQL

# The answer depends on chance, the clock, the machine, the process, files, dictionaries or how rows are split into blocks.
LEFT_OUT = re.compile(
    r"^(rand|generate|now|uuid|sleep|dictGet|dictHas|dictIsIn|region|ai[A-Z]|AI[A-Z]|addressTo|filesystem|timeSeries\w*(Tag|Group|Id)|transaction|zookeeper|joinGet|fuzz"
    r"|current|server|default(Profiles|Roles)|enabled|getServer|getMacro|getOSKernel|getSetting|getMergeTree|getClient|show|obfuscate|demangle|UTC|pg)"
    r"|^(file|hostName|hostname|FQDN|fullHostName|today|yesterday|curdate|localtime\w*|version|revision|buildId|uptime|tcpPort|chdb|connectionId|connection_id|queryID|query_id|user"
    r"|initial\w+|initialQuery\w+|blockNumber|blockSize|blockSerializedSize|rowNumberIn\w+|arrayShuffle|arrayPartial\w+|arrayRandomSample|runningConcurrency|throwIf|byteSize"
    r"|authUser|authenticatedUser|session_user|displayName|isMergeTreePartCoveredBy|estimateCompressionRatio|partitionId|catboostEvaluate|shard\w+|timezone|timeZone|TimeZone|serverTimezone"
    r"|structureTo\w+|hasColumnInTable|connection\w*|__\w+|canonicalRand|lowCardinality(Indices|Keys)|dumpColumnStructure|errorCodeToName|indexHint|identity|ignore|schema|SCHEMA|DATABASE|database"
    r"|groupArraySample|uniqueStateOfNothing|trap|assignCentroid|tid|runningAccumulate|neighbor|runningDifference\w*|naiveBayes\w*|getTypeSerializationStreams|queryString|evalMLMethod|dateTimeToUUIDv7\w*)$"
)
DOCUMENTED = re.compile(r"\[`([^`]+)`\]\(")
CODE = re.compile(r"```sql[^\n]*\n(.*?)```", re.S)
FAMILIES = {
    "(U)Int": ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int32", "Int64", "Int16"],
    "UInt": ["UInt8", "UInt16", "UInt32", "UInt64"],
    "Int": ["Int8", "Int16", "Int32", "Int64"],
    "Float": ["Float32", "Float64"],
    "Decimal": ["Decimal(9, 2)", "Decimal(18, 4)", "Decimal(38, 10)", "Decimal(76, 20)"],
    "DateTime64": ["DateTime64(0)", "DateTime64(3)", "DateTime64(6, 'America/New_York')", "DateTime64(9)"],
    "DateTime": ["DateTime", "DateTime('Europe/Berlin')", "DateTime('Asia/Kolkata')"],
    "FixedString": ["FixedString(3)", "FixedString(16)"],
    "Enum": ["Enum8('a' = 1, 'b' = -2)", "Enum16('x' = 1000, 'y' = 2)"],
    "Time64": ["Time64(3)"],
    "LowCardinality": values.LOW,
    "Variant": ["Variant(UInt64, String)"],
    "Tuple": ["Tuple(UInt8, String)", "Tuple(a Int32, b Nullable(String))"],
    "Array": [t for t in values.COMPOUNDS if t.startswith("Array")],
    "Map": ["Map(String, UInt32)", "Map(UInt8, Array(String))"],
}
COMBINATORS = ["If", "Array", "Distinct", "OrNull", "OrDefault", "State", "Map", "ForEach", "IfOrNull"]
KEEP = 30  # calls a function that are remembered


def family(documented):
    """The types that a documented name stands for."""
    name = documented.removeprefix("const ").strip()
    if name in values.EVERY:
        return [name]
    head = name.partition("(")[0] if not name.startswith("(U)Int") else "(U)Int"
    head = re.sub(r"[*/].*|\d+/.*", "", head)
    if head == "Nullable":
        return values.NULLABLES
    return FAMILIES.get(head) or ([head] if head in values.SCALARS else values.EVERY if head in ("Any", "T", "Expression", "") else [])


def calls(text, names):
    """(name, arguments) of every call in a text."""
    for m in re.finditer(r"\b([A-Za-z_]\w*)\(", text):
        if m[1] in names:
            depth, quote, i = 1, False, m.end()
            while i < len(text) and depth:
                c = text[i]
                if c == "\\":
                    i += 1
                elif c == "'":
                    quote = not quote
                elif not quote:
                    depth += (c in "([{") - (c in ")]}")
                i += 1
            if depth == 0:
                yield m[1], values.split(text[m.end() : i - 1])


class Functions:
    """The generator of calls."""

    kind = "function"

    def __init__(self, pair):
        self.setup = values.table
        listed = {}
        for engine in (pair.kernel, pair.ours):
            engine.start()
            fields = "name, is_aggregate, arguments, syntax, examples, alias_to, higher_order"
            fields = fields if engine.name == "kernel" else "name, is_aggregate"
            answer = engine.ask(f"SELECT toJSONString(tuple({fields})) FROM system.functions FORMAT TSVRaw", 60)
            listed[engine.name] = [json.loads(x) for x in (answer.names, answer.types, *answer.rows) if x]
        names = lambda rows: {next(iter(r.values())) if isinstance(r, dict) else r[0] for r in rows}
        both = names(listed["kernel"]) & names(listed["chalet"])
        self.missing = sorted(names(listed["kernel"]) - both)
        self.records = {}
        for row in listed["kernel"]:
            name, aggregate, arguments, syntax, examples, alias, higher = row.values() if isinstance(row, dict) else row
            if name in both and not LEFT_OUT.search(name):
                self.records[name] = dict(aggregate=aggregate, syntax=syntax, higher=higher, alias=alias, examples=examples, arguments=self.documented(arguments))
        self.seeds = {name: [] for name in self.records}
        self.weight = dict.fromkeys(self.records, 1)
        self.collect()
        self.order = sorted(self.records)

    @staticmethod
    def documented(text):
        """A list an argument: the types that it may have; None marks one that may be left out."""
        out = []
        for line in text.split("\n- "):
            types = [t for d in DOCUMENTED.findall(line) for t in family(d)]
            higher = "Lambda" in line
            out.append((["lambda"] if higher else types or values.EVERY, "ptional" in line))
        return out if text.strip() else []

    def collect(self):
        """Calls in the documentation and in the records of tests/sql, as first seeds."""
        texts = [code for r in self.records.values() for code in CODE.findall(r["examples"])]
        for path in sorted((SQL / "functions").glob("*.slt")) + sorted((SQL / "aggregates").glob("*.slt")):
            texts += [r.sql for r in slt.parse(path.read_text(encoding="utf-8"))]
        for text in texts:
            for name, arguments in calls(text, self.records):
                self.weight[name] = min(self.weight[name] + 0.1, 6)
                if len(self.seeds[name]) < KEEP and arguments not in self.seeds[name] and len(", ".join(arguments)) < 200:
                    self.seeds[name].append(arguments)

    def argument(self, rng, name, position, pool):
        record = self.records[name]["arguments"]
        roll = rng.random()
        if pool and roll < 0.25:
            return values.wrapped(rng, rng.choice(pool))
        if position < len(record) and roll < 0.8:
            ty = rng.choice(record[position][0])
            return rng.choice(values.LAMBDAS[rng.choice([1, 1, 2])]) if ty == "lambda" else values.value(rng, ty)
        if roll > 0.97:
            return "NULL"
        return values.value(rng, rng.choice(values.EVERY))

    def arguments(self, rng, name):
        seeds = self.seeds[name]
        pool = [a for s in seeds for a in s if a]
        if seeds and rng.random() < 0.65:
            chosen = list(rng.choice(seeds))
            for _ in range(rng.choice([0, 1, 1, 1, 2])):
                roll, at = rng.random(), rng.randrange(len(chosen)) if chosen else 0
                if not chosen or roll < 0.06:
                    chosen.insert(rng.randint(0, len(chosen)), self.argument(rng, name, len(chosen), pool))
                elif roll < 0.12:
                    chosen.pop(at)
                elif roll < 0.35:
                    chosen[at] = values.wrapped(rng, chosen[at])
                else:
                    chosen[at] = self.argument(rng, name, at, pool)
            return chosen
        record = self.records[name]["arguments"]
        if record and rng.random() < 0.8:
            n = sum(1 for _, optional in record if not optional or rng.random() < 0.5)
        else:
            n = rng.choice([0, 1, 1, 1, 2, 2, 3, 4])
        return [self.argument(rng, name, i, pool) for i in range(n)]

    def next(self, rng):
        name = rng.choices(self.order, [self.weight[n] for n in self.order])[0]
        chosen = self.arguments(rng, name)
        listed = ", ".join(chosen)
        columns = re.search(r"\bc\d+\b", listed)
        call = f"{name}({listed})"
        if self.records[name]["aggregate"]:
            roll = rng.random()
            if roll < 0.1:
                suffix = rng.choice(COMBINATORS)
                call = f"{name}{suffix}({listed}{', id % 2' if 'If' in suffix else ''})"
            elif roll < 0.15:
                call = f"{name}({rng.choice(['0.5', '2', '1, 2', chr(39) + 'a' + chr(39)])})({listed})"
            elif roll < 0.25:
                call = f"{name}({listed}) OVER ({rng.choice(['', 'ORDER BY id', 'PARTITION BY id % 2 ORDER BY id', 'ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW'])})"
            sql = f"SELECT {call} FROM {rng.choice(['(SELECT * FROM t ORDER BY id)', 't', 't WHERE id < 3', 't WHERE 0', 't GROUP BY id % 2'])}"
        else:
            sql = f"SELECT {call}" + (f" FROM t{rng.choice(['', '', ' WHERE id = 1', ' ORDER BY id'])}" if columns else rng.choice(["", "", "", " FROM numbers(2)"]))
        return sql, name, (name, chosen)

    def learn(self, token, kernel):
        """What the kernel takes is varied further."""
        name, chosen = token
        seeds = self.seeds[name]
        if not kernel.code and not kernel.end and chosen not in seeds:
            if len(seeds) < KEEP:
                seeds.append(chosen)
            else:
                seeds[hash_of(chosen) % KEEP] = chosen
        elif kernel.code and chosen in seeds:
            seeds.remove(chosen)


def hash_of(parts):
    return sum(ord(c) * (i + 1) for i, c in enumerate(", ".join(parts)))
