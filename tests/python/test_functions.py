"""Python functions in SQL."""

import datetime
import decimal
import gc
import ipaddress
import math
import threading
import uuid

import pytest

import chalet
from chalet import ExceptionHandling, NullHandling, create_aggregate_function, create_function, drop_function, sqltypes, udf


@pytest.fixture
def define():
    names = []

    def create(name, *args, **kwargs):
        create_function(name, *args, **kwargs)
        names.append(name)

    yield create
    for name in names:
        drop_function(name)


def test_a_function_by_columns(db, define):
    define("py_add", lambda a, b: a + b, [sqltypes.INT64, "Int64"], sqltypes.INT64)
    assert db.query("SELECT py_add(number, 1), toTypeName(py_add(1, 2)) FROM numbers(2)", "TSV").data() == (
        "1\tNullable(Int64)\n2\tNullable(Int64)\n"
    )
    assert db.query("SELECT sum(py_add(number, number)) FROM numbers(100000)").data() == "9999900000\n"
    assert db.query("SELECT number FROM numbers(10) WHERE py_add(number, 1) = 5").data() == "4\n"
    with pytest.raises(chalet.Error) as caught:
        db.query("SELECT py_add(1)")
    assert caught.value.name == "NUMBER_OF_ARGUMENTS_DOESNT_MATCH"
    with pytest.raises(chalet.Error, match="argument 1 type mismatch: expected Int64, got String"):
        db.query("SELECT py_add('x', 1)")
    with pytest.raises(chalet.Error, match="UNKNOWN_FUNCTION"):
        db.query("SELECT PY_ADD(1, 2)")


def test_all_databases_know_it_until_it_is_dropped(db, define):
    define("py_one", lambda: 1, [], "UInt8")
    assert chalet.query("SELECT py_one()").data() == "1\n"
    assert db.query("SELECT origin FROM system.functions WHERE name = 'py_one'", "TSV").data() != "System\n"
    with pytest.raises(chalet.Error, match="already"):
        create_function("py_one", lambda: 2, [], "UInt8")
    drop_function("py_one")
    drop_function("py_one")
    with pytest.raises(chalet.Error, match="UNKNOWN_FUNCTION"):
        db.query("SELECT py_one()")
    create_function("py_one", lambda: 2, [], "UInt8")
    assert db.query("SELECT py_one()").data() == "2\n"
    with pytest.raises(chalet.Error, match="built in"):
        create_function("sumIf", lambda a, b: a, ["Int8", "Int8"], "Int8")


def test_a_function_may_hide_a_built_in_one(db, define):
    define("multiply", lambda a, b: -1, ["Int64", "Int64"], "Int64")
    define("lower", lambda text: "!", ["String"], "String")
    # Calls by the name get it; operators, and what the engine makes of other calls, do not.
    assert db.execute("SELECT multiply(number, 7), number * 7, [1, 2][2 * 1] FROM numbers(3, 1)").fetchone() == (-1, 21, 2)
    assert db.execute("SELECT lower('A'), LOWER('A'), lowerUTF8('A'), 'ab' ILIKE 'A%'").fetchone() == ("!", "!", "a", True)
    assert db.execute("SELECT count() FROM numbers(5) WHERE multiply(number, 1) = -1").fetchone() == (5,)
    assert db.execute("SELECT count() FROM system.functions WHERE name = 'multiply'").fetchone() == (1,)
    with pytest.raises(chalet.Error, match="already registered"):
        create_function("multiply", lambda a, b: a, ["Int8", "Int8"], "Int8")
    drop_function("multiply")
    drop_function("lower")
    assert db.execute("SELECT multiply(3, 7), lower('A'), LOWER('A')").fetchone() == (21, "a", "a")
    with pytest.raises(chalet.Error, match="built in"):
        create_aggregate_function("sum", lambda: None, ["Int64"], "Int64")
    assert db.execute("SELECT sum(number) FROM numbers(3)").fetchone() == (3,)


