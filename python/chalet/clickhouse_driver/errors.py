"""The errors of clickhouse-driver, by its names. What a statement fails with is a ServerException, with ClickHouse's code."""

from __future__ import annotations

from functools import lru_cache

from .. import _chalet


@lru_cache(maxsize=1)
def _codes() -> dict[str, int]:
    """The numbers of ClickHouse's codes by their names, as the engine has them."""
    with _chalet.Connection() as connection:
        asked = "SELECT errorCodeToName(number) AS name, number FROM numbers(2000) WHERE name != ''"
        return dict(connection.cursor().execute(asked).fetchall())


class _Codes(type):
    def __getattr__(cls, name: str) -> int:
        found = None if name.startswith("_") else _codes().get(name)
        if found is None:
            raise AttributeError(f"ErrorCodes has no {name}")
        return found


class ErrorCodes(metaclass=_Codes):
    """The numbers of codes: `ErrorCodes.UNKNOWN_TABLE` is 60."""


class Error(Exception):
    """All of them."""

    code: int | None = None

    def __init__(self, message: str | None = None) -> None:
        self.message = message
        super().__init__(message)

    def __str__(self) -> str:
        return f"Code: {self.code}." + ("" if self.message is None else f" {self.message}")


class ServerException(Error):
    """A statement failed."""

    def __init__(self, message: str, code: int | None = None, nested: Error | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.nested = nested

    def __str__(self) -> str:
        nested = f"\nNested: {self.nested}" if self.nested else ""
        return f"Code: {self.code}.{nested}\n{self.message}"


class LogicalError(Error):
    code = 49


class UnknownTypeError(Error):
    code = 50


class ChecksumDoesntMatchError(Error):
    code = 40


class TypeMismatchError(Error):
    """A value of an INSERT is none of its column."""

    code = 53


class UnknownCompressionMethod(Error):
    code = 89


class TooLargeStringSize(Error):
    code = 131


class NetworkError(Error):
    code = 210


class SocketTimeoutError(Error):
    code = 209


class UnexpectedPacketFromServerError(Error):
    code = 102


class UnknownPacketFromServerError(Error):
    code = 100


class CannotParseUuidError(Error):
    code = 376


class CannotParseDomainError(Error):
    code = 441


class PartiallyConsumedQueryError(Error):
    """Is there to be named: statements beside a stream run here."""

    code = -1


class NotSupportedError(Error):
    """What clickhouse-driver does and this package does not."""

    code = 48


_BY_CODE = {
    279: NetworkError,
    **{
        kind.code: kind
        for kind in (
            ChecksumDoesntMatchError,
            NetworkError,
            SocketTimeoutError,
            UnexpectedPacketFromServerError,
            UnknownPacketFromServerError,
        )
    },
}


def raised(error: _chalet.Error) -> Error:
    """An error of the engine as one of these."""
    text = str(error)
    kind = _BY_CODE.get(error.code)
    if kind is not None:
        return kind(text)
    start, end = text.find("DB::Exception"), text.rfind(f" ({error.name})")
    return ServerException(text[max(start, 0) : end if end > 0 else None], error.code)
