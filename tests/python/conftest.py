"""What the Python tests share: a fresh in-memory database each."""

import pytest

import chalet


@pytest.fixture
def db():
    with chalet.connect() as connection:
        yield connection


def value(connection, expression):
    """The one value of an expression, as a Python object."""
    return connection.cursor().execute(f"SELECT {expression}").fetchone()[0]


@pytest.fixture
def of(db):
    return lambda expression: value(db, expression)
