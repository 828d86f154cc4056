"""All that can be known of a submission: the recordings beside it, and what its cluster says now."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from kubedyno.client import kubeconfig as kubeconfigs
from kubedyno.client import retrying
from kubedyno.client.access import Access
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.lab import control, selecting
from kubedyno.lab.folders import RECORDS, LabFolder
from kubedyno.lab.recording import recording
from kubedyno.lab.selecting import Selection
from kubedyno.measure import sampling, shapes, spool
from kubedyno.measure.attributing import attribute
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.following import Following
from kubedyno.measure.live import Live
from kubedyno.measure.recorder import Recorder
from kubedyno.measure.sightings import Sightings
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed
from kubedyno.model.samples import Recording
from kubedyno.model.submissions import SubmittedFile

PATIENCE_S: Final = 60.0
"""How long a server that is away is waited for: it may be restarting."""


class Cluster(msgspec.Struct, frozen=True):
    """The cluster of a submission: how to reach it, and the lab that it is."""

    access: Access
    lab: LabFolder | None = None


class Gathered(msgspec.Struct, kw_only=True):
    """All that is known so far. `notes` are sentences for whoever looks at the sample."""

    sightings: Sightings = msgspec.field(default_factory=Sightings)
    recordings: list[Recording] = []
    notes: list[str] = []
    live: Live | None = None
    """Counts along."""

    def take(self, row: ObjectRow) -> bool:
        """Take a row; whether it is news."""
        is_news = self.sightings.note(row)
        if is_news and self.live is not None:
            self.live.note(row)
        return is_news


def cluster_of(
    submission: SubmittedFile, selection: Selection, *, env: Mapping[str, str] = os.environ
) -> Cluster | None:
    """The cluster that the submission went to; None: no lab that runs is it, and no other was named.

    A cluster that is named must be the one.
    """
    if selection != Selection():
        access = selecting.access(selection, env=env)
        if access.server != submission.server:
            raise UsageError(
                f"the submission went to {submission.server}, and this is {access.server}: name the same cluster, "
                "or none to sample from recordings"
            )
        return Cluster(access, selecting.lab_of(selection, env=env))
    for lab in selecting.running_labs(env):
        access = kubeconfigs.load(selecting.kubeconfig_of(lab), env=env)
        if access.server == submission.server:
            return Cluster(access, lab)
    if env.get("KUBECONFIG"):
        access = selecting.access(selection, env=env)
        if access.server == submission.server:
            return Cluster(access)
    return None


async def records_of(lab: LabFolder) -> Path:
    """Where a lab's own process records."""
    try:
        told = (await control.ask(lab.control_socket, {"ask": "records"})).get("records")
    except EngineError:
        told = None  # an owner that is busy or going still leaves its recordings where they are
    return Path(told) if isinstance(told, str) else lab.path / RECORDS


def read_recordings(records: Iterable[Path], gathered: Gathered) -> None:
    """Take all recordings below these folders; they may still grow."""
    for folder in (folder for parent in records for folder in spool.folders(parent)):
        for rows in spool.read_objects(folder):
            for row in rows:
                gathered.take(row)
        told = spool.read_recording(folder)
        if told is not None:
            gathered.recordings.append(told)


async def ask_cluster(
    client: Client, kinds: Sequence[Followed], namespaces: Sequence[str], gathered: Gathered
) -> list[ObjectRow]:
    """Take what the cluster says now of all objects in these namespaces; what of it is news.

    Objects that were seen once and are not there any more have been deleted. A server that is away is waited for.
    """
    news: list[ObjectRow] = []

    def take(row: ObjectRow) -> None:
        if gathered.take(row):
            news.append(row)

    asked_ns = client.clock.wall_ns()
    there: set[str] = set()
    listed: set[str] = set()
    for followed in kinds:
        try:
            for namespace in namespaces if followed.resource.namespaced else (None,):
                there |= await _listed(client, followed, namespace, take)
        except ApiError as error:
            if not error.is_not_found:  # else the server does not have the kind
                gathered.notes.append(f"{followed.resource.full_name} could not be listed: {error}")
        else:
            listed.add(followed.resource.kind)
    for row in list(sampling.absences(gathered.sightings, there, listed, {*namespaces, ""}, asked_ns)):
        take(row)
    return news


async def _listed(
    client: Client, followed: Followed, namespace: str | None, take: Callable[[ObjectRow], None]
) -> set[str]:
    """All objects of a kind in a namespace, as rows; their uids."""
    deadline_ns = client.clock.monotonic_ns() + round(PATIENCE_S * NS_PER_S)
    failures = 0
    while True:
        track = Recorder(sinks=(take,)).track(followed)
        try:
            pages = client.list_pages(
                followed.resource,
                namespace=namespace,
                field_selector=followed.fields or None,
                shape=shapes.shape_of(followed.resource),
            )
            version = ""
            async with contextlib.aclosing(pages):
                async for page in pages:
                    track.page(page.items, client.clock.wall_ns(), is_first=page.is_first)
                    version = page.resource_version
        except (ApiError, Unreachable) as error:
            if not retrying.may_pass(error) or client.clock.monotonic_ns() > deadline_ns:
                raise
            await client.clock.sleep(retrying.backoff_s(failures))
            failures += 1
            continue
        track.listed(version, client.clock.wall_ns())
        return set(track.uids())


def keep(news: Sequence[ObjectRow], submission: SubmittedFile, gathered: Gathered, folder: Path) -> None:
    """Keep what only the cluster said as a recording beside the submission: its objects may be gone next time."""
    if not news:
        return
    members = attribute(gathered.sightings, submission.workloads)
    ours = {uid for roles in members.values() for uids in roles.values() for uid in uids}
    kept = [row for row in news if row.uid in ours]
    if kept:
        with Spool(folder / RECORDS) as spooled:
            for row in kept:
                spooled.take(row)


@contextlib.asynccontextmanager
async def followed(
    client: Client, kinds: Sequence[Followed], gathered: Gathered, folder: Path, *, namespace: str | None
) -> AsyncIterator[Following]:
    """Record into the submission's folder while the block runs; `namespace` None means all."""

    def take(row: ObjectRow) -> None:
        gathered.take(row)

    async with recording(
        client, kinds, folder / RECORDS, namespace=namespace, probe_in=namespace or "default", sinks=(take,)
    ) as (recorded, _):
        yield recorded
    gathered.recordings.append(recorded.recording())
