"""The examples in docstrings do what they say."""

import doctest
import importlib
import pkgutil

import pytest

import chalet

# Run the prompt of a terminal.
_WITHOUT = ("chalet.__main__", "chalet._shell", "chalet._magic")


def _modules():
    found = [info.name for info in pkgutil.walk_packages(chalet.__path__, "chalet.")]
    return ["chalet", *(name for name in found if not name.startswith(_WITHOUT))]


def _examples(name):
    module = importlib.import_module(name)
    # Of a program that imports the package and nothing else.
    names = {"__name__": "__main__", "chalet": chalet}
    return [test for test in doctest.DocTestFinder().find(module, name, globs=names) if test.examples]


@pytest.mark.parametrize("name", _modules())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in _examples(name):
        said = []
        doctest.DocTestRunner().run(test, out=said.append)
        assert not said, f"{test.name}: {''.join(said)}"


def test_there_are_examples():
    tests = {test.name: test for name in _modules() for test in _examples(name)}
    assert sum(len(test.examples) for test in tests.values()) >= 40
    assert {"chalet.query", "chalet.connect", "chalet.dbapi", "chalet.udf.udf.func"} <= tests.keys()
