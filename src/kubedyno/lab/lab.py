"""The Lab: what a scenario works with. Everything in it goes through the Kubernetes API."""

import asyncio
import statistics
from collections.abc import Mapping

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import CheckFailed, UsageError
from kubedyno.kube import meta
from kubedyno.kube.resources import PODS
from kubedyno.lab import installing
from kubedyno.lab.steering import SchedulerControl
from kubedyno.measure.following import Following
from kubedyno.measure.recorder import WORKLOAD_LABEL
from kubedyno.measure.records import Check, Measurement
from kubedyno.model.dialects import Dialect
from kubedyno.model.workloads import Workload
from kubedyno.sim import limits, pools
from kubedyno.sim.faults.injecting import ONCE, Injector, Trouble
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection
from kubedyno.sim.pools import Pool, applying, checking

_PARALLEL_CREATES = 32
_SCHEDULED_WITHIN_S = 120.0


class Stamp(msgspec.Struct, frozen=True):
    """When something happened: the best estimate and its bounds, ns since the epoch."""

    at_ns: int
    lower_ns: int
    upper_ns: int


class Workloads(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads that were submitted together."""

    names: frozenset[str]
    pods: int
    submitted: Stamp
    """From the first request to the last answer."""


class Lab:
    """A lab during one trial; scenarios get it as their first argument."""

    def __init__(
        self,
        *,
        client: Client,
        following: Following,
        dialect: Dialect,
        scheduler: SchedulerControl,
        namespace: str,
        clock: Clock,
        kubelet: str = "builtin",
        seed: int = 0,
    ) -> None:
        self.scheduler = scheduler
        self.measurements: list[Measurement] = []
        self.checks: list[Check] = []
        self._client = client
        self._following = following
        self._kept = following.recorder.kept
        self._dialect = dialect
        self._namespace = namespace
        self._clock = clock
        self._kubelet = kubelet
        self._seed = seed
        self._pools: set[str] = set()

    async def nodes(self, pool: str | Pool, *, count: int = 1, gpus: int = 8) -> None:
        """Create a pool of nodes and wait until all are Ready: the usual one by its name, or any other."""
        wanted = pools.base(pool, count, gpus=gpus) if isinstance(pool, str) else checking.check(pool)
        if wanted.name in self._pools:
            raise UsageError(f"pool {wanted.name} exists already: choose another name")
        if self._kubelet == "kwok":
            limits.refuse_pool(wanted)
        self._pools.add(wanted.name)
        await applying.apply(self._client, [wanted])

    async def fail(self, trouble: Trouble, nodes: Selection, timing: Timing = ONCE) -> None:
        """Let nodes fail; with a time it returns when they have recovered, else they stay so until `recover`."""
        if self._kubelet == "kwok":
            limits.refuse_trouble(trouble)
        await Injector(self._client, self._clock, seed=self._seed).fail(trouble, nodes, timing)

    async def recover(self, nodes: Selection) -> None:
        """Take the faults of nodes away."""
        await Injector(self._client, self._clock, seed=self._seed).recover(nodes)

    async def queue(self, name: str) -> str:
        """Create a queue, where the scheduler knows queues; its name, to submit to."""
        await installing.install_objects(self._client, self._dialect.queues((name,)))
        return name

    async def submit(self, shape: Workload, *, count: int = 1, queue: str | None = None) -> Workloads:
        """Create `count` workloads of a shape, in parallel; each one's objects in order."""
        wanted = [
            msgspec.structs.replace(shape, name=f"{shape.name}-{index}", namespace=self._namespace, queue=queue)
            for index in range(count)
        ]
        free_hands = asyncio.Semaphore(_PARALLEL_CREATES)

        async def create(workload: Workload) -> None:
            async with free_hands:
                for document in self._dialect.objects(workload):
                    await self._client.create(await self._client.resource_of(document), document)

        first_ns = self._clock.wall_ns()
        async with tasks.owning() as group:
            for workload in wanted:
                group.create_task(create(workload), name=f"submit {workload.name}")
        last_ns = self._clock.wall_ns()
        return Workloads(
            names=frozenset(workload.name for workload in wanted),
            pods=sum(workload.pods for workload in wanted),
            submitted=Stamp(first_ns, first_ns, last_ns),
        )

    async def scheduled(self, workloads: Workloads, *, timeout_s: float = _SCHEDULED_WITHIN_S) -> Stamp:
        """Wait until every pod of the workloads is bound; when the last one was."""
        await self._await_phase("scheduled", workloads, timeout_s)
        return self._last("scheduled", workloads)

    async def running(self, workloads: Workloads, *, timeout_s: float = _SCHEDULED_WITHIN_S) -> Stamp:
        """Wait until every pod of the workloads runs; when the last one did."""
        await self._await_phase("running", workloads, timeout_s)
        return self._last("running", workloads)

    async def _await_phase(self, phase: str, workloads: Workloads, timeout_s: float) -> None:
        awaited = self._kept.awaiting(phase, workloads.names, workloads.pods)
        try:
            async with tasks.owning() as group:
                alarm = group.create_task(self._clock.sleep(timeout_s), name=f"deadline of {phase}")
                reached = group.create_task(awaited.reached.wait(), name=f"await {phase}")
                await asyncio.wait((alarm, reached), return_when=asyncio.FIRST_COMPLETED)
                alarm.cancel()
                reached.cancel()
        finally:
            self._kept.forget(awaited)
        if not awaited.reached.is_set():
            raise CheckFailed(await self._why_not(phase, workloads, timeout_s))
        await self._following.settled()

    async def _why_not(self, phase: str, workloads: Workloads, timeout_s: float) -> str:
        """Which pods are not there yet, and what the scheduler says of the first."""
        done = {row.uid for row in self._kept.in_phase(phase, workloads.names)}
        late = [
            pod
            for pod in (await self._client.list_all(PODS, namespace=self._namespace)).items
            if meta.labels(pod).get(WORKLOAD_LABEL) in workloads.names and pod["metadata"]["uid"] not in done
        ]
        said = "no condition says why"
        for pod in late:
            condition = meta.condition(pod, "PodScheduled")
            if condition and condition.get("message"):
                said = f"{pod['metadata']['name']}: {condition['message']}"
                break
        return f"{len(late)} of {workloads.pods} pods were not {phase} within {timeout_s:g} s; {said}"

    def _last(self, phase: str, workloads: Workloads) -> Stamp:
        rows = self._kept.in_phase(phase, workloads.names)
        return Stamp(
            max(row.arrival_ns for row in rows),
            # Without a stamp of the server's all that is known is that it came after the submission began.
            max(row.lower_ns or workloads.submitted.lower_ns for row in rows),
            max(row.upper_ns for row in rows),
        )

    def measure(self, name: str, *, since: Stamp, until: Stamp) -> Measurement:
        """Record the seconds between two stamps, with bounds."""
        seconds = (until.at_ns - since.at_ns) / NS_PER_S
        measurement = Measurement(
            name=name,
            unit="s",
            value=seconds,
            lower=max(0.0, min(seconds, (until.lower_ns - since.upper_ns) / NS_PER_S)),
            upper=max(seconds, (until.upper_ns - since.lower_ns) / NS_PER_S),
            samples=(seconds,),
        )
        self.measurements.append(measurement)
        return measurement

    def measure_latency(self, name: str, workloads: Workloads, *, since: str, until: str) -> Measurement:
        """Record the seconds that each pod took from one phase to another, by arrival; the value is their median."""
        begun = {row.uid: row for row in self._kept.in_phase(since, workloads.names)}
        ended = {row.uid: row for row in self._kept.in_phase(until, workloads.names)}
        pairs = [(begun[uid], ended[uid]) for uid in begun if uid in ended]
        if not pairs:
            raise CheckFailed(f"{name}: no pod went from {since} to {until}")
        samples = tuple(sorted((after.arrival_ns - before.arrival_ns) / NS_PER_S for before, after in pairs))
        lowers = [((after.lower_ns or before.upper_ns) - before.upper_ns) / NS_PER_S for before, after in pairs]
        uppers = [(after.upper_ns - (before.lower_ns or before.upper_ns)) / NS_PER_S for before, after in pairs]
        value = statistics.median(samples)
        measurement = Measurement(
            name=name,
            unit="s",
            value=value,
            lower=max(0.0, min(value, statistics.median(lowers))),
            upper=max(value, statistics.median(uppers)),
            samples=samples,
        )
        self.measurements.append(measurement)
        return measurement

    def expect(self, name: str, holds: bool, detail: str = "") -> None:
        """Record a check; one that does not hold fails the trial when it is over."""
        self.checks.append(Check(name=name, passed=holds, detail=detail))

    def placement(self, workloads: Workloads) -> Mapping[str, str]:
        """Which node each pod of the workloads is bound to, by pod name."""
        rows = self._kept.in_phase("scheduled", workloads.names)
        return {row.name: row.node for row in rows if row.node}


def training(*, gpus: int = 1) -> Workload:
    """One pod with GPUs."""
    return Workload(name="training", gpus=gpus)


def distributed(*, workers: int, gpus: int = 1) -> Workload:
    """A gang of workers: all start or none does."""
    return Workload(name="distributed", pods=workers, gpus=gpus)


def over_committed(placement: Mapping[str, str], gpus_per_pod: int, gpus_per_node: int) -> list[str]:
    """Nodes that hold more GPUs than they have."""
    used: dict[str, int] = {}
    for node in placement.values():
        used[node] = used.get(node, 0) + gpus_per_pod
    return sorted(node for node, total in used.items() if total > gpus_per_node)
