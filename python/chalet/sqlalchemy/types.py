"""The types of ClickHouse that SQLAlchemy has none for. `Column("n", types.UInt64, nullable=False)`; where a column may be NULL,
the dialect puts Nullable around its type."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import sqlalchemy.types as sa
from sqlalchemy.sql import operators
from sqlalchemy.sql.type_api import to_instance

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine


def _operators(*names: str) -> Any:
    """The operators of a type, which SQLAlchemy 2.1 asks for and 2.0 does not know."""
    known = getattr(operators, "OperatorClass", None)
    return None if known is None else functools.reduce(operator.or_, [known[name] for name in names])


class Native:
    """A type under ClickHouse's name of it."""

    def __init_subclass__(cls, **options: Any) -> None:
        # What SQLAlchemy finds the method of the compiler by; it looks at each class alone.
        cls.__visit_name__ = "chalet"
        super().__init_subclass__(**options)

    #: May it stand in Nullable?
    can_be_null = True

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        """The type as text; the function gives the text of a part."""
        return type(self).__name__


# --- numbers -----------------------------------------------------------------------------------------------------------


class Int8(Native, sa.SmallInteger):
    """8 bits with a sign."""


class Int16(Native, sa.SmallInteger):
    """16 bits with a sign."""


class Int32(Native, sa.Integer):
    """32 bits with a sign."""


class Int64(Native, sa.BigInteger):
    """64 bits with a sign."""


class Int128(Native, sa.BigInteger):
    """128 bits with a sign."""


class Int256(Native, sa.BigInteger):
    """256 bits with a sign."""


class UInt8(Native, sa.SmallInteger):
    """8 bits."""


class UInt16(Native, sa.Integer):
    """16 bits."""


class UInt32(Native, sa.BigInteger):
    """32 bits."""


class UInt64(Native, sa.BigInteger):
    """64 bits."""


class UInt128(Native, sa.BigInteger):
    """128 bits."""


class UInt256(Native, sa.BigInteger):
    """256 bits."""


class Float32(Native, sa.Float[float]):
    """32 bits."""


class Float64(Native, sa.Double[float]):
    """64 bits."""


class BFloat16(Native, sa.Float[float]):
    """The upper half of a Float32."""


class Decimal(Native, sa.Numeric[Any]):
    """`Decimal(digits, digits behind the point)`, as decimal.Decimal."""

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"Decimal({self.precision}, {self.scale or 0})"


# --- text --------------------------------------------------------------------------------------------------------------


class FixedString(Native, sa.String):
    """`FixedString(bytes)`."""

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"FixedString({self.length})"


class _Enum(Native, sa.Enum):
    def __init__(self, *names: Any, values: dict[str, int] | None = None, **options: Any) -> None:
        """Names, or a class of enum.Enum; `values` are the numbers of names, which are else counted from 1."""
        super().__init__(*(values if values and not names else names), **options)
        self.values = dict(values) if values else {name: number for number, name in enumerate(self.enums, 1)}

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"{type(self).__name__}({enumerated(self.values)})"

    def adapt_to_emulated(self, impltype: Any, **kw: Any) -> Any:
        return super().adapt_to_emulated(impltype, values=self.values, **kw)


class Enum8(_Enum):
    """Names with numbers of 8 bits: `Enum8("a", "b")`, `Enum8(values={"a": 1, "b": -1})`."""


class Enum16(_Enum):
    """Names with numbers of 16 bits."""


def enumerated(values: dict[str, int]) -> str:
    """The inside of an Enum."""
    return ", ".join(f"{quoted(name)} = {number}" for name, number in values.items())


