"""What a client of HTTP sees beside the rows: errors in the words of a format, progress in headers, addresses with bad escapes."""

import http.client
import json
import time
import xml.etree.ElementTree

import pytest

import chalet
import chalet.server

FAILS_AT_FIRST = "SELECT number, throwIf(number >= 0) AS res FROM numbers(3)"
# Blocks of one row, and one thread: the rows before the error are there.
FAILS_LATER = "SELECT number, throwIf(number > 1) AS res FROM numbers(5) SETTINGS max_block_size = 1, max_threads = 1"
MESSAGE = "Code: 395. DB::Exception: Value passed to 'throwIf' function is non-zero"


@pytest.fixture(scope="module")
def server():
    with chalet.server.start() as served:
        yield served


def ask(server, target, body=b"", method="POST", headers=None):
    """Status, headers as a list, body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=300)
    try:
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read().decode()
    finally:
        connection.close()


def failed(server, format, sql, more=""):
    target = f"/?http_write_exception_in_output_format=1&default_format={format}{more}"
    status, headers, body = ask(server, target, sql)
    assert (status, dict(headers)["X-ClickHouse-Exception-Code"]) == (500, "395")
    return dict(headers)["Content-Type"], body


@pytest.mark.parametrize("format", ["JSON", "JSONStrings", "JSONCompact", "JSONCompactStrings"])
def test_documents_tell_of_errors(server, format):
    kind, body = failed(server, format, FAILS_AT_FIRST)
    document = json.loads(body)
    assert kind.startswith("application/json") and list(document) == ["meta", "data", "rows", "exception"]
    assert document["rows"] == 0 and document["data"] == [] and document["exception"].startswith(MESSAGE)
    document = json.loads(failed(server, format, FAILS_LATER)[1])
    assert document["rows"] == len(document["data"]) == 2 and document["exception"].startswith(MESSAGE)


def test_lines_tell_of_errors(server):
    lines = failed(server, "JSONEachRow", FAILS_LATER)[1].splitlines()
    assert [json.loads(line).get("number") for line in lines] == [0, 1, None]
    assert lines[2].startswith('{"exception": "Code: 395') and lines[2].endswith('"}')
    lines = failed(server, "JSONCompactEachRow", FAILS_LATER)[1].splitlines()
    assert [len(json.loads(line)) for line in lines] == [2, 2, 1] and lines[2].startswith('["Code: 395')
    lines = failed(server, "JSONEachRowWithProgress", FAILS_LATER)[1].splitlines()
    assert json.loads(lines[-1])["exception"].startswith(MESSAGE)
    rows = json.loads(failed(server, "JSONEachRow", FAILS_LATER, "&output_format_json_array_of_rows=1")[1])
    assert len(rows) == 3 and rows[2]["exception"].startswith(MESSAGE)
    rows = json.loads(failed(server, "JSONObjectEachRow", FAILS_LATER)[1])
    assert list(rows) == ["row_1", "row_2", "exception"]
    assert list(json.loads(failed(server, "JSONObjectEachRow", FAILS_AT_FIRST)[1])) == ["exception"]
    assert json.loads(failed(server, "PrettyJSONEachRow", FAILS_AT_FIRST)[1])["exception"].startswith(MESSAGE)


def test_xml_tells_of_errors(server):
    root = xml.etree.ElementTree.fromstring(failed(server, "XML", FAILS_LATER)[1])
    assert [child.tag for child in root] == ["meta", "data", "rows", "exception"]
    assert root.find("rows").text == "2" and root.find("exception").text.startswith(MESSAGE)


def test_other_formats_and_statements_tell_of_errors_as_text(server):
    assert failed(server, "TabSeparated", FAILS_AT_FIRST) == (
        "text/plain; charset=UTF-8",
        "Code: 395. DB::Exception: Value passed to 'throwIf' function is non-zero. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)\n",
    )
    # Nothing was bound yet: there is no format.
    status, headers, body = ask(server, "/?http_write_exception_in_output_format=1&default_format=JSON", "SELECT nothing")
    assert status == 404 and body.startswith("Code: 47.") and dict(headers)["Content-Type"].startswith("text/plain")
    # Off unless it is asked for.
    assert ask(server, "/?default_format=JSON", FAILS_LATER)[2].startswith(MESSAGE)


def test_an_error_behind_a_long_document_ends_it(server):
    sql = "SELECT number, throwIf(number = 3000000) AS res FROM numbers(4000000) SETTINGS max_threads = 1"
    target = "/?http_write_exception_in_output_format=1&default_format=JSONCompact"
    status, headers, body = ask(server, target, sql)
    document = json.loads(body)
    assert status == 200 and dict(headers)["Transfer-Encoding"] == "chunked"
    assert 0 < document["rows"] == len(document["data"]) <= 3_000_000 and document["exception"].startswith(MESSAGE)


SLOW = "SELECT count(), max(sleepEachRow(0.02)) FROM numbers(20) SETTINGS max_block_size = 1, max_threads = 1"
TELLS = "/?send_progress_in_http_headers=1&http_headers_progress_interval_ms=20"


def progress(headers):
    return [json.loads(value) for name, value in headers if name == "X-ClickHouse-Progress"]


def test_progress_goes_out_in_headers_while_a_statement_runs(server):
    status, headers, body = ask(server, TELLS, SLOW)
    told = [int(one["read_rows"]) for one in progress(headers)]
    assert (status, body) == (200, "20\t0\n") and len(told) > 1 and told == sorted(told) and told[-1] <= 20
    assert dict(headers)["X-ClickHouse-Format"] == "TabSeparated" and "X-ClickHouse-Summary" in dict(headers)
    assert not progress(ask(server, "/", SLOW)[1])
    # It goes out at once, not when all is done.
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=300)
    connection.request("POST", TELLS, SLOW.replace("numbers(20)", "numbers(100)"))
    began = time.monotonic()
    connection.sock.recv(1)
    assert time.monotonic() - began < 1.5
    connection.close()


def test_an_error_behind_progress_has_its_code_in_a_header(server):
    status, headers, body = ask(server, TELLS, SLOW.replace("count()", "throwIf(max(number) = 19)"))
    assert status == 200 and progress(headers) and body.startswith(MESSAGE)
    assert dict(headers)["X-ClickHouse-Exception-Code"] == "395"
    # The connection can be used again.
    assert ask(server, "/", "SELECT 1")[2] == "1\n"


@pytest.mark.parametrize("target", ["/?query=SELECT+1%", "/?query=SELECT+'%zz'", "/?query=SELECT+1&param_x=%2", "/?database=%&query=SELECT+1"])
def test_bad_escapes(server, target):
    status, headers, body = ask(server, target, method="GET")
    assert (status, dict(headers)["X-ClickHouse-Exception-Code"]) == (500, "1000")
    assert body.startswith("Code: 1000. DB::Exception: Bad URI syntax: URI encoding: ")


def test_bad_escapes_of_forms(server):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask(server, "/", "query=SELECT+%271%25%27", headers=form)[2] == "1%\n"
    assert ask(server, "/", "query=SELECT+'1%'", headers=form)[2].startswith("Code: 1000.")
    # A statement that a client calls a form is a statement.
    assert ask(server, "/", "SELECT '1%'", headers=form)[2] == "1%\n"


@pytest.mark.parametrize("form", ["rows", "columns"])
def test_the_last_of_many_rows_does_not_fit(server, form):
    """Nothing is sent: what was good before it is not there either."""
    with chalet.connect(f"clickhouse://127.0.0.1:{server.tcp_port}") as remote:
        remote.execute(f"CREATE TABLE last_{form} (n UInt32, s String) ENGINE = MergeTree ORDER BY n")
        n_rows = 200_000
        numbers, texts = [*range(n_rows - 1), "no number"], ["text"] * n_rows
        given = list(zip(numbers, texts)) if form == "rows" else {"n": numbers, "s": texts}
        with pytest.raises(chalet.DataError) as raised:
            remote.insert_rows(f"INSERT INTO last_{form} VALUES", given)
        assert raised.value.code == 6
        assert remote.query(f"SELECT count() FROM last_{form}").fetchall() == [(0,)]
        # The same many rows that fit are all there.
        if form == "rows":
            given[-1] = (7, "text")
        else:
            given["n"][-1] = 7
        assert remote.insert_rows(f"INSERT INTO last_{form} VALUES", given) == n_rows
        assert remote.query(f"SELECT count(), max(n) FROM last_{form}").fetchall() == [(n_rows, n_rows - 2)]
