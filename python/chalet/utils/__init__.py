"""Nested dicts as columns, and the types of columns."""

from . import trace
from .types import convert_to_columnar, flatten_dict, infer_data_type, infer_data_types

__all__ = ["convert_to_columnar", "flatten_dict", "infer_data_type", "infer_data_types", "trace"]