def quoted(text: str) -> str:
    """A text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# --- moments -----------------------------------------------------------------------------------------------------------


class Date(Native, sa.Date):
    """From 1970 to 2149."""


class Date32(Native, sa.Date):
    """From 1900 to 2299."""


class DateTime(Native, sa.DateTime):
    """Seconds from 1970 to 2106, in a time zone or that of the session."""

    def __init__(self, zone: str | None = None) -> None:
        super().__init__(timezone=zone is not None)
        self.zone = zone

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return "DateTime" if self.zone is None else f"DateTime({quoted(self.zone)})"


class DateTime64(Native, sa.DateTime):
    """Fractions of seconds, of as many digits as `precision`, from 1900 to 2299."""

    def __init__(self, precision: int = 6, zone: str | None = None) -> None:
        super().__init__(timezone=zone is not None)
        self.precision = precision
        self.zone = zone

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"DateTime64({self.precision}{'' if self.zone is None else ', ' + quoted(self.zone)})"


class Time64(Native, sa.Time):
    """A time of day, or longer, with fractions of seconds of as many digits as `precision`."""

    def __init__(self, precision: int = 6) -> None:
        super().__init__()
        self.precision = precision

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"Time64({self.precision})"


# --- addresses ---------------------------------------------------------------------------------------------------------


class IPv4(Native, sa.TypeEngine[Any]):
    """ipaddress.IPv4Address."""

    operator_classes = _operators("BASE", "COMPARISON")


class IPv6(Native, sa.TypeEngine[Any]):
    """ipaddress.IPv6Address."""

    operator_classes = _operators("BASE", "COMPARISON")


# --- types of types ----------------------------------------------------------------------------------------------------


class Array(Native, sa.ARRAY[Any]):
    """A list of values of one type; of lists where that is an Array itself."""

    can_be_null = False

    def __init__(self, item_type: Any) -> None:
        # Not as the base class wants it, which has dimensions.
        self.item_type = to_instance(item_type)
        self.as_tuple, self.dimensions, self.zero_indexes = False, 1, False

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"Array({of(self.item_type)})"


class Map(Native, sa.Indexable, sa.TypeEngine[Any]):
    """A dict: `table.c.map["key"]` has the type of values."""

    can_be_null = False
    operator_classes = _operators("BASE", "EQUALITY", "INDEXABLE")

    def __init__(self, key_type: Any, value_type: Any) -> None:
        self.key_type, self.value_type = to_instance(key_type), to_instance(value_type)

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return f"Map({of(self.key_type)}, {of(self.value_type)})"

    class Comparator(sa.Indexable.Comparator[Any]):
        def _setup_getitem(self, index: Any) -> Any:
            return operators.getitem, index, self.type.value_type

    comparator_factory = Comparator


class Tuple(Native, sa.TypeEngine[Any]):
    """`Tuple(UInt8, String)`, or with names `Tuple(a=UInt8, b=String)`."""

    can_be_null = False
    operator_classes = _operators("BASE", "COMPARISON", "INDEXABLE")

    def __init__(self, *item_types: Any, **named_types: Any) -> None:
        self.item_types = tuple(to_instance(each) for each in item_types)
        self.named_types = {name: to_instance(each) for name, each in named_types.items()}

    @property
    def _static_cache_key(self) -> Any:
        items = [each._static_cache_key for each in (*self.item_types, *self.named_types.values())]
        return (Tuple, tuple(self.named_types), tuple(items))

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        named = [f"`{name}` {of(each)}" for name, each in self.named_types.items()]
        return f"Tuple({', '.join([*map(of, self.item_types), *named])})"


class _Wrapper(sa.TypeDecorator[Any]):
    impl = sa.String

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = to_instance(inner)
        self.impl = self.impl_instance = self.inner

    def copy(self, **kw: Any) -> Any:
        return type(self)(self.inner)

    def load_dialect_impl(self, dialect: Any) -> Any:
        return self.inner.dialect_impl(dialect)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"


class LowCardinality(_Wrapper):
    """Values by number, for columns of few different ones."""

    cache_ok = True


class Nullable(_Wrapper):
    """A part of another type that may be NULL. Of a column `nullable=True` says it."""

    cache_ok = True


class Other(Native, sa.TypeEngine[Any]):
    """A type by its text, as `AggregateFunction(sum, UInt64)`."""

    can_be_null = False
    operator_classes = _operators("ANY")

    def __init__(self, text: str) -> None:
        self.text = text

    def as_sql(self, of: Callable[[TypeEngine[Any]], str]) -> str:
        return self.text
