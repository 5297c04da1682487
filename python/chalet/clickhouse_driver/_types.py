"""Names of types, as far as the settings of a Client need to look into them."""

from __future__ import annotations

from functools import lru_cache

_QUOTES = "'`\""


@lru_cache(maxsize=512)
def arguments(ty: str) -> tuple[str, ...]:
    """What is between the parentheses of a type, apart at commas; of elements with a name the type alone."""
    start = ty.find("(")
    if start < 0:
        return ()
    found = []
    depth, begin, quote = 0, start + 1, ""
    at = begin
    while at < len(ty):
        char = ty[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char == "(":
            depth += 1
        elif depth == 0 and char in ",)":
            found.append(ty[begin:at].strip())
            begin = at + 1
        elif char == ")":
            depth -= 1
        elif char == " " and depth == 0 and ty[begin:at].strip():
            # What stood before it was a name.
            begin = at + 1
        at += 1
    return tuple([one for one in found if one])


def zone_of(ty: str) -> str | None:
    """The time zone that a type of date-times names."""
    named = [one for one in arguments(ty) if one.startswith("'")]
    return named[0][1:-1] if named else None
