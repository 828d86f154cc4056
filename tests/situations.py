"""Situations as data, played on any lab: who is there first, what comes then, and what becomes of everybody."""

import asyncio
import contextlib
import functools
import operator
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock, RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing, running
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.lab.grounds import Ground, own_ground
from kubedyno.lab.handles import Evicted, Nodes, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.matrix import Trial
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Violation
from kubedyno.model.features import Feature
from kubedyno.model.workloads import Closeness, Workload
from kubedyno.sim.pools import Pool
from kubedyno.testing.trying import provided_for

POOL = "nodes"
SHARED = "differential"
"""Namespace of all situations of a lab that they share."""


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads of one shape come to one queue; in `ends` they are called by their name."""

    name: str
    shape: Workload
    queue: str
    count: int = 1
    over_s: float | None = None
    """From the first to the last: with a second for each, all schedulers know which is the newest."""


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """All of these are there before the scheduler looks."""

    all: tuple[Submitted, ...]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """Queues have other figures from now on."""

    figures: Mapping[str, Mapping[str, Any]]


class Thinned(msgspec.Struct, frozen=True, kw_only=True):
    """Of these workloads one stays on each node, and the others are deleted."""

    name: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """All of these workloads are deleted."""

    name: str


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A workload loses one of its pods; it is counted with those that were evicted."""

    name: str


Step = Submitted | Together | Changed | Thinned | Ended | Lost


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What there is, what happens (everything settles after each step), and what everybody has in the end."""

    nodes: int = 2
    gpus: int = 4
    racks: int | None = None
    """So many racks with `nodes` nodes each."""
    pool: Pool | None = None
    """Instead of the usual one."""
    queues: Mapping[str, Mapping[str, Any]]
    """Arguments of `Lab.queue` by name, those above first."""
    steps: tuple[Step, ...]
    ends: Mapping[str, str]
    """`4 of 8 run, 4 evicted` by name of what was submitted; pods are counted."""
    on_kai: Mapping[str, str] | None = None
    """What real KAI comes to where that is something else; docs/schedulers-differences.md says why."""


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    stages: tuple[Mapping[str, str], ...]
    """What everybody had after each step."""
    violations: tuple[Violation, ...] = ()

    @property
    def ends(self) -> Mapping[str, str]:
        """What everybody has in the end."""
        return self.stages[-1]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long is waited after each step."""

    quiet_s: float
    """So long nothing has happened when it is over."""
    quiet_between_s: float
    """The same between two steps."""
    awaited: tuple[Mapping[str, str], ...] = ()
    """What each step should come to: as soon as it has, no longer is waited than until all is quiet."""
    patience_s: float = 40.0
    """So long for each of them."""


VIRTUAL = Pace(quiet_s=10.0, quiet_between_s=10.0)
_LOOK_EVERY_S = 0.05
_WRITERS = 8


def required(level: str = "rack") -> Closeness:
    """In one domain of the situation's pool; the key is filled in when the pool is there."""
    return Closeness(topology=POOL, required=level)


def preferred(level: str = "rack") -> Closeness:
    """In few domains of the situation's pool."""
    return Closeness(topology=POOL, preferred=level)


