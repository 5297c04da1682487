"""`chalet.server`: clients of ClickHouse's servers over HTTP and the native protocol."""

import asyncio
import base64
import datetime
import decimal
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import patience
import pytest

import chalet
import chalet.server


@pytest.fixture(scope="module")
def database():
    with chalet.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def server(database):
    with chalet.server.start(database) as served:
        yield served


@pytest.fixture(scope="module")
def command_line(server):
    """Runs Debian's own clickhouse-client: its exit status, what it prints, what it says of errors."""
    script = pathlib.Path(__file__).parents[2] / "tools" / "clickhouse-server"
    if subprocess.run([script, "install"], capture_output=True).returncode:
        assert not os.environ.get("CHALET_NEED_CLICKHOUSE"), "no clickhouse-client could be installed"
        pytest.skip("no clickhouse-client can be installed here")

    def run(*arguments, data=""):
        command = [script, "client", "--host", "127.0.0.1", "--port", str(server.tcp_port), *arguments]
        ended = subprocess.run(command, input=data, capture_output=True, text=True, timeout=300)
        return ended.returncode, ended.stdout, ended.stderr

    return run


def ask(server, sql=None, data=b"", headers=None, **parameters):
    if sql is not None:
        parameters["query"] = sql
    url = f"http://127.0.0.1:{server.http_port}/?{urllib.parse.urlencode(parameters)}"
    request = urllib.request.Request(url, data=data, headers=headers or {}, method="POST")
    with urllib.request.urlopen(request, timeout=300) as response:
        return response.read()


def code(server, *arguments, **parameters):
    with pytest.raises(urllib.error.HTTPError) as raised:
        ask(server, *arguments, **parameters)
    with raised.value as response:
        assert response.read().startswith(b"Code: ")
        return int(response.headers["X-ClickHouse-Exception-Code"])


def test_the_database_of_a_connection_is_served(database, server):
    assert repr(server) == f"<chalet.server.Server http={server.http_port} tcp={server.tcp_port}>" and server.host == "127.0.0.1"
    database.query("CREATE TABLE shared (n UInt32, s String) ENGINE = Memory")
    ask(server, "INSERT INTO shared FORMAT CSV", b"1,a\n2,b\n")
    assert database.cursor().execute("SELECT * FROM shared ORDER BY n").fetchall() == ((1, "a"), (2, "b"))
    database.query("INSERT INTO shared VALUES (3, 'c')")
    assert json.loads(ask(server, "SELECT sum(n) AS n FROM shared", default_format="JSONEachRow")) == {"n": 6}
    database.query("DROP TABLE shared")


def test_parameters_sessions_and_compression(server):
    assert ask(server, "SELECT {a:Array(String)}, {d:Date}", param_a="['x']", param_d="2024-01-02") == b"['x']\t2024-01-02\n"
    ask(server, "CREATE TEMPORARY TABLE kept AS SELECT 7 AS x", session_id="s")
    assert ask(server, "SELECT x FROM kept", session_id="s") == b"7\n"
    assert code(server, "SELECT x FROM kept") == 60
    packed = ask(server, "SELECT number FROM numbers(1000)", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed).count(b"\n") == 1000
    assert ask(server, data=gzip.compress(b"SELECT 5"), headers={"Content-Encoding": "gzip"}) == b"5\n"


def test_python_is_not_reached_by_clients(database, server):
    frame = {"x": [1]}  # noqa: F841
    assert code(server, "SELECT * FROM frame") == 60
    assert code(server, "SELECT * FROM Python(frame)") != 0
    assert code(server, "SELECT * FROM file('/etc/passwd', 'LineAsString')") == 497


def test_python_functions_run_for_clients(database, server):
    chalet.create_function("shouted", lambda text: text.upper() + "!", ["String"], "String")
    try:
        assert ask(server, "SELECT shouted('hey')") == b"HEY!\n"
    finally:
        chalet.drop_function("shouted")


def test_files_of_a_folder(tmp_path):
    (tmp_path / "a.csv").write_text("1\n2\n")
    with chalet.server.start(files=tmp_path) as server:
        assert ask(server, "SELECT sum(c1) FROM file('a.csv')") == b"3\n"
        assert code(server, "SELECT * FROM file('../a.csv')") == 291


def test_a_path_is_opened_and_closed(tmp_path):
    path = tmp_path / "db"
    with chalet.server.start(path) as server:
        ask(server, "CREATE TABLE t (x UInt8) ENGINE = Log")
        ask(server, "INSERT INTO t VALUES (1)")
        server.stop()
        with pytest.raises(urllib.error.URLError):
            ask(server, "SELECT 1")
    with chalet.connect(path) as connection:
        assert connection.query("SELECT x FROM t").data() == "1\n"


