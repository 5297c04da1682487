"""Prints what a function does, line by line, where `enable_print` is set."""

from __future__ import annotations

import functools
import linecache
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

enable_print = False


def trace(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that prints its lines with the time, if `enable_print` is set when it is called."""

    @functools.wraps(func)
    def traced(*args: Any, **kwargs: Any) -> Any:
        if not enable_print:
            return func(*args, **kwargs)
        before = sys.gettrace()
        sys.settrace(lambda frame, event, arg: _line if frame.f_code is func.__code__ else None)
        try:
            return func(*args, **kwargs)
        finally:
            sys.settrace(before)

    return traced


print_lines = trace


def _line(frame: Any, event: str, _arg: Any) -> Any:
    if event == "line":
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
        print(f"{datetime.now():%H:%M:%S.%f} {frame.f_code.co_name}:{frame.f_lineno} {text}")
    return _line
