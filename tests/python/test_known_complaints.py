"""What users of other clients have suffered from for years, and do not here: zones, new types, sessions that are locked, sockets that died while
nobody looked, Arrow from anywhere, programs that know whether a server is there."""

import asyncio
import contextlib
import datetime
import os
import socket
import subprocess
import sys
import threading
import textwrap
import time
import uuid

import proxy
import pytest
import shards
import test_http_damage as http_damage

import chalet
import chalet.aio


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        yield server


@pytest.fixture(params=["memory", "clickhouse", "http"])
def url(request, server):
    return {
        "memory": ":memory:",
        "clickhouse": f"clickhouse://127.0.0.1:{server.tcp_port}",
        "http": f"http://127.0.0.1:{server.http_port}",
    }[request.param]


ZONES = """
    import asyncio, datetime, sys, zoneinfo
    import chalet, chalet.aio

    url = sys.argv[1]
    naive = datetime.datetime(2024, 1, 2, 3, 4, 5)
    aware = datetime.datetime(2024, 1, 2, 12, 0, tzinfo=zoneinfo.ZoneInfo("Asia/Tokyo"))
    sql = ("SELECT toDateTime('2024-01-02 03:04:05', 'UTC'), toDateTime64('2024-07-02 03:04:05.5', 1, 'America/New_York'), "
           "toDateTime('2024-01-02 03:04:05', 'Asia/Tokyo'), toDate('2024-01-02')")

    def check(row):
        utc, york, tokyo, day = row
        assert utc == naive.replace(tzinfo=datetime.timezone.utc) and utc.utcoffset() == datetime.timedelta(0), utc
        assert york.utcoffset() == datetime.timedelta(hours=-4) and york.replace(tzinfo=None) == datetime.datetime(2024, 7, 2, 3, 4, 5, 500000), york
        assert tokyo.utcoffset() == datetime.timedelta(hours=9) and tokyo.replace(tzinfo=None) == naive, tokyo
        assert day == datetime.date(2024, 1, 2)

    params = {"n": naive, "a": aware, "l": [naive]}
    asked = "SELECT toString({n:DateTime('UTC')}), toString({n:DateTime('America/New_York')}), toString({a:DateTime('UTC')}), toString({l:Array(DateTime('UTC'))}[1])"
    said = ("2024-01-02 03:04:05", "2024-01-02 03:04:05", "2024-01-02 03:00:00", "2024-01-02 03:04:05")
    with chalet.connect(url) as db:
        check(db.execute(sql).fetchone())
        assert db.execute(asked, params).fetchone() == said, db.execute(asked, params).fetchone()
        db.query("DROP TABLE IF EXISTS moments")
        db.query("CREATE TABLE moments (t DateTime('America/New_York'), u DateTime64(3, 'UTC')) ENGINE = Memory")
        db.insert_rows("INSERT INTO moments VALUES", [(naive, naive), (aware, aware)])
        text = db.query("SELECT * FROM moments", "TSV").data()
        assert text == "2024-01-02 03:04:05\\t2024-01-02 03:04:05.000\\n2024-01-01 22:00:00\\t2024-01-02 03:00:00.000\\n", text
        db.query("DROP TABLE moments")
        frame = db.query(sql).df() if len(sys.argv) > 2 else None
        assert frame is None or str(frame.dtypes.iloc[0]).endswith("UTC]"), frame.dtypes

    async def ask():
        async with chalet.aio.connect(url) as db:
            check(await (await db.execute(sql)).fetchone())
            assert await (await db.execute(asked, params)).fetchone() == said

    asyncio.run(ask())
"""


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_zones_are_those_of_columns(url, zone):
    """In a process that is somewhere else."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ZONES), url], env={**os.environ, "TZ": zone}, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


KINDS = [
    "SELECT CAST('{\"a\": 1, \"b\": {\"c\": [\"x\"]}, \"d\": null}', 'JSON') AS v",
    "SELECT CAST([1::Variant(Int64, String), 'x'::Variant(Int64, String), NULL::Variant(Int64, String)], 'Array(Variant(Int64, String))') AS v",
    "SELECT CAST(5, 'Dynamic') AS v",
    "SELECT arrayJoin(['x'::Dynamic, 5::Dynamic, [1]::Dynamic]) AS v",
    "SELECT CAST('12:34:56', 'Time') AS v, CAST('12:34:56.5', 'Time64(3)') AS w",
    "SELECT toBFloat16(1.5) AS v",
    "SELECT toInt256('-5') AS v, toUInt128(7) AS w, toDecimal256('1.5', 3) AS x",
    "SELECT map('a', [(1, NULL)]) AS v",
    "SELECT CAST([(1, ['x'])], 'Nested(n UInt8, s Array(LowCardinality(String)))') AS v",
    "SELECT toIPv4('1.2.3.4') AS v, toIPv6('::1') AS w, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS x",
    "SELECT (1, 2)::Point AS v, [[(0, 0), (1, 1), (1, 0)]]::Polygon AS w",
    "SELECT CAST('b', 'Enum16(\\'a\\' = -5, \\'b\\' = 300)') AS v, toFixedString('ab', 4) AS w",
    "SELECT INTERVAL 5 DAY AS v, toDate32('1925-01-01') AS w, CAST(NULL, 'Nullable(Nothing)') AS x",
]


@pytest.mark.parametrize("sql", KINDS)
def test_types_are_read_and_written_as_in_the_process(server, sql):
    with chalet.connect() as here:
        expected = here.execute(sql).fetchall()
        types = here.execute(sql).column_types()
    for url in (f"clickhouse://127.0.0.1:{server.tcp_port}", f"http://127.0.0.1:{server.http_port}"):
        with chalet.connect(url) as db:
            cursor = db.execute(sql)
            assert cursor.fetchall() == expected and cursor.column_types() == types
            if any(word in sql for word in ("INTERVAL", "Nothing")):
                continue
            names = cursor.column_names()
            db.query("DROP TABLE IF EXISTS kept")
            db.query(f"CREATE TABLE kept ({', '.join(f'{name} {ty}' for name, ty in zip(names, types))}) ENGINE = Memory SETTINGS flatten_nested = 0")
            db.insert_rows("INSERT INTO kept VALUES", [tuple(row) for row in expected])
            # The order of paths of JSON is not defined.
            assert db.execute("SELECT * FROM kept").fetchall() == expected
            db.query("DROP TABLE kept")


def test_objects_keep_their_kinds(url):
    """In columns of JSON, Dynamic and Variant, also where rows have several kinds."""
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    objects = [{"a": 1, "b": {"c": ["x", "it's"]}, "d": None}, {"a": 'say "ü"'}, '{"a": 2.5}', {}]
    several = [5, "5", 1.5, True, None, [1, 2], ["a", None], {"k": 1}, uuid.UUID(int=7), moment, datetime.date(1925, 1, 1), 2**63]
    kinds = ["Int64", "String", "Float64", "Bool", "None", "Array(Int64)", "Array(Nullable(String))", "Map(String, Int64)", "UUID", "DateTime64(6, 'UTC')", "Date32", "UInt64"]
    chosen = [5, "5", None, [1], 300]
    with chalet.connect(url) as db:
        for ty, given, read in (
            ("JSON", objects, [{"a": 1, "b": {"c": ["x", "it's"]}}, {"a": 'say "ü"'}, {"a": 2.5}, {}]),
            ("Array(JSON)", [objects[:1], []], [[{"a": 1, "b": {"c": ["x", "it's"]}}], []]),
            ("Dynamic", several, several),
            ("Variant(Array(UInt8), String, UInt16)", chosen, chosen),
        ):
            db.query("DROP TABLE IF EXISTS kept")
            db.query(f"CREATE TABLE kept (n UInt8, v {ty}) ENGINE = Memory")
            assert db.insert_rows("INSERT INTO kept VALUES", list(enumerate(given))) == len(given)
            assert [row[0] for row in db.execute("SELECT v FROM kept ORDER BY n").fetchall()] == read
        assert [row[0] for row in db.execute("SELECT variantType(v)::String FROM kept ORDER BY n").fetchall()] == [
            "UInt16", "String", "None", "Array(UInt8)", "UInt16",
        ]  # fmt: skip
        db.query("DROP TABLE kept")
        db.query("CREATE TABLE kept (n UInt8, v Dynamic) ENGINE = Memory")
        db.insert_rows("INSERT INTO kept VALUES", [{"n": n, "v": v} for n, v in enumerate(several)], ["n", "v"])
        assert [row[0] for row in db.execute("SELECT dynamicType(v) FROM kept ORDER BY n").fetchall()] == kinds
        db.query("DROP TABLE kept")


def test_a_type_that_nobody_knows_is_named_with_its_column():
    body = bytes([1, 1]) + http_damage.string(b"strange") + http_damage.string(b"Fancy(3)") + bytes(8)
    with pytest.raises(chalet.Error, match="strange.*Fancy|Fancy.*strange"):
        http_damage.run(http_damage.chunked([body]))


def test_no_session_is_locked(server):
    """Over HTTP, by many threads and tasks with one connection."""
    url = f"http://127.0.0.1:{server.http_port}"
    sql = "SELECT sum(number) + {n:UInt64} FROM numbers(100000)"
    failed = []
    with chalet.connect(url) as db:

        def ask(n):
            try:
                assert db.execute(sql, {"n": n}).fetchall() == ((4999950000 + n,),)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed

    async def tasks():
        async with chalet.aio.connect(url) as db:
            return await asyncio.gather(*(db.query(sql, "TSV", {"n": n}) for n in range(50)))

    assert [int(one.data()) - 4999950000 for one in asyncio.run(tasks())] == list(range(50))


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
def test_sockets_that_died_are_noticed(server, scheme):
    """Whoever is in between has forgotten them: queries and INSERTs go over new ones, and are run once."""
    with server.connect() as there:
        there.query("CREATE TABLE once (n UInt32) ENGINE = Memory")
    with contextlib.closing(Forgetful(server.tcp_port if scheme == "clickhouse" else server.http_port)) as between:
        with chalet.connect(f"{scheme}://127.0.0.1:{between.port}") as db:
            for n in range(10):
                assert db.query("SELECT 1", "TSV").data() == "1\n"
                between.forget()
                time.sleep(0.01)
                db.insert_rows("INSERT INTO once VALUES", [(n,)])
                between.forget()
                time.sleep(0.01)

        async def loop():
            async with chalet.aio.connect(f"{scheme}://127.0.0.1:{between.port}") as db:
                for n in range(10, 20):
                    assert (await db.query("SELECT 1", "TSV")).data() == "1\n"
                    between.forget()
                    await asyncio.sleep(0.01)
                    await db.insert_rows("INSERT INTO once VALUES", [(n,)])
                    between.forget()
                    await asyncio.sleep(0.01)

        asyncio.run(loop())
    with server.connect() as there:
        assert there.query("SELECT count(), uniqExact(n) FROM once", "TSV").data() == "20\t20\n"
        there.query("DROP TABLE once")


class Forgetful(proxy.Proxy):
    """Closes the connections that are open, when it is told to."""

    def __init__(self, port):
        self.sockets = []
        super().__init__(port)

    def _converse(self, client):
        self.sockets.append(client)
        super()._converse(client)

    def forget(self):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.sockets.clear()


class Stream:
    """Arrow from anywhere: it has the method of the protocol and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_arrow_from_anywhere(url):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {"n": [1, 2, None], "l": [["a"], [], None], "m": [{"x": 1, "y": "b"}, None, {"x": 2, "y": None}], "d": [datetime.date(2024, 1, 2)] * 3}
    )
    with chalet.connect(url) as db:
        assert db.query("SELECT sum(n), count(), sum(length(l)) FROM given", "TSV", tables={"given": Stream(table)}).data() == "3\t3\t1\n"
        db.query("DROP TABLE IF EXISTS streamed")
        db.query("CREATE TABLE streamed (n Nullable(Int64), l Array(String), m Tuple(x Nullable(Int64), y Nullable(String)), d Date) ENGINE = Memory")
        db.insert_rows("INSERT INTO streamed (n, l, d) VALUES", Stream(table.select(["n", "l", "d"])))
        assert db.query("SELECT sum(n), count(), max(d) FROM streamed", "TSV").data() == "3\t3\t2024-01-02\n"
        polars = pytest.importorskip("polars")
        frame = polars.from_arrow(arrow.table(db.query("SELECT n, l, d FROM streamed ORDER BY n")))
        assert frame["n"].to_list() == [1, 2, None] and frame["l"].to_list()[0] == ["a"]
        db.query("DROP TABLE streamed")


def test_one_program_for_both(url):
    """What it is connected to is its only difference."""
    with chalet.connect(url) as db:
        db.query("DROP TABLE IF EXISTS visits")
        db.query("CREATE TABLE visits (user String, at DateTime('UTC'), seconds UInt32) ENGINE = MergeTree ORDER BY (user, at)")
        at = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
        assert db.insert_rows("INSERT INTO visits VALUES", [(name, at, n) for n, name in enumerate("abab")]) == 4
        known = [{"user": "a"}]  # noqa: F841
        found = db.sql("SELECT user, seconds FROM visits WHERE user IN (SELECT user FROM known)").aggregate("user, sum(seconds) AS s", "user").fetchall()
        assert list(found) == [("a", 2)]
        assert sum(chunk.rows_read() for chunk in db.send_query("SELECT * FROM visits", "Native")) == 4
        with pytest.raises(chalet.Error) as raised:
            db.query("SELECT nothing FROM visits")
        assert raised.value.code == 47
        assert db.execute("SELECT count() FROM visits WHERE seconds > {s:UInt32}", {"s": 1}).fetchone() == (2,)
        db.query("DROP TABLE visits")
