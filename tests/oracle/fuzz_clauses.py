"""SELECTs of random clauses over small tables, made by a grammar of typed expressions."""

import random

ROWS = 12
TYPES = {
    "id": "UInt32", "k": "UInt8", "n": "Nullable(Int32)", "s": "String", "ls": "LowCardinality(String)", "ns": "Nullable(String)", "d": "Date", "dt": "DateTime",
    "f": "Float64", "p": "Decimal(10, 2)", "a": "Array(Int32)", "m": "Map(String, Int32)", "tu": "Tuple(x Int32, y String)", "e": "Enum8('u' = 1, 'v' = 2)", "b": "Bool",
}
# The columns by what can be done with them.
CLASSES = {"num": ["id", "k", "n", "f", "p"], "int": ["id", "k", "n"], "str": ["s", "ls", "ns"], "time": ["d", "dt"], "arr": ["a"], "bool": ["b"], "other": ["e", "m", "tu"]}
GROUPINGS = ["{}", "{}", "{}", "{} WITH TOTALS", "ROLLUP({})", "CUBE({})", "{} WITH ROLLUP", "{} WITH CUBE", "{} WITH ROLLUP WITH TOTALS"]
JOINS = [
    "JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN", "LEFT SEMI JOIN", "RIGHT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT ANTI JOIN", "ANY LEFT JOIN",
    "ALL INNER JOIN", "ASOF JOIN", "ASOF LEFT JOIN", "CROSS JOIN", "ANY INNER JOIN", "GLOBAL LEFT JOIN",
]
SETTINGS = [
    "join_use_nulls = 1", "group_by_use_nulls = 1", "transform_null_in = 1", "aggregate_functions_null_for_empty = 1", "union_default_mode = 'DISTINCT'", "extremes = 1",
    "prefer_column_name_to_alias = 1", "enable_optimize_predicate_expression = 0", "max_block_size = 3", "cast_keep_nullable = 1",
    "enable_positional_arguments = 0", "optimize_aggregators_of_group_by_keys = 0", "totals_mode = 'before_having'", "any_join_distinct_right_table_keys = 1",
    "data_type_default_nullable = 1", "final = 1", "date_time_output_format = 'iso'", "output_format_decimal_trailing_zeros = 1", "default_null_order = 'nulls_first'",
    "bool_true_representation = 'yes'", "decimal_check_overflow = 0", "regexp_max_matches_per_row = 3", "short_circuit_function_evaluation = 'disable'", "distinct_overflow_mode = 'break'",
]
WINDOWS = [
    "", "ORDER BY {o}", "PARTITION BY {p}", "PARTITION BY {p} ORDER BY {o}", "ORDER BY {o} DESC", "PARTITION BY {p} ORDER BY {o} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ORDER BY {o} ROWS UNBOUNDED PRECEDING", "ORDER BY {o} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "ORDER BY {o} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING", "PARTITION BY {p} ORDER BY {o} GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "ORDER BY {o} NULLS FIRST",
]


def tables(rng):
    """t1 is a MergeTree with a sampling key, t2 keeps rows in memory, t3 replaces rows by version; the rows hold NULLs and repeats."""
    columns = ", ".join(f"{c} {ty}" for c, ty in TYPES.items())
    pick = rng.choice
    rows = []
    for i in range(ROWS):
        rows.append(
            f"({i}, {pick([0, 1, 1, 2, 3, 255])}, {pick(['NULL', '1', '2', '-5', '0'])}, {pick(TEXTS)}, {pick(TEXTS)}, {pick(['NULL', *TEXTS])}, '2024-0{pick([1, 1, 2, 3])}-{pick([10, 28, 29])}',"
            f" '2024-01-{pick([10, 31])} {pick([10, 23])}:30:00', {pick(['0', '1.5', '-2.25', '100', 'nan', 'inf'])}, {pick(['0', '1.25', '-3.1', '99999.99'])}, {pick(['[]', '[1]', '[2, 1, 2]', '[3, -1]'])},"
            f" {pick(['{}', chr(123) + chr(39) + 'a' + chr(39) + ': 1}', chr(123) + chr(39) + 'a' + chr(39) + ': 2, ' + chr(39) + 'b' + chr(39) + ': 3}'])}, ({pick([1, 2])}, {pick(TEXTS)}), '{pick('uv')}', {pick(['true', 'false'])})"
        )
    half = ROWS // 2
    return [
        f"CREATE TABLE t1 ({columns}) ENGINE = MergeTree ORDER BY (k, intHash32(id)) SAMPLE BY intHash32(id)",
        f"INSERT INTO t1 VALUES {', '.join(rows)}",
        f"CREATE TABLE t2 ({columns}) ENGINE = Memory",
        f"INSERT INTO t2 VALUES {', '.join(rows[half:] + rows[:3])}",
        "CREATE TABLE t3 (id UInt32, k UInt8, s String, v UInt64) ENGINE = ReplacingMergeTree(v) ORDER BY k",
        "INSERT INTO t3 VALUES (1, 1, 'old', 1), (2, 2, 'b', 1)",
        "INSERT INTO t3 VALUES (3, 1, 'new', 2), (4, 3, 'c', 1)",
    ]


