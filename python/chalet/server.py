"""A database served over ClickHouse's own protocols, to programs that are written for its servers.

    import chalet.server

    with chalet.server.start("analytics.db") as server:
        print(server.http_port, server.tcp_port)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from . import _chalet

__all__ = ["Server", "start"]

MAX_CONNECTIONS = 1024
_KEYS = {"password", "password_sha256", "readonly", "files", "quota"}
_Interval = tuple[int, list[tuple[str, int]]]
_User = tuple[str, "str | None", "str | None", int, "str | None", list[_Interval]]


class Server:
    """A database that is served. Made by `start`; ends with `stop`, or a `with`."""

    __slots__ = ("_connection", "_host", "_lock", "_server")

    def __init__(self, server: _chalet.Server, connection: _chalet.Connection | None, host: str) -> None:
        self._server = server
        # Ours, to be closed; of a database that somebody else opened there is none.
        self._connection = connection
        self._host = host
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        """The address that it listens on."""
        return self._host

    @property
    def http_port(self) -> int | None:
        """The port of HTTP."""
        return self._server.http_port

    @property
    def tcp_port(self) -> int | None:
        """The port of the native protocol."""
        return self._server.tcp_port

    @property
    def https_port(self) -> int | None:
        """The port of HTTP with TLS."""
        return self._server.https_port

    @property
    def tcp_secure_port(self) -> int | None:
        """The port of the native protocol with TLS."""
        return self._server.tcp_secure_port

    def stop(self) -> None:
        """Lets nobody in any more, cancels statements that run, and waits for their end. May be called again."""
        self._server.stop()
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<chalet.server.Server http={self.http_port} tcp={self.tcp_port}>"


def start(
    database: _chalet.Connection | str | os.PathLike[str] = ":memory:",
    *,
    http: int | None = 0,
    tcp: int | None = 0,
    host: str = "127.0.0.1",
    users: Mapping[str, Mapping[str, Any]] | str | os.PathLike[str] | None = None,
    files: str | os.PathLike[str] | None = None,
    max_connections: int = MAX_CONNECTIONS,
    https: int | None = None,
    tcp_secure: int | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    origins: Iterable[str] = (),
) -> Server:
    """Serves a database: that of a connection, or the one at a path, which is opened for it.

    A port of 0 is any that is free, None serves nothing there: `http` is
    that of HTTP, `tcp` that of the native protocol. `users` is a dict by name, or the path of a file in TOML; without it there is the user
    `default` without a password, which only programs of this machine can be. `files` is the folder whose files `file()` may
    name; without it there are none. `https` and `tcp_secure` are ports of the same with TLS, which need the files of a `certificate`
    and its `key` in the form PEM. `origins` are web sites whose pages may ask from a browser, as `https://example.org`; `*` is any.
    """
    if (certificate is None) != (key is None):
        raise ValueError("A certificate and its key are given together")
    if max_connections < 1:
        raise ValueError(f"max_connections is at least 1, not {max_connections}")
    for port in (http, tcp, https, tcp_secure):
        if port is not None and not 0 <= port < 65536:
            raise ValueError(f"A port is a number from 0 to 65535, not {port}")
    files_of_tls = None if certificate is None or key is None else (os.fspath(certificate), os.fspath(key))
    listed = _users(users, files)
    if isinstance(origins, str):
        raise TypeError("origins is a list of web sites, not a string")
    sites = list(origins)
    own = None if isinstance(database, _chalet.Connection) else _chalet.Connection(os.fspath(database))
    connection = database if own is None else own
    try:
        server = _chalet.Server(connection, host, http, tcp, listed, max_connections, https, tcp_secure, files_of_tls, sites)
    except BaseException:
        if own is not None:
            own.close()
        raise
    return Server(server, own, host)


def _users(users: Any, files: Any) -> list[_User]:
    folder = None if files is None else os.fspath(files)
    if users is None:
        return [("default", None, None, 0, folder, [])]
    if isinstance(users, (str, os.PathLike)):
        import tomllib

        try:
            with open(users, "rb") as file:
                read = tomllib.load(file)
        except ValueError as error:
            raise ValueError(f"{os.fspath(users)}: {error}") from None
        if set(read) != {"users"} or not isinstance(read["users"], dict):
            raise ValueError(f"{os.fspath(users)}: tables [users.NAME] are expected, and nothing else")
        users = read["users"]
    if not isinstance(users, Mapping) or not users:
        raise ValueError("Users are a dict by name, of one at least; without it there is the user default")
    return [_user(name, given, folder) for name, given in users.items()]


def _user(name: str, given: Mapping[str, Any], folder: str | None) -> _User:
    if not isinstance(name, str) or not isinstance(given, Mapping):
        raise ValueError(f"User {name}: a name is a text, what is said of a user a dict")
    unknown = set(given) - _KEYS
    if unknown:
        raise ValueError(f"User {name}: unknown {_listed(unknown)}; there are {_listed(_KEYS)}")
    password, sha256 = given.get("password"), given.get("password_sha256")
    if (password is None) == (sha256 is None):
        raise ValueError(f"User {name}: one of password and password_sha256 is needed; an empty password is none")
    for text in (password, sha256):
        if not isinstance(text, str | None):
            raise ValueError(f"User {name}: a password is a text")
    readonly = given.get("readonly", 0)
    # `true` is the level that lets clients set what they read with.
    level = 2 if readonly is True else int(readonly) if readonly in (0, 1, 2) else None
    if level is None:
        raise ValueError(f"User {name}: readonly is true, false, 1 or 2")
    files = given.get("files", folder)
    if files is not None and not isinstance(files, (str, os.PathLike)):
        raise ValueError(f"User {name}: files is the path of a folder")
    quota = given.get("quota", [])
    intervals = [_interval(name, one) for one in (quota if isinstance(quota, (list, tuple)) else [quota])]
    return name, password, sha256, level, None if files is None else os.fspath(files), intervals


def _interval(name: str, given: Any) -> _Interval:
    """What a user may have in so many seconds. Times are seconds here and nanoseconds there."""
    if not isinstance(given, Mapping) or not isinstance(given.get("duration"), int) or given["duration"] < 1:
        raise ValueError(f"User {name}: a quota is a dict with a duration in seconds, or several of them")
    limits = []
    for what, most in given.items():
        if isinstance(most, bool) or not isinstance(most, (int, float) if what == "execution_time" else int) or most < 0:
            raise ValueError(f"User {name}: {what} of a quota is a number")
        if what != "duration":
            limits.append((what, int(most * 1e9) if what == "execution_time" else most))
    return given["duration"], limits


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))
