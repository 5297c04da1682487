"""Clients of one ClickHouse server beside each other: rows out and in, as tuples, pandas and Arrow, each type alone, many small queries.

    python bench/clients.py                        1 M rows, over Debian's server (tools/clickhouse-server)
    python bench/clients.py --server ours          the same, over `chalet server`
    python bench/clients.py --rows 10000 --rounds 1 --only select
    python bench/clients.py --processor-time       what the clients' process spends, where other programs run too

All clients are in one process and take turns, another one first in each round; a figure is the median of `--rounds` (with
`--processor-time` the best), in milliseconds. Types that the server does not have are left out. The server is a process of its own. A client that is not installed, or cannot do something, has `-` there, and the reason is at the end. What each says (a number of rows and a
sum) is compared in each run.
"""

import argparse
import asyncio
import contextlib
import datetime
import json
import math
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from chalet.lab.contest import Times, take_turns

TOOL = pathlib.Path(__file__).parents[1] / "tools" / "clickhouse-server"
COLUMNS = {
    "u": ("UInt64", "number * 1000003"),
    "s": ("String", "concat('value ', toString(number % 1000))"),
    "f": ("Float64", "number / 7"),
    "t": ("DateTime", "toDateTime('2020-01-01 00:00:00') + number"),
    "n": ("Nullable(Int32)", "if(number % 10 = 0, NULL, toInt32(number % 1000000))"),
    "d": ("Date", "toDate('2020-01-01') + number % 1000"),
}
STRUCTURE = ", ".join(f"{name} {ty}" for name, (ty, _) in COLUMNS.items())
# Each in a table of its own, because an old server does not know some.
ALONE = {
    "Decimal(18, 4)": "toDecimal64(number * 7, 4) / 3",
    "UUID": "generateUUIDv4()",
    "Array(Int64)": "arrayMap(x -> toInt64(x + number), range(number % 5))",
    "Map(String, Int64)": "map('a', toInt64(number), concat('key ', toString(number % 100)), toInt64(1))",
    "LowCardinality(String)": "concat('value ', toString(number % 1000))",
    "LowCardinality(Nullable(String))": "if(number % 10 = 0, NULL, concat('value ', toString(number % 1000)))",
    "Nullable(String)": "if(number % 10 = 0, NULL, concat('value ', toString(number % 1000)))",
    "Nullable(Float64)": "if(number % 10 = 0, NULL, number / 7)",
}
SMALL, POOL = 100, 10


class Place:
    """Where the server is."""

    def __init__(self, tcp, http, user="default", password=""):
        self.tcp, self.http, self.user, self.password = tcp, http, user, password


@contextlib.contextmanager
def served(which):
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in free:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in free]
    with tempfile.TemporaryDirectory() as folder:
        if which == "ours":
            command = [sys.executable, "-m", "chalet", "server", "--tcp", str(ports[0]), "--http", str(ports[1])]
        else:
            subprocess.run([TOOL, "install"], check=True)
            command = [TOOL, "run", folder, *map(str, ports)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 60
            for port in ports:
                while time.monotonic() < until:
                    with contextlib.suppress(OSError):
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    time.sleep(0.1)
            yield Place(*ports)
        finally:
            server.kill()
            server.wait()


class Chalet:
    name = "chalet"

    def __init__(self, place):
        import chalet

        self.db = chalet.connect(f"clickhouse://{place.user}@127.0.0.1:{place.tcp}/?compression=none")

    def run(self, sql):
        self.db.query(sql)

    def tuples(self, sql):
        return self.db.execute(sql).fetchall()

    def pandas(self, sql):
        return self.db.query(sql, "DataFrame")

    def arrow(self, sql):
        return self.db.query(sql, "ArrowTable")

    def insert_tuples(self, table, rows):
        self.db.executemany(f"INSERT INTO {table} VALUES", rows)

    def insert_pandas(self, table, frame):
        self.db.insert_rows(f"INSERT INTO {table} VALUES", frame)

    insert_arrow = insert_pandas


class ChaletStream(Chalet):
    """The same with the bytes of a stream of Arrow, whose types are cast here to those of the table."""

    name = "chalet send_insert"

    def insert_arrow(self, table, arrow):
        import pyarrow

        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, arrow.schema) as stream:
            stream.write_table(arrow)
        with self.db.send_insert(f"INSERT INTO {table}", "ArrowStream") as insert:
            insert.append(sink.getvalue().to_pybytes())
            insert.finish()

    tuples = pandas = arrow = insert_tuples = insert_pandas = property()


