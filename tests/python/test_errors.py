"""Errors: one class, ClickHouse's codes and names, and limits that stop a query."""

import threading

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


@pytest.mark.parametrize("size", [64 << 10, 128 << 10, 512 << 10])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM " + "(SELECT * FROM " * 100 + "numbers(1)" + ")" * 100,
        "SELECT " + "abs(" * 200 + "1" + ")" * 200,
        "SELECT " + "+".join("1" * 200),
        "SELECT * FROM numbers(1) AS t0 " + " ".join(f"JOIN numbers(1) AS t{n} ON t{n}.number = t0.number" for n in range(1, 60)),
        "SELECT JSONExtractString('" + "[" * 500 + "]" * 500 + "', 1)",
    ],
    ids=["queries", "calls", "sums", "joins", "json"],
)
def test_deep_statements_on_small_stacks(sql, size):
    """Whatever they answer, the process lives."""
    ended = []

    def ask():
        try:
            ended.append(chalet.connect().query(sql).data())
        except chalet.Error as error:
            ended.append(str(error))

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(60)
    finally:
        threading.stack_size(before)
    assert len(ended) == 1
