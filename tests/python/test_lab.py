"""Experiments with programs that behave, crash, hang, print nothing and answer otherwise."""

import json
import os
import subprocess
import sys

import pytest

from chalet.lab import calibrate, mechanisms, scan
from chalet.lab.commands import main
from chalet.lab.experiment import Failed, conducted
from chalet.lab.measured import Run, run
from chalet.lab.spec import SpecError, Variant, parsed

SPEC = """
name = "fake"
metric = "seconds"
[common]
command = ["true"]
[[variant]]
name = "a"
environment = {{ N = "1" }}
[[variant]]
name = "b"
environment = {{ N = "2" }}
[runs]
noise = 2
{runs}
"""


def fake(seconds, digest=lambda variant, n: "same"):
    """A measurement that takes what it is told, by variant and number of the run."""
    counts = {}

    def measure(variant, timeout):
        n = counts[variant.name] = counts.get(variant.name, 0) + 1
        value = seconds(variant.name, n)
        if value is None:
            return Run(variant.name, error="it crashed")
        return Run(variant.name, {"seconds": value, "Counter": float(variant.name == "b")}, digest(variant.name, n))

    return measure


def quiet(_):
    pass


def test_runs_take_turns_until_the_interval_is_narrow(tmp_path):
    measure = fake(lambda name, n: (1.0 if name == "a" else 0.8) + n % 3 * 0.001)
    outcome = conducted(parsed(SPEC.format(runs="")), tmp_path / "out", measure, quiet)
    assert outcome.verdict("b").verdict == "KEEP"
    assert [len(outcome.values(name, "seconds")) for name in "ab"] == [10, 10]
    order = [one.variant for one in outcome.runs]
    assert all(set(order[at : at + 2]) == {"a", "b"} for at in range(0, 20, 2)) and order != ["a", "b"] * 10
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"spec.toml", "machine.json", "runs.jsonl", "results.tsv", "REPORT.md", "runs.svg"}
    logged = [json.loads(line) for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in logged] == ["noise"] * 4 + ["run"] * 20
    assert "KEEP" in (tmp_path / "out" / "REPORT.md").read_text()
    with pytest.raises(FileExistsError):
        conducted(parsed(SPEC.format(runs="")), tmp_path / "out", measure, quiet)


def test_noise_asks_for_more_runs_and_has_an_end():
    wide = fake(lambda name, n: 1.0 + n * 7919 % 13 / 10)
    outcome = conducted(parsed(SPEC.format(runs="most = 25")), None, wide, quiet)
    assert len(outcome.values("a", "seconds")) == 25
    assert outcome.verdict("b").verdict == "DISCARD"


def test_other_answers_make_an_experiment_void():
    measure = fake(lambda name, n: 1.0 if name == "a" else 0.5, lambda name, n: name)
    assert conducted(parsed(SPEC.format(runs="")), None, measure, quiet).verdict("b").verdict == "VOID"


def test_a_counter_that_does_not_move_is_no_mechanism():
    measure = fake(lambda name, n: 1.0 if name == "a" else 0.5)
    text = SPEC.format(runs="")
    assert conducted(parsed('counter = "Counter"\n' + text), None, measure, quiet).verdict("b").verdict == "KEEP"
    outcome = conducted(parsed('counter = "Other"\n' + text), None, measure, quiet)
    assert (outcome.verdict("b").verdict, "counter" in outcome.verdict("b").why) == ("DISCARD", True)


def test_a_run_that_crashes_is_done_again_once(tmp_path):
    once = fake(lambda name, n: None if (name, n) == ("b", 3) else 1.0)
    outcome = conducted(parsed(SPEC.format(runs="")), tmp_path / "once", once, quiet)
    assert len(outcome.values("b", "seconds")) == 10
    assert "it crashed" in (tmp_path / "once" / "runs.jsonl").read_text()
    always = fake(lambda name, n: None if name == "b" else 1.0)
    with pytest.raises(Failed, match="variant b fails: it crashed"):
        conducted(parsed(SPEC.format(runs="")), None, always, quiet)


def program(text):
    return Variant("p", {"command": [sys.executable, "-c", text]})


def test_programs_are_measured():
    one = run(program("print('x' * 10)"), 60)
    assert not one.error and one.metrics["seconds"] > 0 and one.metrics["peak_rss_mb"] > 1
    assert one.digest == run(program("print('x' * 10)"), 60).digest != run(program("print('y')"), 60).digest
    told = run(program("import json; print('answer'); print(json.dumps({'metrics': {'rows': 7}}))"), 60)
    assert told.metrics["rows"] == 7
    assert told.digest == run(program("import json; print('answer'); print(json.dumps({'metrics': {'rows': 8}}))"), 60).digest


def test_programs_that_crash_hang_and_are_not_there():
    assert run(program("import sys; sys.exit('no luck')"), 60).error == "exit status 1: no luck"
    assert "no end within 0.3 s" in run(program("import time; time.sleep(60)"), 0.3).error
    assert "cannot start" in run(Variant("p", {"command": ["/no/such/program"]}), 1).error
    assert run(program("import os; os.kill(os.getpid(), 9)"), 60).error.startswith("exit status -9")
    # To print nothing is an answer too.
    assert not run(program("pass"), 60).error


