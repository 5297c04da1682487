"""CREATE TABLE as it is written for the MergeTree family, with every clause, and rows for what was created."""

# Type, and literals that INSERT takes.
TYPES = {
    "UInt8": ["0", "1", "7", "255"], "UInt16": ["0", "300"], "UInt32": ["0", "5", "70000"], "UInt64": ["1", "3", "5000000000"], "Int8": ["-1", "100"], "Int32": ["0", "-70000", "42"],
    "Int64": ["-1", "10", "1700000000"], "Int128": ["0", "-7"], "UInt256": ["12"], "Float32": ["0", "1.5", "-0.25"], "Float64": ["0", "2.5", "-1e10", "nan"], "Bool": ["true", "false"],
    "Decimal(10, 2)": ["0", "1.25", "-3.5"], "Decimal64(4)": ["12.3456"], "Decimal128(6)": ["0.000001"], "String": ["''", "'a'", "'hello world'", "'x y z'", "'ä€'"], "FixedString(4)": ["'abcd'", "'x'"],
    "LowCardinality(String)": ["'red'", "'green'", "''"], "LowCardinality(Nullable(String))": ["NULL", "'p'"], "Nullable(Int32)": ["NULL", "1", "-5"], "Nullable(String)": ["NULL", "'n'", "''"],
    "Nullable(Float64)": ["NULL", "0.5"], "Nullable(DateTime)": ["NULL", "'2024-01-02 03:04:05'"], "Date": ["'2024-01-15'", "'2024-02-29'", "'2023-12-31'"], "Date32": ["'2024-01-15'", "'1950-01-01'"],
    "DateTime": ["'2024-01-15 10:00:00'", "'2024-02-29 23:59:59'"], "DateTime('Europe/Berlin')": ["'2024-01-15 10:00:00'"], "DateTime64(3)": ["'2024-01-15 10:00:00.123'"], "DateTime64(6, 'UTC')": ["'2024-01-15 10:00:00.123456'"],
    "UUID": ["'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "'00000000-0000-0000-0000-000000000000'"], "IPv4": ["'1.2.3.4'", "'10.0.0.1'"], "IPv6": ["'::1'"], "Enum8('a' = 1, 'b' = 2)": ["'a'", "'b'"],
    "Enum('new', 'paid', 'sent')": ["'new'", "'sent'"], "Array(UInt32)": ["[]", "[1, 2, 3]"], "Array(String)": ["[]", "['x', 'y']"], "Array(Array(Int8))": ["[[1], []]"], "Map(String, UInt64)": ["{}", "{'a': 1, 'b': 2}"],
    "Map(LowCardinality(String), String)": ["{'k': 'v'}"], "Tuple(a UInt8, b String)": ["(1, 'x')"], "Tuple(Float64, Float64)": ["(1.5, 2)"], "Nested(id UInt32, name String)": ["[1, 2], ['x', 'y']", "[], []"],
    "JSON": ["'{\"a\": 1, \"b\": {\"c\": \"x\"}}'", "'{}'"], "Variant(UInt64, String)": ["1", "'v'", "NULL"], "Dynamic": ["1", "'d'", "NULL"], "Time": ["'12:34:56'"], "BFloat16": ["1.5"], "Point": ["(1, 2)"],
}
NUMBERS = ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int32", "Int64", "Float32", "Float64", "Decimal(10, 2)", "Int128"]
TEXTS = ["String", "LowCardinality(String)", "Nullable(String)", "FixedString(4)"]
NAMES = ["id", "user_id", "name", "value", "price", "tags", "attrs", "status", "payload", "score", "region", "url", "amount", "flag", "x", "y", "`my col`", "n"]
CODECS = ["ZSTD", "ZSTD(3)", "LZ4", "LZ4HC(9)", "NONE", "Delta, ZSTD", "DoubleDelta, LZ4", "Gorilla", "T64", "Delta(4), LZ4", "Default", "Gorilla, ZSTD(1)", "FPC", "GCD, LZ4"]
STATISTICS = ["tdigest", "uniq", "minmax", "countmin", "tdigest, uniq"]
INDEX_TYPES = ["minmax", "minmax", "set(100)", "set(0)", "bloom_filter", "bloom_filter(0.01)", "ngrambf_v1(3, 256, 2, 0)", "tokenbf_v1(256, 2, 0)", "text(tokenizer = 'splitByNonAlpha')", "text(tokenizer = ngrams(3))", "sparse_grams(3, 5, 256, 2, 0)"]
SETTINGS = [
    "index_granularity = 8192", "index_granularity = 2", "index_granularity_bytes = 10485760", "min_bytes_for_wide_part = 0", "min_rows_for_wide_part = 0", "merge_with_ttl_timeout = 3600", "allow_nullable_key = 1",
    "storage_policy = 'default'", "ttl_only_drop_parts = 1", "enable_mixed_granularity_parts = 1", "parts_to_throw_insert = 3000", "old_parts_lifetime = 60", "non_replicated_deduplication_window = 100",
    "min_age_to_force_merge_seconds = 0", "allow_experimental_replacing_merge_with_cleanup = 1", "deduplicate_merge_projection_mode = 'rebuild'", "enable_block_number_column = 1, enable_block_offset_column = 1",
    "add_minmax_index_for_numeric_columns = 1", "ratio_of_defaults_for_sparse_serialization = 0.5", "compress_primary_key = 0", "assign_part_uuids = 1", "max_suspicious_broken_parts = 5", "lightweight_mutation_projection_mode = 'rebuild'",
    "auto_statistics_types = ''", "string_serialization_version = 'single_stream'", "exclude_deleted_rows_for_part_size_in_merge = 1", "fsync_after_insert = 1",
]
# Parts are merged, and rows go whose time is over, when a statement asks for it alone.
NO_MERGES = ["max_bytes_to_merge_at_max_space_in_pool = 1", "max_bytes_to_merge_at_min_space_in_pool = 1", "max_number_of_merges_with_ttl_in_pool = 0"]
ENGINES = ["MergeTree"] * 8 + ["ReplacingMergeTree"] * 3 + ["SummingMergeTree"] * 2 + ["AggregatingMergeTree", "CollapsingMergeTree", "VersionedCollapsingMergeTree", "CoalescingMergeTree", "GraphiteMergeTree"]


class Column:
    """A declared column."""

    def __init__(self, name, ty, kind="", rest="", dependent=False):
        self.name, self.ty, self.kind, self.rest, self.dependent = name, ty, kind, rest, dependent

    def text(self):
        return " ".join(x for x in (self.name, self.ty, self.kind, self.rest) if x)

    @property
    def is_inserted(self):
        return not self.kind.startswith(("MATERIALIZED", "ALIAS", "EPHEMERAL"))


class Table:
    """What a program knows of one of its tables."""

    def __init__(self, name, engine):
        self.name, self.engine = name, engine
        self.columns, self.order, self.partition, self.sample = [], [], "", ""
        self.indexes, self.projections, self.constraints = [], [], []
        self.rules = ""  # the engine's arguments

    def inserted(self):
        return [c for c in self.columns if c.is_inserted]

    def of(self, types):
        return [c for c in self.columns if c.ty in types and not c.kind.startswith("EPHEMERAL")]


def create(rng, name):
    """A table and its CREATE."""
    table = Table(name, rng.choice(ENGINES))
    chance = lambda p: rng.random() < p
    key = rng.choice(["UInt32", "UInt64", "String", "Int64", "LowCardinality(String)"])
    table.columns = [Column("k", key), Column("d", rng.choice(["Date", "Date", "DateTime", "DateTime64(3)", "Date32"]))]
    for other in rng.sample(NAMES, rng.randint(1, 6)):
        table.columns.append(column(rng, other, table))
    rows_rule(rng, table)
    table.order = order(rng, table)
    clauses = []
    if chance(0.4):
        table.partition = rng.choice(["toYYYYMM(d)", "toYYYYMM(d)", "toYear(d)", "k % 4" if key.startswith(("UInt", "Int")) else "k", "toMonday(d)", "(toYYYYMM(d), k)", "tuple()", "toDate(d)", "toStartOfMonth(d)", "d"])
        clauses.append(f"PARTITION BY {table.partition}")
    keys = table.order
    if chance(0.2) and len(keys) > 1:
        clauses.append(f"PRIMARY KEY {rng.choice([keys[0].removesuffix(' DESC'), '(' + ', '.join(k.removesuffix(' DESC') for k in keys[:2]) + ')'])}")
    clauses.append("ORDER BY " + (keys[0] if len(keys) == 1 and chance(0.7) and keys[0][0] != "(" else f"({', '.join(keys)})" if keys else "tuple()"))
    if chance(0.12) and key in ("UInt32", "UInt64"):
        table.sample = rng.choice(["k", "intHash32(k)"])
        clauses[-1] = f"ORDER BY ({', '.join(dict.fromkeys([*keys, table.sample]))})"
        clauses.append(f"SAMPLE BY {table.sample}")
    if chance(0.2):
        clauses.append("TTL " + ttl(rng, table))
    settings = rng.sample(SETTINGS, rng.choice([0, 0, 0, 1, 1, 2]))
    if any("DESC" in k for k in keys):
        settings.append("allow_experimental_reverse_key = 1")
    if chance(0.03):
        settings.append("allow_nullable_key = 1")
    settings += NO_MERGES
    clauses.append("SETTINGS " + ", ".join(settings))
    if chance(0.08):
        clauses.append("COMMENT 'a table'")
    elements = [c.text() for c in table.columns]
    for i in range(rng.choice([0, 0, 0, 1, 1, 2])):
        elements.append("INDEX " + index(rng, table, f"idx{i}"))
    for i in range(rng.choice([0, 0, 0, 0, 1, 2]) if table.engine == "MergeTree" or chance(0.05) else 0):
        elements.append("PROJECTION " + projection(rng, table, f"p{i}"))
    if chance(0.12):
        elements.append("CONSTRAINT " + constraint(rng, table, "c0"))
    head = rng.choice(["CREATE TABLE", "CREATE TABLE", "CREATE TABLE IF NOT EXISTS", "CREATE OR REPLACE TABLE"])
    layout = ", ".join(elements) if chance(0.5) else "\n    " + ",\n    ".join(elements) + "\n"
    engine = f"{table.engine}{table.rules}"
    if table.engine == "MergeTree" and chance(0.04):
        return table, f"{head} {name} ({layout}) ENGINE = MergeTree(d, ({', '.join(keys) or 'k'}), 8192)"
    if chance(0.03):
        return table, f"{head} {name} ({layout}) ENGINE = {engine} " + " ".join(rng.sample(clauses, len(clauses)))
    return table, f"{head} {name} ({layout}) ENGINE{rng.choice([' = ', ' = ', '=', ' '])}{engine}{rng.choice(['', '()']) if not table.rules else ''} " + " ".join(clauses)


def column(rng, name, table):
    ty = rng.choice(list(TYPES))
    kind, rest, chance = "", [], lambda p: rng.random() < p
    if chance(0.2):
        numbers, texts = [c.name for c in table.of(NUMBERS)], [c.name for c in table.of(TEXTS)]
        literal = rng.choice(TYPES[ty]) if not ty.startswith("Nested") else "1"
        given = [("DEFAULT", ty, literal), ("DEFAULT", "DateTime", "toDateTime(d)"), ("MATERIALIZED", "UInt16", "toYear(d)"), ("ALIAS", "String", "toString(k)"), ("ALIAS", "", "toYYYYMM(d)")]
        given += [("DEFAULT", "String", "concat('k', toString(k))"), ("MATERIALIZED", "UInt64", "cityHash64(k)"), ("EPHEMERAL", "UInt8", ""), ("EPHEMERAL", "String", "'e'"), ("DEFAULT", "DateTime", "now()")]
        if numbers:
            n = rng.choice(numbers)
            given += [("DEFAULT", "Float64", f"{n} * 2"), ("MATERIALIZED", "Float64", f"{n} + 1"), ("ALIAS", "", f"{n} + 1"), ("DEFAULT", "", f"{n}")]
        if texts:
            given += [("MATERIALIZED", "UInt64", f"length({texts[0]})"), ("ALIAS", "String", f"upper({texts[0]})")]
        word, ty, expr = rng.choice(given)
        if ty.startswith("Nested"):
            ty, word, expr = "UInt8", "DEFAULT", "1"
        kind = f"{word} {expr}".strip()
        if ty == "" and word == "DEFAULT" and False:
            kind = ""
    if chance(0.06) and not kind and not ty.startswith("Nested"):
        rest.append(rng.choice(["NOT NULL", "NULL"]))
    if chance(0.05):
        rest.append(f"COMMENT 'about {name.strip('`')}'")
    if chance(0.12) and not kind.startswith(("ALIAS", "EPHEMERAL")) and not ty.startswith("Nested"):
        rest.append(f"CODEC({rng.choice(CODECS)})")
    if chance(0.04) and not ty.startswith("Nested"):
        rest.append(f"STATISTICS({rng.choice(STATISTICS)})")
    if chance(0.05) and not kind.startswith(("ALIAS", "EPHEMERAL")) and not ty.startswith("Nested"):
        rest.append("TTL d + INTERVAL " + rng.choice(["1 MONTH", "100 YEAR", "7 DAY"]))
    if chance(0.02):
        rest.append("SETTINGS (max_compress_block_size = 1048576)")
    if rest and rest[0] in ("NULL", "NOT NULL"):
        if rest[0] == "NULL" and ty.startswith(("Nullable", "LowCard", "Array", "Map", "Tuple", "JSON", "Var", "Dyn", "Point")):
            rest = rest[1:]
        else:
            ty = f"{ty} {rest[0]}"
            rest = rest[1:]
    return Column(name, ty, kind, " ".join(rest))


def rows_rule(rng, table):
    """The engine's arguments, and the columns that they name."""
    engine, columns = table.engine, table.columns
    if engine == "ReplacingMergeTree":
        roll = rng.random()
        if roll < 0.6:
            columns.append(Column("ver", rng.choice(["UInt32", "UInt64", "DateTime", "Int64", "DateTime64(3)"])))
            table.rules = "(ver)"
            if roll < 0.25:
                columns.append(Column("is_deleted", "UInt8", rng.choice(["", "DEFAULT 0"])))
                table.rules = "(ver, is_deleted)"
    elif engine in ("SummingMergeTree", "CoalescingMergeTree"):
        columns.append(Column("total", rng.choice(["UInt64", "Int64", "Float64", "Decimal(10, 2)"]) if engine[0] == "S" else "Nullable(Int32)"))
        columns.append(Column("hits", "UInt64" if engine[0] == "S" else "Nullable(String)"))
        if engine[0] == "S" and rng.random() < 0.2:
            columns.append(Column("valMap", "Nested(id UInt32, v UInt64)"))
        table.rules = rng.choice(["", "", "(total)", "((total, hits))"])
    elif engine == "AggregatingMergeTree":
        columns.append(Column("s", rng.choice(["SimpleAggregateFunction(sum, UInt64)", "SimpleAggregateFunction(max, Int32)", "SimpleAggregateFunction(anyLast, Nullable(String))", "SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32))"])))
        columns.append(Column("st", rng.choice(["AggregateFunction(sum, UInt64)", "AggregateFunction(uniq, UInt64)", "AggregateFunction(avg, Float64)", "AggregateFunction(count)", "AggregateFunction(argMax, String, UInt32)"])))
    elif engine == "CollapsingMergeTree":
        columns.append(Column("sign", "Int8"))
        table.rules = "(sign)"
    elif engine == "VersionedCollapsingMergeTree":
        columns += [Column("sign", "Int8"), Column("version", rng.choice(["UInt8", "UInt64"]))]
        table.rules = "(sign, version)"
    elif engine == "GraphiteMergeTree":
        table.rules = rng.choice(["('graphite_rollup')", ""])


def order(rng, table):
    usable = [c.name for c in table.columns if c.ty.split("(")[0].split(" ")[0] in ("UInt8", "UInt16", "UInt32", "UInt64", "Int32", "Int64", "String", "Date", "DateTime", "UUID", "IPv4", "Enum", "Enum8", "LowCardinality") and not c.kind and c.name not in ("total", "hits", "ver", "sign", "is_deleted", "version", "s")]
    forms = ["k", "d", "toDate(d)", "toStartOfHour(toDateTime(d))", "cityHash64(k)", "toString(k)", "lower(toString(k))", "(d, k)", "toYYYYMM(d)"]
    roll = rng.random()
    if roll < 0.08:
        return []
    if roll < 0.45:
        keys = ["k"]
    elif roll < 0.8:
        keys = list(dict.fromkeys(rng.sample(usable, min(len(usable), rng.randint(1, 3)))))
    else:
        keys = list(dict.fromkeys(rng.sample(forms, rng.randint(1, 3))))
    if rng.random() < 0.08:
        keys = [k + rng.choice([" DESC", ""]) if k[0] != "(" else k for k in keys]
    return keys


def ttl(rng, table):
    number = next((c.name for c in table.of(NUMBERS)), "k")
    d = "toDateTime(d)" if any(c.name == "d" and c.ty == "Date32" for c in table.columns) else "d"
    forms = [
        f"{d} + INTERVAL 1 MONTH", f"{d} + INTERVAL 100 YEAR", f"{d} + toIntervalDay(30)", f"{d} + INTERVAL 1 YEAR DELETE", f"{d} + INTERVAL 1 MONTH DELETE WHERE {number} != 1", f"{d} + INTERVAL 100 YEAR TO DISK 'slow'",
        f"{d} + INTERVAL 100 YEAR TO VOLUME 'cold'", f"{d} + INTERVAL 1 MONTH RECOMPRESS CODEC(ZSTD(6))", f"{d} + INTERVAL 1 WEEK, {d} + INTERVAL 100 YEAR DELETE", "d", f"{d} + INTERVAL 1 DAY GROUP BY {table.order[0].removesuffix(' DESC') if table.order else 'k'} SET {number} = max({number})",
        f"{d} + {number}", "k",
    ]
    return rng.choice(forms)


def index(rng, table, name):
    table.indexes.append(name)
    usable = [c.name for c in table.columns if not c.kind.startswith("EPHEMERAL")]
    expr = rng.choice([rng.choice(usable), rng.choice(usable), "(k, d)", "toString(k)", "lower(toString(k))", "toYear(d)", "k"])
    return f"{name} {expr} TYPE {rng.choice(INDEX_TYPES)}{rng.choice(['', ' GRANULARITY 1', ' GRANULARITY 4'])}"


def projection(rng, table, name):
    table.projections.append(name)
    usable = [c.name for c in table.columns if not c.kind.startswith(("EPHEMERAL", "ALIAS"))]
    number = next((c.name for c in table.of(NUMBERS)), "k")
    forms = [
        "(SELECT * ORDER BY d)", f"(SELECT {usable[-1]}, k ORDER BY {usable[-1]})", "(SELECT k, count() GROUP BY k)", f"(SELECT d, sum({number}), max(k) GROUP BY d)", "(SELECT _part_offset ORDER BY d)", "(SELECT d, _part_offset ORDER BY d)",
        f"(SELECT toYYYYMM(d) AS m, count() AS c, uniq(k) GROUP BY m)", f"(SELECT sum({number}), avg({number}))", "(SELECT k, d ORDER BY (d, k))", "(SELECT k WHERE k = 1 ORDER BY k)", "INDEX d TYPE basic", f"(WITH {number} * 2 AS z SELECT z ORDER BY z)",
    ]
    return f"{name} {rng.choice(forms)}"


def constraint(rng, table, name):
    table.constraints.append(name)
    return f"{name} {rng.choice(['CHECK', 'CHECK', 'ASSUME'])} {rng.choice(['d > ' + chr(39) + '2000-01-01' + chr(39), 'k != 999', 'toYear(d) >= 2000', '(length(toString(k)) < 100)'])}"


def literal(rng, column):
    if column.name == "sign":
        return rng.choice(["1", "1", "-1"])
    if column.name == "is_deleted":
        return rng.choice(["0", "0", "1"])
    ty = column.ty.removesuffix(" NOT NULL").removesuffix(" NULL")
    if column.name == "k":
        return rng.choice(["'a'", "'b'", "'c'", "'zz'"] if "String" in ty else ["1", "2", "3", "10", "100"])
    if ty == "":
        return "DEFAULT"
    if ty.startswith("SimpleAggregateFunction"):
        return "[1, 2]" if "Array(" in ty else "'t'" if "String" in ty else "3"
    if ty not in TYPES:
        return "DEFAULT" if not ty.startswith("Nested") else "[1, 2], [10, 20]"
    return rng.choice(TYPES[ty])


def insert(rng, table):
    """INSERT in one of its forms."""
    columns = table.inserted()
    if table.engine == "AggregatingMergeTree" and any(c.ty.startswith("AggregateFunction") for c in columns):
        return insert_states(rng, table)
    rows = lambda cs: ", ".join("(" + ", ".join("DEFAULT" if rng.random() < 0.04 and not c.ty.startswith("Nested") else literal(rng, c) for c in cs) + ")" for _ in range(rng.randint(1, 5)))
    names = lambda c: [f"{c.name}.id", f"{c.name}.{'name' if 'name' in c.ty else 'v'}"] if c.ty.startswith("Nested") else [c.name]
    roll = rng.random()
    if roll < 0.55:
        return f"INSERT INTO {table.name} VALUES {rows(columns)}"
    chosen = columns[:2] + [c for c in columns[2:] if rng.random() < 0.6]
    listed = ", ".join(n for c in chosen for n in names(c))
    if roll < 0.75:
        return f"INSERT INTO {table.name} ({listed}) VALUES {rows(chosen)}"
    if roll < 0.8:
        ephemeral = [c for c in table.columns if c.kind.startswith("EPHEMERAL")]
        return f"INSERT INTO {table.name} ({', '.join([listed] + [c.name for c in ephemeral])}) VALUES {rows(chosen + ephemeral)}"
    if roll < 0.85:
        return f"INSERT INTO {table.name} (* EXCEPT({columns[-1].name})) VALUES {rows(columns[:-1])}"
    k = f"number % {rng.choice([3, 5, 7])}" if "String" not in columns[0].ty else f"concat('k', toString(number % {rng.choice([3, 4])}))"
    return f"INSERT INTO {table.name} (k, d) SELECT {k}, toDate('2024-01-01') + number FROM numbers({rng.choice([3, 10, 50])})"


def insert_states(rng, table):
    parts, names = [], []
    for c in table.inserted():
        if c.ty.startswith("AggregateFunction"):
            function = c.ty.removeprefix("AggregateFunction(").split(",")[0].rstrip(")")
            arguments = {"sum": "number", "uniq": "number", "avg": "toFloat64(number)", "count": "", "argMax": "toString(number), toUInt32(number)"}[function]
            parts.append(f"{function}State({arguments})")
        elif c.name == "k":
            parts.append("toString(number % 3)" if "String" in c.ty else "number % 3")
        elif c.name == "d":
            parts.append("toDate('2024-01-01') + number % 2")
        else:
            continue
        names.append(c.name)
    keys = ", ".join(p for p in parts if "State(" not in p)
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {', '.join(parts)} FROM numbers({rng.choice([3, 6])}) GROUP BY {keys}"
