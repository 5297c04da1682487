"""SQL over frames, Arrow tables and Parquet, under the names of chDB: `Table`, and `query` over several of them.

    import chalet.dataframe as cdf
    joined = cdf.query("SELECT * FROM __left__ AS l JOIN __right__ AS r ON l.k = r.k", left=frame, right=other)
    joined.query("SELECT count() FROM __table__").to_pandas()

Frames and Arrow tables are read in place. A connection does all that and more: `chalet.connect().sql(...)`.
"""

from __future__ import annotations

from typing import Any

from .table import Table

query = sql = Table.queryStatic


def pandas_read_parquet(path: Any) -> Any:
    """A Parquet file as a pandas DataFrame, read by pandas."""
    from .._frame import _package

    return _package("pandas", "a DataFrame").read_parquet(path)


__all__ = ["Table", "pandas_read_parquet", "query", "sql"]
