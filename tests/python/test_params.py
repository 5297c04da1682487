"""Query parameters: every Python value binds as what it is."""

import datetime
import decimal
import enum
import ipaddress
import uuid
from zoneinfo import ZoneInfo

import pytest

import chalet
from chalet._params import type_of


@pytest.mark.parametrize(
    ("ty", "value"),
    [
        ("UInt8", 7),
        ("Int64", -(2**63)),
        ("Float64", 1.5),
        ("Bool", True),
        ("String", "plain"),
        ("String", ""),
        ("String", "it's a \\ tab\t, a line\n and \\N"),
        ("String", "x' OR 1 = 1 --"),
        ("Nullable(String)", None),
        ("Nullable(UInt8)", None),
        ("Decimal(10, 2)", decimal.Decimal("12.50")),
        ("Date", datetime.date(2024, 2, 29)),
        ("DateTime", datetime.datetime(2024, 2, 29, 1, 2, 3)),
        ("UUID", uuid.UUID(int=5)),
        ("IPv4", ipaddress.ip_address("10.0.0.1")),
        ("Array(UInt8)", [1, 2, 3]),
        ("Array(UInt8)", []),
        ("Array(String)", ["it's", "a \\ b"]),
        ("Array(Nullable(String))", ["a", None]),
        ("Array(Array(Int8))", [[1], [-2, 3]]),
        ("Tuple(UInt8, String)", (1, "a'b")),
        ("Map(String, UInt8)", {"a": 1, "b": 2}),
        ("Array(Date)", [datetime.date(2024, 1, 1)]),
    ],
)
def test_round_trip(db, ty, value):
    cursor = db.cursor().execute(f"SELECT {{x:{ty}}}", {"x": value})
    assert cursor.fetchone()[0] == value


def test_a_moment_with_a_zone_keeps_its_instant(db):
    zone = datetime.timezone(datetime.timedelta(hours=3))
    moment = datetime.datetime(2024, 1, 1, 3, 0, 0, tzinfo=zone)
    result = db.query("SELECT toUnixTimestamp({x:DateTime('Asia/Tokyo')})", params={"x": moment})
    assert result.data() == "1704067200\n"


def test_identifiers(db):
    db.query("CREATE TABLE t (x UInt8) ENGINE = Memory; INSERT INTO t VALUES (5)")
    assert db.query("SELECT {c:Identifier} FROM {t:Identifier}", params={"c": "x", "t": "t"}).data() == "5\n"


def test_errors(db):
    with pytest.raises(chalet.Error, match="Substitution `x` is not set"):
        db.query("SELECT {x:UInt8}")
    with pytest.raises(chalet.Error, match="cannot be parsed as UInt64"):
        db.query("SELECT {x:UInt64}", params={"x": "seven"})
    with pytest.raises(TypeError, match="object"):
        db.query("SELECT {x:UInt64}", params={"x": object()})


def test_parameters_do_not_stay(db):
    db.query("SELECT {x:UInt8}", params={"x": 1})
    with pytest.raises(chalet.Error):
        db.query("SELECT {x:UInt8}")


