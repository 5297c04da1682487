"""Many rows: answers are the kernel's with one thread, with several, and where the memory has no room."""

import importlib.util
from pathlib import Path

import pytest

import chalet

SPEC = importlib.util.spec_from_file_location("large", Path(__file__).parents[1] / "oracle" / "large.py")
large = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(large)

SETTINGS = {
    "threads": {"max_threads": 4},
    "one thread": {"max_threads": 1},
    "small blocks": {"max_threads": 3, "max_block_size": 5000, "parallel_hash_join_threshold": 0},
    "on disk": {f"max_bytes_before_external_{what}": 1 for what in ("sort", "group_by", "distinct", "join")},
}


@pytest.fixture(scope="module")
def made():
    with chalet.connect() as connection:
        for sql in large.MADE:
            connection.query(sql)
        yield connection


def test_all_statements_are_recorded():
    assert list(large.recorded()) == list(large.statements())


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_answers_are_the_kernels(made, settings):
    before = dict.fromkeys(settings)
    for name in settings:
        before[name] = str(made.query(f"SELECT value FROM system.settings WHERE name = '{name}'", "TSVRaw")).strip()
    for name, value in settings.items():
        made.query(f"SET {name} = {value}")
    try:
        recorded = large.recorded()
        ours = large.answers(lambda sql: str(made.query(sql, "TSV")))
        assert [(sql, got, recorded[sql]) for sql, got in ours if got != recorded[sql]] == []
    finally:
        for name, value in before.items():
            made.query(f"SET {name} = {value}" if value.isdigit() else f"SET {name} = DEFAULT")
