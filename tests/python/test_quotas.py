"""Quotas of the users of a server: what is more than they may have in a while is refused, over both protocols, and others are not concerned."""

import pytest

import chalet
import chalet.server

# Some tests would run from one interval into the next with a short one.
WHILE = 10 * 365 * 86400


@pytest.fixture(params=["clickhouse", "http"])
def connect(request):
    """Starts a server whose user `guest` has a quota, and gives what connects to it."""
    started = []

    def start(*intervals, **limits):
        quota = list(intervals) or {"duration": WHILE, **limits}
        users = {"guest": {"password": "", "quota": quota}, "default": {"password": ""}}
        server = chalet.server.start(users=users)
        started.append(server)
        port = server.tcp_port if request.param == "clickhouse" else server.http_port
        return lambda user="guest": chalet.connect(f"{request.param}://{user}@127.0.0.1:{port}")

    yield start
    for server in started:
        server.stop()


def refused(db, sql="SELECT 1"):
    with pytest.raises(chalet.Error) as raised:
        db.query(sql)
    assert raised.value.code == 201, raised.value
    return str(raised.value)


def test_queries(connect):
    # Connecting asks for the version, over HTTP.
    to = connect(queries=10)
    with to() as db, to("default") as other:
        for n in range(11):
            try:
                assert db.query("SELECT 1", "TSV").data() == "1\n"
            except chalet.Error as error:
                assert error.code == 201 and n > 5
                break
        assert f"Quota for user `guest` for {WHILE}s has been exceeded: queries = " in refused(db)
        # It is the user's, not the connection's; others have none.
        with pytest.raises(chalet.Error), to() as again:
            again.query("SELECT 1")
        for _ in range(20):
            assert other.query("SELECT 1", "TSV").data() == "1\n"


def test_rows_of_results(connect):
    with connect(result_rows=100_000)() as db:
        assert db.query("SELECT number FROM numbers(90000)", "TSV").data().count("\n") == 90_000
        # Amid its rows, and from then on.
        assert "result_rows = " in refused(db, "SELECT number FROM numbers(10000000)")
        refused(db)


def test_rows_that_are_read(connect):
    with connect(read_rows=10_000_000)() as db:
        assert db.query("SELECT count() FROM numbers(1000) WHERE number % 3 = 1", "TSV").data() == "333\n"
        # It has no end.
        assert "read_rows = " in refused(db, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)")
        refused(db)


def test_time(connect):
    with connect(execution_time=0.5)() as db:
        message = refused(db, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000000)")
        assert "execution_time = " in message and "/0.5. Interval will end at " in message
        refused(db)


def test_errors_and_several_intervals(connect):
    with connect({"duration": WHILE, "queries": 1000}, {"duration": 2 * WHILE, "errors": 2})() as db:
        for sql in ("SELECT nothing", "SELEC", "SELECT throwIf(1)"):
            with pytest.raises(chalet.Error) as raised:
                db.query(sql)
            assert raised.value.code != 201
        assert f"for {2 * WHILE}s has been exceeded: errors = 3/2." in refused(db)


def test_what_is_no_quota():
    for quota, message in (
        (5, "a quota is a dict with a duration"),
        ({"queries": 5}, "a quota is a dict with a duration"),
        ({"duration": 0}, "a quota is a dict with a duration"),
        ({"duration": 1, "queries": "many"}, "queries of a quota is a number"),
        ({"duration": 1, "queries": -1}, "queries of a quota is a number"),
        ([{"duration": 1}, 7], "a quota is a dict with a duration"),
    ):
        with pytest.raises(ValueError, match=message):
            chalet.server.start(users={"a": {"password": "", "quota": quota}})
    with pytest.raises(chalet.Error, match="A quota has no rows; there are queries, errors"):
        chalet.server.start(users={"a": {"password": "", "quota": {"duration": 1, "rows": 5}}})
