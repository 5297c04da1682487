"""DB-API 2.0: chalet.dbapi."""

import datetime
import decimal
import pickle
import time
import uuid

import patience
import pytest

import chalet
from chalet import dbapi


@pytest.fixture
def cursor():
    connection = dbapi.connect()
    yield connection.cursor()
    if connection.open:
        connection.close()


def test_globals():
    assert (dbapi.apilevel, dbapi.paramstyle) == ("2.0", "format")
    assert dbapi.threadsafety in (1, 2, 3)
    assert chalet.apilevel == "2.0" and chalet.Timestamp is datetime.datetime
    assert dbapi.Connect is dbapi.connect and dbapi.VERSION_STRING == chalet.__version__
    assert dbapi.connections.DEBUG is False is dbapi.connections.VERBOSE
    assert ".".join(dbapi.chdb_version) == dbapi.get_client_info() == chalet.__version__


def test_the_tree_of_exceptions():
    assert dbapi.Error is chalet.Error is dbapi.err.Error
    assert issubclass(dbapi.Error, RuntimeError) and issubclass(dbapi.Error, dbapi.err.StandardError)
    assert issubclass(dbapi.InterfaceError, dbapi.Error) and issubclass(dbapi.DatabaseError, dbapi.Error)
    for name in "DataError OperationalError IntegrityError InternalError ProgrammingError NotSupportedError".split():
        assert issubclass(getattr(dbapi, name), dbapi.DatabaseError)
        assert getattr(dbapi.connections.Connection, name) is getattr(dbapi, name)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    with pytest.raises(chalet.StandardError) as caught:
        chalet.query("SELECT nosuch")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is chalet.ProgrammingError and (again.code, again.name) == (47, "UNKNOWN_IDENTIFIER")


