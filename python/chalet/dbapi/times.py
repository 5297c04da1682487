"""The constructors of PEP 249 for dates and times; ticks are seconds since 1970 in the machine's zone."""

from datetime import date, datetime, time, timedelta
from time import localtime

Date = date
Time = time
TimeDelta = timedelta
Timestamp = datetime


def DateFromTicks(ticks: float) -> date:
    """The date of a moment."""
    return date(*localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> time:
    """The time of day of a moment, in whole seconds."""
    return time(*localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime:
    """The date and time of a moment, in whole seconds, without a zone."""
    return datetime(*localtime(ticks)[:6])


__all__ = [
    "Date",
    "DateFromTicks",
    "Time",
    "TimeDelta",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "date",
    "datetime",
    "time",
    "timedelta",
]
