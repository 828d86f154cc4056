"""Providing programs: found where they are, else downloaded, else built, one after another.

When everything is there, `provide` looks at files only. When something is missing, one process at a time works on
the cache; others wait and say for whom. Whatever is finished stays, so a run that fails or is killed is continued
by the next one.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kubedyno.kit.clock import NS_PER_S, Clock, RealClock
from kubedyno.kit.durable import exclusive_lock
from kubedyno.kit.errors import ProgramError
from kubedyno.kit.progress import Progress, told
from kubedyno.kit.units import format_duration
from kubedyno.plane.building import build, make_assets
from kubedyno.plane.downloading import Downloads, Unavailable
from kubedyno.plane.finding import Found, Missing, Source, explicit_dirs, find
from kubedyno.plane.layout import assets_dir, lock_file, work_dir
from kubedyno.plane.probing import Broken, Versions
from kubedyno.plane.programs import GROUPS, PROGRAMS, Program, resolve
from kubedyno.plane.toolchain import Toolchain, provide_toolchain

_LOCK_POLL_S = 0.2
_MEASURED_CORES = 2
_USEFUL_CORES = 8


async def provide(
    names: Iterable[str],
    *,
    bin_dir: Path | None,
    cache: Path,
    env: Mapping[str, str],
    progress: Progress,
) -> dict[str, Found]:
    """All programs meant by `names` (programs or groups), by program name, ready to be started."""
    looked = await inspect(names, bin_dir=bin_dir, cache=cache, env=env)
    found = {item.name: item for item in looked if isinstance(item, Found)}
    missing = [item for item in looked if isinstance(item, Missing)]
    if not missing:
        return found
    for item in missing:
        for reason in item.skipped:
            progress.note(reason)
    async with _held(cache, progress):
        # Whoever held the lock before us may have made what we miss.
        again = await inspect([item.name for item in missing], bin_dir=bin_dir, cache=cache, env=env)
        found |= {item.name: item for item in again if isinstance(item, Found)}
        wanted = [PROGRAMS[item.name] for item in again if isinstance(item, Missing)]
        workshop = _Workshop(cache=cache, env=env, progress=progress)
        for position, program in enumerate(wanted):
            found[program.name] = await workshop.make(program, following=wanted[position + 1 :])
    return {item.name: found[item.name] for item in looked}


async def inspect(
    names: Iterable[str], *, bin_dir: Path | None, cache: Path, env: Mapping[str, str]
) -> list[Found | Missing]:
    """Look for the programs meant by `names`, in catalogue order; nothing is fetched or built."""
    versions = Versions(cache)
    looked: list[Found | Missing] = []
    for program in resolve(names):
        skipped: list[str] = []
        found = await find(program, bin_dir=bin_dir, cache=cache, env=env, versions=versions, note=skipped.append)
        looked.append(found or Missing(name=program.name, version=program.version, skipped=tuple(skipped)))
    versions.save()
    return looked


async def assets(group: str, *, bin_dir: Path | None, cache: Path, env: Mapping[str, str], progress: Progress) -> Path:
    """The folder with the CRD files (`*.yaml`) of a group.

    `<folder>/crds/<group>/` of an explicitly given program folder, else the cache, else fetched from the pinned
    module without building anything.
    """
    wanted = GROUPS[group]
    for place in explicit_dirs(bin_dir=bin_dir, env=env):
        beside = place.folder / "crds" / group
        if any(beside.glob("*.yaml")):
            return beside
    cached = assets_dir(wanted, cache)
    if cached.is_dir():
        return cached
    async with _held(cache, progress):
        toolchain = await provide_toolchain(cache=cache, env=env, progress=progress)
        with told(progress, RealClock(), f"fetching the CRDs of {group} {wanted.version}"):
            return await make_assets(wanted, toolchain=toolchain, cache=cache)


def disk_usage(cache: Path) -> int:
    """Bytes that the files in the cache take."""
    return sum((Path(folder) / file).lstat().st_size for folder, _, files in os.walk(cache) for file in files)


class _Workshop:
    """Makes missing programs; remembers the toolchain, and whether downloading makes sense."""

    def __init__(self, *, cache: Path, env: Mapping[str, str], progress: Progress) -> None:
        self._cache = cache
        self._env = env
        self._progress = progress
        self._clock: Clock = RealClock()
        self._downloads = Downloads(cache=cache, env=env)
        self._toolchain: Toolchain | None = None

    async def make(self, program: Program, *, following: Sequence[Program]) -> Found:
        """Download or build one program; `following` is what the progress names as next."""
        started_ns = self._clock.monotonic_ns()
        source: Source = "download"
        path = await self._downloaded(program)
        if path is None:
            source = "build"
            path = await self._built(program, following=following)
        versions = Versions(self._cache)
        try:
            version = await versions.of(program, path)
        except Broken as broken:
            raise ProgramError(f"{path} was made, but cannot be used: {broken}; please report this") from broken
        versions.save()
        took_s = (self._clock.monotonic_ns() - started_ns) / NS_PER_S
        return Found(name=program.name, path=path, version=version, source=source, took_s=took_s)

    async def _downloaded(self, program: Program) -> Path | None:
        """The official release, if it can be had; else None, with a note that says why."""
        if not self._downloads.offers(program):
            return None
        with told(self._progress, self._clock, f"downloading {program.name} {program.version}") as outcome:
            try:
                return await self._downloads.fetch(program)
            except Unavailable as reason:
                if self._downloads.over is not None:
                    self._progress.note(f"no more downloads in this run: {reason}")
                else:
                    self._progress.note(str(reason))
                outcome.append("not available, it will be built")
                return None

    async def _built(self, program: Program, *, following: Sequence[Program]) -> Path:
        if self._toolchain is None:
            self._toolchain = await provide_toolchain(cache=self._cache, env=self._env, progress=self._progress)
        with told(
            self._progress,
            self._clock,
            f"building {program.name} {program.version}, about {format_duration(_expected_s(program))}",
        ):
            if following:
                left_s = sum(_expected_s(other) for other in following)
                self._progress.note(
                    f"next: {following[0].name}; after this one {len(following)} to go, about {format_duration(left_s)}"
                )
            group = GROUPS[program.group]
            if group.assets:
                await make_assets(group, toolchain=self._toolchain, cache=self._cache)
            return await build(program, toolchain=self._toolchain, cache=self._cache)


def _expected_s(program: Program) -> float:
    """How long a build probably takes here: compiling spreads over cores, up to a point."""
    cores = min(os.cpu_count() or _MEASURED_CORES, _USEFUL_CORES)
    return program.build_s * _MEASURED_CORES / cores


@contextlib.asynccontextmanager
async def _held(cache: Path, progress: Progress) -> AsyncIterator[None]:
    """The cache belongs to us alone, and its work folder is empty."""
    lock = lock_file(cache)
    waiting = False
    with _file_errors(cache):
        while True:
            with exclusive_lock(lock, wait=False) as ours:
                if ours:
                    if waiting:
                        progress.end()
                    _start_work(cache)
                    yield
                    return
            if not waiting:
                waiting = True
                progress.begin(f"waiting for another kubedyno that sets up programs ({_holder(lock)})")
            # Polled, because a blocking lock would stop the event loop, and with it ctrl-C.
            await asyncio.sleep(_LOCK_POLL_S)


@contextlib.contextmanager
def _file_errors(cache: Path) -> Iterator[None]:
    """A full disk or a folder that is not ours is the user's to mend, not a crash."""
    try:
        yield
    except OSError as error:
        raise ProgramError(
            f"the cache folder {cache} cannot be used: {error}; free some space or make it writable, or name another"
            " place with XDG_CACHE_HOME"
        ) from error


def _start_work(cache: Path) -> None:
    # In place: the lock hangs on the file itself, so it must not be replaced by another one.
    lock_file(cache).write_text(f"{os.getpid()}\n")
    shutil.rmtree(work_dir(cache), ignore_errors=True)


def _holder(lock: Path) -> str:
    pid = lock.read_text().strip()
    return f"process {pid}" if pid else "just started"
