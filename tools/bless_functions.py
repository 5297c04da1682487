"""Fills the answers of crates/functions/tests/golden/*.txt in from the kernel.

Usage: python tools/bless_functions.py [family ...]
"""

import os
import pathlib
import re
import sys

import chdb

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = pathlib.Path(os.environ.get("GOLDEN_FOLDER", ROOT / "crates" / "functions" / "tests" / "golden"))


def answer(connection, expression):
    try:
        sql = f"SELECT toTypeName(({expression})), ({expression})"
        return connection.query(sql, "TabSeparated").bytes().decode("utf-8", "replace").rstrip("\n")
    except Exception as error:
        code = re.search(r"Code: (\d+)", str(error))
        return "!" + (code.group(1) if code else str(error).replace("\n", " "))


def main():
    connection = chdb.connect(":memory:")
    connection.query("SET session_timezone = 'UTC'")
    wanted = sys.argv[1:]
    for path in sorted(FOLDER.glob("*.txt")):
        if wanted and path.stem not in wanted:
            continue
        lines = []
        for line in path.read_text().rstrip("\n").split("\n"):
            expression = line.split("\t")[0].strip()
            lines.append(f"{expression}\t{answer(connection, expression)}" if expression else "")
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
