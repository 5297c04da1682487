"""TPC-H over tables that are divided among three servers (Debian's 18.16): answers beside those over one engine, and bytes beside
those that ClickHouse's own `remote()` sends where that version runs the query.

    python bench/shards_tpch.py FOLDER             LINEITEM.parquet and the others, and queries.json: {"1": "SELECT ...", ...}

Of orders and their lines a part is taken (`--orders`, keys up to this one); the other tables are whole. Lines and orders are divided by order, so that lines
stand beside their orders; the others by their first column, nation and region too.
"""

import argparse
import contextlib
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import time

import chalet

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "python"))
import clickhouse  # noqa: E402

# Its neighbour, whose name a module of the tests has too.
_spec = importlib.util.spec_from_file_location("bench_shards", pathlib.Path(__file__).with_name("shards.py"))
bench_shards = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench_shards)
Counted, rows_of, sent = bench_shards.Counted, bench_shards.rows_of, bench_shards.sent

TABLES = ("lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation", "region")
NAMES = re.compile(rf"(?<![Aa][Ss]\s)(?<=[\s,(])({'|'.join(TABLES)})(?=\s*(?:,|\n|\)|;|$|\s(?:AS\s)?\w))")
# What stands behind a FROM, up to the next part of the query.
TABLES_OF = re.compile(r"\bFROM\s(?:(?!\b(?:SELECT|FROM|WHERE|GROUP|ORDER)\b).)*", re.DOTALL)
WORDS = {"where", "group", "order", "left", "on", "inner", "join"}


def over(sql, hosts):
    """The query with `remote()` in the place of each table."""

    def table(found):
        rest = found.string[found.end() :].lstrip()
        word = "" if not rest or rest[0] in ",);" else rest.split()[0].strip(",();").lower()
        is_named = word and word not in WORDS
        return f"remote('{hosts}', default.{found[1]})" + ("" if is_named else f" AS {found[1]}")

    return TABLES_OF.sub(lambda part: NAMES.sub(table, part[0]), sql.rstrip().rstrip(";"))


def load(db, folder, orders, ports):
    """Tables here, and their parts there."""
    for table in TABLES:
        source = f"file('{folder / table}.parquet')"
        limit = {"lineitem": f" WHERE l_orderkey <= {orders}", "orders": f" WHERE o_orderkey <= {orders}"}.get(table, "")
        described = db.query(f"DESCRIBE TABLE {source}").fetchall()
        plain = [(name, ty.removeprefix("Nullable(").removesuffix(")") if ty.startswith("Nullable(") else ty) for name, ty, *_ in described]
        # The old server has no Date32.
        plain = [(name, "Date" if ty == "Date32" else ty) for name, ty in plain]
        columns = ", ".join(f"{name} {ty}" for name, ty in plain)
        select = ", ".join(f"CAST({name} AS {ty}) AS {name}" for name, ty in plain)
        db.query(f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY {plain[0][0]} AS SELECT {select} FROM {source}{limit}")
        for n, port in enumerate(ports):
            with chalet.connect(f"clickhouse://127.0.0.1:{port}") as there:
                there.query(f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY {plain[0][0]}")
            rows = f"SELECT * FROM {table} WHERE {plain[0][0]} % {len(ports)} = {n}"
            db.query(f"INSERT INTO FUNCTION remote('127.0.0.1:{port}', default.{table}) {rows}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--orders", type=int, default=600_000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    queries = json.loads((arguments.folder / "queries.json").read_text())
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = pathlib.Path(folder)
        ports = [stack.enter_context(clickhouse.started(place / str(n))) for n in range(4)]
        relays = [Counted(port) for port in ports[:3]]
        db = stack.enter_context(chalet.connect(":memory:"))
        load(db, arguments.folder, arguments.orders, ports[:3])
        distributed = stack.enter_context(chalet.connect(f"clickhouse://127.0.0.1:{ports[3]}"))
        hosts = ",".join(f"127.0.0.1:{relay.port}" for relay in relays)
        wrong, worst = [], 0.0
        print(f"{'query':>5} {'rows':>7} {'answer':>8} {'ours':>12} {'ClickHouse':>12} {'ratio':>6} {'ms here':>8} {'ms over':>8}")
        for name, sql in queries.items():
            if arguments.only and name not in arguments.only.split(","):
                continue
            start = time.perf_counter()
            whole = rows_of(db.query(sql.rstrip().rstrip(";"), "TSV").data())
            here = time.perf_counter() - start
            start = time.perf_counter()
            answer, ours = sent(relays, lambda: db.query(over(sql, hosts), "TSV").data())
            there = time.perf_counter() - start - 0.1
            answer = rows_of(answer)
            try:
                theirs, figure = sent(relays, lambda: distributed.query(over(sql, hosts), "TSV").data())
                ratio = ours / figure
                worst = max(worst, ratio)
                beside = f"{figure:12,} {ratio:6.2f}"
                if rows_of(theirs) != whole:
                    beside += " (another answer)"
            except Exception as error:  # noqa: BLE001 - what the old server does not know
                beside = f"{'-':>12} {'-':>6}"
                if arguments.only:
                    print(error)
            if answer != whole:
                wrong.append(name)
            same = "same" if answer == whole else "DIFFERS"
            print(f"{name:>5} {len(whole):7,} {same:>8} {ours:12,} {beside} {here * 1e3:8.0f} {there * 1e3:8.0f}", flush=True)
    print(f"worst ratio {worst:.2f}; other answers: {', '.join(wrong) or 'none'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
