"""chalet.aio: awaited statements, cancelling, time limits, and an event loop that goes on."""

import asyncio
import threading
import time

import patience
import pytest

import chalet
from chalet import aio

ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)"
# Less than that of the processor is soon: how long it is waited for is not ours to say.
SOON_SECONDS = 1.0


def run(main):
    """The answer of a coroutine function, in a loop that fails when it is blocked for good."""

    async def limited():
        return await asyncio.wait_for(main(), 2 * patience.LONG)

    return asyncio.run(limited())


async def until(condition):
    """Waits for a condition while the loop goes on."""
    end = time.monotonic() + patience.LONG
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def until_it_runs(text):
    with chalet.connect() as other:
        await until(lambda: patience.running(other, text))


@pytest.fixture
def gate():
    """A function `gate` of SQL that waits until it is opened: the names of two events, that somebody is at it, and that it is open."""
    reached, opened = threading.Event(), threading.Event()

    def wait(x):
        reached.set()
        assert opened.wait(patience.LONG)
        return x

    chalet.create_function("gate", wait, ["Int64"], "Int64")
    yield reached, opened
    opened.set()
    chalet.drop_function("gate")


def test_queries_are_awaited():
    async def main():
        async with aio.connect() as db:
            await db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
            await db.query("INSERT INTO t VALUES (1), (2)")
            assert (await db.query("SELECT sum(x) FROM t")).data() == "3\n"
            assert (await db.query("SELECT {a:UInt8}", params={"a": 7})).data() == "7\n"
            block = await db.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 77})
            assert block.data() == "77\n"
            assert (await db.sql("SELECT x FROM t ORDER BY x")).fetchall() == [(1,), (2,)]
            assert await db.insert_rows("INSERT INTO t VALUES", [(3,), (4,)]) == 2
            assert (await db.query("SELECT count() FROM t")).data() == "4\n"
        assert db.closed
        with pytest.raises(chalet.InterfaceError, match="closed"):
            await db.query("SELECT 1")
        assert (await aio.query("SELECT 1")).data() == "1\n"

    run(main)


def test_a_connection_without_a_block(tmp_path):
    async def main():
        unopened = aio.connect()
        with pytest.raises(chalet.InterfaceError, match="await"):
            await unopened.query("SELECT 1")
        db = await unopened
        assert (await db.query("SELECT 1")).data() == "1\n"
        await db.close()
        await db.close()
        with pytest.raises(chalet.OperationalError, match="There is no database"):
            await aio.connect(f"{tmp_path}/none?mode=ro")

    run(main)


def test_frames_of_the_caller():
    pytest.importorskip("pandas")
    import pandas

    async def main():
        async with aio.connect() as db:
            frame = pandas.DataFrame({"a": [1, 2, 3]})
            assert (await db.query("SELECT sum(a) FROM frame")).data() == "6\n"
            # What a task awaits was called here.
            task = asyncio.create_task(db.query("SELECT max(a) FROM frame", "DataFrame"))
            assert (await task).iloc[0, 0] == 3
            assert (await db.query("SELECT min(a) FROM other", tables={"other": frame})).data() == "1\n"
            assert [await c.fetchone() for c in [await db.execute("SELECT count() FROM frame")]] == [(3,)]
            del frame
            with pytest.raises(chalet.Error, match="frame"):
                await db.query("SELECT sum(a) FROM frame")

    run(main)


def test_relations_are_composed_and_awaited():
    async def main():
        async with aio.connect() as db:
            numbers = db.sql("SELECT number AS n, number % 3 AS k FROM numbers(10)")
            sums = numbers.filter("n > {least:UInt8}", params={"least": 2}).aggregate("k, sum(n) AS s", "k").order("k")
            assert await sums.fetchall() == [(0, 18), (1, 11), (2, 13)]
            assert (await sums.columns(), await sums.types(), await sums.shape()) == (["k", "s"], ["UInt8", "UInt64"], (3, 2))
            assert [row async for row in sums.limit(1)] == [(0, 18)]
            assert await sums.select("s * 2 AS t").to_dicts() == [{"t": 36}, {"t": 22}, {"t": 26}]
            # Again, and as a coroutine.
            assert (await numbers).fetchone() == (await asyncio.create_task(numbers)).fetchone() == (0, 0)
            assert (await asyncio.gather(numbers.data(), sums.data()))[1] == "0,18\n1,11\n2,13\n"
            names = db.sql("SELECT number AS k, substring('abc', number + 1, 1) AS name FROM numbers(3)")
            assert await sums.join(names, "k").select("name", "s").order("name").fetchall() == [("a", 18), ("b", 11), ("c", 13)]
            assert await numbers.alias("t").select("t.k").distinct().union(db.sql("SELECT 7::UInt8")).shape() == (4, 1)
            assert (await db.query("SELECT max(n) FROM numbers")).data() == "9\n"
            assert "Aggregate" in await sums.explain()
            assert (await numbers.summarize().to_dicts())[0]["column_name"] == "n"

            await db.sql("CREATE TABLE t (x UInt8) ENGINE = Memory")
            inserted = db.sql("INSERT INTO t VALUES (1)")
            await inserted
            await inserted
            assert (await db.sql("SELECT count() FROM t")).fetchall() == [(1,)]
            with pytest.raises(chalet.ProgrammingError, match="no relation"):
                await inserted.filter("x = 1")
            with pytest.raises(chalet.ProgrammingError, match="no_such_column"):
                await numbers.filter("no_such_column = 1").df()

    run(main)


