"""Following all kinds of a lifecycle for a recorder: one list-then-watch each, lag probed, proven at the end."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final

import msgspec

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client, Page
from kubedyno.client.shaping import Shape
from kubedyno.client.watching import Listed, Watch, WatchCounts
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure import proving, shapes
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.lags import Lags
from kubedyno.measure.observer import Observer
from kubedyno.measure.probing import BUSY_S, IDLE_S, Prober
from kubedyno.measure.proving import Standing
from kubedyno.measure.recorder import Recorder, Track
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed
from kubedyno.model.samples import Followed as Went
from kubedyno.model.samples import Recording

LOOK_AGAIN_S: Final = 3.0
"""After a kind was found missing."""

FLUSH_EVERY_S: Final = 0.4
_TELL_EVERY: Final = 8
"""Flushes between two writings of how the recording stands."""

HOLD_S: Final = 5.0
"""Rows wait so long for a probe to be written."""


class Probing(msgspec.Struct, frozen=True, kw_only=True):
    """How the lag of the watches is measured."""

    namespace: str = "default"
    """Where the probe lives."""
    idle_s: float = IDLE_S
    busy_s: float = BUSY_S


class Following:
    """A recording while it is made. `following` makes it."""

    def __init__(
        self,
        client: Client,
        kinds: Sequence[Followed],
        recorder: Recorder,
        *,
        lags: Lags | None,
        prober: Prober | None,
        namespace: str | None,
        rng: random.Random,
        observer: Observer | None = None,
    ) -> None:
        self.recorder = recorder
        self.lags = lags
        self._client = client
        self._clock = client.clock
        self._prober = prober
        self._kinds = [
            _Kind(
                client,
                recorder.track(followed, observer),
                namespace=namespace,
                rng=rng,
                prober=prober,
                shape=shapes.shape_of(followed.resource, is_observed=observer is not None),
            )
            for followed in kinds
        ]
        self._began_ns = 0
        self._proving = asyncio.Lock()
        self._recording: Recording | None = None

    async def prove(self, *, within_s: float = 30.0) -> Recording:
        """Show that nothing was missed: list all there is, and find it known. The recording as it stands now."""
        async with self._proving:  # one at a time: each has the tracks collect what is deleted meanwhile
            standings = await asyncio.gather(
                *(
                    proving.prove(self._client, one.track, namespace=one.namespace, within_s=within_s)
                    for one in self._kinds
                    if one.absence is None
                )
            )
        await self.settled()
        self._recording = self._told(standings)
        return self._recording

    def recording(self) -> Recording:
        """How the recording stands: as it was proven last, else unproven."""
        return self._recording or self._told(None)

    async def settled(self) -> None:
        """Return when all rows that have arrived by now have their bounds: a matter of one probe."""
        mark_ns = self._clock.wall_ns()
        overdue_ns = mark_ns + round(HOLD_S * NS_PER_S)
        while self.recorder.oldest_held_ns() <= mark_ns:
            if self._prober is None or self._clock.wall_ns() > overdue_ns:
                self.recorder.settle(mark_ns)
                return
            self._prober.probe_now()
            await self._clock.sleep(0.002)

    @asynccontextmanager
    async def running(self, spool: Spool | None) -> AsyncIterator[None]:
        """Follow while the block runs; complete on entry."""
        async with tasks.owning() as group:
            running = [group.create_task(one.follow(), name=f"follow {one.name}") for one in self._kinds]
            if self._prober is not None:
                running.append(group.create_task(self._probe(self._prober), name="probe the watch's lag"))
            if self._prober is not None or spool is not None:
                running.append(group.create_task(self._keep(spool), name="keep the recording"))
            for one in self._kinds:
                await one.looked.wait()
            self._began_ns = self._clock.wall_ns()
            try:
                yield
            finally:
                for task in running:
                    task.cancel()

    async def _probe(self, prober: Prober) -> None:
        await prober.run()
        self.recorder.hold_no_longer()

    async def _keep(self, spool: Spool | None) -> None:
        """Let no row wait for too long, be it for its bounds or for the disk."""
        count = 0
        while True:
            if self._prober is not None:
                self.recorder.settle(self._clock.wall_ns() - round(HOLD_S * NS_PER_S))
            if spool is not None:
                spool.flush()
                if count % _TELL_EVERY == 0:
                    spool.tell(self.recording())
            count += 1
            await self._clock.sleep(FLUSH_EVERY_S)

    def _told(self, standings: Sequence[Standing] | None) -> Recording:
        watches = tuple(one.went() for one in self._kinds)
        absences = {one.name: one.absence for one in self._kinds if one.absence is not None}
        whole, proof = proving.verdict(watches, absences, standings)
        if self._prober is not None and self._prober.trouble is not None:
            proof = f"{proof} How late news arrived is unknown: {self._prober.trouble}."
        return Recording(
            began_ns=self._began_ns or self._clock.wall_ns(),
            ended_ns=self._clock.wall_ns(),
            lag=self.lags.summary() if self.lags is not None else None,
            watches=watches,
            whole=whole,
            proof=proof,
        )


class _Kind:
    """One kind: its watch, and what it went through over all watches that there were."""

    def __init__(
        self,
        client: Client,
        track: Track,
        *,
        namespace: str | None,
        rng: random.Random,
        prober: Prober | None,
        shape: Shape,
    ) -> None:
        self.track = track
        self.name = track.name
        self.namespace = namespace if track.followed.resource.namespaced else None
        self.looked = asyncio.Event()
        self.absence: str | None = None
        """Why it is not followed; None: it is."""
        self._client = client
        self._resource = track.followed.resource
        self._rng = rng
        self._prober = prober
        self._shape = shape
        self._past: list[WatchCounts] = []

    def went(self) -> Went:
        """What its watches went through."""
        return Went(
            resource=self.name,
            changes=sum(counts.changes for counts in self._past),
            cuts=sum(counts.cuts + counts.early for counts in self._past),
            relists=sum(counts.lists for counts in self._past) - 1 if any(one.lists for one in self._past) else 0,
        )

    async def follow(self) -> None:
        """Until cancelled. A kind that the server does not have, or does not show us, is looked for again."""
        while True:
            watch = Watch(
                self._client,
                self._resource,
                namespace=self.namespace,
                field_selector=self.track.followed.fields or None,
                rng=self._rng,
                shape=self._shape,
                pages=self._page,
            )
            self._past.append(watch.counts)
            try:
                await self._listen(watch)
            except (ApiError, Unreachable) as error:
                if not self.looked.is_set() or not retrying.may_pass(error):
                    self.absence = _absence(error)
                    if self.absence is None:
                        raise
            if watch.counts.lists == 0:
                self._past.pop()
            self.looked.set()
            await self._client.clock.sleep(LOOK_AGAIN_S)

    async def _listen(self, watch: Watch) -> None:
        track = self.track
        async with aclosing(watch.events()) as events:
            async for event in events:
                if isinstance(event, Listed):
                    track.listed(event.resource_version, event.wall_ns)
                    self.absence = None
                    self.looked.set()
                    continue
                track.change(event.type, event.object, event.wall_ns)
                if self._prober is not None:
                    self._prober.note_news(event.wall_ns)

    def _page(self, page: Page, arrival_ns: int) -> None:
        self.track.page(page.items, arrival_ns, is_first=page.is_first)


@asynccontextmanager
async def following(
    client: Client,
    kinds: Sequence[Followed],
    *,
    spool: Spool | None = None,
    sinks: Sequence[Callable[..., None]] = (),
    on_series: Callable[[SeriesRow], None] | None = None,
    probing: Probing | None = Probing(),  # noqa: B008 - frozen
    namespace: str | None = None,
    only: Collection[str] | None = None,
    is_instant: bool = False,
    rng: random.Random | None = None,
    observer: Observer | None = None,
) -> AsyncIterator[Following]:
    """Record all that happens to these kinds while the block runs; every kind that is served is listed on entry.

    Rows go to the spool and the sinks; the observer is told of all objects as they are. Without `probing` bounds are
    those of the server's stamps, unless news takes no time at all, as in virtual time: `is_instant`. `namespace` None
    means all; with `only` rows are of those namespaces alone, and of what belongs to none. When the block ends without
    `prove`, the recording is told as unproven.
    """
    lags = Lags() if probing is not None else None
    rows = (*sinks, spool.take) if spool is not None else tuple(sinks)
    recorder = Recorder(sinks=rows, lags=lags, is_instant=is_instant, only=only)

    def take_series(row: SeriesRow) -> None:
        for sink in (spool.take_series if spool is not None else None, on_series):
            if sink is not None:
                sink(row)

    prober = None
    if probing is not None and lags is not None:
        prober = Prober(
            client,
            lags,
            namespace=probing.namespace,
            idle_s=probing.idle_s,
            busy_s=probing.busy_s,
            on_written=recorder.settle,
            on_row=take_series,
        )
    made = Following(
        client,
        kinds,
        recorder,
        lags=lags,
        prober=prober,
        namespace=namespace,
        rng=rng or randomness.stream(0, "following"),
        observer=observer,
    )
    try:
        async with made.running(spool):
            yield made
    finally:
        recorder.settle()
        if spool is not None:
            spool.flush()
            spool.tell(made.recording())


def _absence(error: ApiError | Unreachable) -> str | None:
    """Why a kind cannot be followed now but perhaps later; None: that is no reason."""
    if isinstance(error, Unreachable):
        return None
    if error.is_not_found:
        return proving.NOT_SERVED
    return "it may not be read" if error.is_forbidden else None