def test_nulls(db, define):
    define("py_skip", lambda a: -1 if a is None else a, ["Int64"], "Int64")
    define("py_pass", lambda a: -1 if a is None else a, ["Int64"], "Int64", on_null="pass")
    define("py_pass2", lambda a: -1 if a is None else a, ["Int64"], "Int64", on_null=NullHandling.PASS)
    define("py_skip2", lambda a: 1 / 0, ["Int64"], "Float64", on_null=NullHandling.SKIP)
    assert db.execute("SELECT py_skip2(NULL)").fetchone() == (None,)
    define("py_none", lambda a: None, ["Int64"], "Int64")
    rows = db.execute(
        "SELECT py_skip(x), py_pass(x), py_pass2(x), py_none(x), py_pass(NULL)"
        " FROM (SELECT if(number = 1, NULL, number) AS x FROM numbers(2))"
    ).fetchall()
    assert rows == ((0, 0, 0, None, -1), (None, -1, -1, None, -1))


def test_exceptions(db, define):
    def invert(a: int) -> float:
        return 1 / a

    define("py_invert", invert)
    define("py_invert_or_null", invert, on_error="ignore")
    define("py_collects", lambda a: gc.isenabled(), ["UInt8"], "Bool")
    assert db.execute("SELECT py_collects(1)").fetchone() == (True,)
    with pytest.raises(chalet.Error, match="Python UDF 'py_invert' raised .* row 1: ZeroDivisionError: division") as caught:
        db.query("SELECT py_invert(1 - number) FROM numbers(3)")
    assert caught.value.code == 800 and isinstance(caught.value, chalet.DataError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError) and gc.isenabled()
    assert db.execute("SELECT py_invert_or_null(2 - number) FROM numbers(3)").fetchall() == ((0.5,), (1.0,), (None,))
    with pytest.raises(chalet.Error, match="on_error must be 'propagate' or 'ignore'"):
        create_function("py_x", invert, on_error="xx")
    assert ExceptionHandling.IGNORE.value == 1 and ExceptionHandling(0).name == "PROPAGATE"

    def leave(a: int) -> int:
        raise KeyboardInterrupt

    define("py_leave", leave, on_error="ignore")
    with pytest.raises(KeyboardInterrupt):
        db.query("SELECT py_leave(1)")


def test_types_come_from_annotations(db, define):
    def repeat(a: int, b: str | None) -> str:
        return b * a

    define("py_repeat", repeat)
    assert db.query("SELECT py_repeat(3, 'ab'), toTypeName(py_repeat(1, 'a'))", "TSV").data() == "ababab\tNullable(String)\n"
    define("py_default", lambda a, b=5: a + b, return_type=int)
    assert db.query("SELECT py_default(1), py_default(1, 2)").data() == "6,3\n"
    define("py_any", lambda *args: repr(args), return_type="String")
    with pytest.raises(chalet.Error, match="return type"):
        create_function("py_x", lambda a: a)
    with pytest.raises(chalet.Error, match="UNKNOWN_TYPE|Nosuch"):
        create_function("py_x", lambda a: a, ["Nosuch"], "Int8")
    with pytest.raises(TypeError):
        create_function("py_x", 5, [], "Int8")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("toUInt8(1)", 1),
        ("toInt256(-5)", -5),
        ("1.5::Float32", 1.5),
        ("true", True),
        ("'a'", "a"),
        ("unhex('ff')", b"\xff"),
        ("toDate('2024-01-01')", datetime.date(2024, 1, 1)),
        ("toDateTime64('2024-01-01 01:02:03.5', 6)", datetime.datetime(2024, 1, 1, 1, 2, 3, 500000)),
        ("toDecimal64(1.5, 2)", decimal.Decimal("1.50")),
        ("toUUID('00000000-0000-0000-0000-000000000005')", uuid.UUID(int=5)),
        ("toIPv4('1.2.3.4')", ipaddress.ip_address("1.2.3.4")),
        ("[1, 2]", [1, 2]),
        ("(1, 'a')", (1, "a")),
        ("map('a', 1)", {"a": 1}),
        ("NULL", None),
        ("CAST('a', 'Enum8(\\'a\\' = 1)')", "a"),
        ("toLowCardinality('x')", "x"),
    ],
)
def test_arguments_are_native(db, define, expression, value):
    seen = []
    define("py_see", lambda a: seen.append(a) or 1, None, "UInt8", on_null="pass")
    db.query(f"SELECT py_see({expression})")
    assert seen == [value] and type(seen[0]) is type(value)


