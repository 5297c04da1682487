"""The lab over several builds and numbers of threads: revisions, watch, scaling, profiles of variants."""

import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import chalet
from chalet.lab import charts, revisions, scaling, watch
from chalet.lab.commands import main
from chalet.lab.experiment import conducted
from chalet.lab.spec import parsed
from chalet.lab.statistics import geometric_mean, interval

MADE = Path(chalet.__file__).resolve().parents[1]

# A package that is the chalet of this process, with queries that take longer.
FAKE = """
import sys, time
sys.path = [path for path in sys.path if {here!r} not in path]
del sys.modules["chalet"]
sys.path.insert(0, {made!r})
import chalet
class Connection:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def query(self, *arguments):
        time.sleep({slow})
        return self.inner.query(*arguments)
connect = chalet.connect
chalet.connect = lambda *arguments: Connection(connect(*arguments))
"""


def git(folder, *arguments):
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = {**os.environ, **identity}
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment).stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two revisions whose `make wheel` packs what lies there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    (place / "Cargo.toml").write_text('[package]\nname = "x"\n[profile.release]\nlto = "thin" # why\n')
    (place / "Makefile").write_text(f"wheel:\n\tmkdir -p dist\n\tcd src && {sys.executable} -m zipfile -c ../dist/chalet-0-py3.whl chalet\n")
    for name, slow in (("one", 0.0), ("two", 0.02)):
        package = place / "src" / "chalet"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(FAKE.format(here=str(tmp_path), made=str(MADE), slow=slow) + f"word = {name!r}\n")
        git(place, "add", ".")
        git(place, "commit", "--quiet", "-m", name)
        git(place, "tag", name)
    return place


def test_a_revision_is_built_once(repository, tmp_path):
    folder = revisions.built("one", repository)
    assert "word = 'one'" in (folder / "chalet" / "__init__.py").read_text()
    known = json.loads((folder / "build.json").read_text())
    assert known["commit"] == git(repository, "rev-parse", "one") and known["profile"] == '[profile.release]\nlto = "thin"'
    assert known["compiler"].startswith("rustc ")
    before = (folder / "build.json").stat().st_mtime_ns
    assert revisions.built("one", repository) == folder and (folder / "build.json").stat().st_mtime_ns == before
    assert git(repository, "worktree", "list").count("\n") == 0
    other = revisions.built("HEAD", repository)
    assert revisions.warnings([folder, other]) == []
    (other / "build.json").write_text(json.dumps({**known, "compiler": "rustc 0"}))
    assert revisions.warnings([folder, other]) == ["the builds differ in compiler, too"]


def test_what_cannot_be_built_is_an_error(repository, tmp_path):
    for revision in ("none", "--help"):
        with pytest.raises(revisions.CannotBuild, match="rev-parse|fails"):
            revisions.built(revision, repository)
    (repository / "Makefile").write_text("wheel:\n\tfalse\n")
    git(repository, "commit", "--quiet", "-am", "broken")
    with pytest.raises(revisions.CannotBuild, match="make wheel fails"):
        revisions.built("main", repository)
    assert git(repository, "worktree", "list").count("\n") == 0
    (tmp_path / "empty").mkdir()
    with pytest.raises(revisions.CannotBuild, match="without chalet/"):
        revisions.packages(str(tmp_path / "empty"), repository, tmp_path / "unpacked")


