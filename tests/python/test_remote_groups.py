"""GROUP BY and DISTINCT that servers begin: what they send, and that the answer is that of their rows, with a real server (18.16) and
our own."""

import re

import clickhouse
import pytest
import shards

import chalet

OFF = "SETTINGS chalet_push_down_groups = 0"
AGGREGATES = ("count", "sum", "avg", "min", "max", "uniqExact")
# A column of each type of which states travel.
COLUMNS = {
    "u8": ("UInt8", "number * 3 % 100"),
    "i16": ("Int16", "number * 3 % 100 - 30"),
    "u32": ("UInt32", "number * 3 % 100"),
    "i64": ("Int64", "number * 3 % 100 - 30"),
    "u64": ("UInt64", "number * 3 % 100"),
    "f32": ("Float32", "number * 3 % 100 - 30"),
    "f64": ("Float64", "number / 4 - 30"),
    "s": ("String", "substring(concat('s', toString(number % 40)), 1, number % 5)"),
    "d": ("Date", "toDate('2019-01-01') + number"),
    "t": ("DateTime", "toDateTime('2019-01-01 00:00:00') + number"),
    "p": ("Decimal(15, 2)", "CAST(number % 150 AS Decimal(15, 2)) / 4 - 30"),
    "q": ("Decimal(9, 4)", "CAST(number % 90 AS Decimal(9, 4)) / 8"),
    "v": ("Decimal(38, 3)", "CAST(number % 70 AS Decimal(38, 3)) / 5 - 3"),
}
NUMBERS = [name for name, (ty, _) in COLUMNS.items() if "Int" in ty or "Float" in ty or "Decimal" in ty]


def fill(port):
    with chalet.connect(f"clickhouse://127.0.0.1:{port}") as there:
        columns = ", ".join(f"{name} {ty}" for name, (ty, _) in COLUMNS.items())
        there.query(f"CREATE TABLE g (k UInt8, w String, `a``b` UInt8, m Nullable(Int32), {columns}) ENGINE = Memory")
        values = ", ".join(f"CAST({value} AS {ty}) AS {name}" for name, (ty, value) in COLUMNS.items())
        there.query(
            "INSERT INTO g SELECT k, w, b, m, " + ", ".join(COLUMNS) + " FROM (SELECT toUInt8(number % 4) AS k, if(number % 3 = 0, 'it''s', 'x') AS w,"
            f" toUInt8(number % 7) AS b, if(number % 3 = 0, NULL, toInt32(number)) AS m, {values} FROM numbers(300))"
        )


@pytest.fixture(scope="module", params=["18.16", "own"])
def g(request, tmp_path_factory):
    """Two shards that are the same server."""
    if request.param == "own":
        with shards.started(1) as (server,):
            fill(server.tcp_port)
            yield f"remote('127.0.0.1:{server.tcp_port},127.0.0.1:{server.tcp_port}', default.g)"
    else:
        with clickhouse.started(tmp_path_factory.mktemp("server")) as port:
            fill(port)
            yield f"remote('127.0.0.1:{port},127.0.0.1:{port}', default.g)"


def text(db, sql):
    return db.query(sql, "TSVRaw").data()


def sent(db, sql):
    (line,) = [line for line in text(db, f"EXPLAIN ANALYZE {sql}").splitlines() if "Sent" in line]
    return line.rpartition("Sent: ")[2]


@pytest.mark.parametrize("column", COLUMNS)
def test_states_of_each_type(db, g, column):
    names = [name for name in AGGREGATES if column in NUMBERS or name not in ("sum", "avg")]
    if "Decimal" in COLUMNS[column][0]:
        # Old servers have other sets of them.
        names = [name for name in names if name not in ("count", "uniqExact")]
    calls = ", ".join(f"{name}({column})" for name in names)
    for sql in (
        f"SELECT k, {calls} FROM {g} GROUP BY k ORDER BY k",
        f"SELECT {calls} FROM {g} WHERE k < 2",
        # No rows.
        f"SELECT {calls} FROM {g} WHERE k = 77",
        f"SELECT k, {calls} FROM {g} WHERE k = 77 GROUP BY k",
        # As a key.
        f"SELECT {column}, count() FROM {g} GROUP BY {column} ORDER BY {column}",
    ):
        assert text(db, sql) == text(db, f"{sql} {OFF}"), sql
        assert "State(" in sent(db, sql) and "State(" not in sent(db, f"{sql} {OFF}")


