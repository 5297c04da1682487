"""A real ClickHouse server (18.16) for tests, which install and start it."""

import contextlib
import os
import pathlib
import socket
import subprocess

import patience
import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tools" / "clickhouse-server"


@contextlib.contextmanager
def started(folder):
    """Its port, while it runs."""
    with process(folder, 1) as (_, ports):
        yield ports[0]


@contextlib.contextmanager
def started_with_http(folder):
    """Its ports of the native protocol and of HTTP."""
    with process(folder) as (_, ports):
        yield ports


@contextlib.contextmanager
def process(folder, n_ports=2, within=()):
    """Its process and its ports; `within` is a command that runs it."""
    if subprocess.run([SCRIPT, "install"]).returncode != 0:
        assert not os.environ.get("CHALET_NEED_CLICKHOUSE"), "no ClickHouse server could be installed"
        pytest.skip("NOT TESTED: no ClickHouse server could be installed")
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            free = [stack.enter_context(socket.socket()) for _ in range(n_ports)]
            for one in free:
                one.bind(("127.0.0.1", 0))
            ports = [one.getsockname()[1] for one in free]
        server = subprocess.Popen([*within, SCRIPT, "run", folder, *map(str, ports)])
        try:
            # Somebody else may have taken a port meanwhile: then it ends.
            patience.until(lambda server=server, ports=ports: server.poll() is not None or all(map(_listens, ports)), "the server does not start")
            if server.poll() is None:
                yield server, ports
                return
        finally:
            server.kill()
            server.wait()
    raise AssertionError("the server does not start")


def _listens(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port)).close()
        return True