@pytest.mark.parametrize(
    ("ty", "value", "back"),
    [
        ("Bool", True, True),
        ("UInt8", 255, 255),
        ("Int128", -(2**100), -(2**100)),
        ("UInt256", 2**255, 2**255),
        ("Float64", 5, 5.0),
        ("Float32", 0.5, 0.5),
        ("String", b"\xff", b"\xff"),
        ("FixedString(3)", "ab", "ab\0"),
        ("Date", datetime.date(2024, 1, 1), datetime.date(2024, 1, 1)),
        ("Date32", datetime.date(1950, 1, 1), datetime.date(1950, 1, 1)),
        ("DateTime", datetime.datetime(2024, 1, 1, 5), datetime.datetime(2024, 1, 1, 5)),
        ("DateTime64(3)", datetime.datetime(1960, 1, 1, 5, 0, 0, 123456), datetime.datetime(1960, 1, 1, 5, 0, 0, 123000)),
        ("Decimal(9, 2)", decimal.Decimal("-1.5"), decimal.Decimal("-1.50")),
        ("Decimal(76, 2)", 10**70, decimal.Decimal(10**70)),
        ("UUID", uuid.UUID(int=2**120 + 1), uuid.UUID(int=2**120 + 1)),
        ("IPv4", ipaddress.ip_address("1.2.3.4"), ipaddress.ip_address("1.2.3.4")),
        ("IPv6", ipaddress.ip_address("2001:db8::1"), ipaddress.ip_address("2001:db8::1")),
        ("Enum8('a' = 1, 'b' = 2)", "b", "b"),
        ("Array(Nullable(Int64))", [1, None], [1, None]),
        ("Map(String, Array(UInt8))", {"a": [1, 2]}, {"a": [1, 2]}),
        ("Tuple(a Int8, b String)", (1, "x"), (1, "x")),
        ("Tuple(a Int8, b String)", {"a": 1, "b": "x"}, (1, "x")),
        ("LowCardinality(String)", "x", "x"),
    ],
)
def test_results_are_converted(db, define, ty, value, back):
    define("py_give", lambda: value, [], ty)
    found = db.execute("SELECT py_give()").fetchone()[0]
    assert type(found) is type(back)
    assert found == back or (isinstance(back, float) and math.isclose(found, back))


@pytest.mark.parametrize(
    ("ty", "value", "words"),
    [
        ("Int64", 1.5, "cannot convert Python float to Int64"),
        ("Int64", True, "cannot convert Python bool"),
        ("Int64", "5", "cannot convert Python str"),
        ("String", 5, "cannot convert Python int to String"),
        ("UInt8", 300, "300 is out of range for type UInt8"),
        ("UInt8", -1, "out of range"),
        ("Date", datetime.date(1900, 1, 1), "out of range"),
        ("Decimal(3, 1)", decimal.Decimal("1.25"), "out of range"),
        ("Decimal(3, 1)", decimal.Decimal("NaN"), "out of range"),
        ("FixedString(1)", "ab", "out of range"),
        ("Array(UInt8)", [1, "x"], "cannot convert Python list"),
        ("Tuple(UInt8, UInt8)", (1,), "cannot convert"),
        ("Enum8('a' = 1)", "z", "out of range"),
    ],
)
def test_results_of_another_type(db, define, ty, value, words):
    define("py_give", lambda: value, [], ty)
    with pytest.raises(chalet.Error, match=words) as caught:
        db.query("SELECT py_give()")
    assert caught.value.name == "TYPE_MISMATCH"


def test_the_decorator(db):
    @chalet.func([sqltypes.INT64], sqltypes.INT64)
    def py_next(a):
        return a + 1

    try:
        assert py_next(1) == 2 and chalet.func is udf.func
        assert db.query("SELECT py_next(1)").data() == "2\n"
    finally:
        drop_function("py_next")


@pytest.mark.parametrize(
    ("func", "types", "words"),
    [
        (lambda x: x, ["Int64"] * 2, "arg_types has 2 elements but function has 1 parameters"),
        (lambda x, y: x, ["Int64"], "arg_types has 1 elements but function has 2 parameters"),
        (lambda x, *, y: x, ["Int64"], "parameter 'y' is KEYWORD_ONLY, only positional parameters are supported"),
    ],
)
def test_types_of_other_parameters_than_there_are(func, types, words):
    with pytest.raises(chalet.ProgrammingError, match=f"Failed to create function 'py_wrong': Python UDF 'py_wrong': {words}"):
        create_function("py_wrong", func, types, "Int64")
    with pytest.raises(chalet.ProgrammingError, match="arg_types has 2 elements"):
        create_aggregate_function("py_wrong", Total, ["Int64"] * 2, "Int64")


