"""The Lab: what a scenario works with. Everything in it goes through the Kubernetes API."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import NotApplicable, UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab import apart, feasible, installing, measuring
from kubedyno.lab.cleaning import Cleaner
from kubedyno.lab.communicating import Communicating
from kubedyno.lab.creating import RUN_LABEL, Creator, labelled
from kubedyno.lab.exporters import Exporters
from kubedyno.lab.handles import Evicted, Nodes, Stamp, Workloads
from kubedyno.lab.ledgers import NOBODY, Kubelets, Ledgers
from kubedyno.lab.scraping import Scraper
from kubedyno.lab.spec import LabSpec
from kubedyno.lab.standing import Goal, Standing
from kubedyno.lab.steering import SchedulerControl
from kubedyno.lab.waiting import Waiting
from kubedyno.measure.following import Following
from kubedyno.measure.records import Case, Check, CurvePoint, KneeRecord, Measurement, Threshold
from kubedyno.model.dialects import Dialect, Surroundings
from kubedyno.model.features import Feature, missing
from kubedyno.model.queues import UNLIMITED, Queue, Share
from kubedyno.model.settings import Setting
from kubedyno.model.workloads import Workload
from kubedyno.sim import hollow_nodes, limits, marks, pools
from kubedyno.sim.faults.injecting import ONCE, Injector, Trouble
from kubedyno.sim.faults.scheduling import Timing
from kubedyno.sim.faults.selecting import Selection
from kubedyno.sim.pools import Pool, applying, checking
from kubedyno.sim.pools.topology import tree

_WRITERS = 32


class Lab:
    """A lab during one trial; scenarios get it as their first argument."""

    spec: LabSpec | None = None
    """What it was asked to be; None: nobody says."""
    access: Access | None = None
    """How others connect to its API server; None: `client` is all there is."""
    scraper: Scraper = Scraper(None)
    """Reads the metrics of its components."""
    is_foreign: bool = False
    """Whether it is a cluster that is no lab of ours."""
    drives_nodes: bool = False
    """Whether the kubelets of the trial's nodes are played by this process, since nobody else does there."""
    communicating: Communicating | None = None
    """Who asks whom, and who is at his limit: of NUMA trials, and of labs with an audit log."""

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
        lacks: Mapping[Feature, str] | None = None,
        run_id: str = "none",
        settings: Sequence[Setting] = (),
        cleaner: Cleaner | None = None,
        keeps_apart: bool = False,
    ) -> None:
        self.scheduler = scheduler
        self.clock = clock
        self.seed = seed
        self.rng = randomness.stream(seed, "scenario")
        self.measurements: list[Measurement] = []
        self.checks: list[Check] = []
        self.cases: list[Case] = []
        self.curves: list[CurvePoint] = []
        self.knees: list[KneeRecord] = []
        self.thresholds: list[Threshold] = []
        self.summaries: dict[str, str | bytes] = {}
        """Files of the scenario's own that are kept with the trial: their content by name."""
        self.submitted_pods = 0
        self.timed_ns: int | None = None
        """How long the timed parts took; None: there was none."""
        self.timed_span: tuple[int, int] | None = None
        """From the beginning of the first to the end of the last, ns since the epoch."""
        self.standing = Standing(following.recorder.kept)
        self.creator = Creator(client, clock)
        self.made: list[str] = []
        """Names of the pools."""
        self.exporters = Exporters(None, clock=clock)
        """Of the NUMA zones of its nodes; none are there before they are started."""
        self.ledgers = Ledgers(Kubelets(why_not=NOBODY))
        """What the pods on its nodes hold, in truth."""
        self.on_delete: Callable[[Iterable[str]], object] = set
        """Told of the workloads that are about to be deleted."""
        self.client = client
        """For what the Lab has no words for."""
        self.namespace = namespace
        """Of the workloads."""
        self._client = client
        self._following = following
        self._kept = following.recorder.kept
        self._dialect = dialect
        self._namespace = namespace
        self._kubelet = kubelet
        self._lacks = lacks or {}
        self._run_id = run_id
        self._settings = settings
        self._cleaner = cleaner
        self._keeps_apart = keeps_apart
        self._labels: dict[str, Mapping[str, str]] = {}
        self._next: Counter[str] = Counter()
        self._shapes: dict[str, Workload] = {}
        self._deleted: set[str] = set()
        self._queues: dict[str, Queue] = {}
        self._queue_objects: dict[tuple[str, str], Object] = {}
        self._around = Surroundings(namespace=namespace, suffix="" if cleaner is None else run_id)
        self._moved_ns = clock.wall_ns()

    # What there is.

    async def nodes(
        self, pool: str | Pool, *, count: int | None = None, gpus: int = 8, topology: Mapping[str, int] | None = None
    ) -> Nodes:
        """Create a pool of nodes and wait until all are Ready: the usual one by its name, or any other.

        `topology` is a tree, outermost level first, like `{"zone": 2, "rack": 4, "node": 8}`; `count` is 1 or as many
        as the tree has leaves unless it is given.
        """
        wanted = checking.check(_pool(pool, count, gpus, topology) if isinstance(pool, str) else pool)
        if wanted.name in self.made:
            raise UsageError(f"pool {wanted.name} exists already: choose another name")
        limits.refuse_pool(wanted, self._kubelet)
        if self._keeps_apart:
            wanted = apart.pool_of(wanted, self._run_id)
        if self._cleaner is not None:
            await self._cleaner.refuse_others_pool(wanted.name, size=wanted.size)
        self.made.append(wanted.name)
        await applying.apply(self._client, [wanted])
        found = (await self._client.list_all(NODES, label_selector=f"{marks.POOL}={wanted.name}")).items
        self._labels |= {node["metadata"]["name"]: meta.labels(node) for node in found}
        if self._kubelet == "kubemark":
            await hollow_nodes.awaited(self._client, [node["metadata"]["name"] for node in found])
        levels = wanted.topology.levels if wanted.topology is not None else ()
        made = Nodes(
            pool=wanted.name,
            names=tuple(node["metadata"]["name"] for node in found),
            gpus=wanted.gpus if isinstance(wanted.gpus, int) else wanted.gpus.number,
            topology=(wanted.topology.name or wanted.name) if wanted.topology is not None else None,
            levels={level.level: level.key for level in levels},
        )
        self._around = msgspec.structs.replace(
            self._around,
            gpus=(self._around.gpus or 0) + len(made.names) * made.gpus,
            topology=made.topology or self._around.topology,
        )
        await self._write_queues()
        return made

    def own_nodes(self, names: Iterable[str]) -> None:
        """Nodes of these names, which the scenario makes by itself and removes, are the trial's: played with its own.

        Before they are made.
        """
        if self._cleaner is not None:
            self._cleaner.own_nodes(names)

    @property
    def run_id(self) -> str:
        """Of the run that the trial is of."""
        return self._run_id

    async def fail(self, trouble: Trouble, nodes: Selection, timing: Timing = ONCE) -> None:
        """Let nodes fail; with a time it returns when they have recovered, else they stay so until `recover`."""
        limits.refuse_trouble(trouble, self._kubelet)
        await Injector(self._client, self.clock, seed=self.seed).fail(trouble, nodes, timing)

    async def recover(self, nodes: Selection) -> None:
        """Take the faults of nodes away."""
        await Injector(self._client, self.clock, seed=self.seed).recover(nodes)

    async def queue(
        self,
        name: str,
        *,
        parent: str | None = None,
        quota: float = UNLIMITED,
        weight: float = 1.0,
        limit: float = UNLIMITED,
        priority: int = 100,
    ) -> str:
        """Create a queue or change it; figures are GPUs, -1 is all there are. Its name, to submit to.

        A scheduler that knows no queues has none: NotApplicable when the queue asks for more than to be one.
        """
        share = Share(quota=quota, over_quota_weight=weight, limit=limit)
        wanted = Queue(name=name, parent=parent, gpu=share, priority=priority)
        if not wanted.is_plain:
            self._refuse(f"queue {name}", ("quotas",))
        self._queues[name] = wanted
        await self._write_queues()
        return name

    async def _write_queues(self) -> None:
        """Write what changed of the objects of all queues: what one is made of may depend on others, and on nodes."""
        if not self._queues:
            return
        queues = tuple(self._queues.values())
        documents = [labelled(document, self._run_id) for document in self._dialect.queues(queues, self._around)]
        for document in documents:
            key = document["kind"], document["metadata"]["name"]
            if self._queue_objects.get(key) != document:
                if self._cleaner is not None:
                    await self._cleaner.refuse_others(document)
                await installing.apply(self._client, document)
                self._queue_objects[key] = document

    def is_idle(self) -> bool:
        """Whether no pod waits for the scheduler."""
        return self.standing.waiting == 0

    def setting(self, component: str, field: str) -> str | None:
        """What a component runs with, as it was read back when the lab was up; None: it does not say."""
        return next((one.value for one in self._settings if (one.component, one.field) == (component, field)), None)

    # What is submitted, and what becomes of it.

    async def submit(
        self,
        shape: Workload,
        *,
        count: int = 1,
        queue: str | None = None,
        name: str | None = None,
        writers: int = _WRITERS,
        over_s: float | None = None,
    ) -> Workloads:
        """Create `count` workloads of a shape, `writers` at a time, as fast as it goes or evenly `over_s` seconds.

        Each one's objects are created in order. Workloads are called after `name`, else after their shape.
        """
        self._refuse(f"workload {shape.name}", tuple(shape.features()))
        base = name or shape.name
        begin = self._next[base]
        self._next[base] += count
        labels = {**shape.labels, RUN_LABEL: self._run_id}
        wanted = [
            msgspec.structs.replace(
                shape,
                name=f"{base}-{index}",
                namespace=self._namespace,
                queue=queue if queue is not None else shape.queue,
                labels=labels,
            )
            for index in range(begin, begin + count)
        ]
        if self._keeps_apart:
            wanted = [apart.workload_of(workload, self._run_id) for workload in wanted]
        self._shapes.update((workload.name, shape) for workload in wanted)
        self.submitted_pods += shape.pod_count * count
        submitted = await self.creator.create(
            wanted, self._dialect.objects, run_id=self._run_id, writers=writers, over_s=over_s
        )
        self._moved_ns = submitted.upper_ns
        return Workloads(
            names=frozenset(workload.name for workload in wanted),
            pods=shape.pod_count * count,
            submitted=submitted,
            shape=shape,
        )

    async def created(self, workloads: Workloads, *, stalled_after_s: float | None = None) -> Stamp:
        """Wait until every pod of the workloads exists, which those of Jobs do later; when the last one did.

        Where the scheduler holds pods back until it has decided, the workloads are all that is awaited.
        """
        if self._dialect.holds_pods_back:
            return workloads.submitted
        return await self._reached("created", "created", workloads, stalled_after_s)

    async def scheduled(self, workloads: Workloads, *, stalled_after_s: float | None = None) -> Stamp:
        """Wait until every pod of the workloads is bound; when the last one was."""
        return await self._reached("scheduled", "scheduled", workloads, stalled_after_s)

    async def running(self, workloads: Workloads, *, stalled_after_s: float | None = None) -> Stamp:
        """Wait until every pod of the workloads runs; when the last one did."""
        return await self._reached("running", "running", workloads, stalled_after_s)

    async def completed(self, workloads: Workloads, *, stalled_after_s: float | None = None) -> Stamp:
        """Wait until every pod of the workloads has succeeded, be it still there or not; when the last one had."""
        return await self._reached("completed", "succeeded", workloads, stalled_after_s)

    async def unschedulable(self, workloads: Workloads, *, stalled_after_s: float | None = None) -> Stamp:
        """Wait until it was said of every workload that it cannot be scheduled now; when it was of the last one."""
        needs = dict.fromkeys(workloads.names, 1)
        await self._until("unschedulable", needs, workloads, stalled_after_s)
        said = [
            row
            for role in ("pod", "podgroup", "workload")
            for row in self._kept.in_phase("unschedulable", workloads.names, role=role)
        ]
        return measuring.last(said, workloads.submitted)

    async def settled(self, *, quiet_s: float = 5.0) -> None:
        """Wait until nothing was bound, evicted, ended or deleted for so long."""
        while True:
            moved_ns = max(self.standing.moved_ns, self._moved_ns)
            left_s = quiet_s - (self.clock.wall_ns() - moved_ns) / NS_PER_S
            if left_s <= 0:
                return
            await self.clock.sleep(left_s)

    async def delete(self, workloads: Workloads) -> None:
        """Delete the workloads, and wait until their pods are gone."""
        self._deleted |= workloads.names
        self.on_delete(workloads.names)
        await self.creator.delete(workloads.names)
        needs = Counter(pod.workload for pod in self.standing.pods(workloads.names))
        await self._until("gone", needs, workloads, None)
        self._moved_ns = self.clock.wall_ns()

    def placement(self, workloads: Workloads) -> Mapping[str, str]:
        """The node of each pod of the workloads that holds one now, by pod name."""
        return {pod.name: pod.node for pod in self.standing.pods(workloads.names) if pod.holds_node and pod.node}

    def placed(self, workloads: Workloads) -> Mapping[str, int]:
        """How many pods of each workload hold a node now, by workload name."""
        counted = Counter(pod.workload for pod in self.standing.pods(workloads.names) if pod.holds_node)
        return {name: counted[name] for name in sorted(workloads.names)}

    def domains(self, workloads: Workloads, level_key: str) -> Mapping[str, int]:
        """How many pods of the workloads are in each domain now, by the value of a label of the lab's nodes."""
        held = (self._labels.get(node, {}).get(level_key, "") for node in self.placement(workloads).values())
        return Counter(held)

    def domain_of(self, level_key: str) -> Mapping[str, str]:
        """The domain of each of the lab's nodes, by its name: the value of a label."""
        return {name: labels[level_key] for name, labels in self._labels.items() if level_key in labels}

    def evicted(self, workloads: Workloads) -> tuple[Evicted, ...]:
        """The pods of the workloads that the scheduler took away from their nodes so far, in the order of time."""
        taken = self.standing.taken(sorted(workloads.names), self._deleted.__contains__)
        found = [
            Evicted(
                name=pod.name,
                workload=pod.workload,
                gpus=feasible.gpus_of(self._shapes[pod.workload], pod.name),
                node=pod.node or "",
                at=Stamp.exactly(pod.ended_ns or self.clock.wall_ns()),
                by=pod.evictor or "",
            )
            for pod in taken
        ]
        return tuple(sorted(found, key=lambda one: (one.at.at_ns, one.name)))

    # What comes out.

    def measure(self, name: str, *, since: Stamp, until: Stamp) -> Measurement:
        """Record the seconds between two stamps, with bounds."""
        return self._measured(measuring.between(name, since, until))

    def measure_latency(self, name: str, workloads: Workloads, *, since: str, until: str) -> Measurement:
        """Record the seconds that each pod took from one phase to another, by arrival; the value is their median."""
        begun, ended = (self._kept.in_phase(phase, workloads.names) for phase in (since, until))
        return self._measured(measuring.latency(name, begun, ended))

    def latencies(self, workloads: Workloads, *, since: str, until: str) -> tuple[float, ...]:
        """The same seconds without recording them; none of pods that did not reach both phases."""
        begun, ended = (self._kept.in_phase(phase, workloads.names) for phase in (since, until))
        first = {row.uid: row.arrival_ns for row in begun}
        return tuple((row.arrival_ns - first[row.uid]) / NS_PER_S for row in ended if row.uid in first)

    def record(self, name: str, unit: str, samples: float | Sequence[float]) -> Measurement:
        """Record figures of the scenario's own: one, or several whose median is the value."""
        several = (samples,) if isinstance(samples, int | float) else samples
        return self._measured(measuring.sampled(name, unit, several))

    def expect(self, name: str, holds: bool, detail: str = "") -> None:
        """Record a check; one that does not hold fails the trial when it is over."""
        self.checks.append(Check(name=name, passed=bool(holds), detail=detail))

    def skip(self, name: str, why: str) -> None:
        """Record a check that could not be made here, and why: it fails nothing, and is told as skipped."""
        self.checks.append(Check(name=name, passed=True, detail=why, skipped=True))

    def case(
        self,
        *,
        target: str,
        component: str,
        failure: str,
        expected: str,
        observed: str,
        holds: bool = True,
        finding: str = "",
        breaks: tuple[int, ...] = (),
    ) -> None:
        """Record a test case, and with it a check that what was seen is what was expected.

        `finding` names the known fault of a component that is expected instead of what would be right.
        """
        self.cases.append(
            Case(
                target=target,
                component=component,
                failure=failure,
                expected=expected,
                observed=observed,
                passed=bool(holds),
                finding=finding,
                breaks=breaks,
            )
        )
        self.expect(f"{target}: {failure}", holds, f"expected {expected}; observed {observed}")

    def expect_at_most(self, measurement: str, value: float, *, percent: float | None = None) -> None:
        """A measurement (or a percentile of it) must not be above a value when the trial is over."""
        self.thresholds.append(Threshold(measurement=measurement, at_most=value, percent=percent))

    @contextlib.contextmanager
    def timed(self, *, since: Stamp | None = None) -> Iterator[None]:
        """The timed part: what comes before is setup. Without it the whole scenario is timed.

        It begins now, or at an earlier moment, like that at which the scheduler was started again.
        """
        begun_ns = self.clock.wall_ns() if since is None else since.at_ns
        try:
            yield
        finally:
            ended_ns = self.clock.wall_ns()
            self.timed_ns = (self.timed_ns or 0) + ended_ns - begun_ns
            self.timed_span = (self.timed_span or (begun_ns, 0))[0], ended_ns

    def _measured(self, measurement: Measurement) -> Measurement:
        if any(one.name == measurement.name for one in self.measurements):
            raise UsageError(f"the scenario measures {measurement.name!r} twice: give each its own name")
        self.measurements.append(measurement)
        return measurement

    def _refuse(self, what: str, needs: Sequence[Feature]) -> None:
        reasons = missing(needs, self._lacks)
        if reasons:
            raise NotApplicable(f"{what} cannot be written for this scheduler: {'; '.join(reasons)}")

    async def _reached(self, goal: Goal, phase: str, workloads: Workloads, stalled_after_s: float | None) -> Stamp:
        needs = {name: self._shapes[name].pod_count for name in workloads.names}
        await self._until(goal, needs, workloads, stalled_after_s)
        await self._following.settled()
        return measuring.last(self._kept.in_phase(phase, workloads.names), workloads.submitted)

    async def _until(
        self, goal: Goal, needs: Mapping[str, int], workloads: Workloads, stalled_after_s: float | None
    ) -> None:
        waiting = Waiting(
            self._client,
            self.standing,
            self._dialect.lifecycle.kinds,
            namespace=self._namespace,
            clock=self.clock,
        )
        shapes = [self._shapes[name] for name in sorted(workloads.names)]

        async def about() -> str:
            told = [self.scheduler.told(), feasible.told(shapes, (await self._client.list_all(NODES)).items)]
            return "".join(f"; {one}" for one in told if one)

        await waiting.until(goal, needs, stalled_after_s=stalled_after_s, about=about)


def _pool(name: str, count: int | None, gpus: int, topology: Mapping[str, int] | None) -> Pool:
    if topology is None:
        return pools.base(name, 1 if count is None else count, gpus=gpus)
    wanted = tree(topology)
    base = pools.base(name, wanted.leaves if count is None else count, gpus=gpus)
    return msgspec.structs.replace(base, topology=wanted)


def over_committed(placement: Mapping[str, str], gpus_per_pod: int, gpus_per_node: int) -> list[str]:
    """Nodes that hold more GPUs than they have."""
    used: Counter[str] = Counter()
    for node in placement.values():
        used[node] += gpus_per_pod
    return sorted(node for node, total in used.items() if total > gpus_per_node)