class ChaletSent(Chalet):
    """The same with frames as external tables."""

    name = "chalet INSERT SELECT"

    def insert_pandas(self, table, frame):
        self.db.query(f"INSERT INTO {table} SELECT * FROM frame", tables={"frame": frame})

    insert_arrow = insert_pandas
    tuples = pandas = arrow = insert_tuples = small = property()

    async def small(self, sqls, place):
        import chalet.aio

        url = f"clickhouse://{place.user}@127.0.0.1:{place.tcp}/?compression=none&pool_size={POOL}"
        async with await chalet.aio.connect(url) as db:
            return await asyncio.gather(*(_value(db.query(sql, None)) for sql in sqls))


async def _value(answer):
    return (await answer).fetchone()[0]


class ChaletDriver:
    name = "chalet.clickhouse_driver"
    module = "chalet.clickhouse_driver"

    def __init__(self, place):
        import importlib

        self.client = importlib.import_module(self.module).Client("127.0.0.1", place.tcp, user=place.user, password=place.password)

    def run(self, sql):
        self.client.execute(sql)

    def tuples(self, sql):
        return self.client.execute(sql)

    def pandas(self, sql):
        return self.client.query_dataframe(sql)

    def arrow(self, sql):
        return self.client.query_arrow(sql)

    def insert_tuples(self, table, rows):
        self.client.execute(f"INSERT INTO {table} VALUES", rows)


    def insert_pandas(self, table, frame):
        self.client.insert_dataframe(f"INSERT INTO {table} VALUES", frame)


class Driver(ChaletDriver):
    name = "clickhouse-driver"
    module = "clickhouse_driver"

    def insert_pandas(self, table, frame):
        # It takes frames through numpy alone.
        self.client.client_settings["use_numpy"] = True
        try:
            super().insert_pandas(table, frame)
        finally:
            self.client.client_settings["use_numpy"] = False


class Connect:
    name = "clickhouse-connect"

    def __init__(self, place):
        import clickhouse_connect

        self.client = clickhouse_connect.get_client(
            host="127.0.0.1", port=place.http, username=place.user, password=place.password, compress=False
        )

    def tuples(self, sql):
        return self.client.query(sql).result_rows

    def pandas(self, sql):
        return self.client.query_df(sql)

    def arrow(self, sql):
        return self.client.query_arrow(sql)

    def insert_tuples(self, table, rows):
        self.client.insert(table, rows)

    def insert_pandas(self, table, frame):
        self.client.insert_df(table, frame)

    def insert_arrow(self, table, arrow):
        self.client.insert_arrow(table, arrow)


class ConnectRust(Connect):
    """The same with the codec that `clickhouse-connect[rust]` brings."""

    name = "connect[rust]"

    def __init__(self, place):
        import clickhouse_connect

        self.client = clickhouse_connect.get_client(
            host="127.0.0.1", port=place.http, username=place.user, password=place.password, compress=False, native_codec="rust_strict"
        )


