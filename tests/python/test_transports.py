"""The four ways to a server: the native protocol and HTTP, with TLS and without, each with our own server and the two without with a
real one (18.16)."""

import asyncio
import datetime
import urllib.error
import urllib.request

import clickhouse
import pytest
import tls

import chalet
import chalet.aio
import chalet.server

SCHEMES = ("clickhouse", "clickhouses", "http", "https")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return tls.certificate(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def own(certificate):
    cert, key = certificate
    users = {"default": {"password": ""}, "alice": {"password": "sécret"}, "reader": {"password": "", "readonly": 1}}
    with chalet.server.start(https=0, tcp_secure=0, certificate=cert, key=key, users=users) as server:
        yield server


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    with clickhouse.started_with_http(tmp_path_factory.mktemp("server")) as ports:
        yield ports


def url_of(scheme, own, certificate, user="default", options=""):
    port = {
        "clickhouse": own.tcp_port,
        "clickhouses": own.tcp_secure_port,
        "http": own.http_port,
        "https": own.https_port,
    }[scheme]
    trust = f"&ca_cert={certificate[0]}" if scheme.endswith("s") else ""
    return f"{scheme}://{user}@localhost:{port}/?pool_size=3{trust}{options}"


@pytest.fixture(params=[*SCHEMES, "clickhouse 18.16", "http 18.16"])
def url(request, own, certificate):
    scheme, *is_real = request.param.split()
    if not is_real:
        return url_of(scheme, own, certificate)
    tcp, http = request.getfixturevalue("real")
    return f"{scheme}://127.0.0.1:{http if scheme == 'http' else tcp}/?pool_size=3"


@pytest.fixture
def db(url):
    with chalet.connect(url) as connection:
        yield connection


def test_rows_of_every_kind(db, request):
    cursor = db.cursor().execute(
        "SELECT number AS n, toString(number) AS s, number / 4 AS x, toDateTime('2018-12-21 10:00:00', 'Asia/Tokyo') AS at,"
        " if(number % 2, NULL, toInt32(number)) AS m, toDate('2018-12-21') + number AS d, [number] AS a FROM numbers(3) ORDER BY n"
    )
    assert [column[0] for column in cursor.description] == ["n", "s", "x", "at", "m", "d", "a"]
    rows = cursor.fetchall()
    assert [row[:3] for row in rows] == [(0, "0", 0.0), (1, "1", 0.25), (2, "2", 0.5)]
    assert [row[4] for row in rows] == [0, None, 2] and rows[1][5:] == (datetime.date(2018, 12, 22), [1])
    if "http 18.16" in request.node.name:
        # Over HTTP it names no zones: the server's is meant.
        return
    assert rows[0][3].astimezone(datetime.timezone.utc) == datetime.datetime(2018, 12, 21, 1, tzinfo=datetime.timezone.utc)


def test_formats_are_written_here(db):
    assert db.query("SELECT 1 AS a, 'x' AS b FORMAT CSVWithNames").data() == '"a","b"\n1,"x"\n'
    assert db.query("SELECT 1 AS a", "JSONEachRow").data() == '{"a":1}\n'
    assert db.query("SELECT 2 SETTINGS max_threads = 1 FORMAT TSV").data() == "2\n"


def test_results_without_rows_have_columns(db):
    cursor = db.cursor().execute("SELECT number AS n, toString(number) AS s FROM numbers(10) WHERE number > 20")
    assert [column[0] for column in cursor.description] == ["n", "s"] and cursor.fetchall() == ()
    assert db.query("SELECT toUInt8(1) AS a WHERE 0", "TSVWithNamesAndTypes").data() == "a\nUInt8\n"


def test_large_results(db):
    (sums,) = db.cursor().execute("SELECT count(), sum(n), sum(length(s)) FROM (SELECT number AS n, toString(number) AS s FROM numbers(300000))").fetchall()
    cursor = db.cursor().execute("SELECT number, toString(number) FROM numbers(300000)")
    rows = cursor.fetchall()
    assert (len(rows), sum(row[0] for row in rows), sum(len(row[1]) for row in rows)) == sums
    chunks = [chunk.data() for chunk in db.send_query("SELECT number FROM numbers(200000)", "TSV")]
    assert sum(chunk.count("\n") for chunk in chunks) == 200000


def test_inserts(db):
    db.query("DROP TABLE IF EXISTS t")
    db.query("CREATE TABLE t (n UInt64, s String, d Date, x Nullable(Float64)) ENGINE = Log")
    rows = [(i, f"it's {i}", datetime.date(2020, 1, 1 + i % 28), None if i % 3 else i / 8) for i in range(1000)]
    db.executemany("INSERT INTO t VALUES", rows)
    assert db.cursor().execute("SELECT * FROM t ORDER BY n").fetchall() == tuple(rows)
    with db.send_insert("INSERT INTO t (n, s)", "CSV") as inserter:
        for i in range(1000, 3000):
            inserter.append(f'{i},"a"\n')
        assert inserter.finish().rows_written == 2000
    assert db.query("SELECT count(), sum(n), countIf(s = 'a'), max(toString(d)) FROM t WHERE n >= 1000").data() in (
        '2000,3999000,2000,"1970-01-01"\n', '2000,3999000,2000,"0000-00-00"\n'
    )
    db.query("INSERT INTO t (n, s) FORMAT TSV\n7000\tx\n7001\ty\n")
    assert db.execute("SELECT groupArray(s) FROM (SELECT s FROM t WHERE n >= 7000 ORDER BY n)").fetchone() == (["x", "y"],)
    with pytest.raises(chalet.Error, match="no_such_table"):
        db.executemany("INSERT INTO no_such_table VALUES", [(1,)])
    assert db.execute("SELECT 1").fetchone() == (1,)
    db.query("DROP TABLE t")


def test_errors_before_and_amid_rows(db):
    with pytest.raises(chalet.Error, match="no_such_column"):
        db.query("SELECT no_such_column")
    # Rows are on their way when it fails.
    for end in (200_000, 3_000_000):
        with pytest.raises(chalet.Error, match="non.zero"):
            db.query(f"SELECT number, toString(number), throwIf(number = {end}) FROM numbers({end + 1}) SETTINGS max_block_size = 1000")
    assert db.execute("SELECT 1").fetchone() == (1,)


def test_what_is_set_stays_set(db):
    db.query("SET max_block_size = 7")
    assert db.execute("SELECT max(blockSize()) FROM numbers(100)").fetchone() == (7,)
    db.query("CREATE DATABASE IF NOT EXISTS elsewhere")
    try:
        db.query("USE elsewhere")
        assert db.execute("SELECT currentDatabase()").fetchone() == ("elsewhere",)
    finally:
        db.query("USE default")
        db.query("DROP DATABASE elsewhere")


def test_asyncio(url):
    async def main():
        async with chalet.aio.connect(url) as db:
            texts = [db.query(f"SELECT count() + {i}, sum(number) FROM numbers(100000)", "TSV") for i in range(8)]
            found = [result.data() for result in await asyncio.gather(*texts)]
            assert found == [f"{100000 + i}\t4999950000\n" for i in range(8)]
            await db.query("DROP TABLE IF EXISTS at")
            await db.query("CREATE TABLE at (n UInt64, s String) ENGINE = Log")
            await db.executemany("INSERT INTO at VALUES", [(i, str(i)) for i in range(50000)])
            assert (await db.query("SELECT count(), sum(n) FROM at", "TSV")).data() == "50000\t1249975000\n"
            with pytest.raises(chalet.Error, match="non.zero"):
                await db.query("SELECT throwIf(number = 200000) FROM numbers(200001) SETTINGS max_block_size = 1000")
            n = 0
            async with db.send_query("SELECT number, toString(number) FROM numbers(300000)", "TSV") as stream:
                async for chunk in stream:
                    n += chunk.data().count("\n")
            assert n == 300000
            await db.query("DROP TABLE at")

    asyncio.run(main())


def test_parameters(own, certificate):
    for scheme in SCHEMES:
        with chalet.connect(url_of(scheme, own, certificate)) as db:
            assert db.query("SELECT {x:String}, {n:UInt8} + 1", "JSONCompactEachRow", params={"x": "é&b", "n": 41}).data() == '["é&b", 42]\n'


def test_passwords(own, certificate):
    for scheme in SCHEMES:
        with chalet.connect(url_of(scheme, own, certificate, "alice:s%C3%A9cret")) as db:
            assert db.execute("SELECT currentUser()").fetchone() == ("alice",)
        with pytest.raises(chalet.Error, match="516|AUTHENTICATION_FAILED"):
            chalet.connect(url_of(scheme, own, certificate, "alice:wrong"))
        with chalet.connect(url_of(scheme, own, certificate, "reader")) as db, pytest.raises(chalet.Error, match="(?i)readonly"):
            db.query("CREATE TABLE no (x UInt8) ENGINE = Memory")


def test_who_is_trusted(own, certificate, tmp_path):
    for scheme, port in (("clickhouses", own.tcp_secure_port), ("https", own.https_port)):
        with pytest.raises(chalet.Error, match="certificate verify failed"):
            chalet.connect(f"{scheme}://localhost:{port}?ca_cert={tls.certificate(tmp_path, 'other')[0]}")
        with chalet.connect(f"{scheme}://localhost:{port}?verify=0") as db:
            assert db.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(chalet.Error, match="certificate verify failed"):
            chalet.connect(f"{scheme}://localhost:{port}?ca_cert={certificate[0]}&server_host_name=elsewhere")
        with pytest.raises(chalet.Error, match="no/such/file"):
            chalet.connect(f"{scheme}://localhost:{port}?ca_cert=/no/such/file")
    with chalet.connect(f"clickhouse://localhost:{own.tcp_secure_port}?secure=1&verify=0") as db:
        assert db.execute("SELECT 1").fetchone() == (1,)
    for url in (f"clickhouses://localhost:{own.tcp_port}?verify=0", f"clickhouse://localhost:{own.tcp_secure_port}?connect_timeout=5"):
        with pytest.raises(chalet.Error):
            chalet.connect(url)


def test_other_programs_over_tls(own, certificate):
    import ssl

    context = ssl.create_default_context(cafile=certificate[0])
    with urllib.request.urlopen(f"https://localhost:{own.https_port}/?query=SELECT+42", context=context) as answer:
        assert answer.read() == b"42\n"
    with pytest.raises(urllib.error.URLError, match="(?i)verify"):
        urllib.request.urlopen(f"https://localhost:{own.https_port}/")
    driver = pytest.importorskip("clickhouse_driver")
    client = driver.Client("localhost", port=own.tcp_secure_port, secure=True, ca_certs=str(certificate[0]))
    assert client.execute("SELECT sum(number) FROM numbers(1000000)") == [(499999500000,)]
    client.disconnect()
    connect = pytest.importorskip("clickhouse_connect")
    client = connect.get_client(host="localhost", port=own.https_port, secure=True, ca_cert=str(certificate[0]))
    assert client.query("SELECT number FROM numbers(100000)").row_count == 100000
    client.close()


def test_certificates_that_cannot_be_used(certificate, tmp_path):
    cert, key = certificate
    _, other = tls.certificate(tmp_path, "other")
    with pytest.raises(chalet.Error, match="Cannot use certificate"):
        chalet.server.start(tcp_secure=0, certificate=cert, key=other)
    with pytest.raises(chalet.Error, match="Cannot read a certificate"):
        chalet.server.start(tcp_secure=0, certificate=tmp_path / "none", key=key)
    with pytest.raises(chalet.Error, match="needs a certificate"):
        chalet.server.start(tcp_secure=0)
    with pytest.raises(ValueError, match="together"):
        chalet.server.start(tcp_secure=0, certificate=cert)
