"""The command line of the lab."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import calibrate, machine, mechanisms, profile, report, revisions, scaling, scan, watch
from .experiment import Failed, conducted, is_void
from .spec import SpecError, parsed
from .verdict import of_file
from .workload import is_query, statements


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns its exit status: 0, 1 where an experiment is void or fails, 2 where what was given is wrong."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (SpecError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chalet lab", description="Experiments: is something faster, and how sure is that?")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about)
        made.set_defaults(run=run)
        return made

    one = command("verdict", _verdict, "the verdict on measurements in a JSON file: metric, baseline, experiment")
    one.add_argument("file", type=Path)
    one = command("experiment", _experiment, "runs an experiment and writes a folder of it")
    one.add_argument("spec", type=Path)
    one.add_argument("--out", type=Path, help="the folder (default: the name of the specification, with the next free number)")
    one = command("rerun", _rerun, "runs the experiment of a folder again, into a folder beside it")
    one.add_argument("folder", type=Path)
    one.add_argument("--out", type=Path)
    one = command("report", _report, "the overview of all experiments below a folder")
    one.add_argument("folder", type=Path)
    one = command("calibrate", _calibrate, "how often the rules err on this machine")
    one.add_argument("--experiments", type=int, default=200)
    one.add_argument("--pairs", type=int, default=40)
    one.add_argument("--slowdown", type=float, default=0.0, help="how much longer the variant takes: 0.03 (default: 0)")
    one = command("scan", _scan, "runs a workload once and lists what is worth an experiment, with the evidence")
    one.add_argument("workload", type=Path)
    one.add_argument("--database", default=":memory:", help="where its tables are")
    one.add_argument("--least-share", type=float, default=0.05, help="what takes less of the time is eliminated (default 0.05)")
    one.add_argument("--candidates", type=Path, help="a file with more of them, a line each: what: evidence")
    one.add_argument("--no-settings", action="store_true", help="settings are not tried on the longest statements")
    one = command("scaling", _scaling, "times of a workload by number of threads, with the serial fraction and a chart")
    one.add_argument("workload", type=Path)
    one.add_argument("--database", default=":memory:", help="where its tables are")
    one.add_argument("--threads", default="", help="numbers with commas (default: 1, 2, 4, ... and all cores)")
    one.add_argument("--runs", type=int, default=10)
    one.add_argument("--out", type=Path, required=True, help="the folder of table, chart and times")
    one = command("watch", _watch, "runs a workload on two builds: a table of what got slower beyond the noise")
    one.add_argument("base", help="a wheel, a folder to import from, or a revision of the repository, which is built")
    one.add_argument("new")
    one.add_argument("--workload", type=Path, required=True, help="a file of queries")
    one.add_argument("--database", default=":memory:", help="where their tables are; it is opened for reading (default: none)")
    one.add_argument("--repository", type=Path, default=Path(), help="of the revisions (default: the folder that this runs in)")
    one.add_argument("--runs", type=int, default=20, help="pairs of runs of each statement (default 20)")
    one.add_argument("--processes", type=int, default=5, help="pairs of fresh processes that share the runs (default 5)")
    one.add_argument("--out", type=Path, help="a Markdown file for the table; all runs go beside it as JSON")
    one = command("profile", _profile, "runs a workload once and says where time and memory go, by operators and functions")
    one.add_argument("workload", type=Path)
    one.add_argument("--database", default=":memory:", help="where its tables are")
    one.add_argument("--least-share", type=float, default=0.05, help="what is below this share of both is eliminated (default 0.05)")
    one = command("mechanisms", _mechanisms, "switches each mechanism of the engine off, as an experiment")
    one.add_argument("--out", type=Path, required=True, help="the folder of the experiments")
    one.add_argument("--table", type=Path, help="a Markdown file for the table of effects")
    one.add_argument("--only", default="", help="names of mechanisms, with commas")
    one.add_argument("--most", type=int, default=20, help="runs of a variant, at most (default 20)")
    return parser


def _verdict(options: argparse.Namespace) -> int:
    print(of_file(options.file.read_text()))
    return 0


def _free(base: Path) -> Path:
    """A folder that is not there yet."""
    number = 1
    while (folder := base.with_name(f"{base.name}-{number}")).exists():
        number += 1
    return folder


def _experiment(options: argparse.Namespace) -> int:
    spec = parsed(options.spec.read_text())
    folder = options.out or _free(options.spec.with_suffix(""))
    outcome = conducted(spec, folder)
    print(f"written: {folder / 'REPORT.md'}")
    return 1 if is_void(outcome) else 0


def _rerun(options: argparse.Namespace) -> int:
    spec = parsed((options.folder / "spec.toml").read_text())
    folder = options.out or _free(options.folder.resolve())
    outcome = conducted(spec, folder)
    print(f"written: {folder / 'REPORT.md'}")
    return 1 if is_void(outcome) else 0


def _report(options: argparse.Namespace) -> int:
    print(report.overview(options.folder), end="")
    return 0


def _calibrate(options: argparse.Namespace) -> int:
    verdicts = calibrate.calibrated(options.experiments, options.pairs, options.slowdown)
    print(f"{options.slowdown:.1%} slower, {options.pairs} pairs: {calibrate.summary(verdicts)}")
    return 0


def _scan(options: argparse.Namespace) -> int:
    by_hand = options.candidates.read_text() if options.candidates else ""
    workload, settings = options.workload.read_text(), not options.no_settings
    for candidate in scan.candidates(workload, options.database, options.least_share, by_hand, settings):
        print(candidate)
    return 0


def _scaling(options: argparse.Namespace) -> int:
    threads = [int(n) for n in options.threads.split(",") if n] or scaling.default_threads()
    if 1 not in threads or min(threads) < 1:
        raise ValueError("times of more threads are set beside those of 1: --threads 1,2,4")
    times = scaling.measured(options.workload.read_text(), options.database, sorted(set(threads)), options.runs)
    print(scaling.written(times, options.out), end="")
    return 0


def _watch(options: argparse.Namespace) -> int:
    if options.runs < 10 or options.processes < 2:
        raise ValueError("fewer than 10 runs, or one pair of processes, tell nothing")
    queries = [watch.Compared(n, sql) for n, sql in enumerate(statements(options.workload.read_text()), 1) if is_query(sql)]
    with tempfile.TemporaryDirectory() as place:
        builds = [revisions.packages(b, options.repository, Path(place, n)) for b, n in ((options.base, "base"), (options.new, "new"))]
        for warning in machine.warnings() + revisions.warnings(builds):
            print(f"warning: {warning}")
        start = lambda: tuple(watch.Process(build, options.database, {}) for build in builds)  # noqa: E731
        watch.compared(queries, start, options.runs, options.processes, watch.same_digests)
    table = watch.table(queries)
    print(table, end="")
    if options.out:
        options.out.write_text(table)
        options.out.with_suffix(".json").write_text(json.dumps([vars(query) for query in queries], indent=1) + "\n")
    return 1 if any(query.problem or query.verdict() == watch.SLOWER for query in queries) else 0


def _profile(options: argparse.Namespace) -> int:
    kept, eliminated = profile.profiled(options.workload.read_text(), options.database, options.least_share)
    print(profile.report(kept, eliminated, options.least_share), end="")
    return 0


def _mechanisms(options: argparse.Namespace) -> int:
    wanted = [name for name in options.only.split(",") if name]
    table = mechanisms.measured(options.out, wanted, options.most)
    print(table, end="")
    if options.table:
        options.table.write_text(table)
    return 0
