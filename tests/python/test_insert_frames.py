"""INSERT of DataFrames, Arrow tables and dicts of arrays, whose columns are taken by name: into a database in the process, a real server
(18.16) and one of ours, over both protocols, blocking and with asyncio."""

import asyncio
import datetime

import pytest

import chalet
import chalet.aio
import chalet.clickhouse_driver

np = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")
COLUMNS = {
    "i": "Int32", "u": "UInt64", "f": "Float64", "nf": "Nullable(Float64)", "ni": "Nullable(Int32)", "s": "String", "ns": "Nullable(String)", "c": "String",
    "d": "Date", "t": "DateTime", "z": "DateTime('Europe/Berlin')", "b": "UInt8", "e": "Enum8('a' = 1, 'b' = 2)", "o": "String",
}  # fmt: skip
ASKED = "i, u, isNaN(f), nf, ni, s, ns, c, toString(d), toUInt32(t), toUInt32(z), b, toString(e), o"


def frame():
    return pandas.DataFrame({
        "unused": [object()] * 4,
        "u": np.arange(4, dtype="uint32"),
        "i": np.arange(4, dtype="int64"),
        "f": [1.5, np.nan, 2.0, 3.0],
        "nf": [1.5, np.nan, 2.0, 3.0],
        "ni": pandas.array([1, None, 3, 4], dtype="Int64"),
        "s": ["a", "é", "", "d" * 100],
        "ns": ["a", None, "c", "d"],
        "c": pandas.Categorical(["x", "y", "x", "y"]),
        "d": [datetime.date(2020, 1, day) for day in range(1, 5)],
        "t": pandas.date_range("2020-01-01", periods=4, tz="UTC"),
        "z": pandas.date_range("2020-01-01", periods=4, tz="America/New_York"),
        "b": [True, False, True, False],
        "e": ["a", "b", "a", "b"],
        "o": pandas.Series(["p", b"q", "r", "s"], dtype=object),
    })  # fmt: skip


T = 1577836800
EXPECTED = "".join(
    f"{n}\t{n}\t{int(n == 1)}\t{nf}\t{ni}\t{s}\t{ns}\t{'xy'[n % 2]}\t2020-01-0{n + 1}\t{T + n * 86400}\t{T + n * 86400 + 5 * 3600}\t{1 - n % 2}\t{'ab'[n % 2]}\t{'pqrs'[n]}\n"
    for n, (nf, ni, s, ns) in enumerate([("1.5", "1", "a", "a"), ("\\N", "\\N", "é", "\\N"), ("2", "3", "", "c"), ("3", "4", "d" * 100, "d")])
)


@pytest.fixture(params=["here", "real", "ours", "real over HTTP", "ours over HTTP"])
def url(request):
    if request.param == "here":
        return ":memory:"
    which, _, transport = request.param.partition(" over ")
    user = "alice:secret@" if which == "real" else ""
    native, http = request.getfixturevalue(which)
    return f"http://{user}127.0.0.1:{http}" if transport else f"clickhouse://{user}127.0.0.1:{native}"


def create(name="frames"):
    return f"CREATE TABLE {name} ({', '.join(f'{column} {ty}' for column, ty in COLUMNS.items())}) ENGINE = Memory"


def test_types(url):
    with chalet.connect(url) as db:
        db.query("DROP TABLE IF EXISTS frames")
        db.query(create())
        given = frame()
        assert db.insert_rows("INSERT INTO frames VALUES", given) == 4
        given.loc[:, "i"] = 77
        assert db.query(f"SELECT {ASKED} FROM frames ORDER BY i", "TSVRaw").data() == EXPECTED
        # The rows are the table's own.
        own = {"i": np.array([102, 103], dtype="int32")}
        db.insert_rows("INSERT INTO frames (i) VALUES", own)
        own["i"][:] = 7
        assert db.query("SELECT i FROM frames WHERE i >= 100 ORDER BY i", "TSV").data() == "102\n103\n"
        # Some columns, in the order of the statement; none of the rows; many.
        assert db.insert_rows("INSERT INTO frames (s, i) VALUES", {"i": np.array([9]), "s": np.array(["nine"], dtype=object)}) == 1
        assert db.query("SELECT i, s, u FROM frames WHERE i = 9", "TSV").data() == "9\tnine\t0\n"
        assert db.insert_rows("INSERT INTO frames VALUES", frame()[:0]) == 0
        many = pandas.DataFrame({"i": np.arange(300_000), "s": [str(n) for n in range(300_000)]})
        assert db.insert_rows("INSERT INTO frames (i, s) VALUES", many) == 300_000
        assert db.query("SELECT count(), sum(length(s)) FROM frames WHERE i >= 10", "TSV").data() == "299992\t1688880\n"
        db.query("DROP TABLE frames")