def test_relations_have_what_those_without_asyncio_have():
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")

    async def main():
        async with aio.connect() as db:
            numbers = db.sql("SELECT number AS n, number % 3 AS k FROM numbers(5000)")
            rows = [(n, n % 3) for n in range(5000)]
            assert await numbers.fetchone() == rows[0] and await numbers.fetchmany(3000) == rows[1:3001]
            assert await numbers.fetchall() == rows[3001:]
            # It is at its beginning again.
            assert await numbers.fetchall() == rows and await numbers.fetchmany(0) == []
            with pytest.raises(chalet.ProgrammingError, match="-1"):
                await numbers.fetchmany(-1)
            few = numbers.select(["n", "k"]).limit(2)
            taken = await asyncio.gather(*[few.fetchone() for _ in range(3)])
            assert taken == [(0, 0), (1, 1), None] and await few.fetchmany() == [] == await few.fetchall()
            assert await few.bytes() == b"0,0\n1,1\n" and (await few.arrow_reader()).read_all().num_rows == 2
            assert await numbers.query() == "SELECT number AS n, number % 3 AS k FROM numbers(5000)"
            assert "LIMIT 2" in await few.query() and (await few.description())[0][:2] == ("n", "UInt64")
            assert await few.dtypes() == await few.types() and await few.set_alias("t").filter("t.n = 1").fetchall() == [(1, 1)]
            for frame in (few.df, few.fetchdf, few.to_df):
                assert list((await frame()).columns) == ["n", "k"]
            for table in (few.arrow, few.fetch_arrow_table, few.to_arrow_table):
                assert (await table()).num_rows == 2
            assert (await few.fetchnumpy())["n"].tolist() == [0, 1]
            assert repr(numbers) == "<chalet.aio.Relation SELECT number AS n, number % 3 AS k FROM numbers(5000)>"
            assert repr(few).endswith("FROM numbers(5000).select(['n', 'k']).limit(2, 0)>")
            assert ".join(<dict>, 'k', 'inner')" in repr(numbers.join({"k": [1] * 1000}, "k"))

    run(main)


def test_all_of_a_relation_is_there():
    theirs = {name for name in dir(chalet.Relation) if not name.startswith("_")}
    assert theirs <= set(dir(aio.Relation))


def test_statements_without_rows_are_no_relation():
    async def main():
        async with aio.connect() as db:
            created = db.sql("CREATE TABLE t (x UInt8) ENGINE = Memory")
            assert (await created).data() == ""
            for ask in ("fetchall", "fetchone", "fetchmany", "df", "data", "columns", "query", "shape"):
                with pytest.raises(chalet.ProgrammingError, match="without rows"):
                    await getattr(created, ask)()
            with pytest.raises(chalet.ProgrammingError, match="without rows"):
                async for _ in created:
                    pass
            with pytest.raises(chalet.ProgrammingError, match="FORMAT"):
                await db.sql("SELECT 1 FORMAT TSV").fetchall()
            assert (await db.sql("SELECT 1 FORMAT TSV")).data() == "1\n"

    run(main)


def test_relations_see_the_variables_of_those_who_made_them():
    async def main():
        async with aio.connect() as db:

            def made():
                mine = {"a": [1, 2, 3]}
                return db.sql("SELECT a FROM mine")

            def step(relation):
                those = {"b": [2, 3]}
                return relation.filter("a IN (SELECT b FROM those)")

            assert await step(made()).fetchall() == [(2,), (3,)]

    run(main)


def test_relations_stop():
    took = []

    async def main():
        async with aio.connect() as db:
            endless = db.sql(ENDLESS.replace("SELECT", "SELECT 1 AS a,"))
            task = asyncio.create_task(endless.filter("a = 1").fetchall())
            await asyncio.sleep(0.1)
            begun = time.process_time()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await db.query("SELECT 1")).data() == "1\n"
            took.append(time.process_time() - begun)
            with pytest.raises(chalet.OperationalError, match="Timeout exceeded"):
                await db.sql(ENDLESS, timeout=0.1)

    patience.in_time(SOON_SECONDS, lambda: run(main) or took[-1])


