"""The statements of tests/sql with one or two things changed: a literal, a function, a type, a clause, a wrapper around an argument."""

import re

import fuzz_values as values
import slt
from fuzz_functions import LEFT_OUT, calls
from oracle import READS, SQL

TOKEN = re.compile(r"'(?:[^'\\]|\\.|'')*'|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\s+|.", re.S)
NUMBERS = ["0", "1", "2", "3", "7", "10", "-1", "255", "256", "65536", "4294967296", "1.5", "0.1", "NULL", "1e10", "18446744073709551615", "-9223372036854775808", "'1'", "nan", "true"]
TYPE = re.compile(r"\b(U?Int(?:8|16|32|64|128|256)|Float(?:32|64)|String|Date(?:32)?|DateTime|UUID|Bool|IPv[46])\b(?!\()")
TYPES = ["UInt8", "Int32", "Int64", "UInt64", "Float64", "String", "Date", "DateTime", "Nullable(Int32)", "Nullable(String)", "LowCardinality(String)", "Int128", "Decimal(18, 4)", "DateTime64(3)", "Float32", "Date32", "Bool", "Array(Int32)", "FixedString(4)", "UUID"]
CLAUSE = re.compile(r"\b(WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|OFFSET|SETTINGS|QUALIFY|WINDOW|PREWHERE|WITH TOTALS|WITH ROLLUP|WITH CUBE|DESC|DISTINCT|ALL|ANY|LEFT|SEMI|FINAL|NULLS FIRST|WITH TIES)\b")
ADDED = [" LIMIT 1", " LIMIT 2 OFFSET 1", " ORDER BY 1", " ORDER BY 1 DESC", " ORDER BY ALL", " SETTINGS join_use_nulls = 1", " SETTINGS max_block_size = 1", " SETTINGS group_by_use_nulls = 1", " LIMIT 1 BY 1", " WHERE 1", " WHERE NULL", " GROUP BY ALL", " LIMIT 1 WITH TIES", " SETTINGS aggregate_functions_null_for_empty = 1", " SETTINGS extremes = 1", " UNION ALL SELECT 1"]
OPERATORS = [["+", "-", "*", "/", "%"], ["=", "!=", "<", ">", "<=", ">=", "<=>"], ["AND", "OR"], ["IN", "NOT IN"], ["LIKE", "ILIKE", "NOT LIKE"], ["DESC", "ASC"], ["LEFT", "RIGHT", "FULL", "INNER"], ["UNION ALL", "UNION DISTINCT", "EXCEPT", "INTERSECT"], ["ANY", "ALL", "SEMI", "ANTI"]]
# Files whose answers are about the machine, the clock, our own forms or another engine.
LEFT_OUT_FILES = re.compile(r"^(explain|errors/syntax|settings/(query_log|profile)|sources/(remote|url|s3|cluster)|ddl/|dictionaries/|functions/(random|introspection|server))")
UNSURE = re.compile(r"\b(now\w*|today|yesterday|rand\w*|generateUUID\w*|hostName|system\.|INTO OUTFILE|EXPLAIN|SHOW|DESC(RIBE)? |sleep\w*|version|uptime|currentDatabase|generateRandom|rowNumberIn\w+|blockNumber|query_id|timezone|FORMAT)\b", re.I)
EACH = 60  # mutated statements a file before the next one
SETUP = re.compile(r"^\s*(CREATE|INSERT|SET|ALTER)\b", re.I)