def test_users(tmp_path):
    file = tmp_path / "users.toml"
    file.write_text(
        """
        [users.default]
        password = "secret"
        [users.reader]
        password_sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        readonly = true
        """
    )
    with chalet.server.start(users=file) as server:
        assert code(server, "SELECT 1") == 516
        assert ask(server, "SELECT currentUser()", password="secret") == b"default\n"
        basic = "Basic " + base64.b64encode(b"reader:secret").decode()
        assert ask(server, "SELECT currentUser()", headers={"Authorization": basic}) == b"reader\n"
        assert code(server, "CREATE TABLE t (x UInt8) ENGINE = Memory", headers={"Authorization": basic}) == 164
        # Nobody sees what others ask.
        for log in ("query_log", "processes", "user_query_log"):
            users = f"SELECT DISTINCT user FROM system.{log}"
            assert ask(server, users, headers={"Authorization": basic}) == b"reader\n"
            assert ask(server, users, password="secret") == b"default\n"
        with chalet.connect() as owner:
            seen = owner.query("SELECT DISTINCT user FROM system.query_log ORDER BY user", "TSV").data()
            assert "default" in seen and "reader" in seen
    for users, message in [
        ({"a": {}}, "one of password"),
        ({"a": {"password": "", "pass": 1}}, "unknown pass"),
        ({"a": {"password": "x", "readonly": 3}}, "readonly is"),
        ({"a": {"password": 1}}, "a password is a text"),
        ({"a": {"password": "x", "files": 5}}, "User a: files is the path"),
        ({"a": None}, "User a: a name is a text"),
        ({5: {"password": "x"}}, "User 5: a name is a text"),
        ({}, "of one at least"),
        ([("a", {})], "a dict by name"),
    ]:
        with pytest.raises(ValueError, match=message):
            chalet.server.start(users=users)
    for text, message in [("[users.a", "users.toml: Expected"), ("[users.a]\n[users.a]", "users.toml: Cannot declare"), ("", "users.toml: tables"), ("[users]", "of one at least")]:
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            chalet.server.start(users=file)
    file.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="users.toml: "):
        chalet.server.start(users=file)
    for wrong in ({"http": 70000}, {"tcp": -1}, {"max_connections": 0}):
        with pytest.raises(ValueError, match="not -?[0-9]+"):
            chalet.server.start(**wrong)
    for folder in (file, tmp_path / "nowhere"):
        with pytest.raises(chalet.Error, match="Cannot open folder"):
            chalet.server.start(files=folder)
    with pytest.raises(chalet.Error, match="64 hexadecimal digits"):
        chalet.server.start(users={"a": {"password_sha256": "12"}})
    with pytest.raises(chalet.Error, match="REQUIRED_PASSWORD"):
        chalet.server.start(host="0.0.0.0")
    with pytest.raises(chalet.Error, match="must be an IP address"):
        chalet.server.start(host="somewhere")


def test_it_is_ready_at_once():
    def took():
        started = time.perf_counter()
        with chalet.server.start() as server:
            assert ask(server, "SELECT 1") == b"1\n"
            return time.perf_counter() - started

    patience.in_time(0.1, took, tries=50)


