"""What the data of tables suggest: dictionaries, sorting keys, codecs. For `scan`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# Strings of so few different values are a dictionary.
FEW_VALUES = 10_000
MANY_ROWS = 100_000
# Rows that are looked at.
SAMPLE = 1_000_000
NUMBERS = ("Int16", "Int32", "Int64", "UInt16", "UInt32", "UInt64", "Date", "Date32", "DateTime")
# Columns that take less of the disk are not worth a codec.
LARGE_BYTES = 10_000_000


def of_tables(connection: Any) -> Iterator[tuple[str, str]]:
    """Column and evidence."""
    columns = connection.query(
        "SELECT database, table, name, type, compression_codec, data_compressed_bytes, data_uncompressed_bytes, is_in_sorting_key "
        "FROM system.columns WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA') "
        "AND default_kind NOT IN ('ALIAS', 'EPHEMERAL') ORDER BY database, table, position",
        "TSVRaw",
    )
    for line in str(columns).splitlines():
        database, table, name, ty, codec, compressed, plain, in_key = line.split("\t")
        column = f"{database}.{table}.{name}"
        try:
            yield from _of_column(connection, column, (database, table, name), ty, in_key == "1")
        except Exception:
            # A view whose tables are gone, a table of another server: no data to look at.
            continue
        if int(compressed) >= LARGE_BYTES and int(plain) < 2 * int(compressed) and not codec:
            evidence = f"{int(compressed) / 1e6:.0f} MB on disk are {int(plain) / int(compressed):.1f} times smaller than in memory"
            yield f"{column}, a codec", f"{evidence}: CODEC(ZSTD) may be smaller, at the price of time"


def _of_column(connection: Any, column: str, name: tuple[str, str, str], ty: str, in_key: bool) -> Iterator[tuple[str, str]]:
    table = f"`{name[0]}`.`{name[1]}`"
    sample = f"(SELECT `{name[2]}` AS x FROM {table} LIMIT {SAMPLE})"
    if ty == "String":
        rows, values = map(int, str(connection.query(f"SELECT count(), uniq(x) FROM {sample}", "TSVRaw")).split())
        if rows > MANY_ROWS and values < FEW_VALUES:
            evidence = f"{values:,} different values in {rows:,} rows: LowCardinality(String) may be smaller and faster"
            yield column, evidence
    elif ty in NUMBERS and not in_key:
        # Rows that come in the order of a column: a key would cost nothing, and prune.
        falls = f"SELECT count(), countIf(d < 0) FROM (SELECT runningDifference(toInt64(x)) AS d FROM {sample}) SETTINGS max_threads = 1"
        rows, falling = map(int, str(connection.query(falls, "TSVRaw")).split())
        if rows > MANY_ROWS and falling * 1000 < rows:
            evidence = f"{rows - falling:,} of {rows:,} rows come in its order: as the sorting key it would prune, and pack better"
            yield f"{column}, a sorting key", evidence
