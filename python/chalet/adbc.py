"""Arrow Database Connectivity: `chalet.adbc.connect()` is a connection of DB-API 2.0 whose rows are Arrow's all the way.

The driver is the extension module itself, so that any driver manager can load it: `driver_path()` and `ENTRYPOINT`.
Needs the package adbc_driver_manager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _chalet
from ._location import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adbc_driver_manager import AdbcDatabase, dbapi

#: The function of the library that a driver manager calls.
ENTRYPOINT = "AdbcChaletInit"


def driver_path() -> str:
    """The library that has the driver."""
    return str(_chalet.__file__)


def database(uri: str = ":memory:", db_kwargs: Mapping[str, str] | None = None) -> AdbcDatabase:
    """A database for adbc_driver_manager's own classes; `uri` is a connection string of `chalet.connect`."""
    from adbc_driver_manager import AdbcDatabase

    return AdbcDatabase(**_options(uri, db_kwargs))


def connect(
    uri: str = ":memory:",
    db_kwargs: Mapping[str, str] | None = None,
    conn_kwargs: Mapping[str, str] | None = None,
    *,
    autocommit: bool = True,
) -> dbapi.Connection:
    """Opens a database; further options are settings of ClickHouse. There are no transactions: without autocommit
    adbc_driver_manager warns of that."""
    try:
        from adbc_driver_manager import dbapi
    except ImportError as error:
        raise ImportError(f"chalet.adbc needs adbc_driver_manager: pip install adbc-driver-manager pyarrow ({error})") from None
    options = _options(uri, db_kwargs)
    driver, entrypoint = options.pop("driver"), options.pop("entrypoint")
    return dbapi.connect(
        driver=driver,
        entrypoint=entrypoint,
        db_kwargs=options,
        conn_kwargs=dict(conn_kwargs or {}),
        autocommit=autocommit,
    )


def _options(uri: str, given: Mapping[str, str] | None) -> dict[str, Any]:
    path, settings, _ = parse(uri)
    return {"driver": driver_path(), "entrypoint": ENTRYPOINT, "uri": path, **dict(settings), **(given or {})}
