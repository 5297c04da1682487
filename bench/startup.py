#!/usr/bin/env python3
"""What it costs to begin: a fresh process that answers SELECT 1, and SELECT 1 on an open connection.

  startup.py [--rounds 10]

Engines that are installed take turns (chalet, duckdb, chdb), with `python -c pass` as the yardstick of the fresh process.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time

FRESH = {
    "bare python": "pass",
    "import chalet": "import chalet",
    "chalet": "import chalet; chalet.query('SELECT 1').bytes()",
    "duckdb": "import duckdb; duckdb.connect().execute('SELECT 1').fetchall()",
    "chdb": "import chdb; chdb.query('SELECT 1').bytes()",
}
WARM = {
    "chalet query": "import chalet; c = chalet.connect(); run = lambda: c.query('SELECT 1').bytes()",
    "chalet cursor": "import chalet; c = chalet.connect(); run = lambda: c.execute('SELECT 1').fetchall()",
    "chalet module": "import chalet; run = lambda: chalet.query('SELECT 1').bytes()",
    "duckdb execute": "import duckdb; c = duckdb.connect(); run = lambda: c.execute('SELECT 1').fetchall()",
    "chdb query": "import chdb; c = chdb.connect(':memory:'); run = lambda: c.query('SELECT 1').bytes()",
}
WARM_LOOP = """
import time
{setup}
for _ in range(20): run()
times = []
end = time.perf_counter() + 0.5
while time.perf_counter() < end:
    start = time.perf_counter(); run(); times.append(time.perf_counter() - start)
times.sort()
print(times[len(times) // 2])
"""


def installed(code):
    return code == "pass" or importlib.util.find_spec(code.split()[1].rstrip(";")) is not None


def fresh(code):
    """Seconds of wall time and peak megabytes of one process."""
    measured = f"{code}\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    seconds = time.perf_counter() - start
    megabytes = subprocess.run([sys.executable, "-c", measured], check=True, capture_output=True, text=True).stdout
    return seconds, float(megabytes.split()[-1])


def warm(setup):
    code = WARM_LOOP.format(setup=setup)
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    found = {name: [] for name, code in FRESH.items() if installed(code)}
    for _ in range(rounds):
        for name in found:
            found[name].append(fresh(FRESH[name]))
    base_seconds, base_megabytes = (statistics.median(column) for column in zip(*found["bare python"]))
    print("a fresh process      wall     of bare    peak memory")
    for name, runs in found.items():
        seconds, megabytes = (statistics.median(column) for column in zip(*runs))
        extra = f"+{megabytes - base_megabytes:.1f} MB"
        print(f"{name:<16}{seconds * 1000:>7.1f} ms{seconds / base_seconds:>9.2f}x{extra:>14}")
    print("\nSELECT 1, warm      median")
    found = {name: [] for name, code in WARM.items() if installed(code)}
    for _ in range(max(3, rounds // 3)):
        for name in found:
            found[name].append(warm(WARM[name]))
    for name, runs in found.items():
        print(f"{name:<16}{statistics.median(runs) * 1e6:>7.1f} us")


if __name__ == "__main__":
    main()
