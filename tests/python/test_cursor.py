"""Cursors: rows as Python objects, with native types."""

import datetime
import decimal
import gc
import ipaddress
import pickle
import random
import sys
import time
import uuid
from zoneinfo import ZoneInfo

import patience
import pytest

import chalet


def test_fetching(db):
    cursor = db.cursor()
    assert cursor.execute("SELECT number, toString(number) FROM numbers(5)") is cursor
    assert cursor.fetchone() == (0, "0")
    assert cursor.fetchmany(2) == ((1, "1"), (2, "2"))
    assert cursor.fetchall() == ((3, "3"), (4, "4"))
    assert cursor.fetchone() is None
    assert cursor.fetchall() == ()


def test_fetching_a_negative_number(db):
    assert db.execute("SELECT 1").fetchmany(-1) == db.fetchmany(-1) == ()
    assert db.fetchall() == ((1,),)


def test_no_cursor_of_a_closed_connection(db):
    db.close()
    with pytest.raises(chalet.InterfaceError):
        db.cursor()


def test_iterating_over_many_blocks(db):
    rows = list(db.cursor().execute("SELECT number FROM numbers(200000)"))
    assert len(rows) == 200000
    assert {row[0] for row in rows} == set(range(200000))


def test_description(db):
    cursor = db.cursor()
    assert cursor.description is None
    cursor.execute("SELECT 1 AS a, 'x' AS b")
    assert [column[:2] for column in cursor.description] == [("a", "UInt8"), ("b", "String")]
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.column_names() == ["a", "b"]
    assert cursor.column_types() == ["UInt8", "String"]


def test_the_connection_is_a_cursor_too(db):
    db.execute("SELECT 1, 2")
    assert db.fetchone() == (1, 2)
    assert db.fetchall() == ()


def test_two_cursors_do_not_disturb_each_other(db):
    first = db.cursor().execute("SELECT number FROM numbers(3)")
    assert first.fetchone() == (0,)
    second = db.cursor().execute("SELECT 'x'")
    assert first.fetchall() == ((1,), (2,))
    assert second.fetchall() == (("x",),)


def test_a_closed_cursor_says_so(db):
    cursor = db.cursor()
    cursor.close()
    with pytest.raises(chalet.Error, match="closed"):
        cursor.execute("SELECT 1")