def test_what_is_sent(db, g):
    for sql, expected in (
        ("SELECT k, sum(u8) FROM {} GROUP BY k", "SELECT `k`, sumState(`u8`) FROM `default`.`g` GROUP BY `k`"),
        ("SELECT count() FROM {} WHERE w = 'it''s'", "SELECT countState() FROM `default`.`g` WHERE `w` = 'it\\'s'"),
        (
            "SELECT k, w, max(s) FROM {} WHERE k >= 1 AND u8 IN (3, 6) AND (d < '2019-02-01' OR d = '2019-03-01') GROUP BY w, k HAVING max(s) != ''",
            None,
        ),
        ("SELECT DISTINCT k FROM {}", "SELECT DISTINCT `k` FROM `default`.`g`"),
        ("SELECT DISTINCT w, k FROM {} WHERE k BETWEEN 1 AND 2", None),
        ("SELECT DISTINCT k FROM {} ORDER BY k LIMIT 2", "SELECT DISTINCT `k` FROM `default`.`g` ORDER BY `k` LIMIT 2"),
        ("SELECT DISTINCT s, k FROM {} ORDER BY k DESC, s LIMIT 3 OFFSET 2", "SELECT DISTINCT `s`, `k` FROM `default`.`g` ORDER BY `k` DESC, `s` LIMIT 5"),
        ("SELECT DISTINCT k % 3 AS r FROM {} ORDER BY r DESC LIMIT 2", None),
        ("SELECT `a`b`, avg(f64) FROM {} GROUP BY `a`b`".replace("`a`b`", "`a``b`"), None),
        ("SELECT count(DISTINCT s) FROM {}", "SELECT uniqExactState(`s`) FROM `default`.`g`"),
        ("SELECT k, sum(u8) FROM {} GROUP BY k WITH TOTALS", None),
        ("SELECT k + 1, sum(u8) + count() FROM {} GROUP BY k", None),
    ):
        sql = sql.format(g)
        found = sent(db, sql)
        assert "State(" in found or "DISTINCT" in found, found
        if expected and "WHERE" not in expected:
            assert found == expected
        assert sorted(text(db, sql).splitlines()) == sorted(text(db, f"{sql} {OFF}").splitlines()), sql


def test_what_stays_here(db, g):
    """States that are others at old servers, and what cannot be said exactly."""
    for sql in (
        f"SELECT k, median(u8) FROM {g} GROUP BY k",
        f"SELECT k, sumDistinct(u8) FROM {g} GROUP BY k",
        f"SELECT k, sumIf(u8, toHour(t) = 1) FROM {g} GROUP BY k",
        f"SELECT k, sum(u8 % m) FROM {g} GROUP BY k",
        f"SELECT u8 % (k + 1) AS r, count() FROM {g} GROUP BY r",
        f"SELECT toHour(t) AS r, count() FROM {g} GROUP BY r",
        f"SELECT k, count() FROM {g} WHERE s LIKE concat('%', s) GROUP BY k",
        f"SELECT k, count() FROM {g} WHERE s LIKE '%\\\\%' GROUP BY k",
        f"SELECT k, w, count() FROM {g} GROUP BY k, w WITH ROLLUP",
        f"SELECT k, count() FROM {g} GROUP BY k {OFF}",
        # Decimals of more than 18 digits have other types at old servers when they are computed.
        f"SELECT k, sum(v * p) FROM {g} GROUP BY k",
        # Old servers have other sets of decimals.
        f"SELECT k, uniqExact(p) FROM {g} GROUP BY k",
        # It may fail for rows that another condition leaves out.
        f"SELECT k, count() FROM {g} WHERE p * q > toDecimal64(1, 6) AND k > 1 GROUP BY k",
        f"SELECT DISTINCT toString(k) FROM {g}",
    ):
        found = sent(db, sql)
        assert "State(" not in found and "DISTINCT" not in found, found
        off = sql if OFF in sql else f"{sql} {OFF}"
        assert sorted(text(db, sql).splitlines()) == sorted(text(db, off).splitlines()), sql


# Keys, of which some may be NULL.
KEYS = (
    "m", "k % 2", "intDiv(u8, 7)", "k + 1", "u64 - 1", "i16 * 2", "i64 + i16", "f64 / 2", "m + 1", "ifNull(m, -1)", "m IS NULL", "k IN (1, 2)",
    "k NOT IN (1, 2)", "toYear(d)", "toMonth(d)", "toDayOfMonth(d)", "toDayOfWeek(d)", "toMonday(d)", "toStartOfMonth(d)", "toStartOfQuarter(d)",
    "toStartOfYear(d)", "lower(w)", "upper(s)", "length(s)", "empty(s)", "notEmpty(s)", "concat(s, w)", "s LIKE '%1%'", "s NOT LIKE 's_'",
    "startsWith(s, 's1')", "endsWith(s, '1')", "position(s, '1')", "if(k = 1, w, s)", "multiIf(k = 1, 5, k = 2, 6, 7)", "CASE WHEN k > 1 THEN w ELSE s END",
    "k = 1 OR u8 > 50", "NOT k = 1", "k > 1.5", "d = '2019-01-05'", "coalesce(m, 3)", "u64 > i64", "f32 < 0", "t < '2019-01-01 00:01:00'",
    "p * q", "1 - q", "p + q", "p = toDecimal64(-15, 2)",
)  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_expressions_as_keys(db, g, key):
    sql = f"SELECT {key} AS e, count(), sum(m), toTypeName(e) FROM {g} GROUP BY e ORDER BY e"
    assert text(db, sql) == text(db, f"{sql} {OFF}")
    assert "State" in sent(db, sql)
    sql = f"SELECT DISTINCT {key} AS e FROM {g} ORDER BY e"
    assert text(db, sql) == text(db, f"{sql} {OFF}")
    assert "DISTINCT" in sent(db, sql)


