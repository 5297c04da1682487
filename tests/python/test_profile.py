"""Profiles, flame graphs and pipelines of queries."""

import json
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree

import patience
import pytest

import chalet
from chalet.lab import profile as lab_profile
from chalet.lab.commands import main as lab

REGEXP = "SELECT replaceRegexpAll(toString(number), '[0-4]+', 'x') AS s, count() FROM numbers(200000) GROUP BY s"
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """What is written in a picture, and the titles of its boxes."""
    root = ElementTree.fromstring(svg)
    return [element.text or "" for element in root.iter() if element.tag in (f"{SVG}text", f"{SVG}title")]


def boxes(svg):
    """Boxes with a title: where they are."""
    found = {}
    for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            found[title.text] = tuple(float(rect.get(name)) for name in ("x", "y", "width"))
    return found


def test_operators_and_functions():

    def sampled():
        with chalet.connect() as db:
            profile = db.profile(REGEXP)
        # On a busy machine nobody may have looked while it ran, and it may have waited elsewhere.
        return profile if profile.samples > 0 and sum(one["share"] for one in profile.operators) > 0.8 else None

    profile = patience.until(sampled)
    operators = {one["name"]: one for one in profile.operators}
    assert operators["Read numbers"]["rows_out"] == 200_000
    assert operators["Aggregate"]["rows_in"] == 200_000
    assert sum(one["share"] for one in profile.operators) <= 1.0
    assert "replaceRegexpAll" in {one["name"] for one in operators["Aggregate"]["functions"]}
    by_name = {one["name"]: one for one in profile.functions}
    assert by_name["replaceRegexpAll"]["calls"] > 0 and by_name["replaceRegexpAll"]["seconds"] > 0
    assert profile.seconds > 0 and profile.peak_memory > 0
    assert "replaceRegexpAll" in str(profile) and "samples" in repr(profile)


def test_the_function_stands_on_its_operator():
    with chalet.connect() as db:
        flames = db.profile(REGEXP).flame_graph()
    found = boxes(flames)
    (function,) = [place for title, place in found.items() if title.startswith("replaceRegexpAll: ")]
    (operator,) = [place for title, place in found.items() if title.startswith("Aggregate: ")]
    assert operator[0] - 0.2 <= function[0] and function[0] + function[2] <= operator[0] + operator[2] + 1
    assert function[1] < operator[1]
    (root,) = [place for title, place in found.items() if title.startswith("all: ")]
    assert all(place[2] <= root[2] + 1 for place in found.values())


def test_memory():
    with chalet.connect() as db:
        profile = db.profile("SELECT groupArray(number) FROM numbers(1000000)")
        assert any("Aggregate" in text for text in texts(profile.allocation_graph()))
        largest = profile.memory[0]
        assert largest["name"] == "Aggregate" and largest["share"] > 0.3
        if sys.platform == "linux":
            assert largest["allocated_bytes"] >= 8_000_000
        with pytest.raises(ValueError, match="one of time, cpu, memory"):
            profile.flame_graph("colour")


def test_files(tmp_path):
    with chalet.connect() as db:
        profile = db.profile(REGEXP)
    profile.save(tmp_path / "flames.svg")
    profile.save(tmp_path / "all.html")
    profile.save(tmp_path / "profile.json")
    profile.pipeline.save(tmp_path / "pipeline.svg")
    assert texts((tmp_path / "flames.svg").read_text())
    assert texts((tmp_path / "pipeline.svg").read_text())
    assert (tmp_path / "all.html").read_text().count("<svg") == 3
    assert json.loads((tmp_path / "profile.json").read_text()) == profile.document


