"""What begins with a backslash, at the prompt."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from typing import TYPE_CHECKING

from .data import literal, name, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .interactive import Prompt


class Quit(Exception):
    """The prompt ends."""


class CommandError(ValueError):
    """A command cannot be run; the text says why."""


def run(line: str, prompt: Prompt) -> None:
    r"""Runs `\name arguments`. CommandError where it cannot be; Quit where the prompt is to end."""
    word, _, rest = line.strip().removeprefix("\\").partition(" ")
    rest = rest.strip().removesuffix(";").rstrip()
    command = COMMANDS.get(word.removesuffix(";"))
    if command is None:
        raise CommandError(f"there is no command \\{word}: \\h lists them")
    command[2](prompt, rest)


def _quit(prompt: Prompt, rest: str) -> None:
    raise Quit


def _help(prompt: Prompt, rest: str) -> None:
    if rest:
        _statement(prompt, f"SELECT name, syntax, description FROM system.functions WHERE name ILIKE {literal(rest)}", "Vertical")
        return
    width = max(len(f"\\{word} {arguments}") for word, (arguments, _, _) in COMMANDS.items())
    lines = [f"\\{word} {arguments}".ljust(width + 2) + text for word, (arguments, text, _) in COMMANDS.items()]
    prompt.say("\n".join([*lines, "", "Statements end with a semicolon, or with \\G for one column a line."]))


def _describe(prompt: Prompt, rest: str) -> None:
    if rest:
        _statement(prompt, f"DESCRIBE TABLE {rest}")
        return
    _statement(prompt, "SELECT name, engine, total_rows FROM system.tables WHERE database IN (currentDatabase(), '') ORDER BY name")


def _list(prompt: Prompt, rest: str) -> None:
    _statement(
        prompt,
        "SELECT d.name AS name, countIf(t.name != '') AS tables FROM system.databases AS d "
        "LEFT JOIN system.tables AS t ON t.database = d.name GROUP BY name ORDER BY name",
    )


def _use(prompt: Prompt, rest: str) -> None:
    if not rest:
        raise CommandError("\\c needs the name of a database")
    _statement(prompt, f"USE {name(rest)}")


def _timing(prompt: Prompt, rest: str) -> None:
    prompt.runner.timing = _on_or_off(rest, prompt.runner.timing)
    prompt.say(f"times are {'shown' if prompt.runner.timing else 'not shown'}")


def _vertical(prompt: Prompt, rest: str) -> None:
    runner = prompt.runner
    is_on = _on_or_off(rest, runner.format == "Vertical")
    runner.format = "Vertical" if is_on else prompt.usual_format
    prompt.say(f"the format is {runner.format}")


def _on_or_off(rest: str, now: bool) -> bool:
    if rest not in ("", "on", "off"):
        raise CommandError(f"on or off, not {rest!r}")
    return not now if not rest else rest == "on"


def _format(prompt: Prompt, rest: str) -> None:
    if rest:
        known = {fmt.lower(): fmt for fmt in prompt.catalog.output_formats}
        if rest.lower() not in known:
            raise CommandError(f"there is no output format {rest!r}")
        prompt.runner.format = prompt.usual_format = known[rest.lower()]
    prompt.say(f"the format is {prompt.runner.format}")


def _set(prompt: Prompt, rest: str) -> None:
    setting, _, value = rest.replace("=", " ", 1).partition(" ")
    if not setting:
        _statement(prompt, "SELECT name, value, default FROM system.settings WHERE changed ORDER BY name")
    elif not value.strip():
        _statement(prompt, f"SELECT name, value, default, type FROM system.settings WHERE name ILIKE {literal(setting)}")
    else:
        _statement(prompt, f"SET {name(setting)} = {literal(value.strip())}")


def _param(prompt: Prompt, rest: str) -> None:
    param, _, value = rest.partition(" ")
    if not param:
        prompt.say("\n".join(f"{known} = {value}" for known, value in prompt.runner.params.items()))
    else:
        prompt.runner.params[param] = value.strip()


def _include(prompt: Prompt, rest: str) -> None:
    try:
        text = text_of(_path(rest))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from None
    prompt.runner.script(text)


def _out(prompt: Prompt, rest: str) -> None:
    try:
        prompt.runner.write_to(_path(rest) if rest else None)
    except OSError as error:
        raise CommandError(str(error)) from None


def _path(rest: str) -> str:
    try:
        parts = shlex.split(rest)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if len(parts) != 1:
        raise CommandError("a file is needed")
    return os.path.expanduser(parts[0])


def _edit(prompt: Prompt, rest: str) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w+", suffix=".sql", encoding="utf-8") as file:
        file.write(prompt.last)
        file.flush()
        try:
            status = subprocess.run([*shlex.split(editor), file.name], check=False).returncode
        except OSError as error:
            raise CommandError(f"cannot run {editor}: {error}") from None
        if status != 0:
            raise CommandError(f"{editor} ended with status {status}: nothing is run")
        # Editors write another file under the name.
        text = text_of(file.name).strip()
    if text:
        prompt.remember(text)
        prompt.runner.script(text)


def _shell(prompt: Prompt, rest: str) -> None:
    subprocess.run(rest or os.environ.get("SHELL", "sh"), shell=True, check=False)


def _statement(prompt: Prompt, sql: str, fmt: str | None = None) -> None:
    runner = prompt.runner
    before, runner.format = runner.format, fmt or runner.format
    try:
        runner.statement(sql)
    finally:
        runner.format = before
    prompt.catalog.forget()


#: By name: arguments, what it does, and the function.
COMMANDS: dict[str, tuple[str, str, Callable[[Prompt, str], None]]] = {
    "q": ("", "end", _quit),
    "h": ("[function]", "list the commands, or describe an SQL function", _help),
    "d": ("[table]", "list the tables, or the columns of one", _describe),
    "l": ("", "list the databases", _list),
    "c": ("database", "use a database", _use),
    "timing": ("[on|off]", "say how long statements take", _timing),
    "format": ("[format]", "the format of output", _format),
    "x": ("[on|off]", "one column a line", _vertical),
    "set": ("[name [value]]", "the changed settings, one setting, or a new value", _set),
    "param": ("[name value]", "the value of {name:Type}", _param),
    "i": ("file", "run the statements of a file", _include),
    "o": ("[file]", "send output to a file, or back to the terminal", _out),
    "e": ("", "edit the last statement with $EDITOR, then run it", _edit),
    "!": ("[command]", "run a command of the system", _shell),
}
