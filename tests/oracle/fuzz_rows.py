#!/usr/bin/env python3
"""The fuzzer of rows: tables of the MergeTree family with some thousand random rows in several parts, on the real kernel and on ours.

    fuzz_rows.py [--seed 1] [--seconds 60] [--program N] [--ours FOLDER] [--disk] [--rows 4000] [--length 40]

Where fuzz_programs.py tries what statements there are over a handful of rows, this one asks for values: keys, partitions, skip indexes,
projections, changes of columns, mutations, TTL and the rules of merges over rows enough for several granules, columns with many and
with few values, NULLs and NaNs. Rows come from hashes of their numbers, which both engines compute alike. Each question goes to ours a second
time with what may leave rows out switched off: an answer that depends on it is wrong whatever the kernel says.

Development only: needs chdb, and an installed chalet, or the folder of its package (--ours), in the Python that runs it.
"""

import argparse
import random
import sys
import time
from collections import Counter

import fuzz_engine
from fuzz_engine import Engine, difference
from fuzz_programs import LIMITS, kind
from fuzz_tables import NO_MERGES

# Name, type, and a value of it for the row number `n`; `h` are hashes of it.
COLUMNS = {
    "few": ("UInt8", "h1 % 5"), "small": ("Int16", "h1 % 1000 - 500"), "num": ("Int64", "toInt64(h1 % 20000) - 10000"), "big": ("UInt64", "h1"), "mono": ("UInt32", "n * 3"),
    "f": ("Float64", "multiIf(h1 % 50 = 0, nan, h1 % 51 = 0, -0., h1 % 53 = 0, inf, toFloat64(h1 % 4000) / 4 - 300)"), "dec": ("Decimal(12, 2)", "toDecimal64(toInt64(h1 % 100000) - 50000, 2) / 100"),
    "s": ("String", "concat('w', toString(h1 % 300))"), "long": ("String", "concat('prefix of ', toString(h1 % 9000), if(h1 % 7 = 0, ' error', ' fine'))"), "lc": ("LowCardinality(String)", "concat('c', toString(h1 % 12))"),
    "fs": ("FixedString(4)", "toFixedString(leftPad(toString(h1 % 500), 4, '0'), 4)"), "ns": ("Nullable(String)", "if(h1 % 6 = 0, NULL, toString(h1 % 100))"), "nn": ("Nullable(Int32)", "if(h1 % 4 = 0, NULL, toInt32(h1 % 400) - 200)"),
    "e": ("Enum8('a' = 1, 'b' = 2, 'c' = -3)", "multiIf(h1 % 3 = 0, 'a', h1 % 3 = 1, 'b', 'c')"), "u": ("UUID", "reinterpretAsUUID(toFixedString(hex(h1), 16))"), "ip": ("IPv4", "toIPv4(toUInt32(h1 % 100000))"), "b": ("Bool", "h1 % 2 = 1"),
    "arr": ("Array(UInt16)", "arrayMap(i -> (h1 + i) % 100, range(h1 % 4))"), "words": ("Array(String)", "arrayMap(i -> concat('t', toString((h1 + i) % 40)), range(h1 % 3))"), "m": ("Map(String, Int32)", "map('a', toInt32(h1 % 9), 'b', toInt32(h1 % 7))"),
    "tup": ("Tuple(x UInt8, y String)", "(toUInt8(h1 % 6), toString(h1 % 11))"), "t": ("DateTime", "toDateTime('2024-01-01 00:00:00', 'UTC') + h1 % 8000000"), "t6": ("DateTime64(3)", "toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + toIntervalMillisecond(h1 % 5000000000)"),
    "d2": ("Date", "toDate('2023-12-20') + h1 % 90"), "dd": ("Date32", "toDate32('1950-01-01') + h1 % 30000"), "i128": ("Int128", "toInt128(h1) * -3"), "lcn": ("LowCardinality(Nullable(String))", "if(h1 % 5 = 0, NULL, toString(h1 % 8))"),
}
INDEXED = {
    "minmax": None, "set(0)": None, "set(10)": None, "bloom_filter": None, "bloom_filter(0.2)": None,
    "ngrambf_v1(3, 512, 2, 0)": ("s", "long", "lc", "fs"), "tokenbf_v1(512, 2, 0)": ("s", "long", "lc", "fs"),
}
ENGINES = ["MergeTree"] * 5 + ["ReplacingMergeTree"] * 3 + ["SummingMergeTree"] * 2 + ["AggregatingMergeTree", "CollapsingMergeTree", "VersionedCollapsingMergeTree", "CoalescingMergeTree"]
# What may leave rows out.
PLAINLY = "use_skip_indexes = 0, optimize_use_projections = 0, optimize_read_in_order = 0, optimize_move_to_prewhere = 0, use_query_condition_cache = 0, optimize_trivial_count_query = 0"