def test_pipeline():
    query = """SELECT k.name, count() FROM numbers(100000) AS n JOIN (SELECT number AS id, toString(number) AS name FROM numbers(50)) AS k
               ON n.number % 100 = k.id GROUP BY k.name ORDER BY k.name"""
    with chalet.connect() as db:
        pipeline = db.pipeline(query)
        plan = db.pipeline(query, run=False)
    names = [one["name"] for one in pipeline.operators]
    assert {"JoinBuild", "Join", "Aggregate", "Sort", "Collect"} <= set(names)
    by_name = {one["name"]: one for one in pipeline.operators}
    assert by_name["JoinBuild"]["rows_in"] == 50
    assert by_name["Aggregate"]["rows_out"] == by_name["Sort"]["rows_out"] == 50
    assert by_name["Aggregate"]["estimated_rows"] > 0
    assert pipeline.lanes and all(span["end_ns"] >= span["start_ns"] for lane in pipeline.lanes for span in lane["spans"])
    assert all(pipeline.skew(stage["id"]) is None or pipeline.skew(stage["id"]) >= 1 for stage in pipeline.stages)
    shown = " ".join(texts(pipeline._repr_svg_()))
    assert all(word in shown for word in ("JoinBuild", "rows out", "estimated", "threads over time", "after stage"))
    assert [one["name"] for one in plan.operators] == names and not plan.is_measured
    assert "seconds" not in plan.operators[0] and "JoinBuild" in " ".join(texts(plan.svg()))


def test_a_serial_phase_is_one_lane():
    """What one worker does while others have nothing to do."""
    query = "SELECT count() FROM numbers_mt(2000000) WHERE NOT ignore(cityHash64(number))"
    with chalet.connect(":memory:?max_threads=2") as db:
        pipeline = db.pipeline(query)
    last = [span for lane in pipeline.lanes for span in lane["spans"] if span["stage"] == 0 and span["phase"] == "work"]
    assert len(last) == 1


def test_rows_that_go_to_disk_are_shown():
    settings = {"max_bytes_before_external_sort": 1 << 20, "max_threads": 1}
    with chalet.connect() as db:
        pipeline = db.pipeline("SELECT number, toString(number) FROM numbers(300000) ORDER BY cityHash64(number)", settings=settings)
    assert sum(one["spilled_bytes"] for one in pipeline.operators) > 0


def test_objects_of_the_caller_and_parameters():
    people = [{"name": "Ada", "born": 1815}, {"name": "Alan", "born": 1912}]  # noqa: F841 - found by its name
    with chalet.connect() as db:
        profile = db.profile("SELECT name FROM people WHERE born < {year:UInt16}", {"year": 1900})
        assert profile.operators and "people" in profile.query
        assert [one["rows_in"] for one in profile.operators if one["name"] == "Collect"] == [1]
        given = db.pipeline("SELECT * FROM given", tables={"given": people})
        assert given.operators[0]["rows_out"] == 2


def test_what_cannot_be_profiled():
    with chalet.connect() as db:
        with pytest.raises(chalet.ProgrammingError, match="at a time"):
            db.profile("SELECT 1; SELECT 2")
        with pytest.raises(chalet.Error, match="not supported"):
            db.profile("CREATE TABLE t (x UInt8) ENGINE = Memory")
        with pytest.raises(chalet.Error, match="nothing"):
            db.pipeline("SELECT nothing")
        assert db.query("SELECT 1").data() == "1\n"


def test_no_thread_stays_behind():
    if sys.platform != "linux":
        pytest.skip("threads are counted in /proc")
    with chalet.connect() as db:
        db.profile(REGEXP)
        # One that has been waited for may be in the list for a moment.
        patience.until(lambda: patience.threads("chalet-sampler") == 0)
        with pytest.raises(chalet.Error):
            db.profile("SELECT throwIf(number = 1000) FROM numbers(100000)")
        patience.until(lambda: patience.threads("chalet-sampler") == 0)


def test_queries_that_run_side_by_side_are_told_apart():
    """Workers are those of the process; what each does is charged to the query that it works for."""
    profiles = {}

    def run(name, function):
        with chalet.connect(":memory:?max_threads=2") as db:
            profiles[name] = db.profile(f"SELECT sum(length({function}(toString(number)))) FROM numbers_mt(200000)")

    threads = [threading.Thread(target=run, args=(name, name)) for name in ("reverse", "upper")]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for name, other in (("reverse", "upper"), ("upper", "reverse")):
        functions = {one["name"] for one in profiles[name].functions}
        assert name in functions and other not in functions


