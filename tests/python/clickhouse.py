"""A real ClickHouse server (18.16) for tests, which install and start it."""

import contextlib
import os
import pathlib
import socket
import subprocess
import time

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "clickhouse-server"


@contextlib.contextmanager
def started(folder):
    """Its port, while it runs."""
    with _started(folder, 1) as ports:
        yield ports[0]


@contextlib.contextmanager
def started_with_http(folder):
    """Its ports of the native protocol and of HTTP."""
    with _started(folder, 2) as ports:
        yield ports


@contextlib.contextmanager
def _started(folder, n_ports):
    if subprocess.run([SCRIPT, "install"]).returncode != 0:
        assert not os.environ.get("CHALET_NEED_CLICKHOUSE"), "no ClickHouse server could be installed"
        pytest.skip("NOT TESTED: no ClickHouse server could be installed")
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(n_ports)]
        for one in free:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in free]
    server = subprocess.Popen([SCRIPT, "run", folder, *map(str, ports)])
    began = time.monotonic()
    try:
        for port in ports:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert time.monotonic() - began < 60 and server.poll() is None
                    time.sleep(0.05)
        yield ports
    finally:
        server.kill()
        server.wait()
