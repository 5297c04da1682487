"""`ChClient` of aiochclient: statements, rows and INSERTs for asyncio, over a connection of this package."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import decimal
import ipaddress
import json as _json
import re
import uuid
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from .. import _chalet
from .._schemes import SERVERS
from .exceptions import ChClientError
from .records import Record

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from ..aio import Connection

_COMMENT = r"--[^\n]*\n|/\*.*?\*/"
_FIRST = re.compile(rf"(?:\s|\(|{_COMMENT})*(\w+)", re.S)
_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*\Z", re.I)
_BEHIND = re.compile(r"\s*(?:\bVALUES|\bFORMAT\s+\w+)?\s*;?\s*\Z", re.I)
_LISTED = re.compile(r"\([^()]*\)\s*\Z")
_FETCHED = frozenset(("SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN"))
_JSON = "JSONEachRow"
# Rows that become Python objects at a time.
_BATCH = 4096
# Seconds in which a query of which one row is wanted may end.
_END = 0.02


class ChClient:
    """Statements of a server, or of a database in the process, for asyncio. It connects when the first of them runs.

    `session` is not used: the connections are this package's own, at most `pool_size` (an option of the URL; 100) at a time. Further
    arguments are settings of ClickHouse.

    >>> import asyncio
    >>> from chalet.aiochclient import ChClient
    >>> async def main():
    ...     async with ChClient(url=":memory:") as client:
    ...         await client.execute("CREATE TABLE t (a UInt8, b String) ENGINE = Memory")
    ...         await client.execute("INSERT INTO t VALUES", (1, "one"), (2, "two"))
    ...         row = await client.fetchrow("SELECT a, b FROM t WHERE a = {a}", params={"a": 2})
    ...         return row["b"], row[0], await client.fetchval("SELECT count() FROM t")
    >>> asyncio.run(main())
    ('two', 2, 2)
    """

    def __init__(
        self,
        session: Any = None,
        url: str = "http://localhost:8123/",
        user: str | None = None,
        password: str | None = None,
        database: str = "default",
        compress_response: bool = False,
        json: Any = _json,
        **settings: Any,
    ) -> None:
        self.url = url
        self.headers: dict[str, str] = {}
        self.params = dict(settings)
        self._json = json
        self._database = database
        self._is_server = url.startswith(SERVERS)
        self._string = _server(url, user, password, database, compress_response) if self._is_server else url
        self._lock = asyncio.Lock()
        self._open: Connection | None = None
        self._is_closed = False

    async def __aenter__(self) -> ChClient:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; a database in memory is gone then. May be called again."""
        opened, self._open = self._open, None
        self._is_closed = True
        if opened is not None:
            await opened.close()

    async def is_alive(self) -> bool:
        """Does the server answer?"""
        try:
            await self._run("SELECT 1", None)
        except ChClientError:
            return False
        return True

    async def execute(
        self, query: str, *args: Any, json: bool = False, params: dict[str, Any] | None = None, query_id: str | None = None
    ) -> None:
        """Runs a statement. `args` are the rows of an INSERT, tuples, or with `json` dicts; `params` are put, as literals, into
        the places of `{name}`."""
        await self._first(self._batches(query, args, json, params, query_id, True))

    async def fetch(
        self,
        query: str,
        *args: Any,
        json: bool = False,
        params: dict[str, Any] | None = None,
        query_id: str | None = None,
        decode: bool = True,
    ) -> list[Any]:
        """All rows as Records; with `json` as dicts; without `decode` their fields are bytes, as the format TabSeparated has them."""
        rows: list[Any] = []
        async for batch in self._batches(query, args, json, params, query_id, decode):
            rows += batch
        return rows

    async def fetchrow(
        self,
        query: str,
        *args: Any,
        json: bool = False,
        params: dict[str, Any] | None = None,
        query_id: str | None = None,
        decode: bool = True,
    ) -> Any:
        """The first row, None where there is none."""
        return await self._first(self._batches(query, args, json, params, query_id, decode))

    async def fetchone(self, query: str, *args: Any) -> Any:
        """`fetchrow` under its old name."""
        warnings.warn("'fetchone' method is deprecated. Use 'fetchrow' method instead", PendingDeprecationWarning, stacklevel=2)
        return await self.fetchrow(query, *args)

    async def fetchval(
        self,
        query: str,
        *args: Any,
        json: bool = False,
        params: dict[str, Any] | None = None,
        query_id: str | None = None,
        decode: bool = True,
    ) -> Any:
        """The first field of the first row, None where there is none."""
        row = await self.fetchrow(query, *args, json=json, params=params, query_id=query_id, decode=decode)
        return row[0] if row else None

    async def iterate(
        self,
        query: str,
        *args: Any,
        json: bool = False,
        params: dict[str, Any] | None = None,
        query_id: str | None = None,
        decode: bool = True,
    ) -> AsyncIterator[Any]:
        """The rows one by one, while the query runs."""
        batches = self._batches(query, args, json, params, query_id, decode)
        try:
            async for batch in batches:
                for row in batch:
                    yield row
        finally:
            await batches.aclose()

    async def cursor(self, query: str, *args: Any) -> AsyncIterator[Any]:
        """`iterate` under its old name."""
        warnings.warn("'cursor' method is deprecated. Use 'iterate' method instead", PendingDeprecationWarning, stacklevel=2)
        async for row in self.iterate(query, *args):
            yield row

    async def insert_file(self, query: str, file_obj: Any, params: dict[str, Any] | None = None) -> None:
        """Inserts bytes, or what a file has: `INSERT INTO t FORMAT CSV`."""
        if _word(query) != "INSERT":
            raise ChClientError("It is possible to insert file only with INSERT query")
        if not _FORMAT.search(query):
            raise ChClientError("To insert file its required to specify `FORMAT [...] in the query.")
        data = file_obj.read() if hasattr(file_obj, "read") else file_obj
        await self._insert_data(_filled(query, params), data)

    async def _connection(self) -> Connection:
        from .. import aio

        if self._is_closed:
            raise ChClientError("The client is closed")
        async with self._lock:
            if self._open is None:
                opened = await aio.connect(self._string)
                if not self._is_server and self._database not in ("", "default"):
                    await opened.query(f"USE {_quoted(self._database)}")
                self._open = opened
            return self._open

    def _given(self, query_id: str | None) -> dict[str, Any]:
        if query_id is None:
            return {"settings": self.params}
        if not self._is_server:
            raise ChClientError("query_id is not supported without a server")
        return {"settings": self.params, "query_id": query_id}

    async def _run(self, query: str, query_id: str | None) -> None:
        try:
            await (await self._connection()).query(query, **self._given(query_id))
        except _chalet.Error as error:
            raise _raised(error) from None

    @staticmethod
    async def _first(batches: AsyncGenerator[list[Any], None]) -> Any:
        """The first row of all. A query that is not at its end takes its connection with it, so that end is waited for, a little."""
        try:
            first = await anext(batches, None)
            if first is not None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(anext(batches, None), _END)
            return first[0] if first else None
        finally:
            await batches.aclose()

    async def _batches(
        self, query: str, args: tuple[Any, ...], json: bool, params: Any, query_id: str | None, decode: bool
    ) -> AsyncGenerator[list[Any], None]:
        """The rows, some at a time, never none."""
        query, word, named = _filled(query, params), _word(query), _FORMAT.search(query)
        is_json = json or (named is not None and named[1] == _JSON)
        if args:
            if word != "INSERT":
                raise ChClientError("It is possible to pass arguments only for INSERT queries")
            await (self._insert_json if is_json else self._insert)(query, args, query_id)
        elif word not in _FETCHED:
            await self._run(query, query_id)
        elif named is not None and not is_json:
            raise ChClientError(f"The format {named[1]} is not read here: leave it out, or name {_JSON}")
        elif is_json:
            async for chunk in self._chunks(query, _JSON, query_id):
                if lines := chunk.bytes().splitlines():
                    yield [self._json.loads(line) for line in lines]
        elif decode:
            async for chunk in self._chunks(query, None, query_id):
                names = {name: at for at, name in enumerate(chunk.columns)}
                while rows := chunk.fetchmany(_BATCH):
                    yield [Record(row, names) for row in rows]
        else:
            async for chunk in self._chunks(query, "TabSeparatedWithNames", query_id):
                lines = chunk.bytes().split(b"\n")
                names = {name: at for at, name in enumerate(lines[0].decode().split("\t"))}
                if lines[1:-1]:
                    yield [Record(tuple(line.split(b"\t")), names) for line in lines[1:-1]]

    async def _chunks(self, query: str, format: str | None, query_id: str | None) -> AsyncIterator[Any]:
        """Results with rows, or in a format, as they come."""
        from ..aio.server import ServerConnection, ServerStream
        from ..aio.stream import StreamingResult

        stream: Any = None
        try:
            connection, given = await self._connection(), self._given(query_id)
            if isinstance(connection, ServerConnection):
                stream = ServerStream(connection._talk(query, format, streams=True, **given))
            elif format is None:
                stream = StreamingResult(connection._connection()._stream(query, None, None, self.params))
            else:
                stream = connection.send_query(query, format, **given)
            async for chunk in stream:
                yield chunk
        except _chalet.Error as error:
            if "Streaming query is not supported" not in str(error):
                raise _raised(error) from None
            yield await connection.query(query, format, **given)
        finally:
            if stream is not None:
                await stream.close()

    async def _insert(self, query: str, rows: tuple[Any, ...], query_id: str | None, keys: Any = None) -> None:
        text = _BEHIND.sub(" VALUES", query, count=1)
        try:
            connection = await self._connection()
            if self._is_server:
                await connection._talk(text, None, rows=list(rows), keys=keys, **self._given(query_id)).answer()  # type: ignore[attr-defined]
            else:
                self._given(query_id)
                await connection.insert_rows(text, list(rows), keys)
        except _chalet.Error as error:
            raise _raised(error) from None

    async def _insert_json(self, query: str, records: tuple[Any, ...], query_id: str | None) -> None:
        head = _BEHIND.sub("", query, count=1)
        keys = list(records[0]) if isinstance(records[0], dict) else []
        if keys and all(isinstance(record, dict) and record.keys() == records[0].keys() for record in records):
            # Columns that are left out have their defaults.
            listed = "" if _LISTED.search(head) else f" ({', '.join(map(_quoted, keys))})"
            if not listed:
                keys = [name.strip().strip('`"') for name in _LISTED.search(head)[0].strip()[1:-1].split(",")]  # type: ignore[index]
            await self._insert(f"{head}{listed}", records, query_id, keys)
            return
        self._given(query_id)
        lines = [self._json.dumps(record) for record in records]
        data = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        await self._insert_data(f"{head} FORMAT {_JSON}", data)

    async def _insert_data(self, query: str, data: Any) -> None:
        try:
            async with (await self._connection()).send_insert(query, settings=self.params) as insert:
                await insert.append(data)
                await insert.finish()
        except _chalet.Error as error:
            raise _raised(error) from None


