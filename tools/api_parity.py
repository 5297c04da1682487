"""Writes docs/api-parity.md: every public name of chDB's Python package, what it is in chalet, and the test that holds it.

    python tools/api_parity.py            # needs both packages installed, as in the oracle's environment

Names and signatures come from the two packages by introspection, the tests from the sources in tests/python. What is left
out on purpose stands in LEFT_OUT with its reason; a name that is missing without one makes the program fail.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "docs" / "api-parity.md"

MODULES = [
    "",
    "dataframe",
    "dbapi",
    "dbapi.connections",
    "dbapi.constants.FIELD_TYPE",
    "dbapi.converters",
    "dbapi.cursors",
    "dbapi.err",
    "dbapi.times",
    "rwabc",
    "session",
    "session.state",
    "sqltypes",
    "state",
    "state.sqlitelike",
    "udf",
    "udf.udf",
    "utils",
    "utils.trace",
    "utils.types",
]

# Not kept, with the reason.
LEFT_OUT = {
    "agents": "tools for language models are not part of this package",
    "durable": "backups of chDB's own data folder",
    "datastore": "chDB's DataFrame API over SQL is another project",
    "_chdb": "chDB's internal module; what it has is reached through the public names",
    "conn": "chDB's own connection of the import, which here opens nothing",
    "cwd": "a variable left over from chDB's import",
    "major_version": "a variable left over from looking at the version of pandas",
    "version_parts": "a variable left over from looking at the version of pandas",
    "to_datastore": "raises NotSupportedError: DataStore is another project",
    "Connection.ask": "raises NotSupportedError: it needs a language model",
    "Connection.generate_sql": "raises NotSupportedError: it needs a language model",
    "Session.ask": "raises NotSupportedError: it needs a language model",
    "Session.generate_sql": "raises NotSupportedError: it needs a language model",
    "dbapi.converters.TIMEDELTA_RE": "a regular expression of the implementation",
    "dbapi.cursors.RE_INSERT_VALUES": "a regular expression of the implementation",
}

# Where a signature differs on purpose.
BETTER = {
    "Session.query": "takes `tables=` and `timeout=` besides",
    "Session.sql": "takes `tables=` and `timeout=` besides",
    "Session.send_query": "takes `tables=` besides",
    "Connection.query": "takes `tables=` and `timeout=` besides",
    "Connection.send_query": "takes `tables=` besides",
    "query": "takes `tables=` and `timeout=` besides",
    "sql": "takes `tables=` and `timeout=` besides",
    "Cursor.execute": "takes `params`, `tables=` and `timeout=` besides; returns the cursor",
    "Cursor.fetchmany": "the default is `arraysize`, which is 1",
    "create_function": "a Python function, whose signature shows",
    "drop_function": "a Python function, whose signature shows",
    "threadsafety": "threads may share connections here",
}

# Methods of chDB's results, which are made in C++ and show no signature.
RESULTS = {
    "Result": (
        "bytes data size show get_memview rows_read bytes_read rows_written bytes_written storage_rows_read"
        " storage_bytes_read elapsed has_error error_message __len__ __str__ __repr__ __arrow_c_stream__"
    ),
    "MemoryView": "tobytes view size release __len__",
}


def main() -> int:
    tests = list(_tests())
    rows, missing = [], []
    for module in MODULES:
        theirs, ours = _module("chdb", module), _module("chalet", module)
        for name, value in sorted(_public(theirs).items()):
            path = f"{module}.{name}" if module else name
            _compare(path, value, getattr(ours, name, None), rows, missing, tests, hasattr(ours, name))
    ours = importlib.import_module("chalet")
    for kind, methods in RESULTS.items():
        for method in methods.split():
            found = hasattr(getattr(ours, kind), method)
            rows.append((f"{kind}.{method}", "same" if found else "missing", "", _covering(f"{kind}.{method}", tests)))
            missing += [] if found else [f"{kind}.{method}"]
    TARGET.write_text(_page(rows))
    for path in missing:
        print(f"missing without a reason: {path}", file=sys.stderr)
    untested = [row[0] for row in rows if row[1] in ("same", "wider") and row[3] == "-"]
    print(f"{len(rows)} names, {len(missing)} missing without a reason, {len(untested)} without a test")
    return 1 if missing else 0


def _module(package: str, name: str):
    try:
        return importlib.import_module(f"{package}.{name}" if name else package)
    except ImportError:
        return types.SimpleNamespace()


def _public(module) -> dict[str, object]:
    """What a module means to show: names without an underscore that are its own, or of the package."""
    home = getattr(module, "__name__", "chdb")
    listed = getattr(module, "__all__", None)
    found = {}
    for name in set(dir(module)) | set(listed or ()):
        if name.startswith("_") and name not in ("__version__",) and name not in (listed or ()):
            continue
        value = getattr(module, name, None)
        if inspect.ismodule(value):
            # A module of the package counts where it is meant to be seen; imported helpers do not.
            if not (value.__name__.startswith("chdb.") and (listed and name in listed)):
                continue
        elif listed is None or name not in listed:
            owner = getattr(value, "__module__", None)
            is_helper = owner is not None and not str(owner).startswith("chdb") and callable(value)
            is_other = home.count(".") and owner not in (None, home) and not name.isupper() and str(owner) != "chdb"
            if is_helper or is_other or name in ("annotations", "Optional", "Any", "List", "Dict"):
                continue
        found[name] = value
    return found


def _compare(path, theirs, ours, rows, missing, tests, there) -> None:
    short = path.rsplit(".", 2)[-1]
    reason = _reason(path)
    if not there or reason:
        rows.append((path, "left out" if reason else "missing", reason, "-"))
        if not reason:
            missing.append(path)
        return
    status, note = "same", ""
    if callable(theirs) and not inspect.isclass(theirs):
        status, note = _signatures(path, theirs, ours)
    elif isinstance(theirs, (int, str)) and not inspect.isclass(theirs) and theirs != ours and short in BETTER:
        status, note = "wider", BETTER[short]
    rows.append((path, status, note, _covering(path, tests)))
    if inspect.isclass(theirs) and (theirs.__module__ or "").startswith("chdb"):
        for name, member in sorted(vars(theirs).items()):
            if name.startswith("_") and name not in ("__enter__", "__exit__", "__iter__", "__next__", "__arrow_c_stream__"):
                continue
            inner = f"{path}.{name}"
            reason = _reason(inner)
            # Members of an enumeration have what its class shows to nobody.
            there = hasattr(ours, name) or (isinstance(ours, enum.EnumType) and hasattr(next(iter(ours)), name))
            if reason or not there:
                rows.append((inner, "left out" if reason else "missing", reason, "-"))
                missing += [] if reason else [inner]
                continue
            status, note = "same", ""
            if callable(member) and hasattr(ours, name):
                status, note = _signatures(inner, member, getattr(ours, name))
            rows.append((inner, status, note, _covering(inner, tests)))


def _reason(path: str) -> str:
    parts = path.split(".")
    candidates = [path, parts[0], ".".join(parts[-2:]), parts[-1]]
    return next((LEFT_OUT[name] for name in candidates if name in LEFT_OUT), "")


def _signatures(path, theirs, ours) -> tuple[str, str]:
    """`same` where each call of theirs is a call of ours."""
    parts = path.split(".")
    wanted, given = _parameters(theirs), _parameters(ours)
    known = next((BETTER[name] for name in (path, ".".join(parts[-2:]), parts[-1]) if BETTER.get(name)), "")
    if wanted is None or given is None or wanted == given:
        return "same", ""
    if known:
        return "wider", known
    takes_all = {"*", "**"} <= {kind for kind, _, _ in given}
    if [kind for kind, _, _ in given] == ["*"] and not any(kind == "**" for kind, _, _ in wanted):
        return "same", ""
    if takes_all or {"*", "**"} <= {kind for kind, _, _ in wanted}:
        return "same", ""
    if given[: len(wanted)] == wanted and all(default is not inspect.Parameter.empty for _, _, default in given[len(wanted) :]):
        return "wider", "takes more"
    if [name for _, name, _ in wanted] == [name for _, name, _ in given]:
        return "same", "" if _defaults(wanted) == _defaults(given) else "another default"
    # A method of a class of C that shows no name of itself.
    return "same" if len(wanted) == len(given) else "differs", ""


def _parameters(function):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(marks.get(p.kind, ""), p.name, p.default) for p in parameters if p.name != "self"]


def _defaults(parameters):
    return [default for _, _, default in parameters]


def _tests():
    """Name of each test and the words in it: names, attributes, keywords, and words of texts."""
    for path in sorted((ROOT / "tests" / "python").glob("test_*.py")):
        tree = ast.parse(path.read_text())
        shared = set()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_"):
                shared |= _words(node)
        whole = {alias.name.rsplit(".", 1)[-1] for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for alias in n.names}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", _words(node), whole | {path.stem.removeprefix("test_")} | shared


def _words(node) -> set[str]:
    words = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            words.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            words.add(inner.attr)
        elif isinstance(inner, ast.keyword) and inner.arg:
            words.add(inner.arg)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) < 400:
            words |= set(inner.value.replace("(", " ").replace(",", " ").split())
        elif isinstance(inner, (ast.With, ast.AsyncWith)):
            words |= {"__enter__", "__exit__"}
        elif isinstance(inner, (ast.For, ast.comprehension)):
            words |= {"__iter__", "__next__"}
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in ("len", "str", "repr"):
            words.add(f"__{inner.func.id}__")
    return words


def _covering(path: str, tests) -> str:
    parts = path.split(".")
    # Constants are held by one test that goes over all of them.
    if path.startswith(("sqltypes.", "dbapi.constants.")) and parts[-1].isupper():
        parts[-1] = "FIELD_TYPE" if "constants" in path else "__all__"
    best, score = "-", 0
    for name, words, around in tests:
        if parts[-1] in words:
            found = 10 + 2 * sum(p in words for p in parts) + sum(p in around for p in parts)
            # `dbapi` and its kin have their own files.
            if found > score:
                best, score = name, found
    return best


def _page(rows) -> str:
    count = {status: sum(row[1] == status for row in rows) for status in ("same", "wider", "differs", "left out", "missing")}
    lines = [
        "# chDB's Python names in chalet",
        "",
        "Written by `tools/api_parity.py`, which asks both packages; do not edit. `same`: each call of chDB's is a call here.",
        "`wider`: there is more. The test is the one in tests/python that uses the name.",
        "",
        f"chDB {_version('chdb')}: {len(rows)} names, " + ", ".join(f"{n} {s}" for s, n in count.items() if n) + ".",
        "",
        "| name | here | note | test |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{path}` | {status} | {note} | {test} |" for path, status, note, test in rows]
    return "\n".join(lines) + "\n"


def _version(package: str) -> str:
    return importlib.import_module(package).__version__


if __name__ == "__main__":
    sys.exit(main())
