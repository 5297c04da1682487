"""What `chdb_version` and its like are: text split at the points, as chDB has it."""

from ._chalet import __version__

chalet_version: tuple[str, ...] = tuple(__version__.split("."))
# The kernel whose dialect and answers are the model; what programs compare that ask for the engine's version.
engine_version = "26.9.2.1"
core_version = "26.9.0"