def test_logs_of_the_process():
    with chalet.connect() as one, chalet.connect() as other:
        one.query("SELECT 1", settings={"log_comment": "seen from elsewhere"})
        logged = "SELECT count() FROM system.query_log WHERE log_comment = 'seen from elsewhere'"
        assert other.query(logged).data() == "2\n"
        text = "SELECT number FROM numbers(3)"
        with other.send_query(text, "CSV", settings={"log_comment": "streamed"}) as stream:
            assert sum(1 for _ in stream) > 0
        rows = "SELECT result_rows FROM system.query_log WHERE log_comment = 'streamed' AND type = 'QueryFinish'"
        # The end of a stream is logged by its thread.
        patience.until(lambda: other.query(rows).data() == "3\n")


def test_the_logs_are_of_a_bounded_size():
    with chalet.connect() as db:
        for _ in range(1200):
            db.query("SELECT 1")
        assert int(db.query("SELECT count() FROM system.query_log").data()) <= 2 * 1000


def test_running_queries_are_listed():
    with chalet.connect() as db, chalet.connect() as other:
        began = threading.Event()

        def run():
            began.set()
            with pytest.raises(chalet.Error, match="QUERY_WAS_CANCELLED"):
                db.query("SELECT sum(sleepEachRow(0.05)) FROM numbers(20000) SETTINGS max_block_size = 1, log_comment = 'slow one'")

        thread = threading.Thread(target=run)
        thread.start()
        began.wait()
        listed = "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'slow one' AND elapsed >= 0"
        patience.until(lambda: other.query(listed).data() == "1\n")
        db.interrupt()
        thread.join()
        assert other.query("SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'slow one'").data() == "0\n"


def test_show_processlist():
    with chalet.connect() as db:
        assert "SHOW PROCESSLIST" in db.query("SHOW PROCESSLIST", "TSV").data()
        assert '"query_kind":"Show"' in db.query("SHOW PROCESSLIST FORMAT JSONEachRow").data()


def test_what_a_log_holds_keeps_no_database_open(tmp_path):
    with chalet.connect(tmp_path / "db") as db:
        db.query("SELECT 1", settings={"log_processors_profiles": 1, "query_profiler_real_time_period_ns": 1_000_000})
    with chalet.connect(tmp_path / "db") as db:
        assert db.query("SELECT 2").data() == "2\n"


def test_the_shell_writes_pictures(tmp_path):
    command = [sys.executable, "-m", "chalet", "-q", REGEXP]
    pipeline, flames = tmp_path / "pipeline.svg", tmp_path / "flames.svg"
    done = subprocess.run([*command, "--pipeline", pipeline, "--profile", flames], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "Aggregate" in texts(pipeline.read_text())
    assert any(text.startswith("replaceRegexpAll") for text in texts(flames.read_text()))


WORKLOAD = f"""
CREATE TABLE t (n UInt64) ENGINE = Memory;
INSERT INTO t SELECT number FROM numbers(1000);
{REGEXP};
"""


def test_the_lab_eliminates_what_takes_little(tmp_path, capsys):

    def as_expected():
        kept, eliminated = lab_profile.profiled(WORKLOAD)
        assert all(part.share >= 0.05 for part in kept) and all(part.share < 0.05 for part in eliminated)
        return any("function replaceRegexpAll" in part.what for part in kept) and any("Collect" in part.what for part in eliminated)

    # On a busy machine what takes little may have waited for a processor.
    patience.until(as_expected)
    file = tmp_path / "workload.sql"
    file.write_text(WORKLOAD)
    assert lab(["profile", str(file)]) == 0
    out = capsys.readouterr().out
    assert "function replaceRegexpAll" in out and "eliminated, below 5% of the time and of the memory:" in out
