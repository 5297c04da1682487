"""Contests: turns, what runs took, processes that answer, and the chart of it all."""

import math
import os
import sys
import xml.dom.minidom

import pytest

from chalet.lab import charts, machine
from chalet.lab.contest import Times, rotated, take_turns
from chalet.lab.processes import Child


def test_another_one_begins_each_time():
    assert [rotated(["a", "b", "c"], turn) for turn in range(3)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    assert rotated([], 5) == []


def test_turns_are_kept_and_the_first_one_apart():
    times, asked = {"a": Times(), "b": Times()}, []

    def ask(name):
        asked.append(name)
        return {"seconds": float(len(asked)), "cpu": 0.5, "peak_mb": 10.0 * len(asked), "told": name}

    take_turns(times, ask, 2, shift=1)
    assert asked == ["a", "b", "b", "a", "a", "b"]
    assert (times["a"].first, times["a"].seconds, times["a"].cpu) == (1.0, [4.0, 5.0], [0.5, 0.5])
    assert (times["b"].best, times["b"].median, times["b"].peak_mb, times["b"].told) == (3.0, 4.5, 60.0, "b")


def test_who_fails_takes_no_further_turn():
    times, asked = {"a": Times(), "b": Times(), "c": Times()}, []

    def ask(name):
        asked.append(name)
        return {"a": {"error": "no"}, "b": {"seconds": 1.0}, "c": None}[name]

    take_turns(times, ask, 2, warm_up=False)
    assert asked.count("a") == 1 and asked.count("c") == 2
    assert times["a"].error == "no" and math.isnan(times["a"].best) and math.isnan(times["c"].median)
    assert times["b"].seconds == [1.0, 1.0]


ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


def test_a_child_that_answers_is_too_slow_or_dies():
    child = Child([sys.executable, "-c", ECHO])
    assert child.ask({"a": [1, "b"]}) == {"a": [1, "b"]}
    child.close()
    assert child.child.returncode == 0
    slow = Child([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
    assert slow.ask(1) == {"error": "no answer within 0.2 s", "died": True}
    slow.close()
    dead = Child([sys.executable, "-c", "import sys; input(); sys.exit('out of luck')"])
    assert dead.ask(1) == {"error": "the process ended (1): out of luck", "died": True}
    # Again, although nobody listens any more.
    assert dead.ask(1)["died"]
    dead.close()
    dead.start()
    assert dead.child.poll() is None
    dead.close()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores are not for us to choose here")
def test_a_child_is_held_to_its_cores():
    before = os.sched_getaffinity(0)
    count = "import os, json; input(); print(len(os.sched_getaffinity(0)))"
    child = Child([sys.executable, "-c", count], threads=1)
    assert child.ask({}) == 1
    child.close()
    assert os.sched_getaffinity(0) == before and set(machine.cores()) == before


def test_memory_of_processes():
    here = machine.memory(os.getpid())
    # The system counts a little behind.
    assert here.peak > 0.9 * here.now > 0 and here.own > 0
    assert machine.memory(2**22 + 1) == machine.Memory()


def test_the_chart_of_a_contest_is_well_formed():
    lines = [("1 < 2", {"chalet": 0.5, "other": math.nan}), ("2", {"chalet": 0.002, "other": 1.5})]
    drawn = charts.dots("a < b & c", [("hot", lines), ("none", [])], ["chalet", "other"], {"other": "#000000"})
    # Two in the legend, three times.
    assert len(xml.dom.minidom.parseString(drawn).getElementsByTagName("circle")) == 5
    assert "1 &lt; 2, chalet: 500.0 ms" in drawn and 'fill="#000000"' in drawn
