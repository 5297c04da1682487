"""Errors: one class, ClickHouse's codes and names, and limits that stop a query."""

import pytest

import chalet


def test_one_class_under_two_names():
    assert chalet.ChdbError is chalet.Error
    assert issubclass(chalet.Error, RuntimeError)


@pytest.mark.parametrize(
    ("sql", "code", "name"),
    [
        ("SELECT nosuch", 47, "UNKNOWN_IDENTIFIER"),
        ("SELECT nosuch(1)", 46, "UNKNOWN_FUNCTION"),
        ("SELECT * FROM nosuch", 60, "UNKNOWN_TABLE"),
        ("SELEC 1", 62, "SYNTAX_ERROR"),
        ("SELECT 1 FORMAT Nosuch", 73, "UNKNOWN_FORMAT"),
        ("SELECT throwIf(1)", 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        ("SELECT * FROM file('/nosuch/file.csv')", 400, "CANNOT_STAT"),
    ],
)
def test_codes_and_names(db, sql, code, name):
    with pytest.raises(chalet.Error) as caught:
        db.query(sql)
    assert (caught.value.code, caught.value.name) == (code, name)
    assert str(caught.value).startswith(f"Code: {code}. DB::Exception: ")
    assert f"({name})" in str(caught.value)


def test_a_connection_lives_on_after_an_error(db):
    with pytest.raises(chalet.Error):
        db.query("SELECT nosuch")
    assert db.query("SELECT 1").data() == "1\n"


def test_time_limit(db):
    with pytest.raises(chalet.Error) as caught:
        db.query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000) SETTINGS max_execution_time = 0.2")
    assert caught.value.name == "TIMEOUT_EXCEEDED"


def test_memory_limit(db):
    with pytest.raises(chalet.Error) as caught:
        db.query("SELECT groupArray(toString(number)) FROM numbers(50000000) SETTINGS max_memory_usage = 20000000")
    assert caught.value.name == "MEMORY_LIMIT_EXCEEDED"


@pytest.mark.parametrize("bad", [1, None, b"SELECT 1", ["SELECT 1"]])
def test_sql_must_be_text(db, bad):
    with pytest.raises(TypeError):
        db.query(bad)
