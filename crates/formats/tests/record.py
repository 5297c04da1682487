"""Records what the kernel writes, for the tests of this crate: python record.py (needs the development-only wheel chdb).

Each file of corpus/ holds named pieces: a line `NAME LENGTH`, that many bytes, a line end. `native` is the data that
every other piece shows in the format of its name; `totals` and `extremes` are Native blocks too.
"""

import pathlib
import re
import tempfile

import chdb

CORPUS = pathlib.Path(__file__).parent / "corpus"
OUTPUTS = """
TabSeparated TabSeparatedWithNames TabSeparatedWithNamesAndTypes TabSeparatedRaw TabSeparatedRawWithNamesAndTypes
CSV CSVWithNames CSVWithNamesAndTypes TSKV JSONEachRow JSONStringsEachRow PrettyJSONEachRow
JSONCompactEachRow JSONCompactEachRowWithNames JSONCompactEachRowWithNamesAndTypes
JSONCompactStringsEachRow JSONCompactStringsEachRowWithNames JSONCompactStringsEachRowWithNamesAndTypes
Values SQLInsert RowBinary RowBinaryWithNames RowBinaryWithNamesAndTypes Native  LineAsString
LineAsStringWithNames LineAsStringWithNamesAndTypes
JSON JSONStrings JSONCompact JSONCompactStrings JSONColumns JSONCompactColumns JSONColumnsWithMetadata JSONObjectEachRow
Pretty PrettyCompact PrettySpace PrettyNoEscapes PrettyCompactNoEscapes PrettySpaceNoEscapes
PrettyMonoBlock PrettyCompactMonoBlock PrettySpaceMonoBlock Vertical Markdown XML Null RawBLOB
""".split()