def test_null_as_text_formats_write_it(db):
    for ty in ("Nullable(UInt64)", "Nullable(Date)"):
        assert db.execute(f"SELECT {{n:{ty}}}", {"n": "\\N"}).fetchone() == (None,)
    # A text stays that text.
    assert db.execute("SELECT {n:Nullable(String)}", {"n": "\\N"}).fetchone() == ("\\N",)
    with pytest.raises(chalet.Error):
        db.execute("SELECT {n:UInt64}", {"n": "\\N"})


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "ty", "back"),
    [
        (None, "Nullable(Nothing)", None),
        (True, "Bool", True),
        (0, "UInt8", 0),
        (256, "UInt16", 256),
        (-129, "Int16", -129),
        (2**64 - 1, "UInt64", 2**64 - 1),
        (2**200, "UInt256", 2**200),
        (-(2**100), "Int128", -(2**100)),
        (1.5, "Float64", 1.5),
        ("a\tb\\n'\0", "String", "a\tb\\n'\0"),
        (b"\xff\\'\t", "String", b"\xff\\'\t"),
        (b"abc", "String", "abc"),
        (decimal.Decimal("-1.250"), "Decimal(4, 3)", decimal.Decimal("-1.250")),
        (decimal.Decimal("0.001"), "Decimal(3, 3)", decimal.Decimal("0.001")),
        (decimal.Decimal("1E+3"), "Decimal(4, 0)", decimal.Decimal(1000)),
        (datetime.date(2024, 2, 29), "Date", datetime.date(2024, 2, 29)),
        (datetime.date(1900, 1, 1), "Date32", datetime.date(1900, 1, 1)),
        (datetime.datetime(2024, 1, 2, 3, 4, 5), "DateTime", datetime.datetime(2024, 1, 2, 3, 4, 5)),
        (
            datetime.datetime(1969, 12, 31, 23, 59, 59, 250000, tzinfo=ZoneInfo("Europe/Paris")),
            "DateTime64(6, 'Europe/Paris')",
            datetime.datetime(1969, 12, 31, 23, 59, 59, 250000, tzinfo=ZoneInfo("Europe/Paris")),
        ),
        (
            datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            "DateTime('UTC')",
            datetime.datetime(2024, 1, 1, 10, tzinfo=ZoneInfo("UTC")),
        ),
        (uuid.UUID(int=5), "UUID", uuid.UUID(int=5)),
        (ipaddress.ip_address("1.2.3.4"), "IPv4", ipaddress.ip_address("1.2.3.4")),
        (ipaddress.ip_address("::1"), "IPv6", ipaddress.ip_address("::1")),
        (Colour.RED, "String", "red"),
        ([1, 300, None], "Array(Nullable(UInt16))", [1, 300, None]),
        ([None, 1], "Array(Nullable(UInt8))", [None, 1]),
        ([-1, 200], "Array(Int16)", [-1, 200]),
        ([1, 2.5], "Array(Float64)", [1.0, 2.5]),
        ([], "Array(Nothing)", []),
        ([["it's", "a\nb"], []], "Array(Array(String))", [["it's", "a\nb"], []]),
        ([b"\xff", b"a"], "Array(String)", [b"\xff", "a"]),
        ([uuid.UUID(int=1)], "Array(UUID)", [uuid.UUID(int=1)]),
        ([datetime.date(2024, 1, 1)], "Array(Date)", [datetime.date(2024, 1, 1)]),
        ((1, "a", None), "Tuple(UInt8, String, Nullable(Nothing))", (1, "a", None)),
        ((1,), "Tuple(UInt8)", (1,)),
        ({"a": [1], "b'": []}, "Map(String, Array(UInt8))", {"a": [1], "b'": []}),
        ({"a": {"b": 1}}, "Map(String, Map(String, UInt8))", {"a": {"b": 1}}),
    ],
)
def test_every_value_has_a_type_that_holds_it(db, value, ty, back):
    assert type_of(value) == ty
    found = db.execute(f"SELECT {{x:{ty}}}", {"x": value}).fetchone()[0]
    assert found == back and type(found) is type(back)
    with chalet.dbapi.connect() as cursor:
        for sql, args in (("SELECT %s", (value,)), ("SELECT ?", (value,)), ("SELECT %(x)s", {"x": value})):
            cursor.execute(sql, args)
            assert cursor.fetchone() == (back,)


def test_scalars_of_numpy(db):
    numpy = pytest.importorskip("numpy")
    values = [numpy.int32(-5), numpy.float32(0.5), numpy.bool_(True), numpy.str_("x"), numpy.datetime64("2024-01-02")]
    assert [type_of(value) for value in values] == ["Int8", "Float64", "Bool", "String", "Date"]
    row = db.execute(
        "SELECT {a:Int32}, {b:Float32}, {c:Bool}, {d:String}, {e:Date}, {f:Array(UInt8)}, {g:DateTime64(9)}",
        dict(zip("abcde", values), f=numpy.array([1, 2]), g=numpy.datetime64("2024-01-02T03:04:05.123456789")),
    ).fetchone()
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 123456)
    assert row == (-5, 0.5, True, "x", datetime.date(2024, 1, 2), [1, 2], moment)


@pytest.mark.parametrize("value", [object(), [1, "a"], {1: "a", "b": 2}, [object()]])
def test_what_has_no_type(value):
    with pytest.raises(TypeError):
        type_of(value)


def bound(db, ty, value):
    return db.execute(f"SELECT {{x:{ty}}}", {"x": value}).fetchone()[0]


class Odd(enum.Enum):
    SLASH = "a\\b"
    TAB = "tab\t"
    NOTHING = None


