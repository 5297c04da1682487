"""What the Python tests share: a fresh in-memory database each, servers of a module."""

import signal

import clickhouse
import pytest

import chalet
import chalet.server

# Who is started in the background of a shell ignores Ctrl-C, and so do the programs that it starts, some of which are to be stopped by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# These take minutes, and are begun first where several processes run the tests.
LONG = {"test_too_much_memory.py", "test_large_tables.py", "test_clustered_sorts.py", "test_small_disk.py"}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONG)


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


@pytest.fixture
def counted():
    """Runs a statement: gives its answer, and by how much it moved a counter of `system.events`."""

    def value_of(db, event):
        return int(str(db.query(f"SELECT sum(value) FROM system.events WHERE event = '{event}'", "TSV")))

    def run(db, sql, event):
        before = value_of(db, event)
        answer = str(db.query(sql, "TSV"))
        return answer, value_of(db, event) - before

    return run


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The ports of a ClickHouse server: native, HTTP."""
    with clickhouse.started_with_http(tmp_path_factory.mktemp("server")) as ports:
        yield ports


@pytest.fixture(scope="module")
def ours():
    """The same of one of ours."""
    with chalet.server.start() as server:
        yield server.tcp_port, server.http_port