CASES = {
    "integers": """SELECT CAST(n = 0 ? 0 : 255, 'UInt8') AS u8, CAST(n = 0 ? -128 : 127, 'Int8') AS i8,
        CAST(n * 65535, 'UInt16') AS u16, CAST(n = 0 ? -32768 : 32767, 'Int16') AS i16,
        CAST(n * 4294967295, 'UInt32') AS u32, CAST(n = 0 ? -2147483648 : 2147483647, 'Int32') AS i32,
        CAST(n = 0 ? 0 : 18446744073709551615, 'UInt64') AS u64,
        toInt64(n = 0 ? '-9223372036854775808' : '9223372036854775807') AS i64,
        toUInt128(n = 0 ? '0' : '340282366920938463463374607431768211455') AS u128,
        toInt128(n = 0 ? '-170141183460469231731687303715884105728' : '7') AS i128,
        toUInt256(n = 0 ? '1' : '115792089237316195423570985008687907853269984665640564039457584007913129639935') AS u256,
        toInt256(n = 0 ? '-57896044618658097711785492504343953926634992332820282019728792003956564819968' : '0') AS i256,
        n = 1 AS flag, CAST(n, 'Bool') AS b FROM (SELECT number AS n FROM numbers(2))""",
    "floats": """SELECT arrayElement([0., -0., 1., -1.5, 1e20, 1e21, 1e-6, 1e-7, 0.1, 123456789.125, inf, -inf, nan, 1.7976931348623157e308, 5e-324], number + 1) AS f64,
        toFloat32(f64) AS f32, toNullable(f64) AS nf FROM numbers(15)""",
    "decimals": """SELECT toDecimal32(number = 0 ? '1.50' : '-0.01', 2) AS d32, toDecimal64(number = 0 ? '123456789012.3456' : '0', 4) AS d64,
        toDecimal128(number = 0 ? '-12345678901234567890.123456789' : '1', 9) AS d128,
        toDecimal256(number = 0 ? '1234567890123456789012345678901234567890.5' : '-7.25', 20) AS d256,
        toDecimal32(number, 0) AS whole FROM numbers(2)""",
    "strings": r"""SELECT arrayElement(['', 'a', 'quote " and '' end', 'tab\tline\nback\\slash\rreturn', 'nul\0byte \b\f', 'юникод 日本 😀', '<a href="x">&amp;</a>', 'a,b;c|d', '/path/', ' spaces ', 'NULL', '\\N', '{"k":[1]}', '\x01\x1f\x7f\xe2\x80\xa8'], number + 1) AS s,
        toFixedString(substring(s, 1, 0) || 'ab', 4) AS f, number AS `a "b" c`, s AS `comma,name` FROM numbers(14)""",
    "times": """SELECT toDate('2020-02-29') + number * 10000 AS d, toDate32('1900-01-01') + number * 100000 AS d32,
        toDateTime('1970-01-01 00:00:00', 'UTC') + number * 1234567890 AS dt, toDateTime('2021-03-28 01:30:00', 'Europe/Berlin') + number * 3600 AS dtz,
        toDateTime64('2020-01-01 01:02:03.456', 3, 'UTC') - number * 1e9 AS dt3, toDateTime64('1969-12-31 23:59:59.999999999', 9, 'UTC') AS dt9,
        toIntervalDay(number) AS iv FROM numbers(2)""",
    "nullables": """SELECT number % 2 ? NULL : number AS n, number % 2 ? NULL : toString(number) AS s, number % 2 ? toDate('2020-01-01') : NULL AS d,
        NULL AS nothing, number % 2 ? NULL : toFloat64(1.5) AS f, toNullable(true) AS b, [number % 2 ? NULL : 'x', 'y'] AS a FROM numbers(3)""",
    "containers": r"""SELECT range(number) AS a, [[1, 2], [], [number]] AS aa, ['it''s', 'b"c', 'd\\e', 'f\ng'] AS strings, (number, 'x"y''z', NULL) AS t,
        map('k', number, 'k"2', 5) AS m, map(number, [toDate('2020-01-01')]) AS mm, [(1, 'a'), (2, 'b')] AS at, (1, (2, [3, 4])) AS tt,
        CAST([], 'Array(UInt8)') AS ea, CAST(map(), 'Map(String, UInt8)') AS em, tuple(number) AS single, [toNullable(1.5), NULL] AS na FROM numbers(3)""",
    "named_tuples": """SELECT CAST((number, 'a/b'), 'Tuple(x UInt64, `y z` String)') AS t, CAST((1, (2, [(3, 4)])), 'Tuple(a UInt8, b Tuple(c UInt8, d Array(Tuple(p UInt8, q Nullable(UInt8)))))') AS n,
        number AS k FROM numbers(2)""",
    "misc": r"""SELECT CAST(number + 1, 'Enum8(\'first\' = 1, \'se"c\' = 2)') AS e8, CAST(1000, 'Enum16(\'x\ty\' = 1000)') AS e16,
        toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u, toIPv4('192.168.0.1') AS v4, toIPv6('2001:db8::ff00:42:8329') AS v6, toIPv6('::ffff:1.2.3.4') AS v64,
        toLowCardinality(toString(number % 2)) AS lc, toLowCardinality(number = 0 ? NULL : 'x') AS lcn, [toLowCardinality('q')] AS alc, number = 1 AS b FROM numbers(2)""",
    "empty": "SELECT number AS n, toString(number) AS s, [number] AS a FROM numbers(0)",
    "one": "SELECT 1234567 AS n",
    "one_text": "SELECT 'a\nb' AS s, 2 AS n",
    "wide": "SELECT " + ", ".join(f"repeat('{c}', 30) AS column_{c}" for c in "abcdefghij") + " FROM numbers(3)",
    "many": "SELECT number AS n, toString(number * 7919) AS s FROM numbers(1200)",
    "footer": "SELECT number AS n, 'x' AS letter FROM numbers(60)",
}
TOTALS = ("SELECT number % 2 AS k, count() AS c, max(toString(number)) AS m FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k LIMIT 1",
          "SELECT toUInt8(0) AS k, toUInt64(5) AS c, '4' AS m",
          "SELECT arrayJoin([toUInt8(0), toUInt8(0)]) AS k, toUInt64(3) AS c, '4' AS m")


