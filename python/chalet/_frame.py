"""Results as pandas, polars, pyarrow and numpy objects. Imports them when asked to, since chalet needs none of them."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ._chalet import OperationalError

_PANDAS_TEXT: Any = None

# Values of a frame that is copied rather than checked.
_SMALL = 50_000


def _package(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name}: pip install {name} ({error})") from None


def needs_pandas() -> None:
    """Raises ImportError, which names the package, if there is no pandas."""
    _package("pandas", "a DataFrame")


def needs_numpy() -> None:
    """Raises ImportError, which names the package, if there is no numpy."""
    _package("numpy", "a dict of arrays")


def frame(columns: list[tuple[Any, ...]], n_rows: int) -> Any:
    """A DataFrame of `(name, kind, values, mask, zone)`; see `frame.rs`."""
    import numpy as np
    import pandas as pd

    arrays = [_array(np, pd, *column[1:]) for column in columns]
    # A view has a name of its own: users set `frame.columns.name`.
    labels = _labels(tuple([column[0] for column in columns])).view()
    # Half the time of a small query is pandas' checking of what is known here. (It copies, so not for large frames.)
    quick = getattr(pd.DataFrame, "_from_arrays", None)
    if quick is not None and 0 < n_rows * len(columns) < _SMALL:
        return quick(arrays, columns=labels, index=pd.RangeIndex(n_rows), verify_integrity=False)
    # The arrays are new: nobody else has them, so there is no need to copy.
    made = pd.DataFrame(dict(enumerate(arrays)), index=pd.RangeIndex(n_rows), copy=False)
    made.columns = labels
    return made


@functools.lru_cache(maxsize=64)
def _labels(names: tuple[str, ...]) -> Any:
    """The Index of column names, which takes 60 us to make. Its labels never change, its name may: it is handed out as views."""
    import pandas as pd

    return pd.Index(list(names), dtype=None if names else object)


def _array(np: Any, pd: Any, kind: str, values: Any, mask: Any, zone: str | None) -> Any:
    if kind == "str":
        return _texts(np, pd, values)
    if kind == "O":
        return _objects(np, values)
    if mask is not None:
        return (pd.arrays.BooleanArray if kind == "?" else pd.arrays.IntegerArray)(values, mask)
    if zone is not None:
        return pd.Series(values).dt.tz_localize("UTC").dt.tz_convert(time_zone(zone)).array
    return values


def time_zone(name: str) -> Any:
    """The tzinfo of a zone by the engine's name of it: `Fixed/UTC+01:00:00` has a fixed offset."""
    import datetime
    import zoneinfo

    if not name.startswith("Fixed/UTC"):
        return zoneinfo.ZoneInfo(name)
    hours, minutes, seconds = (int(part) for part in name[len("Fixed/UTC") + 1 :].split(":"))
    offset = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return datetime.timezone(-offset if name[len("Fixed/UTC")] == "-" else offset)


def _texts(np: Any, pd: Any, values: Any) -> Any:
    """pandas 3 holds texts as Arrow where pyarrow is installed; pandas 2 has objects."""
    global _PANDAS_TEXT
    if _PANDAS_TEXT is None:
        _PANDAS_TEXT = (False, None, None)
        if int(pd.__version__.split(".")[0]) >= 3:
            _PANDAS_TEXT = (True, pd.StringDtype(na_value=np.nan), None)
            if _PANDAS_TEXT[1].storage == "pyarrow":
                _PANDAS_TEXT = (*_PANDAS_TEXT[:2], importlib.import_module("pyarrow"))
    is_type, dtype, pyarrow = _PANDAS_TEXT
    if pyarrow is not None:
        return dtype.__from_arrow__(pyarrow.array(values))
    return pd.array(values.objects(), dtype="str") if is_type else _objects(np, values.objects())


def _objects(np: Any, values: list[Any]) -> Any:
    # Filled one by one: numpy would make a matrix of lists of one length.
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def arrays(columns: list[tuple[Any, ...]]) -> dict[str, Any]:
    """A dict of numpy arrays of `(name, kind, values, mask, zone)`; a second column of a name is not lost."""
    np = _package("numpy", "a dict of arrays")
    made: dict[str, Any] = {}
    for name, kind, values, mask, _zone in columns:
        array = _objects(np, values.objects() if kind == "str" else values) if kind in ("str", "O") else values
        label, number = name, 1
        while label in made:
            label, number = f"{name}_{number}", number + 1
        made[label] = array if mask is None else np.ma.MaskedArray(array, mask)
    return made


def table(exporter: Any) -> Any:
    """A pyarrow Table that shares the result's memory."""
    pyarrow = _package("pyarrow", "an ArrowTable")
    try:
        return pyarrow.table(exporter)
    except pyarrow.ArrowInvalid as error:
        raise _named(error) from None


def _named(error: Exception) -> Exception:
    """An error of the engine that came through the Arrow stream, which knows nothing but its text: a limit of memory."""
    text = str(error)
    code, is_ours, _ = text[text.find("Code: ") + 6 :].partition(". DB::Exception: ")
    if not is_ours or not code.isdigit():
        return error
    named = OperationalError(text[text.find("Code: ") :])
    named.code, named.name = int(code), text[text.rfind("(") + 1 : text.rfind(")")]
    return named


def no_table() -> Any:
    """A pyarrow Table without columns: of statements that have no rows."""
    return _package("pyarrow", "an ArrowTable").table({})


def reader(exporter: Any) -> Any:
    """A pyarrow RecordBatchReader."""
    return _package("pyarrow", "a RecordBatchReader").RecordBatchReader.from_stream(exporter)


def polars(exporter: Any, lazy: bool) -> Any:
    """A polars DataFrame, whose texts share the result's memory, or a LazyFrame."""
    made = _package("polars", "a polars DataFrame").DataFrame(exporter)
    return made.lazy() if lazy else made


def batches(capsule: Any) -> Any:
    """A pyarrow RecordBatchReader over an Arrow stream."""
    return reader(_Capsule(capsule))


class _Capsule:
    """What pyarrow reads a stream from."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._capsule


class ChdbRecordBatchReader:
    """Record batches of a `StreamingResult`, with chDB's methods: `record_batch` of the result gives pyarrow's reader."""

    def __init__(self, chdb_stream_result: Any, batch_size_rows: int) -> None:
        self._reader = chdb_stream_result.record_batch(batch_size_rows)

    def schema(self) -> Any:
        """The pyarrow Schema."""
        return self._reader.schema

    def read_next_batch(self) -> Any:
        """The next batch; StopIteration at the end."""
        return self._reader.read_next_batch()

    def close(self) -> None:
        """Ends the query."""
        self._reader.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self.read_next_batch()


def to_arrowTable(res: Any) -> Any:
    """A result in the format Arrow, or one with rows, as a pyarrow Table."""
    pyarrow = _package("pyarrow", "to_arrowTable()")
    if isinstance(res, pyarrow.Table):
        return res
    try:
        return pyarrow.table(res)
    except ValueError:
        # Bytes: the file form of the format Arrow, the stream form of ArrowStream.
        data = pyarrow.py_buffer(res.bytes())
        if data.size == 0:
            return pyarrow.table({})
        is_file = data.slice(0, 6).to_pybytes() == b"ARROW1"
        return (pyarrow.ipc.open_file(data) if is_file else pyarrow.ipc.open_stream(data)).read_all()


def to_datastore(df: Any) -> Any:
    """chDB's DataStore is not part of this package."""
    from ._chalet import NotSupportedError

    raise NotSupportedError("DataStore is not supported: ask for a DataFrame")
