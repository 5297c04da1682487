#!/usr/bin/env python3
"""Fills fuzz/corpus with what the tests have: their statements for the parser, their data files for the readers.

Where chalet (or chdb) is installed in the Python that runs it, also with files that it writes.
"""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "fuzz" / "corpus"


def write(target, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def statements():
    for path in sorted((ROOT / "tests" / "sql").rglob("*.slt")):
        for record in path.read_text().split("\n\n"):
            lines = [line for line in record.split("\n") if not line.startswith("#")]
            while lines and lines[0].startswith(("onlyif", "skipif")):
                lines.pop(0)
            if lines and lines[0].startswith(("query", "statement")):
                body = "\n".join(lines[1:]).split("\n----")[0]
                yield body.encode()


# Which data files suit a reader's target, by the format part of their suffix.
SUFFIXES = {
    "csv": "csv",
    "jsonl": "json_each_row",
    "jcer": "json_compact_each_row",
    "tsv": "tab_separated",
    "values": "values",
    "native": "native",
    "bin": "row_binary",
    "txt": "line_as_string",
    "tskv": "tskv",
}
# The first byte chooses how a reader's target reads: 7 asks the data for its structure.
CHOICES = (7, 15, 23, 0, 9, 18, 3, 12)
# What an installed engine writes for the targets of formats that are not text.
WRITTEN = {
    "Native": "native",
    "RowBinaryWithNamesAndTypes": "row_binary",
    "Parquet": "parquet",
    "Arrow": "arrow",
    "ArrowStream": "arrow_stream",
    "ORC": "orc",
    "Avro": "avro",
    "MsgPack": "msg_pack",
    "BSONEachRow": "bson_each_row",
    "CustomSeparated": "custom_separated",
    "TabSeparated": "tab_separated",
    "JSONCompactEachRowWithNamesAndTypes": "json_compact_each_row",
    "CSVWithNames": "csv",
    "Values": "values",
}
ROWS = [
    "SELECT number AS c0, toString(number) AS c1 FROM numbers(20)",
    "SELECT toNullable(number) AS c0, number / 3 AS c1, toDate(number) AS c2, toDateTime(number) AS c3 FROM numbers(9)",
    "SELECT [number, 1] AS c0, map('k', number) AS c1, (number, 'x') AS c2 FROM numbers(5)",
    "SELECT toLowCardinality('a') AS c0, toFixedString('ab', 3) AS c1, true AS c2, toInt256(-1) AS c3",
    "SELECT toDecimal128(1.5, 9) AS c0, toUUID('00112233-4455-6677-8899-aabbccddeeff') AS c1, toIPv6('::1') AS c2",
    "SELECT repeat('long text ', 10 + number) AS c0, 1.5 AS c1, [[1], []] AS c2 FROM numbers(300)",
]


def written():
    for name in ("chalet", "chdb"):
        try:
            engine = __import__(name)
        except ImportError:
            continue
        for fmt, target in WRITTEN.items():
            for rows in ROWS:
                yield target, bytes(engine.query(rows, fmt).bytes())
        return


def main():
    for target, data in written():
        for choice in CHOICES:
            write(target, bytes([choice]) + data)
    for path in (ROOT / "tests" / "data").rglob("*"):
        target = SUFFIXES.get(path.suffix[1:])
        if target and path.is_file():
            for choice in CHOICES:
                write(target, bytes([choice]) + path.read_bytes())
    for statement in statements():
        write("parser", statement)
    for path in (ROOT / "crates" / "syntax" / "tests" / "corpus").glob("*.sql"):
        for line in path.read_bytes().split(b"\n"):
            write("parser", line)
    print(f"{sum(1 for _ in CORPUS.rglob('*'))} seeds")


if __name__ == "__main__":
    main()
