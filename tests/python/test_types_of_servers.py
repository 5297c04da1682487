"""Every type that a real server (18.16) has, both ways: random values are sent to it, it says as text what it has got, and they come back."""

import decimal
import math
import random

import clickhouse
import pytest

import chalet

# One or more of each family. A list of tuples is several columns to this server.
TYPES = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    "Float32", "Float64", "Decimal(9, 2)", "Decimal(18, 4)", "Decimal(38, 10)", "Decimal32(3)", "Decimal64(0)", "Decimal128(38)", "String", "FixedString(1)",
    "FixedString(17)", "Date", "DateTime", "DateTime('Asia/Tokyo')", "UUID", "Enum8('a' = -128, 'b' = 0, 'it\\'s' = 127)", "Enum16('x' = -32768, 'y' = 32767)",
    "Nullable(UInt8)", "Nullable(String)", "Nullable(Float64)", "Nullable(Date)", "Nullable(DateTime)", "Nullable(UUID)", "Nullable(Decimal(18, 4))", "Nullable(FixedString(3))",
    "Nullable(Enum8('a' = 1, 'b' = 2))", "LowCardinality(String)", "LowCardinality(Nullable(String))", "LowCardinality(UInt32)", "LowCardinality(FixedString(2))",
    "Array(UInt16)", "Array(String)", "Array(Nullable(Int32))", "Array(Array(String))", "Array(LowCardinality(String))", "Array(LowCardinality(Nullable(String)))",
    "Array(Decimal(9, 2))", "Array(UUID)", "Array(Date)", "Tuple(UInt8, String)", "Tuple(Nullable(Int8), Array(Float64))", "Tuple(String, Tuple(Date, UUID))",
)  # fmt: skip
# Families of which there are no columns, or that are tested by themselves below.
OTHERS = {
    "Nested", "AggregateFunction", "Nothing", "Set", "Expression", "Interval", "IntervalSecond", "IntervalMinute", "IntervalHour", "IntervalDay", "IntervalWeek",
    "IntervalMonth", "IntervalQuarter", "IntervalYear",
}  # fmt: skip
ROWS = 300


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with clickhouse.started(tmp_path_factory.mktemp("server")) as port:
        yield port


@pytest.fixture(scope="module")
def there(port):
    with chalet.connect(f"clickhouse://127.0.0.1:{port}") as there:
        there.query("SET allow_experimental_low_cardinality_type = 1")
        yield there


def families(types):
    found = set()
    for ty in types:
        for word in ty.replace("(", " ").replace(")", " ").replace(",", " ").split():
            found.add(word)
    return found


def test_no_family_is_left_out(there):
    """What the server has a name for is in one of both lists."""
    names = {name for (name,) in there.query("SELECT name FROM system.data_type_families WHERE alias_to = ''").fetchall()}
    assert names - families(TYPES) - OTHERS - {"Decimal"} == set()


