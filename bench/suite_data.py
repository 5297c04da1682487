#!/usr/bin/env python3
"""Makes the data of a suite as Parquet, a file a table, and its queries as queries.json, for suite.py.

  suite_data.py tpch|tpcds|joins|sorts|movies SCALE FOLDER

TPC-H and TPC-DS need an environment of their own: `pip install tpchgen-cli duckdb-extension-tpch duckdb-extension-tpcds`, which
bring the version of duckdb that they were built for. TPC-H comes from tpchgen-cli, TPC-DS from duckdb's dsdgen; the queries of
both are those of duckdb's extensions, so that none of their text is kept here. Joins and sorts are made by duckdb; SCALE 1 of
them is 10 million rows. Movies (movies.py) have the shape of the Join Order Benchmark; SCALE 1 of them is 5 million rows.
"""

import argparse
import json
import subprocess
import sys
import threading
from pathlib import Path


def connected(suite: str):
    """duckdb with the extension that its package brings."""
    import duckdb

    package = Path(duckdb.__file__).parents[1] / f"duckdb_extension_{suite}"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{next(package.rglob('*.duckdb_extension'))}'")
    return connection


# One-to-one modulo 2^32, so that rows are shuffled.
SHUFFLED = "((range * 2654435761) % 4294967296)"


def random_key(number: str) -> str:
    """A number as a key that lies close to no other."""
    return f"CAST(hash({number}) // 2 AS BIGINT)"


# Tables by their columns, over `range(rows)`; `rows` of scale 1.
JOIN_TABLES = {
    "probe": (
        10_000_000,
        f"{SHUFFLED} % 1000000 AS k, {SHUFFLED} % 10000000 AS l, 'key ' || ({SHUFFLED} % 1000000) AS s, "
        f"CASE WHEN range % 10 < 8 THEN 7 ELSE {SHUFFLED} % 1000000 END AS skewed, {SHUFFLED} % 3000000 AS sparse, "
        f"{SHUFFLED} % 1000 AS g, range AS t, range % 1000 AS v",
    ),
    "small": (1_000_000, f"{SHUFFLED} % 1000000 AS k, 'key ' || range AS s, range AS id, range % 1000 AS g, range % 77 AS w"),
    "large": (10_000_000, f"{SHUFFLED} % 10000000 AS l, range % 1000 AS g, range AS t, range % 77 AS w"),
    "random_probe": (
        10_000_000,
        f"{random_key(SHUFFLED + ' % 1000000')} AS k, {random_key(SHUFFLED + ' % 10000000')} AS l, "
        f"{random_key(f'CASE WHEN range % 10 < 8 THEN 7 ELSE {SHUFFLED} % 1000000 END')} AS skewed, range % 1000 AS v",
    ),
    "random_small": (1_000_000, f"{random_key('range')} AS k, range % 77 AS w"),
    "random_large": (10_000_000, f"{random_key(SHUFFLED + ' % 3000000')} AS l, {random_key(SHUFFLED + ' % 10000000')} AS u, range % 77 AS w"),
    "many": (10_000, "range % 1000 AS g, range % 77 AS w"),
    "bounds": (1_000, "range * 10000 AS low, range * 10000 + 50 AS high, range AS b"),
}
JOINS = {
    "10M x 1M": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN small AS q ON p.k = q.id",
    "10M x 10M": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN large AS q ON p.l = q.l",
    "random 10M x 1M": "SELECT count(*), sum(p.v), sum(q.w) FROM random_probe AS p JOIN random_small AS q ON p.k = q.k",
    "random skewed": "SELECT count(*), sum(p.v), sum(q.w) FROM random_probe AS p JOIN random_small AS q ON p.skewed = q.k",
    "random 10M x 10M": "SELECT count(*), sum(p.v), sum(q.w) FROM random_probe AS p JOIN random_large AS q ON p.l = q.u",
    "several rows a key": "SELECT count(*), sum(p.v), sum(q.w) FROM random_probe AS p JOIN random_large AS q ON p.l = q.l",
    "strings": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN small AS q ON p.s = q.s",
    "two keys": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN small AS q ON p.k = q.id AND p.g = q.g",
    "skewed": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN small AS q ON p.skewed = q.id",
    "asof": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p ASOF JOIN large AS q ON p.g = q.g AND p.t >= q.t",
    "range": "SELECT count(*), sum(p.v), sum(q.b) FROM probe AS p JOIN bounds AS q ON p.t >= q.low AND p.t < q.high",
    "semi": "SELECT count(*), sum(p.v) FROM probe AS p WHERE EXISTS (SELECT 1 FROM small AS q WHERE q.id = p.sparse)",
    "anti": "SELECT count(*), sum(p.v) FROM probe AS p WHERE NOT EXISTS (SELECT 1 FROM small AS q WHERE q.id = p.sparse)",
    "many to many": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p JOIN many AS q ON p.g = q.g",
    "full": "SELECT count(*), sum(p.v), sum(q.w) FROM probe AS p FULL JOIN small AS q ON p.sparse = q.id",
}
SORT_TABLES = {
    "t": (
        10_000_000,
        f"{SHUFFLED} AS a, CAST({SHUFFLED} % 1000003 AS INTEGER) AS b, {SHUFFLED} % 1000000 AS k, {SHUFFLED} % 101 AS g, "
        f"'text ' || ({SHUFFLED} % 500000) AS s",
    ),
}
SORTS = {
    "one key": "SELECT max(b) FROM (SELECT a, b FROM t ORDER BY b, a OFFSET 5) AS x",
    "three keys": "SELECT max(a) FROM (SELECT a, b, s FROM t ORDER BY k, s, a OFFSET 5) AS x",
    "row_number": "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY a) AS r FROM t) AS x",
    "rank": "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY g ORDER BY b) AS r FROM t) AS x",
    "lag": "SELECT sum(r) FROM (SELECT lag(a) OVER (PARTITION BY g ORDER BY a) AS r FROM t) AS x",
    "running sum": "SELECT max(r) FROM (SELECT sum(b) OVER (PARTITION BY k ORDER BY a) AS r FROM t) AS x",
    "no partition": "SELECT max(r) FROM (SELECT sum(b) OVER (ORDER BY a) AS r FROM t) AS x",
}


