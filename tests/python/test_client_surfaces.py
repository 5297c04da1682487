"""What the classes of other clients have, ours have too, under the same names and with the same parameters; what is not there is said here and
in docs/migration-from-clickhouse-clients.md."""

import inspect
import pathlib

import pytest

import chalet.aiochclient
import chalet.asynch
import chalet.clickhouse_driver

# Of clickhouse_driver.Client: the conversation by packets, and classes of its results.
OF_PACKETS = """
    connections disconnect_connection disconnect_on_error establish_connection get_connection iter_process_ordinary_query iter_query_result_cls
    iter_receive_result make_query_settings packet_generator process_insert_query process_ordinary_query process_ordinary_query_with_progress
    progress_query_result_cls query_result_cls receive_end_of_insert_query receive_end_of_query receive_packet receive_profile_events receive_result
    receive_sample_block reset_last_query send_data track_current_database
""".split()


def public(one):
    return {name for name in dir(one) if not name.startswith("_")}


def parameters(function):
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def compared(theirs, ours, missing=()):
    assert public(theirs) - public(ours) == set(missing)
    for name in public(theirs) & public(ours):
        there, here = getattr(theirs, name), getattr(ours, name)
        if not callable(there):
            continue
        if inspect.isroutine(there) or inspect.isfunction(there):
            assert [one for one in parameters(there) if one not in parameters(here)] == [], name
            assert inspect.iscoroutinefunction(there) == inspect.iscoroutinefunction(here), name


def test_clickhouse_driver():
    driver = pytest.importorskip("clickhouse_driver")
    from clickhouse_driver import dbapi, errors

    theirs, ours = driver.Client("127.0.0.1"), chalet.clickhouse_driver.Client(":memory:")
    compared(theirs, ours, OF_PACKETS)
    with dbapi.connect("clickhouse://127.0.0.1") as there, chalet.clickhouse_driver.connect(":memory:") as here:
        compared(there, here)
        compared(there.cursor(), here.cursor(), ["States"])
    ours.disconnect()
    kinds = {name for name in public(errors) if isinstance(getattr(errors, name), type)}
    assert kinds <= public(chalet.clickhouse_driver.errors)


def test_aiochclient():
    theirs = pytest.importorskip("aiochclient")
    compared(theirs.ChClient, chalet.aiochclient.ChClient, ["headers", "params", "url"])
    client = chalet.aiochclient.ChClient(url=":memory:")
    assert {"headers", "params", "url"} <= public(client)
    assert set(parameters(theirs.ChClient)) - set(parameters(chalet.aiochclient.ChClient)) == set()
    compared(theirs.Record, chalet.aiochclient.Record)


def test_asynch():
    theirs = pytest.importorskip("asynch")
    from asynch import errors

    assert set(theirs.__all__) == set(chalet.asynch.__all__)
    for one in ("apilevel", "paramstyle", "threadsafety"):
        assert getattr(theirs, one) == getattr(chalet.asynch, one)
    compared(theirs.Connection(), chalet.asynch.Connection())
    for name in ("Cursor", "DictCursor"):
        compared(getattr(theirs, name)(), getattr(chalet.asynch, name)(), ["make_external_tables"])
    compared(theirs.Pool(), chalet.asynch.Pool())
    for name in ("Connection", "Cursor", "Pool", "connect"):
        assert set(parameters(getattr(theirs, name))) <= set(parameters(getattr(chalet.asynch, name))), name
    kinds = {name for name in public(errors) if isinstance(getattr(errors, name), type)}
    # Of its parser, and of columns.
    assert kinds - public(chalet.asynch.errors) == {
        "CannotParseDomainError",
        "CannotParseUuidError",
        "ColumnException",
        "ColumnTypeMismatchException",
        "StructPackException",
        "TooLargeStringSize",
        "UnknownCompressionMethod",
    } & kinds


def test_clickhouse_connect():
    pytest.importorskip("clickhouse_connect")
    from clickhouse_connect.driver.client import Client

    import chalet.clickhouse_connect

    with chalet.clickhouse_connect.get_client() as client:
        compared(Client, type(client))


def test_the_page_names_them():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "migration-from-clickhouse-clients.md").read_text()
    for word in ("chalet.clickhouse_driver", "chalet.aiochclient", "chalet.asynch", "chalet.clickhouse_connect", "receive_packet"):
        assert word in page
