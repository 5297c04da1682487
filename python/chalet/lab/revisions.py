"""Builds of revisions of a repository, kept by their commit: what `revision` of a variant and `lab watch` import.

A revision is checked out into a work tree of its own and built as its own rules say (`make wheel`), with the compiler and the
flags of the environment, which are recorded: two builds are compared only if these are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

# What changes the code that a compiler makes of the same source.
FLAGS = ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CFLAGS", "CARGO_PROFILE_RELEASE_LTO")


class CannotBuild(ValueError):
    """A revision that is not there or is not built."""


def cache() -> Path:
    """The folder of all builds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chalet" / "revisions"


def packages(build: str, repository: Path, unpacked: Path) -> Path:
    """The folder to import chalet from: of a wheel (unpacked below `unpacked`), a folder, or a revision of the repository, which is
    built unless it was before. Raises CannotBuild."""
    path = Path(build)
    if path.suffix == ".whl" and path.is_file():
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(unpacked)
        return unpacked
    if path.is_dir():
        if not (path / "chalet" / "__init__.py").is_file():
            raise CannotBuild(f"{build} is a folder without chalet/ in it")
        return path.resolve()
    return built(build, repository)


def built(revision: str, repository: Path) -> Path:
    """The folder to import a revision from. Building one takes minutes; it is done once."""
    commit = _said(["git", "-C", str(repository), "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"])
    flags = known_flags()
    digest = hashlib.sha256(json.dumps(flags, sort_keys=True).encode()).hexdigest()[:8]
    place = cache() / f"{commit}-{digest}"
    if (place / "build.json").exists():
        return place
    with tempfile.TemporaryDirectory(prefix="chalet-revision-") as temporary:
        tree = Path(temporary, "tree")
        _said(["git", "-C", str(repository), "worktree", "add", "--detach", str(tree), commit])
        try:
            _said(["make", "wheel"], tree)
            wheels = sorted((tree / "dist").glob("*.whl"))
            if len(wheels) != 1:
                raise CannotBuild(f"`make wheel` of {commit} has made {len(wheels)} wheels")
            shutil.rmtree(place, ignore_errors=True)
            with zipfile.ZipFile(wheels[0]) as wheel:
                wheel.extractall(place)
            (place / "build.json").write_text(json.dumps({"commit": commit, **flags, "profile": _profile(tree)}, indent=1) + "\n")
        finally:
            _said(["git", "-C", str(repository), "worktree", "remove", "--force", str(tree)])
    return place


def known_flags() -> dict[str, str]:
    """Compiler and flags, as a build now would use them."""
    found = {name: os.environ[name] for name in FLAGS if name in os.environ}
    found["compiler"] = _said(["rustc", "--version"])
    return found


def warnings(folders: list[Path]) -> list[str]:
    """What differs between builds beside their source."""
    told = []
    for folder in folders:
        path = folder / "build.json"
        told.append({k: v for k, v in json.loads(path.read_text()).items() if k != "commit"} if path.exists() else {})
    names = sorted({name for one in told for name in one})
    return [f"the builds differ in {name}, too" for name in names if len({one.get(name) for one in told}) > 1]


def _profile(tree: Path) -> str:
    """The lines of a Cargo.toml that say how to build."""
    lines: list[str] = []
    inside = False
    for line in (tree / "Cargo.toml").read_text().splitlines():
        if line.startswith("["):
            inside = line.startswith("[profile.")
        if inside and line.strip() and not line.lstrip().startswith("#"):
            lines.append(line.split(" #")[0].strip())
    return "\n".join(lines)


def _said(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise CannotBuild(f"cannot start {command[0]}: {error}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["nothing was said"])[-1]
        raise CannotBuild(f"{' '.join(command[:3])} fails: {last}")
    return done.stdout.strip()
