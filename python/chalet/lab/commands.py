"""The command line of the lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from . import calibrate, mechanisms, profile, report, scan
from .experiment import Failed, conducted, is_void
from .spec import SpecError, parsed
from .verdict import of_file


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
    for candidate in scan.candidates(options.workload.read_text(), options.database, options.least_share):
        print(candidate)
    return 0


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
