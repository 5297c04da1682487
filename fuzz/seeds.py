#!/usr/bin/env python3
"""Fills fuzz/corpus with what the tests have: their statements for the parser, their data files for the readers."""

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


def main():
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
