#!/usr/bin/env python3
"""The fuzzer of pruning: values at the borders of a type, in tables that may leave out what a condition cannot meet, against tables that may not.

    fuzz_pruning.py [--seed 1] [--seconds 60] [--type TYPE] [--ours FOLDER] [--plain] [--conditions 60]

For one type at a time the same rows are put into a Memory table and into MergeTree tables whose sorting key, partition key, skip indexes,
statistics or projections are over them, with granules of a few rows. Each random condition is asked of all of them and of the kernel's Memory
table: a row that one of ours has and another has not is wrong whatever the kernel says. --plain asks no kernel.

Development only: needs chdb without --plain, and an installed chalet, or the folder of its package (--ours), in the Python that runs it.
"""

import argparse
import random
import sys
import time
from collections import Counter

import fuzz_engine
from fuzz_engine import Engine

LIMITS = ["SET max_threads = 1", "SET max_execution_time = 60", "SET allow_suspicious_low_cardinality_types = 1", "SET allow_experimental_statistics = 1", "SET allow_suspicious_types_in_order_by = 1", "SET enable_time_time64_type = 1"]

INTEGERS = {"UInt8": (0, 2**8 - 1), "UInt16": (0, 2**16 - 1), "UInt32": (0, 2**32 - 1), "UInt64": (0, 2**64 - 1), "UInt128": (0, 2**128 - 1), "Int8": (-(2**7), 2**7 - 1), "Int16": (-(2**15), 2**15 - 1), "Int32": (-(2**31), 2**31 - 1), "Int64": (-(2**63), 2**63 - 1), "Int256": (-(2**255), 2**255 - 1)}
DAYS = ["1970-01-01", "1970-01-02", "1970-01-31", "2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "2024-03-31", "2024-10-27", "2149-06-06", "2149-06-05", "2106-02-07"]
TIMES = ["1970-01-01 00:00:00", "1970-01-01 00:00:01", "2024-03-31 00:59:59", "2024-03-31 01:00:00", "2024-03-31 03:00:00", "2024-10-27 00:30:00", "2024-10-27 01:30:00", "2024-10-27 02:30:00", "2024-10-27 03:00:00", "2024-12-31 23:59:59", "2025-01-01 00:00:00", "2106-02-07 06:28:15", "2106-02-06 23:00:00"]
WORDS = ["", "a", "A", "ab", "abc", "b", "\\0", "a\\0", "\\0a", "\\x7f", "\\x80", "\\xff", "a\\xff", "a\\xff\\xff", "\\xc3\\xa4", "\\xe2\\x82\\xac", "z", "0", "1", "10", "9", "-1", "a b", "hello world", "hello, World", "error at 12", "%", "_", "a%b", "2024-01-01", "nan", "\\\\", "\\n"]
DATES = ["toYYYYMM({})", "toYear({})", "toMonth({})", "toDayOfMonth({})", "toDayOfWeek({})", "toMonday({})", "toStartOfMonth({})", "toStartOfQuarter({})", "toStartOfYear({})", "toYYYYMMDD({})", "toDate({})", "toDateTime({})", "toStartOfWeek({})", "toISOYear({})", "toRelativeDayNum({})", "{} + 1", "{} - 1", "toString({})", "toDate32({})", "addMonths({}, 1)", "{} + INTERVAL 1 DAY", "toDateTime64({}, 3)", "toInt32({})", "toUInt16({})", "toLastDayOfMonth({})", "{} - toDate('2024-01-01')", "dateDiff('month', toDate('2024-01-01'), {})", "formatDateTime({}, '%Y-%m')", "toStartOfInterval({}, INTERVAL 1 WEEK)", "date_trunc('month', {})"]
CLOCKS = [*DATES, "toStartOfHour({})", "toDate(toStartOfHour({}))", "toHour({})", "toMinute({})", "toStartOfDay({})", "toUnixTimestamp({})", "toStartOfFifteenMinutes({})", "toYYYYMMDDhhmmss({})", "toDate({}, 'America/New_York')", "toTimeZone({}, 'Asia/Tokyo')", "toStartOfHour({}, 'Asia/Kolkata')", "toHour({}, 'Europe/Berlin')", "toStartOfDay({}, 'Europe/Berlin')", "toStartOfInterval({}, INTERVAL 6 HOUR)", "toTime({})", "toRelativeHourNum({})", "{} + INTERVAL 1 HOUR", "addHours({}, -1)", "toYYYYMM({}, 'Asia/Tokyo')"]
NUMERIC = ["{} + 1", "{} - 1", "1 - {}", "-{}", "{} * 2", "{} * -1", "{} / 3", "{} / -3", "7 / {}", "intDiv({}, 3)", "intDiv({}, -3)", "intDivOrZero({}, 2)", "{} % 3", "positiveModulo({}, 5)", "abs({})", "negate({})", "toString({})", "toInt8({})", "toUInt8({})", "toInt16({})", "toUInt16({})", "toInt32({})", "toUInt32({})", "toInt64({})", "toUInt64({})", "toFloat32({})", "toFloat64({})", "toInt128({})", "sign({})", "round({}, -1)", "floor({}, -1)", "roundToExp2({})", "bitAnd({}, 7)", "bitNot({})", "bitShiftRight({}, 1)", "{} + 100", "{} - 200", "{} * 1000", "sqrt({})", "exp({})", "log({})", "toFloat64({}) * -2", "plus(1, {})", "minus({}, 5)", "toDecimal64({}, 2)", "({} + 1) * 2", "-({} + 1)", "negate(negate({}))", "toBool({})", "{} * 0.5", "identity({})", "materialize({})", "toInt32(toInt8({}))", "toUInt8({} + 1)", "isNaN({})", "if({} > 1, 1, 0)", "cityHash64({}) % 2", "toDate({})", "toNullable({})", "accurateCastOrNull({}, 'Int8')", "{} = 1", "{} > 3", "trunc({})", "ceil({})", "tanh({})", "pow({}, 2)", "{} DIV 2", "modulo({}, 10)"]
TEXTS = ["lower({})", "upper({})", "length({})", "reverse({})", "toString({})", "substring({}, 1, 1)", "{} || 'a'", "'a' || {}", "toUInt8OrZero({})", "toInt32OrNull({})", "empty({})", "notEmpty({})", "trim({})", "left({}, 2)", "ascii({})", "hex({})", "toFloat64OrNull({})", "identity({})", "isValidUTF8({})", "toDateOrNull({})"]
LIKES = ["{} LIKE 'a%'", "{} LIKE '%a%'", "{} LIKE '_'", "{} LIKE ''", "{} LIKE '%'", "{} NOT LIKE 'a%'", "{} ILIKE 'A%'", "{} LIKE 'hello%'", "{} LIKE 'a\\\\%%'", "{} LIKE '\\xff%'", "{} LIKE 'a\\xff%'", "startsWith({}, 'a')", "startsWith({}, '')", "startsWith({}, '\\xff')", "startsWith({}, 'a\\xff')", "startsWith({}, 'a\\0')", "NOT startsWith({}, 'a')", "endsWith({}, 'b')", "endsWith({}, '\\0')", "position({}, 'b') > 0", "match({}, '^a')", "match({}, 'b$')", "match({}, '^(a|b)')", "match({}, '^a?b')", "hasToken({}, 'hello')", "hasToken({}, 'World')", "multiSearchAny({}, ['hell', 'err'])", "{} LIKE '%hello%world%'", "{} LIKE '%llo%'", "hasTokenCaseInsensitive({}, 'WORLD')", "{} LIKE '%error%12'", "countSubstrings({}, 'o') = 2", "{} LIKE 'abc'", "{} NOT LIKE '%l%'", "match({}, 'hel+o')", "match({}, 'hello|error')", "startsWithUTF8({}, 'a')", "{} REGEXP '^hel'"]


def quoted(values):
    return [f"'{v}'" for v in values]


class Type:
    """A type: its values as INSERT takes them, what conditions compare them with, and functions of them."""

    def __init__(self, name, values, others=(), functions=(), conditions=(), indexes=(), partitions=(), keys=()):
        self.name, self.values, self.others, self.functions, self.conditions = name, list(values), list(others), list(functions), list(conditions)
        self.indexes, self.partitions, self.keys = list(indexes), list(partitions), list(keys)


def integer(name):
    low, high = INTEGERS[name]
    values = sorted({v for v in (low, low + 1, low + 2, -130, -129, -128, -2, -1, 0, 1, 2, 3, 7, 8, 9, 10, 11, 99, 100, 127, 128, 254, 255, 256, 257, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, high - 1, high) if low <= v <= high})
    others = ["-1", "0", "255", "256", "-128", "127", "-129", "1.5", "-0.5", "0.5", "nan", "inf", "-inf", "1e30", "'7'", "'-1'", "NULL", "18446744073709551615", "-9223372036854775808", "9223372036854775808", "9007199254740993", "toUInt8(7)", "toInt8(-1)", "toDecimal32('1.5', 1)", "true", "toInt256('-1')", "toFloat32(16777217)", "2.0", "'300'"]
    return Type(name, [str(v) for v in values], others, NUMERIC, partitions=["intDiv({}, 50)", "{} % 4", "{} > 3", "toString({} % 3)"], keys=["-{}", "{} + 1", "intDiv({}, 3)", "toString({})", "negate({})", "{} % 5", "toFloat64({})", "toInt8({})", "abs({})", "-toInt64({})", "toFloat32({})", "({} > 3)"])


def floating(name):
    values = ["nan", "-nan", "inf", "-inf", "0", "-0.0", "1", "-1", "0.5", "-0.5", "1.5", "2.5", "16777216", "16777217", "1e-40", "-1e-40", "3e38", "-3e38", "255", "256", "0.1", "100", "7", "9007199254740992", "9007199254740993", "0.3"]
    others = ["0.1", "toFloat32(0.1)", "1", "-1", "0", "-0.0", "nan", "inf", "-inf", "NULL", "'1.5'", "toDecimal32('0.5', 1)", "18446744073709551615", "16777217", "1e300", "0.30000000000000004"]
    return Type(name, values, others, NUMERIC, partitions=["toInt8({} > 0)", "isNaN({})"], keys=["-{}", "{} + 1", "toInt32({})", "abs({})", "toFloat32({})", "floor({})", "round({})", "{} * -1"])


def decimal(name, scale):
    values = ["0", "-0.01", "0.01", "0.1", "1", "1.5", "-1.5", "99.99", "100", "-100", "255", "12.34", "0.99", "7", "3.33", "-3.33"]
    others = ["0", "0.1", "1.5", "-1.5", "toDecimal32('0.015', 3)", "toDecimal64('99.99', 2)", "0.011", "nan", "inf", "100", "'1.5'", "NULL", "12.34", "12.340001", "1e10", "-1", "toDecimal128('12.34', 10)", "0.005"]
    return Type(name, quoted(values), others, NUMERIC, partitions=["toInt32({})", "{}"], keys=["-{}", "{} + 1", "toInt32({})", "toFloat64({})", "intDiv({}, 2)", "abs({})"])


def texts(name, values=WORDS):
    others = [f"'{w}'" for w in WORDS] + ["NULL", "toFixedString('a', 3)", "toFixedString('ab', 2)"]
    words = ["tokenbf_v1(256, 2, 0)", "ngrambf_v1(3, 256, 2, 0)", "ngrambf_v1(1, 256, 2, 0)", "text(tokenizer = 'splitByNonAlpha')", "text(tokenizer = ngrams(3))", "text(tokenizer = 'array')", "text(tokenizer = splitByString([' ', ',']))", "sparse_grams(3, 5, 256, 2, 0)"]
    if "Nullable" in name:
        words = words[:3]
    return Type(name, quoted(values), others, TEXTS, LIKES, words, partitions=["{}", "length({})", "substring({}, 1, 1)"], keys=["lower({})", "length({})", "reverse({})", "toString({})", "substring({}, 1, 1)", "substring({}, 1, 2)", "empty({})", "cityHash64({})"])


def clock(name, extra=(), functions=CLOCKS, values=TIMES):
    others = quoted([*TIMES, *DAYS[:8]]) + ["toDate('2024-03-31')", "toDateTime('2024-10-27 01:30:00')", "toDateTime('2024-10-27 01:30:00', 'Europe/Berlin')", "toDateTime64('2024-10-27 01:30:00.5', 3)", "toDate32('2024-10-27')", "toDate32('1925-01-01')", "toDate('2149-06-06')", "1711843200", "0", "-1", "toDateTime64('1900-01-01 00:00:00', 3)", "toDateTime('2024-03-31 02:30:00', 'Europe/Berlin')", "NULL", "toDateTime64('2024-12-31 23:59:59.999999', 6)"]
    return Type(name, quoted([*values, *extra]), others, functions, partitions=["toYYYYMM({})", "toDate({})", "toStartOfHour({})", "toYear({})", "toMonday({})", "toYYYYMMDD({})", "toHour({})", "toStartOfDay({})"], keys=["toDate({})", "toStartOfHour({})", "toDate(toStartOfHour({}))", "toYYYYMM({})", "toStartOfDay({})", "toHour({})", "toMonday({})", "toUnixTimestamp({})", "toDate({}, 'America/New_York')", "toString({})", "toStartOfMonth({})", "toDayOfWeek({})", "toTimeZone({}, 'Asia/Tokyo')"])


def nullable(ty):
    out = Type(f"Nullable({ty.name})", ["NULL", "NULL", *ty.values], ty.others, [*ty.functions, "ifNull({}, 1)" if "Int" in ty.name or "Float" in ty.name else "isNull({})", "isNull({})", "isNotNull({})", "coalesce({}, NULL)", "assumeNotNull({})", "nullIf({}, " + ty.values[0] + ")"], [*ty.conditions, "{} IS NULL", "{} IS NOT NULL", "{} IS NULL OR 1 = 2", "isNull({}) = 1", "{} IS NOT DISTINCT FROM NULL"], ty.indexes[:3], ty.partitions, ty.keys)
    return out


UUIDS = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "80000000-0000-0000-0000-000000000000", "00000000-0000-0000-8000-000000000000", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "00000000-0000-0001-0000-000000000000", "00000000-0000-0000-0000-000000000001", "7fffffff-0000-0000-0000-000000000000", "01000000-0000-0000-0000-000000000002"]
ADDRESSES = ["0.0.0.0", "0.0.0.1", "1.2.3.4", "10.0.0.1", "127.255.255.255", "128.0.0.0", "192.168.0.1", "255.255.255.255", "9.0.0.0", "10.0.0.0"]
ADDRESSES6 = ["::", "::1", "::ffff:1.2.3.4", "::ffff:255.255.255.255", "2001:db8::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "8000::", "7fff::", "0:1::", "::1:0"]
ENUM = "Enum8('z' = -128, 'b' = -1, 'a' = 0, 'c' = 1, 'B' = 127, '' = 5)"


def types():
    out = [integer(name) for name in INTEGERS] + [floating("Float32"), floating("Float64"), decimal("Decimal(9, 2)", 2), decimal("Decimal(18, 4)", 4), decimal("Decimal(38, 2)", 2)]
    out += [texts("String"), texts("LowCardinality(String)"), texts("FixedString(3)", ["", "a", "ab", "abc", "b", "\\0", "\\0a", "\\x80", "\\xff", "a\\0b", "a\\xff", "\\xff\\xff\\xff", "1", "10", "A", "ABC"]), texts("LowCardinality(FixedString(2))", ["", "a", "ab", "b", "\\0a", "\\xff", "1", "A"])]
    days = clock("Date", functions=DATES, values=DAYS)
    days.partitions, days.keys = ["toYYYYMM({})", "{}", "toMonday({})", "toYear({})", "toDayOfWeek({})"], ["toYYYYMM({})", "toMonday({})", "toYear({})", "toDateTime({})", "toString({})", "toStartOfMonth({})", "{} + 1", "toDayOfMonth({})", "toUInt16({})", "toStartOfWeek({})", "toMonth({})", "toDate32({})"]
    days32 = clock("Date32", functions=DATES, values=[*DAYS, "1900-01-01", "1950-06-01", "1969-12-31", "2299-12-31", "2200-01-01"])
    days32.partitions, days32.keys = days.partitions, days.keys
    out += [days, days32, clock("DateTime('UTC')"), clock("DateTime('Europe/Berlin')"), clock("DateTime('America/New_York')"), clock("DateTime64(3, 'UTC')", ["1900-01-01 00:00:00", "1969-12-31 23:59:59.999", "2024-10-27 01:30:00.500", "2299-12-31 23:59:59.999", "2024-12-31 23:59:59.999"]), clock("DateTime64(6, 'Europe/Berlin')", ["1969-12-31 23:59:59.999999", "2024-10-27 01:30:00.5", "2200-01-01 00:00:00"]), clock("DateTime64(0, 'UTC')", ["1950-01-01 00:00:00"])]
    out += [
        Type("UUID", quoted(UUIDS), [*quoted(UUIDS), "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "NULL"], ["toString({})", "identity({})", "toUInt128({})", "cityHash64({}) % 3", "empty({})"], partitions=["{}"], keys=["toString({})"]),
        Type("IPv4", quoted(ADDRESSES), [*quoted(ADDRESSES), "toIPv4('10.0.0.1')", "167772161", "toIPv6('::ffff:1.2.3.4')", "NULL"], ["toString({})", "toUInt32({})", "toIPv6({})", "IPv4NumToString({})", "isIPAddressInRange(toString({}), '10.0.0.0/8')", "IPv4CIDRToRange({}, 8).1"], partitions=["{}"], keys=["toUInt32({})", "toString({})", "toIPv6({})"]),
        Type("IPv6", quoted(ADDRESSES6), [*quoted(ADDRESSES6), "toIPv6('2001:db8::1')", "NULL"], ["toString({})", "identity({})", "cutIPv6({}, 0, 0)"], partitions=["{}"], keys=["toString({})"]),
        Type(ENUM, quoted(["z", "b", "a", "c", "B", ""]), [*quoted(["z", "b", "a", "c", "B", ""]), "0", "-1", "127", "toInt8(-128)", "1.5", "NULL", f"CAST('a', '{ENUM.replace(chr(39), chr(92) + chr(39))}')"], ["toString({})", "toInt8({})", "toUInt8({})", "toInt16({})", "lower(toString({}))", "length(toString({}))"], partitions=["{}", "toInt8({})"], keys=["toString({})", "toInt8({})", "toUInt8({})"]),
        Type("Bool", ["true", "false"], ["true", "false", "1", "0", "2", "-1", "NULL", "0.5", "'true'"], ["NOT {}", "toUInt8({})", "toInt8({})", "{} + 1", "toString({})", "-{}"], ["{}", "NOT {}", "{} AND id % 2", "{} XOR id % 2"], partitions=["{}", "NOT {}"], keys=["NOT {}", "toString({})", "-{}"]),
        Type("Array(Int16)", ["[]", "[0]", "[-1]", "[1]", "[1, 2]", "[1, 1]", "[2]", "[32767]", "[-32768, 5]", "[1, -2]", "[3, 2, 1]"], ["[]", "[1]", "[1, 2]", "[-1]", "[0, 0]", "[256]", "[70000]", "NULL"], ["length({})", "{}[1]", "{}[-1]", "empty({})", "arraySum({})", "toString({})", "arraySort({})", "arrayMax({})", "{}.size0"], ["has({}, 1)", "has({}, -1)", "has({}, 70000)", "hasAny({}, [1, 5])", "hasAll({}, [1, 2])", "hasAny({}, [])", "hasAll({}, [])", "NOT has({}, 1)", "has([[1], [2]], {})", "indexOf({}, 2) > 0", "arrayExists(x -> x > 1, {})", "indexOf({}, 1) = 0", "countEqual({}, 1) = 2", "hasSubstr({}, [1, 2])", "notEmpty({})", "has({}, NULL)"], keys=["length({})", "{}[1]"]),
        Type("Array(Nullable(String))", ["[]", "['']", "[NULL]", "['a']", "['a', NULL]", "['\\xff']", "['b', 'a']", "['a\\0']"], ["[]", "['a']", "[NULL]", "['a', NULL]", "['b', 'a']"], ["length({})", "empty({})", "toString({})", "{}[1]"], ["has({}, 'a')", "has({}, NULL)", "hasAny({}, ['a', NULL])", "hasAll({}, ['a', NULL])", "NOT has({}, 'b')", "has({}, '')", "indexOf({}, 'b') = 1"], keys=["length({})"]),
        Type("Tuple(Int8, String)", ["(0, '')", "(-1, 'a')", "(1, 'b')", "(127, '\\xff')", "(-128, '')", "(1, 'a')", "(1, 'a\\0')", "(2, 'a')"], ["(1, 'a')", "(1, 'b')", "(0, '')", "(-1, 'z')", "(200, 'a')", "(1, '')"], ["{}.1", "{}.2", "toString({})", "tupleElement({}, 1) + 1", "length({}.2)"], ["{}.1 > 0", "{}.1 = 1 AND {}.2 = 'a'", "({}.1, id) > (1, 20)", "{} = (1, 'a')", "{} > (1, 'a')", "{} IN ((1, 'a'), (2, 'a'))", "{}.2 IN ('a', 'b')", "({}.1, {}.2) IN ((1, 'a'))"], keys=["{}.1", "{}.2", "({}.2, {}.1)"]),
        Type("Tuple(a Nullable(Int8), b Float32)", ["(NULL, 0)", "(1, nan)", "(1, 1)", "(NULL, nan)", "(-1, -0.0)", "(2, inf)"], ["(1, 1)", "(NULL, 0)", "(2, nan)", "(1, 0)"], ["{}.a", "{}.b", "toString({})", "-{}.b"], ["{}.a IS NULL", "{}.b > 0", "{}.a = 1", "{} = (1, 1)", "{}.b != {}.b", "NOT {}.a = 1"], keys=["{}.b", "{}.a"]),
        Type("Map(String, Int16)", ["{}", "{'a': 1}", "{'a': 0}", "{'b': -1}", "{'a': 1, 'b': 2}", "{'': 5}", "{'a': -1}", "{'\\xff': 3}"], ["map('a', 1)", "map('b', -1)"], ["{}['a']", "{}['b']", "length({})", "mapKeys({})", "mapValues({})", "{}['none']", "toString({})"], ["{}['a'] = 1", "{}['a'] = 0", "{}['none'] = 0", "mapContains({}, 'a')", "NOT mapContains({}, 'a')", "has(mapKeys({}), 'b')", "{}['b'] < 0", "{}['a'] != 0", "{}['a'] IN (0, 5)", "has(mapValues({}), 2)", "mapContainsKeyLike({}, 'a%')", "has({}, 'a')", "{}[''] > 1", "empty({})", "{}['a'] = {}['b']"], keys=["length({})", "{}['a']"]),
    ]
    plain = {ty.name: ty for ty in out}
    out += [nullable(plain[name]) for name in ("UInt8", "Int32", "UInt64", "Float64", "String", "Date", "DateTime('Europe/Berlin')", "Decimal(9, 2)", "UUID", "Bool", ENUM, "FixedString(3)", "IPv4")]
    low = nullable(plain["String"])
    low.name = "LowCardinality(Nullable(String))"
    numbers = integer("Int16")
    numbers.name = "LowCardinality(Int16)"
    return {ty.name: ty for ty in [*out, low, numbers]}


INDEXES = ["minmax", "set(0)", "set(3)", "bloom_filter", "bloom_filter(0.3)"]
NO_MERGES = "max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, allow_nullable_key = 1"


class Trial:
    """A type, its rows, the tables over them, and conditions."""

    def __init__(self, rng, ty, rows=150):
        self.rng, self.ty, self.rows = rng, ty, rows

    def pick(self, choices):
        return self.rng.choice(list(choices))

    def designs(self):
        """What follows the columns of a table, by what it tries: elements, ORDER BY and PARTITION BY, and settings."""
        rng, ty = self.rng, self.ty
        key = self.pick(ty.keys).replace("{}", "x") if ty.keys else "x"
        partition = self.pick(ty.partitions).replace("{}", "x") if ty.partitions else "id % 3"
        index = self.pick(INDEXES + ty.indexes * 2)
        function = self.pick(["{}"] * 3 + ty.functions).replace("{}", "x") if not index.startswith(("text", "token", "ngram", "sparse")) else "x"
        columns = "id UInt32, x {x}, y {x}, g UInt8, pad String"
        made = {
            "key": ("", "ORDER BY x", ""), "reversed": ("", "ORDER BY x DESC", "allow_experimental_reverse_key = 1"), "second": ("", "ORDER BY (g, x)", ""), "pair": ("", self.pick(["ORDER BY (x, y)", "ORDER BY (x DESC, y)", "ORDER BY (x, y DESC)"]), "allow_experimental_reverse_key = 1"),
            "expression": ("", f"ORDER BY {key}", ""), "chain": ("", f"ORDER BY (g, {key}, x)", ""), "partition": ("", f"PARTITION BY {partition} ORDER BY id", ""), "bounds": ("", "ORDER BY y", ""),
            "index": (f", INDEX i x TYPE {index} GRANULARITY {self.pick([1, 1, 3])}", "ORDER BY id", ""), "function": (f", INDEX i {function} TYPE {self.pick(INDEXES)} GRANULARITY 1", "ORDER BY id", ""), "indexes": (f", INDEX i x TYPE {self.pick(INDEXES)} GRANULARITY 1, INDEX j (x, y) TYPE {self.pick(['minmax', 'set(5)', 'bloom_filter'])} GRANULARITY 1", "ORDER BY (y, id)", ""),
            "projection": (", PROJECTION p (SELECT * ORDER BY x)", "ORDER BY id", ""), "statistics": ("", "ORDER BY id", "auto_statistics_types = 'minmax, uniq, tdigest'"), "sorted": ("", "ORDER BY (x, id)", ""),
        }
        if ty.name.startswith(("Map", "Array", "Tuple", "Variant")):
            made.pop("projection") if ty.name.startswith("Map") else None
        return {f"t_{name}": (columns.replace("{x}", ty.name) + elements, rest, f"index_granularity = {self.pick([3, 8, 8, 30])}, {NO_MERGES}" + (f", {settings}" if settings else "")) for name, (elements, rest, settings) in made.items()}

    def creates(self):
        plain = f"CREATE TABLE m (id UInt32, x {self.ty.name}, y {self.ty.name}, g UInt8, pad String) ENGINE = Memory"
        return plain, {name: f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree {rest} SETTINGS {settings}" for name, (columns, rest, settings) in self.designs().items()}

    def insert(self):
        run = [self.pick(self.ty.values) for _ in range(self.rows)] if self.rng.random() < 0.5 else [self.pick(self.ty.values[: self.rng.randint(1, len(self.ty.values))]) for _ in range(self.rows)]
        rows = ", ".join(f"({i}, {x}, {self.pick(self.ty.values)}, {i * 3 // self.rows}, '')" for i, x in enumerate(run))
        return f"INSERT INTO m VALUES {rows}"

    def fill(self, table):
        """Parts of some rows each; rows with padding are files where the database has a folder."""
        parts, padded = self.pick([1, 3]), self.pick(["''", "toString(range(1000))"])
        by = self.pick(["id % {n}", "intDiv(id * {n}, {rows})"]).format(n=parts, rows=self.rows)
        return [f"INSERT INTO {table} SELECT id, x, y, g, {padded} FROM m WHERE {by} = {part}" for part in range(parts)]

    # Conditions.

    def constant(self):
        if self.rng.random() < 0.35 and self.ty.others:
            return self.pick(self.ty.others)
        value = self.pick(self.ty.values)
        if value.startswith("{"):
            return f"CAST({value!r}, '{self.ty.name}')".replace('"', "'") if "'" not in value else "map('a', 1)"
        if value != "NULL" and self.rng.random() < 0.3:
            return f"CAST({value}, '{self.ty.name.replace(chr(39), chr(92) + chr(39))}')"
        return value

    def column(self):
        return self.pick(["x", "x", "x", "x", "y"])

    def atom(self):
        x, roll = self.column(), self.rng.random()
        if self.ty.conditions and roll < 0.3:
            return f"({self.pick(self.ty.conditions).replace('{}', x)})"
        if self.ty.functions and roll < 0.6:
            f = self.pick(self.ty.functions)
            if self.rng.random() < 0.2 and "{}" in f:
                f = f.replace("{}", f"({self.pick(self.ty.functions)})")
            e = f.replace("{}", x)
            # A value of the function itself is what a condition compares with.
            c = self.pick([self.constant(), f"(SELECT {e} FROM m WHERE id = {self.rng.randrange(self.rows)})", f"(SELECT {e} FROM m WHERE id = {self.rng.randrange(self.rows)})", self.pick(["0", "1", "-1", "7", "'1'"])])
            return f"{e} {self.pick(['=', '=', '!=', '<', '<=', '>', '>='])} {c}" if self.rng.random() < 0.85 else f"{e} IN ({c}, {self.constant()})"
        c, d = self.constant(), self.constant()
        op = self.pick(["=", "!=", "<", "<=", ">", ">="])
        forms = [f"{x} {op} {c}", f"{x} {op} {c}", f"{x} {op} {c}", f"{c} {op} {x}", f"{x} BETWEEN {c} AND {d}", f"{x} IN ({c}, {d})", f"{x} NOT IN ({c}, {d})", f"{x} IN ({c})", f"x {op} y", f"(g, {x}) {op} ({self.rng.randrange(4)}, {c})", f"({x}, id) {op} ({c}, {self.rng.randrange(self.rows)})", f"({x}, g) IN (({c}, 1), ({d}, 0))", f"(g, {x}) NOT IN ((1, {c}))", f"{x} IN (SELECT y FROM m WHERE id < {self.rng.randrange(6)})", f"{x} NOT IN (SELECT x FROM m WHERE id = {self.rng.randrange(self.rows)})", f"(x, y) IN (SELECT x, y FROM m WHERE id = {self.rng.randrange(self.rows)})", f"{x} {op} (SELECT x FROM m WHERE id = {self.rng.randrange(self.rows)})", f"{x} IS NULL", f"{x} IS NOT DISTINCT FROM {c}", f"{x} <=> {c}", f"x = y", f"least({x}, {c}) = {c}", f"(x, y) > ({c}, {d})", f"g = {self.rng.randrange(4)}", f"id > {self.rng.randrange(self.rows)}", f"({x} {op} {c}) = {self.pick([0, 1])}", f"({x} {op} {c}) != ({x} {op} {d})", f"if({x} {op} {c}, 1, 0)", f"indexHint({x} = {x})", f"has([{c}, {d}], {x})", f"{x} = {c} OR {x} = {d}", f"({x}, 1) = ({c}, 1)"]
        return self.pick(forms)

    def condition(self, pool, depth=0):
        if depth > 2 or depth and self.rng.random() < 0.55:
            return self.pick(pool)
        a, b = self.condition(pool, depth + 1), self.condition(pool, depth + 1)
        return self.pick([f"({a}) AND ({b})", f"({a}) OR ({b})", f"NOT ({a})", f"NOT (({a}) AND ({b}))", f"NOT (({a}) OR ({b}))", f"xor({a}, {b})", f"({a}) AND NOT ({b})"])

    def question(self, table, condition, form):
        if form == "count":
            return f"SELECT count() FROM {table} WHERE {condition}"
        if form == "ends":
            return f"SELECT min(id), max(id) FROM {table} {'WHERE' if table == 'm' else 'PREWHERE'} {condition}"
        return f"SELECT groupArray(id) FROM (SELECT id FROM {table} WHERE {condition} ORDER BY id)"


def trial(rng, ty, args, engines):
    """Yields what differs: how, the CREATE of the table, the condition, and both answers."""
    kernel, ours = engines
    made = Trial(rng, ty)
    plain, tables = made.creates()
    insert = made.insert()
    for engine in engines:
        if engine:
            for sql in ("DROP TABLE IF EXISTS m", plain, insert):
                answer = engine.ask(sql, 60)
                if answer.code or answer.end:
                    yield "setup", plain, sql[:200], answer, answer
                    return
    kept = {}
    for name, sql in tables.items():
        ours.ask(f"DROP TABLE IF EXISTS {name}", 60)
        answer = ours.ask(sql, 60)
        refused = kernel and kernel.ask(f"DROP TABLE IF EXISTS {name}", 60) and kernel.ask(sql, 60)
        if refused and bool(refused.code) != bool(answer.code):
            yield "create", sql, "", refused, answer
        if not answer.code:
            answers = [(each, ours.ask(each, 60)) for each in made.fill(name)]
            failed = [(each, answer) for each, answer in answers if answer.code]
            if not failed:
                kept[name] = sql
            for each, answer in failed[:1]:
                if refused and not (theirs := kernel.ask(each, 60)).code:
                    yield "insert", sql, each, theirs, answer
    # What fails over all rows says nothing of those that are left out.
    pool = [atom for atom in (made.atom() for _ in range(args.conditions)) if not ours.ask(made.question("m", atom, "count"), 60).code]
    for atom in pool and [*pool, *(made.condition(pool) for _ in range(args.conditions))]:
        form = rng.choice(["rows", "rows", "rows", "rows", "count", "ends"])
        own = ours.ask(made.question("m", atom, form), 60)
        if kernel:
            theirs = kernel.ask(made.question("m", atom, form), 60)
            # Without rows the kernel's text formats have totals before the answer.
            if not theirs.code and not own.code and theirs.rows[-1:] != own.rows:
                yield "kernel", plain, f"{atom} -- {form}", theirs, own
        if own.end:
            return
        for name, sql in kept.items():
            answer = ours.ask(made.question(name, atom, form), 60)
            # What a table leaves out cannot fail.
            if answer.end or (answer.code and not own.code) or (not own.code and answer.rows != own.rows):
                yield name, sql, f"{atom} -- {form}", own, answer
            if answer.end:
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--type", help="this one alone")
    parser.add_argument("--ours", default="", help="the folder of the package to test, when it is not installed")
    parser.add_argument("--plain", action="store_true", help="ask no kernel")
    parser.add_argument("--conditions", type=int, default=60, help="of one set of tables")
    args = parser.parse_args()
    fuzz_engine.LIMITS[:] = LIMITS
    rng, known = random.Random(args.seed), types()
    engines = None if args.plain else Engine("kernel", "", []), Engine("chalet", args.ours, [])
    engines[1].database = "db.chalet"
    for engine in engines:
        if engine:
            engine.start()
    counts, groups, end = Counter(), {}, time.monotonic() + args.seconds
    while time.monotonic() < end:
        ty = known[args.type or rng.choice(list(known))]
        counts["trials"] += 1
        for what, sql, condition, k, o in trial(rng, ty, args, engines):
            counts[what] += 1
            groups.setdefault((what, ty.name), []).append((sql, condition, k, o))
        for engine in engines:
            if engine and engine.child.poll() is not None:
                engine.start()
    for engine in engines:
        if engine:
            engine.stop()
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    for (what, ty), findings in sorted(groups.items(), key=lambda g: (g[0][0].startswith("kernel"), g[0])):
        for sql, condition, k, o in sorted(findings, key=lambda f: len(f[1]))[:3]:
            print(f"\n{len(findings):4} {what} {ty}\n   {sql}\n   {condition}\n   rows:  {k.text[:300] or str(k.rows)[:300]}\n   found: {o.text[:300] or str(o.rows)[:300]}")
    sys.exit(1 if groups else 0)


if __name__ == "__main__":
    main()