def test_statements_are_stopped(database):
    server = chalet.server.start(database)
    outcome = []
    sql = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"
    client = threading.Thread(target=lambda: outcome.append(code(server, sql)))
    client.start()
    patience.until(lambda: b"ClickHouseMetrics_Query 1\n" in urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics").read())
    started = time.monotonic()
    server.stop()
    server.stop()
    client.join()
    # It would take hours.
    assert outcome == [394] and time.monotonic() - started < 60
    assert database.query("SELECT 1").data() == "1\n"


def test_a_forked_child_has_no_server(server):
    child = os.fork()
    if child == 0:
        try:
            server.stop()
        except chalet.Error:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert ask(server, "SELECT 1") == b"1\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_program(tmp_path, number):
    command = [sys.executable, "-m", "chalet", "server", str(tmp_path / "db"), "--http", "0", "--tcp", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        line = program.stdout.readline()
        port = urllib.parse.urlsplit(line.strip()).port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/?query=SELECT+1") as response:
            assert response.read() == b"1\n"
        program.send_signal(number)
        assert program.wait(patience.LONG) == 0 and program.stdout.read().startswith("clickhouse://127.0.0.1:")
    refused = subprocess.run([*command, "--host", "0.0.0.0"], capture_output=True, text=True, timeout=300)
    assert refused.returncode == 1 and "REQUIRED_PASSWORD" in refused.stderr


def test_a_program_ends_with_a_server_that_runs():
    text = """
import threading, time, urllib.request, chalet.server
server = chalet.server.start()
url = f"http://127.0.0.1:{server.http_port}/?query=SELECT+count()+FROM+numbers(1000000000000)+WHERE+sipHash64(number)=1"
def ask():
    try:
        urllib.request.urlopen(url)
    except Exception:
        pass
threading.Thread(target=ask, daemon=True).start()
time.sleep(0.3)
"""
    started = time.monotonic()
    assert subprocess.run([sys.executable, "-c", text], timeout=300).returncode == 0
    assert time.monotonic() - started < 120


@pytest.fixture
def client(server):
    clickhouse_connect = pytest.importorskip("clickhouse_connect")
    made = clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port)
    yield made
    made.close()


ROW = (
    5,
    -3,
    1.5,
    "x",
    None,
    datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, 3, 4, 5),
    decimal.Decimal("1.50"),
    uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    ["a", "b"],
    {"k": 1},
    (1, "y"),
    "low",
    True,
)
COLUMNS = (
    "a UInt64, b Int8, c Float64, d String, e Nullable(String), f Date, g DateTime('UTC'), h Decimal(9, 2), i UUID, j Array(String), "
    "k Map(String, UInt8), l Tuple(UInt8, String), m LowCardinality(String), n Bool"
)


def test_clickhouse_connect_reads_and_writes(client):
    client.command(f"CREATE TABLE typed ({COLUMNS}) ENGINE = Memory")
    try:
        assert client.insert("typed", [ROW, ROW]).written_rows == 2
        rows = client.query("SELECT * FROM typed").result_rows
        assert [tuple(v.replace(tzinfo=None) if isinstance(v, datetime.datetime) else v for v in row) for row in rows] == [ROW, ROW]
        assert client.command("SELECT count() FROM typed") == 2
    finally:
        client.command("DROP TABLE typed")


def test_clickhouse_connect_frames_streams_and_parameters(client):
    pandas = pytest.importorskip("pandas")
    frame = client.query_df("SELECT number AS n, toString(number) AS s FROM numbers(1000)")
    assert frame.n.sum() == 499500 and list(frame.s[:2]) == ["0", "1"]
    assert client.query_arrow("SELECT number FROM numbers(10)").num_rows == 10
    client.command("CREATE TABLE framed (n UInt64, s String) ENGINE = Memory")
    try:
        client.insert_df("framed", pandas.DataFrame({"n": [1, 2], "s": ["x", "y"]}))
        assert client.query("SELECT sum(n), max(s) FROM framed").first_row == (3, "y")
    finally:
        client.command("DROP TABLE framed")
    with client.query_rows_stream("SELECT number FROM numbers(500000)") as rows:
        assert sum(row[0] for row in rows) == 124999750000
    assert client.query("SELECT {n:Int32}, {s:String}", parameters={"n": 5, "s": "it's\t\\"}).first_row == (5, "it's\t\\")
    assert client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 99}).first_row == (99,)
    assert client.raw_query("SELECT 1", fmt="CSV") == b"1\n"


def test_clickhouse_connect_errors(client):
    from clickhouse_connect.driver.exceptions import DatabaseError

    with pytest.raises(DatabaseError, match="UNKNOWN_TABLE"):
        client.query("SELECT * FROM nowhere")
    with pytest.raises(Exception, match="too far"):
        client.query("SELECT number, throwIf(number = 3000000, 'too far') FROM numbers(4000000) SETTINGS max_threads = 1")
    assert client.ping() and client.query("SELECT 1").first_row == (1,)


def test_aiochclient(server):
    aiochclient = pytest.importorskip("aiochclient")
    import aiohttp

    async def talk():
        async with aiohttp.ClientSession() as session:
            client = aiochclient.ChClient(session, url=f"http://127.0.0.1:{server.http_port}/", compress_response=True)
            assert await client.is_alive()
            await client.execute("CREATE TABLE async_rows (n UInt32, s String, d Nullable(Date)) ENGINE = Memory")
            await client.execute("INSERT INTO async_rows VALUES", (1, "it's", datetime.date(2024, 1, 2)), (2, "b", None))
            rows = await client.fetch("SELECT * FROM async_rows ORDER BY n")
            assert [tuple(row.values()) for row in rows] == [(1, "it's", datetime.date(2024, 1, 2)), (2, "b", None)]
            assert await client.fetchval("SELECT count() FROM async_rows") == 2
            assert [row["n"] async for row in client.iterate("SELECT n FROM async_rows ORDER BY n")] == [1, 2]
            with pytest.raises(aiochclient.ChClientError, match="UNKNOWN_IDENTIFIER"):
                await client.fetch("SELECT nothing")
            await client.execute("DROP TABLE async_rows")

    asyncio.run(talk())