def test_rows_leave_the_garbage_collector_as_it_was(db):
    cursor = db.cursor()
    assert gc.isenabled()
    cursor.execute("SELECT number FROM numbers(10)").fetchall()
    assert gc.isenabled()
    gc.disable()
    try:
        cursor.execute("SELECT number FROM numbers(10)").fetchall()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_decimals_are_those_of_their_texts(db):
    chance = random.Random(3)
    for bits, digits in ((32, 9), (64, 18), (128, 38), (256, 76)):
        for scale in (0, 1, digits // 2, digits):
            values = [0, 1, -1, 10**digits - 1, 1 - 10**digits, 10 ** (digits // 2), 10**19 % 10**digits, 10**19 * 7 % 10**digits]
            values += [chance.choice((1, -1)) * chance.randrange(10 ** chance.randrange(1, digits + 1)) for _ in range(200)]
            texts = [str(decimal.Decimal(value).scaleb(-scale, decimal.Context(prec=100))) for value in values]
            listed = ", ".join(f"toDecimal{bits}('{decimal.Decimal(text):f}', {scale})" for text in texts)
            found = [row[0] for row in db.cursor().execute(f"SELECT arrayJoin([{listed}])").fetchall()]
            expected = [decimal.Decimal(text) for text in texts]
            assert [one.as_tuple() for one in found] == [one.as_tuple() for one in expected]
            assert [hash(one) for one in found] == [hash(one) for one in expected]
            assert [one + 1 for one in found] == [one + 1 for one in expected]
            assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_as_it_was_after_rows_that_cannot_be_made(db, was_on):
    """A year that Python does not have raises amid the rows."""
    sql = "SELECT number, if(number = 4000, fromUnixTimestamp64Milli(toInt64(900000000000000000)), now64()) AS t FROM numbers(5000)"
    try:
        if not was_on:
            gc.disable()
        with pytest.raises((ValueError, chalet.Error)):
            db.cursor().execute(sql).fetchall()
        assert gc.isenabled() == was_on
        assert db.cursor().execute("SELECT 1").fetchall() == ((1,),)
        assert gc.isenabled() == was_on
    finally:
        gc.enable()


PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("toUInt8(255)", 255),
        ("toInt64(-9223372036854775808)", -(2**63)),
        ("toUInt64(18446744073709551615)", 2**64 - 1),
        ("toInt128('-170141183460469231731687303715884105728')", -(2**127)),
        ("toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935')", 2**256 - 1),
        ("toInt256(-5)", -5),
        ("1.5", 1.5),
        ("toFloat32(0.25)", 0.25),
        ("true", True),
        ("'text'", "text"),
        ("'a\\0b'", "a\0b"),
        ("unhex('FF')", b"\xff"),
        ("toFixedString('ab', 3)", "ab\0"),
        ("toDecimal64(-1.25, 4)", decimal.Decimal("-1.2500")),
        ("toDecimal32(0.05, 2)", decimal.Decimal("0.05")),
        ("toDecimal256(-3, 0)", decimal.Decimal(-3)),
        ("toDate('2024-02-29')", datetime.date(2024, 2, 29)),
        ("toDate32('1900-01-01')", datetime.date(1900, 1, 1)),
        ("toDateTime('2024-01-02 03:04:05', 'UTC')", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=ZoneInfo("UTC"))),
        ("toDateTime('2024-07-02 03:04:05', 'Europe/Paris')", datetime.datetime(2024, 7, 2, 3, 4, 5, tzinfo=PARIS)),
        (
            "toDateTime64('1969-12-31 23:59:59.25', 3, 'UTC')",
            datetime.datetime(1969, 12, 31, 23, 59, 59, 250000, tzinfo=ZoneInfo("UTC")),
        ),
        ("toUUID('00112233-4455-6677-8899-aabbccddeeff')", uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")),
        ("toIPv4('1.2.3.4')", ipaddress.ip_address("1.2.3.4")),
        ("toIPv6('2001:db8::1')", ipaddress.ip_address("2001:db8::1")),
        ("CAST('b', 'Enum8(\\'a\\' = -1, \\'b\\' = 2)')", "b"),
        ("INTERVAL 90 MINUTE", datetime.timedelta(hours=1, minutes=30)),
        ("INTERVAL 2 MONTH", 2),
        ("[1, 2, 3]", [1, 2, 3]),
        ("[[1], [], [2, 3]]", [[1], [], [2, 3]]),
        ("['a', NULL]", ["a", None]),
        ("(1, 'a')", (1, "a")),
        ("map('a', 1, 'b', 2)", {"a": 1, "b": 2}),
        ("[]", []),
        ("NULL", None),
        ("toLowCardinality('x')", "x"),
        ("CAST(NULL, 'Nullable(String)')", None),
    ],
)
def test_values(of, expression, expected):
    found = of(expression)
    assert found == expected
    assert type(found) is type(expected)


def test_nan(of):
    found = of("nan")
    assert found != found


def test_a_datetime_without_zone_is_naive(of):
    assert of("toDateTime('2024-01-02 03:04:05')") == datetime.datetime(2024, 1, 2, 3, 4, 5)


def test_both_passes_of_a_repeated_hour_are_told_apart(db):
    moments = "toDateTime(1729987200 + number * 3600, 'Europe/Paris')"
    found = [row[0] for row in db.cursor().execute(f"SELECT {moments} FROM numbers(3)")]
    assert [moment.timestamp() for moment in found] == [1729987200, 1729990800, 1729994400]
    assert [moment.fold for moment in found] == [0, 1, 0]


def test_nulls_among_values(db):
    rows = db.cursor().execute("SELECT if(number % 2 = 0, NULL, number) FROM numbers(4)").fetchall()
    assert rows == ((None,), (1,), (None,), (3,))


def test_objects_are_as_their_classes_make_them(db):
    row = db.execute(
        "SELECT toUUID('fedcba98-7654-3210-8899-aabbccddeeff'), toUUID('00000000-0000-0000-0000-000000000000'),"
        " toIPv4('255.255.255.255'), toIPv6('fe80::1'), toIPv6('::'), toDate('2024-02-29'),"
        " toDateTime64('1900-01-01 00:00:00.000001', 6, 'UTC')"
    ).fetchone()
    assert row == (
        uuid.UUID("fedcba98-7654-3210-8899-aabbccddeeff"),
        uuid.UUID(int=0),
        ipaddress.ip_address("255.255.255.255"),
        ipaddress.ip_address("fe80::1"),
        ipaddress.ip_address("::"),
        datetime.date(2024, 2, 29),
        datetime.datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=ZoneInfo("UTC")),
    )
    again = pickle.loads(pickle.dumps(row))
    assert again == row and list(map(repr, again)) == list(map(repr, row)) and list(map(hash, again)) == list(map(hash, row))
    assert row[0].is_safe is uuid.SafeUUID.unknown and row[3].scope_id is None and row[2].is_global is False
    with pytest.raises(TypeError):
        row[0].int = 1