@pytest.mark.parametrize(
    ("sql", "kind", "name"),
    [
        ("SELECT nosuch", "ProgrammingError", "UNKNOWN_IDENTIFIER"),
        ("SELEC 1", "ProgrammingError", "SYNTAX_ERROR"),
        ("SELECT * FROM nosuch", "ProgrammingError", "UNKNOWN_TABLE"),
        ("SELECT toUInt8('x')", "DataError", "CANNOT_PARSE_TEXT"),
        ("SELECT throwIf(1)", "DataError", "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        ("CREATE TABLE t (x UInt8) ENGINE = Kafka", "DatabaseError", None),
        ("BACKUP TABLE t TO S3('a', 'b', 'c')", "NotSupportedError", "NOT_IMPLEMENTED"),
        ("SELECT CAST('', 'Int8')", "DataError", "ATTEMPT_TO_READ_AFTER_EOF"),
        ("SELECT CAST('b', 'Enum8(\\'a\\' = 1)')", "DataError", "UNKNOWN_ELEMENT_OF_ENUM"),
    ],
)
def test_errors_of_the_engine_have_their_class(cursor, sql, kind, name):
    with pytest.raises(getattr(dbapi, kind)) as caught:
        cursor.execute(sql)
    assert isinstance(caught.value, chalet.Error) and caught.value.code > 0
    assert name in (None, caught.value.name)


def test_execute_returns_the_number_of_rows(cursor):
    assert cursor.rowcount == -1 and cursor.description is None
    assert cursor.execute("CREATE TABLE t (a UInt64, b String) ENGINE = Memory") == -1
    assert cursor.description is None
    assert cursor.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')") == 2
    assert cursor.execute("SELECT a, b FROM t ORDER BY a") == 2
    assert cursor.rownumber == 0
    assert cursor.fetchone() == (1, "x")
    assert cursor.fetchmany() == ((2, "y"),)
    assert cursor.fetchall() == () and cursor.fetchone() is None
    assert cursor.rowcount == 2 and cursor.rownumber == 2


def test_description(cursor):
    cursor.execute("SELECT 1::Int32 AS i, toDecimal64(1, 3) AS d, CAST('x', 'Nullable(String)') AS s, now() AS t")
    i, d, s, t = cursor.description
    assert i == ("i", "Int32", None, 4, None, None, False)
    assert d == ("d", "Decimal(18, 3)", None, None, 18, 3, False)
    assert s[6] is True
    assert i[1] == dbapi.NUMBER and dbapi.NUMBER == d[1] and s[1] == dbapi.STRING and t[1] == dbapi.DATETIME
    assert i[1] != dbapi.STRING and t[1] != dbapi.NUMBER
    assert dbapi.STRING == 254 and dbapi.STRING != 3


@pytest.mark.parametrize(
    ("sql", "args", "rows"),
    [
        ("SELECT %s, %s", (1, "a"), ((1, "a"),)),
        ("SELECT ?, ?", [1, "a"], ((1, "a"),)),
        ("SELECT %(a)s, %(b)s, %(a)s", {"a": 1, "b": None}, ((1, None, 1),)),
        ("SELECT {a:UInt8} + %(b)s", {"a": 1, "b": 2}, ((3,),)),
        ("SELECT %s", 5, ((5,),)),
        ("SELECT %s", ("a%s?",), (("a%s?",),)),
        ("SELECT %s, '?', \"%s\" FROM (SELECT 1 AS `%s`) -- %s", (1,), ((1, "?", 1),)),
        ("SELECT ?, '%s', 'it''s ?' /* ? */", (1,), ((1, "%s", "it's ?"),)),
        ("SELECT 10 %% 4, %s", (1,), ((2, 1),)),
        ("SELECT 10 % 4", None, ((2,),)),
        ("SELECT %s IN %s", (1, [1, 2]), ((1,),)),
        ("SELECT %s IN %s", (3, (1, 2)), ((0,),)),
        ("SELECT number FROM numbers(5) WHERE number > ? ORDER BY number LIMIT ?", (1, 2), ((2,), (3,))),
        ("SELECT %s", ("'; DROP TABLE t; --",), (("'; DROP TABLE t; --",),)),
        ("SELECT %s, ?", (1, "a"), ((1, "a"),)),
        ("SELECT %s ? 'a' : 'b'", (1,), (("a",),)),
        ("SELECT %s # %s\n, %s #! ?", (1, 2), ((1, 2),)),
        ("SELECT %s /* /* %s */ %s */", (1,), ((1,),)),
        ("SELECT 10 %size, %s FROM (SELECT 3 AS size)", (1,), ((1, 1),)),
        ("SELECT %(a b)s, %(a b)s", {"a b": 1}, ((1, 1),)),
        ("SELECT %(a)s, {p0:String}", {"a": 1, "p0": "mine"}, ((1, "mine"),)),
        ("SELECT %(a)s", {"a": 1, "unused": object()}, ((1,),)),
    ],
)
def test_placeholders(cursor, sql, args, rows):
    cursor.execute(sql, args)
    assert cursor.fetchall() == rows


@pytest.mark.parametrize(
    ("sql", "args"),
    [("SELECT %s, %s", (1,)), ("SELECT ?", (1, 2)), ("SELECT %(a)s", {"b": 1}), ("SELECT %s", ([1, "a"],)),
     ("SELECT %s, {p0:UInt8}", (1,)), ("SELECT {a:UInt8}", {"a": object()})],
)
def test_placeholders_without_values(cursor, sql, args):
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute(sql, args)


def test_long_statements_are_read_once(cursor):
    comment = "/* " * 20_000 + "*/ " * 20_000
    literal = "x" * 5_000_000
    for sql, length in ((f"SELECT length(%s) {comment}", 1), (f"SELECT length('{literal}') + length(%s)", len(literal) + 1)):

        def ask(sql=sql):
            cursor.execute(sql, ("a",))

        # Read anew for each of its places they would take minutes.
        patience.in_time(2, ask)
        assert cursor.fetchone() == (length,)


def test_executemany_goes_by_columns(cursor):
    cursor.execute(
        "CREATE TABLE t (a UInt64, b Nullable(String), c DateTime('UTC'), d Decimal(9, 2), e Array(Int8), f UUID, g Float64"
        ", h UInt8 DEFAULT 7) ENGINE = Memory"
    )
    utc = datetime.timezone.utc
    some = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    rows = [
        (1, "x'y\\", datetime.datetime(2024, 1, 1, 2, tzinfo=utc), decimal.Decimal("1.25"), [1, 2], some, 1.5, 1),
        (2, None, datetime.datetime(2024, 1, 1), decimal.Decimal(3), [], some, 2, None),
    ]
    places = ", ".join(["%s"] * 8)
    assert cursor.executemany(f"INSERT INTO t (a, b, c, d, e, f, g, h) VALUES ({places})", rows) == 2
    cursor.execute("SELECT a, b, toUnixTimestamp(c), d, e, f, g, h FROM t ORDER BY a")
    assert cursor.fetchall() == (
        (1, "x'y\\", 1704074400, decimal.Decimal("1.25"), [1, 2], some, 1.5, 1),
        (2, None, 1704067200, decimal.Decimal("3.00"), [], some, 2.0, 7),
    )


def test_executemany_takes_texts_for_other_types(cursor):
    cursor.execute("CREATE TABLE t (a UInt64, d Date, e Array(String)) ENGINE = Memory")
    rows = [("1", "2024-02-29", "['a','b']"), (2, datetime.date(2024, 3, 1), ["c"])]
    cursor.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    cursor.execute("SELECT * FROM t ORDER BY a")
    assert cursor.fetchall() == ((1, datetime.date(2024, 2, 29), ["a", "b"]), (2, datetime.date(2024, 3, 1), ["c"]))


def test_executemany_is_all_or_nothing(cursor):
    cursor.execute("CREATE TABLE t (a UInt8) ENGINE = Memory")
    with pytest.raises(dbapi.DataError, match="column a"):
        cursor.executemany("INSERT INTO t VALUES (%s)", [(1,), ("no number",)])
    with pytest.raises(dbapi.DataError):
        cursor.executemany("INSERT INTO t VALUES (%s)", [(None,), ("no number",)])
    with pytest.raises(dbapi.ProgrammingError, match="row 1"):
        cursor.executemany("INSERT INTO t VALUES (%s)", [(1,), (1, 2)])
    cursor.execute("SELECT count() FROM t")
    assert cursor.fetchone() == (0,)


def test_executemany_with_names_and_with_expressions(cursor):
    cursor.execute("CREATE TABLE t (a UInt8, b String) ENGINE = Memory")
    cursor.executemany("INSERT INTO t (b, a) VALUES (%(b)s, %(a)s)", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert cursor.executemany("INSERT INTO t VALUES (%s + 1, upper(%s))", [(2, "z"), (3, "w")]) == 2
    cursor.execute("SELECT * FROM t ORDER BY a")
    assert cursor.fetchall() == ((1, "x"), (2, "y"), (3, "Z"), (4, "W"))
    assert cursor.executemany("INSERT INTO t VALUES (%s, %s)", []) == 0


@pytest.mark.parametrize("rows", [[(300,)], [(1,), (300,)], [("5",), (300,)], [(300.0,)]])
def test_executemany_does_not_wrap(cursor, rows):
    cursor.execute("CREATE TABLE t (a Int8) ENGINE = Memory")
    with pytest.raises(dbapi.DataError, match="300 is out of the range of Int8"):
        cursor.executemany("INSERT INTO t VALUES (%s)", rows)
    cursor.execute("CREATE TABLE lists (a Array(UInt8), b Int64) ENGINE = Memory")
    for row in (([300], 1), ([], 2**63)):
        with pytest.raises(dbapi.DataError, match="out of the range"):
            cursor.executemany("INSERT INTO lists VALUES (%s, %s)", [row])


def test_executemany_takes_truths_and_whole_floats_for_integers(cursor):
    numpy = pytest.importorskip("numpy")
    cursor.execute("CREATE TABLE t (a Int8, b Array(UInt64)) ENGINE = Memory")
    rows = [(True, [True]), (2.0, [2.0]), (numpy.bool_(True), range(2)), (numpy.float64(3), [numpy.float64(4)])]
    assert cursor.executemany("INSERT INTO t VALUES (%s, %s)", rows) == 4
    cursor.execute("SELECT * FROM t")
    assert cursor.fetchall() == ((1, [1]), (2, [2]), (1, [0, 1]), (3, [4]))
    with pytest.raises(dbapi.DataError):
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(2.5, [])])


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("INSERT INTO t VALUES (%s, %s)", [{"a": 1, "s": "y"}]),
        ("INSERT INTO t VALUES (%(a)s, %(s)s)", [(1, "y")]),
        ("INSERT INTO t VALUES (%(a)s, %(s)s)", [5]),
        ("INSERT INTO t VALUES (%(a)s, %(s)s)", [{"a": 1}]),
        ("INSERT INTO t VALUES (%s, %s)", [(1, "y"), 2]),
        ("INSERT INTO t VALUES (%s, %s)", [(1, object())]),
    ],
)
def test_rows_of_another_shape(cursor, sql, rows):
    cursor.execute("CREATE TABLE t (a Int8, s String) ENGINE = Memory")
    with pytest.raises(dbapi.ProgrammingError):
        cursor.executemany(sql, rows)


