"""What the command line says. Options have the names of clickhouse-local; any other `--name value` is a setting."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

USAGE = """\
usage: chalet [OPTION...] [SQL [FORMAT]]

Runs SQL and prints its output. Without SQL it reads statements from a terminal, or a script from standard input.
`chalet server` serves a database to ClickHouse's clients (`chalet server --help`).
`chalet lab` tells by experiments whether something is faster (`chalet lab --help`).

  -q, --query SQL          run statements; may be given more than once
  --queries-file FILE      run the statements of a file, - for standard input; may be given more than once
  -f, --format FORMAT      the format of output (also --output-format); Pretty on a terminal, TabSeparated elsewhere
  -E, --vertical           one column a line
  -d, --database NAME      the database that names without one are in
  --path PATH              the database; in memory without it
  --host HOST, --port PORT      a server of ClickHouse, which runs the statements, instead of a database
  -u, --user NAME          its user; --password TEXT, or --ask-password
  --secure                 with TLS
  --query-id TEXT          what it knows the statements by
  --external               the --file, --name, --structure or --types, and --format behind it are of a table that is sent along
  --param_NAME VALUE       the value of {NAME:Type}
  --NAME VALUE             a setting, as --max_threads 4

  -F, --file FILE          data, a table of the name 'table'; standard input without it
  -S, --structure TEXT     its columns: 'a UInt64, b String'; found out without it
  --input-format FORMAT    its format; told by its name or content without it
  -N, --table NAME         another name for it

  -i, --interactive        go on with a prompt
  -t, --time               print the seconds of each statement to standard error
  --echo                   print each statement before it runs
  --ignore-error           go on after a statement that fails; the exit status is 1 all the same
  --progress=WHERE         auto, tty, err or off
  --history-file FILE      where statements of the prompt are kept; ~/.chalet_history
  --pipeline FILE          write a picture of what the operators of the query did (.svg, .json) instead of its rows
  --profile FILE           write a flame graph of the query (.svg, .html, .json) instead of its rows
  -V, --version            print the version
  -h, --help               print this
