#!/usr/bin/env python3
"""Makes the data of TPC-H or TPC-DS as Parquet, a file a table, and their queries, for tpc.py.

  tpc_data.py h|ds SCALE FOLDER

Needs an environment of its own: `pip install tpchgen-cli duckdb-extension-tpch duckdb-extension-tpcds`, which bring the
version of duckdb that they were built for. TPC-H comes from tpchgen-cli, TPC-DS from duckdb's dsdgen; the queries of both are
those of duckdb's extensions, so that none of their text is kept here.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path


def connected(suite: str):
    """duckdb with the extension that its package brings."""
    import duckdb

    package = Path(duckdb.__file__).parents[1] / f"duckdb_extension_tpc{suite}"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{next(package.rglob('*.duckdb_extension'))}'")
    return connection


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["h", "ds"])
    parser.add_argument("scale", type=float)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    connection = connected(options.suite)
    queries = connection.execute(f"SELECT query_nr, query FROM tpc{options.suite}_queries() ORDER BY query_nr").fetchall()
    (options.folder / "queries.json").write_text(json.dumps({str(number): sql for number, sql in queries}, indent=1))
    if options.suite == "h":
        program = Path(sys.executable).with_name("tpchgen-cli")
        scale = f"{options.scale:g}"
        return subprocess.run([program, "parquet", "--scale-factor", scale, "--output-dir", options.folder]).returncode
    connection.execute(f"CALL dsdgen(sf = {options.scale:g})")
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {table} TO '{options.folder}/{table}.parquet' (FORMAT parquet)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