def test_rows_of_one_value(cursor):
    cursor.execute("CREATE TABLE t (a String) ENGINE = Memory")
    assert cursor.executemany("INSERT INTO t VALUES (%s)", ["ab", "c"]) == 2
    assert cursor.executemany("INSERT INTO t VALUES (?)", [1, 2]) == 2
    cursor.execute("SELECT * FROM t")
    assert cursor.fetchall() == (("ab",), ("c",), ("1",), ("2",))


def test_executemany_is_fast(cursor):
    cursor.execute("CREATE TABLE t (a UInt64, b String, c Float64) ENGINE = Memory")
    rows = [(i, f"name {i}", i / 2) for i in range(50_000)]

    def insert():
        cursor.execute("TRUNCATE TABLE t")
        start = time.perf_counter()
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
        return time.perf_counter() - start

    # 50 ms are promised; the rest is for machines that do other things meanwhile.
    patience.in_time(0.25, insert, tries=20)
    cursor.execute("SELECT count(), sum(a), max(b) FROM t")
    assert cursor.fetchone() == (50_000, sum(range(50_000)), "name 9999")


def test_mogrify_and_escape(cursor):
    assert cursor.mogrify("SELECT %s, %s, '%s'", (1, "a'b\\")) == "SELECT 1, 'a''b\\\\', '%s'"
    assert cursor.mogrify("SELECT %(a)s", {"a": None}) == "SELECT NULL"
    assert cursor.mogrify("SELECT %s, ?, %%", (1, "a")) == "SELECT 1, 'a', %%"
    with pytest.raises(dbapi.ProgrammingError):
        cursor.mogrify("SELECT %(a)s", {"b": 1})
    assert cursor.connection.escape("a'b") == "'a''b'" and cursor.connection.escape([1, "x"]) == "(1,'x')"
    assert cursor.connection.escape_string("a'b") == "a''b"
    cursor.execute("SELECT " + cursor.connection.escape(b"\xff'\\") + " AS x, " + cursor.connection.escape("t\t'\\n"))
    assert cursor.fetchone() == (b"\xff'\\", "t\t'\\n")


