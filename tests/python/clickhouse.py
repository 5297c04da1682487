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
    if subprocess.run([SCRIPT, "install"]).returncode != 0:
        assert not os.environ.get("CHALET_NEED_CLICKHOUSE"), "no ClickHouse server could be installed"
        pytest.skip("NOT TESTED: no ClickHouse server could be installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    server = subprocess.Popen([SCRIPT, "run", folder, str(number)])
    began = time.monotonic()
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", number)).close()
                break
            except OSError:
                assert time.monotonic() - began < 60 and server.poll() is None
                time.sleep(0.05)
        yield number
    finally:
        server.kill()
        server.wait()
