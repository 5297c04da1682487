"""Query parameters: every Python value binds as what it is."""

import datetime
import decimal
import ipaddress
import uuid

import pytest

import chalet


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
