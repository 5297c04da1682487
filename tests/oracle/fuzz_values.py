"""Values of every type as SQL text, and the table that has a column for each."""

UUIDS = ["'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]
TEXTS = [
    "''", "'a'", "'abc'", "'Hello, World!'", "'ÄÖü ß€'", "'日本語'", "'😀x'", "'123'", "'-1.5'", "'1e3'", "'nan'", "'true'", "'NULL'", "' x '", "'a,b,,c'",
    "'a b  c'", "'a%b_c'", "'(\\\\w+)'", "'[a-c]'", "'%Y-%m-%d %H:%i:%s'", "'day'", "'month'", "'UTC'", "'Europe/Berlin'", "'2024-02-29'", "'2024-01-02 03:04:05'",
    "'2024-01-02T03:04:05.678Z'", "'{\"a\":1,\"b\":[1,2,{\"c\":\"x\"}],\"d\":null}'", "'$.b[0]'", "'[1,2,3]'", "'https://u:p@www.example.com:80/a/b.html?x=1&y=2#f'", "'1.2.3.4'",
    "'::1'", "'10.0.0.0/8'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "'YWJj'", "'616263'", "'x\\0y'", "unhex('fffe')", "'line\\nbreak\\ttab'", "'a=1;b=2'", "'UInt8'", "'\\''",
]
# Type, and values as literals that CAST takes.
SCALARS = {
    "UInt8": ["0", "1", "2", "7", "128", "255"],
    "UInt16": ["0", "1", "300", "65535"],
    "UInt32": ["0", "1", "5", "70000", "4294967295"],
    "UInt64": ["0", "1", "3", "5000000000", "18446744073709551615"],
    "UInt128": ["0", "1", "'340282366920938463463374607431768211455'"],
    "UInt256": ["0", "2", "'100000000000000000000000000000000000000000'"],
    "Int8": ["0", "1", "-1", "-128", "127"],
    "Int16": ["0", "-2", "-32768", "1000"],
    "Int32": ["0", "1", "-1", "-70000", "2147483647", "-2147483648"],
    "Int64": ["0", "-1", "10", "9223372036854775807", "-9223372036854775808", "1700000000"],
    "Int128": ["0", "-1", "'-170141183460469231731687303715884105728'"],
    "Int256": ["0", "-3", "'123456789012345678901234567890123456789012345'"],
    "BFloat16": ["0", "1.5", "-2"],
    "Float32": ["0", "1.5", "-0.1", "nan", "inf", "3.4e38"],
    "Float64": ["0", "-0.", "0.1", "1.5", "-2.5", "1e20", "1e308", "nan", "inf", "-inf", "123456.789"],
    "Decimal(9, 2)": ["0", "1.25", "-1.25", "'9999999.99'"],
    "Decimal(18, 4)": ["0", "'12.3456'", "'-0.0001'", "'99999999999999.9999'"],
    "Decimal(38, 10)": ["0", "'1.0000000001'", "'-1234567890123.5'"],
    "Decimal(76, 20)": ["0", "'1.5'", "'-1234567890123456789012345.00000000000000000001'"],
    "Date": ["'2024-02-29'", "'1970-01-01'", "'2149-06-06'", "'2000-12-31'"],
    "Date32": ["'2024-02-29'", "'1900-01-01'", "'2299-12-31'", "'1969-12-31'"],
    "DateTime": ["'2024-02-29 12:34:56'", "'1970-01-01 00:00:00'", "'2106-02-07 06:28:15'", "'2000-12-31 23:59:59'"],
    "DateTime('Europe/Berlin')": ["'2024-03-31 03:00:00'", "'2024-10-27 02:30:00'", "'2000-01-01 00:00:00'"],
    "DateTime('Asia/Kolkata')": ["'2024-02-29 00:00:00'", "'1999-12-31 23:59:59'"],
    "DateTime64(0)": ["'2024-02-29 12:34:56'", "'1900-01-01 00:00:00'"],
    "DateTime64(3)": ["'2024-02-29 12:34:56.789'", "'1969-12-31 23:59:59.999'", "'2299-12-31 23:59:59.999'"],
    "DateTime64(6, 'America/New_York')": ["'2024-03-10 03:30:00.123456'", "'1950-01-01 00:00:00'"],
    "DateTime64(9)": ["'2024-02-29 12:34:56.123456789'", "'1970-01-01 00:00:00.000000001'"],
    "Time": ["'12:34:56'", "'-01:00:00'"],
    "Time64(3)": ["'12:34:56.789'", "'00:00:00'"],
    "String": TEXTS,
    "FixedString(3)": ["'abc'", "'a'", "''"],
    "FixedString(16)": ["'0123456789abcdef'", "'x'"],
    "UUID": UUIDS,
    "IPv4": ["'1.2.3.4'", "'0.0.0.0'", "'255.255.255.255'"],
    "IPv6": ["'::1'", "'2001:db8::ff00:42:8329'", "'::ffff:1.2.3.4'"],
    "Enum8('a' = 1, 'b' = -2)": ["'a'", "'b'"],
    "Enum16('x' = 1000, 'y' = 2)": ["'x'", "'y'"],
    "Bool": ["true", "false"],
}
COMPOUNDS = [
    "Array(UInt8)", "Array(String)", "Array(Float64)", "Array(Nullable(Int32))", "Array(Array(Int64))", "Array(Date)", "Tuple(UInt8, String)",
    "Tuple(a Int32, b Nullable(String))", "Map(String, UInt32)", "Map(UInt8, Array(String))", "Array(Tuple(UInt8, String))", "Array(LowCardinality(String))",
    "Variant(UInt64, String)", "Dynamic", "JSON",
]
DOCUMENTS = ["'{\"a\":1}'", "'{}'", "'{\"a\":{\"b\":[1,2]},\"c\":\"x\"}'"]
NESTABLE = ["Int32", "Int64", "UInt8", "Float64", "String", "Date", "DateTime", "Decimal(18, 4)", "UUID", "Bool", "Enum8('a' = 1, 'b' = -2)", "FixedString(3)", "IPv4"]
NULLABLES = [f"Nullable({t})" for t in NESTABLE]
LOW = ["LowCardinality(String)", "LowCardinality(Nullable(String))", "LowCardinality(FixedString(3))"]
EVERY = [*SCALARS, *COMPOUNDS, *NULLABLES, *LOW]
LAMBDAS = {
    1: ["x -> x", "x -> x > 1", "x -> x + 1", "x -> -x", "x -> toString(x)", "x -> x % 2", "x -> NULL", "x -> (x, 1)", "x -> x = 'a'", "x -> length(x)"],
    2: ["(x, y) -> x", "(x, y) -> x > y", "(x, y) -> x + y", "(x, y) -> y", "(k, v) -> (k, v)", "(x, y) -> concat(x, y)", "(x, y) -> x = y", "(k, v) -> v > 1"],
}


def split(text):
    """The parts of a list of types or arguments between its outermost commas."""
    parts, depth, quote, start, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quote and c == "\\":
            i += 1
        elif c == "'":
            quote = not quote
        elif not quote and c in "([{":
            depth += 1
        elif not quote and c in ")]}":
            depth -= 1
        elif not quote and c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    return parts + [last] if last or parts else []


def literal(rng, ty):
    """A literal that can be cast to the type, as part of an array too."""
    if ty in SCALARS:
        return rng.choice(SCALARS[ty])
    head, _, rest = ty.partition("(")
    inner = split(rest[:-1])
    if head == "Nullable":
        return "NULL" if rng.random() < 0.35 else literal(rng, inner[0])
    if head == "LowCardinality":
        return literal(rng, inner[0])
    if head == "Array":
        return "[" + ", ".join(literal(rng, inner[0]) for _ in range(rng.choice([int("(" in inner[0]), 1, 2, 3, 3]))) + "]"
    if head == "Tuple":
        return "(" + ", ".join(literal(rng, t.split(" ", 1)[1] if t[0].islower() else t) for t in inner) + ")"
    if head == "Map":
        return "map(" + ", ".join(literal(rng, t) for _ in range(rng.choice([0, 1, 2])) for t in inner) + ")"
    if head == "Variant":
        chosen = rng.choice(inner)
        return f"CAST({literal(rng, chosen)} AS {chosen})"
    if head == "JSON":
        return rng.choice(DOCUMENTS)
    return literal(rng, rng.choice(["Int64", "String", "Float64", "Array(UInt8)", "Date", "Nullable(Int64)"]))


def constant(rng, ty):
    """An expression of the type (or of the type that its literal has by itself) without columns."""
    text = literal(rng, ty)
    natural = text[0] not in "'u" or ty == "String"
    if natural and rng.random() < 0.45:
        return text
    return rng.choice([f"CAST({text}, {quoted(ty)})", f"CAST({text} AS {ty})", f"CAST({text} AS {ty})", f"{text}::{ty}" if text[0] not in "-Nmtfiu" else f"CAST({text} AS {ty})"])


def quoted(ty):
    return "'" + ty.replace("'", "\\'") + "'"


def wrapped(rng, text):
    """The expression, possibly as a column, as Nullable or as a dictionary."""
    roll = rng.random()
    if roll < 0.70:
        return text
    if roll < 0.82:
        return f"materialize({text})"
    if roll < 0.88:
        return f"toNullable({text})"
    if roll < 0.92:
        return f"toLowCardinality({text})"
    return f"materialize(toNullable({text}))" if roll < 0.96 else f"materialize(toLowCardinality({text}))"


COLUMNS = {f"c{i}": ty for i, ty in enumerate(EVERY)}
BY_TYPE = {ty: c for c, ty in COLUMNS.items()}
ROWS = 5


def value(rng, ty):
    """An expression of the type: constant, wrapped, or the column of the table `t`."""
    if rng.random() < 0.25:
        return BY_TYPE[ty]
    return wrapped(rng, constant(rng, ty))


def table(rng):
    """The statements that make `t`: a row number, and a column for each type, the last row of defaults."""
    columns = ", ".join(f"{c} {ty}" for c, ty in COLUMNS.items())
    made = [f"CREATE TABLE t (id UInt8, {columns}) ENGINE = Memory"]
    for row in range(ROWS):
        values = ", ".join(f"CAST({literal(rng, ty)}, {quoted(ty)})" for ty in COLUMNS.values())
        made.append(f"INSERT INTO t SELECT {row}, {values}")
    made.append(f"INSERT INTO t (id) VALUES ({ROWS})")
    return made