def test_members_and_arrays_are_escaped_once(db):
    numpy = pytest.importorskip("numpy")
    assert bound(db, "String", Odd.SLASH) == "a\\b" and bound(db, "Array(String)", [Odd.SLASH]) == ["a\\b"]
    assert bound(db, "String", Odd.TAB) == "tab\t" and bound(db, "Nullable(String)", Odd.NOTHING) is None
    assert bound(db, "Array(String)", numpy.array(["a\\b", "it's"])) == ["a\\b", "it's"]


@pytest.mark.parametrize(
    "ty", "Int64 Date DateTime UUID Bool Float64 String Array(UInt8) FixedString(2) IPv4 Decimal(9,2)".split()
)
def test_null_is_no_value_of_other_types(db, ty):
    with pytest.raises(chalet.Error, match="Value NULL cannot be parsed.*BAD_QUERY_PARAMETER") as caught:
        bound(db, ty, None)
    assert caught.value.code == 457
    if not ty.startswith("Array"):
        assert bound(db, f"Nullable({ty})", None) is None


@pytest.mark.parametrize("ty", ["Int64", "UInt128", "Decimal(9, 2)", "Nullable(Int64)"])
def test_an_empty_text_is_no_number(db, ty):
    with pytest.raises(chalet.Error, match="BAD_QUERY_PARAMETER"):
        bound(db, ty, "")


@pytest.mark.parametrize(
    ("ty", "value"),
    [
        ("Int8", 128),
        ("Int8", -129),
        ("UInt64", 2**64),
        ("Int64", 2**63),
        ("UInt8", -1),
        ("Int256", 2**255),
        ("UInt256", 2**256),
        ("Nullable(Int8)", 128),
        ("Array(UInt8)", [1, 300]),
        ("Map(String, UInt8)", {"a": 300}),
        ("Tuple(String, Int8)", ("a", 300)),
    ],
)
def test_integers_do_not_wrap(db, ty, value):
    with pytest.raises(chalet.Error, match="is out of the range.*BAD_QUERY_PARAMETER"):
        bound(db, ty, value)


@pytest.mark.parametrize(
    ("ty", "value", "back"),
    [
        ("Int64", True, 1),
        ("UInt8", False, 0),
        ("Int64", 5.0, 5),
        ("Float64", True, 1.0),
        ("String", True, "1"),
        ("Bool", True, True),
        ("Array(Bool)", [True, False], [True, False]),
        ("Array(Int8)", [True, 5.0], [1, 5]),
        ("Map(String, Int64)", {"a, ]": True}, {"a, ]": 1}),
        ("Int256", -(2**255), -(2**255)),
        ("UInt256", 2**256 - 1, 2**256 - 1),
        ("Array(UInt8)", (1, 2), [1, 2]),
        ("Array(UInt8)", (1,), [1]),
        ("Array(UInt8)", (), []),
        ("Array(String)", ("(a', ]", "\\"), ["(a', ]", "\\"]),
        ("Array(Array(UInt8))", [(1, 2), [3]], [[1, 2], [3]]),
        ("Array(UInt8)", range(3), [0, 1, 2]),
        ("Tuple(UInt8, String)", [1, "a"], (1, "a")),
        ("Tuple(UInt8)", [1], (1,)),
        ("Array(Tuple(UInt8, Array(String)))", [[1, ("a",)]], [(1, ["a"])]),
        ("Map(String, Array(UInt8))", {"a": (1,), "b": {}.keys()}, {"a": [1], "b": []}),
    ],
)
def test_the_declared_type_decides(db, ty, value, back):
    found = bound(db, ty, value)
    assert found == back and type(found) is type(back)


def test_fractions_are_no_integers(db):
    with pytest.raises(chalet.Error, match="BAD_QUERY_PARAMETER"):
        bound(db, "Int64", 5.5)


def test_moments_in_nanoseconds(db):
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    text = "2024-01-02 03:04:05.123456789"
    moment = numpy.datetime64(text, "ns")
    assert [type_of(value) for value in (moment, pandas.Timestamp(text))] == ["DateTime64(9)"] * 2
    assert type_of(numpy.array([moment])) == type_of(pandas.Series([moment])) == "Array(DateTime64(9))"
    assert type_of(pandas.Timestamp(text, tz="Europe/Paris")) == "DateTime64(9, 'Europe/Paris')"
    with chalet.dbapi.connect() as cursor:
        for value in (moment, pandas.Timestamp(text), pandas.Timestamp(text, tz="Europe/Paris")):
            cursor.execute("SELECT toString(%s)", (value,))
            assert cursor.fetchone() == (text,)
        for value in (numpy.array([moment]), pandas.Series([moment]), [pandas.Timestamp(text)]):
            cursor.execute("SELECT toString(%s)", (value,))
            assert cursor.fetchone() == (f"['{text}']",)
        cursor.execute("SELECT %s, %s, %s", (pandas.NaT, pandas.NA, numpy.datetime64("NaT")))
        assert cursor.fetchone() == (None, None, None)
        cursor.execute("SELECT %s", (pandas.to_datetime(["2024-01-02 03:04:05.000000001", None]),))
        assert cursor.fetchone() == ([datetime.datetime(2024, 1, 2, 3, 4, 5), None],)
    assert bound(db, "Nullable(DateTime64(9))", pandas.NaT) is bound(db, "Nullable(Int64)", pandas.NA) is None


