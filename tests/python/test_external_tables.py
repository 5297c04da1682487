"""Objects of the program in statements that a server runs: frames go there as external tables, relations as sub-queries."""

import asyncio

import pytest

import chalet
import chalet.aio


@pytest.fixture(params=["real", "ours", "real over HTTP", "ours over HTTP"])
def url(request):
    which, _, transport = request.param.partition(" over ")
    user = "alice:secret@" if which == "real" else ""
    native, http = request.getfixturevalue(which)
    return f"http://{user}127.0.0.1:{http}" if transport else f"clickhouse://{user}127.0.0.1:{native}"


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


def test_relations_of_asyncio(url, capsys):
    async def run():
        async with await chalet.aio.connect(url) as server:
            await server.query("DROP TABLE IF EXISTS server_t")
            await server.query("CREATE TABLE server_t (n UInt64, s String) ENGINE = Memory")
            await server.query("INSERT INTO server_t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
            rows = server.sql("SELECT n, s FROM server_t")
            assert await rows.filter("n > 1").order("n").fetchall() == [(2, "two"), (3, "three")]
            assert await rows.where("n > 1").select("s").sort("s DESC").limit(1).fetchall() == [("two",)]
            assert await rows.order("n DESC").limit(1, 1).fetchall() == [(2, "two")]
            lengths = rows.aggregate("length(s) AS l, count() AS c", "l").order("l")
            assert await lengths.fetchall() == [(3, 2), (5, 1)] and [row async for row in lengths] == [(3, 2), (5, 1)]
            assert await rows.union(rows.filter("n = 1")).shape() == (4, 2)
            assert await rows.select("n % 2 AS r").distinct().order("r").fetchall() == [(0,), (1,)]
            assert await lengths.columns() == ["l", "c"] and await rows.filter("n > 1").types() == ["UInt64", "String"]
            assert (await rows.filter("n > 1").description())[0][:2] == ("n", "UInt64")
            assert await rows.describe().fetchall() == [("n", "UInt64"), ("s", "String")]
            other = server.sql("SELECT n, n * 10 AS tens FROM server_t")
            assert await rows.join(other, "n").select("s", "tens").order("tens").limit(1).fetchall() == [("one", 10)]
            assert await rows.filter("n < 3").order("n").to_dicts() == [{"n": 1, "s": "one"}, {"n": 2, "s": "two"}]
            await rows.filter("n > 1").order("n").show(1)
            assert "two" in capsys.readouterr().out
            assert "SELECT" in await rows.filter("n > 1").query()
            # Rows of the program, here and there.
            given = server.sql("SELECT n, price FROM given", tables={"given": PRICES}).filter("price > 1").order("n")
            assert await given.fetchall() == [(2, 1.5), (4, 2.5)]
            assert (await given.fetchone(), await given.fetchmany(5)) == ((2, 1.5), [(4, 2.5)])
            with chalet.connect() as here:
                local = here.sql("SELECT toUInt64(number) AS n FROM numbers(3)")
                assert await rows.join(local, "n").order("n").select("s").fetchall() == [("one",), ("two",)]
            # As tables of other queries, and several at once.
            few = rows.filter("n < 3")
            assert (await server.query("SELECT count() FROM few", "TSV", tables={"few": few})).data() == "2\n"
            assert await asyncio.gather(*(asyncio.create_task(rows.filter(f"n > {n}").fetchall()) for n in range(3)))
            assert (await asyncio.create_task(rows.filter("n = 2"))).fetchall() == [(2, "two")]
            for wrong in (rows.filter("nothing = 1"), rows.select("n").filter("s = 'one'")):
                with pytest.raises(chalet.Error) as raised:
                    await wrong.fetchall()
                assert raised.value.code == 47
            with pytest.raises(chalet.ProgrammingError, match="cannot be -1"):
                await rows.limit(-1)

    asyncio.run(run())


def test_relations_of_asyncio_and_what_old_servers_lack(ours):
    async def run():
        async with await chalet.aio.connect(f"clickhouse://127.0.0.1:{ours[0]}") as server:
            rows = server.sql("SELECT number AS n FROM numbers({n:UInt64})", params={"n": 10})
            some = rows.filter("n > {n:UInt64}", params={"n": 3}).filter("n < {m:UInt64}", params={"m": 6})
            assert await some.fetchall() == [(4,), (5,)]
            assert await some.intersect(rows.filter("n = 5")).fetchall() == [(5,)]
            assert await some.except_(rows.filter("n = 5")).fetchall() == [(4,)]
            assert await some.alias("a").join(rows.alias("b"), "a.n = b.n + 1").order("n").select("`b.n`").fetchall() == [(3,), (4,)]
            summary = await some.summarize().fetchall()
            assert summary[0][0] == "n" and "Scan" in await some.explain()
            with pytest.raises(chalet.Error, match="before it is awaited"):
                await server.query("SELECT * FROM s", tables={"s": some.describe()})

    asyncio.run(run())


def test_over_http(ours, real):
    for url in (f"http://127.0.0.1:{ours[1]}", f"http://alice:secret@127.0.0.1:{real[1]}"):
        with chalet.connect(url) as server:
            assert server.sql("SELECT 1 AS x").filter("x > 1").fetchall() == []
            # Bytes of which some could be marks of parts, and no rows of which the columns are told.
            texts = {"s": ["--", "\r\n--chalet", "\r\n\r\n", "", "\0"], "n": [1, 2, 3, 4, 5]}
            assert server.execute("SELECT s FROM given ORDER BY n", tables={"given": texts}).fetchall() == tuple((s,) for s in texts["s"])
            assert server.query("SELECT s, n FROM given WHERE n > 9", "TSVWithNames", tables={"given": texts}).data() == "s\tn\n"
            # The statement is no part of the URL, which has bounds.
            long = "SELECT sum(n) FROM given WHERE n NOT IN (" + ", ".join(map(str, range(100, 30_000))) + ")"
            assert server.execute(long, tables={"given": texts}).fetchall() == ((15,),)
            with pytest.raises(chalet.Error, match="nothing"):
                server.query("SELECT nothing FROM given", tables={"given": texts})
            assert server.execute("SELECT max(n) FROM given", tables={"given": texts}).fetchall() == ((5,),)


def test_forms_of_other_clients(ours):
    """What is sent by hand: types alone, another format, parameters as fields."""
    import http.client

    def ask(query, parts, url="/"):
        body = b"".join(b"--b\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
        connection = http.client.HTTPConnection("127.0.0.1", ours[1])
        connection.request("POST", url, body + b"--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    rows = ('name="t"; filename="t"', b"1\ta\n2\tb")
    query = ('name="query"', b"SELECT _2 FROM t WHERE _1 = {x:UInt8}")
    assert ask("", [query, ('name="param_x"', b"2"), ('name="t_types"', b"UInt8, String"), rows]) == (200, "b\n")
    assert ask("", [rows], "/?query=SELECT+sum(n)+FROM+t&t_structure=n+UInt8,s+String") == (200, "3\n")
    csv = ('name="u"; filename="x.csv"', b'7,"x,y"')
    assert ask("", [rows, csv], "/?query=SELECT+s,+n+FROM+t,+u+ORDER+BY+n&t_structure=n+UInt8,t+String&u_format=CSV&u_structure=m+UInt8,s+String") == (200, "x,y\t1\nx,y\t2\n")
    status, text = ask("", [rows], "/?query=SELECT+1")
    assert status == 400 and "Neither structure nor types have not been provided for external table t" in text
    assert ask("", [rows], "/?query=SELECT+1&t_structure=n+Nonsense")[0] != 200
    assert ask("", [rows], "/?query=SELECT+1&t_structure=n+UInt8,s+String&t_format=Nonsense)")[0] != 200
    # Gone with the request, also in a session.
    assert ask("", [rows], "/?session_id=forms&query=SELECT+count()+FROM+t&t_types=UInt8,String") == (200, "2\n")
    status, text = ask("", [('name="query"', b"SELECT * FROM t")], "/?session_id=forms")
    assert "UNKNOWN_TABLE" in text
