"""The errors of clickhouse-driver, by its names. What a statement fails with is a ServerException, with ClickHouse's code."""

from __future__ import annotations

from .. import _chalet


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


class TypeMismatchError(Error):
    """A value of an INSERT is none of its column."""

    code = 53


class NetworkError(Error):
    code = 210


class SocketTimeoutError(Error):
    code = 209


class UnexpectedPacketFromServerError(Error):
    code = 102


class NotSupportedError(Error):
    """What clickhouse-driver does and this package does not."""

    code = 48


_BY_CODE = {209: SocketTimeoutError, 210: NetworkError, 279: NetworkError, 102: UnexpectedPacketFromServerError}


def raised(error: _chalet.Error) -> Error:
    """An error of the engine as one of these."""
    text = str(error)
    kind = _BY_CODE.get(error.code)
    if kind is not None:
        return kind(text)
    start, end = text.find("DB::Exception"), text.rfind(f" ({error.name})")
    return ServerException(text[max(start, 0) : end if end > 0 else None], error.code)
