"""Bytes that queries over shards send: ours beside ClickHouse's own `remote()`, over one, two and three servers (Debian's 18.16).

    python bench/shards.py HITS_0.parquet          rows of hits, divided among the servers; 300,000 of each

A relay before each server counts what goes up and down. Both sides compress with LZ4. Ours runs in this process; ClickHouse's is a server of its own that
holds no rows. Answers are compared. The last lines are the model of docs/cluster.md: what a query sends grows with the shards as its groups or rows do.
"""

import argparse
import contextlib
import math
import pathlib
import sys
import tempfile
import time

import chalet

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "python"))
import clickhouse  # noqa: E402
import shards  # noqa: E402

COLUMNS = {
    "WatchID": "Int64",
    "Title": "String",
    "EventTime": "DateTime",
    "EventDate": "Date",
    "CounterID": "Int32",
    "ClientIP": "Int32",
    "RegionID": "Int32",
    "UserID": "Int64",
    "URL": "String",
    "IsRefresh": "Int16",
    "ResolutionWidth": "Int16",
    "MobilePhoneModel": "String",
    "MobilePhone": "Int16",
    "SearchEngineID": "Int16",
    "SearchPhrase": "String",
    "AdvEngineID": "Int16",
}
QUERIES = [
    "SELECT count() FROM hits",
    "SELECT count() FROM hits WHERE AdvEngineID <> 0",
    "SELECT sum(AdvEngineID), count(), avg(ResolutionWidth) FROM hits",
    "SELECT avg(UserID) FROM hits",
    "SELECT uniqExact(UserID) FROM hits",
    "SELECT uniqExact(SearchPhrase) FROM hits",
    "SELECT min(EventDate), max(EventDate) FROM hits",
    "SELECT AdvEngineID, count() AS c FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY c DESC, AdvEngineID",
    "SELECT RegionID, uniqExact(UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC, RegionID LIMIT 10",
    "SELECT RegionID, sum(AdvEngineID), count() AS c, avg(ResolutionWidth), uniqExact(UserID) FROM hits GROUP BY RegionID ORDER BY c DESC, RegionID LIMIT 10",
    "SELECT MobilePhoneModel, uniqExact(UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC, MobilePhoneModel LIMIT 10",
    "SELECT SearchPhrase, count() AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC, SearchPhrase LIMIT 10",
    "SELECT SearchEngineID, SearchPhrase, count() AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC, SearchPhrase LIMIT 10",
    "SELECT UserID, count() AS c FROM hits GROUP BY UserID ORDER BY c DESC, UserID LIMIT 10",
    "SELECT UserID, SearchPhrase, count() AS c FROM hits GROUP BY UserID, SearchPhrase ORDER BY c DESC, UserID, SearchPhrase LIMIT 10",
    "SELECT UserID FROM hits WHERE UserID = 435090932899640449",
    "SELECT count() FROM hits WHERE URL LIKE '%google%'",
    "SELECT SearchPhrase, min(URL), count() AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC, SearchPhrase LIMIT 10",
    "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10",
    "SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10",
    "SELECT CounterID, avg(length(URL)) AS l, count() AS c FROM hits WHERE URL <> '' GROUP BY CounterID HAVING c > 1000 ORDER BY l DESC, CounterID LIMIT 25",
    "SELECT ClientIP, ClientIP - 1, count() AS c FROM hits GROUP BY ClientIP, ClientIP - 1 ORDER BY c DESC, ClientIP LIMIT 10",
    "SELECT URL, count() AS c FROM hits GROUP BY URL ORDER BY c DESC, URL LIMIT 10",
    "SELECT DISTINCT RegionID FROM hits ORDER BY RegionID LIMIT 10",
    "SELECT WatchID, URL FROM hits WHERE CounterID = 62 LIMIT 100000",
]


class Counted(shards.Relay):
    """Counts both directions."""

    up = 0

    def _converse(self, client):
        class Counting:
            def __getattr__(_, name):
                return getattr(client, name)

            def __enter__(_):
                return client.__enter__()

            def __exit__(_, *rest):
                return client.__exit__(*rest)

            def recv(_, n):
                data = client.recv(n)
                self.up += len(data)
                return data

        super()._converse(Counting())


def rows_of(data):
    """Sorted, with floats as exact as both print them."""
    return sorted(tuple(map(_number, line.split("\t"))) for line in data.rstrip("\n").split("\n"))


def _number(text):
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=300_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = pathlib.Path(folder)
        ports = [stack.enter_context(clickhouse.started(place / str(n))) for n in range(4)]
        relays = [Counted(port) for port in ports[:3]]
        made = ", ".join(f"{name} {ty}" for name, ty in COLUMNS.items())
        columns = ", ".join(f"CAST({name} AS {ty}) AS {name}" for name, ty in COLUMNS.items())
        db = stack.enter_context(chalet.connect(":memory:"))
        for n, port in enumerate(ports[:3]):
            with chalet.connect(f"clickhouse://127.0.0.1:{port}") as there:
                there.query(f"CREATE TABLE hits ({made}) ENGINE = MergeTree ORDER BY (CounterID, EventDate)")
            source = f"SELECT {columns} FROM file('{arguments.file}') WHERE WatchID % 3 = {n} LIMIT {arguments.rows}"
            db.query(f"INSERT INTO FUNCTION remote('127.0.0.1:{port}', default.hits) {source}")
        distributed = stack.enter_context(chalet.connect(f"clickhouse://127.0.0.1:{ports[3]}"))
        return compare(db, distributed, relays)


def sent(relays, run):
    """The answer, and the bytes of it once nothing moves any more."""
    before = sum(relay.passed + relay.up for relay in relays)
    answer = run()
    last = -1
    while (now := sum(relay.passed + relay.up for relay in relays)) != last:
        last = now
        time.sleep(0.05)
    return answer, now - before


def compare(db, distributed, relays):
    print(f"{'query':80} {'shards':>6} {'ours':>12} {'ClickHouse':>12} {'ratio':>6}")
    ratios, sums, model = [], [0, 0], {}
    for sql in QUERIES:
        for n in (1, 2, 3):
            hosts = ",".join(f"127.0.0.1:{relay.port}" for relay in relays[:n])
            asked = sql.replace("FROM hits", f"FROM remote('{hosts}', default.hits)")
            answers, figures = [], []
            for one in (db, distributed):
                # What is asked once of a table is asked before.
                answer, figure = sent(relays, lambda one=one: one.query(asked, "TSV").data())
                answers.append(rows_of(answer))
                figures.append(figure)
            if answers[0] != answers[1] and "WatchID" not in sql:
                print(f"DIFFERS: {sql}: {answers[0][:3]} {answers[1][:3]}")
            model.setdefault(sql, []).append(figures[0])
            if n == 3:
                ratios.append(figures[0] / figures[1])
                sums = [a + b for a, b in zip(sums, figures)]
            print(f"{sql[:80]:80} {n:6} {figures[0]:12,} {figures[1]:12,} {figures[0] / figures[1]:6.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"three shards: geometric mean {mean:.3f}, worst {max(ratios):.2f}, all bytes {sums[0] / sums[1]:.3f}")
    growth = [figures[2] / figures[0] for figures in model.values()]
    print(f"three shards to one, ours: {min(growth):.2f} to {max(growth):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