class Records:
    """The generator of mutated records; each file has its own tables."""

    kind = "record"
    setup = None

    def __init__(self, pair):
        self.pair, self.left = pair, 0
        self.files = []
        self.by_arity = {}
        for path in sorted(SQL.rglob("*.slt")):
            name = str(path.relative_to(SQL))
            if LEFT_OUT_FILES.match(name):
                continue
            records = [r for r in slt.parse(path.read_text(encoding="utf-8"), name) if not r.only]
            queries = [r.sql for r in records if r.kind in ("query", "error") and READS.match(r.sql) and not UNSURE.search(r.sql)]
            setup = [r.sql for r in records if r.kind == "ok" and SETUP.match(r.sql)]
            if queries:
                self.files.append((name, setup, queries))
        known = re.compile(r"\b([A-Za-z_]\w*)\(")
        names = {m for _, _, queries in self.files for q in queries for m in known.findall(q)}
        for _, _, queries in self.files:
            for q in queries:
                for name, arguments in calls(q, names):
                    if not LEFT_OUT.search(name) and name.lower() not in ("numbers", "values", "file", "in", "from", "as", "by", "on", "over", "and", "or"):
                        self.by_arity.setdefault(len(arguments), set()).add(name)
        self.by_arity = {n: sorted(s) for n, s in self.by_arity.items()}

    def next(self, rng):
        if self.left == 0:
            self.left = EACH
            self.name, setup, self.queries = rng.choice(self.files)
            self.pair.prepare(setup)
        self.left -= 1
        sql = rng.choice(self.queries)
        for _ in range(rng.choice([1, 1, 1, 2])):
            sql = self.mutated(rng, sql)
        return sql, self.name, None

    def learn(self, token, kernel):
        """Every file has its own statements: nothing to learn."""

    def mutated(self, rng, sql):
        tokens = TOKEN.findall(sql)
        numbers = [i for i, t in enumerate(tokens) if t[0].isdigit()]
        texts = [i for i, t in enumerate(tokens) if t[0] == "'"]
        heads = [i for i, t in enumerate(tokens[:-1]) if re.match(r"[A-Za-z_]\w*$", t) and tokens[i + 1] == "(" and not t.isupper()]
        ways = ["wrap", "wrap", "literal", "literal", "function", "function", "clause", "drop", "operator", "type"]
        way = rng.choice(ways)
        if way == "literal" and numbers + texts:
            i = rng.choice(numbers + texts)
            tokens[i] = rng.choice(NUMBERS) if i in numbers and rng.random() < 0.8 else rng.choice(values.TEXTS)
        elif way == "wrap" and numbers + texts + heads:
            i = rng.choice(numbers + texts + heads)
            wrapper = rng.choice(["toNullable", "materialize", "toLowCardinality", "toString", "assumeNotNull", "CAST", "materialize"])
            end = i + 1 if i not in heads else self.end(tokens, i + 1)
            inner = "".join(tokens[i:end])
            tokens[i:end] = [f"CAST({inner} AS {rng.choice(TYPES)})" if wrapper == "CAST" else f"{wrapper}({inner})"]
        elif way == "function" and heads:
            i = rng.choice(heads)
            arity = len(values.split("".join(tokens[i + 2 : self.end(tokens, i + 1) - 1])))
            tokens[i] = rng.choice(self.by_arity.get(arity) or [tokens[i]])
        elif way == "type" and TYPE.search(sql):
            m = rng.choice(list(TYPE.finditer(sql)))
            return sql[: m.start()] + rng.choice(TYPES) + sql[m.end() :]
        elif way == "drop" and CLAUSE.search(sql):
            m = rng.choice(list(CLAUSE.finditer(sql)))
            following = CLAUSE.search(sql, m.end())
            end = following.start() if following and rng.random() < 0.8 else m.end() if rng.random() < 0.3 else len(sql)
            return sql[: m.start()] + sql[end:]
        elif way == "operator":
            choices = [(i, group) for i, t in enumerate(tokens) for group in OPERATORS if t in group]
            if choices:
                i, group = rng.choice(choices)
                tokens[i] = rng.choice(group)
        elif way == "clause":
            return sql + rng.choice(ADDED)
        return "".join(tokens)

    @staticmethod
    def end(tokens, i):
        """The index after the parenthesis that closes the one at `i`."""
        depth = 0
        for j in range(i, len(tokens)):
            depth += (tokens[j] in "([") - (tokens[j] in ")]") if tokens[j] else 0
            if depth == 0:
                return j + 1
        return len(tokens)