def test_arrow(url):
    pyarrow = pytest.importorskip("pyarrow")
    with chalet.connect(url) as db:
        db.query("DROP TABLE IF EXISTS arrows")
        db.query("CREATE TABLE arrows (a UInt8, s Nullable(String), l Array(Int32)) ENGINE = Memory")
        table = pyarrow.table({"l": [[1, 2], [], [3]], "s": pyarrow.array(["x", None, "z"]).dictionary_encode(), "a": pyarrow.array([1, 2, 3], pyarrow.int64())})
        assert db.insert_rows("INSERT INTO arrows VALUES", table) == 3
        assert db.insert_rows("INSERT INTO arrows VALUES", pyarrow.concat_tables([table, table])) == 6
        assert db.query("SELECT * FROM arrows ORDER BY a LIMIT 1 BY a", "TSV").data() == "1\tx\t[1,2]\n2\t\\N\t[]\n3\tz\t[3]\n"
        assert db.query("SELECT count() FROM arrows", "TSV").data() == "9\n"
        db.query("DROP TABLE arrows")


def test_what_does_not_fit(url):
    with chalet.connect(url) as db:
        db.query("DROP TABLE IF EXISTS wrong")
        db.query("CREATE TABLE wrong (i UInt8, s String) ENGINE = Memory")
        for given, error, message in (
            ({"i": [1]}, chalet.Error, "There is no column s"),
            (5, TypeError, "an object with columns"),
            ("text", TypeError, "an object with columns"),
            ({"i": ["zz"], "s": ["x"]}, chalet.Error, "zz"),
        ):
            with pytest.raises(error, match=message):
                db.insert_rows("INSERT INTO wrong VALUES", given)
        assert db.query("SELECT count() FROM wrong", "TSV").data() == "0\n"
        assert db.insert_rows("INSERT INTO wrong VALUES", {"i": [3], "s": ["x"]}) == 1
        db.query("DROP TABLE wrong")


def test_asyncio(url):
    async def run():
        async with await chalet.aio.connect(url) as db:
            await db.query("DROP TABLE IF EXISTS later")
            await db.query(create("later"))
            assert await db.insert_rows("INSERT INTO later VALUES", frame()) == 4
            assert (await db.query(f"SELECT {ASKED} FROM later ORDER BY i", "TSVRaw")).data() == EXPECTED
            with pytest.raises(chalet.Error, match="There is no column"):
                await db.insert_rows("INSERT INTO later VALUES", {"i": [1]})
            await db.query("DROP TABLE later")

    asyncio.run(run())


def test_driver(real):
    with chalet.clickhouse_driver.Client(host="127.0.0.1", port=real[0], user="alice", password="secret") as client:
        client.execute("DROP TABLE IF EXISTS driven")
        client.execute(create("driven"))
        assert client.insert_dataframe("INSERT INTO driven VALUES", frame()) == 4
        rows = client.execute("SELECT i, nf, ni, ns, c FROM driven ORDER BY i")
        assert rows == [(0, 1.5, 1, "a", "x"), (1, None, None, None, "y"), (2, 2.0, 3, "c", "x"), (3, 3.0, 4, "d", "y")]
        assert client.insert_dataframe("INSERT INTO driven VALUES", frame()[:0]) == 0
        with pytest.raises(ValueError, match="missing required columns"):
            client.insert_dataframe("INSERT INTO driven VALUES", frame().drop(columns="e"))
        client.execute("DROP TABLE driven")
