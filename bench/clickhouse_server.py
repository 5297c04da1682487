"""A server of ClickHouse for the length of a benchmark: the installed one, with a configuration and data of its own.

It listens on 127.0.0.1 only and is ended by its process, so that one that runs already is not touched.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONFIG = """<?xml version="1.0"?>
<yandex>
    <logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
    <listen_host>127.0.0.1</listen_host>
    <tcp_port>{port}</tcp_port>
    <path>{folder}/data/</path>
    <tmp_path>{folder}/tmp/</tmp_path>
    <user_files_path>{folder}/files/</user_files_path>
    <users_config>{folder}/users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <mark_cache_size>67108864</mark_cache_size>
    <timezone>UTC</timezone>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex>
    <profiles><default></default></profiles>
    <quotas><default></default></quotas>
    <users><default>
        <password></password>
        <networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile>
        <quota>default</quota>
    </default></users>
</yandex>
"""
# Seconds that a server may need until it listens.
PATIENCE = 30


class CannotServe(Exception):
    pass


def program() -> list[str] | None:
    """How the server is called: it is a program of its own, or a word for the one program that newer packages have."""
    if found := shutil.which("clickhouse-server", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"):
        return [found]
    if found := shutil.which("clickhouse-server"):
        return [found]
    return [found, "server"] if (found := shutil.which("clickhouse")) else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running() -> Iterator[int]:
    """The port of a server that ends with the block."""
    called = program()
    if called is None:
        raise CannotServe("no clickhouse-server is installed")
    with tempfile.TemporaryDirectory(prefix="clickhouse-") as name:
        folder, port = Path(name), free_port()
        (folder / "config.xml").write_text(CONFIG.format(folder=folder, port=port))
        (folder / "users.xml").write_text(USERS)
        with (folder / "said").open("wb") as said:
            child = subprocess.Popen([*called, f"--config-file={folder}/config.xml"], stdout=said, stderr=said, cwd=folder)
        try:
            wait_for(child, port, folder)
            yield port
        finally:
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def wait_for(child: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if child.poll() is not None:
            last = (folder / "said").read_text(errors="replace").strip().splitlines()[-1:]
            raise CannotServe(f"the server ended with status {child.returncode}: {' '.join(last)[:300]}")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise CannotServe(f"the server does not listen after {PATIENCE} s")
