"""The exceptions of PEP 249. `Error` is `chalet.Error`: what a statement raises is one of these, with `code` and `name`."""

from .._chalet import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    StandardError,
    Warning,
)

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "StandardError",
    "Warning",
]
