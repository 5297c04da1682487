"""What clickhouse-driver is told of a server, as a connection string."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from .errors import NotSupportedError

_COMPRESSION = {False: "none", None: "none", True: "lz4", "lz4": "lz4", "lz4hc": "lz4", "zstd": "zstd"}
_TRUE, _FALSE = ("true", "yes", "on", "y", "t", "1"), ("false", "no", "off", "n", "f", "0")
# Of the transport, which works without being told.
_IGNORED = frozenset(
    """
    client_name sync_request_timeout compress_block_size settings_is_important tcp_keepalive client_revision round_robin
    disable_reconnect
    """.split()
)
_FLAGS = frozenset(("secure", "verify", "check_hostname", "settings_is_important", "round_robin"))
_TIMES = frozenset(("connect_timeout", "send_receive_timeout", "sync_request_timeout"))
_WORDS = frozenset(
    "alt_hosts ca_certs certfile keyfile keypass ciphers ssl_version server_hostname client_name client_revision compress_block_size tcp_keepalive".split()
)


def is_local(host: Any) -> bool:
    """Is it the path of a database, and no name of a host?"""
    return isinstance(host, os.PathLike) or host == ":memory:" or "/" in host or host.startswith(".")


def connection_string(
    host: str,
    port: int | None,
    database: str,
    user: str,
    password: str,
    *,
    compression: Any,
    secure: bool,
    verify: bool,
    connect_timeout: float,
    send_receive_timeout: float,
    alt_hosts: str | None,
    **others: Any,
) -> str:
    """The URL of a server. One connection is kept, so that temporary tables are there for the next statement."""
    if compression not in _COMPRESSION:
        raise NotSupportedError(f"the compression {compression!r} is not supported: there are lz4 and zstd")
    options: dict[str, Any] = {
        "pool_size": 1,
        "connect_timeout": connect_timeout,
        "receive_timeout": send_receive_timeout,
        "send_timeout": send_receive_timeout,
        "compression": _COMPRESSION[compression],
    }
    if secure:
        options["verify"] = int(bool(verify))
    renamed = {"ca_certs": "ca_cert", "certfile": "client_cert", "keyfile": "client_cert_key", "server_hostname": "server_host_name"}
    for name, value in others.items():
        if value is None or name in _IGNORED or (name == "check_hostname" and (value or not verify)):
            continue
        if name not in renamed:
            if name in ("keypass", "ciphers", "ssl_version", "check_hostname"):
                raise NotSupportedError(f"the argument {name} is not supported")
            raise TypeError(f"unexpected argument {name!r}")
        options[renamed[name]] = value
    hosts = [_host(host, port)] + [_host(*_divided(one)) for one in (alt_hosts or "").split(",") if one]
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    scheme = "clickhouses" if secure else "clickhouse"
    return f"{scheme}://{who}@{','.join(hosts)}/{quote(database, safe='')}?{urlencode(options)}"


def _host(host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return host if port is None else f"{host}:{port}"


def _divided(text: str) -> tuple[str, int | None]:
    parts = urlsplit(f"clickhouse://{text}")
    return parts.hostname or "", parts.port


def arguments_of(url: str) -> tuple[str, dict[str, Any]]:
    """The host, and the other arguments of a Client, that a URL says."""
    parts = urlsplit(url)
    if parts.scheme not in ("clickhouse", "clickhouses"):
        return url.removeprefix("file://"), {}
    arguments: dict[str, Any] = {"port": parts.port, "secure": parts.scheme == "clickhouses"}
    if parts.path.strip("/"):
        arguments["database"] = unquote(parts.path[1:])
    for name, value in (("user", parts.username), ("password", parts.password)):
        if value is not None:
            arguments[name] = unquote(value)
    settings = {}
    for name, value in parse_qsl(parts.query):
        if name in _FLAGS:
            arguments[name] = _flag(value)
        elif name == "compression":
            arguments[name] = value.lower() if value.lower() in _COMPRESSION else _flag(value)
        elif name in _TIMES:
            arguments[name] = float(value)
        elif name in _WORDS:
            arguments[name] = value
        elif name == "use_numpy":
            settings[name] = _flag(value)
        else:
            settings[name] = value
    return parts.hostname or "", {**arguments, "settings": settings}


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"String is not true/false: {text!r}")
    return word in _TRUE
