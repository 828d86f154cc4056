"""The reference scheduler at work: follows what it reads, decides in cycles, binds, evicts, and tells who waits why."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.events import Recorder
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kube.resources import (
    COSCHEDULING_POD_GROUPS,
    DEVICE_CLASSES,
    KAI_POD_GROUPS,
    KAI_QUEUES,
    KAI_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NODE_RESOURCE_TOPOLOGIES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from kubedyno.schedulers.reference import reading
from kubedyno.schedulers.reference.awaiting import Awaiting
from kubedyno.schedulers.reference.binding import bind, nominate
from kubedyno.schedulers.reference.claiming import Claiming, Ungiven
from kubedyno.schedulers.reference.cycle import decide_from
from kubedyno.schedulers.reference.evicting import Evicting
from kubedyno.schedulers.reference.jobs import Decisions, JobKey, Placement, Refusal
from kubedyno.schedulers.reference.known import Known
from kubedyno.schedulers.reference.reading import (
    COSCHEDULING,
    KAI,
    NATIVE,
    GroupFacts,
    PodFacts,
)
from kubedyno.schedulers.reference.settings import Settings
from kubedyno.schedulers.reference.telling import Telling
from kubedyno.schedulers.reference.volumes import Volumes
from kubedyno.schedulers.reference.watches import Follower, Hear

_PAUSE_S: Final = 0.01
"""After a cycle of decisions at least, so that what comes in one by one is not decided one by one."""


async def schedule(
    client: Client, *, clock: Clock, seed: int, cycle_s: float, settings: Settings | None = None
) -> None:
    """Schedule until cancelled; a cycle takes `cycle_s` on the clock at least, and is begun by any change."""
    chosen = settings or Settings()
    async with tasks.owning() as group:
        rng = randomness.stream(seed, "reference scheduler")
        recorder = Recorder(client, clock)
        changed = asyncio.Event()
        known = Known(chosen, changed.set)
        volumes = Volumes(client, rng=rng, changed=changed.set)
        scheduler = _Scheduler(client, recorder, known, volumes, settings=chosen, changed=changed, group=group)
        followers = [Follower(client, versions, hear, rng=rng) for versions, hear in _followed(known)]
        async with AsyncExitStack() as stack:
            await volumes.follow(stack)
            for follower in followers:
                group.create_task(follower.run(), name="what the scheduler reads")
            for follower in followers:
                await follower.looked.wait()
            group.create_task(recorder.run(), name="events of the scheduler")
            while True:
                await changed.wait()
                changed.clear()
                await clock.sleep(cycle_s)
                spent_s = await scheduler.cycle()
                if not cycle_s:
                    # Where a cycle takes long, half of the time is left to others.
                    await clock.sleep(max(_PAUSE_S, spent_s))


def _followed(known: Known) -> Iterable[tuple[Sequence[Resource], Hear]]:
    def group(read: Callable[..., GroupFacts], kind: str) -> Hear:
        return lambda change, obj: known.group(change, obj, read, kind)

    return (
        ((PRIORITY_CLASSES,), known.priority_class),
        ((KAI_QUEUES,), known.queue),
        (KUEUE_TOPOLOGIES, known.topology),
        (KAI_TOPOLOGIES, known.topology),
        ((KAI_POD_GROUPS,), group(reading.kai_group, KAI)),
        ((POD_GROUPS,), group(reading.native_group, NATIVE)),
        ((COSCHEDULING_POD_GROUPS,), group(reading.coscheduling_group, COSCHEDULING)),
        ((DEVICE_CLASSES,), known.device_class),
        ((RESOURCE_SLICES,), known.device_slice),
        ((RESOURCE_CLAIMS,), known.device_claim),
        (NODE_RESOURCE_TOPOLOGIES, known.zones),
        ((NODES,), known.node),
        ((PODS,), known.pod),
    )


class _Scheduler:
    """Cycles, and what is between them: room that is reserved, volumes that are awaited, gangs that are broken."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        known: Known,
        volumes: Volumes,
        *,
        settings: Settings,
        changed: asyncio.Event,
        group: asyncio.TaskGroup,
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._known = known
        self._settings = settings
        self._changed = changed
        self._group = group
        self._telling = Telling(client, recorder, known, look_again=self._look_again_after)
        self._evicting = Evicting(client, recorder, known)
        self._claiming = Claiming(client, known)
        self._awaiting = Awaiting(client, known, volumes, claiming=self._claiming, look_again=self._look_again_after)
        self._reserved: dict[JobKey, list[Placement]] = {}
        """Jobs with nodes that others are still leaving, in the order in which they got them."""
        self._broken_since_ns: dict[JobKey, int] = {}

    async def cycle(self) -> float:
        """Decide for all that waits, and carry it out; returns how long the decisions took."""
        known = self._known
        ready = await self._awaiting.settle()
        ready += self._arrived()
        held_up = self._awaiting.hold_up()
        known.refresh()
        stale = self._stale()
        began_ns = self._clock.monotonic_ns()
        known.room.back(0)
        decisions = decide_from(known.books, known.capacity(), known.room, settings=self._settings, stale=stale)
        spent_s = (self._clock.monotonic_ns() - began_ns) / NS_PER_S
        self._take(decisions)
        await self._evicting.evict(decisions.evictions)
        ready += await self._held_for(decisions.placements)
        await self._bind(ready)
        await self._telling.clear(dict.fromkeys(one.job for one in decisions.placements))
        orphans = [Refusal(key, "NotReady", said) for key, said in known.orphans.items()]
        # What holds up a pod of a gang says more than that the gang is not whole.
        refusals = {refusal.job: refusal for refusal in (*decisions.refusals, *orphans, *held_up)}
        await self._telling.refuse(refusals.values())
        return spent_s

    def _take(self, decisions: Decisions) -> None:
        """Make what was decided so, in the room that is."""
        room, known = self._known.room, self._known
        tried = room.packing.tried
        if not decisions.evictions and len(tried) == len(decisions.placements):
            room.packing.keep()
            for one in decisions.placements:
                known.kept(known.pods[one.task.key], one.node)
            return
        room.back(0)
        for eviction in decisions.evictions:
            pod = known.pods.get(eviction.task.key)
            if pod is not None and pod.uid not in known.assumed:
                room.packing.leave(pod.uid)
        for one in decisions.placements:
            known.assume(known.pods[one.task.key], one.node, waiting=True)

    async def _held_for(self, placements: Sequence[Placement]) -> list[Placement]:
        """The placements that can be bound now. Others wait for pods to leave, or for volumes; gangs wait together."""
        by_job: dict[JobKey, list[Placement]] = {}
        for placement in placements:
            if self._pod(placement) is not None:
                by_job.setdefault(placement.job, []).append(placement)
        ready: list[Placement] = []
        nominated: list[Placement] = []
        for job, own in by_job.items():
            if self._known.room.packing.are_there([one.task.uid for one in own]):
                ready += own
            else:
                self._reserved[job] = own
                nominated += own
        pods = [(pod, one.node) for one in nominated if (pod := self._pod(one)) is not None]
        await all_of([partial(nominate, self._client, pod, node) for pod, node in pods])
        return await self._awaiting.tell(ready)

    def _arrived(self) -> list[Placement]:
        """Of the reserved placements those whose room is free now."""
        ready: list[Placement] = []
        packing = self._known.room.packing
        for job, placements in list(self._reserved.items()):
            held = [one for one in placements if self._pod(one) is not None]
            # A node that is gone, or pods that are: the job is decided about anew.
            if len(held) < len(placements) or any(packing.held[one.task.uid].slot is None for one in held):
                del self._reserved[job]
                for one in held:
                    self._take_back(one)
            elif packing.are_there([one.task.uid for one in held]):
                del self._reserved[job]
                ready += held
        return ready

    def _pod(self, placement: Placement) -> PodFacts | None:
        """The pod of a placement, if it still has what it was given."""
        pod = self._known.pods.get(placement.task.key)
        is_same = pod is not None and self._known.assumed.get(placement.task.uid) == placement.node
        return pod if is_same and pod is not None and pod.uid == placement.task.uid else None

    def _take_back(self, placement: Placement) -> None:
        pod = self._pod(placement)
        if pod is not None:
            self._known.forget(pod)

    async def _bind(self, placements: Sequence[Placement]) -> None:
        bound = [(one, pod) for one in placements if (pod := self._pod(one)) is not None]
        failures = await all_of([partial(self._bind_one, pod, one.node) for one, pod in bound])
        for (one, pod), failure in zip(bound, failures, strict=True):
            if failure is not None:
                self._take_back(one)
            self._telling.forget(pod.uid)

    async def _bind_one(self, pod: PodFacts, node: str) -> None:
        """Bind a pod when its claims have their devices; where they cannot be had it waits again."""
        if pod.device_claims:
            try:
                await self._claiming.give(pod, node)
            except Ungiven:
                self._known.forget(pod)
                return
        await bind(self._client, pod, node, shared_gpu=self._known.room.group_of(pod.uid))
        self._telling.scheduled(pod, node)

    def _stale(self) -> frozenset[JobKey]:
        """Gangs that have been broken for longer than they may be."""
        now_ns, grace_ns = self._clock.monotonic_ns(), round(self._settings.staleness_grace_s * NS_PER_S)
        broken = self._known.broken
        for key in [key for key in self._broken_since_ns if key not in broken]:
            del self._broken_since_ns[key]
        for key in broken:
            if key not in self._broken_since_ns:
                self._broken_since_ns[key] = now_ns
                self._look_again_after(self._settings.staleness_grace_s)
        return frozenset(key for key, since_ns in self._broken_since_ns.items() if now_ns - since_ns >= grace_ns)

    def _look_again_after(self, delay_s: float) -> None:
        self._group.create_task(self._wake_after(delay_s), name="another look")

    async def _wake_after(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._changed.set()
