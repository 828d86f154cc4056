"""Finding programs that are already there.

Search order: `--bin-dir`, `KUBEDYNO_BIN_DIR`, `KUBEBUILDER_ASSETS`, `PATH`, kubedyno's cache.

- Folders given explicitly (`--bin-dir`, `KUBEDYNO_BIN_DIR`) win whatever the version of what they hold; a broken
  program there is an error, because somebody meant it to be used.
- `KUBEBUILDER_ASSETS` and `PATH` belong to other tools as well: a program there is taken only if it is a release
  (`v1.36.2`, not `v1.36.2-rc.1` and not `v1.32.4-dispatcher`) of the pinned minor version, and only if a build
  from elsewhere serves us as well as our own (`Program.stock`). Others are skipped with a note.
- The cache holds exactly the pinned version, or a broken file that is skipped with a note and made again.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from kubedyno.kit.errors import ProgramError, UsageError
from kubedyno.plane.layout import program_dirs
from kubedyno.plane.probing import Broken, Versions
from kubedyno.plane.programs import Program, minor

Source = Literal["--bin-dir", "KUBEDYNO_BIN_DIR", "KUBEBUILDER_ASSETS", "PATH", "cache", "download", "build", "own"]

_RELEASE = re.compile(r"v\d+\.\d+\.\d+(\+\S*)?")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A program that can be started: where it is, which version it says it is, and whence it came.

    `took_s` is what downloading or building it took; 0 if it was there.
    """

    name: str
    path: Path
    version: str
    source: Source
    took_s: float = 0.0


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """A program that would have to be downloaded or built, and what was passed over on the way."""

    name: str
    version: str
    skipped: tuple[str, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """One folder of the search."""

    source: Source
    folder: Path

    @property
    def explicit(self) -> bool:
        """Whether somebody named this folder for kubedyno."""
        return self.source in {"--bin-dir", "KUBEDYNO_BIN_DIR"}


def explicit_dirs(*, bin_dir: Path | None, env: Mapping[str, str]) -> list[Place]:
    """The folders named for kubedyno, in order; one that is no folder is a usage error."""
    places: list[Place] = []
    if bin_dir is not None:
        places.append(Place("--bin-dir", bin_dir.absolute()))
    if env.get("KUBEDYNO_BIN_DIR"):
        places.append(Place("KUBEDYNO_BIN_DIR", Path(env["KUBEDYNO_BIN_DIR"]).absolute()))
    for place in places:
        if not place.folder.is_dir():
            raise UsageError(
                f"{place.source} {place.folder} is no folder: name one that holds programs, or leave it out"
            )
    return places


async def find(
    program: Program,
    *,
    bin_dir: Path | None,
    cache: Path,
    env: Mapping[str, str],
    versions: Versions,
    note: Callable[[str], None],
) -> Found | None:
    """The first usable file of that name in search order; every one passed over is told to `note`."""
    for place in _places(program, bin_dir=bin_dir, cache=cache, env=env):
        path = place.folder / program.name
        if not path.exists():
            continue
        try:
            version = await versions.of(program, path)
        except Broken as broken:
            if place.explicit:
                raise ProgramError(
                    f"{place.source}: {path} cannot be used: {broken}; replace it, or remove it from that folder"
                    f" to let kubedyno provide {program.name} {program.version}"
                ) from broken
            note(f"{path} ({place.source}) is not used: {broken}")
            continue
        refusal = None if place.explicit or place.source == "cache" else _refusal(program, version)
        if refusal is not None:
            note(f"{path} ({place.source}) is not used: {refusal}")
            continue
        return Found(name=program.name, path=path, version=version, source=place.source)
    return None


def _places(program: Program, *, bin_dir: Path | None, cache: Path, env: Mapping[str, str]) -> Iterator[Place]:
    yield from explicit_dirs(bin_dir=bin_dir, env=env)
    if program.stock:
        if env.get("KUBEBUILDER_ASSETS"):
            yield Place("KUBEBUILDER_ASSETS", Path(env["KUBEBUILDER_ASSETS"]).absolute())
        # An empty entry of PATH means the current folder to a shell; to us it means nothing. Resolved, because
        # /bin is often /usr/bin once more.
        entries = [Path(entry) for entry in env.get("PATH", "").split(os.pathsep) if entry]
        for entry in dict.fromkeys(entry.resolve() for entry in entries):
            yield Place("PATH", entry)
    for folder in program_dirs(program, cache):
        yield Place("cache", folder)


def _refusal(program: Program, version: str) -> str | None:
    """Why a version from a shared folder does not do; None if it does."""
    wanted = ".".join(minor(program.version))
    if minor(version) != minor(program.version):
        return f"it is {version}, and v{wanted} is needed"
    if not _RELEASE.fullmatch(version):
        return f"it is {version}, which is no release of v{wanted}"
    return None
