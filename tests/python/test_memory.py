"""Memory that queries have used goes back to the system when none comes."""

import subprocess
import sys
import time

import pytest

PROGRAM = """
import time
import chalet

def status(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

def resident():
    return status("RssAnon")

connection = chalet.connect(":memory:")
connection.query("SELECT 1")
before, most = resident(), status("VmHWM")
connection.query("SELECT number, count() FROM numbers(10000000) GROUP BY number ORDER BY 2 LIMIT 1")
# A part may have gone back by now.
used = status("VmHWM") - most
for _ in range(600):
    time.sleep(0.2)
    if resident() - before < min(used / 4, 100_000):
        break
print(used, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_goes_back_when_idle():
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    used, kept = map(int, done.stdout.split())
    assert used > 50_000, "the query needs more memory than that"
    assert kept < min(used / 4, 100_000), f"{kept} of {used} KB are kept after {time.monotonic() - started:.0f} s"