def test_statements_are_measured_in_processes_of_their_own():
    does = {
        "setup": ["CREATE TABLE t (n UInt64) ENGINE = Memory", "INSERT INTO t SELECT number FROM numbers(1000)"],
        "settings": {"max_threads": 1, "session_timezone": "UTC"},
        "sql": "SELECT sum(n) FROM t",
    }
    one = run(Variant("v", does), 60)
    assert not one.error, one.error
    assert {"seconds", "cpu_seconds", "peak_rss_mb"} <= one.metrics.keys() and one.metrics["SelectQuery"] >= 1
    assert one.digest == run(Variant("v", does), 60).digest
    wrong = run(Variant("v", {"sql": "SELECT nothing"}), 60)
    assert "UNKNOWN_IDENTIFIER" in wrong.error


@pytest.mark.parametrize(
    "text, said",
    [
        ("name = ", "not TOML"),
        ("nome = 1", "unknown key nome"),
        ('[[variant]]\nname = "a"\nsql = "SELECT 1"', "two variants"),
        ('[[variant]]\nname = "a"\nsql = "x"\n[[variant]]\nname = "a"\nsql = "y"', "name of its own"),
        ('[[variant]]\nname = "a"\n[[variant]]\nname = "b"\nsql = "y"', "either sql or a command"),
        ('[common]\nsql = "x"\n[[variant]]\nname = "a"\n[[variant]]\nname = "b"', "do not differ"),
        ('[[variant]]\nname = "a"\nsql = "x"\nwarmup = 1\n[[variant]]\nname = "b"\nsql = "y"\nwarmup = 2', "one thing"),
        ('[[variant]]\nname = "a"\nsql = "x"\n[[variant]]\nname = "b"\nsql = "y"\n[rules]\nx = 1', "unknown rule x"),
    ],
)
def test_what_is_no_experiment(text, said):
    with pytest.raises(SpecError, match=said):
        parsed(text)


def test_the_command_line(tmp_path, capsys):
    spec = tmp_path / "sums.toml"
    spec.write_text(
        'name = "sums"\n[common]\nsql = "SELECT sum(number) FROM numbers(10)"\n'
        '[[variant]]\nname = "one"\nsettings = { max_threads = 1 }\n[[variant]]\nname = "two"\nsettings = { max_threads = 2 }\n'
        "[runs]\nleast = 2\nmost = 2\nnoise = 0\n"
    )
    assert main(["experiment", str(spec)]) == 0
    assert main(["rerun", str(tmp_path / "sums-1")]) == 0
    (tmp_path / "sums-1" / "RETRACTED").write_text("the machine was not quiet\n")
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "| sums-1 | two |" in said and "retracted: the machine was not quiet" in said and "| sums-1-1 | two |" in said
    assert main(["experiment", str(tmp_path / "none.toml")]) == 2
    spec.write_text("x = 1")
    assert main(["experiment", str(spec)]) == 2


def test_calibration_runs():
    assert len(calibrate.calibrated(2, 10, 0.03)) == 2
    assert "of 2" in calibrate.summary(calibrate.calibrated(2, 10, 0.0))


def test_candidates_have_their_evidence(tmp_path):
    workload = (
        "CREATE TABLE t (k UInt64, s String, v Float64) ENGINE = MergeTree ORDER BY k;\n"
        "INSERT INTO t SELECT number, toString(number % 100), number FROM numbers(500000); -- a comment; with one\n"
        "SELECT s, count(), avg(v) FROM t GROUP BY s; SELECT count() FROM t WHERE v % 7 = 3 AND s != ';'"
    )
    assert len(list(scan.statements(workload))) == 4
    found = scan.candidates(workload)
    assert any("Aggregate" in one.what and one.share and one.share > 0.05 for one in found)
    assert any(one.what.startswith("statement 4 prunes nothing by ") for one in found)
    assert any(one.what == "default.t.s" and "100 different values" in one.evidence for one in found)


def test_a_mechanism_that_runs_has_a_counter(tmp_path, monkeypatch):
    monkeypatch.setattr(mechanisms, "MADE", tuple(sql.replace(str(mechanisms.ROWS), "200000") for sql in mechanisms.MADE))
    table = mechanisms.measured(tmp_path / "m", ["condition-cache"], 2)
    [row] = [line for line in table.splitlines() if line.startswith("| condition-cache")]
    assert "`QueryConditionCacheHits` " in row and "did not move" not in row
    with pytest.raises(ValueError, match="no mechanism x"):
        mechanisms.measured(tmp_path / "n", ["x"])


def test_a_switch_that_is_none_is_an_error():
    code = "import chalet\ntry:\n    chalet.connect()\nexcept chalet.Error as error:\n    print(error.code, error)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "CHALET_SWITCHES": "-free-lists,+warp"}
    )
    assert done.stdout.startswith("36 ") and "'+warp'" in done.stdout and "two-byte-search" in done.stdout
