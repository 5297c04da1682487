"""From the command line to one of the ways to run."""

from __future__ import annotations

import contextlib
import os
import sys

from .. import _chalet
from .arguments import USAGE, Options, UsageError, parse
from .data import Data, literal, name, text_of
from .runner import Runner


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns its exit status: 0, 1 where a statement failed, 2 where the command line is wrong."""
    _open_what_is_closed()
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["server"]:
        return _served(arguments[1:])
    if arguments[:1] == ["lab"]:
        from ..lab.commands import main as lab

        return lab(arguments[1:])
    try:
        options = parse(arguments)
    except UsageError as error:
        print(f"{error}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    try:
        status = _run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except (_chalet.Error, OSError, ValueError) as error:
        # A reader of the pipe that has seen enough is no error worth a message.
        if not isinstance(error, BrokenPipeError):
            print(error, file=sys.stderr)
        _discard_unwritable_output()
        return 1


def _served(arguments: list[str]) -> int:
    from .serve import main as serve

    try:
        return serve(arguments)
    except (_chalet.Error, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _discard_unwritable_output() -> None:
    """Sends what standard output cannot take to the null device: the interpreter would try, fail and complain again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _open_what_is_closed() -> None:
    """Python knows no standard stream that was closed when it started: nothing is in it, and what is written is lost. Opened in
    their order they get their own numbers, which files of a database would get otherwise. As with the interpreter's own streams,
    the descriptors belong to the process: streams that own them are reported as unclosed files where warnings are on."""
    for stream, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.open(os.devnull, flags), mode, encoding="utf-8", closefd=False))


def _run(options: Options) -> int:
    if options.help or options.version:
        print(USAGE if options.help else f"chalet {_chalet.__version__}\n", end="", flush=True)
        return 0
    has_statements = bool(options.queries or options.files or options.sql is not None)
    at_prompt = options.interactive or (not has_statements and sys.stdin.isatty())
    scripts = [*([] if options.sql is None or options.sql == "-" else [options.sql]), *options.queries]
    files = [*(["-"] if options.sql == "-" else []), *options.files]
    if not has_statements and not at_prompt:
        files = ["-"]
    data = Data(options, standard_input_is_free="-" not in files and not sys.stdin.isatty())
    with _connection(options) as connection, contextlib.closing(data):
        data.register_external(connection)
        runner = Runner(connection, options, data)
        if runner.on_terminal and not options.has_server and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
            connection.query("SET output_format_pretty_color = 1")
        for text in scripts:
            if not runner.script(text):
                return 1
        for path in files:
            if not runner.script(text_of(None if path == "-" else path)):
                return 1
        if at_prompt:
            from .interactive import interact

            return interact(runner, options)
        return int(runner.failed)


def _connection(options: Options) -> _chalet.Connection:
    connection = _chalet.Connection(_server(options) if options.has_server else options.path)
    try:
        for setting, value in options.settings:
            connection.query(f"SET {name(setting)} = {literal(value)}")
        if options.database is not None and not options.has_server:
            connection.query(f"USE {name(options.database)}")
        if options.progress in ("auto", "on"):
            if sys.stderr.isatty():
                _show_progress(connection, "err")
        elif options.progress != "off":
            _show_progress(connection, options.progress)
    except BaseException:
        connection.close()
        raise
    return connection


def _server(options: Options) -> str:
    """The URL of the server that the command line names."""
    from urllib.parse import quote

    password = options.password or ""
    if options.asks_password:
        import getpass

        password = getpass.getpass(f"Password for user ({options.user or 'default'}): ")
    who = quote(options.user or "default", safe="") + (f":{quote(password, safe='')}" if password else "")
    host = options.host or "localhost"
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    port = "" if options.port is None else f":{options.port}"
    scheme = "clickhouses" if options.secure else "clickhouse"
    return f"{scheme}://{who}@{host}{port}/{quote(options.database or '', safe='')}"


def _show_progress(connection: _chalet.Connection, where: str) -> None:
    from .._progress import display

    connection.set_progress_callback(display(where))