def test_packages_of_a_wheel(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as wheel:
        wheel.writestr("chalet/__init__.py", "")
    folder = revisions.packages(str(tmp_path / "x.whl"), tmp_path, tmp_path / "unpacked")
    assert (folder / "chalet" / "__init__.py").is_file()


def test_watch_finds_what_got_slower(repository, tmp_path, capsys):
    workload = tmp_path / "workload.sql"
    workload.write_text("SELECT sum(number) FROM numbers(1000); SELECT number FROM numbers(3) ORDER BY number")
    shared = ["--workload", str(workload), "--repository", str(repository), "--runs", "10", "--processes", "2"]
    assert main(["watch", "one", "two", *shared, "--out", str(tmp_path / "watch.md")]) == 1
    said = capsys.readouterr().out
    assert said.count("| slower |") == 2 and "Geometric mean over 2 statements" in said
    assert (tmp_path / "watch.md").read_text() in said
    assert len(json.loads((tmp_path / "watch.json").read_text())[0]["by_process"]) == 2
    assert main(["watch", "two", "one", *shared]) == 0
    assert capsys.readouterr().out.count("| faster |") == 2
    assert main(["watch", "one", "none", *shared]) == 2


def test_watch_says_where_answers_differ(tmp_path, capsys):
    workload = tmp_path / "workload.sql"
    workload.write_text("SELECT generateUUIDv4(); SELECT no_such_function(1)")
    shared = ["--workload", str(workload), "--runs", "10", "--processes", "2"]
    assert main(["watch", str(MADE), str(MADE), *shared]) == 1
    said = capsys.readouterr().out
    assert "Statement 1: the answers differ" in said and "Statement 2: base: " in said and "no_such_function" in said


def test_a_process_that_ends_is_an_error():
    process = watch.Process(MADE, ":memory:", {})
    process.child.kill()
    process.child.wait()
    assert "ended" in process.ask("SELECT 1")["error"]
    process.close()


def test_revisions_as_variants(repository, tmp_path):
    spec = parsed(
        f'[common]\nrepository = "{repository}"\nsql = "SELECT 1"\n[[variant]]\nname = "a"\nrevision = "one"\n'
        '[[variant]]\nname = "b"\nrevision = "two"\n[runs]\nleast = 10\nmost = 10\nnoise = 0\n'
    )
    outcome = conducted(spec, tmp_path / "out", tell=lambda line: None)
    assert outcome.verdict("b").is_worse
    known = json.loads((tmp_path / "out" / "machine.json").read_text())
    assert len(known["builds"]) == 2 and known["builds"][0].startswith(str(tmp_path / "cache"))


def test_variants_are_profiled(tmp_path):
    spec = parsed(
        '[common]\nsql = "SELECT count() FROM numbers(1000000) WHERE match(toString(number), \'7.*7\')"\n'
        '[[variant]]\nname = "one"\nsettings = { max_threads = 1 }\n[[variant]]\nname = "two"\nsettings = { max_threads = 2 }\n'
        "[runs]\nleast = 2\nmost = 2\nnoise = 0\n"
    )
    outcome = conducted(spec, tmp_path / "out", tell=lambda line: None)
    report = (tmp_path / "out" / "REPORT.md").read_text()
    assert "function match" in report and "| operator or function | one, ms | MB allocated | two, ms |" in report
    assert "match" in (tmp_path / "out" / "profiles" / "1.svg").read_text()
    run = outcome.runs[0].metrics
    assert run["anonymous_mb"] > 1 and run["current_rss_mb"] > run["anonymous_mb"] and run["tracked_peak_mb"] > 0


def test_scaling_is_drawn(tmp_path, capsys):
    workload = tmp_path / "workload.sql"
    workload.write_text("CREATE TABLE t (x UInt64) ENGINE = Memory; SELECT sum(number) FROM numbers(100000); SELECT 1")
    assert main(["scaling", str(workload), "--threads", "1,2", "--runs", "2", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "| all of them |" in said and said in (tmp_path / "out" / "SCALING.md").read_text()
    assert "<polyline" in (tmp_path / "out" / "scaling.svg").read_text()
    assert main(["scaling", str(workload), "--threads", "2", "--out", str(tmp_path / "out")]) == 2


def test_the_serial_fraction_is_amdahls():
    times = {n: 0.2 + 0.8 / n for n in (1, 2, 4, 16)}
    assert scaling.serial_fraction(times) == pytest.approx(0.2)
    assert scaling.serial_fraction({1: 1.0, 2: 0.5}) == 0 and scaling.serial_fraction({1: 1.0, 2: 1.1}) == 1
    assert scaling.serial_fraction({1: 1.0}) == 1
    assert "ideal" not in charts.speed_ups({"x": {1: 1.0}})


def test_the_interval_of_a_mean():
    generator = random.Random(1)
    values = [generator.gauss(10, 1) for _ in range(100)]
    low, high = interval(lambda dice: sum(dice.choices(values, k=100)) / 100)
    assert low < sum(values) / 100 < high and (low, high) == interval(lambda dice: sum(dice.choices(values, k=100)) / 100)
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2) and geometric_mean([]) != geometric_mean([])