def test_rows_are_made_fast(db):
    db.query(
        "CREATE TABLE t ENGINE = Memory AS SELECT number AS a, toString(number) AS b, number / 3 AS c,"
        " toDateTime('2024-01-01 00:00:00') + number AS d, toDate('2024-01-01') AS e, generateUUIDv4() AS f FROM numbers(100000)"
    )

    def took():
        cursor = db.cursor().execute("SELECT * FROM t")
        start = time.perf_counter()
        assert len(cursor.fetchall()) == 100_000
        return time.perf_counter() - start

    # Some 50 ms; when each object ran Python code it was ten times that.
    patience.in_time(0.4, took, tries=20)


def test_the_collector_is_spared_rows_that_cannot_be_in_a_cycle(db):
    plain = "number, toString(number), number / 2, toDateTime(number, 'UTC'), toDate(number), if(number = 1, NULL, 1), toDecimal32(1, 2)"
    rows = db.cursor().execute(f"SELECT {plain} FROM numbers(1000)").fetchall()
    assert not any(map(gc.is_tracked, rows))
    # One that holds a list is its business.
    rows = db.cursor().execute("SELECT number, [number] FROM numbers(1000)").fetchall()
    assert all(map(gc.is_tracked, rows))


def test_executemany(db):
    cursor = db.cursor()
    cursor.execute("CREATE TABLE t (a UInt64, b String, c Nullable(Int32), d Array(UInt8)) ENGINE = Memory")
    rows = [(1, "x'y", None, [1, 2]), (2, "", -5, []), (3, "é", 7, (3,))]
    assert cursor.executemany("INSERT INTO t (a, b, c, d) VALUES (%s, %s, %s, %s)", rows) is cursor
    assert (cursor.rowcount, cursor.description, cursor.fetchall()) == (3, None, ())
    cursor.executemany("INSERT INTO t (a, b) VALUES (?, ?)", ((n, str(n)) for n in (4, 5)))
    assert cursor.rowcount == 2
    cursor.executemany("INSERT INTO t (b, a) VALUES (%(b)s, %(a)s)", [{"a": 6, "b": "six"}])
    cursor.execute("SELECT * FROM t ORDER BY a")
    assert cursor.fetchall() == (
        (1, "x'y", None, [1, 2]),
        (2, "", -5, []),
        (3, "é", 7, [3]),
        (4, "4", None, []),
        (5, "5", None, []),
        (6, "six", None, []),
    )


def test_executemany_without_placeholders(db):
    db.execute("CREATE TABLE t (a UInt8, b String) ENGINE = Memory")
    cursor = db.cursor().executemany("INSERT INTO t (b, a) VALUES", [("x", 1), ("y", 2)])
    assert cursor.rowcount == 2
    assert db.execute("SELECT * FROM t ORDER BY a").fetchall() == ((1, "x"), (2, "y"))


def test_executemany_of_other_statements_goes_row_by_row(db):
    db.execute("CREATE TABLE t (a UInt8, b String) ENGINE = Memory")
    cursor = db.cursor()
    cursor.executemany("INSERT INTO t VALUES (%s + 1, upper(%s))", [(1, "x"), (2, "y")])
    assert cursor.rowcount == 2
    cursor.executemany("INSERT INTO t SELECT {a:UInt8}, {b:String}", [{"a": 4, "b": "z"}])
    assert db.execute("SELECT * FROM t ORDER BY a").fetchall() == ((2, "X"), (3, "Y"), (4, "z"))
    # The rows of the last one stay to be fetched.
    cursor.executemany("SELECT ? + 1", [(1,), (2,)])
    assert (cursor.rowcount, cursor.fetchall()) == (2, ((3,),))
    assert cursor.executemany("INSERT INTO t VALUES (%s, %s)", []).rowcount == 0