def test_connections(cursor):
    connection = cursor.connection
    assert connection.open and connection.query("SELECT 1").data() == "1\n" and connection.resp == "1\n"
    connection.commit()
    connection.rollback()
    with dbapi.connect(":memory:") as inner:
        assert isinstance(inner, dbapi.cursors.Cursor)
        outer = inner.connection
    assert not outer.open
    with pytest.raises(dbapi.InterfaceError):
        outer.cursor()
    with pytest.raises(dbapi.InterfaceError):
        outer.close()


def test_closed_cursors(cursor):
    with pytest.raises(dbapi.ProgrammingError):
        cursor.fetchone()
    cursor.execute("SELECT 1")
    cursor.close()
    cursor.close()
    assert cursor.description is None
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT 1")


def test_cursors_of_closed_connections(cursor):
    cursor.execute("SELECT 1")
    cursor.connection.close()
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()


def test_the_rest_of_a_cursor(cursor):
    assert (cursor.arraysize, cursor.lastrowid, cursor.max_stmt_length) == (1, None, 1024000)
    assert cursor.nextset() is None and cursor.setinputsizes(1) is None and cursor.setoutputsizes(1) is None
    with pytest.raises(dbapi.NotSupportedError):
        cursor.callproc("f")
    cursor.execute("SELECT number FROM numbers(3)")
    cursor.arraysize = 2
    assert cursor.fetchmany(-1) == ()
    assert cursor.fetchmany() == ((0,), (1,))
    assert list(cursor) == [(2,)]


def test_times():
    ticks = time.mktime((2024, 2, 29, 1, 2, 3, 0, 0, -1))
    assert dbapi.DateFromTicks(ticks) == dbapi.Date(2024, 2, 29)
    assert dbapi.TimeFromTicks(ticks) == dbapi.Time(1, 2, 3)
    assert dbapi.TimestampFromTicks(ticks) == dbapi.Timestamp(2024, 2, 29, 1, 2, 3)
    assert dbapi.Binary("é") == b"\xc3\xa9"


