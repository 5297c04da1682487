"""Connection strings: what chDB accepts as one, taken apart. Imported for strings other than `:memory:` only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from ._schemes import SERVERS

if TYPE_CHECKING:
    from collections.abc import Callable

_MODES = {"": [], "rw": [], "rwc": [], "ro": [("readonly", "2")]}
_PROGRESS = ("auto", "tty", "err", "on", "off")
# ClickHouse's other words for them.
_ALSO = {"": "on", "1": "on", "true": "on", "yes": "on", "0": "off", "false": "off", "no": "off"}
# Of the URL of a server; any other option is a setting.
_OF_SERVERS = frozenset(
    {
        *("pool_size", "connect_timeout", "receive_timeout", "send_timeout", "compression"),
        *("secure", "verify", "ca_cert", "ca_certs", "client_cert", "certfile", "client_cert_key", "keyfile"),
        *("server_host_name", "server_hostname"),
    }
)
# What chDB passes to its server. Nothing here listens to them: there is no server, no log and no language model.
_IGNORED = frozenset({"verbose", "log-level", "log_level", "user_scripts_path", "user_defined_executable_functions_config"})
_ENDS_WITH_FORMAT = re.compile(r"\b(?:FORMAT\s+\w+|VALUES)\s*\Z", re.IGNORECASE)


def parse(text: str) -> tuple[str, list[tuple[str, str]], Callable[[dict[str, int]], None] | None]:
    """`[file:]PATH[?option=value&...]` as path, settings and what shows progress.

    A path may be a URL, `file:///PATH`, of this machine, or
    `clickhouse://user:password@host:port,host:port/database` (or `clickhouses`, `http`, `https`), which has options of its own. An option is `mode` (`ro` or `rw`), `progress`, `progress-table`, one
    of chDB's own or a setting of ClickHouse; whether it is one is found out when it is set. A wrong value is a ValueError.
    """
    place, _, options = text.partition("?")
    settings: list[tuple[str, str]] = []
    of_server: list[tuple[str, str]] = []
    progress = None
    for name, value in parse_qsl(options, keep_blank_values=True):
        if name in _OF_SERVERS and place.startswith(SERVERS):
            of_server.append((name, value))
        elif name == "mode":
            if value not in _MODES:
                raise ValueError(f"the mode of a connection is ro or rw, not {value!r}: {text}")
            settings += _MODES[value]
        elif name in ("progress", "progress-table"):
            word = _ALSO.get(value.lower(), value.lower())
            if word not in _PROGRESS:
                raise ValueError(f"{name} is one of {', '.join(_PROGRESS)}, not {value!r}: {text}")
            progress = None if word == "off" else word
        elif name == "udf_path" or name.startswith("ai_"):
            if value:
                _not_supported(f"the option {name} of the connection string {text!r} is not supported")
        elif name not in _IGNORED:
            settings.append((name.replace("-", "_"), value))
    if of_server:
        place += "?" + urlencode(of_server)
    if progress is not None:
        from ._progress import display

        return _path(place), settings, display(progress)
    return _path(place), settings, None


def _path(place: str) -> str:
    if place.startswith(SERVERS):
        return place
    path = place.removeprefix("file:")
    if path != place and path.startswith("//"):
        # Of a URL: `file:///a/b` and `file:/a/b` are one path, `file:a` is a relative one.
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost"):
            raise ValueError(f"the host of a database is this one, not {host!r}: {place}")
        path = slash + rest
    if path in ("", ":memory:"):
        return ":memory:"
    return "/" + path.lstrip("/") if path.startswith("//") else path


def insert_statement(query: str, fmt: str) -> str:
    """The INSERT with its format at the end, as data in pieces follow it."""
    query = query.rstrip().removesuffix(";").rstrip()
    return query + "\n" if _ENDS_WITH_FORMAT.search(query) else f"{query} FORMAT {fmt}\n"


def _not_supported(text: str) -> None:
    from ._chalet import NotSupportedError

    raise NotSupportedError(text)
