"""Results over HTTP that break off: whatever is cut, flipped or said amid the rows is an error, never a shorter result."""

import contextlib
import random
import socket
import threading

import pytest

import chalet

PROBE = b"SELECT version() AS v, timezone() AS z"


@contextlib.contextmanager
def answering(answers):
    """A server that says what `answers` makes of a request's head and body; where that is the second of a pair, it then hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                converse(client)

    def converse(client):
        while True:
            read = b""
            while b"\r\n\r\n" not in read:
                more = client.recv(65536)
                if not more:
                    return
                read += more
            head, _, body = read.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            while len(body) < length:
                body += client.recv(65536)
            answer, is_last = answers(head, body)
            client.sendall(answer)
            if is_last:
                return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def string(text):
    return bytes([len(text)]) + text


def block(n, first=0):
    """Rows of one column UInt64 as a server without revisions writes them."""
    values = b"".join((first + i).to_bytes(8, "little") for i in range(n))
    return bytes([1, n]) + string(b"n") + string(b"UInt64") + values


VERSION = bytes([2, 1]) + string(b"v") + string(b"String") + string(b"18.16.1") + string(b"z") + string(b"String") + string(b"UTC")


def chunked(pieces, end=b"0\r\n\r\n", headers=b""):
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + headers + b"\r\n" + body + end


def of_query(answer):
    """An old server, which has this answer to every query but for its version."""

    def answers(head, body):
        if b"client_protocol_version" in head:
            text = b"Code: 115, e.displayText() = DB::Exception: Unknown setting client_protocol_version, e.what() = DB::Exception\n"
            return b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text), False
        return (chunked([VERSION]), False) if body == PROBE else (answer, True)

    return answers


def run(answer):
    with answering(of_query(answer)) as url, chalet.connect(url + "?compression=none&receive_timeout=5") as db:
        return db.cursor().execute("SELECT n FROM t").fetchall()


def test_whole():
    answer = chunked([block(3), block(2, 3)[:10], block(2, 3)[10:]])
    assert run(answer) == ((0,), (1,), (2,), (3,), (4,))


def test_cut_anywhere():
    whole = chunked([block(3), block(2, 3)])
    head = whole.index(b"\r\n\r\n") + 4
    for end in range(head, len(whole)):
        with pytest.raises(chalet.Error):
            run(whole[:end])


def test_errors_behind_rows():
    old = b"Code: 241, e.displayText() = DB::Exception: Memory limit (total) exceeded, e.what() = DB::Exception\n"
    message = b"Code: 241. DB::Exception: Memory limit (total) exceeded. (MEMORY_LIMIT_EXCEEDED) (version 25.6.1.1)\n"
    new = b"\r\n__exception__\r\nabcdefgh\r\n" + message + b"%d abcdefgh\r\n__exception__\r\n" % len(message)
    tag = b"X-ClickHouse-Exception-Tag: abcdefgh\r\n"
    for answer in (
        chunked([block(3), old]),
        chunked([block(3) + old]),
        chunked([block(3) + block(3)[:20] + old]),
        chunked([block(3), *(bytes([byte]) for byte in old)]),
        chunked([block(3) + new], b"", tag),
        chunked([block(3), new], b"0\r\n\r\n", tag),
        chunked([block(3), block(3)[:9] + new], b"", tag),
    ):
        with pytest.raises(chalet.Error, match="Memory limit .total. exceeded") as caught:
            run(answer)
        assert caught.value.code == 241


def test_what_is_no_server():
    for answer in (
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + block(3),
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n\r\n",
        b"",
        chunked([b"<html>" * 100]),
        chunked([b"\xff" * 100]),
    ):
        with pytest.raises(chalet.Error):
            run(answer)


def test_flipped_bits():
    whole = bytearray(chunked([block(100), block(100, 100)]))
    head = whole.index(b"\r\n\r\n") + 4
    chance = random.Random(7)
    for _ in range(150):
        at, bit = chance.randrange(head, len(whole)), 1 << chance.randrange(8)
        whole[at] ^= bit
        # Without checksums a value may be another; there are never fewer.
        with contextlib.suppress(chalet.Error):
            assert len(run(bytes(whole))) == 200
        whole[at] ^= bit