def test_parameters_that_may_be_left_out(db, define):
    define("py_few", lambda x, y=5, *more: x + y + sum(more), ["Int64"], "Int64")
    define("py_many", lambda x, y=5, *more: x + y + sum(more), ["Int64"] * 4, "Int64")
    define("py_any", lambda x, y: x + y, [], "Int64")
    assert db.execute("SELECT py_few(1), py_many(1, 2, 3, 4), py_any(1, 2)").fetchone() == (6, 10, 3)


@pytest.mark.parametrize(
    ("ty", "text", "back"),
    [
        ("Array(Int64)", "[1,2]", [1, 2]),
        ("Array(Nullable(String))", "['a','it\\'s NULL',NULL]", ["a", "it's NULL", None]),
        ("Map(String, Int64)", "{'a':1}", {"a": 1}),
        ("Tuple(Int64, String)", "(1,'a')", (1, "a")),
        ("Array(Bool)", "[true,false]", [True, False]),
        ("Nullable(Int64)", "5", 5),
        ("Nullable(Int64)", "\\N", None),
        ("Nullable(String)", "\\N", None),
        ("LowCardinality(String)", "a", "a"),
        ("IPv4", "1.2.3.4", ipaddress.ip_address("1.2.3.4")),
    ],
)
def test_results_of_text_are_read(db, ty, text, back):
    def py_text(_):
        return text

    udf.chdb_udf(return_type=ty)(py_text)
    try:
        assert db.execute("SELECT py_text(1)").fetchone() == (back,)
    finally:
        drop_function("py_text")


def test_arguments_of_text_are_those_of_sql(db):
    @udf.chdb_udf()
    def py_same(text):
        return text

    try:
        values = ("true", "5.0", "1e100", "1.50::Decimal(9, 2)", "[1]")
        row = db.execute(f"SELECT {', '.join(f'py_same({value})' for value in values)}").fetchone()
        assert row == ("true", "5", "1e100", "1.5", "[1]")
    finally:
        drop_function("py_same")


def test_functions_of_text(db):
    @udf.chdb_udf()
    def py_sum(a, b):
        return str(int(a) + int(b))

    @udf.chdb_udf(return_type="Int32")
    def py_sum_number(a, b):
        return int(a) + int(b)

    udf.generate_udf("py_made", ["a"], "String", "def py_made(a):\n    return a * 2\n")
    try:
        assert db.query("SELECT py_sum(12, 13), py_sum_number(12, 13), py_made('ab')").data() == '"25",25,"abab"\n'
        assert py_sum(1, 2) == "3"
    finally:
        for name in ("py_sum", "py_sum_number", "py_made"):
            drop_function(name)


def test_a_function_that_asks_its_own_connection(db, define):
    define("py_ask", lambda a: db.query("SELECT 1").data(), ["UInt8"], "String")
    with pytest.raises(chalet.Error, match="another connection"):
        db.query("SELECT py_ask(1)")
    define("py_ask2", lambda a: chalet.query(f"SELECT {a} + 1").data().strip(), ["UInt8"], "String")
    assert db.query("SELECT py_ask2(1)", "TSV").data() == "2\n"


def test_arguments_are_of_one_call_alone(db, define):
    """A function may change the lists and dicts it gets, also constant ones."""
    define("py_grow", lambda a, m: (a.append(7), m.update({"b": 1})) and len(a) + len(m), ["Array(Int64)", "Map(String, Int64)"], "Int64")
    asked = "SELECT sum(py_grow({}, {})) FROM numbers(3000)"
    assert db.query(asked.format("[1, 2]::Array(Int64)", "map('a', 2)")).data() == f"{3000 * 5}\n"
    assert db.query(asked.format("[number]::Array(Int64)", "map('a', number)")).data() == f"{3000 * 4}\n"


def test_lists_of_many_rows(db, define):
    """Of rows that are called for in pieces, each piece has its own lists."""
    define("py_last", lambda a: a[-1] if a else -1, ["Array(UInt64)"], "Int64")
    db.query("CREATE TABLE py_lists ENGINE = Memory AS SELECT range(number, number + number % 4) AS a FROM numbers(200000)")
    answer = db.query("SELECT sum(py_last(a)), sum(empty(a) ? -1 : toInt64(a[-1])) FROM py_lists", "TSV").data().split()
    assert answer[0] == answer[1]