def connect():
    connection = chdb.connect(":memory:")
    for setting in ("session_timezone='UTC'", "output_format_write_statistics=0", "print_pretty_type_names=0"):
        connection.query(f"SET {setting}")
    return connection


def pieces(query, extra=(), settings=(), outputs=OUTPUTS):
    connection = connect()
    for setting in settings:
        connection.query(f"SET {setting}")
    found = {"native": connection.query(query, "Native").bytes()}
    # Native does not name the zone of a DateTime.
    found["types"] = connection.query(f"DESCRIBE ({query})", "TabSeparatedRaw").bytes()
    for name, other in extra:
        found[name] = connection.query(other, "Native").bytes()
    for name in outputs:
        try:
            found[name] = connection.query(query, name).bytes()
        except Exception as refusal:  # some formats refuse some types
            print(f"{name}: {refusal}")
    connection.close()
    return found


def write(path, found):
    with open(path, "wb") as out:
        for name, piece in found.items():
            out.write(b"%s %d\n%s\n" % (name.encode(), len(piece), piece))


UNESCAPES = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def unescape(field):
    return re.sub(rb"\\(.)", lambda found: UNESCAPES[found[1]], field)


def escape(field):
    for short, byte in (b"\\", b"\\"), (b"t", b"\t"), (b"n", b"\n"), (b"r", b"\r"), (b"0", b"\0"):
        field = field.replace(byte, b"\\" + short)
    return field


def answer(connection, path, mode, form, structure, settings):
    """What the kernel makes of a file: names and types, or its rows; an error is its code."""
    given = ["print_pretty_type_names = 0"]
    given += [f"{name} = '{value}'" for name, value in (pair.split("=", 1) for pair in settings.split(";") if pair)]
    structure = structure.replace("'", "\\'")
    source = f"file('{path}', '{form}')" if mode == "desc" else f"file('{path}', '{form}', '{structure}')"
    statement = "DESCRIBE " if mode == "desc" else "SELECT * FROM "
    try:
        found = connection.query(f"{statement}{source} SETTINGS {', '.join(given)}", "TabSeparated").bytes()
    except Exception as error:
        return b"ERR " + re.search(r"Code: (\d+)", str(error))[1].encode()
    if mode == "desc":
        found = b"".join(b"\t".join(line.split(b"\t")[:2]) + b"\n" for line in found.splitlines())
    return found


def record_reading():
    """Fills the last column of corpus/reading.tsv: what was asked, format, structure, settings, data, answer."""
    connection = connect()
    path = CORPUS / "reading.tsv"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(path.read_bytes().splitlines()):
            mode, form, structure, settings, data = line.split(b"\t")[:5]
            # A file of its own for each: schemas are cached by path.
            source = pathlib.Path(folder) / f"{number}.data"
            source.write_bytes(unescape(data))
            asked = [mode.decode(), form.decode(), unescape(structure).decode(), settings.decode()]
            found = answer(connection, source, *asked)
            lines.append(b"\t".join([mode, form, structure, settings, data, escape(found)]))
    path.write_bytes(b"\n".join(lines) + b"\n")
    connection.close()


def main():
    record_reading()
    CORPUS.mkdir(exist_ok=True)
    for name, query in CASES.items():
        long = name == "many"
        outputs = ["Pretty", "PrettyCompact", "PrettySpace", "Vertical", "TabSeparated"] if long else OUTPUTS
        write(CORPUS / f"{name}.rec", pieces(query, outputs=outputs))
    extra = [("totals", TOTALS[1]), ("extremes", TOTALS[2])]
    write(CORPUS / "totals.rec", pieces(TOTALS[0], extra, ["extremes=1"]))


if __name__ == "__main__":
    main()