def test_executemany_takes_all_rows_or_none(db):
    db.execute("CREATE TABLE t (a UInt8) ENGINE = Memory")
    cursor = db.cursor()

    def broken():
        yield (1,)
        raise KeyError("in the rows")

    for rows, error in [
        ([(1,), ("no number",)], chalet.DataError),
        ([(1,), (1, 2)], chalet.ProgrammingError),
        (broken(), KeyError),
    ]:
        with pytest.raises(error):
            cursor.executemany("INSERT INTO t VALUES (?)", rows)
        assert cursor.rowcount == -1
    assert db.execute("SELECT count() FROM t").fetchone() == (0,)


def test_executemany_of_a_connection_and_of_a_closed_cursor(db):
    db.execute("CREATE TABLE t (a UInt8) ENGINE = Memory")
    assert db.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)]).rowcount == 2
    cursor = db.cursor()
    cursor.close()
    with pytest.raises(chalet.InterfaceError, match="closed"):
        cursor.executemany("INSERT INTO t VALUES (?)", [(3,)])
    assert db.execute("SELECT sum(a) FROM t").fetchone() == (3,)


def test_executemany_has_one_timeout_for_all_rows(db):
    start = time.perf_counter()
    with pytest.raises(chalet.OperationalError, match="TIMEOUT_EXCEEDED"):
        db.cursor().executemany("SELECT sleep(?)", [(0.2,)] * 500, timeout=0.5)
    # All of them take 100 s.
    assert time.perf_counter() - start < 50
    db.execute("CREATE TABLE t (a UInt8) ENGINE = Memory")
    with pytest.raises(chalet.OperationalError, match="TIMEOUT_EXCEEDED"):
        db.cursor().executemany("INSERT INTO t VALUES (?)", [(1,)], timeout=0)
    assert db.execute("SELECT count() FROM t").fetchone() == (0,)


def test_executemany_is_fast(db):
    db.execute("CREATE TABLE t (a UInt64, b String, c Float64, d DateTime('UTC'), e Nullable(Int32)) ENGINE = Memory")
    day = datetime.datetime(2026, 1, 1)
    rows = [(n, f"name {n}", n / 2, day, None if n % 10 == 0 else n) for n in range(50_000)]
    cursor = db.cursor()

    def insert():
        db.execute("TRUNCATE TABLE t")
        start = time.perf_counter()
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", rows)
        return time.perf_counter() - start

    # 50 ms are promised; the rest is for machines that do other things meanwhile.
    patience.in_time(0.3, insert, tries=20)
    assert db.execute("SELECT count(), sum(a), countIf(e IS NULL) FROM t").fetchone() == (50_000, sum(range(50_000)), 5_000)


def test_values_that_come_again_are_one_object(db):
    kinds = {
        "toDate('2020-01-01') + number % 10": 10,
        "concat('value ', toString(number % 1000))": 1000,
        "toDateTime('2020-01-01 00:00:00', 'UTC') + number % 7": 7,
        "1000 + number % 50": 50,
        "if(number % 3 = 0, NULL, toInt32(number % 1000 - 100000))": 1001,
        "toDecimal64(number % 20, 2)": 20,
        "(number % 16) / 4": 16,
        "toIPv4(toUInt32(number % 9))": 9,
    }
    for expression, n in kinds.items():
        sql = f"SELECT {expression} FROM numbers(20000) SETTINGS max_block_size = 20000"
        values = [row[0] for row in db.execute(sql).fetchall()]
        texts = db.query(sql, "TSV").data().splitlines()
        assert len(set(map(str, values))) == len(set(texts)) == n, expression
        # Some share a place of the cache and push each other out.
        assert len({id(value) for value in values}) < 20_000 / 3, expression
    # What is equal is not always the same.
    zeros = [row[0] for row in db.execute("SELECT if(number % 2 = 0, 0.0, -0.0) FROM numbers(5000)").fetchall()]
    assert [str(zero) for zero in zeros] == ["0.0", "-0.0"] * 2500
    mixed = "SELECT if(number % 2 = 0, 'a', unhex('ff')) FROM numbers(5000)"
    assert [row[0] for row in db.execute(mixed).fetchall()] == ["a", b"\xff"] * 2500
    differ = [row[0] for row in db.execute("SELECT repeat('x', number % 3000) FROM numbers(6000)").fetchall()]
    assert differ == ["x" * (n % 3000) for n in range(6000)]


