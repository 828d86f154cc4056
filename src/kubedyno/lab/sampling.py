"""Sampling a submission: at once, or following it until all of its workloads run."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from kubedyno.client.errors import Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.lab import gathering
from kubedyno.lab.folders import RECORDS
from kubedyno.lab.gathering import Cluster, Gathered
from kubedyno.lab.selecting import Selection
from kubedyno.measure import sampling
from kubedyno.measure.following import Following
from kubedyno.measure.live import Live
from kubedyno.model.dialects import Dialect
from kubedyno.model.samples import SampledFile
from kubedyno.model.submissions import SubmittedFile, SubmittedWorkload
from kubedyno.schedulers import dialects
from kubedyno.workload import backends, journal
from kubedyno.workload.settings import Settings

SAMPLED: Final = "sampled.json"

_LOOK_EVERY_S: Final = 1.0
_SHARE: Final = 20
"""What was submitted is read anew in one part of so many of the time."""

_PROVEN_WITHIN_S: Final = 10.0
"""Whoever pressed ctrl-C does not wait for longer."""

Show: TypeAlias = Callable[[Live, Following], Coroutine[Any, Any, None]]
"""Shows how it goes, until cancelled."""


class Sampler:
    """One sampling of the submission in a folder. What is wrong with what was asked for is raised at once."""

    def __init__(
        self,
        folder: Path,
        *,
        selection: Selection,
        clock: Clock,
        workload_type: str | None = None,
        project: str | None = None,
        scheduler: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._folder = folder
        self._selection = selection
        self._clock = clock
        self._project = project
        submission = self._submission()
        self._dialect: Dialect = dialects.find(scheduler or submission.dialect)
        self._backend = backends.source(settings or Settings())
        _check(submission, folder, workload_type=workload_type, project=project)

    async def look(self) -> Gathered:
        """All that can be known now: where the cluster is gone, what was recorded."""
        gathered = Gathered()
        cluster = await self._read(gathered)
        if cluster is None:
            self._do_without(gathered, self._no_cluster())
            return gathered
        async with Client.connect(cluster.access, clock=self._clock) as client:
            try:
                await self._ask(client, gathered)
            except Unreachable as error:
                self._do_without(gathered, str(error))
        return gathered

    async def follow(self, show: Show) -> Gathered:
        """All that can be known when all workloads have gone all their way.

        An interruption (ctrl-C) ends it as well, in order: what was seen until then is the sample.
        """
        submission = self._asked()
        live = Live(submission, self._dialect.lifecycle)
        gathered = Gathered(live=live)
        cluster = await self._read(gathered)
        if cluster is None:
            raise EngineError(f"there is nothing to follow: {self._no_cluster()}")
        kinds, namespaces = self._dialect.lifecycle.kinds, _namespaces(submission)
        # A submission that goes on may come to further namespaces.
        namespace = namespaces[0] if submission.ended_at is not None and len(namespaces) == 1 else None
        async with Client.connect(cluster.access, clock=self._clock) as client:
            await self._ask(client, gathered)
            async with gathering.followed(client, kinds, gathered, self._folder, namespace=namespace) as following:
                try:
                    async with tasks.owning() as group:
                        showing = group.create_task(show(live, following), name="show how it goes")
                        await self._until_over(live)
                        showing.cancel()
                except asyncio.CancelledError:
                    if (task := asyncio.current_task()) is not None:
                        task.uncancel()  # asked to end, and so it does: here, and in order
                await following.prove(within_s=_PROVEN_WITHIN_S)
        if cluster.lab is not None:
            gathering.read_recordings([await gathering.records_of(cluster.lab)], gathered)
        return gathered

    def sample(self, gathered: Gathered, earlier: SampledFile | None) -> SampledFile:
        """What was gathered as `sampled.json` tells it."""
        submission = self._submission()
        sampled = sampling.sample(
            submission,
            gathered.sightings,
            self._dialect.lifecycle,
            recordings=gathered.recordings,
            earlier=earlier,
            sampled_at=rfc3339(self._clock.wall_ns()),
            is_asked=self._is_asked,
        )
        if self._backend is None:
            return sampled
        told = backends.times_ns(self._backend, submission.workloads)
        workloads = tuple(
            msgspec.structs.replace(one, backend=one.backend | told.get(one.name, {})) for one in sampled.workloads
        )
        return msgspec.structs.replace(sampled, workloads=workloads)

    def _submission(self) -> SubmittedFile:
        """As it stands: it may go on."""
        return journal.read_folder(self._folder)

    def _asked(self) -> SubmittedFile:
        """The part of the submission that is sampled."""
        submission = self._submission()
        return msgspec.structs.replace(submission, workloads=tuple(filter(self._is_asked, submission.workloads)))

    def _is_asked(self, workload: SubmittedWorkload) -> bool:
        return self._project is None or workload.project == self._project

    async def _read(self, gathered: Gathered) -> Cluster | None:
        """Take what was recorded; the cluster of the submission."""
        cluster = gathering.cluster_of(self._submission(), self._selection)
        records = [self._folder / RECORDS]
        if cluster is not None and cluster.lab is not None:
            records.append(await gathering.records_of(cluster.lab))
        gathering.read_recordings(records, gathered)
        return cluster

    async def _ask(self, client: Client, gathered: Gathered) -> None:
        """Take what the cluster says now, and keep what only the cluster says."""
        submission = self._asked()
        kinds = self._dialect.lifecycle.kinds
        news = await gathering.ask_cluster(client, kinds, _namespaces(submission), gathered)
        gathering.keep(news, submission, gathered, self._folder)

    def _no_cluster(self) -> str:
        return f"the cluster of the submission, {self._submission().server}, is no lab that runs, and none is named"

    def _do_without(self, gathered: Gathered, why: str) -> None:
        if not len(gathered.sightings) and not (self._folder / SAMPLED).exists():
            raise EngineError(f"{why}; and nothing was recorded in {self._folder}: there is nothing to sample")
        gathered.notes.append(f"{why}; this sample is from recordings only")

    async def _until_over(self, live: Live) -> None:
        """Return when the submission has ended and all of its workloads have gone all their way."""
        is_whole = False
        while not (is_whole and live.is_over):
            began_ns = self._clock.monotonic_ns()
            if not is_whole:
                submission = await asyncio.to_thread(self._asked)
                is_whole = submission.ended_at is not None
                live.submitted(submission)
            took_s = (self._clock.monotonic_ns() - began_ns) / NS_PER_S
            # Reading a long journal must not cost more than the recording that goes on beside it.
            await self._clock.sleep(max(_LOOK_EVERY_S, _SHARE * took_s))


def _namespaces(submission: SubmittedFile) -> tuple[str, ...]:
    return tuple(dict.fromkeys(workload.namespace for workload in submission.workloads))


def _check(submission: SubmittedFile, folder: Path, *, workload_type: str | None, project: str | None) -> None:
    if workload_type not in {None, submission.workload_type}:
        raise UsageError(
            f"-t {workload_type}: the workloads in {folder} are of type {submission.workload_type}: "
            f"give -t {submission.workload_type}, or leave it out"
        )
    projects = {workload.project for workload in submission.workloads if workload.project is not None}
    if project is not None and project not in projects:
        known = suggestion(project, projects) if projects else "they were submitted to no project; leave -p out"
        raise UsageError(f"-p {project}: no workload in {folder} is of that project: {known}")