class Asynch:
    name = "asynch"

    def __init__(self, place):
        import asynch  # noqa: F401 - is it there?

        self.place = place

    def _connection(self):
        from asynch.connection import Connection

        return Connection(host="127.0.0.1", port=self.place.tcp, user=self.place.user, password=self.place.password)

    def tuples(self, sql):
        async def main():
            async with self._connection() as connection, connection.cursor() as cursor:
                await cursor.execute(sql)
                return await cursor.fetchall()

        return asyncio.run(main())

    def insert_tuples(self, table, rows):
        async def main():
            async with self._connection() as connection, connection.cursor() as cursor:
                await cursor.execute(f"INSERT INTO {table} VALUES", rows)

        asyncio.run(main())

    async def small(self, sqls, place):
        from asynch.pool import Pool

        async def one(pool, sql):
            async with pool.connection() as connection, connection.cursor() as cursor:
                await cursor.execute(sql)
                return (await cursor.fetchone())[0]

        pool = Pool(minsize=POOL, maxsize=POOL, host="127.0.0.1", port=place.tcp, user=place.user, password=place.password)
        async with pool:
            return await asyncio.gather(*(one(pool, sql) for sql in sqls))


class ChaletHttp:
    name = "chalet.aiochclient"

    def __init__(self, place):
        import chalet.aiochclient  # noqa: F401 - is it there?

        self.place = place

    def _client(self, stack):
        from chalet.aiochclient import ChClient

        return ChClient(url=f"http://127.0.0.1:{self.place.http}/?pool_size={POOL}", user=self.place.user)

    async def _with(self, program):
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client(stack))
            return await program(client)

    def tuples(self, sql):
        async def program(client):
            return [row[:] for row in await client.fetch(sql)]

        return asyncio.run(self._with(program))

    def insert_tuples(self, table, rows):
        asyncio.run(self._with(lambda client: client.execute(f"INSERT INTO {table} VALUES", *rows)))

    async def small(self, sqls, place):
        return await self._with(lambda client: asyncio.gather(*(client.fetchval(sql) for sql in sqls)))


class Aiochclient(ChaletHttp):
    name = "aiochclient"

    def __init__(self, place):
        import aiochclient  # noqa: F401 - is it there?
        import aiohttp  # noqa: F401

        self.place = place

    def _client(self, stack):
        import aiochclient
        import aiohttp

        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=POOL))
        return aiochclient.ChClient(session, url=f"http://127.0.0.1:{self.place.http}/", user=self.place.user)


CLIENTS = [Chalet, ChaletStream, ChaletSent, ChaletDriver, Driver, Connect, ConnectRust, Asynch, ChaletHttp, Aiochclient]


def tasks(rows, arguments, place, admin):
    """Names, and what to call with a client: it returns what is compared."""
    whole = f"SELECT {', '.join(COLUMNS)} FROM bench_clients"
    table = "bench_clients_into"

    def select(how, sql):
        def run(client):
            found = getattr(client, how)(sql)
            return found.num_rows if how == "arrow" else len(found)

        return run

    def insert(how, data):
        def run(client):
            getattr(client, how)(table, data)

        return run

    for how in ("tuples", "pandas", "arrow"):
        yield f"select {how}", select(how, whole), None
    for name, (ty, _) in COLUMNS.items():
        yield f"select {ty} tuples", select("tuples", f"SELECT {name} FROM bench_clients"), None
    for number, ty in enumerate(ALONE):
        if made_alone(admin, number, ty, arguments.rows):
            yield f"select {ty} tuples", select("tuples", f"SELECT v FROM bench_clients_{number}"), None
    written = lambda: admin.tuples(f"SELECT count(), sum(u) FROM {table}")[0]  # noqa: E731
    given = [tuple(row) for row in rows]
    yield "insert tuples", insert("insert_tuples", given), written
    with contextlib.suppress(ImportError):
        import pandas
        import pyarrow

        columns = dict(zip(COLUMNS, zip(*given)))
        types = [pyarrow.uint64(), pyarrow.string(), pyarrow.float64(), pyarrow.timestamp("s"), pyarrow.int32(), pyarrow.date32()]
        arrow = pyarrow.table({name: pyarrow.array(columns[name], ty) for name, ty in zip(COLUMNS, types)})
        frame = pandas.DataFrame({name: list(columns[name]) for name in COLUMNS})
        frame["n"] = frame["n"].astype("Int32")
        yield "insert pandas", insert("insert_pandas", frame), written
        yield "insert arrow", insert("insert_arrow", arrow), written
    small = [f"SELECT {n}" for n in range(SMALL)]
    yield f"{SMALL} small queries", lambda client: sum(asyncio.run(client.small(small, place))), None