def write_tables(tables: dict[str, tuple[int, str]], queries: dict[str, str], scale: float, folder: Path) -> int:
    import duckdb

    (folder / "queries.json").write_text(json.dumps(queries, indent=1))
    connection = duckdb.connect()
    for name, (rows, columns) in tables.items():
        select = f"SELECT {columns} FROM range({round(rows * scale)})"
        connection.execute(f"COPY ({select}) TO '{folder}/{name}.parquet' (FORMAT parquet)")
    return 0


# A query that duckdb needs longer for says nothing of the order of joins, in seconds.
LONGEST_MOVIES = 3.0


def write_movies(scale: float, folder: Path) -> int:
    import duckdb
    import movies

    movies.write(scale, folder)
    connection = duckdb.connect()
    for path in folder.glob("*.parquet"):
        connection.execute(f"CREATE TABLE {path.stem} AS SELECT * FROM '{path}'")

    def is_good(sql: str) -> bool:
        timer = threading.Timer(LONGEST_MOVIES, connection.interrupt)
        timer.start()
        try:
            row = connection.execute(sql).fetchone()
        except duckdb.InterruptException:
            return False
        finally:
            timer.cancel()
        return row is not None and row[0] > 0

    (folder / "queries.json").write_text(json.dumps(movies.queries(is_good), indent=1))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["tpch", "tpcds", "joins", "sorts", "movies"])
    parser.add_argument("scale", type=float)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    if options.suite == "joins":
        return write_tables(JOIN_TABLES, JOINS, options.scale, options.folder)
    if options.suite == "sorts":
        return write_tables(SORT_TABLES, SORTS, options.scale, options.folder)
    if options.suite == "movies":
        return write_movies(options.scale, options.folder)
    connection = connected(options.suite)
    queries = connection.execute(f"SELECT query_nr, query FROM {options.suite}_queries() ORDER BY query_nr").fetchall()
    (options.folder / "queries.json").write_text(json.dumps({str(number): sql for number, sql in queries}, indent=1))
    if options.suite == "tpch":
        program = Path(sys.executable).with_name("tpchgen-cli")
        scale = f"{options.scale:g}"
        return subprocess.run([program, "parquet", "--scale-factor", scale, "--output-dir", options.folder]).returncode
    connection.execute(f"CALL dsdgen(sf = {options.scale:g})")
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {table} TO '{options.folder}/{table}.parquet' (FORMAT parquet)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
