"""`%sql` and `%%sql` of IPython and Jupyter: `%load_ext chalet`.

    %sql SELECT count() FROM frame
    %sql total << SELECT sum(x) AS s FROM frame WHERE x > {least:UInt64}

    %%sql answer <<
    SELECT ...

Variables of the notebook are tables by their names, and values of `{name:Type}`. The line may begin with options:
`--to df`, `pl`, `arrow` or `numpy` for another kind of result, `--format NAME` for text of a format, `--using NAME` for the
connection in a variable, `--connect STRING` to open another database for the statements from there on.
"""

from __future__ import annotations

import re
from types import FunctionType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from . import _chalet

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

_OPTION = re.compile(r"--(?P<name>[a-z]+)(?:(?:=|\s+)(?P<value>'[^']*'|\"[^\"]*\"|(?!--)\S+)\s*)?")
_TARGET = re.compile(r"(?P<name>[^\W\d]\w*)\s*<<\s*")
_KINDS: dict[str, Callable[[_chalet.Result], Any]] = {
    "df": lambda result: result.df(),
    "pl": lambda result: result.pl(),
    "arrow": lambda result: result.arrow(),
    "numpy": lambda result: result.numpy(),
    "result": lambda result: result,
}


@magics_class
class ChaletMagics(Magics):
    """One connection for a notebook, unless it asks for others."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._connection: _chalet.Connection | None = None

    @property
    def connection(self) -> _chalet.Connection:
        """The notebook's own, in memory where it named no other."""
        if self._connection is None:
            self._connection = _chalet.Connection(":memory:?progress=auto")
        return self._connection

    def close(self) -> None:
        """Ends it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @needs_local_scope
    @no_var_expand
    @line_cell_magic
    def sql(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Runs statements; the rows of the last one are the result, a table. `%sql [OPTIONS] [NAME <<] SQL`."""
        variables = {**self.shell.user_ns, **(local_ns or {})}
        options, target, rest = _taken_apart(line)
        if "connect" in options:
            opened = _chalet.Connection(_with_progress(options["connect"]))
            self.close()
            self._connection = opened
        sql = rest if cell is None else f"{rest}\n{cell}"
        if not sql.strip():
            if "connect" in options:
                return None
            raise UsageError("%sql needs a statement: %sql [--to df] [name <<] SELECT ...")
        connection = _connection_of(variables, options["using"]) if "using" in options else self.connection
        if "to" in options and "format" in options:
            raise UsageError("either --to or --format, not both")
        fmt = options.get("format")
        params = {name: variables[name] for name in _parameters(sql) if name in variables}
        result = _seen_from(variables, lambda: connection.query(sql, fmt, params))
        if fmt is None:
            if _has_rows(result) or result.size() > 0:
                result = _KINDS[options.get("to", "result")](result)
            else:
                # Of a CREATE or an INSERT, which has been done: no kind of table.
                result = None
        if target is None:
            return result
        self.shell.user_ns[target] = result
        return None


def _taken_apart(line: str) -> tuple[dict[str, str], str | None, str]:
    """Options, the name before `<<`, and the rest."""
    options: dict[str, str] = {}
    line = line.strip()
    while match := _OPTION.match(line):
        name, value = match["name"], match["value"]
        if name not in ("to", "format", "using", "connect"):
            raise UsageError(f"%sql has no option --{name}")
        if value is None:
            raise UsageError(f"--{name} needs a value")
        if name == "to" and value not in _KINDS:
            raise UsageError(f"--to is one of {', '.join(_KINDS)}, not {value!r}")
        options[name] = value[1:-1] if value[0] in "'\"" else value
        line = line[match.end() :]
    target = _TARGET.match(line)
    return options, target and target["name"], line[target.end() :] if target else line


def _with_progress(connection_string: str) -> str:
    if "progress=" in connection_string:
        return connection_string
    return connection_string + ("&" if "?" in connection_string else "?") + "progress=auto"


def _connection_of(variables: dict[str, Any], name: str) -> Any:
    if name not in variables:
        raise UsageError(f"there is no variable {name!r}")
    connection = variables[name]
    connection = getattr(connection, "_conn", connection)
    if not isinstance(connection, _chalet.Connection):
        raise UsageError(f"{name!r} is no connection of chalet but a {type(connection).__name__}")
    return connection


def _parameters(sql: str) -> set[str]:
    """The names of `{name:Type}`."""
    tokens = [text for kind, text in _chalet.tokens(sql) if kind not in ("space", "comment")]
    return {name for before, name, after in zip(tokens, tokens[1:], tokens[2:]) if before == "{" and after == ":"}


def _has_rows(result: Any) -> bool:
    try:
        return bool(result.columns)
    except ValueError:
        return False


def _call(_chalet_run: Callable[[], Any]) -> Any:
    return _chalet_run()


def _seen_from(variables: dict[str, Any], run: Callable[[], Any]) -> Any:
    """Runs where these are the variables of the caller, in which names of tables are looked up."""
    return FunctionType(_call.__code__, variables)(run)


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """`%load_ext chalet`."""
    ipython.register_magics(ChaletMagics(ipython))


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """`%unload_ext chalet`: ends the notebook's connection."""
    magics = ipython.magics_manager.registry.pop("ChaletMagics", None)
    if magics is not None:
        magics.close()
    for kind in ("line", "cell"):
        ipython.magics_manager.magics[kind].pop("sql", None)
