"""Who asks a server, as its logs tell it; pages of other sites, which browsers let ask; bodies in the compressions that clients name."""

import bz2
import http.client
import json
import lzma
import zlib

import clickhouse_connect
import clickhouse_driver
import pytest

import chalet
import chalet.server


@pytest.fixture(scope="module")
def server():
    with chalet.server.start() as served:
        yield served


def ask(served, method, target, body=b"", **headers):
    """Status, headers by name in lower case, body."""
    connection = http.client.HTTPConnection("127.0.0.1", served.http_port, timeout=300)
    try:
        connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def rows(served, sql):
    status, _, body = ask(served, "POST", "/?default_format=JSONEachRow", sql.encode())
    assert status == 200, body
    return [json.loads(line) for line in body.splitlines()]


def test_http_clients_are_told(server):
    status, _, _ = ask(server, "GET", "/?query=SELECT+1&query_id=by-get", user_agent="probe/1.0", referer="http://localhost/page", x_forwarded_for="10.0.0.1")
    assert status == 200
    seen = rows(
        server,
        "SELECT type, interface, http_method, http_user_agent, http_referer, forwarded_for, user, toString(address) AS address, port > 0 AS p "
        "FROM system.query_log WHERE query_id = 'by-get' ORDER BY type",
    )
    expected = {
        "interface": "HTTP",
        "http_method": "GET",
        "http_user_agent": "probe/1.0",
        "http_referer": "http://localhost/page",
        "forwarded_for": "10.0.0.1",
        "user": "default",
        "address": "::ffff:127.0.0.1",
        "p": 1,
    }
    assert seen == [{"type": "QueryStart", **expected}, {"type": "QueryFinish", **expected}]
    (me,) = rows(server, "SELECT interface, http_method, user FROM system.processes")
    assert me == {"interface": "HTTP", "http_method": "POST", "user": "default"}
    with clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port) as client:
        agent = client.query("SELECT http_user_agent FROM system.processes").first_row[0]
    assert agent.startswith("clickhouse-connect/")


def test_native_clients_are_told(server):
    client = clickhouse_driver.Client("127.0.0.1", server.tcp_port, client_name="probe")
    asked = "SELECT interface, client_name, client_hostname != '', user, toString(address), client_version_major > 0 FROM system.processes"
    assert client.execute(asked) == [("TCP", "ClickHouse probe", 1, "default", "::ffff:127.0.0.1", 1)]
    client.execute("SELECT 1", query_id="by-tcp")
    logged = "SELECT DISTINCT interface, client_name, http_user_agent FROM system.query_log WHERE query_id = 'by-tcp'"
    assert client.execute(logged) == [("TCP", "ClickHouse probe", "")]
    client.disconnect()


def test_the_program_itself_has_no_caller():
    with chalet.connect() as db:
        asked = db.query("SELECT interface, client_name, http_user_agent FROM system.processes", "CSV").data()
    assert asked == '"Local","chalet",""\n'


def test_statements_that_do_not_parse_are_logged(server):
    ask(server, "POST", "/?query_id=unparsed", b"SELECT (unparsed")
    (entry,) = rows(server, "SELECT type, query, exception_code, query_kind, interface FROM system.query_log WHERE query_id = 'unparsed'")
    assert entry == {"type": "ExceptionBeforeStart", "query": "SELECT (unparsed", "exception_code": 62, "query_kind": "", "interface": "HTTP"}
    with chalet.connect() as db:
        with pytest.raises(chalet.ProgrammingError):
            db.query("SELECT (in_the_program")
        counted = "SELECT count() FROM system.query_log WHERE type = 'ExceptionBeforeStart' AND query = 'SELECT (in_the_program'"
        assert db.query(counted).data() == "1\n"


def test_preflights(server):
    asked = {"access_control_request_method": "POST", "access_control_request_headers": "x-clickhouse-user, authorization"}
    status, headers, body = ask(server, "OPTIONS", "/", origin="http://localhost:3000", **asked)
    assert (status, body) == (204, b"") and "content-length" not in headers
    assert headers["access-control-allow-origin"] == "*" and "POST" in headers["access-control-allow-methods"]
    allowed = headers["access-control-allow-headers"].split(", ")
    assert {"x-clickhouse-user", "x-clickhouse-key", "authorization", "content-type"} <= set(allowed)
    assert ask(server, "OPTIONS", "/", origin="https://example.org", **asked)[0] == 403


def test_pages_may_read_answers(server):
    target = "/?query=SELECT+1&add_http_cors_header=1"
    status, headers, body = ask(server, "GET", target, origin="http://localhost:3000")
    assert (status, body, headers["access-control-allow-origin"]) == (200, b"1\n", "*")
    assert "X-ClickHouse-Query-Id" in headers["access-control-expose-headers"]
    # Errors too, and nobody who is no page.
    status, headers, _ = ask(server, "GET", "/?query=SELECT+(1&add_http_cors_header=1", origin="http://localhost:3000")
    assert (status, headers["access-control-allow-origin"]) == (400, "*")
    assert "access-control-allow-origin" not in ask(server, "GET", target)[1]
    assert "access-control-allow-origin" not in ask(server, "GET", "/?query=SELECT+1", origin="http://localhost:3000")[1]


def test_other_sites_that_are_let_in():
    with chalet.server.start(tcp=None, origins=["https://example.org/"]) as served:
        target = "/?query=SELECT+1&add_http_cors_header=1"
        assert ask(served, "OPTIONS", "/", origin="https://example.org")[0] == 204
        assert ask(served, "GET", target, origin="https://example.org")[0] == 200
        for other in ("https://example.com", "http://example.org", "https://example.org.example.com", "null"):
            assert ask(served, "GET", target, origin=other)[0] == 403
    with chalet.server.start(tcp=None, origins=["*"]) as served:
        assert ask(served, "GET", "/?query=SELECT+1", origin="https://example.com")[0] == 200
    with pytest.raises(TypeError, match="not a string"):
        chalet.server.start(origins="https://example.org")


@pytest.mark.parametrize(("name", "pack", "unpack"), [("xz", lzma.compress, lzma.decompress), ("bz2", bz2.compress, bz2.decompress), ("deflate", zlib.compress, zlib.decompress)])
def test_compressions(server, name, pack, unpack):
    sql = "SELECT sum(number), 'a' FROM numbers(1000)"
    status, headers, body = ask(server, "POST", "/", pack(sql.encode()), content_encoding=name, accept_encoding=name)
    assert (status, headers["content-encoding"], unpack(body)) == (200, name, b"499500\ta\n")


def test_snappy_comes_back_as_it_went(server):
    sql = "SELECT number FROM numbers(50000)"
    status, headers, packed = ask(server, "POST", "/", sql.encode(), accept_encoding="snappy")
    assert (status, headers["content-encoding"]) == (200, "snappy")
    ask(server, "POST", "/", b"CREATE TABLE packed (x UInt64) ENGINE = Memory")
    status, _, body = ask(server, "POST", "/?query=INSERT+INTO+packed+FORMAT+TSV", packed, content_encoding="snappy")
    assert status == 200, body
    assert rows(server, "SELECT count() AS n, sum(x) AS s FROM packed") == [{"n": 50000, "s": 1249975000}]


def test_roles_that_are_not_there(server):
    status, headers, _ = ask(server, "GET", "/?query=SELECT+1&role=admin")
    assert (status, headers["x-clickhouse-exception-code"]) == (500, "511")
