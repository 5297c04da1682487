"""What clients of the native protocol and of HTTP say, cut at every byte and with flipped bits: the server answers, or ends the connection, does
not hang, writes nothing of an INSERT that is not whole, and goes on with others."""

import random
import socket
import threading

import patience
import pytest

import chalet
import chalet.server

driver = pytest.importorskip("clickhouse_driver")
# Seconds without a byte after which a server is said to hang.
PATIENCE = patience.LONG


class Recorder:
    """Passes bytes on and keeps what a client has said, in pieces between which the server has spoken."""

    def __init__(self, port):
        self.to, self.pieces = port, [b""]
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.spoke = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with self.listener:
            client, _ = self.listener.accept()
        with client, socket.create_connection(("127.0.0.1", self.to)) as server:
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                if self.spoke:
                    self.pieces.append(b"")
                    self.spoke = False
                self.pieces[-1] += data
                server.sendall(data)

    def _answers(self, server, client):
        try:
            while data := server.recv(65536):
                self.spoke = True
                client.sendall(data)
        except OSError:
            pass


@pytest.fixture(scope="module")
def database():
    with chalet.connect() as db:
        db.query("CREATE TABLE target (n UInt32, s String, l LowCardinality(Nullable(String)), a Array(UInt8)) ENGINE = Memory")
        yield db


@pytest.fixture(scope="module")
def server(database):
    with chalet.server.start(database) as started:
        yield started


def count(database):
    """The rows, when no INSERT runs any more whose client has gone."""
    patience.until(lambda: patience.running(database, "INSERT") == 0)
    return int(database.query("SELECT count() FROM target", "TSV").data())


def select(client):
    tables = [{"name": "given", "structure": [("x", "Int32"), ("s", "String")], "data": [(1, "a"), (2, "b")]}]
    sql = "SELECT sum(x), {p:String} FROM given"
    assert client.execute(sql, {"p": "v"}, external_tables=tables, settings={"max_threads": 1, "server_side_params": True}) == [(3, "v")]


def insert(client):
    rows = [(n, f"text {n}", None if n % 3 == 0 else str(n % 2), [n]) for n in range(20)]
    assert client.execute("INSERT INTO target VALUES", rows) == 20


def recorded(server, talk, compression):
    relay = Recorder(server.tcp_port)
    with driver.Client("127.0.0.1", port=relay.port, compression=compression) as client:
        talk(client)
    return relay.pieces


def said(port, pieces, ends):
    """Says the pieces, waiting for an answer between two of them, and gives what is said to the last. Where that is the end the server has
    to end too."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        try:
            for number, piece in enumerate(pieces):
                connection.sendall(piece)
                connection.settimeout(0.02 if number + 1 < len(pieces) else PATIENCE if ends else 1)
                if number + 1 == len(pieces) and ends:
                    connection.shutdown(socket.SHUT_WR)
                heard = b""
                while True:
                    try:
                        more = connection.recv(65536)
                        if not more:
                            return heard
                        heard += more
                    except TimeoutError:
                        assert number + 1 < len(pieces) or not ends, "the server hangs"
                        break
        except OSError:
            # It has hung up.
            return heard
    return heard


def cut(pieces, at):
    """The first bytes of all pieces."""
    kept = []
    for piece in pieces:
        if at <= 0:
            break
        kept.append(piece[:at])
        at -= len(piece)
    return kept


def flipped(pieces, at, bit):
    made = []
    for piece in pieces:
        if 0 <= at < len(piece):
            piece = piece[:at] + bytes([piece[at] ^ 1 << bit]) + piece[at + 1 :]
        made.append(piece)
        at -= len(piece)
    return made


@pytest.mark.parametrize("compression", [False, "lz4"])
@pytest.mark.parametrize("talk", [select, insert])
def test_native(database, server, talk, compression):
    if compression:
        pytest.importorskip("clickhouse_cityhash")
        pytest.importorskip("lz4")
    pieces = recorded(server, talk, compression)
    length = sum(map(len, pieces))
    before = count(database)
    said(server.tcp_port, pieces, ends=False)
    patience.until(lambda: count(database) - before == (20 if talk is insert else 0))
    before = count(database)
    # The greeting at every byte, which is the same for all; the rest here and there, with other places each time.
    chosen = random.Random(length)
    places = sorted({*range(0, len(pieces[0]), 3), *chosen.sample(range(length), 60), *range(length - 12, length)})
    for at in places:
        said(server.tcp_port, cut(pieces, at), ends=True)
    # None of them is whole, or its client hung up before it was written.
    assert count(database) == before
    for at in chosen.sample(range(length), 80):
        said(server.tcp_port, flipped(pieces, at, chosen.randrange(8)), ends=chosen.random() < 0.9)
    # Blocks that are compressed have checksums: all or none. Others have what the bits say now.
    assert (count(database) - before) % 20 == 0 or not compression
    with driver.Client("127.0.0.1", port=server.tcp_port) as client:
        talk(client)


def test_http(database, server):
    """Bodies by length and in chunks, with external tables and rows of an INSERT."""
    rows = b"".join(b'{"n": %d, "s": "x", "a": [1]}\n' % n for n in range(20))
    head = b"POST /?query=INSERT+INTO+target+FORMAT+JSONEachRow HTTP/1.1\r\nHost: localhost\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (rows[:100], rows[100:])) + b"0\r\n\r\n"
    form = (
        b"--b\r\nContent-Disposition: form-data; name=\"given_structure\"\r\n\r\nx Int32\r\n"
        b"--b\r\nContent-Disposition: form-data; name=\"given\"; filename=\"given\"\r\n\r\n1\n2\n\r\n--b--\r\n"
    )
    by_length = head + b"Content-Length: %d\r\n\r\n" % len(rows) + rows
    in_chunks = head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    with_tables = (
        b"POST /?query=SELECT+sum(x)+FROM+given HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        b"Content-Length: %d\r\n\r\n" % len(form) + form
    )
    chosen = random.Random(1)
    for request in (by_length, in_chunks, with_tables):
        before = count(database)
        for at in sorted({*range(0, len(request), 7), *range(len(request) - 30, len(request))}):
            answer = said(server.http_port, [request[:at]], ends=True)
            # Nothing is answered of a part of a table, either.
            assert not answer.startswith(b"HTTP/1.1 200 "), (at, answer)
        assert count(database) == before, request
        for at in chosen.sample(range(len(request)), min(80, len(request))):
            said(server.http_port, flipped([request], at, chosen.randrange(8)), ends=True)
    assert said(server.http_port, [with_tables], ends=True).startswith(b"HTTP/1.1 200 ")
    before = count(database)
    said(server.http_port, [by_length], ends=True)
    assert count(database) == before + 20
