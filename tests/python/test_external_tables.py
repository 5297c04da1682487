"""Objects of the program in statements that a server runs: frames go there as external tables, relations as sub-queries."""

import asyncio

import pytest

import chalet
import chalet.aio


@pytest.fixture(params=["real", "ours"])
def url(request):
    user = "alice:secret@" if request.param == "real" else ""
    return f"clickhouse://{user}127.0.0.1:{request.getfixturevalue(request.param)[0]}"


@pytest.fixture
def server(url):
    with chalet.connect(url) as connection:
        connection.query("DROP TABLE IF EXISTS server_t")
        connection.query("CREATE TABLE server_t (n UInt64, s String) ENGINE = Memory")
        connection.query("INSERT INTO server_t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
        yield connection


PRICES = {"n": [1, 2, 4], "price": [0.5, 1.5, 2.5]}


def test_tables_of_a_call(server):
    cursor = server.cursor().execute("SELECT n, price FROM given ORDER BY n", tables={"given": PRICES})
    assert cursor.fetchall() == ((1, 0.5), (2, 1.5), (4, 2.5))
    joined = "SELECT s, price FROM server_t ANY INNER JOIN (SELECT toUInt64(n) AS n, price FROM given) AS g USING n ORDER BY s"
    assert server.query(joined, "TSV", tables={"given": PRICES}).data() == "one\t0.5\ntwo\t1.5\n"
    two = {"a": {"x": [1]}, "b": {"x": [2, 3]}}
    sql = "SELECT sum(x) FROM (SELECT x FROM a UNION ALL SELECT x FROM b)"
    assert server.query(sql, "TSV", tables=two).data() == "6\n"
    # It was a table of that query alone.
    with pytest.raises(chalet.Error) as raised:
        server.query("SELECT * FROM given")
    assert raised.value.code == 60
    assert server.query("SELECT s FROM server_t WHERE n = 2", "TSV").data() == "two\n"


def test_registered(server):
    server.register("wanted", {"n": [2, 3, 9]})
    assert server.query("SELECT s FROM server_t WHERE toInt64(n) IN wanted ORDER BY n", "TSV").data() == "two\nthree\n"
    assert server.query("SELECT s FROM server_t WHERE toInt64(n) NOT IN (SELECT n FROM wanted)", "TSV").data() == "one\n"
    assert [chunk.data() for chunk in server.send_query("SELECT count() FROM wanted", "TSV")] == ["3\n"]
    server.query("INSERT INTO server_t SELECT n, 'given' FROM wanted WHERE n = 9")
    assert server.query("SELECT s FROM server_t WHERE n = 9", "TSV").data() == "given\n"
    # What a name of WITH or of a column is, is no table.
    assert server.query("WITH n AS wanted SELECT count() FROM server_t WHERE wanted > 1", "TSV").data() == "3\n"
    server.unregister("wanted")
    with pytest.raises(chalet.Error):
        server.query("SELECT * FROM wanted")


def test_frames(server):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": ["a", None, "c"], "x": [1, 2, 3]})
    assert server.sql("SELECT k, x FROM given ORDER BY x", tables={"given": frame}).fetchall() == [("a", 1), (None, 2), ("c", 3)]
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": [[1, 2], []], "f": [0.5, None]})
    assert server.execute("SELECT a, f FROM given ORDER BY f", tables={"given": table}).fetchall() == (([1, 2], 0.5), ([], None))
    # More than one block.
    numbers = pandas.DataFrame({"x": range(200_000)})
    assert server.execute("SELECT count(), sum(x) FROM given", tables={"given": numbers}).fetchall() == ((200_000, sum(range(200_000))),)
    assert server.execute("SELECT count() FROM given", tables={"given": numbers[:0]}).fetchall() == ((0,),)


def test_variables(server):
    values = {"x": [1, 2]}
    assert server.query("SELECT sum(x) FROM values", "TSV").data() == "3\n"
    # A table of the server comes first.
    server_t = values
    assert server.query("SELECT count() FROM server_t", "TSV").data() == "3\n"
    assert [chunk.data() for chunk in server.send_query("SELECT max(x) FROM values", "TSV")] == ["2\n"]
    del values, server_t
    with pytest.raises(chalet.Error) as raised:
        server.query("SELECT * FROM values")
    assert raised.value.code == 60


def test_relations(server):
    rows = server.sql("SELECT n, s FROM server_t -- of the server")
    assert rows.columns == ["n", "s"] and rows.types == ["UInt64", "String"] and rows.shape == (3, 2)
    assert rows.filter("n > 1").order("n").fetchall() == [(2, "two"), (3, "three")]
    assert rows.filter("n > 1").select("s").order("s DESC").limit(1).fetchall() == [("two",)]
    lengths = rows.aggregate("length(s) AS l, count() AS c", "l").order("l")
    assert lengths.fetchall() == [(3, 2), (5, 1)] and list(lengths) == lengths.fetchall()
    assert rows.union(rows.filter("n = 1")).shape == (4, 2)
    assert "three" in repr(rows.order("n"))
    # Queries of the connection name it.
    assert server.query("SELECT max(n) FROM rows", "TSV").data() == "3\n"
    assert server.execute("SELECT count() FROM server_t WHERE n IN few", tables={"few": rows.select("n").limit(2)}).fetchall() == ((2,),)
    with chalet.connect() as here:
        assert here.query("SELECT sum(n) FROM rows", "TSV").data() == "6\n"
    with pytest.raises(chalet.Error) as raised:
        rows.filter("nothing = 1")
    assert raised.value.code == 47
    # Statements that are no query run at once.
    assert server.sql("SHOW TABLES LIKE 'server_t'").fetchall() == [("server_t",)]


def test_relations_over_frames(server):
    frame = {"x": [1, 2, 3]}
    step = server.sql("SELECT x, x * 2 AS y FROM frame").filter("y > 2")
    frame = None
    assert step.order("x").fetchall() == [(2, 4), (3, 6)]
    other = server.sql("SELECT x FROM frame", tables={"frame": {"x": [7]}})
    both = step.select("toUInt8(x) AS x").union(other.select("toUInt8(x) AS x")).order("x")
    assert both.fetchall() == [(2,), (3,), (7,)]
    assert frame is None
    with chalet.connect() as here:
        local = here.sql("SELECT number AS n FROM numbers(5)")
        assert server.execute("SELECT sum(n) FROM local").fetchall() == ((10,),)
        assert server.sql("SELECT * FROM server_t").join(local, "n").order("n").select("s").fetchall()[0] == ("one",)


def test_parameters_of_relations(ours):
    with chalet.connect(f"clickhouse://127.0.0.1:{ours[0]}") as server:
        rows = server.sql("SELECT number AS n FROM numbers({n:UInt64})", params={"n": 10})
        some = rows.filter("n > {n:UInt64}", params={"n": 3}).filter("n < {m:UInt64}", params={"m": 6})
        assert some.fetchall() == [(4,), (5,)]
        assert some.filter("n > {n:UInt64}", params={"n": 4}).fetchall() == [(5,)]
        with pytest.raises(chalet.NotSupportedError, match="cannot be sent to a server"):
            server.query("SELECT * FROM given", tables={"given": chalet.connect().query("SELECT 1::Dynamic AS d")})


def test_asyncio(url):
    async def run():
        async with await chalet.aio.connect(url) as server:
            answer = await server.query("SELECT sum(n) FROM given", "TSV", tables={"given": PRICES})
            assert answer.data() == "7\n"
            server.register("given", PRICES)
            rows = [server.sql(f"SELECT count() FROM given WHERE n > {n}").fetchall() for n in range(3)]
            assert await asyncio.gather(*rows) == [[(3,)], [(2,)], [(1,)]]
            cursor = await server.cursor().execute("SELECT n FROM other ORDER BY n", tables={"other": {"n": [2, 1]}})
            assert await cursor.fetchall() == ((1,), (2,))

    asyncio.run(run())


def test_over_http(ours):
    with chalet.connect(f"http://127.0.0.1:{ours[1]}") as server:
        assert server.sql("SELECT 1 AS x").filter("x > 1").fetchall() == []
        with pytest.raises(chalet.NotSupportedError, match="over HTTP"):
            server.query("SELECT * FROM given", tables={"given": PRICES})


@pytest.mark.parametrize("way", ["sync", "asyncio"])
def test_a_server_that_refuses_a_large_table(real, way):
    # An old server takes the rest of the table for packets, and complains about each: nobody may wait for the other to listen.
    pyarrow = pytest.importorskip("pyarrow")
    n = 500_000
    moments = pyarrow.table({"t": pyarrow.array(range(n), pyarrow.timestamp("ms")), "s": [f"value {i}" for i in range(n)]})
    url = f"clickhouse://alice:secret@127.0.0.1:{real[0]}"

    async def run():
        async with await chalet.aio.connect(url) as server:
            await server.query("SELECT count() FROM moments", tables={"moments": moments})

    with pytest.raises(chalet.Error, match="DateTime64") as raised:
        if way == "asyncio":
            asyncio.run(run())
        with chalet.connect(url) as server:
            server.query("SELECT count() FROM moments", tables={"moments": moments})
    assert raised.value.code == 50
    with chalet.connect(url) as server:
        assert server.query("SELECT 1", "TSV").data() == "1\n"