class _Play:
    """A situation while it goes on."""

    def __init__(self, situation: Situation, lab: Lab, ground: Ground, pace: Pace) -> None:
        self._situation, self._lab, self._pace = situation, lab, pace
        self._client, self._namespace = ground.client, ground.namespace
        self._groups: dict[str, Workloads] = {}
        self._aged: set[str] = set()
        """Workloads that came one after another."""
        self._racks = ""
        """Key of the label that says a node's rack."""

    async def to_its_end(self) -> tuple[Mapping[str, str], ...]:
        """Play it; what everybody has after each step."""
        situation = self._situation
        pool = await self._nodes()
        self._racks = pool.levels.get("rack", "")
        for name, figures in situation.queues.items():
            await self._lab.queue(name, **figures)
        return tuple([await self._step(i, pool) for i in range(len(situation.steps))])

    async def _step(self, index: int, pool: Nodes) -> Mapping[str, str]:
        """Take a step, and wait until it came to what it should; else it has come to what it is after a while."""
        await self._take(self._situation.steps[index], pool)
        clock, pace = self._lab.clock, self._pace
        is_last = index == len(self._situation.steps) - 1
        if pace.awaited:
            until_ns = clock.monotonic_ns() + round(pace.patience_s * NS_PER_S)
            while self._told() != pace.awaited[index] and clock.monotonic_ns() < until_ns:
                await clock.sleep(_LOOK_EVERY_S)
        await self._lab.settled(quiet_s=pace.quiet_s if is_last else pace.quiet_between_s)
        return self._told()

    async def clear(self) -> None:
        """Delete what is left of all workloads."""
        if self._groups:
            await self._lab.delete(functools.reduce(operator.or_, self._groups.values()))

    def _told(self) -> dict[str, str]:
        return {name: self._fate(group) for name, group in self._groups.items()}

    async def _nodes(self) -> Nodes:
        situation = self._situation
        if situation.racks is not None:
            tree = {"rack": situation.racks, "node": situation.nodes}
            return await self._lab.nodes(POOL, gpus=situation.gpus, topology=tree)
        if situation.pool is not None:
            return await self._lab.nodes(situation.pool)
        return await self._lab.nodes(POOL, count=situation.nodes, gpus=situation.gpus)

    async def _take(self, step: Step, pool: Nodes) -> None:
        match step:
            case Submitted():
                await self._submit(step, pool)
                await self._lab.created(self._groups[step.name])
            case Together():
                async with self._lab.scheduler.paused():
                    for one in step.all:
                        await self._submit(one, pool)
                    for one in step.all:
                        await self._lab.created(self._groups[one.name])
            case Changed():
                for name, figures in step.figures.items():
                    await self._lab.queue(name, **figures)
                await self._lab.clock.sleep(self._pace.quiet_between_s)  # nothing has moved yet that could settle
            case Thinned():
                await self._thin(self._groups[step.name])
            case Ended():
                await self._lab.delete(self._groups[step.name])
            case Lost():
                name = min(self._lab.placement(self._groups[step.name]))
                await self._client.delete(PODS, name, namespace=self._namespace)

    async def _submit(self, step: Submitted, pool: Nodes) -> None:
        shape = msgspec.structs.replace(
            step.shape,
            closeness=_named(step.shape.closeness, pool),
            groups=tuple(
                msgspec.structs.replace(group, closeness=_named(group.closeness, pool)) for group in step.shape.groups
            ),
        )
        self._groups[step.name] = await self._lab.submit(
            shape,
            name=step.name,
            count=step.count,
            queue=step.queue,
            over_s=step.over_s,
            writers=1 if step.over_s is not None else _WRITERS,
        )
        if step.over_s is not None:
            self._aged |= self._groups[step.name].names

    async def _thin(self, group: Workloads) -> None:
        staying: dict[str, str] = {}
        for pod in self._lab.standing.pods(sorted(group.names)):
            if pod.node is not None:
                staying.setdefault(pod.node, pod.workload)
        await self._lab.delete(group.part(group.names - set(staying.values())))
        self._groups[next(name for name, one in self._groups.items() if one is group)] = group.part(
            set(staying.values())
        )

    def _fate(self, group: Workloads) -> str:
        """So many run, so many were evicted, and where it was asked for, in how many racks they are."""
        told = [f"{sum(self._lab.placed(group).values())} of {group.pods} run"]
        taken = self._lab.evicted(group)
        if taken:
            told.append(f"{len(taken)} evicted{self._which(group, taken)}")
        wishes = (group.shape.closeness, *(one.closeness for one in group.shape.groups))
        if any(wish is not None for wish in wishes) and self._lab.placement(group):
            told.append(f"{len(self._lab.domains(group, self._racks))} racks")
        return ", ".join(told)

    def _which(self, group: Workloads, taken: tuple[Evicted, ...]) -> str:
        """The numbers of the workloads that lost something, where they came one after another."""
        if group.names.isdisjoint(self._aged):
            return ""
        return " of " + " ".join(sorted({one.workload.rpartition("-")[2] for one in taken}, key=int))


def _named(wish: Closeness | None, pool: Nodes) -> Closeness | None:
    if wish is None:
        return None
    return pool.close(required=wish.required, preferred=wish.preferred)


async def _nothing(lab: Lab) -> None:
    """The situation itself is the scenario."""


async def _play_on(
    ground: Ground, trial: Trial, situation: Situation, *, folder: Path, clock: Clock, pace: Pace
) -> Played:
    outcome = running.Outcome(begun_ns=clock.wall_ns())
    async with running.observed(trial, outcome, ground, records=folder / "records", clock=clock) as lab:
        play = _Play(situation, lab, ground, pace)
        try:
            stages = await play.to_its_end()
        finally:
            await play.clear()
    return Played(stages=stages, violations=outcome.violations)


def _trial(name: str, spec: LabSpec) -> Trial:
    return Trial(scenario=Scenario(name=name, function=_nothing), parameters={}, spec=spec, run_id=name)


def play_in_virtual_time(name: str, situation: Situation, settings: Mapping[str, str]) -> Played:
    """On the embedded engine with the reference scheduler, a lab of its own."""
    spec = check(
        LabSpec(
            name="virtual",
            engine="embedded",
            scheduler="reference",
            time="virtual",
            profile="unthrottled",
            settings={"reference": settings},
        )
    )
    trial = _trial(name, spec)

    async def run() -> Played:
        clock = LoopClock(asyncio.get_running_loop())
        with tempfile.TemporaryDirectory(prefix="kubedyno-") as text:
            folder, provided = Path(text), await provided_for(spec)
            async with own_ground(trial, folder=folder, provided=provided, clock=clock, progress=Quiet()) as ground:
                return await _play_on(ground, trial, situation, folder=folder, clock=clock, pace=VIRTUAL)

    return tasks.run(run, virtual=True)


@contextlib.asynccontextmanager
async def shared_ground(
    lab: RunningLab, run_id: str, lacks: Mapping[Feature, str], clock: Clock
) -> AsyncIterator[Ground]:
    """A lab that others have before and after; what the trial makes is removed."""
    cleaner = Cleaner(lab.client, run_id, clock)
    try:
        yield Ground(
            client=lab.client,
            scheduler=lab.scheduler,
            namespace=SHARED,
            settings=lab.settings,
            cleaner=cleaner,
            lacks=lacks,
        )
    finally:
        await lab.scheduler.restore()
        # It takes a namespace several seconds to go, so all share one; it is empty by now.
        await installing.ensure_namespace(lab.client, SHARED, labels={RUN_LABEL: "all"})
        await cleaner.clean()


async def play_on_shared(name: str, situation: Situation, lab: RunningLab, *, folder: Path, pace: Pace) -> Played:
    """On a lab that is there, in real time."""
    clock = RealClock()
    async with shared_ground(lab, name, {}, clock) as ground:
        trial = _trial(name, lab.plan.spec)
        return await _play_on(ground, trial, situation, folder=folder, clock=clock, pace=pace)
