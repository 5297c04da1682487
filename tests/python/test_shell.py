"""The prompt of the program `chalet`: on a terminal, and its parts without one."""

import importlib.util
import os
import re
import select
import subprocess
import sys
import time

import pytest

from chalet import _chalet
from chalet._shell import history
from chalet._shell.catalog import Catalog
from chalet._shell.reader import candidates, is_complete

pty = pytest.importorskip("pty")

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Terminal:
    """The program at a terminal of its own."""

    def __init__(self, tmp_path, *arguments, rich=False, **environment):
        self.history = tmp_path / "history"
        ours, theirs = pty.openpty()
        block = "" if rich else "import sys; sys.modules['prompt_toolkit'] = None; "
        code = f"{block}from chalet._shell.main import main; raise SystemExit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "--history-file", str(self.history), *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # The terminal is the process's own, so that Ctrl-C typed at it is a signal.
            preexec_fn=_take_terminal,
            env={**os.environ, "TERM": "xterm", **environment},
        )
        os.close(theirs)
        self.fd = ours
        self.seen = self.raw = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, pattern, seconds=120):
        """Reads until a pattern is seen; returns what was read before and with it."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:
                data = b""
            assert data, f"{pattern!r} is not in {self.seen!r}"
            self.raw += data.decode(errors="replace")
            self.seen += _ESCAPES.sub("", data.decode(errors="replace"))
        text, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return text

    def ask(self, text):
        """Types a line, and what is printed up to the next prompt."""
        self.type(text + "\n")
        return self.until("chalet[^\n]*> $")

    def end(self):
        self.type("\\q\n")
        status = self.process.wait(timeout=120)
        os.close(self.fd)
        return status


def _take_terminal():
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path)
    made.until("chalet> $")
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()
        os.close(made.fd)


def test_statements_at_the_prompt(terminal):
    assert "│ 3 │" in terminal.ask("SELECT 1 + 2 AS x;")
    terminal.type("SELECT 'a;\n")
    terminal.until(r"\.\.\.> $")
    shown = terminal.ask("b' AS y, 7 AS z;")
    assert "│ 7 │" in shown and re.search(r"1 row, \d+\.\d", shown)
    assert "UNKNOWN_IDENTIFIER" in terminal.ask("SELECT nosuch;")
    assert terminal.ask("CREATE DATABASE d; USE d;").endswith("chalet d> ")
    assert "x: 1\n" in terminal.ask("SELECT 1 AS x\\G")
    terminal.ask("CREATE TABLE t (a UInt8, b String) ENGINE = Memory;")
    terminal.type("INSERT INTO t FORMAT CSV\n1,x;\n2,y\n\n")
    assert "2 rows written" in terminal.until("chalet d> $")
    assert terminal.end() == 0
    assert history.load(str(terminal.history))[:2] == ["SELECT 1 + 2 AS x;", "SELECT 'a;\nb' AS y, 7 AS z;"]


def test_commands_at_the_prompt(terminal, tmp_path):
    assert "\\timing" in terminal.ask("\\h")
    assert "reverse" in terminal.ask("\\h reverse")
    terminal.ask("CREATE TABLE things (a UInt8, b String) ENGINE = Memory;")
    assert "things" in terminal.ask("\\d")
    assert "UInt8" in terminal.ask("\\d things")
    assert "system" in terminal.ask("\\l")
    assert "the format is CSV" in terminal.ask("\\format csv")
    assert '"x"\n' in terminal.ask("SELECT 'x';")
    assert "there is no output format" in terminal.ask("\\format nosuch")
    assert "there is no command" in terminal.ask("\\nosuch")
    assert "times are not shown" in terminal.ask("\\timing")
    terminal.ask("\\set max_threads 3")
    terminal.ask("\\param p 41")
    assert "3,42\n" in terminal.ask("SELECT getSetting('max_threads'), {p:UInt8} + 1;")
    script, out = tmp_path / "script.sql", tmp_path / "out"
    script.write_text("SELECT 'from';\nSELECT 'file';\n")
    shown = terminal.ask(f"\\i {script}")
    assert '"from"\n1 row\n' in shown and '"file"\n1 row\n' in shown
    terminal.ask(f"\\o {out}")
    assert "99" not in terminal.ask("SELECT 98 + 1;")
    terminal.ask("\\o")
    assert out.read_text() == "99\n"
    assert "No such file" in terminal.ask("\\i /no/such/file")
    assert terminal.ask("\\c system").endswith("chalet system> ")
    assert terminal.end() == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_the_prompt_goes_on_after_what_cannot_be_read_or_written(terminal, tmp_path):
    terminal.ask("CREATE TABLE t (a UInt8) ENGINE = Memory; INSERT INTO t VALUES (41), (1);")
    script = tmp_path / "script.sql"
    script.write_bytes(b"SELECT '\xff';")
    assert "script.sql is no UTF-8" in terminal.ask(f"\\i {script}")
    assert "Is a directory" in terminal.ask(f"\\i {tmp_path}")
    terminal.ask("\\o /dev/full")
    for statement in ("SELECT 1;", "SELECT sum(a) FROM t;", "\\d", "SELECT number FROM numbers(100000);"):
        assert "No space left" in terminal.ask(statement)
    assert "UNKNOWN_IDENTIFIER" in terminal.ask("SELECT nosuch;")
    # What was not written yet is not at the end either.
    assert "No space left" in terminal.ask("\\o")
    assert re.search("│ +42 │", terminal.ask("SELECT sum(a) FROM t;"))
    os.write(terminal.fd, b"SELECT '\xff';\n")
    assert "utf-8" in terminal.until("chalet> $")
    assert re.search("│ +42 │", terminal.ask("SELECT sum(a) FROM t;"))
    assert terminal.end() == 0


def test_the_editor(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/1/2/' \"$1\"\n")
    editor.chmod(0o755)
    terminal = Terminal(tmp_path, EDITOR=str(editor))
    terminal.until("chalet> $")
    terminal.ask("SELECT 1 + 40;")
    assert re.search("│ +42 │", terminal.ask("\\e"))
    assert terminal.end() == 0


def test_ctrl_c_cancels_a_statement_and_a_line(terminal):
    terminal.type("SELECT sum(sipHash64(number)) FROM numbers(1000000000000);\n")
    terminal.until("%")
    terminal.type("\x03")
    assert "cancelled" in terminal.until("chalet> $")
    terminal.type("SELECT what is this")
    time.sleep(0.1)
    terminal.type("\x03")
    terminal.until("chalet> $")
    assert "│ 5 │" in terminal.ask("SELECT 5 AS x;")
    assert terminal.end() == 0


def test_colours_on_a_terminal_only(tmp_path):
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        terminal = Terminal(tmp_path, **environment)
        terminal.until("chalet> $")
        terminal.ask("SELECT 1 AS x;")
        assert ("\x1b[1mx\x1b[0m" in terminal.raw) == coloured
        assert terminal.end() == 0


def test_ctrl_d_ends(terminal):
    terminal.type("\x04")
    assert terminal.process.wait(timeout=120) == 0
    os.close(terminal.fd)


def test_completion_by_readline(terminal):
    if importlib.util.find_spec("readline") is None:
        pytest.skip("no readline here")
    terminal.ask("CREATE TABLE some_table (some_column UInt8) ENGINE = Memory;")
    terminal.type("SELECT count() FROM some_t\t;\n")
    assert "│       0 │" in terminal.until("chalet> $")
    assert terminal.end() == 0


@pytest.mark.skipif(importlib.util.find_spec("prompt_toolkit") is None, reason="prompt_toolkit is not installed")
def test_the_prompt_with_prompt_toolkit(tmp_path):
    terminal = Terminal(tmp_path, rich=True, PROMPT_TOOLKIT_NO_CPR="1")
    terminal.until("chalet>")
    terminal.type("SELECT 20 +\r22 AS answer;\r")
    assert "42" in terminal.until("│ +42 │")
    # Bytes that are no text fail when they run, and the prompt goes on.
    os.write(terminal.fd, b"SELECT '\xff';\r")
    terminal.until("surrogates not allowed")
    terminal.type("SELECT 20 + 23 AS answer;\r")
    terminal.until("│ +43 │")
    terminal.type("\\q\r")
    assert terminal.process.wait(timeout=120) == 0
    os.close(terminal.fd)
    kept = ["SELECT 20 +\n22 AS answer;", "SELECT '?';", "SELECT 20 + 23 AS answer;", "\\q"]
    assert history.load(str(terminal.history)) == kept


# --- without a terminal -----------------------------------------------------------------------------------------------


def test_where_statements_end():
    assert is_complete("SELECT 1;") and is_complete("\\d x") and is_complete("") and is_complete("exit")
    assert is_complete("SELECT ';' -- x\n;") and is_complete("-- nothing")
    for text in ("SELECT 1", "SELECT ';", "SELECT 1; SELECT 2", "SELECT 1 /* ;", "INSERT INTO t FORMAT CSV", "INSERT INTO t FORMAT CSV\n1,2"):
        assert not is_complete(text), text
    assert is_complete("INSERT INTO t FORMAT CSV\n1,2\n") and is_complete("INSERT INTO t FORMAT CSV 1,2")
    assert is_complete("INSERT INTO t VALUES (1, ';');")


def test_tokens_are_all_of_a_text():
    text = "SELECT 'it''s', `a`, 1.5e3, $$ here $$ /* c */ -- d\nFROM t § \"open"
    tokens = _chalet.tokens(text)
    assert "".join(token for _, token in tokens) == text
    kinds = dict((token, kind) for kind, token in tokens)
    assert kinds["'it''s'"] == "string" and kinds["`a`"] == "name" and kinds["1.5e3"] == "number"
    assert kinds["$$ here $$"] == "string" and kinds["§"] == "error" and kinds['"open'] == "unclosed"
    assert [kind for kind, _ in tokens].count("comment") == 1


@pytest.fixture
def offered(db, tmp_path):
    db.query("CREATE TABLE things (alpha UInt8, beta String) ENGINE = Memory")
    db.query("CREATE DATABASE other")
    db.query("CREATE TABLE other.far_away (gamma UInt8) ENGINE = Memory")
    catalog = Catalog(db)
    return lambda before, after="": [candidate.text for candidate in candidates(before, after, catalog)[1]]


def test_completion(offered, tmp_path):
    assert offered("sel") == ["select"] and offered("SEL") == ["SELECT"]
    assert offered("SELECT uniqEx") == ["uniqExact"]
    assert offered("SELECT al", " FROM things")[0] == "alpha"
    assert offered("SELECT t.", " FROM things AS t") == ["alpha", "beta"]
    assert offered("SELECT f.gam", " FROM other.far_away f WHERE 1") == ["gamma"]
    assert "things" in offered("SELECT * FROM ") and "numbers" in offered("SELECT * FROM num")
    assert "things" in offered("SELECT * FROM numbers(5), th") and offered("SELECT * FROM other.") == ["far_away"]
    assert offered("SELECT 1 FORMAT PrettyCompactM") == ["PrettyCompactMonoBlock"]
    assert offered("SET max_threa")[0] == "max_threads"
    assert "max_threads" in offered("SELECT 1 SETTINGS max_block_size = 1, max_thr")
    assert offered("USE oth") == ["other"] and "Memory" in offered("CREATE TABLE x (a UInt8) ENGINE = ")
    assert "LowCardinality" in offered("CREATE TABLE x (a LowC")
    assert offered("SELECT 'sel") == [] and offered("SELECT 1 -- sel") == []
    assert offered("SELECT 1; SELECT be", " FROM things; SELECT 2")[0] == "beta"
    (tmp_path / "some_data.csv").write_text("1\n")
    assert offered(f"SELECT * FROM file('{tmp_path}/some_d") == ["some_data.csv"]
    assert offered("\\for") == ["\\format"] and offered("\\format Verti") == ["Vertical"] and offered("\\d th") == ["things"]


def test_history_keeps_statements_of_several_lines(tmp_path):
    path = str(tmp_path / "history")
    assert history.load(path) == []
    for statement in ("SELECT 1;", "SELECT\n  '+'\n\n;", "\\q"):
        history.append(path, statement)
    assert history.load(path) == ["SELECT 1;", "SELECT\n  '+'\n\n;", "\\q"]
    history.append(str(tmp_path / "no" / "folder"), "SELECT 1;")


@pytest.mark.skipif(importlib.util.find_spec("prompt_toolkit") is None, reason="prompt_toolkit is not installed")
def test_history_is_that_of_prompt_toolkit(tmp_path):
    from prompt_toolkit.history import FileHistory

    path = str(tmp_path / "history")
    history.append(path, "SELECT\n1;")
    kept = FileHistory(path)
    kept.store_string("SELECT\n2;")
    assert list(kept.load_history_strings()) == ["SELECT\n2;", "SELECT\n1;"]
    assert history.load(path) == ["SELECT\n1;", "SELECT\n2;"]


def test_the_package_does_not_import_the_shell():
    code = "import sys, chalet; print([name for name in sys.modules if 'shell' in name or name in ('argparse', 'readline')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300).stdout == "[]\n"
