"""Conversations with a server through a proxy that harms them: the whole answer or an error, within the time that the client gives, and the next
query works. States of aggregates, tables that come along, INSERTs of Arrow tables and frames, HTTP that is compressed both ways, asyncio."""

import asyncio
import contextlib
import functools
import os
import random
import time

import patience
import proxy
import pytest
import shards

import chalet
import chalet.aio

N = 1000
# How often each conversation is harmed in each way, at another byte each time; stalls, which take their time, half as often.
ROUNDS = int(os.environ.get("CHALET_HARM_ROUNDS", "1"))
# Seconds in which the client has to hear something.
PATIENCE = 0.5


def options(seconds):
    return f"?receive_timeout={seconds}&send_timeout={seconds}&connect_timeout={seconds}"


GIVEN = {"n": list(range(N)), "s": [f"text {n * n}" for n in range(N)]}
CHECKSUM = "count(), sum(n), sum(cityHash64(n, s))"


@pytest.fixture(scope="module")
def server():
    with shards.started(1) as (server,):
        with server.connect() as there:
            there.query(
                "CREATE TABLE states (k UInt16, a AggregateFunction(sum, UInt64), u AggregateFunction(uniqExact, String), q AggregateFunction(quantiles(0.5, 0.9), Float64), "
                "t AggregateFunction(groupArray, String)) ENGINE = Memory"
            )
            there.query(
                "INSERT INTO states SELECT number % 300, sumState(number), uniqExactState(toString(number)), quantilesState(0.5, 0.9)(toFloat64(number)), "
                f"groupArrayState(toString(number)) FROM numbers({N * 3}) GROUP BY 1"
            )
            there.query(f"CREATE TABLE rows ENGINE = Memory AS SELECT number AS n, toString(number * number) AS s FROM numbers({N * 5})")
            there.query("CREATE TABLE taken (n Int64, s String) ENGINE = Memory")
        yield server


def states(url):
    with chalet.connect(":memory:") as db:
        db.query(f"SET chalet_clusters = {{'main': '{url}'}}")
        sql = "SELECT sum(cityHash64(k, finalizeAggregation(a), finalizeAggregation(u), finalizeAggregation(q), arraySort(finalizeAggregation(t)))), count() FROM cluster('main', default.states)"
        return db.query(sql, "TSV").data()


def rows(url):
    with chalet.connect(url) as db:
        read = db.cursor().execute("SELECT n, s FROM rows").fetchall()
        return len(read), hash(frozenset(read))


def tables(url):
    with chalet.connect(url) as db:
        return db.query(f"SELECT {CHECKSUM} FROM given", "TSV", tables={"given": GIVEN}).data()


def insert_arrow(url):
    arrow = pytest.importorskip("pyarrow")
    with chalet.connect(url) as db:
        return db.insert_rows("INSERT INTO taken VALUES", arrow.table(GIVEN))


def insert_frame(url):
    pandas = pytest.importorskip("pandas")
    with chalet.connect(url) as db:
        return db.insert_rows("INSERT INTO taken VALUES", pandas.DataFrame(GIVEN))


def insert_pieces(url):
    with chalet.connect(url) as db, db.send_insert("INSERT INTO taken", "CSV") as insert:
        for n, s in zip(*GIVEN.values()):
            insert.append(f"{n},{s}\n")
        return insert.finish().rows_written


def in_loop(ask):
    async def run(url):
        async with chalet.aio.connect(url) as db:
            return await ask(db)

    return functools.wraps(ask)(lambda url: asyncio.run(run(url)))


@in_loop
async def aio_rows(db):
    read = await (await db.execute("SELECT n, s FROM rows")).fetchall()
    return len(read), hash(frozenset(read))


@in_loop
async def aio_stream(db):
    text = [chunk.bytes() async for chunk in db.send_query("SELECT n, s FROM rows ORDER BY n", "TSV")]
    return b"".join(text)


@in_loop
async def aio_tables(db):
    return (await db.query(f"SELECT {CHECKSUM} FROM given", "TSV", tables={"given": GIVEN})).data()


@in_loop
async def aio_insert(db):
    return await db.insert_rows("INSERT INTO taken VALUES", GIVEN)


INSERTS = (insert_arrow, insert_frame, insert_pieces, aio_insert)
ASKS = (states, rows, tables, *INSERTS[:3], aio_rows, aio_stream, aio_tables, aio_insert)


@pytest.fixture(params=["clickhouse lz4", "clickhouse none", "http lz4", "http zstd"])
def way(request, server):
    scheme, compression = request.param.split()
    between = proxy.Proxy(server.tcp_port if scheme == "clickhouse" else server.http_port)
    yield between, lambda seconds: f"{scheme}://127.0.0.1:{between.port}/{options(seconds)}&compression={compression}", compression != "none"
    between.close()


def taken(server):
    server.settle()
    with server.connect() as there:
        n, whole = there.query(f"SELECT count(), {CHECKSUM.partition(', ')[2].partition(', ')[2]} FROM taken", "TSV").data().split()
        there.query("TRUNCATE TABLE taken")
        return int(n), whole


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.__name__)
def test_whole_or_an_error(server, way, ask):
    between, url_of, has_checksums = way
    # One is for conversations that are harmed, the other has time.
    url, calm = url_of(PATIENCE), url_of(patience.LONG)
    # Parts of a form have none.
    is_form = url.startswith("http") and ask in (tables, aio_tables)
    taken(server)
    expected = ask(calm)
    whole = taken(server)
    most = list(between.most)
    chance = random.Random(7)
    n_errors = 0
    for deed in proxy.DEEDS:
        # Who withholds is waited for.
        for number in range(ROUNDS if deed == "stall" else 2 * ROUNDS):
            direction = number % 2
            at = chance.randrange(most[direction])
            between.harm(deed, direction, at, number)
            began = time.monotonic()
            what = (deed, ("up", "down")[direction], at)
            try:
                found = ask(url)
            except chalet.Error:
                n_errors += 1
            else:
                # Without checksums a value may be another one.
                has_none = not has_checksums or is_form and direction == 0
                assert found == expected or has_none and deed in ("flip", "drop", "repeat"), what
            assert time.monotonic() - began < 2 * PATIENCE + 30, what
            between.harm(None)
            n, sums = taken(server)
            # All or none.
            assert n in (0, whole[0]) and (n == 0 or sums == whole[1] or not has_checksums or direction == 1), (what, n)
    assert ask(calm) == expected
    assert n_errors > 4
    between.harm("dribble")
    assert ask(calm) == expected


def test_the_same_connection_goes_on(server):
    """A pool whose connections were harmed opens others."""
    with contextlib.closing(proxy.Proxy(server.tcp_port)) as between, chalet.connect(f"clickhouse://127.0.0.1:{between.port}/{options(3)}") as db:
        for number, deed in enumerate(proxy.DEEDS * 3):
            between.harm(deed, 1, 3000 + number * 500, number)
            # Those that are open know nothing of it.
            with contextlib.suppress(chalet.Error):
                db.query("SELECT n, s FROM rows", "TSV")
            db.query("SELECT 1") if number % 2 else None
            between.harm(None)
            assert db.query("SELECT count() FROM rows", "TSV").data() == f"{N * 5}\n"