@pytest.fixture
def driver(server):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    with clickhouse_driver.Client("127.0.0.1", port=server.tcp_port) as made:
        yield made


@pytest.mark.parametrize("compression", [False, "lz4", "zstd"])
def test_clickhouse_driver_reads_and_writes(server, compression):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    if compression:
        pytest.importorskip("clickhouse_cityhash")
        pytest.importorskip("lz4" if compression == "lz4" else "zstd")
    with clickhouse_driver.Client("127.0.0.1", port=server.tcp_port, compression=compression) as driver:
        driver.execute(f"CREATE TABLE typed ({COLUMNS}) ENGINE = Memory")
        try:
            assert driver.execute("INSERT INTO typed VALUES", [ROW] * 3) == 3
            assert driver.execute("INSERT INTO typed (a, d) VALUES", [{"a": 6, "d": "z"}]) == 1
            rows = driver.execute("SELECT * FROM typed WHERE a = 5")
            plain = [tuple(v.replace(tzinfo=None) if isinstance(v, datetime.datetime) else v for v in row) for row in rows]
            assert plain == [ROW] * 3
            assert driver.execute("SELECT count(), sum(a) FROM typed") == [(4, 21)]
        finally:
            driver.execute("DROP TABLE typed")


def test_clickhouse_driver_programs(driver):
    assert driver.execute("SELECT 1, 'x'", with_column_types=True) == ([(1, "x")], [("1", "UInt8"), ("'x'", "String")])
    assert sum(row[0] for row in driver.execute_iter("SELECT number FROM numbers(300000)")) == 44999850000
    assert driver.execute("SELECT %(a)s, %(b)s", {"a": 5, "b": "it's"}) == [(5, "it's")]
    assert driver.execute("SELECT getSetting('max_block_size')", settings={"max_block_size": 77}) == [(77,)]
    driver.execute("CREATE TEMPORARY TABLE kept AS SELECT 7 AS x")
    assert driver.execute("SELECT x FROM kept") == [(7,)]
    driver.execute("SET max_block_size = 5")
    assert driver.execute("SELECT getSetting('max_block_size')") == [(5,)]
    external = [{"name": "given", "structure": [("x", "Int32"), ("s", "String")], "data": [{"x": 1, "s": "a"}, {"x": 2, "s": "b"}]}]
    assert driver.execute("SELECT sum(x), max(s) FROM given", external_tables=external) == [(3, "b")]
    with pytest.raises(Exception, match="given"):
        driver.execute("SELECT * FROM given")
    progress = driver.execute_with_progress("SELECT sum(number) FROM numbers(1000000)")
    assert progress.get_result() == [(499999500000,)]
    assert driver.execute("INSERT INTO FUNCTION null('x UInt8') VALUES (1)") is not None
    sql = "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k"
    assert driver.execute(sql) == [(0, 3), (1, 2), (0, 5)]
    client = type(driver)("127.0.0.1", port=driver.connection.port, settings={"server_side_params": True})
    assert client.execute("SELECT {a:String}, {b:UInt8}", {"a": "it's\t\\", "b": 5}) == [("it's\t\\", 5)]
    client.disconnect()


def test_clickhouse_driver_frames(server):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    pandas = pytest.importorskip("pandas")
    with clickhouse_driver.Client("127.0.0.1", port=server.tcp_port, settings={"use_numpy": True}) as driver:
        frame = driver.query_dataframe("SELECT number AS n, toString(number) AS s FROM numbers(1000)")
        assert frame.n.sum() == 499500
        driver.execute("CREATE TABLE driven (n Int64, s String) ENGINE = Memory")
        try:
            assert driver.insert_dataframe("INSERT INTO driven VALUES", pandas.DataFrame({"n": [1, 2], "s": ["x", "y"]}).astype({"s": object})) == 2
            assert driver.execute("SELECT sum(n) FROM driven")[0][0] == 3
        finally:
            driver.execute("DROP TABLE driven")


