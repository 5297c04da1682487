"""SQL over frames, Arrow tables and Parquet, under the names of chDB: `Table`, and `query` over several of them.

>>> import pandas, chalet.dataframe as cdf
>>> people = pandas.DataFrame({"name": ["Ada", "Bo"], "city": [1, 2]})
>>> cities = pandas.DataFrame({"id": [1, 2], "city": ["Aalen", "Bern"]})
>>> joined = cdf.query("SELECT p.name AS name, c.city AS city FROM __p__ AS p JOIN __c__ AS c ON p.city = c.id", p=people, c=cities)
>>> joined.query("SELECT city FROM __table__ WHERE name = 'Bo'").to_pandas()
   city
0  Bern

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
