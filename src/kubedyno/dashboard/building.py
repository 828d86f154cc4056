"""Writes the site: the page, its configuration, and a copy of the data where a browser cannot read the store itself."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.dashboard.config import CONFIG, DATA, Settings, SiteConfig, beside, is_web, live
from kubedyno.dashboard.files import site_files
from kubedyno.kit import tasks
from kubedyno.kit.durable import write_atomic
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.results.publishing import manifest, rows
from kubedyno.results.publishing.manifest import MANIFEST, REGRESSIONS, Entry
from kubedyno.results.publishing.rows import RunRow, Shard, shard_path
from kubedyno.results.publishing.store import Store

_AT_ONCE: Final = 8


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What building came to."""

    config: SiteConfig
    copied: int
    """Files of the store that lie in the site now; none where the page reads the store itself."""
    missing: tuple[str, ...] = ()
    """What the manifest names and the store does not have."""


def build_live(url: str, out: Path, settings: Settings) -> Built:
    """A site that reads the store at an http(s) address, each time that it is opened."""
    if not is_web(url):
        raise UsageError(f"{url!r} is no address that a browser reads: write http(s)://HOST/PATH")
    config = live(settings, url)
    _write(out, config)
    return Built(config=config, copied=0)


async def build_copy(store: Store, out: Path, settings: Settings) -> Built:
    """A site with a copy of a store: manifest, reports, and an index of all, also of what others wrote."""
    place = store.place
    stored = await place.read(MANIFEST)
    if stored is None:
        raise UsageError(f"{place.url} is no store of results: {MANIFEST} is not there; publish a run to it first")
    entries = manifest.decode(stored.data, place.url).runs
    config = beside(settings, complete=False)
    _write(out, config)
    data = out / DATA
    _clear(data)
    few = asyncio.Semaphore(_AT_ONCE)
    missing: list[str] = []
    copied = 0

    async def copy(name: str, *, optional: bool = False) -> None:
        nonlocal copied
        async with few:
            found = await place.read(name)
        if found is not None:
            _put(data / name, found.data)
            copied += 1
        elif not optional:
            missing.append(name)

    async with tasks.owning() as group:
        for entry in entries:
            if entry.is_inside:
                group.create_task(copy(entry.path), name=f"copy {entry.path}")
        group.create_task(copy(REGRESSIONS, optional=True), name="copy the regressions")
    months = _months(entries, await store.rows())
    for month, shard in months.items():
        _put(data / shard_path(month), rows.encode(shard))
    # Last: whoever looks meanwhile is shown no run whose report is not there yet.
    _put(data / MANIFEST, stored.data)
    return Built(config=config, copied=copied + len(months) + 1, missing=tuple(sorted(missing)))


def _months(entries: Sequence[Entry], indexed: Sequence[RunRow]) -> dict[str, Shard]:
    """The index anew, by month: that of the store may lack runs, or be missing, as in stores of KAI's own pipeline."""
    by_path = {row.path: row for row in indexed}
    by_month: dict[str, list[RunRow]] = {}
    for entry in entries:
        by_month.setdefault(entry.month, []).append(by_path[entry.path])
    return {month: rows.with_rows(Shard(), of_month) for month, of_month in by_month.items()}


def _write(out: Path, config: SiteConfig) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file: name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / CONFIG).is_file():
        raise UsageError(f"--out {out} is neither empty nor a site built before: name another folder")
    for name, content in site_files(config).items():
        _put(out / name, content)


def _clear(folder: Path) -> None:
    """Runs that were pruned since the site was built last go."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise EngineError(f"{folder} cannot be cleared: {error.strerror}; choose another folder with --out") from error


def _put(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content, sync=False)
    except OSError as error:
        raise EngineError(f"{path} cannot be written: {error.strerror}; choose another folder with --out") from error