def test_clickhouse_driver_errors_and_cancel(server, driver):
    from clickhouse_driver import errors

    for sql, number in [("SELECT nothing", 47), ("SELEC 1", 62), ("SELECT * FROM nowhere", 60), ("INSERT INTO nowhere VALUES", 60)]:
        with pytest.raises(errors.ServerException) as raised:
            driver.execute(sql, [] if sql.startswith("INSERT") else None)
        assert raised.value.code == number
        assert driver.execute("SELECT 1") == [(1,)]
    driver.execute("CREATE TABLE narrow (x UInt8) ENGINE = Memory")
    try:
        with pytest.raises(errors.ServerException):
            driver.execute("INSERT INTO narrow SELECT throwIf(number = 5) FROM numbers(10)")
    finally:
        driver.execute("DROP TABLE narrow")
    rows = driver.execute_iter("SELECT number FROM numbers(100000000000)", chunk_size=10)
    next(rows)
    started = time.monotonic()
    driver.cancel()
    assert time.monotonic() - started < 60
    assert driver.execute("SELECT 1") == [(1,)]
    with pytest.raises(errors.ServerException) as raised:
        type(driver)("127.0.0.1", port=server.tcp_port, user="nobody").execute("SELECT 1")
    assert raised.value.code == 516


def test_asynch(server):
    asynch = pytest.importorskip("asynch")

    async def talk():
        connection = asynch.Connection(host="127.0.0.1", port=server.tcp_port, user="default", database="default")
        await connection.connect()
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT number, toString(number) FROM numbers(3)")
            assert await cursor.fetchall() == [(0, "0"), (1, "1"), (2, "2")]
            await cursor.execute("CREATE TABLE asynched (n UInt32, s String) ENGINE = Memory")
            await cursor.execute("INSERT INTO asynched (n, s) VALUES", [(1, "a"), (2, "b")])
            await cursor.execute("SELECT sum(n) FROM asynched")
            assert await cursor.fetchone() == (3,)
            await cursor.execute("DROP TABLE asynched")
            with pytest.raises(Exception, match="nothing"):
                await cursor.execute("SELECT nothing")
        await connection.close()

    asyncio.run(talk())


def test_our_own_client(server):
    with chalet.connect(f"clickhouse://default@127.0.0.1:{server.tcp_port}/default") as connection:
        assert connection.query("SELECT sum(number) FROM numbers(10)").data() == "45\n"
        connection.query("CREATE TABLE ours (n UInt32, s Nullable(String)) ENGINE = Memory")
        connection.insert_rows("INSERT INTO ours VALUES", [(1, "a"), (2, None)])
        assert connection.cursor().execute("SELECT * FROM ours ORDER BY n").fetchall() == ((1, "a"), (2, None))
        connection.query("DROP TABLE ours")


def test_http_on_the_other_port(server):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.tcp_port}/")


def test_the_page_to_write_sql_in(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/play") as response:
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"] and b"<textarea" in response.read()


def test_docs_name_what_there_is():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "server.md").read_text()
    for word in ("--http", "--tcp", "--host", "--users", "--files", "password_sha256", "readonly", "chalet.server.start"):
        assert word in page


def test_the_client_of_clickhouse(command_line):
    """The program of the oldest release that is still in distributions."""
    assert command_line("--query", "SELECT 1 + 1, [1, 2], 'ä', toDate('2020-02-29')") == (0, "2\t[1,2]\tä\t2020-02-29\n", "")
    assert command_line("--query", "CREATE TABLE lines (a UInt32, s String, n Nullable(Float64)) ENGINE = MergeTree ORDER BY a")[0] == 0
    assert command_line("--query", "INSERT INTO lines FORMAT CSV", data='2,"y",2.5\n1,"x",\\N\n') == (0, "", "")
    assert command_line("--query", "SELECT * FROM lines ORDER BY a") == (0, "1\tx\t\\N\n2\ty\t2.5\n", "")
    totals = "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k LIMIT 1"
    assert command_line("--compression", "0", "--query", totals) == (0, "0\t3\n\n0\t5\n", "")
    assert command_line("--multiquery", data="SELECT number FROM numbers(300000) FORMAT Null; SELECT 'a' WHERE 0;") == (0, "", "")
    # It sends these rows in the text of the statement and once more behind it. A line ends them.
    several = "INSERT INTO lines VALUES (3, 'z', 0), (4, 'w', NULL)\n; SELECT a, s FROM lines WHERE a > 2 ORDER BY a"
    assert command_line("--multiquery", "--query", several) == (0, "3\tz\n4\tw\n", "")


def test_errors_in_the_client_of_clickhouse(command_line):
    # Its exit status is the code, modulo 256.
    for sql, code in [("SELECT * FROM nosuch", 60), ("SELECT throwIf(number = 200000) FROM numbers(300000)", 395), ("SELEC 1 1", 62)]:
        status, printed, said = command_line("--query", sql, "--format", "Null")
        assert (status, printed) == (code % 256, "") and f"Code: {code}. " in said
    assert "Code: 516. " in command_line("--user", "nobody", "--query", "SELECT 1")[2]