def test_errors_are_raised_where_they_are_awaited():
    async def main():
        async with aio.connect() as db:
            with pytest.raises(chalet.ProgrammingError) as caught:
                await db.query("SELECT no_such_column")
            assert caught.value.name == "UNKNOWN_IDENTIFIER"
            both = await asyncio.gather(db.query("SELECT 1"), db.query("SELECT"), return_exceptions=True)
            assert both[0].data() == "1\n" and isinstance(both[1], chalet.Error)
            with pytest.raises(chalet.Error):
                async for _ in db.send_query("SELECT throwIf(number = 5) FROM numbers(10)"):
                    pass

    run(main)


def test_functions_that_exit():
    def leaves(x):
        raise SystemExit(3)

    async def main():
        async with aio.connect() as db:
            with pytest.raises(SystemExit) as caught:
                await db.query("SELECT leaves(1)")
            assert caught.value.code == 3
            assert (await db.query("SELECT 1")).data() == "1\n"

    chalet.create_function("leaves", leaves, ["Int64"], "Int64")
    try:
        run(main)
    finally:
        chalet.drop_function("leaves")


def test_thirty_two_at_once():
    async def main():
        async with aio.connect() as db:
            sums = await asyncio.gather(*[db.query(f"SELECT {n} + sum(number) FROM numbers(1000)") for n in range(32)])
            assert [int(result.data()) for result in sums] == [n + 499500 for n in range(32)]
        connections = await asyncio.gather(*[aio.connect() for _ in range(32)])
        sums = await asyncio.gather(*[db.query("SELECT sum(number) FROM numbers(100000)") for db in connections])
        assert {result.data() for result in sums} == {"4999950000\n"}
        await asyncio.gather(*[db.close() for db in connections])

    run(main)


def test_the_loop_goes_on_during_a_query():
    gaps = []

    async def main():
        async def tick():
            while True:
                before = time.perf_counter()
                await asyncio.sleep(0.005)
                gaps.append(time.perf_counter() - before)

        async with aio.connect() as db:
            gaps.clear()
            ticking = asyncio.create_task(tick())
            with pytest.raises(chalet.OperationalError):
                await db.query(ENDLESS, timeout=2)
            ticking.cancel()

    # Less than as long as the query runs.
    patience.in_time(1, lambda: run(main) or max(gaps, default=2.0))


def test_cancelling_stops_the_query():
    async def main():
        async with aio.connect() as db:
            task = asyncio.create_task(db.query(ENDLESS))
            waiting = asyncio.create_task(db.query("SELECT 2"))
            await until_it_runs(ENDLESS)
            assert not task.done()
            started = time.process_time()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # Who waited behind it is served, and so is who comes then.
            assert (await waiting).data() == "2\n"
            assert (await db.query("SELECT 1")).data() == "1\n"
            took.append(time.process_time() - started)

    took = []
    patience.in_time(SOON_SECONDS, lambda: run(main) or took[-1])


def test_cancelling_who_waits_does_not_stop_who_runs(gate):
    reached, opened = gate

    async def main():
        async with aio.connect() as db:
            runs = asyncio.create_task(db.query("SELECT gate(1)"))
            await until(reached.is_set)
            waits = asyncio.create_task(db.query("CREATE TABLE never (x UInt8) ENGINE = Memory"))
            await asyncio.sleep(0.1)
            waits.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits
            opened.set()
            assert (await runs).data() == "1\n"
            assert (await db.query("EXISTS TABLE never")).data() == "0\n"

    run(main)