def value(ty, dice):
    """A random value of the type, the ends of its range among them, as the client takes it."""
    head, _, rest = ty.partition("(")
    inner = rest[:-1]
    if head in ("Nullable", "LowCardinality"):
        if head == "Nullable" and dice.random() < 0.3:
            return None
        return value(inner, dice)
    if head == "Array":
        return [value(inner, dice) for _ in range(dice.choice((0, 0, 1, 2, 7)))]
    if head == "Tuple":
        return tuple(value(field, dice) for field in fields(inner))
    if "Int" in head:
        bits = int(head.lstrip("UInt"))
        low, high = (0, 2**bits - 1) if head[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return dice.choice((low, high, 0, dice.randint(low, high)))
    if head == "Float32":
        return dice.choice((0.0, -1.5, math.inf, -math.inf, dice.randint(-(2**20), 2**20) / 2**10))
    if head == "Float64":
        return dice.choice((0.0, -0.1, 1e300, 5e-324, math.inf, dice.uniform(-1e9, 1e9)))
    if head.startswith("Decimal"):
        digits, scale = {"Decimal32": 9, "Decimal64": 18, "Decimal128": 38}.get(head) or int(inner.split(",")[0]), int(inner.split(",")[-1])
        unscaled = dice.choice((0, 1, -(10**digits - 1), 10**digits - 1, dice.randint(-(10 ** (digits // 2)), 10 ** (digits // 2))))
        return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=76))
    if head == "String":
        return "".join(dice.choice("aé'\\\t\n ☃x") for _ in range(dice.choice((0, 1, 11, 12, 13, 127, 128, 300))))
    if head == "FixedString":
        return "".join(dice.choice("abc'") for _ in range(int(inner)))
    if head == "Date":
        # The calendar of this server ends with 2105.
        return dice.choice((1, 49_672, dice.randint(1, 49_672)))
    if head == "DateTime":
        return dice.choice((1, 4_288_000_000, dice.randint(86_400, 4_288_000_000)))
    if head == "UUID":
        return f"{dice.randint(0, 2**128 - 1):032x}"
    assert head.startswith("Enum")
    return dice.choice([name.split("' = ")[0].replace("\\'", "'") for name in inner.lstrip("'").split(", '")])


def fields(inner):
    depth, start = 0, 0
    for at, sign in enumerate(inner):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            yield inner[start:at]
            start = at + 2
    yield inner[start:]


def sql_of(ty, value):
    """The value as an expression."""
    head, _, rest = ty.partition("(")
    inner = rest[:-1]
    if value is None:
        return "NULL"
    if head in ("Nullable", "LowCardinality"):
        return sql_of(inner, value)
    if head == "Array":
        return f"[{', '.join(sql_of(inner, one) for one in value)}]"
    if head == "Tuple":
        return f"tuple({', '.join(map(sql_of, fields(inner), value))})"
    if head.startswith(("String", "FixedString", "Enum")):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\t", "\\t").replace("\n", "\\n")
        return f"'{escaped}'"
    if head.startswith("Decimal"):
        return f"'{value:f}'"
    if head == "UUID":
        return f"'{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}'"
    if head == "Date":
        return f"toDate({value})"
    if head.startswith("DateTime"):
        return f"toDateTime({value})"
    return repr(value)


@pytest.mark.parametrize("ty", TYPES)
@pytest.mark.parametrize("method", ["none", "lz4"])
def test_both_ways(there, port, ty, method):
    dice = random.Random(f"{ty} {method}")
    values = [value(ty, dice) for _ in range(ROWS)]
    with chalet.connect(":memory:") as here, chalet.connect(f"clickhouse://127.0.0.1:{port}?compression={method}") as client:
        client.query("SET allow_experimental_low_cardinality_type = 1")
        here.query(f"SET allow_suspicious_low_cardinality_types = 1, session_timezone = '{client.query('SELECT timezone()').fetchone()[0]}'")
        here.query(f"CREATE TABLE given (n UInt32, v {ty}) ENGINE = Memory")
        rows = [f"({n}, {sql_of(ty, one)})" for n, one in enumerate(values)]
        here.query(f"INSERT INTO given VALUES {', '.join(rows)}")
        client.query("DROP TABLE IF EXISTS got")
        client.query(f"CREATE TABLE got (n UInt32, v {ty}) ENGINE = Memory")
        # Their columns as they lie, and the rows as objects.
        frame = here.query("SELECT * FROM given", "ArrowTable") if plain(ty) else None
        objects = here.query("SELECT * FROM given ORDER BY n").fetchall()
        for give in (frame, objects):
            if give is None:
                continue
            client.query("TRUNCATE TABLE got")
            client.insert_rows("INSERT INTO got VALUES", give)
            back = client.query("SELECT n, v FROM got ORDER BY n").fetchall()
            assert [(n, same(v)) for n, v in back] == [(n, same(v)) for n, v in objects]
            # What the server makes of it itself.
            if not any(word in ty for word in ("Float", "Decimal", "Tuple", "LowCardinality(Nullable", "DateTime('")):
                said = [text for (text,) in client.query("SELECT toString(v) FROM got ORDER BY n").fetchall()]
                assert said == [text for (text,) in here.query("SELECT toString(v) FROM given ORDER BY n").fetchall()]
        # Written by the old server to another table of its own, and read from there.
        client.query("DROP TABLE IF EXISTS copied")
        client.query(f"CREATE TABLE copied (n UInt32, v {ty}) ENGINE = MergeTree ORDER BY n")
        client.query("INSERT INTO copied SELECT * FROM got")
        assert [same(v) for _, v in client.query("SELECT n, v FROM copied ORDER BY n").fetchall()] == [same(v) for _, v in objects]


def plain(ty):
    """Types that Arrow has."""
    return not any(word in ty for word in ("Enum", "UUID", "Tuple", "Array", "Decimal128", "FixedString"))


def same(value):
    """A NaN is one."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def test_nested_columns_and_states(there, port):
    there.query("DROP TABLE IF EXISTS nested")
    there.query("CREATE TABLE nested (n UInt8, a Nested(x UInt8, y String)) ENGINE = Memory")
    there.insert_rows("INSERT INTO nested VALUES", [(1, [1, 2], ["a", "b"]), (2, [], [])])
    assert there.query("SELECT n, a.x, a.y FROM nested ORDER BY n").fetchall() == [(1, [1, 2], ["a", "b"]), (2, [], [])]
    # States are bytes that only their function understands: there and back they are as they were.
    there.query("DROP TABLE IF EXISTS states")
    there.query(
        "CREATE TABLE states (k UInt8, s AggregateFunction(sum, UInt64), m AggregateFunction(max, String), u AggregateFunction(uniq, UInt64),"
        " q AggregateFunction(quantile(0.5), Float64), e AggregateFunction(uniqExact, UInt32)) ENGINE = Memory"
    )
    select = (
        "SELECT toUInt8(number % 3) AS k, sumState(number) AS s, maxState(toString(number)) AS m, uniqState(number) AS u,"
        " quantileState(0.5)(toFloat64(number)) AS q, uniqExactState(toUInt32(number)) AS e FROM numbers(1000) GROUP BY k"
    )
    there.query(f"INSERT INTO states {select}")
    merged = "SELECT k, sumMerge(s), maxMerge(m), uniqMerge(u), quantileMerge(0.5)(q), uniqExactMerge(e) FROM {} GROUP BY k ORDER BY k"
    expected = there.query(merged.format("states")).fetchall()
    with chalet.connect(":memory:") as here:
        remote = f"remote('127.0.0.1:{port}', default.states)"
        here.query(f"CREATE TABLE states ENGINE = Memory AS SELECT * FROM {remote}")
        assert here.query(merged.format("states")).fetchall() == expected
        there.query("TRUNCATE TABLE states")
        here.query(f"INSERT INTO FUNCTION {remote} {select}")
    assert there.query(merged.format("states")).fetchall() == expected


def test_values_without_a_type_of_their_own(there):
    assert there.query("SELECT [], NULL, [NULL], (1, NULL)").fetchall() == [([], None, [None], (1, None))]
