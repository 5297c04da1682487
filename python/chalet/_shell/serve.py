"""`chalet server`: serves a database until it is told to stop."""

from __future__ import annotations

import argparse
import signal

from .. import server

_DESCRIPTION = "Serves a database over ClickHouse's own protocols, until SIGINT or SIGTERM."


def _port(text: str) -> int | None:
    return None if text == "off" else int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chalet server", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("path", nargs="?", default=":memory:", metavar="PATH", help="the database; in memory without it")
    parser.add_argument("--http", type=_port, default=8123, metavar="PORT", help="port of HTTP (8123); 0 takes one that is free, off none")
    parser.add_argument("--tcp", type=_port, default=9000, metavar="PORT", help="port of the native protocol (9000); as --http")
    parser.add_argument("--https", type=_port, default=None, metavar="PORT", help="port of HTTP with TLS; none without it")
    parser.add_argument("--tcp-secure", type=_port, default=None, metavar="PORT", help="port of the native protocol with TLS; none without it")
    parser.add_argument("--certificate", metavar="FILE", help="what the ports with TLS prove themselves with, in the form PEM")
    parser.add_argument("--key", metavar="FILE", help="the key of the certificate")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1); others need --users")
    parser.add_argument("--users", metavar="FILE", help="users and their passwords, in TOML")
    parser.add_argument("--files", metavar="FOLDER", help="the folder whose files file() may name; none without it")
    parser.add_argument("--max-connections", type=int, default=server.MAX_CONNECTIONS, metavar="N", help="1024 without it")
    parser.add_argument("--origin", action="append", default=[], metavar="URL", help="a web site whose pages may ask from a browser, as https://example.org; * is any")
    return parser


def main(arguments: list[str]) -> int:
    """Runs the server; returns its exit status."""
    options = _parser().parse_args(arguments)
    # Before the server is ready: whoever is told so may stop it at once.
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    running = server.start(
        options.path,
        http=options.http,
        tcp=options.tcp,
        host=options.host,
        users=options.users,
        files=options.files,
        max_connections=options.max_connections,
        https=options.https,
        tcp_secure=options.tcp_secure,
        certificate=options.certificate,
        key=options.key,
        origins=options.origin,
    )
    with running:
        host = f"[{options.host}]" if ":" in options.host else options.host
        if running.http_port is not None:
            print(f"http://{host}:{running.http_port}/play", flush=True)
        if running.tcp_port is not None:
            print(f"clickhouse://{host}:{running.tcp_port}", flush=True)
        if running.https_port is not None:
            print(f"https://{host}:{running.https_port}/play", flush=True)
        if running.tcp_secure_port is not None:
            print(f"clickhouses://{host}:{running.tcp_secure_port}", flush=True)
        signal.sigwait(signals)
    return 0
