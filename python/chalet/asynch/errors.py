"""The errors of asynch, by its names. What a statement fails with is a ServerException, with ClickHouse's code."""

from __future__ import annotations

from .. import _chalet
from ..clickhouse_driver import errors as _driver
from ..clickhouse_driver.errors import ErrorCodes as ErrorCode


class Warning(Exception):  # noqa: A001
    """Is there to be named."""


class Error(Exception):
    """All of them."""

    code: int | None = None

    def __init__(self, message: str | None = None, code: int | None = None) -> None:
        self.message = message
        if code is not None:
            self.code = code
        super().__init__(message)

    def __str__(self) -> str:
        return f"Code: {self.code}." + ("" if self.message is None else f" {self.message}")


class ClickHouseException(Error):
    """All of them."""


class ServerException(ClickHouseException):
    """A statement failed."""

    def __str__(self) -> str:
        return f"Code: {self.code}.\n{self.message}"


class LogicalError(ClickHouseException):
    code = 49


class UnexpectedPacketFromServerError(ClickHouseException):
    code = 102


class UnknownPacketFromServerError(ClickHouseException):
    code = 100


class UnknownTypeError(ClickHouseException):
    code = 50


class ChecksumDoesntMatchError(ClickHouseException):
    code = 40


class TypeMismatchError(ClickHouseException):
    code = 53


class NetworkError(ClickHouseException):
    code = 210


class SocketTimeoutError(ClickHouseException):
    code = 209


class PartiallyConsumedQueryError(ClickHouseException):
    code = -1


class InterfaceError(ClickHouseException):
    """A closed cursor, and the like."""


class DatabaseError(ClickHouseException):
    pass


class DataError(DatabaseError):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class InternalError(DatabaseError):
    pass


class ProgrammingError(DatabaseError):
    """Rows of a cursor that has run nothing, and the like."""


class NotSupportedError(DatabaseError):
    """What asynch does and this package does not, and what neither does."""

    code = 48


class AsynchPoolError(ClickHouseException):
    """A pool that cannot give a connection."""


_OWN = (NetworkError, SocketTimeoutError, ChecksumDoesntMatchError, UnexpectedPacketFromServerError, UnknownPacketFromServerError, TypeMismatchError)


def raised(error: _chalet.Error) -> Error:
    """An error of the engine as one of these."""
    made = _driver.raised(error)
    own = {kind.__name__: kind for kind in _OWN}.get(type(made).__name__)
    return ServerException(made.message, made.code) if own is None else own(made.message, error.code)


__all__ = [name for name, kind in list(globals().items()) if isinstance(kind, type) and name != "annotations"]
