"""Thirty conversations with a server, cut at every byte in both directions and with a bit flipped in every byte of what the server says: the
whole answer or an error, nothing in between, and the next query works. CHALET_EVERY_BYTE=1 takes every byte, else it is some of each."""

import asyncio
import contextlib
import os
import time

import patience
import proxy
import pytest
import shards

import chalet
import chalet.aio
from chalet.clickhouse_driver import Client, errors

STRIDE = 1 if os.environ.get("CHALET_EVERY_BYTE") else 97
# Seconds after which who hears nothing gives up.
PATIENCE = 2
ROWS = [(n, f"text {n * n}") for n in range(30)]
TYPES = (
    "SELECT number AS n, toString(n), toFloat64(n) / 3, if(n % 3 = 0, NULL, n), [n, n + 1], map('a', n), toDecimal64(n, 3), toDate(n), toDateTime(n, 'UTC'), "
    "toLowCardinality(toString(n % 3)), (n, 'x'), toUUID('00000000-0000-4000-8000-00000000000' || toString(n % 10)) FROM numbers(20)"
)


@contextlib.contextmanager
def opened(url):
    with chalet.connect(url) as db:
        yield db


def text(url):
    with opened(url) as db:
        return db.query("SELECT number, number * number FROM numbers(100)", "TSV").data()


def types(url):
    with opened(url) as db:
        return db.execute(TYPES).fetchall()


def stream(url):
    with opened(url) as db:
        return b"".join(chunk.bytes() for chunk in db.send_query("SELECT number FROM numbers(200) SETTINGS max_block_size = 50", "CSV"))


def parameters(url):
    with opened(url) as db:
        return db.query("SELECT {a:UInt8}, {b:String}", "TSV", params={"a": 5, "b": "x\ty"}).data()


def settings(url):
    with opened(url) as db:
        db.query("SET max_block_size = 77")
        return db.query("SELECT getSetting('max_block_size')", "TSV").data()


def table_sent(url):
    with opened(url) as db:
        return db.query("SELECT sum(n), max(s) FROM given", "TSV", tables={"given": {"n": [1, 2, 3], "s": ["a", "b", "c"]}}).data()


def totals(url):
    with opened(url) as db:
        return db.query("SELECT number % 3 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k", "TSV").data()


def nothing(url):
    with opened(url) as db:
        return db.execute("SELECT number, toString(number) FROM numbers(10) WHERE number > 100").fetchall()


def two(url):
    with opened(url) as db:
        return [db.query(f"SELECT {n}, 'answer'", "TSV").data() for n in range(2)]


def error(url):
    """The error is the answer: another one is that of the cut."""
    with opened(url) as db, pytest.raises(chalet.Error) as caught:
        db.query("SELECT nothing_of_the_kind FROM numbers(3)")
    if caught.value.code != 47:
        raise caught.value
    return 47


def driver(url):
    if url.startswith("http"):
        with opened(url) as db:
            return db.query("SELECT sum(number) FROM numbers(100)", "JSON").data().partition('"statistics"')[0]
    # It has one limit for both directions.
    with Client.from_url(url.replace("&receive_timeout", "&send_receive_timeout")) as client:
        return client.execute("SELECT number, toString(number) FROM numbers(40)", with_column_types=True)


def aio(url):
    async def run():
        async with chalet.aio.connect(url) as db:
            return await (await db.execute("SELECT number, toString(number) FROM numbers(50)")).fetchall()

    return asyncio.run(run())


def insert_list(url):
    with opened(url) as db:
        return db.insert_rows("INSERT INTO every_byte VALUES", ROWS)


def insert_columns(url):
    with opened(url) as db:
        return db.insert_rows("INSERT INTO every_byte VALUES", {"n": [n for n, _ in ROWS], "s": [s for _, s in ROWS]})


def insert_text(url):
    with opened(url) as db, db.send_insert("INSERT INTO every_byte", "TSV") as insert:
        for n, s in ROWS:
            insert.append(f"{n}\t{s}\n")
        return insert.finish().rows_written


READS = (text, types, stream, parameters, settings, table_sent, totals, nothing, two, error, driver, aio)
INSERTS = (insert_list, insert_columns, insert_text)


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query("CREATE TABLE every_byte (n UInt64, s String) ENGINE = Memory")
        yield server


@pytest.mark.parametrize("scheme", ["clickhouse", "http"])
@pytest.mark.parametrize("ask", READS + INSERTS, ids=lambda ask: ask.__name__)
def test_every_byte(server, scheme, ask):
    port = server.tcp_port if scheme == "clickhouse" else server.http_port
    with contextlib.closing(proxy.Proxy(port)) as between, server.connect() as there:

        def written():
            server.settle()
            rows = there.query("SELECT n, s FROM every_byte ORDER BY n", "TSV").data()
            there.query("TRUNCATE TABLE every_byte")
            return rows

        limits = "receive_timeout={0}&send_timeout={0}&connect_timeout={0}"
        url = f"{scheme}://127.0.0.1:{between.port}/?compression=lz4&"
        expected = ask(url + limits.format(patience.LONG))
        whole = written()
        most, n_errors = list(between.most), 0
        for deed, direction in (("cut", 0), ("cut", 1), ("flip", 1)):
            if ask in INSERTS and deed == "flip":
                continue
            for at in range(0, most[direction], STRIDE):
                what = (deed, ("up", "down")[direction], at)
                between.harm(deed, direction, at, at)
                began = time.monotonic()
                try:
                    assert ask(url + limits.format(PATIENCE)) == expected, what
                except (chalet.Error, errors.Error):
                    n_errors += 1
                # Much more than it may take, because others may be busy.
                assert time.monotonic() - began < PATIENCE + patience.LONG, what
                if ask in INSERTS:
                    assert written() in ("", whole), what
                between.harm(None)
                assert there.query("SELECT 1", "TSV").data() == "1\n", what
        # Reads whose connection breaks are asked again, and connections that are harmed at once are no conversations.
        assert n_errors > 0
