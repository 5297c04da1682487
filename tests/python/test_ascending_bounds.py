"""Row groups whose bounds ascend are found by bisection: the answers are those of reading everything, whatever the order of the rows."""

import datetime
import decimal
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import chalet

ROWS, GROUP = 2000, 50

# Values by the number of a row, ascending in it, and what they are written as in SQL.
KINDS = {
    "int": (pa.int64(), lambda n: n // 3 - 300, str),
    "narrow": (pa.int8(), lambda n: n // 10 - 100, str),
    "unsigned": (pa.uint64(), lambda n: 2**63 - 500 + n, str),
    "float": (pa.float64(), lambda n: n / 7 - 100, repr),
    "text": (pa.string(), lambda n: f"{n // 2:05}", lambda text: f"'{text}'"),
    "bytes": (pa.binary(3), lambda n: bytes([n // 256, n % 256, 0]), lambda b: "unhex('" + b.hex() + "')"),
    "day": (pa.date32(), lambda n: datetime.date(1970, 1, 1) + datetime.timedelta(days=n), lambda day: f"toDate32('{day}')"),
    "moment": (
        pa.timestamp("us", tz="UTC"),
        lambda n: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(minutes=n),
        lambda t: f"toDateTime64('{t:%Y-%m-%d %H:%M:%S}', 6, 'UTC')",
    ),
    "decimal": (pa.decimal128(10, 2), lambda n: decimal.Decimal(n - 700) / 4, lambda d: f"toDecimal64('{d}', 2)"),
}
ORDERS = ["ascending", "descending", "shuffled", "constant", "nearly", "nulls", "null group"]


def numbers(order: str) -> list[int | None]:
    rows: list[int | None] = list(range(ROWS))
    match order:
        case "descending":
            rows.reverse()
        case "shuffled":
            random.Random(5).shuffle(rows)
        case "constant":
            rows = [ROWS // 2] * ROWS
        case "nearly":
            # Two row groups change places.
            rows[700:750], rows[750:800] = rows[750:800], rows[700:750]
        case "nulls":
            rows = [None if n % 7 == 0 else n for n in range(ROWS)]
        case "null group":
            rows[500:550] = [None] * 50
    return rows


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_reading_everything(tmp_path, kind: str, order: str) -> None:
    ty, value, literal = KINDS[kind]
    values = [None if n is None else value(n) for n in numbers(order)]
    path = tmp_path / "rows.parquet"
    table = pa.table({"x": pa.array(values, ty), "n": pa.array(range(ROWS))})
    pq.write_table(table, path, row_group_size=GROUP, write_page_index=True)
    dice = random.Random(kind + order)

    def some() -> str:
        return literal(value(dice.choice([0, 1, ROWS - 1, dice.randrange(ROWS), dice.randrange(ROWS)])))

    connection = chalet.connect(":memory:")

    def answer(condition: str, pushed: int) -> str:
        settings = f"input_format_parquet_filter_push_down = {pushed}"
        sql = f"SELECT count(), sum(n), min(n), max(n) FROM file('{path}') WHERE {condition} SETTINGS {settings}"
        return connection.query(sql, "TSV").data()

    for _ in range(3):
        low, high = some(), some()
        for condition in (
            f"x = {low}",
            f"x > {low}",
            f"x >= {low} AND x < {high}",
            f"x < {low}",
            f"x <= {low} OR x IS NULL",
            f"x IN ({low}, {high}, {some()})",
            f"x BETWEEN {low} AND {high} AND n % 2 = 0",
            f"x > {low} AND n < 900 AND n >= 100",
        ):
            assert answer(condition, 1) == answer(condition, 0), condition


def test_row_groups_outside_are_not_looked_at(tmp_path, counted) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": pa.array(range(ROWS))}), path, row_group_size=GROUP)
    connection = chalet.connect(":memory:")

    def pruned(condition: str) -> int:
        sql = f"SELECT sum(x) FROM file('{path}') WHERE {condition}"
        return counted(connection, sql, "ParquetPrunedRowGroups")[1]

    n_groups = ROWS // GROUP
    assert pruned("x = 777") == n_groups - 1
    assert pruned("x >= 100 AND x < 200") == n_groups - 2
    assert pruned("x > 1949 AND x <= 1950") == n_groups - 1
    assert pruned("x IN (3, 1999)") == n_groups - 2
    assert pruned("x > 5000") == n_groups
    assert pruned("x >= 0") == 0


def test_a_row_group_that_is_left_alone_is_divided_among_threads(tmp_path, counted) -> None:
    path = tmp_path / "rows.parquet"
    rows = 320_000
    pq.write_table(pa.table({"x": pa.array(range(rows))}), path, row_group_size=rows // 4)
    connection = chalet.connect(":memory:")

    def units(threads: int) -> int:
        sql = f"SELECT sum(x) FROM file('{path}') WHERE x >= 1000 AND x < 70000 SETTINGS max_threads = {threads}"
        answer, n_units = counted(connection, sql, "ParquetReadRowGroups")
        assert answer == f"{sum(range(1000, 70000))}\n"
        return n_units

    assert units(1) == 1
    assert units(4) == 4
