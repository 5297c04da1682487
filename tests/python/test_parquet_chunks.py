"""Parquet files as we write them: other readers find the same values, NULLs and bounds in them, however they are encoded."""

import math

import pytest

import chalet

pq = pytest.importorskip("pyarrow.parquet")
pl = pytest.importorskip("polars")

ROWS = 20_000
COLUMNS = {
    "i8": "toInt8(number % 200 - 100)",
    "u16": "toUInt16(number * 31 % 65536)",
    "i32": "toInt32(cityHash64(number) % 4000000000 - 2000000000)",
    "u32": "toUInt32(cityHash64(number))",
    "i64": "toInt64(cityHash64(number))",
    "u64": "cityHash64(number, 1)",
    "steps": "toInt64(number * 1000 + number % 3)",
    "runs": "intDiv(number, 777)",
    "f32": "toFloat32(if(number % 100 = 0, nan, number / 8))",
    "f64": "multiIf(number % 1000 = 1, inf, number % 1000 = 2, -inf, number % 50 = 3, -0., number % 50 = 4, 0., number / 3 - 2000)",
    "nans": "if(number < 0, 1., nan)",
    "word": "concat('word ', toString(number % 300))",
    "text": "concat(repeat('long text ', number % 12), toString(cityHash64(number)))",
    "empty": "''",
    "day": "toDate('2000-01-01') + number % 20000",
    "moment": "toDateTime64('2020-01-01 00:00:00', 3, 'UTC') + number",
    "money": "toDecimal64(toInt64(number) - 10000, 3)",
    "wide": "toDecimal128(toInt64(number) - 10000, 10)",
    "id": "reinterpretAsUUID(cityHash64(number))",
    "kind": "CAST(number % 3 + 1, 'Enum8(\\'a\\' = 1, \\'b\\' = 2, \\'c\\' = 3)')",
}
NULLABLE = {f"n_{name}": f"if(number % 7 < 2 OR number BETWEEN 8000 AND 16000, NULL, {sql})" for name, sql in COLUMNS.items()}
NEVER = {"never": "CAST(NULL, 'Nullable(Int32)')", "never_text": "CAST(NULL, 'Nullable(String)')", "always": "CAST(number, 'Nullable(UInt64)')"}
ALL = COLUMNS | NULLABLE | NEVER
SETTINGS = [
    {},
    {"output_format_parquet_compression_method": "'none'"},
    {"output_format_parquet_compression_method": "'lz4'", "output_format_parquet_max_dictionary_size": 0},
    # Dictionaries that are outgrown: the rest of the chunk is plain.
    {"output_format_parquet_compression_method": "'zstd'", "output_format_parquet_max_dictionary_size": 3000},
    {"output_format_parquet_data_page_size": 2000, "output_format_parquet_row_group_size": 7_003, "output_format_parquet_compression_method": "'lz4'"},
    {"output_format_parquet_write_page_index": 0, "output_format_parquet_row_group_size": 1000},
    {"output_format_parquet_compression_method": "'snappy'"},
]


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)
    # Names of enums are bytes to some.
    return a == (b.encode() if isinstance(a, bytes) and isinstance(b, str) else b)


@pytest.fixture(scope="module")
def source():
    with chalet.connect() as db:
        columns = ", ".join(f"{sql} AS {name}" for name, sql in ALL.items())
        db.query(f"CREATE TABLE source ENGINE = Memory AS SELECT number AS row, {columns} FROM numbers({ROWS})")
        yield db


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())) or "default")
def test_other_readers_find_what_was_written(source, tmp_path, settings):
    path = tmp_path / "made.parquet"
    given = ", ".join(f"{name} = {value}" for name, value in settings.items())
    source.query(f"INSERT INTO FUNCTION file('{path}', 'Parquet') SELECT * FROM source ORDER BY row {'SETTINGS ' + given if given else ''}")
    read = pq.read_table(path)
    by_polars = pl.read_parquet(path)
    assert read.num_rows == by_polars.height == ROWS
    for name, sql in ALL.items():
        # As the column is in the file.
        expected = source.query(f"SELECT {name} FROM file('{path}') ORDER BY row").arrow().column(0).to_pylist()
        found = read.column(name).to_pylist()
        assert all(map(same, found, expected)), (name, sql)
        assert by_polars[name].null_count() == sum(value is None for value in found), name
    # A row of texts, so that not a number is what it is.
    texts = ", ".join(f"toString({name})" for name in ALL)
    ours = [str(source.query(f"SELECT sum(cityHash64(tuple(row, {texts}))) FROM {place}", "TSV")) for place in ("source", f"file('{path}')")]
    assert ours[0] == ours[1]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())) or "default")
def test_bounds_are_those_of_the_values(source, tmp_path, settings):
    path = tmp_path / "made.parquet"
    given = ", ".join(f"{name} = {value}" for name, value in settings.items())
    source.query(f"INSERT INTO FUNCTION file('{path}', 'Parquet') SELECT * FROM source ORDER BY row {'SETTINGS ' + given if given else ''}")
    file = pq.ParquetFile(path)
    checked = 0
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group)
        for column in range(file.metadata.num_columns):
            known = file.metadata.row_group(group).column(column)
            name = known.path_in_schema
            values = [value for value in rows.column(name).to_pylist() if value is not None]
            assert known.num_values == rows.num_rows
            if known.statistics is None:
                continue
            assert known.statistics.null_count == rows.num_rows - len(values), name
            numbers = [value for value in values if not (isinstance(value, float) and math.isnan(value))]
            if known.statistics.has_min_max and numbers and not isinstance(numbers[0], dict):
                least, greatest = known.statistics.min, known.statistics.max
                if type(least) is type(numbers[0]):
                    is_text = isinstance(least, (str, bytes))
                    assert least <= min(numbers) and greatest >= max(numbers), name
                    assert is_text and len(min(numbers)) > 64 or least == min(numbers), name
                    assert is_text and len(max(numbers)) > 64 or greatest == max(numbers), name
                    checked += 1
    assert checked >= 20 * file.num_row_groups


def test_long_dictionaries_and_pages_of_nulls_are_pruned_rightly(source, tmp_path):
    path = tmp_path / "made.parquet"
    source.query(
        f"INSERT INTO FUNCTION file('{path}', 'Parquet') SELECT * FROM source ORDER BY row "
        "SETTINGS output_format_parquet_data_page_size = 1000, output_format_parquet_compression_method = 'lz4'"
    )
    for name in ("i32", "u64", "f64", "text", "n_i64", "n_word", "n_money", "n_u32", "day", "never"):
        for row in (3, 7_999, 17_234):
            condition = f"{name} = (SELECT {name} FROM source WHERE row = {row})"
            found = source.query(f"SELECT groupArray(row) FROM (SELECT row FROM file('{path}') WHERE {condition} ORDER BY row)", "TSV")
            expected = source.query(f"SELECT groupArray(row) FROM (SELECT row FROM source WHERE {condition} ORDER BY row)", "TSV")
            assert str(found) == str(expected), condition