def test_threads_call_functions_at_once(define):
    define("py_double", lambda a: a * 2, ["UInt64"], "UInt64")
    failures = []

    def work():
        try:
            with chalet.connect() as connection:
                answer = connection.query("SELECT sum(py_double(number)) FROM numbers(100000)").data()
            assert answer == "9999900000\n"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


class Total:
    def __init__(self):
        self.total = 0

    def update(self, value: int) -> None:
        self.total += value

    def merge(self, other):
        self.total += other.total

    def evaluate(self) -> int:
        return self.total


class Batched(Total):
    calls = 0

    def update_batch(self, values):
        Batched.calls += 1
        self.total += sum(values)


@pytest.fixture
def aggregates():
    udf.agg(name="py_total")(Total)
    udf.agg(["Int64"], "Int64", name="py_batched")(Batched)
    yield
    drop_function("py_total")
    drop_function("py_batched")


def test_aggregates(db, aggregates):
    assert chalet.agg is udf.agg
    assert db.query("SELECT py_total(number), py_batched(number) FROM numbers(100000)").data() == "4999950000,4999950000\n"
    assert 0 < Batched.calls < 1000
    rows = db.execute("SELECT number % 3 AS k, py_total(number), sum(number) FROM numbers(100000) GROUP BY k").fetchall()
    assert len(rows) == 3 and all(ours == theirs for _, ours, theirs in rows)
    assert db.query("SELECT py_total(number) FROM numbers(10) WHERE 0").data() == "0\n"
    assert db.query("SELECT py_totalIf(number, number < 3) FROM numbers(10)").data() == "3\n"
    assert db.query("SELECT py_total(if(number = 1, NULL, number)) FROM numbers(3)").data() == "2\n"


def test_states_of_local_classes_in_windows(db):
    class Listed:
        def __init__(self):
            self.values = None

        def update(self, value: int) -> None:
            if value == 7:
                self.lock = threading.Lock()
            self.values = (self.values or []) + [value]

        def merge(self, other):
            # Shares the other's list, as careless classes do.
            self.values = other.values if self.values is None else self.values + other.values

        def evaluate(self) -> str:
            return str(self.values)

    create_aggregate_function("py_listed", Listed)
    try:
        rows = db.execute("SELECT py_listed(number) OVER (ORDER BY number) FROM numbers(3)").fetchall()
        assert rows == (("[0]",), ("[0, 1]",), ("[0, 1, 2]",))
        assert db.execute("SELECT py_listed(1) OVER ()").fetchone() == ("[1]",)
        totals = db.query("SELECT number, py_listed(number) FROM numbers(2) GROUP BY number WITH TOTALS ORDER BY number", "TSV")
        assert totals.data() in ("0\t[0]\n1\t[1]\n\n0\t[0, 1]\n", "0\t[0]\n1\t[1]\n\n0\t[1, 0]\n")
        # A window keeps one state and needs no copies of it; totals do.
        assert db.execute("SELECT py_listed(7) OVER ()").fetchone() == ("[7]",)
        with pytest.raises(chalet.Error, match="pickle") as caught:
            db.query("SELECT number, py_listed(7) FROM numbers(2) GROUP BY number WITH TOTALS")
        assert str(caught.value).count("Code: ") == 1
    finally:
        drop_function("py_listed")


def test_policies_of_aggregates(db):
    class Fragile(Total):
        def update(self, value: int) -> None:
            self.total += 1 // value

    create_aggregate_function("py_fragile", Fragile)
    create_aggregate_function("py_fragile_ignored", Fragile, on_error="ignore")
    create_aggregate_function("py_counted", lambda: _Counter(), ["Int64"], "UInt64", on_null="pass")
    try:
        with pytest.raises(chalet.Error, match="ZeroDivisionError") as caught:
            db.query("SELECT py_fragile(number) FROM numbers(2)")
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert db.query("SELECT py_fragile_ignored(number) FROM numbers(2)").data() == "1\n"
        assert db.query("SELECT py_counted(if(number = 1, NULL, number)) FROM numbers(3)").data() == "3\n"
        with pytest.raises(TypeError, match="evaluate"):
            create_aggregate_function("py_x", type("X", (), {"update": len, "merge": len}), [], "Int8")
    finally:
        for name in ("py_fragile", "py_fragile_ignored", "py_counted"):
            drop_function(name)


class _Counter:
    def __init__(self):
        self.n = 0

    def update(self, _value):
        self.n += 1

    def merge(self, other):
        self.n += other.n

    def evaluate(self):
        return self.n