def test_long_floats_of_numpy(db):
    numpy = pytest.importorskip("numpy")
    assert bound(db, "Float64", numpy.longdouble(1.5)) == 1.5 and type_of(numpy.longdouble(1.5)) == "Float64"
    assert bound(db, "Array(Float64)", numpy.array([[1.5], [2]], "longdouble")[:, 0]) == [1.5, 2.0]


@pytest.mark.parametrize("value", [[[1], None], [(1,), None], {"a": [1], "b": None}, [{"a": 1}, None]])
def test_null_beside_what_cannot_be_nullable(value):
    with chalet.dbapi.connect() as cursor, pytest.raises(chalet.dbapi.ProgrammingError, match="cannot be Nullable"):
        cursor.execute("SELECT %s", (value,))


def test_settings_of_one_call(db):
    assert db.query("SELECT getSetting('max_threads')", settings={"max_threads": 3}).data() == "3\n"
    assert db.query("SELECT getSetting('join_use_nulls')", settings={"join_use_nulls": True}).data() == "true\n"
    assert db.send_query("SELECT getSetting('max_threads')", settings={"max_threads": 5}).fetch().data() == "5\n"
    assert db.query("SELECT changed, readonly FROM system.settings WHERE name = 'max_threads'").data() == "0,0\n"
    with pytest.raises(chalet.Error, match="UNKNOWN_SETTING"):
        db.query("SELECT 1", settings={"nosuch": 1})
    db.query("CREATE TABLE t (a UInt8, b UInt8 DEFAULT 7) ENGINE = Memory")
    with db.send_insert("INSERT INTO t (a, b)", settings={"format_csv_delimiter": "|"}) as insert:
        insert.append("1|2\n")
        insert.finish()
    assert db.query("SELECT * FROM t").data() == "1,2\n"


def test_identifiers_everywhere(db):
    """A name that a parameter holds is the name, also where it is created or dropped."""
    given = {"t": "kept", "c": "x", "d": "other"}
    db.query("CREATE TABLE t (x UInt8) ENGINE = Memory")
    db.query("CREATE TABLE {t:Identifier} ({c:Identifier} UInt8) ENGINE = Memory", params=given)
    db.query("INSERT INTO {t:Identifier} ({c:Identifier}) VALUES (1), (2)", params=given)
    assert db.query("SELECT count() FROM kept").data() == "2\n"
    assert db.query("SELECT 1 AS {c:Identifier}", "JSONEachRow", params=given).data() == '{"x":1}\n'
    for sql in ("EXISTS TABLE {t:Identifier}", "SHOW CREATE TABLE {t:Identifier}", "DESCRIBE TABLE {t:Identifier}"):
        assert db.query(sql, params=given).data() == db.query(sql.replace("{t:Identifier}", "kept")).data()
    assert db.query("SET param_t = 'kept'; SELECT count() FROM {t:Identifier}").data() == "2\n"
    db.query("CREATE DATABASE {d:Identifier}", params=given)
    db.query("RENAME TABLE {t:Identifier} TO {d:Identifier}.{t:Identifier}", params=given)
    db.query("TRUNCATE TABLE {d:Identifier}.{t:Identifier}", params=given)
    db.query("DROP TABLE {d:Identifier}.{t:Identifier}", params=given)
    assert db.query("SHOW TABLES").data() == '"t"\n'
    db.query("DROP DATABASE {d:Identifier}", params=given)
    for sql in ("DROP TABLE {n:Identifier}", "INSERT INTO {n:Identifier} VALUES (1)", "USE {n:Identifier}", "SELECT {n:Identifier} FROM t"):
        with pytest.raises(chalet.Error, match="Substitution `n` is not set"):
            db.query(sql)