def _server(url: str, user: str | None, password: str | None, database: str, compresses: bool) -> str:
    """The URL with what else is known."""
    parts = urlsplit(url)
    options = {"pool_size": "100", "compression": "lz4" if compresses else "none", **dict(parse_qsl(parts.query))}
    who, _, hosts = parts.netloc.rpartition("@")
    if user or password:
        who = quote(user or "default", safe="") + (f":{quote(password, safe='')}" if password else "")
    path = parts.path.strip("/") or quote(database, safe="")
    return f"{parts.scheme}://{who}{'@' if who else ''}{hosts}/{path}?{urlencode(options)}"


def _word(query: str) -> str:
    """The word that a statement begins with."""
    found = _FIRST.match(query)
    return found[1].upper() if found else ""


def _filled(query: str, params: Any) -> str:
    if params is None:
        return query
    if not isinstance(params, dict):
        raise TypeError("Query params must be a Dict[str, Any]")
    return query.format(**{name: _literal(value) for name, value in params.items()}) if params else query


def _literal(value: Any) -> str:
    """A value as it is written in a statement."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, (int, float, decimal.Decimal)):
        return repr(float(value)) if isinstance(value, float) else str(int(value) if isinstance(value, int) else value)
    if isinstance(value, datetime.datetime):
        return f"'{value:%Y-%m-%d %H:%M:%S.%f}'" if value.microsecond else f"'{value:%Y-%m-%d %H:%M:%S}'"
    if isinstance(value, (datetime.date, uuid.UUID, ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return f"'{value}'"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_literal(key)}:{_literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        listed = ",".join(map(_literal, value))
        return f"[{listed}]" if isinstance(value, list) else f"({listed})"
    raise ChClientError(
        f"Unrecognized type: '{type(value)}'. The value type should be one of int, float, str, dt.date, dt.datetime, "
        "dict, tuple, list, uuid.UUID (or a subclass of one of them, or None)."
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _raised(error: _chalet.Error) -> ChClientError:
    made = ChClientError(str(error))
    made.code = error.code
    return made