def test_time_limits(gate):
    reached, opened = gate

    async def main():
        async with aio.connect() as db:
            with pytest.raises(chalet.OperationalError) as caught:
                await db.query(ENDLESS, timeout=0.2)
            assert caught.value.name == "TIMEOUT_EXCEEDED"
            with pytest.raises(chalet.OperationalError, match="200 ms"):
                await db.execute(ENDLESS, timeout=0.2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await db.query(ENDLESS)
            # The time of those before it counts.
            runs = asyncio.create_task(db.query("SELECT gate(1)"))
            await until(reached.is_set)
            with pytest.raises(chalet.OperationalError) as caught:
                await db.query("SELECT 1", timeout=0.1)
            assert caught.value.name == "TIMEOUT_EXCEEDED"
            assert not runs.done()
            opened.set()
            await runs
            assert (await db.query("SELECT 1", timeout=patience.LONG)).data() == "1\n"
            with pytest.raises(ValueError, match="timeout"):
                await db.query("SELECT 1", timeout=-1)

    run(main)


def test_interrupt_and_close_stop_what_runs():
    async def main():
        db = await aio.connect()
        task = asyncio.create_task(db.query(ENDLESS))
        await until_it_runs(ENDLESS)
        db.interrupt()
        with pytest.raises(chalet.Error, match="QUERY_WAS_CANCELLED"):
            await task
        both = [asyncio.create_task(db.query(ENDLESS)) for _ in range(2)]
        await until_it_runs(ENDLESS)
        # The other one waits for it.
        await asyncio.sleep(0.1)
        await db.close()
        for stopped in await asyncio.gather(*both, return_exceptions=True):
            assert isinstance(stopped, chalet.Error) and stopped.name == "QUERY_WAS_CANCELLED"

    run(main)


def test_cursors():
    async def main():
        async with aio.connect() as db, db.cursor() as cursor:
            assert await cursor.execute("SELECT number AS n FROM numbers(5000)") is cursor
            assert cursor.column_names() == ["n"] and cursor.column_types() == ["UInt64"] and cursor.rowcount == 5000
            assert cursor.description[0][0] == "n"
            assert await cursor.fetchone() == (0,)
            assert await cursor.fetchmany(2) == ((1,), (2,))
            assert len(await cursor.fetchall()) == 4997
            assert await cursor.fetchone() is None and await cursor.fetchall() == ()
            rows = [row async for row in await cursor.execute("SELECT number FROM numbers(4097)")]
            assert rows == [(n,) for n in range(4097)]

    run(main)


def test_many_rows():
    async def main():
        async with aio.connect() as db, db.cursor() as cursor:
            await db.execute("CREATE TABLE t (a UInt64, b String) ENGINE = Memory")
            assert await cursor.executemany("INSERT INTO t VALUES (?, ?)", [(n, str(n)) for n in range(100)]) is cursor
            assert cursor.rowcount == 100
            assert (await db.executemany("INSERT INTO t VALUES (%s, %s)", [(100, "x")])).rowcount == 1
            assert await (await db.execute("SELECT count(), sum(a) FROM t")).fetchone() == (101, 5050)
            with pytest.raises(chalet.OperationalError, match="TIMEOUT_EXCEEDED"):
                await cursor.executemany("SELECT sleep(?)", [(0.2,)] * 500, timeout=0.5)
            # A task that is cancelled stops all of them.
            task = asyncio.create_task(_many_naps(cursor))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            start = time.perf_counter()
            assert await (await cursor.execute("SELECT 1")).fetchone() == (1,)
            # All of them take 100 seconds.
            assert time.perf_counter() - start < 50

    run(main)


async def _many_naps(cursor):
    await cursor.executemany("SELECT sleep(?)", [(0.2,)] * 500)


def test_streams():
    async def main():
        async with aio.connect() as db:
            rows = 0
            async for chunk in db.send_query("SELECT number FROM numbers(300000)", "RowBinary"):
                rows += chunk.size() // 8
            assert rows == 300000
            async with db.send_query("SELECT number FROM numbers(1000000000000)", "RowBinary") as stream:
                assert (await stream.fetch()).size() > 0
                # Beside it the connection is free.
                assert (await db.query("SELECT 1")).data() == "1\n"
            async with db.send_query(ENDLESS) as stream:
                fetching = asyncio.create_task(stream.fetch())
                await asyncio.sleep(0.1)
                fetching.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await fetching
            with pytest.raises(chalet.OperationalError) as caught:
                await db.send_query(ENDLESS).fetch(timeout=0.1)
            assert caught.value.name == "TIMEOUT_EXCEEDED"

    run(main)


def test_inserts_in_pieces():
    async def main():
        async with aio.connect() as db:
            await db.query("CREATE TABLE t (x UInt64) ENGINE = Memory")
            async with db.send_insert("INSERT INTO t", "TSV") as insert:
                for n in range(100):
                    await insert.append(f"{n}\n")
                assert (await insert.finish()).rows_written == 100
            async with db.send_insert("INSERT INTO t") as insert:
                await insert.append("1\n")
            assert (await db.query("SELECT count() FROM t")).data() == "100\n"
            with pytest.raises(chalet.Error, match="no_such"):
                await db.send_insert("INSERT INTO no_such")

    run(main)


def test_threads_end_with_their_connections():
    async def main():
        for _ in range(20):
            async with aio.connect() as db:
                await db.query("SELECT 1")
                async for _ in db.send_query("SELECT 1"):
                    pass

    before = threading.active_count()
    run(main)
    patience.until(lambda: threading.active_count() <= before)


def test_importing_chalet_does_not_import_asyncio():
    import subprocess
    import sys

    code = "import sys, chalet; assert 'asyncio' not in sys.modules; chalet.aio; assert 'asyncio' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=patience.LONG)