@pytest.mark.parametrize(
    ("escape", "value", "literal"),
    [
        ("escape_None", None, "NULL"),
        ("escape_bool", True, "1"),
        ("escape_bytes", b"a\xff", "'\\x61\\xff'"),
        ("escape_bytes", b"it's", "'it''s'"),
        ("escape_date", datetime.date(2024, 1, 2), "'2024-01-02'"),
        ("escape_datetime", datetime.datetime(2024, 1, 2, 3, 4, 5, 600000), "'2024-01-02 03:04:05.600000'"),
        ("escape_map", {"a": 1}, "map('a', 1)"),
        ("escape_float", 1.5, "1.5"),
        ("escape_int", -5, "-5"),
        ("escape_object", decimal.Decimal("1.50"), "1.50"),
        ("escape_sequence", [1, "a"], "(1,'a')"),
        ("escape_sequence", frozenset([1]), "(1)"),
        ("escape_str", "it's", "'it''s'"),
        ("escape_struct_time", time.gmtime(0), "'1970-01-01 00:00:00'"),
        ("escape_time", datetime.time(1, 2, 3), "'01:02:03'"),
        ("escape_timedelta", datetime.timedelta(hours=-25), "'-25:00:00'"),
        ("escape_unicode", "é", "'é'"),
    ],
)
def test_literals(cursor, escape, value, literal):
    converters = dbapi.converters
    assert getattr(converters, escape)(value) == literal == converters.escape_item(value)
    assert type(value) in converters.encoders
    cursor.execute(f"SELECT {literal}")
    with pytest.raises(dbapi.DataError):
        converters.escape_item(object())


def test_literals_of_numpy():
    numpy = pytest.importorskip("numpy")
    values = (numpy.float64(1.5), numpy.int8(1), numpy.array(["a"]), numpy.datetime64("NaT"))
    assert [dbapi.converters.escape_item(value) for value in values] == ["1.5", "1", "('a')", "NULL"]


def test_texts_as_values():
    converters = dbapi.converters
    assert converters.convert_datetime("2024-01-02 03:04:05.6") == datetime.datetime(2024, 1, 2, 3, 4, 5, 600000)
    assert converters.convert_date("2024-01-02") == datetime.date(2024, 1, 2)
    assert converters.convert_time("01:02:03") == datetime.time(1, 2, 3)
    assert converters.convert_timedelta("-1:30:00.5") == datetime.timedelta(hours=-1, minutes=-30, seconds=-0.5)
    assert converters.escape_dict({"a": "x", "b": None}) == {"a": "'x'", "b": "NULL"} and converters.escape_set([1, 2]) == "1,2"
    assert converters.convert_date(b"2024-01-02") == datetime.date(2024, 1, 2)
    # Longer than a day, and what is no time.
    assert converters.convert_time(b"25:06:17") == datetime.timedelta(hours=25, minutes=6, seconds=17)
    assert converters.convert_time("soon") == converters.convert_timedelta("soon") == "soon"
    assert converters.convert_set(b"1,2") == {b"1", b"2"}
    for convert in (converters.convert_date, converters.convert_datetime):
        with pytest.raises(dbapi.DataError, match="no date"):
            convert("2024-13-01")
    assert converters.convert_set("a,b") == {"a", "b"} and converters.convert_characters(None, "x") == "x"
    assert converters.convert_column_data("date", "2024-01-02") == datetime.date(2024, 1, 2)
    assert converters.convert_column_data("date", None) is None
    with pytest.raises(dbapi.DataError):
        converters.convert_column_data("date", "no date")


def test_numbers_of_types():
    FIELD_TYPE = dbapi.constants.FIELD_TYPE
    assert (FIELD_TYPE.DECIMAL, FIELD_TYPE.TINY, FIELD_TYPE.LONGLONG, FIELD_TYPE.JSON) == (0, 1, 8, 245)
    numbers = {name: value for name, value in vars(FIELD_TYPE).items() if name.isupper()}
    assert len(numbers) == 30 and all(0 <= number <= 255 for number in numbers.values())
    assert FIELD_TYPE.STRING in dbapi.STRING and FIELD_TYPE.DATE in dbapi.DATE and FIELD_TYPE.TIME in dbapi.TIME
    assert FIELD_TYPE.BLOB in dbapi.BINARY and FIELD_TYPE.FLOAT in dbapi.NUMBER and FIELD_TYPE.TIMESTAMP in dbapi.TIMESTAMP
    assert dbapi.ROWID != "String" and dbapi.DBAPISet([1]) == frozenset([1]) and dbapi.NULL == "NULL"


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_from_a_connection(cursor):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_sql(
        "SELECT number AS a, toString(number) AS b FROM numbers(5) WHERE number < %(x)s", cursor.connection, params={"x": 2}
    )
    assert frame.to_dict("list") == {"a": [0, 1], "b": ["0", "1"]}
