"""What tests wait for, and how long a machine that does other things may let them wait. A test says what has to happen, not when: who is too
slow once is asked again, and only what never happens is a failure."""

import contextlib
import os
import time

# Seconds after which something that should happen is said not to.
LONG = 120


def until(condition, what="it has not happened", seconds=LONG):
    """Waits until a condition holds, and gives what it gave."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.01)
    return found


def in_time(seconds, attempt, tries=10):
    """Something takes less than `seconds` at least once. `attempt` does it and gives the seconds that it took, or nothing: then it is
    measured here. A machine that is busy with other things delays some attempts, a fault delays all."""
    took = []
    for number in range(tries):
        began = time.perf_counter()
        said = attempt()
        took.append(time.perf_counter() - began if said is None else said)
        if took[-1] < seconds:
            return
        # Another moment may be a better one.
        time.sleep(0.1 * number)
    raise AssertionError(f"never in {seconds} s: {took}")


def threads(name):
    """How many threads of this process, ours too, have a name; none where the system does not tell."""
    names = []
    for task in os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []:
        # One may end meanwhile.
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as comm:
            names.append(comm.read().strip())
    return names.count(name)


def running(db, text):
    """How many statements of the process, or of the server that `db` is connected to, have this in their text."""
    asked = "SELECT count() FROM system.processes WHERE query LIKE {t:String} AND query NOT LIKE '%system.processes%'"
    return int(db.query(asked, "TSV", {"t": f"%{text}%"}).data())