TEXTS = ["''", "'a'", "'b'", "'abc'", "'ä€'", "'B'", "'x y'", "'10'"]


class Clauses:
    """The generator of SELECTs."""

    kind = "clause"
    setup = staticmethod(tables)

    def __init__(self, _pair):
        self.rng = random.Random(0)
        self.tags = []

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, choices):
        return self.rng.choice(choices)

    def next(self, rng):
        self.rng, self.tags, self.fresh = rng, [], 0
        roll = rng.random()
        if roll < 0.08:
            kind = self.pick(["UNION ALL", "UNION DISTINCT", "EXCEPT", "INTERSECT", "UNION ALL", "EXCEPT DISTINCT", "INTERSECT DISTINCT", "UNION"])
            self.tags.append(kind)
            width = self.pick([1, 2])
            types = [self.pick(["num", "str", "int", "time"]) for _ in range(width)]
            sides = ["SELECT " + ", ".join(self.expression(t, 1, "") for t in types) + f" FROM {self.pick(['t1', 't2'])}" for _ in range(self.pick([2, 2, 3]))]
            sql = f" {kind} ".join(sides)
            sql = f"SELECT * FROM ({sql})" + self.pick(["", " ORDER BY ALL", " LIMIT 100"])
        elif roll < 0.14:
            self.tags.append("WITH")
            sql = self.common_table()
        else:
            sql = self.select(2)
        return sql, "+".join(sorted(set(self.tags))) or "SELECT", None

    def learn(self, token, kernel):
        """Statements of the grammar do not depend on earlier answers."""

    def common_table(self):
        inner = self.select(0)
        roll = self.rng.random()
        if roll < 0.3:
            return f"WITH {self.expression('num', 1, '')} AS z SELECT z, z + 1, k FROM t1 ORDER BY ALL"
        if roll < 0.5:
            return f"WITH (SELECT {self.pick(['max', 'min', 'sum', 'count', 'any'])}({self.pick(CLASSES['num'])}) FROM t2) AS z SELECT z, k {self.pick('+-*/%')} z FROM t1 ORDER BY ALL"
        if roll < 0.6:
            return f"WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < {self.pick([3, 5])}) SELECT {self.pick(['x', 'sum(x)', 'x * 2, toTypeName(x)'])} FROM r"
        if roll < 0.8:
            return f"WITH q AS ({inner}) SELECT {self.pick(['count()', '*', 'q.*', '* EXCEPT (k)', 'COLUMNS(' + chr(39) + '.' + chr(39) + ')'])} FROM q"
        return f"WITH q AS (SELECT k, n, s FROM t1 WHERE {self.expression('cond', 1, '')}) SELECT a.k, b.s FROM q AS a {self.pick(['JOIN', 'LEFT JOIN'])} q AS b ON a.k = b.k ORDER BY ALL"

    def column(self, kind, prefix):
        return prefix + self.pick(CLASSES[kind])

    def expression(self, kind, depth, prefix):
        """An expression of a class of types over the columns of the table with the prefix."""
        sub = lambda k: self.expression(k, depth - 1, prefix)
        if kind == "any":
            return self.expression(self.pick(["num", "num", "str", "time", "arr", "bool", "other", "cond", "str"]), depth, prefix)
        if depth <= 0 or self.chance(0.25) or kind == "other":
            literals = {"num": ["1", "0", "-1", "2.5", "NULL", "1000000", "toDecimal32(1.5, 1)"], "int": ["1", "2", "0", "-3"], "str": TEXTS, "time": ["toDate('2024-01-31')", "toDateTime('2024-01-10 10:30:00')"]}
            literals |= {"arr": ["[1, 2]", "[]", "[NULL, 3]"], "bool": ["true", "false"], "cond": ["1", "0", "NULL"], "other": ["(1, 'a')", "map('a', 1)"]}
            if kind in CLASSES and self.chance(0.75):
                return self.column(kind, prefix)
            return self.pick(literals[kind]) if kind != "cond" or depth > 0 else self.condition(0, prefix, sub)
        if kind == "cond":
            return self.condition(depth, prefix, sub)
        if kind in ("num", "int"):
            forms = [
                lambda: f"{sub(kind)} {self.pick('+-*')} {sub(kind)}", lambda: f"{sub('num')} / {sub('int')}", lambda: f"{sub('int')} % {self.pick(['2', '3', sub('int')])}", lambda: f"-{sub(kind)}",
                lambda: f"length({sub(self.pick(['str', 'arr']))})", lambda: f"if({sub('cond')}, {sub(kind)}, {sub(kind)})", lambda: f"coalesce({sub(kind)}, {sub(kind)})",
                lambda: f"CASE WHEN {sub('cond')} THEN {sub(kind)} {self.pick(['', 'ELSE ' + sub(kind)])} END", lambda: f"round({sub('num')}, 1)", lambda: f"abs({sub(kind)})",
                lambda: f"to{self.pick(['Int64', 'UInt8', 'Float32', 'Int32OrNull', 'String', 'Year', 'Month'])}({sub(self.pick(['int', 'time', 'str']))})", lambda: f"{sub('arr')}[{self.pick(['1', '-1', sub('int')])}]",
                lambda: f"CAST({sub(kind)} AS {self.pick(['Int64', 'Float64', 'Nullable(Int8)', 'String', 'Decimal(10, 3)'])})", lambda: f"intDiv({sub('int')}, {self.pick(['2', sub('int')])})",
                lambda: f"(SELECT {self.pick(['max(id)', 'count()', 'any(k)', 'sum(f)'])} FROM t2)", lambda: f"nullIf({sub(kind)}, {sub(kind)})", lambda: f"greatest({sub(kind)}, {sub(kind)})",
            ]
            return self.wrap(self.pick(forms)())
        if kind == "str":
            forms = [
                lambda: f"concat({sub('str')}, {sub('any')})", lambda: f"{sub('str')} || {sub('str')}", lambda: f"upper({sub('str')})", lambda: f"substring({sub('str')}, {sub('int')})", lambda: f"toString({sub('any')})",
                lambda: f"if({sub('cond')}, {sub('str')}, {sub('str')})", lambda: f"replaceAll({sub('str')}, 'a', {sub('str')})", lambda: f"ifNull({sub('str')}, {sub('str')})", lambda: f"leftPad({sub('str')}, 4, '*')",
                lambda: f"multiIf({sub('cond')}, {sub('str')}, {sub('cond')}, {sub('str')}, {sub('str')})", lambda: f"arrayStringConcat({sub('arr')}, ',')", lambda: f"transform({sub('str')}, ['a', 'b'], ['x', 'y'], {sub('str')})",
                lambda: f"formatDateTime({sub('time')}, '%Y-%m')", lambda: f"toTypeName({sub('any')})", lambda: f"{prefix}e::String", lambda: f"{prefix}tu.y",
            ]
            return self.wrap(self.pick(forms)())
        if kind == "time":
            forms = [
                lambda: f"toStartOf{self.pick(['Month', 'Week', 'Year', 'Quarter', 'Day', 'Hour'])}({sub('time')})", lambda: f"{sub('time')} {self.pick('+-')} INTERVAL {self.pick(['1', '2', prefix + 'k'])} {self.pick(['DAY', 'MONTH', 'HOUR', 'YEAR', 'WEEK'])}",
                lambda: f"toDate({sub('time')})", lambda: f"least({sub('time')}, {sub('time')})", lambda: f"dateTrunc('{self.pick(['month', 'day', 'hour'])}', {sub('time')})", lambda: f"addDays({sub('time')}, {sub('int')})",
                lambda: f"if({sub('cond')}, {sub('time')}, {sub('time')})", lambda: f"toDateTime({sub('time')}, 'Asia/Kolkata')",
            ]
            return self.pick(forms)()
        if kind == "arr":
            forms = [
                lambda: f"arrayMap(x -> x + {sub('int')}, {sub('arr')})", lambda: f"arrayFilter(x -> x > {self.pick(['0', '1'])}, {sub('arr')})", lambda: f"arraySort({sub('arr')})", lambda: f"arrayConcat({sub('arr')}, {sub('arr')})",
                lambda: f"[{sub('num')}, {sub('num')}]", lambda: f"range({self.pick(['3', prefix + 'id'])})", lambda: f"arrayDistinct({sub('arr')})", lambda: f"arrayReverse({sub('arr')})", lambda: f"arraySlice({sub('arr')}, 1, 2)",
                lambda: f"arrayEnumerate({sub('arr')})", lambda: f"groupArrayArray({sub('arr')})" if self.chance(0.05) else f"mapValues({prefix}m)",
            ]
            return self.pick(forms)()
        return f"({sub('cond')})"

    def wrap(self, text):
        """Parentheses, and now and then an alias in the middle of an expression."""
        if self.chance(0.03):
            self.fresh += 1
            return f"({text} AS z{self.fresh})"
        return f"({text})" if self.chance(0.6) or text[0] == "-" else text

    def condition(self, depth, prefix, sub):
        kind = self.pick(["num", "int", "str", "time", "num", "int"])
        one = lambda k: self.expression(k, depth - 1, prefix)
        forms = [
            lambda: f"{one(kind)} {self.pick(['=', '!=', '<', '>', '<=', '>=', '<>', '=='])} {one(kind)}", lambda: f"{one('int')} {self.pick(['IN', 'NOT IN'])} ({self.pick(['1, 2', '1', '0, NULL', '1, 2, 255'])})",
            lambda: f"{one('str')} {self.pick(['LIKE', 'ILIKE', 'NOT LIKE'])} {self.pick(['%a%', 'a_c', '%', 'B'])!r}", lambda: f"{one(self.pick(['num', 'str', 'time']))} IS {self.pick(['', 'NOT '])}NULL",
            lambda: f"{one('num')} BETWEEN {one('num')} AND {one('num')}", lambda: f"{prefix}{self.pick(['k', 'id'])} IN (SELECT {self.pick(['k', 'id', 'n'])} FROM t2)", lambda: f"has({one('arr')}, {one('int')})",
            lambda: f"empty({one(self.pick(['str', 'arr']))})", lambda: f"({prefix}k, {prefix}s) IN ((1, 'a'), (2, 'b'))", lambda: f"({prefix}k, {prefix}s) IN (SELECT k, s FROM t2)", lambda: f"{prefix}s IN ('a', {self.pick(TEXTS)})",
            lambda: f"{one('num')} = ANY (SELECT k FROM t2)", lambda: f"EXISTS (SELECT 1 FROM t2 WHERE {self.expression('cond', 0, '')})" if self.chance(0.3) else "1", lambda: f"{prefix}b", lambda: f"{prefix}e = 'u'",
            lambda: f"{one(kind)} IS NOT DISTINCT FROM {one(kind)}", lambda: f"{prefix}d IN ('2024-01-10', '2024-02-29')", lambda: f"{prefix}n IN (1, NULL)",
        ]
        if depth > 0 and self.chance(0.35):
            return self.pick([lambda: f"({one('cond')} AND {one('cond')})", lambda: f"({one('cond')} OR {one('cond')})", lambda: f"NOT {one('cond')}", lambda: f"xor({one('cond')}, {one('cond')})"])()
        return self.pick(forms)()

    def aggregate(self, prefix):
        x = lambda k: self.expression(k, 1, prefix)
        forms = [
            "count()", f"count({x('any')})", f"sum({x('num')})", f"min({x('any')})", f"max({x('any')})", f"avg({x('num')})", f"uniqExact({x('any')})", f"countIf({x('cond')})", f"sumIf({x('num')}, {x('cond')})",
            f"arraySort(groupArray({x('num')}))", f"any({self.column('int', prefix)} * 0)", f"quantileExact(0.5)({x('num')})", f"count(DISTINCT {x('any')})", f"argMax({x('str')}, {prefix}id)", f"sumOrNull({x('num')})",
            f"maxMap({prefix}m)", f"sumArray({x('arr')})", f"groupBitOr({prefix}k)", f"minOrDefault({x('time')})", f"stddevPop({x('num')})", f"arraySort(groupUniqArray({x('str')}))", f"uniq({x('str')})",
            f"sum({x('num')}) FILTER (WHERE {x('cond')})", f"anyLast({self.column('int', prefix)} * 0)", f"median({x('num')})",
        ]
        return self.pick(forms)

    def source(self, depth):
        """FROM with its joins: the text, the prefix for columns, whether the rows may be sampled."""
        roll = self.rng.random()
        if roll < 0.55 or depth == 0:
            table = self.pick(["t1", "t1", "t2"])
            return table, ""
        if roll < 0.62:
            self.tags.append("FINAL")
            return f"(SELECT t1.* FROM t1 WHERE k IN (SELECT k FROM t3 FINAL))", ""
        if roll < 0.72:
            self.tags.append("subquery")
            return f"(SELECT * FROM {self.pick(['t1', 't2'])} WHERE {self.expression('cond', 1, '')})" + self.pick(["", " AS q"]), ""
        kind = self.pick(JOINS)
        self.tags.append(kind)
        left, right = self.pick([("t1", "t2"), ("t2", "t1"), ("t1", "t1")])
        if kind == "CROSS JOIN":
            return f"{left} AS l {kind} {right} AS r", self.pick(["l.", "r."])
        if "ASOF" in kind:
            return f"{left} AS l {kind} {right} AS r ON l.k = r.k AND l.id {self.pick(['>=', '>', '<=', '<'])} r.id", "l."
        if self.chance(0.25):
            return f"{left} AS l {kind} {right} AS r USING ({self.pick(['k', 'k, s', 'n', 'id', 'd'])})", self.pick(["l.", "r."])
        on = self.pick(["l.k = r.k", "l.id = r.id", "l.n = r.n", "l.s = r.s", "l.ns = r.ls", "l.k = r.n", "l.id = r.id AND l.k > r.k", "l.d = r.d AND r.k = 1", "l.k = r.k AND l.s != 'a'", "l.k + 1 = r.k", "l.n IS NOT DISTINCT FROM r.n", "l.id = r.id OR l.k = r.id", "l.k < r.k"])
        return f"{left} AS l {kind} {right} AS r ON {on}", "l." if "RIGHT" not in kind and ("SEMI" in kind or "ANTI" in kind or "ANY" in kind) else "r." if "SEMI" in kind or "ANTI" in kind else self.pick(["l.", "r."])

    def select(self, depth):
        table, prefix = self.source(depth)
        x = lambda k, d=depth: self.expression(k, d, prefix)
        items, tail, distinct = [], [], ""
        if not prefix and table == "t1" and self.chance(0.03):
            self.tags.append("SAMPLE")
            table += " SAMPLE " + self.pick(["1/2", "0.3", "1/2 OFFSET 1/2", "5"])
        if not prefix and self.chance(0.08):
            self.tags.append("ARRAY JOIN")
            table += self.pick([" ARRAY JOIN a", " LEFT ARRAY JOIN a", " ARRAY JOIN a AS x1", " LEFT ARRAY JOIN a AS x1, arrayEnumerate(a) AS x2", " ARRAY JOIN m", " ARRAY JOIN [1, 2] AS x1"])
        if self.chance(0.08) and not prefix and table[:2] == "t1":
            self.tags.append("PREWHERE")
            tail.append(f"PREWHERE {x('cond', 1)}")
        if self.chance(0.4):
            self.tags.append("WHERE")
            tail.append(f"WHERE {x('cond')}")
        grouped = self.chance(0.35)
        if grouped:
            keys = [self.expression(self.pick(["int", "str", "num", "time"]), self.pick([0, 0, 1]), prefix) for _ in range(self.pick([0, 1, 1, 2, 2, 3]))]
            items = [*keys, *(self.aggregate(prefix) for _ in range(self.pick([1, 1, 2])))]
            if keys:
                self.grouping(keys, tail, items)
            if self.chance(0.2):
                self.tags.append("HAVING")
                tail.append(f"HAVING {self.pick(['count() > 1', self.aggregate(prefix) + ' > 1', (keys or ['1'])[0] + ' IS NOT NULL', 'sum(' + prefix + 'k) != 0'])}")
        else:
            items = [x("any") for _ in range(self.pick([1, 1, 2, 3]))]
            if self.chance(0.08):
                self.tags.append("*")
                items.append(self.pick(["*", "* EXCEPT (a, m)", "COLUMNS('^[kn]')", "* REPLACE (k + 1 AS k)", "COLUMNS('k|id') APPLY(toString)", "* EXCEPT(s, ns) APPLY(toTypeName)"]))
            if self.chance(0.12):
                self.window(items, prefix)
                if self.chance(0.3):
                    self.tags.append("QUALIFY")
                    items.append(f"row_number() OVER (PARTITION BY {prefix}k ORDER BY {prefix}id) AS rn")
                    tail.append("QUALIFY rn = 1")
            if self.chance(0.1):
                self.tags.append("DISTINCT")
                distinct = "DISTINCT "
        if self.chance(0.25):
            items[0] = f"{items[0]} AS {self.pick(['q0', 'q0', 'k', 's'])}" if "*" not in items[0] and " AS " not in items[0] else items[0]
        self.order(items, tail, prefix, grouped)
        if self.chance(0.08):
            self.tags.append("SETTINGS")
            tail.append("SETTINGS " + self.pick(SETTINGS))
        return f"SELECT {distinct}{', '.join(items)} FROM {table} {' '.join(tail)}".strip()

    def grouping(self, keys, tail, items):
        if self.chance(0.1):
            self.tags.append("GROUPING SETS")
            tail.append(f"GROUP BY GROUPING SETS (({', '.join(keys)}), ({keys[0]}), ())")
            if self.chance(0.4):
                items.append(f"grouping({keys[0]})")
        elif self.chance(0.1):
            self.tags.append("GROUP BY ALL")
            tail.append("GROUP BY ALL")
        else:
            form = self.pick(GROUPINGS)
            self.tags.append("GROUP BY" + form.replace("{}", "").replace("()", ""))
            listed = ", ".join(str(i + 1) for i in range(len(keys))) if self.chance(0.15) else ", ".join(keys)
            tail.append("GROUP BY " + form.format(listed))

    def window(self, items, prefix):
        self.tags.append("window")
        one = lambda k: self.expression(k, 0, prefix)
        call = self.pick([
            "row_number()", "rank()", "dense_rank()", f"sum({one('num')})", "count()", f"lagInFrame({one('num')})", f"leadInFrame({one('str')}, 1, 'z')", f"first_value({one('num')})", f"last_value({one('str')})",
            f"max({one('time')})", f"nth_value({one('num')}, 2)", f"lag({one('num')}, 2)", f"lead({one('int')}, 1, 0)", "ntile(3)", "percent_rank()", "cume_dist()", f"avg({one('num')})", f"groupArray({one('int')})",
        ])
        form = self.pick(WINDOWS).format(o=f"{prefix}id", p=self.pick([f"{prefix}k", f"{prefix}s", f"{prefix}n"]))
        items.append(f"{call} OVER ({form})")

    def order(self, items, tail, prefix, grouped):
        roll = self.rng.random()
        if roll < 0.4:
            return
        if roll < 0.55 and not grouped:
            direction = self.pick(["", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST", " NULLS FIRST", " DESC NULLS FIRST"])
            key = self.pick([f"{prefix}n", f"{prefix}s", f"{prefix}ns COLLATE 'en'", f"{prefix}f", f"{prefix}e", f"{prefix}tu", f"{prefix}a", f"{prefix}d"])
            self.tags.append("ORDER BY" + direction + (" COLLATE" if "COLLATE" in key else ""))
            tail.append(f"ORDER BY {key}{direction}, {prefix}id")
        elif roll < 0.6 and not grouped:
            self.tags.append("WITH FILL")
            items.append(f"{prefix}k AS fill")
            tail.append("ORDER BY fill WITH FILL" + self.pick(["", " FROM 0", " FROM 0 TO 5", " STEP 2", " FROM 0 TO 6 STEP 2", " TO 4", " FROM 0 TO 5 INTERPOLATE"]) + ("" if self.chance(0.7) else ", 1"))
            return
        else:
            self.tags.append("ORDER BY")
            tail.append(f"ORDER BY {self.pick(['ALL', ', '.join(str(i + 1) for i in range(len(items))), '1', 'ALL DESC'])}")
        if self.chance(0.35) and tail[-1] != "ORDER BY 1":
            limit = self.pick(["LIMIT 3", "LIMIT 2 OFFSET 1", "LIMIT 1, 2", "OFFSET 2", "LIMIT 2 WITH TIES", "LIMIT -2", "LIMIT 0.5", "LIMIT 0", "OFFSET 1 ROW FETCH FIRST 2 ROWS ONLY", "LIMIT -2 OFFSET -1", "LIMIT 0.3 OFFSET 1"])
            self.tags.append(limit)
            tail.append(limit)
        elif self.chance(0.12):
            by = self.pick(["LIMIT 1 BY", "LIMIT 1 OFFSET 1 BY", "LIMIT 2 BY"])
            self.tags.append(by)
            tail.append(f"{by} {self.pick([items[0].partition(' AS ')[0], prefix + 'k']) if not grouped and '*' not in items[0] else '1'}")