class Rows:
    """A table and the statements over it."""

    def __init__(self, rng, rows):
        self.rng, self.rows, self.next, self.fresh = rng, rows, 0, 0
        self.engine = rng.choice(ENGINES)
        # Sums of Bool are no Bool.
        usable = [name for name in COLUMNS if name != "b" or self.engine != "SummingMergeTree"]
        self.columns = {name: COLUMNS[name] for name in rng.sample(usable, rng.randint(3, 9))}
        self.indexes, self.projections, self.projected = [], [], []

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, choices):
        return self.rng.choice(list(choices))

    def statements(self, length):
        out = [self.create()]
        for _ in range(self.pick([1, 2, 3, 5])):
            out.append(self.insert())
        out += self.reads()
        while len(out) < length:
            out += self.change() + self.reads()
        return [*out, *self.changes_of_parts("OPTIMIZE TABLE t FINAL"), *self.reads(), "CHECK TABLE t"]

    def changes_of_parts(self, sql):
        return [sql]

    def create(self):
        rng, names = self.rng, list(self.columns)
        self.key_rows = self.pick([1, 20, 300, 300, 100000]) if self.engine != "MergeTree" else self.pick([20, 1000, 100000])
        declared = {"id": "UInt64", "k": self.pick(["UInt32", "UInt32", "String", "Int64", "LowCardinality(String)"]), "d": "Date", **{n: ty for n, (ty, _) in self.columns.items()}}
        rule = ""
        if self.engine == "ReplacingMergeTree":
            rule = self.pick(["", "(ver)", "(ver, gone)"])
        elif self.engine == "SummingMergeTree":
            rule = self.pick(["", "(num)"]) if "num" in self.columns else ""
        elif self.engine == "AggregatingMergeTree":
            declared |= {"total": "SimpleAggregateFunction(sum, UInt64)", "most": "SimpleAggregateFunction(max, String)", "states": "AggregateFunction(uniqExact, UInt64)"}
        elif self.engine == "CollapsingMergeTree":
            rule = "(sign)"
        elif self.engine == "VersionedCollapsingMergeTree":
            rule = "(sign, ver)"
        for word, ty in (("ver", self.pick(["UInt8", "UInt32"])), ("gone", "UInt8"), ("sign", "Int8")):
            if word in rule:
                declared[word] = ty
        self.declared = declared
        self.text = "String" in declared["k"]
        others = [n for n in names if n in ("few", "small", "num", "big", "mono", "s", "long", "lc", "fs", "e", "ip", "b", "t", "t6", "d2", "dd", "i128", "dec", "f")]
        keys = self.pick([["k"], ["k"], ["k", "d"], ["d", "k"], ["k", *others[:1]], [*others[:1], "k"], ["toYYYYMM(d)", "k"], ["cityHash64(k)"], ["intDiv(id, 50)", "k"], [*others[:2]], []])
        if self.engine not in ("MergeTree", "ReplacingMergeTree"):
            keys = keys or ["k"]
        keys = list(dict.fromkeys(keys))
        self.keys = keys
        of_key = ["", ""] + ["toYYYYMM(d)", "toMonday(d)"] * ("d" in keys) + ["k"] * ("k" in keys and self.key_rows < 100)
        # Which of two rows of one key and two partitions comes first is not said.
        self.partition = self.pick(["", "toYYYYMM(d)", "k" if self.key_rows < 100 else "toMonday(d)", "id % 3", "(toYYYYMM(d), id % 2)"] if self.engine == "MergeTree" else of_key)
        elements = [f"{n} {ty}" + (f" CODEC({self.pick(['ZSTD(1)', 'LZ4', 'NONE', 'Delta, ZSTD', 'T64, LZ4'])})" if self.chance(0.1) and n in ("mono", "num", "small", "big") else "") for n, ty in declared.items()]
        for i in range(self.pick([0, 1, 2, 3])):
            elements.append("INDEX " + self.index(f"i{i}"))
        for i in range(self.pick([0, 0, 1, 2]) if self.engine == "MergeTree" else 0):
            elements.append("PROJECTION " + self.projection(f"p{i}"))
        settings = [f"index_granularity = {self.pick([8, 64, 128, 1000, 8192])}", *NO_MERGES]
        # Where rows came from; UPDATE needs it. Mutations take numbers of blocks in the kernel: only rows that were not changed tell theirs.
        self.blocks, self.changed = self.chance(0.35), False
        if self.blocks:
            settings += ["enable_block_number_column = 1", "enable_block_offset_column = 1"]
        if self.chance(0.3):
            settings.append("min_bytes_for_wide_part = 0")
        if self.engine == "MergeTree" and self.chance(0.3):
            settings.append("lightweight_mutation_projection_mode = 'rebuild'")
        elif self.engine == "MergeTree":
            settings.append("lightweight_mutation_projection_mode = 'drop'")
        sql = f"CREATE TABLE t ({', '.join(elements)}) ENGINE = {self.engine}{rule}"
        if self.partition:
            sql += f" PARTITION BY {self.partition}"
        sql += f" ORDER BY ({', '.join(keys)})" if keys else " ORDER BY tuple()"
        self.sampled = "cityHash64(k)" in keys
        if self.sampled:
            sql += " SAMPLE BY cityHash64(k)"
        if self.engine == "MergeTree" and self.chance(0.2):
            sql += f" TTL d + INTERVAL {self.pick(['100 YEAR', '2 YEAR'])}{self.pick(['', ' DELETE WHERE id % 3 = 0'])}"
        return f"{sql} SETTINGS {', '.join(settings)}"

    def index(self, name):
        self.indexes.append(name)
        kind = self.pick(INDEXED)
        columns = [c for c in self.columns if c not in ("m", "tup") and (INDEXED[kind] is None or c in INDEXED[kind])]
        expr = self.pick(columns or ["k"])
        if INDEXED[kind] and expr == "k" and not self.text:
            expr, kind = "k", "minmax"
        if expr in ("s", "long", "lc") and self.chance(0.2):
            expr = f"lower({expr})"
        elif expr in ("m", "arr", "words") and kind in ("minmax", "set(0)", "set(10)") or expr in ("f",) and "bloom" in kind:
            kind = "minmax" if expr == "f" else "bloom_filter"
        return f"{name} {expr} TYPE {kind} GRANULARITY {self.pick([1, 1, 2, 4])}"

    def projection(self, name):
        self.projections.append(name)
        c, n = self.pick(self.columns), self.pick([c for c in self.columns if c in ("num", "small", "few", "mono")] or ["id"])
        self.projected.append(self.pick([
            f"(SELECT * ORDER BY {c if c not in ('m', 'tup', 'u') else 'd'})", f"(SELECT id, d, {c} ORDER BY d)", f"(SELECT d, count(), sum({n}) GROUP BY d)", f"(SELECT k, max({n}), min(d), uniqExact(id) GROUP BY k)",
            f"(SELECT toYYYYMM(d) AS month, avg({n}), count() GROUP BY month)", f"(SELECT count(), sum(id), max({n}))", f"(SELECT k, d, sumIf({n}, id % 2 = 0) GROUP BY k, d)",
            f"(SELECT d, count(), sum({n}) WHERE id % 2 = 0 GROUP BY d)", f"(SELECT id, d, k, {c} WHERE d > '2024-02-01' ORDER BY k)", f"(SELECT k, d, count() WHERE id % 2 = 0 AND d > '2024-02-01' GROUP BY k, d)",
        ]))
        return f"{name} {self.projected[-1]}"

    def insert(self):
        n = self.pick([1, 7, self.rows // 8, self.rows // 2, self.rows])
        first, self.next = self.next, self.next + n
        spread = self.key_rows
        values = {"id": "n", "d": f"toDate('2024-01-01') + h2 % {self.pick([1, 20, 60])}"}
        values["k"] = f"h3 % {spread}" if not self.text else f"concat('k', toString(h3 % {spread}))"
        values |= {"ver": f"h2 % {self.pick([1, 5, 200])}", "gone": "h2 % 9 = 0", "sign": f"{self.pick(['if(h2 % 2, 1, -1)', '1', 'if(h2 % 5 = 0, -1, 1)'])}", "total": "h2 % 1000", "most": "toString(h2 % 999)"}
        names = [name for name in self.declared if name not in self.columns or self.chance(0.97)]
        columns = []
        for i, name in enumerate(names):
            if name in self.columns:
                columns.append(self.columns[name][1].replace("h1", f"sipHash64(n, {i + self.pick([0, 0, 0, 50])})"))
            elif name == "states":
                columns.append("arrayReduce('uniqExactState', [h2 % 300, h3 % 7])")
            else:
                columns.append(values[name])
        source = f"(SELECT number AS n, sipHash64(n, 'd') AS h2, sipHash64(n, 'k') AS h3 FROM numbers({first}, {n}))"
        return f"INSERT INTO t ({', '.join(names)}) SELECT {', '.join(columns)} FROM {source}"

    # Questions.

    def literal(self, name):
        """A value that a column may have, as text, and its type."""
        n = self.rng.randrange(max(self.next, 1))
        ty, value = self.columns[name]
        x = self.rng.getrandbits(60)
        return f"(SELECT CAST({value}, '{ty.replace(chr(39), chr(92) + chr(39))}') FROM (SELECT {n} AS n, {x} AS h1))" if self.chance(0.08) else self.constant(name, x, n)

    def constant(self, name, x, n):
        forms = {
            "few": str(x % 6), "small": str(x % 1000 - 500), "num": str(x % 20000 - 10000), "big": str(x), "mono": str(n * 3 + x % 2), "f": self.pick([str(x % 4000 / 4 - 300), "nan", "0", "inf"]), "dec": str(x % 100000 / 100 - 500),
            "s": f"'w{x % 310}'", "long": f"'prefix of {x % 9000} fine'", "lc": f"'c{x % 13}'", "fs": f"'{x % 500:04}'", "ns": f"'{x % 100}'", "nn": str(x % 400 - 200), "e": self.pick(["'a'", "'b'", "'c'"]), "ip": f"toIPv4(toUInt32({x % 100000}))",
            "b": self.pick(["true", "false"]), "t": f"toDateTime('2024-01-01 00:00:00') + {x % 8000000}", "t6": f"toDateTime64('2024-01-01 00:00:00', 3) + {x % 5000000}", "d2": f"toDate('2023-12-20') + {x % 90}", "dd": f"toDate32('1950-01-01') + {x % 30000}",
            "i128": str(x * -3), "lcn": f"'{x % 9}'", "u": "toUUID('30303030-3030-3030-3030-303030303030')", "arr": "[1, 2]", "words": "['t1']", "m": "map('a', 1)", "tup": "(1, '1')",
        }
        return forms[name]

    def atom(self):
        rng = self.rng
        if self.chance(0.4) or not self.columns:
            v = rng.randrange(max(min(self.key_rows, 400), 1))
            k = f"'k{v}'" if self.text else str(v)
            day = f"toDate('2024-01-01') + {rng.randrange(60)}"
            forms = [f"k = {k}", f"k > {k}", f"k <= {k}", f"k IN ({k}, {k if self.text else v + 5})", f"k != {k}", f"d = {day}", f"d >= {day}", f"d < {day}", f"d BETWEEN {day} AND {day} + 5", "toYYYYMM(d) = 202402", f"toMonday(d) = toMonday({day})", f"toDayOfMonth(d) = {rng.randrange(1, 29)}", f"id = {rng.randrange(max(self.next, 1))}", f"id > {rng.randrange(max(self.next, 1))}", f"id % {self.pick([2, 3, 7])} = 1", f"intDiv(id, 50) = {rng.randrange(self.next // 50 + 1)}", "d > '2024-02-10'", f"(k, d) > ({k}, {day})", f"k IN (SELECT k FROM t WHERE id % 97 = 5)", f"toString(k) = toString({k})"]
            if not self.text:
                forms += [f"k BETWEEN {v} AND {v + 20}", f"k % 10 = {v % 10}", f"k + 1 = {v}", f"-k < -{v}", f"intDiv(k, 7) = {v // 7}", f"k = {v}.5", f"k < {v}.5", f"k > -1"]
            else:
                forms += [f"k LIKE 'k{v % 10}%'", f"startsWith(k, 'k{v}')", f"k LIKE '%{v}'", f"k NOT LIKE 'k1%'"]
            return self.pick(forms)
        name = self.pick(self.columns)
        x, y = self.literal(name), self.literal(name)
        if name in ("arr", "words"):
            v = f"{rng.randrange(101)}" if name == "arr" else f"'t{rng.randrange(41)}'"
            return self.pick([f"has({name}, {v})", f"hasAny({name}, [{v}])", f"hasAll({name}, [{v}, {v}])", f"length({name}) = {rng.randrange(5)}", f"empty({name})", f"{name}[1] = {v}", f"indexOf({name}, {v}) = 1", f"arrayExists(x -> x = {v}, {name})", f"NOT has({name}, {v})"])
        if name == "m":
            return self.pick([f"m['a'] = {rng.randrange(9)}", "mapContains(m, 'a')", "mapContains(m, 'z')", f"m['b'] > {rng.randrange(7)}", f"has(mapKeys(m), 'a')"])
        if name == "tup":
            return self.pick([f"tup.x = {rng.randrange(7)}", f"tup = ({rng.randrange(6)}, '{rng.randrange(11)}')", f"tup.y = '{rng.randrange(11)}'", f"tup.1 > {rng.randrange(6)}"])
        forms = [f"{name} = {x}", f"{name} = {x}", f"{name} != {x}", f"{name} IN ({x}, {y})", f"{name} NOT IN ({x}, {y})"]
        if name not in ("u", "e", "b"):
            forms += [f"{name} < {x}", f"{name} >= {x}", f"{name} > {x}", f"{name} <= {x}", f"{name} BETWEEN {x} AND {y}", f"NOT ({name} < {x})", f"NOT ({name} > {x})"]
        if name in ("ns", "nn", "lcn"):
            forms += [f"{name} IS NULL", f"{name} IS NOT NULL", f"isNull({name})", f"coalesce({name}, {x}) = {x}", f"ifNull({name} = {x}, 1)"]
        if name in ("s", "long", "lc", "fs", "ns", "lcn"):
            v = rng.randrange(400)
            forms += [f"{name} LIKE '%{v}%'", f"{name} LIKE 'w{v}%'", f"{name} LIKE 'prefix of {v}%'", f"startsWith({name}, 'w{v % 10}')", f"endsWith({name}, '{v % 10}')", f"position({name}, '{v}') > 0", f"{name} NOT LIKE '%{v % 10}%'", f"lower({name}) = {x}", f"lower({name}) LIKE '%{v}%'", f"match({name}, '{v % 10}$')", f"hasToken({name}, 'error')" if name != "fs" else f"{name} = ''", f"multiSearchAny({name}, ['{v}', 'w1'])", f"length({name}) > {v % 8}", f"{name} = ''", f"{name} > ''"]
        if name in ("t", "t6"):
            forms += [f"toDate({name}) = toDate({x})", f"toYYYYMM({name}) = 202402", f"toStartOfHour({name}) = toStartOfHour({x})", f"toHour({name}) = {rng.randrange(24)}", f"toDate({name}) >= toDate({x})", f"{name} > '2024-02-01 00:00:00'"]
        if name in ("small", "num", "few", "mono", "nn", "i128", "big", "dec"):
            forms += [f"{name} % 7 = 3", f"{name} + 1 > {x}", f"-{name} > {x}", f"abs({name}) < 100", f"{name} > {rng.randrange(100)}.5", f"toString({name}) = toString({x})"]
        return self.pick(forms)

    def condition(self, depth=0):
        roll = self.rng.random()
        if depth > 2 or roll < 0.5:
            return self.atom()
        if roll < 0.75:
            return f"{self.condition(depth + 1)} AND {self.condition(depth + 1)}"
        if roll < 0.95:
            return f"({self.condition(depth + 1)} OR {self.condition(depth + 1)})"
        return f"NOT ({self.condition(depth + 1)})"

    def sum_of_rows(self):
        names = [n for n in self.declared if n != "states"]
        return "count(), sum(cityHash64(" + ", ".join(f"toString({n})" if self.declared[n].startswith(("Map", "Tuple", "LowCardinality(Nullable")) else n for n in names) + "))"

    def reads(self):
        return [self.read() for _ in range(self.pick([1, 2, 3]))]

    def read(self):
        final = "" if self.engine == "MergeTree" else self.pick([" FINAL", " FINAL", ""])
        one, c = self.pick(self.declared), self.condition()
        one = "id" if one == "states" else one
        keys = ", ".join(self.keys) or "id"
        n = self.pick([c for c in self.columns if c in ("num", "small", "few", "mono")] or ["id"])
        where, by = f" WHERE {c}", "toString(u)" if one == "u" else one
        forms = [
            f"SELECT {self.sum_of_rows()} FROM t{final}", f"SELECT {self.sum_of_rows()} FROM t{final}{where}", f"SELECT {self.sum_of_rows()} FROM t{final}{where}", f"SELECT count() FROM t{final}{where}", f"SELECT count() FROM t{final}{where}", f"SELECT id, k, {by} FROM t{final}{where} ORDER BY ALL LIMIT 20",
            f"SELECT count(), sum(id) FROM t{final} PREWHERE {c}", f"SELECT count(), sum(id) FROM t{final} PREWHERE {c} WHERE {self.condition()}", f"SELECT {keys}, id FROM t{final}{where} ORDER BY {keys}, id LIMIT 10", f"SELECT {keys} FROM t{final} ORDER BY {keys} LIMIT 5 OFFSET 13", f"SELECT {keys} FROM t{final} ORDER BY {', '.join(k + ' DESC' for k in self.keys) or 'id'} LIMIT 5" if self.keys else f"SELECT count() FROM t{final}",
            f"SELECT k, count(), sum({n}), max(d) FROM t{final}{where} GROUP BY k ORDER BY k LIMIT 20", f"SELECT d, count(), sum({n}) FROM t{final} GROUP BY d ORDER BY d", f"SELECT toYYYYMM(d) AS month, count(), avg({n}) FROM t{final}{where} GROUP BY month ORDER BY month", f"SELECT k, max({n}), min(d), uniqExact(id) FROM t{final} GROUP BY k ORDER BY k LIMIT 15",
            f"SELECT min({one}), max({one}), count({one}), uniqExact({one}) FROM t{final}{where}" if one not in ("m", "tup", "arr", "words", "u") else f"SELECT uniqExact({one}) FROM t{final}{where}", f"SELECT count(), sum(id), max({n}) FROM t{final}", f"SELECT _partition_id, count(), sum(id) FROM t{where} GROUP BY _partition_id ORDER BY 1", f"SELECT min(k), max(k), min(d), max(d), min(id), max(id) FROM t{final}",
            f"SELECT {one}, count() AS c FROM t{final}{where} GROUP BY {one} ORDER BY c DESC, toString({one}) LIMIT 10", f"SELECT DISTINCT {one} FROM t{final}{where} ORDER BY toString({one}) LIMIT 20", f"SELECT id FROM t{final}{where} ORDER BY {by}, id LIMIT 7", f"SELECT id FROM t{final} ORDER BY {by} DESC, id DESC LIMIT 7", f"SELECT k, id FROM t{final}{where} ORDER BY k, id LIMIT 2 BY k LIMIT 20",
            f"SELECT count(), sum(a.id + b.id) FROM t AS a JOIN (SELECT k, id FROM t WHERE id % 50 = 1) AS b ON a.k = b.k" + where.replace(" k ", " a.k ") if self.key_rows > 100 and where.startswith(" WHERE a.") else f"SELECT sum(id), groupBitXor(cityHash64(k, id)) FROM t{final}{where}",
        ]
        if any("WHERE" in projection for projection in self.projected):
            forms += [f"SELECT d, count(), sum({n}) FROM t WHERE id % 2 = 0 {self.pick(['', 'AND d > toDate(19740)', f'AND {c}'])} GROUP BY d ORDER BY d", f"SELECT id, d, k FROM t WHERE d > '2024-02-01' AND k = {self.pick(['1', '3', '7']) if not self.text else self.pick([chr(39) + 'k1' + chr(39)])} ORDER BY ALL LIMIT 20", f"SELECT k, count() FROM t WHERE d > '2024-02-01' AND id % 2 = 0 GROUP BY k ORDER BY k LIMIT 20", f"SELECT k, count() FROM t WHERE id % 2 = 0 GROUP BY k ORDER BY k LIMIT 20"] * 2
        if self.keys:
            first = self.keys[0]
            forms += [f"SELECT {keys}, id FROM t{final}{where} ORDER BY {keys}, id LIMIT 1 BY {first} LIMIT 10", f"SELECT DISTINCT {first} FROM t{final}{where} ORDER BY {first} LIMIT 10 SETTINGS optimize_distinct_in_order = 1", f"SELECT {first}, count(), sum(id) FROM t{final}{where} GROUP BY {first} ORDER BY {first} LIMIT 10 SETTINGS optimize_aggregation_in_order = 1", f"SELECT {keys}, count() FROM t{final} GROUP BY {keys} ORDER BY {', '.join(k + ' DESC' for k in self.keys)} LIMIT 10 SETTINGS optimize_aggregation_in_order = 1"]
        if self.sampled:
            forms += [f"SELECT {self.sum_of_rows()} FROM t{final} SAMPLE {self.pick(['1/2', '0.1', '1/3 OFFSET 1/2'])}{where}", f"SELECT count() FROM t{final} SAMPLE 1/4"]
        if self.blocks and not self.changed and self.engine != "SummingMergeTree":
            forms += [f"SELECT _block_number, count(), sum(_block_offset), sum(id) FROM t{where} GROUP BY 1 ORDER BY 1", f"SELECT count(), sum(cityHash64(id, _block_number, _block_offset)) FROM t{final}{where}", f"SELECT id FROM t WHERE _block_number = 2 AND _block_offset % 5 = 1 ORDER BY id LIMIT 10"] * 2
        if "states" in self.declared:
            forms += [f"SELECT k, uniqExactMerge(states), sum(total), max(most) FROM t{final} GROUP BY k ORDER BY k LIMIT 20"] * 3
        if self.engine == "SummingMergeTree" and final:
            # Of rows whose sums are zero the kernel leaves out those that it reads all sums of.
            forms = forms[:3]
        sql = self.pick(forms)
        if self.chance(0.1):
            sql += f" SETTINGS {self.pick(['max_threads = 4', 'max_block_size = 100', 'force_optimize_projection = 0', 'use_skip_indexes_if_final = 1', 'optimize_aggregation_in_order = 1', 'do_not_merge_across_partitions_select_final = 1, max_threads = 3'])}" if "do_not" not in sql else ""
        return sql

    # Changes.

    def change(self):
        roll = self.rng.random()
        if roll < 0.3:
            return [self.insert()]
        if roll < 0.45:
            return [self.pick(["OPTIMIZE TABLE t FINAL", "OPTIMIZE TABLE t FINAL", "OPTIMIZE TABLE t FINAL DEDUPLICATE", "OPTIMIZE TABLE t FINAL DEDUPLICATE BY k, d" if set(self.keys) <= {"k", "d"} and self.partition in ("", "toYYYYMM(d)", "k", "toMonday(d)") else "OPTIMIZE TABLE t FINAL"])]
        if roll < 0.7:
            return [self.mutation()]
        if roll < 0.8:
            return [self.of_partition()]
        return [self.alter()]

    def plain(self):
        """Columns that may be changed: no keys, and no sums, whose rows could go when they are merged the next time."""
        is_summed = lambda n: self.engine == "SummingMergeTree" and self.declared[n].startswith(("Int", "UInt", "Float", "Decimal", "Nullable(Int"))
        return [n for n in self.columns if n not in " ".join(self.keys) and n not in self.partition and not is_summed(n)]

    def mutation(self):
        self.changed = True
        plain, c = self.plain(), self.condition()
        # What a mutation reads of its own table depends on which parts the kernel has written already.
        while "FROM t " in c:
            c = self.condition()
        forms = [f"DELETE FROM t WHERE {c}", f"ALTER TABLE t DELETE WHERE {c} SETTINGS mutations_sync = 1", f"ALTER TABLE t DELETE WHERE id % 11 = 3 SETTINGS mutations_sync = 1"]
        if plain:
            name = self.pick(plain)
            forms += [f"ALTER TABLE t UPDATE {name} = {self.constant(name, self.rng.getrandbits(60), 3)} WHERE {c} SETTINGS mutations_sync = 1"] * 2
            if self.blocks and not self.projections:
                forms += [f"UPDATE t SET {name} = {self.constant(name, self.rng.getrandbits(60), 3)} WHERE {c}"] * 2
            numbers = [n for n in plain if n in ("num", "small", "mono", "nn", "dec")]
            if numbers:
                forms += [f"ALTER TABLE t UPDATE {numbers[0]} = {numbers[0]} + 1 WHERE {c} SETTINGS mutations_sync = 1", f"ALTER TABLE t UPDATE {numbers[0]} = -{numbers[0]} WHERE id % 3 = 0, DELETE WHERE id % 13 = 1 SETTINGS mutations_sync = 1"]
        return self.pick(forms)

    def of_partition(self):
        p = {"": "tuple()", "toYYYYMM(d)": "202401", "id % 3": "1", "(toYYYYMM(d), id % 2)": "(202401, 1)", "toMonday(d)": "'2024-01-01'"}.get(self.partition, "'k1'" if self.text else "1")
        # Parts that come back have other numbers than those that mutations have pushed up.
        self.changed = True
        return self.pick([f"ALTER TABLE t DETACH PARTITION {p}", f"ALTER TABLE t ATTACH PARTITION {p}", f"ALTER TABLE t DROP PARTITION {p}", f"ALTER TABLE t DELETE IN PARTITION {p} WHERE {self.condition()} SETTINGS mutations_sync = 1", f"OPTIMIZE TABLE t PARTITION {p} FINAL"])

    def alter(self):
        self.fresh, self.changed = self.fresh + 1, True
        free = [n for n in COLUMNS if n not in self.declared]
        plain = self.plain()
        forms = []
        if free:
            name = self.pick(free)
            forms.append((f"ADD COLUMN {name} {COLUMNS[name][0]}" + self.pick(["", f" DEFAULT {self.constant_of(name)}"]), lambda: self.add(name)))
        if plain:
            c = self.pick(plain)
            forms += [(f"CLEAR COLUMN {c}", None), (f"MATERIALIZE COLUMN {c}", None), (f"MODIFY COLUMN {c} {COLUMNS[c][0]} CODEC(ZSTD(3))", None)]
            if c in ("few", "small", "nn", "s", "lc"):
                wider = {"few": "UInt32", "small": "Int64", "nn": "Nullable(Int64)", "s": "LowCardinality(String)", "lc": "String"}[c]
                forms.append((f"MODIFY COLUMN {c} {wider}", lambda: self.declared.update({c: wider})))
        forms += [(f"ADD INDEX {self.index('x' + str(self.fresh))}", None), (f"MATERIALIZE INDEX {self.pick(self.indexes)}" if self.indexes else "MODIFY COMMENT 'none'", None), (f"DROP INDEX {self.pick(self.indexes)}" if self.indexes else "MODIFY COMMENT 'none'", None)]
        if self.engine == "MergeTree":
            # Where rows of equal keys become one, it matters when the clock merges them.
            forms += [("MODIFY TTL d + INTERVAL 2 YEAR", None), ("MATERIALIZE TTL", None), ("MODIFY TTL d + INTERVAL 1 YEAR DELETE WHERE id % 5 = 0", None), ("REMOVE TTL", None)]
            forms += [(f"ADD PROJECTION {self.projection('y' + str(self.fresh))}", None)]
            forms += [(f"MATERIALIZE PROJECTION {self.pick(self.projections)}", None), (f"DROP PROJECTION {self.pick(self.projections)}", None)] if self.projections else []
        text, done = self.pick(forms)
        if done:
            done()
        if text.startswith("MODIFY TTL"):
            return f"ALTER TABLE t {text} SETTINGS materialize_ttl_after_modify = 0"
        return f"ALTER TABLE t {text} SETTINGS mutations_sync = 2" if text.startswith(("MATERIALIZE", "CLEAR", "MODIFY COLUMN")) else f"ALTER TABLE t {text}"

    def constant_of(self, name):
        return self.constant(name, 77, 3)

    def add(self, name):
        self.columns[name] = COLUMNS[name]
        self.declared[name] = COLUMNS[name][0]


def statements(seed, number, args):
    return Rows(random.Random(f"{seed} {number}"), args.rows).statements(args.length)


def plainly(sql):
    """A question with what may leave rows out switched off."""
    if not sql.startswith("SELECT") or "force_" in sql:
        return None
    return f"{sql}, {PLAINLY}" if " SETTINGS " in sql else f"{sql} SETTINGS {PLAINLY}"


def compared(args, sqls, engines):
    """Yields what differs, statement by statement; ends where the tables differ."""
    kernel, ours = engines
    for at, sql in enumerate(sqls):
        if at == 1:
            ours.ask("SYSTEM STOP MERGES", 60)
        answers = [engine.ask(sql, 120) for engine in engines]
        if sql.startswith("CHECK"):
            # Parts without rows are kept for a while by the kernel.
            for answer in answers:
                answer.rows = tuple(sorted({row.split("\t")[1] for row in answer.rows} | {"1"}))
        found = difference(*answers, "ORDER BY" in sql and "GROUP BY" not in sql)
        if not found and (again := plainly(sql)) and not answers[1].code:
            plain = ours.ask(again, 120)
            if difference(answers[1], plain, False):
                yield at, sql, "own", answers[1], plain
        if found:
            yield at, sql, found, *answers
        if any(answer.end for answer in answers):
            return
        is_question = sql.startswith(("SELECT", "CHECK"))
        if found and not is_question:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--program", type=int, help="show this one")
    parser.add_argument("--ours", default="", help="the folder of the package to test, when it is not installed")
    parser.add_argument("--disk", action="store_true")
    parser.add_argument("--rows", type=int, default=4000, help="of an INSERT, at most")
    parser.add_argument("--length", type=int, default=40, help="statements of a program, about")
    args = parser.parse_args()
    fuzz_engine.LIMITS[:] = [*LIMITS, "SET max_execution_time = 100"]
    counts, groups = Counter(), {}
    number, end = args.program or 0, time.monotonic() + args.seconds
    while time.monotonic() < end:
        sqls = statements(args.seed, number, args)
        engines = Engine("kernel", "", []), Engine("chalet", args.ours, [])
        if args.disk:
            engines[1].database = "db.chalet"
        for engine in engines:
            engine.start()
        found = list(compared(args, sqls, engines))
        for engine in engines:
            engine.stop()
        counts["programs"] += 1
        counts["statements"] += len(sqls)
        counts["programs that differ"] += bool(found)
        for at, sql, what, k, o in found:
            groups.setdefault((what, f"{k.code} {o.code} {kind(sql)}"), []).append((number, at, sql, k, o))
        if args.program is not None:
            marks = {at: (what, k, o) for at, _, what, k, o in found}
            for at, sql in enumerate(sqls):
                print(f"{sql};")
                if at in marks:
                    what, k, o = marks[at]
                    print(f"-- {what}\n--   kernel: {k.text[:300] or k.rows[:6]}\n--   ours:   {o.text[:300] or o.rows[:6]}")
            return
        number += 1
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    for (what, detail), findings in sorted(groups.items(), key=lambda g: -len(g[1])):
        number, at, sql, k, o = min(findings, key=lambda f: len(f[2]))
        print(f"\n{len(findings):5} {what} {detail} (program {number}, statement {at})\n      {sql}\n      kernel: {k.text[:300] or k.rows[:4]}\n      ours:   {o.text[:300] or o.rows[:4]}")
    sys.exit(1 if groups else 0)


if __name__ == "__main__":
    main()
