"""Results as pandas and pyarrow objects. Imports them when asked to, since chalet needs neither."""


def frame(columns, n_rows):
    """A DataFrame of `(name, kind, values, mask, zone)`; kind is a numpy type, "str" or "O"."""
    try:
        import numpy as np
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"a DataFrame needs pandas: pip install pandas ({error})") from None
    series = [_series(np, pd, *column) for column in columns]
    made = pd.DataFrame(dict(enumerate(series)), index=pd.RangeIndex(n_rows))
    made.columns = [column[0] for column in columns]
    return made


def _series(np, pd, _name, kind, values, mask, zone):
    if kind == "str":
        return pd.array(values, dtype="str") if int(pd.__version__.split(".")[0]) >= 3 else _objects(np, values)
    if kind == "O":
        return _objects(np, values)
    array = np.frombuffer(values, dtype=kind)
    missing = None if mask is None else np.frombuffer(mask, dtype="?")
    if missing is None:
        pass
    elif kind[0] == "f":
        array = np.where(missing, np.array("nan", dtype=kind), array)
    elif kind[0] in "mM":
        array = np.where(missing, np.array("NaT", dtype=kind), array)
    elif kind == "?":
        return pd.arrays.BooleanArray(array.copy(), missing.copy())
    else:
        return pd.arrays.IntegerArray(array.copy(), missing.copy())
    if zone is not None:
        return pd.Series(array).dt.tz_localize("UTC").dt.tz_convert(zone).array
    return array


def _objects(np, values):
    # Filled one by one: numpy would make a matrix of lists of one length.
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def table(result):
    """A pyarrow Table that shares the result's memory."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"an ArrowTable needs pyarrow: pip install pyarrow ({error})") from None
    return pyarrow.table(result)
