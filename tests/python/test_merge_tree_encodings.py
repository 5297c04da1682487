"""How columns of tables are encoded on disk: whichever way is chosen, values come back, and pyarrow reads the same."""

import pathlib

import pyarrow.parquet
import pytest

import chalet

N = 100_000
# Name, type, expression of `number`, and the encoding that fits.
COLUMNS = [
    ("sorted", "UInt64", "number", "DELTA_BINARY_PACKED"),
    ("near", "Int64", "1700000000000 + cityHash64(number) % 86400", "DELTA_BINARY_PACKED"),
    ("small", "UInt32", "4000000000 + cityHash64(number) % 100000", "DELTA_BINARY_PACKED"),
    ("negative", "Int32", "toInt32(number * 7919 % 131071) - 65535", "DELTA_BINARY_PACKED"),
    ("nullable", "Nullable(UInt32)", "if(number % 7 = 0, NULL, number * 3)", "DELTA_BINARY_PACKED"),
    ("time", "DateTime('UTC')", "toDateTime(1700000000 + number * 11 % 86400, 'UTC')", "DELTA_BINARY_PACKED"),
    ("noise", "UInt64", "cityHash64(number)", "PLAIN"),
    ("extreme", "Int64", "if(number % 2 = 0, -9223372036854775808, 9223372036854775807) + number % 2 * -(number % 5000)", None),
    ("runs", "UInt64", "cityHash64(intDiv(number, 64))", None),
    ("few", "UInt32", "number % 10", "RLE_DICTIONARY"),
    ("text", "String", "toString(cityHash64(number))", None),
    ("hexadecimal", "String", "hex(cityHash64(number))", "DELTA_LENGTH_BYTE_ARRAY"),
    ("names", "String", "'name ' || leftPad(toString(number), 9, '0')", "DELTA_BYTE_ARRAY"),
    ("maybe", "Nullable(String)", "if(number % 3 = 0, NULL, 'name ' || leftPad(toString(number), 9, '0'))", "DELTA_BYTE_ARRAY"),
    ("seconds", "DateTime64(6, 'UTC')", "toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + toIntervalSecond(intDiv(number, 4))", "DELTA_BINARY_PACKED"),
    ("prices", "Float64", "(cityHash64(number) % 5000) / 100", "RLE_DICTIONARY"),
    ("places", "Float64", "40.5 + (cityHash64(number) % 1000000007) / 1e10", "BYTE_STREAM_SPLIT"),
    ("wide", "Decimal(38, 3)", "toDecimal128(cityHash64(number) % 1000000007, 3)", "BYTE_STREAM_SPLIT"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encodings") / "db"
    with chalet.connect(str(folder)) as db:
        columns = ", ".join(f"{name} {kind}" for name, kind, _, _ in COLUMNS)
        values = ", ".join(f"CAST({value} AS {kind})" for _, kind, value, _ in COLUMNS)
        db.query(f"CREATE TABLE t (i UInt64, {columns}) ENGINE = MergeTree ORDER BY i")
        before = deltas(db)
        db.query(f"INSERT INTO t SELECT number, {values} FROM numbers({N})")
        # The mechanism ran.
        assert deltas(db) >= before + 7
        yield db, folder


def deltas(db):
    return int(str(db.query("SELECT sum(value) FROM system.events WHERE event = 'ParquetDeltaEncodedColumns'", "TSV")))


@pytest.mark.parametrize("name, kind, value, encoding", COLUMNS)
def test_values_come_back(table, name, kind, value, encoding):
    db, folder = table
    wrong = f"SELECT count() FROM t WHERE NOT ({name} <=> CAST({value.replace('number', 'i')} AS {kind}))"
    assert str(db.query(wrong, "TSV")).strip() == "0"
    # A part of the rows: what is passed by is passed by right.
    some = f"SELECT count(), countIf({name} <=> CAST({value.replace('number', 'i')} AS {kind})) FROM t WHERE i % 977 = 5 AND i > 20000"
    assert len(set(str(db.query(some, "TSV")).split())) == 1
    [file] = pathlib.Path(folder).glob("tables/*/*.parquet")
    metadata = pyarrow.parquet.ParquetFile(file).metadata
    position = [column for column in range(metadata.num_columns) if metadata.schema.column(column).path == name][0]
    encodings = metadata.row_group(0).column(position).encodings
    if encoding:
        assert encoding in encodings
    read = pyarrow.parquet.read_table(file, columns=[name]).column(0)
    nulls = str(db.query(f"SELECT countIf({name} IS NULL) FROM t", "TSV")).strip()
    assert (len(read), str(read.null_count)) == (N, nulls)
    if kind in ("UInt64", "Int64", "UInt32", "Int32"):
        total = str(db.query(f"SELECT sum(toInt256({name})) FROM t", "TSV")).strip()
        assert str(sum(read.to_pylist())) == total
