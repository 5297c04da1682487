"""What clients do wrong against `chalet.server`: wrong arguments, wrong ports, statements in the midst of others. Each has an error that says
what is wrong, and the client works on."""

import asyncio
import socket

import patience
import pytest

ROWS = "INSERT INTO misuse VALUES"

# What clickhouse-driver is given, and a piece of what it says.
OF_DRIVER = [
    ((ROWS, [(1, "a")]), {}, "Expected 3 columns, got 2"),
    ((ROWS, [(1, "a", None, 4)]), {}, "Expected 3 columns, got 4"),
    ((ROWS, [("x", "a", None)]), {}, "Type mismatch"),
    ((ROWS, [("x", "a", None)]), {"types_check": True}, 'for column "a"'),
    ((ROWS, [(256, "a", None)]), {}, "Column a"),
    ((ROWS, [(None, "a", None)]), {}, "Column a"),
    ((ROWS, [[1, 2], ["a"], [None, None]]), {"columnar": True}, "Expected 2 rows, got 1"),
    ((ROWS, (1 // 0 for _ in range(1))), {}, "by zero"),
    (("INSERT INTO misuse (zz) VALUES", [(1,)]), {}, "Code: 16"),
    (("INSERT INTO nowhere VALUES", [(1,)]), {}, "Code: 60"),
    (("INSERT INTO misuse (a, s) VALUES", [{"a": 3}]), {}, "s"),
    (("SELECT %(x)s", {"y": 1}), {}, "x"),
    (("SELECT 1",), {"settings": {"max_threads": "many"}}, "many"),
    (("SELECT 1",), {"settings": {"send_logs_level": "shout"}}, "LogsLevel"),
    (("SELEKT 1",), {}, "Code: 62"),
    (("",), {}, "the query is empty"),
    (("SELECT 1; SELECT 2",), {}, "Multi-statements are not allowed"),
]


@pytest.fixture
def driver(ours):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    with clickhouse_driver.Client("127.0.0.1", port=ours[0]) as client:
        client.execute("CREATE TABLE misuse (a UInt8, s String, n Nullable(Int32)) ENGINE = MergeTree ORDER BY a")
        yield client
        client.execute("DROP TABLE misuse")


@pytest.mark.parametrize(("arguments", "named", "said"), OF_DRIVER)
def test_clickhouse_driver(driver, arguments, named, said):
    with pytest.raises(Exception) as raised:
        driver.execute(*arguments, **named)
    assert said in str(raised.value)
    assert driver.execute("SELECT count() FROM misuse") == [(0,)]


def test_clickhouse_driver_calls_in_the_midst_of_others(driver):
    from clickhouse_driver import errors

    first = driver.execute_iter("SELECT number FROM numbers(1000000)", settings={"max_block_size": 1000})
    assert next(first) == (0,)
    with pytest.raises(errors.PartiallyConsumedQueryError):
        driver.execute("SELECT 1")
    assert driver.execute("SELECT 2") == [(2,)]
    driver.execute_with_progress("SELECT number FROM numbers(10)")
    with pytest.raises(errors.PartiallyConsumedQueryError):
        driver.execute("SELECT 1")
    driver.disconnect_connection()
    assert driver.execute("SELECT 3") == [(3,)]
    driver.reset_last_query()
    assert driver.last_query is None


def test_clickhouse_driver_who_cannot_come_in(ours):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    for named, said in (
        ({"user": "nobody", "password": "x"}, "Code: 516"),
        ({"database": "nowhere"}, "Code: 81"),
        ({"secure": True, "verify": False}, "WRONG_VERSION_NUMBER"),
    ):
        with pytest.raises(Exception) as raised:
            clickhouse_driver.Client("127.0.0.1", port=ours[0], **named).execute("SELECT 1")
        assert said in str(raised.value)


def test_clickhouse_driver_dbapi(ours, driver):
    from clickhouse_driver import dbapi

    with dbapi.connect(host="127.0.0.1", port=ours[0]) as connection:
        with connection.cursor() as cursor:
            with pytest.raises(dbapi.ProgrammingError, match="no results to fetch"):
                cursor.fetchall()
            cursor.set_types_check(True)
            with pytest.raises(dbapi.OperationalError, match='for column "a"'):
                cursor.executemany(ROWS, [("x", "a", None)])
            cursor.setinputsizes([1])
            cursor.setoutputsize(5)
            cursor.set_stream_results(True, 10)
            cursor.execute("SELECT number FROM numbers(100)")
            assert cursor.fetchmany(3) == [(0,), (1,), (2,)]
        with pytest.raises(dbapi.InterfaceError, match="cursor already closed"):
            cursor.execute("SELECT 1")


# What clickhouse-connect is asked, and a piece of what it says.
OF_CONNECT = [
    (lambda client: client.insert("misuse", [[1, "a"]]), "column count does not match"),
    (lambda client: client.insert("misuse", [[1]], column_names=["zz"]), "Unrecognized column 'zz'"),
    (lambda client: client.insert("nowhere", [[1]]), "code: 60"),
    (lambda client: client.insert("misuse", [[256, "a", None]]), "column `a`"),
    (lambda client: client.raw_insert("misuse", ["a", "s", "n"], "1,x,2\nzz,y,3\n", fmt="CSV"), "row 2"),
    (lambda client: client.raw_insert("misuse", ["a"], "1", fmt="Nope"), "Unknown format Nope"),
    (lambda client: client.raw_insert("misuse", ["a", "s", "n"], b"no gzip", fmt="CSV", compression="gzip"), "code: 354"),
    (lambda client: client.raw_insert("misuse", ["a", "s", "n"], b"1,x,2", fmt="CSV", compression="nope"), "compression method 'nope'"),
    (lambda client: client.query("SELECT {x:UInt8}", parameters={"x": "zz"}), "query parameter 'x'"),
    (lambda client: client.query("SELECT {x:UInt8}"), "Substitution `x` is not set"),
    (lambda client: client.query("SELECT 1", settings={"nope": 1}), "Unknown setting 'nope'"),
    (lambda client: client.query("SELECT 1", settings={"max_threads": "many"}), "many"),
    (lambda client: client.query("SELECT 1 FORMAT JSON"), "code: 62"),
    (lambda client: client.command("SELECT 1; SELECT 2"), "Multi-statements are not allowed"),
    (lambda client: client.raw_query("SELECT throwIf(number = 5) FROM numbers(10)"), "code: 395"),
    (lambda client: client.command("SELECT count() FROM numbers(1000000000000000)  WHERE sipHash64(number) = 1", settings={"max_execution_time": 0.1}), "code: 159"),
]


@pytest.fixture
def client(ours):
    clickhouse_connect = pytest.importorskip("clickhouse_connect")
    with clickhouse_connect.get_client(host="127.0.0.1", port=ours[1]) as made:
        made.command("CREATE TABLE misuse (a UInt8, s String, n Nullable(Int32)) ENGINE = MergeTree ORDER BY a")
        yield made
        made.command("DROP TABLE misuse")


@pytest.mark.parametrize(("ask", "said"), OF_CONNECT)
def test_clickhouse_connect(client, ask, said):
    with pytest.raises(Exception) as raised:
        ask(client)
    assert said in str(raised.value)
    assert client.command("SELECT count() FROM misuse") == 0


def test_clickhouse_connect_results(client):
    result = client.query("SELECT number AS a, toString(number) AS b FROM numbers(3)")
    assert result.result_columns == [[0, 1, 2], ["0", "1", "2"]]
    assert result.result_set == [(0, "0"), (1, "1"), (2, "2")]
    with client.query_row_block_stream("SELECT number FROM numbers(100)", settings={"max_block_size": 30}) as blocks:
        assert sum(len(block) for block in blocks) == 100
    # Before the first row, or in the midst of them.
    with pytest.raises(Exception, match="395"):
        with client.query_rows_stream("SELECT throwIf(number = 3000000) FROM numbers(4000000)") as rows:
            for _ in rows:
                pass
    client.set_access_token("no token")
    with pytest.raises(Exception, match="Invalid authentication"):
        client.command("SELECT 1")
    client.set_access_token("")
    del client.headers["Authorization"]


def test_asynch(ours, driver):
    asynch = pytest.importorskip("asynch")

    async def asked(sql, args=None):
        async with asynch.Connection(host="127.0.0.1", port=ours[0]) as connection, connection.cursor(echo=True) as cursor:
            cursor.set_types_check(True)
            await cursor.execute(sql, args=args)
            return await cursor.fetchall()

    async def main():
        for arguments, said in (
            ((ROWS, [(1, "a")]), "Expected 3 columns, got 2"),
            ((ROWS, [("x", "a", None)]), 'for column "a"'),
            (("INSERT INTO nowhere VALUES", [(1,)]), "Code: 60"),
            (("SELECT zz",), "Code: 47"),
        ):
            with pytest.raises(Exception) as raised:
                await asked(*arguments)
            assert said in str(raised.value)
        assert await asked("SELECT 1") == [(1,)]

    asyncio.run(main())


def test_aiochclient(ours, driver):
    aiochclient, aiohttp = pytest.importorskip("aiochclient"), pytest.importorskip("aiohttp")

    async def main():
        async with aiohttp.ClientSession() as session:
            client = aiochclient.ChClient(session, url=f"http://127.0.0.1:{ours[1]}/")
            for ask, said in (
                (lambda: client.execute(ROWS, (1, "a")), "column `s`"),
                (lambda: client.execute(ROWS, ("x", "a", None)), "UInt8"),
                (lambda: client.execute("INSERT INTO nowhere VALUES", (1,)), "Code: 60"),
                (lambda: client.execute("SELECT 1", (1,)), "only for INSERT"),
                (lambda: client.insert_file("INSERT INTO misuse FORMAT CSV", b"zz,a,2\n"), "row 1"),
                (lambda: client.fetch("SELECT throwIf(number = 3000000) FROM numbers(4000000)"), "Code: 395"),
                (lambda: client.fetch("SELECT 1; SELECT 2"), "Multi-statements"),
            ):
                with pytest.raises(Exception) as raised:
                    await ask()
                assert said in str(raised.value)
            assert await client.fetchval("SELECT count() FROM misuse") == 0

    asyncio.run(main())


@pytest.mark.parametrize("said", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00\x11ClickHouse client"])
def test_other_protocols_on_the_port_of_http_are_answered(ours, said):
    with socket.create_connection(("127.0.0.1", ours[1]), timeout=patience.LONG) as connection:
        connection.sendall(said)
        answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 400 ")
