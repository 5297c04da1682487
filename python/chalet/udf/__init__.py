"""Python functions as functions of SQL."""

from .udf import agg, chdb_udf, func, generate_udf

__all__ = ["agg", "chdb_udf", "func", "generate_udf"]