def test_each_row_is_given_away_once_and_by_itself(db):
    """However rows are asked for, in pieces larger and smaller than what is made at once."""
    cursor = db.cursor()
    n = 300_000
    select = f"SELECT number, concat('s', toString(number % 7)), if(number % 3 = 0, NULL, number / 2) FROM numbers({n})"
    expected = [(i, f"s{i % 7}", None if i % 3 == 0 else i / 2) for i in range(n)]
    for sizes in ([], [1], [8191, 2], [100_000, 1], [1] * 10, [n - 1], [n], [n + 1]):
        cursor.execute(select)
        rows = []
        for size in sizes:
            rows += cursor.fetchmany(size)
        one = cursor.fetchone()
        rows += [one] if one else []
        rows += cursor.fetchall()
        assert rows == expected, sizes
        assert cursor.fetchone() is None
    # The list has each, and the call; nobody else.
    assert all(sys.getrefcount(rows[at]) == 2 for at in range(0, n, 1000))
    wide = cursor.execute(f"SELECT {', '.join(f'number + {i}' for i in range(300))} FROM numbers(2000)").fetchall()
    assert wide == tuple(tuple(range(row, row + 300)) for row in range(2000))
    assert cursor.execute("SELECT tuple(), tuple(1, 'a'), (1, (2, 3))").fetchall() == (((), (1, "a"), (1, (2, 3))),)


def test_dictionaries_larger_than_what_is_read_of_them(db):
    cursor = db.cursor()
    cursor.execute("SELECT toLowCardinality(toString(number % 50000)) FROM numbers(100000) WHERE number % 50 = 7")
    assert [row[0] for row in cursor.fetchall()] == [str(i % 50000) for i in range(7, 100_000, 50)]


def test_values_by_position(db):
    """A list or tuple fills `%s` or `?`, as in DB-API and DuckDB; a dict stays that of `{name:Type}`."""
    db.execute("CREATE TABLE by_position (i Int32, s Nullable(String)) ENGINE = Memory")
    db.execute("INSERT INTO by_position VALUES (?, ?)", [1, "it's a ? and %s"])
    db.execute("INSERT INTO by_position VALUES (%s, %s)", (2, None))
    assert db.execute("SELECT * FROM by_position WHERE i IN (?, ?) ORDER BY i", [1, 2]).fetchall() == (
        (1, "it's a ? and %s"),
        (2, None),
    )
    assert db.execute("SELECT '?', ? + 1 -- ?", [41]).fetchall() == (("?", 42),)
    assert db.execute("SELECT 1", []).fetchall() == ((1,),)
    assert db.execute("SELECT {x:UInt8} + 1", {"x": 1}).fetchall() == ((2,),)
    cursor = db.cursor()
    assert cursor.execute("SELECT [?, ?]", (1.5, 2)).fetchall() == (([1.5, 2.0],),)
    for wrong in ("text", 5, {1, 2}):
        with pytest.raises(TypeError, match="params must be a dict for {name:Type}, or a list or tuple for %s or [?], not"):
            cursor.execute("SELECT ?", wrong)
    for values in ([], [1, 2]):
        with pytest.raises(chalet.ProgrammingError):
            db.execute("SELECT ?", values)
    # A variable of the caller is still a table.
    rows = {"a": [1, 2, 3]}
    assert db.execute("SELECT sum(a) FROM rows WHERE a > ?", [1]).fetchall() == ((5,),)


def test_text_says_where_rows_are():
    with pytest.raises(ValueError, match="CSV text: connection.query"):
        chalet.query("SELECT 1").fetchall()
