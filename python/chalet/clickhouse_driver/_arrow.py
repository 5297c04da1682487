"""Results as pyarrow gives them: what clickhouse-driver adds to schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _chalet
from .errors import raised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._chalet import StreamingResult


def schema(of: Any, columns: list[tuple[str, str]], field_metadata: bool, arrow_types: Mapping[str, Any] | None) -> Any:
    """The schema with other types, and with those of the engine as metadata."""
    import pyarrow

    fields = []
    for field, (name, ty) in zip(of, columns):
        if arrow_types and name in arrow_types:
            field = field.with_type(arrow_types[name])
        field = field.with_nullable(True)
        fields.append(field.with_metadata({**(field.metadata or {}), "clickhouse_type": ty}) if field_metadata else field)
    return pyarrow.schema(fields, of.metadata)


def reader(first: Any, stream: StreamingResult, wanted: Any) -> Any:
    """The batches of a stream under such a schema, of which the first have been fetched as a Table."""
    import pyarrow

    def batches() -> Iterator[Any]:
        table = first
        try:
            while table is not None:
                yield from table.cast(wanted).to_batches()
                result = stream.fetch()
                table = result and result.arrow()
        except _chalet.Error as error:
            raise raised(error) from None
        finally:
            stream.close()

    return pyarrow.RecordBatchReader.from_batches(wanted, batches())
