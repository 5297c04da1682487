"""The prompt: reads statements and commands, runs them, and goes on after what fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import _chalet
from . import commands, history
from .catalog import Catalog
from .reader import QUITTING, open_reader

if TYPE_CHECKING:
    from .arguments import Options
    from .runner import Runner


class Prompt:
    """What commands change."""

    def __init__(self, runner: Runner, options: Options) -> None:
        self.runner = runner
        self.catalog = Catalog(runner.connection)
        self.usual_format = runner.format
        self.history_path = options.history_file or history.default_path()
        #: The last statement.
        self.last = ""

    def say(self, text: str) -> None:
        """Prints what is no output of a statement."""
        print(text, flush=True)

    def remember(self, text: str) -> None:
        """Keeps a statement that was not typed at the prompt."""
        self.last = text
        history.append(self.history_path, text)

    def run(self, text: str) -> None:
        """Runs what was typed; commands.Quit where that ends the prompt."""
        stripped = text.strip()
        if stripped.startswith("\\"):
            try:
                commands.run(stripped, self)
            except commands.CommandError as error:
                self.runner.error(str(error))
            return
        if stripped.rstrip(";").strip().lower() in QUITTING:
            raise commands.Quit
        if stripped:
            self.last = stripped
            self.runner.script(text)
            self.catalog.forget()

    def sign(self) -> str:
        """What stands before the cursor."""
        database = self.catalog.database
        return "chalet> " if database in ("", "default") else f"chalet {database}> "


def interact(runner: Runner, options: Options) -> int:
    """Reads and runs until the end of input; the exit status."""
    prompt = Prompt(runner, options)
    runner.in_words, runner.timing = True, True
    reader = open_reader(prompt.catalog, prompt.history_path)
    prompt.say(f"chalet {_chalet.__version__}: \\h for help, \\q to end")
    while True:
        try:
            text = reader.read(prompt.sign())
        except KeyboardInterrupt:
            prompt.say("")
            continue
        except EOFError:
            prompt.say("")
            return 0
        except UnicodeError as error:
            # Bytes that are no text of the terminal's encoding.
            runner.error(str(error))
            continue
        try:
            prompt.run(text)
        except commands.Quit:
            return 0
        except KeyboardInterrupt:
            # It has stopped: what it did not write is lost, the session is not.
            print("\ncancelled", file=sys.stderr, flush=True)
        except (_chalet.Error, OSError, ValueError) as error:
            # A full disk under `\o`, a file that is gone: the database in memory would be lost with the prompt. If it is the
            # terminal itself, reading from it ends the loop.
            runner.error(str(error))
