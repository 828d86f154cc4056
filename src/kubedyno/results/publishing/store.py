"""A store of results: runs are published, found, pruned; manifest and index are made anew from what lies there.

The manifest is what counts: a run is in the store when it is in the manifest. Its files come first, then its row of the
index, then its entry; whoever is stopped in between has published nothing, and may begin again.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from kubedyno.kit import tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.results.publishing import manifest, rows
from kubedyno.results.publishing.foreign_rows import broken_row, foreign_row
from kubedyno.results.publishing.manifest import MANIFEST, PUBLIC, Entry, Manifest
from kubedyno.results.publishing.own_rows import row_of
from kubedyno.results.publishing.places import Place, StoreError
from kubedyno.results.publishing.rows import RunRow, Shard, shard_path
from kubedyno.results.records_read import decode, read_run, trial_names

_TRIES: Final = 100
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 3.0
_AT_ONCE: Final = 8
_REPORT: Final = "report.json"
Content = TypeVar("Content", Manifest, Shard)


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """What publishing came to."""

    entry: Entry
    files: int
    """How many were written; none where the store had the run."""


class Store:
    """A store of results at a place; `clock` and `generator` say how long to wait for others who change it, too."""

    def __init__(self, place: Place, *, clock: Clock, generator: random.Random) -> None:
        self.place = place
        self._clock = clock
        self._generator = generator

    async def publish(self, folder: Path, *, commit: str, ref: str = "") -> Published:
        """Put a run's folder into the store; a second time changes nothing."""
        run, trials = read_run(folder)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if folder / _REPORT not in files:
            raise UsageError(f"{folder / _REPORT} is missing: the run folder is incomplete; copy it whole")
        entry = Entry(timestamp=run.started_at, path=manifest.report_path(run.id), commit=commit, ref=ref)
        if entry in (await self.manifest()).runs:
            return Published(entry=entry, files=0)
        await self._upload(files, folder, f"{PUBLIC}/{run.id}")
        row = row_of(run, trials, commit=commit, ref=ref)
        await self._change(_index_of(entry.month), lambda old: rows.with_rows(old, [row]))
        await self._change(_MANIFEST, lambda old: manifest.with_runs(old, [entry]))
        return Published(entry=entry, files=len(files))

    async def prune(self, *, older_than: datetime) -> tuple[Entry, ...]:
        """Take runs that began before a moment out of the store; what was taken out."""
        gone: tuple[Entry, ...] = ()

        def younger(old: Manifest) -> Manifest:
            nonlocal gone
            kept, gone = manifest.split_at(old, older_than)
            return kept

        # First nobody is pointed at them any more, then they go.
        await self._change(_MANIFEST, younger)
        paths = frozenset(entry.path for entry in gone)
        for month in sorted({entry.month for entry in gone}):
            await self._change(_index_of(month), lambda old: rows.without(old, paths))
        for entry in gone:
            # A report that lies elsewhere has no folder of its own: what is beside it is not its.
            if _is_report(entry.path):
                await self.place.delete(await self.place.names(entry.path.rpartition("/")[0]))
        return gone

    async def rebuild(self) -> tuple[RunRow, ...]:
        """Make index and manifest anew from the reports that lie in the store; the rows of all of them.

        What else the manifest names stays in it: a report may lie somewhere else, or come right now.
        """
        try:
            known = {entry.path: entry for entry in (await self.manifest()).runs}
        except manifest.Broken:
            known = {}
        lying = {name for name in await self.place.names(PUBLIC) if _is_report(name)}
        found = [await self._row(path, known.get(path)) for path in sorted(lying | set(known))]
        entries = [
            known.get(row.path) or Entry(timestamp=row.started_at, path=row.path, commit=row.commit) for row in found
        ]
        by_month: dict[str, list[RunRow]] = {}
        for row, entry in zip(found, entries, strict=True):
            by_month.setdefault(entry.month, []).append(row)
        for month, of_month in by_month.items():
            await self._change(_index_of(month), lambda old, new=of_month: rows.with_rows(old, new))  # type: ignore[misc]
        await self._change(_MANIFEST, lambda old: manifest.with_runs(old, entries), mends=True)
        return tuple(found)

    async def manifest(self) -> Manifest:
        """The manifest; of an empty store an empty one."""
        stored = await self.place.read(MANIFEST)
        return manifest.decode(stored.data, self.place.url) if stored else Manifest()

    async def rows(self, *, since: datetime | None = None) -> list[RunRow]:
        """The rows of all runs of the manifest, or of those since a moment, the oldest first.

        One that is missing is made from the report.
        """
        by_month: dict[str, list[Entry]] = {}
        for entry in (await self.manifest()).runs:
            if since is None or entry.began >= since:
                by_month.setdefault(entry.month, []).append(entry)
        found = []
        for month, entries in by_month.items():
            index = _index_of(month)
            stored = await self.place.read(index.name)
            by_path = {row.path: row for row in index.decode(stored.data, self.place.url).runs} if stored else {}
            found += [by_path.get(entry.path) or await self._row(entry.path, entry) for entry in entries]
        return found

    async def _upload(self, files: list[Path], folder: Path, below: str) -> None:
        """Several at a time; the report, by which others know a run, when all else is there."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def one(path: Path) -> None:
            async with few:
                await self.place.write(f"{below}/{path.relative_to(folder).as_posix()}", path)

        async with tasks.owning() as group:
            for path in files:
                if path != folder / _REPORT:
                    group.create_task(one(path), name=f"publish {path.name}")
        await one(folder / _REPORT)

    async def _change(self, file: "_File[Content]", edit: Callable[[Content], Content], *, mends: bool = False) -> None:
        """Replace a file by what `edit` makes of it, as often as it takes for nobody else to have changed it meanwhile.

        With `mends` one that cannot be read counts as empty.
        """
        for number in range(_TRIES):
            stored = await self.place.read(file.name)
            mark = stored.mark if stored else None
            try:
                old = file.decode(stored.data, self.place.url) if stored else file.empty
                new = edit(old)
                if new == old:
                    return
            except manifest.Broken:
                if not mends:
                    raise
                new = edit(file.empty)
            if await self.place.replace(file.name, file.encode(new), mark=mark):
                return
            # Up to twice as long each time, and drawn: of many that lost together one must come before the others.
            longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**number)
            await self._clock.sleep(self._generator.uniform(0, longest_s))
        raise StoreError(
            f"{file.name} of {self.place.url} was changed by others each of {_TRIES} times that it was tried: "
            "try again later"
        )

    async def records(self, path: str) -> tuple[RunRecord, list[TrialRecord]]:
        """The records of a run of ours whose report lies at a path; what is missing or none is a UsageError."""
        folder = path.rpartition("/")[0]
        return await self._records(folder, await self._whole(f"{folder}/run.json"))

    async def _records(self, folder: str, own: bytes) -> tuple[RunRecord, list[TrialRecord]]:
        run = decode(own, RunRecord, f"{folder}/run.json")
        names = [f"{folder}/{name}" for name in trial_names(run)]
        return run, [decode(await self._whole(name), TrialRecord, name) for name in names]

    async def _row(self, path: str, entry: Entry | None) -> RunRow:
        """The row of a run whose report lies at a path: of ours from its records, of others from the report."""
        known = entry or Entry(timestamp="", path=path)
        if not known.is_inside:
            return broken_row(known, "its path leads out of the store")
        folder = path.rpartition("/")[0]
        try:
            own = await self.place.read(f"{folder}/run.json")
            if own is None:
                return foreign_row(await self._whole(path), known)
            run, trials = await self._records(folder, own.data)
            return row_of(run, trials, commit=known.commit, ref=known.ref)
        except UsageError as error:
            return broken_row(known, str(error))

    async def _whole(self, name: str) -> bytes:
        stored = await self.place.read(name)
        if stored is None:
            raise UsageError(f"{name} is missing")
        return stored.data


class _File(msgspec.Struct, Generic[Content], frozen=True, kw_only=True):
    """A file that many change."""

    name: str
    decode: Callable[[bytes, str], Content]
    encode: Callable[[Content], bytes]
    empty: Content


_MANIFEST: Final = _File(name=MANIFEST, decode=manifest.decode, encode=manifest.encode, empty=Manifest())


def _index_of(month: str) -> _File[Shard]:
    return _File(name=shard_path(month), decode=rows.decode, encode=rows.encode, empty=Shard())


def _is_report(name: str) -> bool:
    """Whether a name is that of a report in a folder of its own: `Public/<run-id>/report.json`."""
    parts = name.split("/")
    return len(parts) == 3 and parts[0] == PUBLIC and parts[1] not in {"", ".", ".."} and parts[2] == _REPORT  # noqa: PLR2004 - as it stands above