"""

# Of clickhouse-local, and without a meaning here: several statements are always understood, and there is no log.
_ACCEPTED = frozenset({"multiquery", "multiline", "stacktrace", "verbose", "no-system-tables", "highlight", "hilite"})
_FLAGS = {
    "vertical": "vertical",
    "interactive": "interactive",
    "time": "time",
    "echo": "echo",
    "ignore-error": "ignore_error",
    "secure": "secure",
    "ask-password": "asks_password",
    "version": "version",
    "help": "help",
}
_VALUES = {
    "format": "format",
    "output-format": "format",
    "database": "database",
    "path": "path",
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "file": "file",
    "structure": "structure",
    "input-format": "input_format",
    "table": "table",
    "progress": "progress",
    "history-file": "history_file",
    "pipeline": "pipeline",
    "profile": "profile",
    "query-id": "query_id",
}
# Behind --external.
_OF_TABLE = ("file", "name", "structure", "types", "format")
_LISTS = {"query": "queries", "queries-file": "files"}
_SHORT = {
    "q": "query",
    "f": "format",
    "E": "vertical",
    "d": "database",
    "u": "user",
    "F": "file",
    "S": "structure",
    "N": "table",
    "i": "interactive",
    "t": "time",
    "n": "multiquery",
    "m": "multiline",
    "s": "stacktrace",
    "V": "version",
    "h": "help",
}
_PROGRESS = ("auto", "tty", "err", "on", "off")


class UsageError(ValueError):
    """The command line is wrong; the text says how."""


class Options:
    """The command line, taken apart. (A dataclass would be a tenth of the program's start.)"""

    def __init__(self) -> None:
        #: Statements of `-q`, and files of `--queries-file`, which run after them.
        self.queries: list[str] = []
        self.files: list[str] = []
        #: The statements that stand by themselves.
        self.sql: str | None = None
        self.format: str | None = None
        self.database: str | None = None
        self.path = ":memory:"
        #: Of a server.
        self.host: str | None = None
        self.port: str | None = None
        self.user: str | None = None
        self.password: str | None = None
        self.secure = False
        self.asks_password = False
        self.params: dict[str, str] = {}
        self.settings: list[tuple[str, str]] = []
        self.file: str | None = None
        self.structure: str | None = None
        self.input_format: str | None = None
        self.table = "table"
        #: Of tables that are sent along: what --file, --name and the others behind an --external say.
        self.external: list[dict[str, str]] = []
        self.query_id: str | None = None
        self.progress = "auto"
        self.history_file: str | None = None
        #: Files for pictures of queries.
        self.pipeline: str | None = None
        self.profile: str | None = None
        self.vertical = False
        self.interactive = False
        self.time = False
        self.echo = False
        self.ignore_error = False
        self.version = False
        self.help = False

    @property
    def has_server(self) -> bool:
        """Do statements go to a server?"""
        said = (self.host, self.port, self.user, self.password)
        return self.secure or self.asks_password or any(value is not None for value in said)


def parse(arguments: list[str]) -> Options:
    """The options of a command line; UsageError where it is wrong."""
    options = Options()
    places: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            places.extend(left)
        elif _is_sql(argument):
            places.append(argument)
        elif argument.startswith("--"):
            name, has_value, value = argument[2:].partition("=")
            _take(options, name, value if has_value else None, left)
        elif argument.startswith("-") and len(argument) > 1:
            _take_short(options, argument, left)
        else:
            places.append(argument)
    if len(places) > 2:
        raise UsageError(f"SQL and FORMAT may stand by themselves, not {places[2]!r} too")
    if places:
        options.sql = places[0]
        # What chDB's own program prints.
        options.format = places[1] if len(places) > 1 else options.format or "CSV"
    if options.vertical:
        options.format = "Vertical"
    if options.has_server and options.path != ":memory:":
        raise UsageError("--path is a database in the process, and --host a server: name one of them")
    if options.query_id is not None and not options.has_server:
        raise UsageError("--query-id is what a server knows statements by: name it by --host")
    for table in options.external:
        if "file" not in table or ("structure" in table) == ("types" in table):
            raise UsageError("an --external table needs a --file, - for standard input, and --structure or --types")
    if options.port is not None and not (options.port.isascii() and options.port.isdigit() and 0 < int(options.port) < 65536):
        raise UsageError(f"--port is a number up to 65535, not {options.port!r}")
    if options.progress not in _PROGRESS:
        raise UsageError(f"--progress is one of {', '.join(_PROGRESS)}, not {options.progress!r}")
    return options


def _is_sql(argument: str) -> bool:
    """Is it a statement though it begins like an option: a comment, or a number below zero?"""
    if argument.startswith("--"):
        return any(map(str.isspace, argument[2:].partition("=")[0]))
    letter = argument[1:2]
    is_letter = letter.isascii() and letter.isalpha()
    return argument.startswith("-") and bool(letter) and (not is_letter or (letter not in _SHORT and " " in argument))


def _take_short(options: Options, argument: str, left: Iterator[str]) -> None:
    letter, rest = argument[1], argument[2:]
    name = _SHORT.get(letter)
    if name is None:
        raise UsageError(f"there is no option {argument!r}")
    if name in _FLAGS or name in _ACCEPTED:
        _take(options, name, None, left)
        if rest:
            _take_short(options, "-" + rest, left)
    else:
        _take(options, name, rest.removeprefix("=") if rest else None, left)


def _take(options: Options, name: str, value: str | None, left: Iterator[str]) -> None:
    known = name.replace("_", "-")
    if known == "external":
        options.external.append({})
        return
    if known in _FLAGS or known in _ACCEPTED:
        if value is not None:
            raise UsageError(f"--{name} takes no value")
        if known in _FLAGS:
            setattr(options, _FLAGS[known], True)
        return
    if known == "progress" and value is None:
        # Its value is joined to it: `--progress "SELECT 1"` has none.
        options.progress = "auto"
        return
    if value is None:
        value = next(left, None)
    if value is None:
        raise UsageError(f"--{name} needs a value")
    if options.external and known in _OF_TABLE:
        options.external[-1][known] = value
    elif known in _LISTS:
        getattr(options, _LISTS[known]).append(value)
    elif known in _VALUES:
        setattr(options, _VALUES[known], value)
    elif name.startswith(("param_", "param-")):
        options.params[name[len("param_") :]] = value
    else:
        options.settings.append((name.replace("-", "_"), value))
