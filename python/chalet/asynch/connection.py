"""`Connection` of asynch: one session of a server, or of a database in the process, over a connection of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _chalet
from ..clickhouse_driver import _place
from ..clickhouse_driver.client import _OF_CLIENT
from .cursors import Cursor
from .errors import InterfaceError, NotSupportedError, raised

if TYPE_CHECKING:
    from .. import aio
    from ..clickhouse_driver.result import QueryInfo

_PORTS = {False: 9000, True: 9440}


class Connection:
    """Statements one after the other, for asyncio, without threads. It is opened by `async with`, `await connection.connect()`, or its first
    statement. The arguments are those of asynch; a host that is `:memory:`, begins with a dot or has a slash in it is a database in the process.

    >>> import asyncio
    >>> from chalet.asynch import Connection
    >>> async def main():
    ...     async with Connection(host=":memory:") as connection, connection.cursor() as cursor:
    ...         await cursor.execute("CREATE TABLE t (a UInt8, b String) ENGINE = Memory")
    ...         await cursor.execute("INSERT INTO t VALUES", [(1, "one"), (2, "two")])
    ...         await cursor.execute("SELECT * FROM t WHERE a > %(a)s", {"a": 1})
    ...         return await cursor.fetchall()
    >>> asyncio.run(main())
    [(2, 'two')]
    """

    def __init__(
        self,
        dsn: str | None = None,
        user: str = "default",
        password: str = "",
        host: Any = "127.0.0.1",
        port: int | None = None,
        database: str = "default",
        cursor_cls: type[Cursor] = Cursor,
        echo: bool = False,
        stack_track: bool = False,
        **kwargs: Any,
    ) -> None:
        given = {"user": user, "password": password, "port": port, "database": database, **kwargs}
        if dsn:
            host, said = _place.arguments_of(dsn)
            settings = {**kwargs.get("settings", {}), **said.pop("settings", {})}
            given.update({name: value for name, value in said.items() if value not in (None, "")}, settings=settings)
        # What nobody knows is a setting, as there.
        known = {"secure", "verify", "compression", "connect_timeout", "send_receive_timeout", "alt_hosts", "check_hostname", "server_hostname", "round_robin"}
        known |= {"client_name", "sync_request_timeout", "compress_block_size", "settings_is_important", "ca_certs", "certfile", "keyfile", "ssl_version", "ciphers"}
        others = {name: given.pop(name) for name in list(given) if name not in known | {"user", "password", "port", "database", "settings"}}
        self.settings: dict[str, Any] = {**(given.pop("settings", None) or {}), **others}
        self.settings = {name: value for name, value in self.settings.items() if name not in _OF_CLIENT}
        self.user, self.password, self.database = given["user"], given["password"], given["database"]
        self.host, self.echo = host, echo
        self.is_local = _place.is_local(host)
        is_secure = bool(given.get("secure", False))
        self.port = given["port"] or _PORTS[is_secure]
        self._string = str(host) if self.is_local else _place.connection_string(host, **_filled(given))
        self._cursor_class = cursor_cls
        self._open: aio.Connection | None = None
        self._closed = False
        self.zone = "UTC"
        self.last_query: QueryInfo | None = None
        self.n_running = 0

    async def __aenter__(self) -> Connection:
        await self.connect()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Connection object at {id(self):#x}; status: {self.status}>"

    async def connect(self) -> None:
        """Opens it; again after `close`."""
        if self._open is not None:
            return
        from .. import aio

        opened = aio.connect(self._string)
        try:
            await opened
            if self.is_local and self.database not in ("", "default"):
                await opened.query(f"USE `{self.database}`")
            # The server shows by its answer that it is there.
            self.zone = (await opened.query("SELECT timezone()", "TabSeparatedRaw")).data().strip()
        except _chalet.Error as error:
            await opened.close()
            raise raised(error) from None
        self._open, self._closed = opened, False

    async def opened_connection(self) -> aio.Connection:
        """The connection beneath, which is opened by this where it has not been."""
        if self._closed:
            raise InterfaceError(f"the {self} is already closed")
        await self.connect()
        return self._open  # type: ignore[return-value]

    async def close(self) -> None:
        """Closes it; a database in memory is gone then. May be called again."""
        opened, self._open = self._open, None
        self._closed = True
        if opened is not None:
            await opened.close()

    @property
    def opened(self) -> bool:
        """Is it open?"""
        return self._open is not None

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._closed

    @property
    def status(self) -> str:
        """`created`, `opened` or `closed`."""
        return "opened" if self.opened else "closed" if self._closed else "created"

    def cursor(self, cursor: type[Cursor] | None = None, *, echo: bool = False) -> Cursor:
        """A new cursor: of the class that is given, or of the connection's."""
        return (cursor or self._cursor_class)(self, echo or self.echo)

    async def ping(self) -> None:
        """Raises ConnectionError where the server does not answer."""
        if not await self.is_live():
            raise ConnectionError(f"Ping has failed for {self}")

    async def is_live(self) -> bool:
        """Does the server answer? Opens nothing."""
        if self._open is None:
            return False
        try:
            await self._open.query("SELECT 1")
        except _chalet.Error:
            return False
        return True

    async def cancel(self) -> bool:
        """Stops the statement that another task waits for; was there one?"""
        if self._open is None or not self.n_running:
            return False
        self._open.interrupt()
        return True

    async def commit(self) -> None:
        """Raises NotSupportedError, as there."""
        raise NotSupportedError

    async def rollback(self) -> None:
        """Raises NotSupportedError, as there."""
        raise NotSupportedError


def _filled(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a server, with those that were not given."""
    usual = {"compression": False, "secure": False, "verify": True, "connect_timeout": 10, "send_receive_timeout": 300, "alt_hosts": None}
    return {**usual, **given}