def made_alone(admin, number, ty, rows):
    """Whether the server has the type: its table is there now."""
    table = f"bench_clients_{number}"
    with contextlib.suppress(Exception):
        # Newer servers have LowCardinality without it.
        admin.run("SET allow_experimental_low_cardinality_type = 1")
    try:
        admin.run(f"CREATE TABLE {table} (v {ty}) ENGINE = Memory")
        admin.run(f"INSERT INTO {table} SELECT CAST({ALONE[ty]} AS {ty}) FROM (SELECT number FROM system.numbers LIMIT {rows})")
    except Exception:
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", choices=("real", "ours"), default="real")
    parser.add_argument("--only", default="", help="tasks whose names have this in them")
    parser.add_argument("--processor-time", action="store_true", help="of the clients' process, the best of all rounds")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    arguments = parser.parse_args()
    with served(arguments.server) as place:
        return measure(arguments, place)


def measure(arguments, place):
    clock = time.process_time if arguments.processor_time else time.perf_counter
    clients, reasons, times, answers, wrong = [], {}, {}, {}, []
    for kind in CLIENTS:
        try:
            clients.append(kind(place))
        except Exception as error:
            reasons[kind.name] = f"{type(error).__name__}: {str(error)[:150]}"
    admin = clients[0]
    admin.run("DROP TABLE IF EXISTS bench_clients")
    admin.run(f"CREATE TABLE bench_clients ({STRUCTURE}) ENGINE = Memory")
    made = ", ".join(expression for _, expression in COLUMNS.values())
    admin.run(f"INSERT INTO bench_clients SELECT {made} FROM (SELECT number FROM system.numbers LIMIT {arguments.rows})")
    rows = admin.tuples(f"SELECT {', '.join(COLUMNS)} FROM bench_clients")
    assert isinstance(rows[0][3], datetime.datetime)
    print(" " * WIDTH, *(f"{client.name[-18:]:>18}" for client in clients), flush=True)
    for task, run, check in tasks(rows, arguments, place, admin):
        if arguments.only not in task:
            continue
        able = {client.name: client for client in clients}
        of_task = times[task] = {name: Times() for name in able}

        def ask(name):
            if check is not None:
                admin.run("DROP TABLE IF EXISTS bench_clients_into")
                admin.run(f"CREATE TABLE bench_clients_into ({STRUCTURE}) ENGINE = Memory")
            try:
                began = clock()
                answer = run(able[name])
                seconds = clock() - began
            except AttributeError:
                return {"error": "there is no such method"}
            except Exception as error:
                return {"error": f"{type(error).__name__}: {str(error)[:150]}"}
            answer = answer if check is None else check()
            expected = answers.setdefault(task, answer)
            if answer != expected:
                wrong.append(f"{task}: {name} has {answer}, not {expected}")
            return {"seconds": seconds}

        take_turns(of_task, ask, arguments.rounds)
        line(clients, task, of_task, "best" if arguments.processor_time else "median")
    for name, reason in reasons.items():
        print(f"- {name}: {reason}")
    for task, of_task in times.items():
        for name, one in of_task.items():
            if one.error:
                print(f"- {task}, {name}: {one.error}")
    print(*wrong, sep="\n")
    if arguments.json is not None:
        found = [[task, name, one.seconds] for task, of_task in times.items() for name, one in of_task.items() if one.seconds]
        arguments.json.write_text(json.dumps(found))
    return int(bool(wrong))


WIDTH = 40


def line(clients, task, of_task, figure):
    """As soon as it is known: all of them take a while."""
    found = [getattr(of_task[client.name], figure) * 1000 for client in clients]
    print(f"{task:{WIDTH}}", *(f"{one:18.2f}" if math.isfinite(one) else f"{'-':>18}" for one in found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