CALLS = (
    "sum(m)", "avg(m)", "min(m)", "max(m)", "count(m)", "uniqExact(m)", "uniqExact(ifNull(m, 0))", "sum(u8 * 2)", "sum(i16 - u64)", "max(length(s))", "sumIf(u8, k = 1)",
    "countIf(k = 1)", "countIf(m > 3)", "sumIf(u8, m > 3)", "sumIf(m, m > 3 OR k = 1)", "maxIf(m, k > 1)", "avgIf(m, w = 'x')", "sum(m + 1)", "min(concat(s, 'x'))", "sum(f64 / 3)", "max(toMonday(d))",
    "sum(u8) FILTER (WHERE k < 2)", "count(DISTINCT m)", "sum(k % 3)", "max(if(k = 1, m, m))", "sum(f32 * f32)", "minIf(s, notEmpty(s))", "uniqExactIf(u8, s LIKE '%1%')",
    "sum(p * (1 - q))", "avg(p * (1 - q) * (1 + q))", "max(p - q)", "min(q * 2)", "sumIf(p, k = 1)", "sumIf(p * q, m > 3)", "avg(if(k = 1, p, p + 1))",
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_expressions_and_nulls_in_calls(db, g, call):
    for rest in ("", "WHERE m IS NULL", "WHERE k = 77", "WHERE k < 3 AND m > 5"):
        for sql in (f"SELECT {call} AS r, toTypeName(r) FROM {g} {rest}", f"SELECT k, {call} AS r FROM {g} {rest} GROUP BY k ORDER BY k"):
            there, here = text(db, sql), text(db, f"{sql} {OFF}")
            # The last digits of sums of floats follow the order of the rows.
            assert there == here or "f" in call and there[:12] == here[:12], sql
            assert "State" in sent(db, sql), sql


def test_conditions_of_decimals(db, g):
    for condition in ("p = 2.5", "p >= toDecimal64('-7.25', 2)", "p < 3", "p BETWEEN -3 AND 2", "q IN (1, 2)", "v > toDecimal128('1.6', 3)", "v <= -2", "p > q", "p > 0.5"):
        sql = f"SELECT k, sum(u8), max(p) FROM {g} WHERE {condition} AND k < 3 GROUP BY k ORDER BY k"
        assert text(db, sql) == text(db, f"{sql} {OFF}"), sql
        sql = f"SELECT count(), sum(p) FROM {g} WHERE {condition}"
        assert text(db, sql) == text(db, f"{sql} {OFF}"), sql


def test_one_shard_gives_results(db, g):
    """It has groups as a whole: no states travel, which of sets are large."""
    one = re.sub(r",127[^']*", "", g)
    for call in ("count()", "sum(u8)", "avg(i16)", "min(s)", "max(d)", "uniqExact(u32)", "countIf(k = 1)", "sumIf(u8, u32 > 7)", "sum(i64 + 1)", "count(DISTINCT s)"):
        for sql in (
            f"SELECT {call} AS r, toTypeName(r) FROM {one}",
            f"SELECT {call} AS r FROM {one} WHERE k = 77",
            f"SELECT k, {call} AS r, {call} + 1 FROM {one} GROUP BY k HAVING count() > 3 ORDER BY r DESC, k LIMIT 2".replace(" + 1", "" if "s" in call else " + 1"),
            f"SELECT k, {call} AS r FROM {one} WHERE k = 77 GROUP BY k",
            f"SELECT sum(c) FROM (SELECT k, {call} AS r, count() AS c FROM {one} GROUP BY k)",
        ):
            assert text(db, sql) == text(db, f"{sql} {OFF}"), sql
            found = sent(db, sql)
            assert "State" not in found and "(" in found, found
    # Of other types at old servers, or made of groups here.
    for sql in (f"SELECT avg(p), sum(m) FROM {one}", f"SELECT k, sum(u8) FROM {one} GROUP BY k WITH TOTALS"):
        assert text(db, sql) == text(db, f"{sql} {OFF}")
        assert "State" in sent(db, sql)


def test_it_is_counted(db, g):
    count = "SELECT sum(value) FROM system.events WHERE event = 'RemoteGroups'"
    before = int(text(db, count))
    text(db, f"SELECT k, count() FROM {g} GROUP BY k")
    assert int(text(db, count)) == before + 1
    text(db, f"SELECT k, count() FROM {g} GROUP BY k {OFF}")
    assert int(text(db, count)) == before + 1


def test_shards_that_cannot_be_reached(db, g):
    gone = g.replace("remote('", "remote('127.0.0.1:1,")
    assert text(db, f"SELECT k, count() FROM {gone} GROUP BY k ORDER BY k SETTINGS skip_unavailable_shards = 1") == text(
        db, f"SELECT k, count() FROM {g} GROUP BY k ORDER BY k"
    )
    with pytest.raises(chalet.Error, match="(?i)refused"):
        db.query(f"SELECT k, count() FROM {gone} GROUP BY k")
