"""`Session`: a connection under the name and with the arguments that users of chDB know."""

from .state import Session

__all__ = ["Session"]
