"""Keeping the lives of pods, claims, nodes and queues as the watch streams tell of them."""

from collections.abc import Callable, Collection

import msgspec

from kubedyno.client.watching import ChangeType
from kubedyno.measure.invariants.facts import (
    GPU,
    ClaimFacts,
    Facts,
    GroupFacts,
    GroupKey,
    JobFacts,
    NodeFacts,
    PodFacts,
    QueueFacts,
    SliceFacts,
    TopologyFacts,
)
from kubedyno.measure.invariants.world import World
from kubedyno.measure.lives import Allocation, ClaimLife, Lives, NodeLife, PodLife, QueueLife

_ENDS = {"Succeeded": "succeeded", "Failed": "failed"}


class Living:
    """Told of facts as they arrive; of a pod it keeps what its life says and no more.

    Pods and claims of other namespaces than `namespaces` are left out (None: those of all are in), reservations always.
    What pods owe to their groups (queue, priority, least number) and Jobs is looked up when it is asked for: those may
    come later.
    """

    def __init__(self, world: World, *, namespaces: Collection[str] | None = None) -> None:
        self._world = world
        self._namespaces = namespaces
        self._pods: dict[str, PodLife] = {}
        self._group_of: dict[str, GroupKey] = {}
        self._groups: dict[GroupKey, GroupFacts] = {}
        self._job_of: dict[str, str] = {}
        """By the uid of a pod that of its controller."""
        self._jobs: dict[str, JobFacts] = {}
        self._claims: dict[str, ClaimLife] = {}
        self._nodes: dict[str, NodeLife] = {}
        self._past_nodes: list[NodeLife] = []
        self._queues: dict[str, QueueFacts] = {}
        self._queue_states: list[QueueLife] = []
        self._claimed: dict[str, dict[str, int]] = {}
        """By the uid of a pod and that of a claim: devices."""
        self._slices: dict[str, dict[str, int]] = {}
        """By node and slice: devices."""
        self._levels: tuple[str, ...] = ()
        self._texts: dict[str, str] = {}

    def tell(self, kind: ChangeType, facts: Facts, arrival_ns: int) -> None:
        """An object was added, changed or deleted."""
        match facts:
            case PodFacts():
                if self._concerns(facts.namespace) and not facts.reserves:
                    self._pod(kind, facts, arrival_ns)
            case NodeFacts():
                self._node(kind, facts, arrival_ns)
            case GroupFacts():
                self._groups[facts.key] = facts
            case QueueFacts():
                self._queue(kind, facts, arrival_ns)
            case ClaimFacts():
                self._claim(kind, facts, arrival_ns)
            case JobFacts():
                self._jobs[facts.uid] = facts
            case SliceFacts(node=str(node)):
                self._slices.setdefault(node, {})[facts.name] = facts.devices
            case TopologyFacts():
                self._levels = max(self._levels, facts.levels, key=len)

    def _concerns(self, namespace: str) -> bool:
        return self._namespaces is None or namespace in self._namespaces

    def lives(self, was_evicted: Callable[[str], bool]) -> Lives:
        """All lives so far; `was_evicted` says of a pod that is gone whether its scheduler took it."""
        return Lives(
            pods=[self._told(life, was_evicted) for life in self._pods.values()],
            nodes=[self._equipped(life) for life in (*self._past_nodes, *self._nodes.values())],
            queues=list(self._queue_states),
            levels=self._levels,
            claims=list(self._claims.values()),
        )

    def _pod(self, kind: ChangeType, facts: PodFacts, arrival_ns: int) -> None:
        life = self._pods.get(facts.uid)
        if life is None:
            life = self._pods[facts.uid] = PodLife(
                uid=facts.uid,
                namespace=self._once(facts.namespace),
                name=facts.name,
                workload=self._once(facts.workload) if facts.workload is not None else None,
                group=None,
                least=1,
                queue=self._once(facts.queue) if facts.queue is not None else None,
                gpus=self._world.gpus_of(facts),
                priority=self._world.priority_of(facts),
                created_ns=arrival_ns,
            )
            if facts.owner is not None:
                self._job_of[facts.uid] = self._once(facts.owner)
        if facts.group is not None and life.group is None:
            life.group = f"PodGroup/{facts.group[1]}/{facts.group[2]}"
            self._group_of[facts.uid] = facts.group
        if facts.unschedulable and life.unschedulable_ns is None:
            life.unschedulable_ns = arrival_ns
        if facts.node is not None and life.bound_ns is None:
            life.bound_ns, life.node = arrival_ns, self._once(facts.node)
            # Which GPUs it shares shows now; what memory they have, its node says.
            life.gpus = self._world.gpus_of(facts)
        if facts.phase == "Running" and life.running_ns is None:
            life.running_ns = arrival_ns
        if life.ended_ns is None and (facts.finished or kind == "DELETED"):
            life.ended_ns = arrival_ns
            life.end = _ENDS.get(facts.phase, "deleted")

    def _told(self, life: PodLife, was_evicted: Callable[[str], bool]) -> PodLife:
        """A life with what is known elsewhere; its own state stays as it is."""
        told = msgspec.structs.replace(life, gpus=life.gpus + sum(self._claimed.get(life.uid, {}).values()))
        key = self._group_of.get(life.uid)
        group = self._groups.get(key) if key is not None else None
        if group is not None:
            told.least, told.queue = group.least, group.queue or life.queue
            priority = self._world.priority_of_group(group)
            told.priority = life.priority if priority is None else priority
        job = self._jobs.get(self._job_of.get(life.uid, ""))
        if job is not None:
            told.job, told.abreast = f"Job/{job.key[0]}/{job.key[1]}", job.abreast
        if told.end in {"deleted", "failed"} and was_evicted(life.uid):
            told.end = "evicted"
        return told

    def _claim(self, kind: ChangeType, facts: ClaimFacts, arrival_ns: int) -> None:
        for uid in facts.reserved_for if facts.devices else ():
            self._claimed.setdefault(uid, {})[facts.uid] = len(facts.devices)
        if not self._concerns(facts.key[0]):
            return
        life = self._claims.get(facts.uid)
        if life is None:
            life = self._claims[facts.uid] = ClaimLife(
                uid=facts.uid,
                namespace=self._once(facts.key[0]),
                name=facts.key[1],
                created_ns=arrival_ns,
                allocations=[],
            )
        has = life.allocations[-1] if life.allocations and life.allocations[-1].until_ns is None else None
        if has is not None and (kind == "DELETED" or not facts.allocated):
            has.until_ns = arrival_ns
        elif has is None and facts.allocated:
            life.allocations.append(
                Allocation(
                    since_ns=arrival_ns,
                    until_ns=arrival_ns if kind == "DELETED" else None,
                    devices=(*facts.devices, *facts.shares),
                )
            )
        if facts.reserved_for and life.reserved_ns is None:
            life.reserved_ns, life.pod = arrival_ns, facts.reserved_for[0]
        if kind == "DELETED":
            life.gone_ns = arrival_ns

    def _node(self, kind: ChangeType, facts: NodeFacts, arrival_ns: int) -> None:
        life = self._nodes.get(facts.name)
        if kind == "DELETED":
            if life is not None:
                life.gone_ns = arrival_ns
                self._past_nodes.append(self._nodes.pop(facts.name))
            return
        gpus = facts.allocatable.get(GPU, 0) / 1000
        if life is None:
            self._nodes[facts.name] = NodeLife(name=facts.name, gpus=gpus, labels=facts.labels, seen_ns=arrival_ns)
        else:
            life.gpus, life.labels = gpus, facts.labels

    def _equipped(self, life: NodeLife) -> NodeLife:
        """A node whose devices are told of by slices has those; where both tell, they are the same GPUs."""
        return msgspec.structs.replace(life, gpus=max(life.gpus, float(sum(self._slices.get(life.name, {}).values()))))

    def _queue(self, kind: ChangeType, facts: QueueFacts, arrival_ns: int) -> None:
        if kind == "DELETED" or self._queues.get(facts.name) == facts:
            return
        self._queues[facts.name] = facts
        self._queue_states.append(
            QueueLife(
                name=facts.name,
                parent=facts.parent,
                quota=facts.quota[0],
                over_quota_weight=facts.over_quota_weight,
                limit=facts.limit[0],
                priority=facts.priority,
                since_ns=arrival_ns,
            )
        )

    def _once(self, text: str) -> str:
        """The same text as one object: nodes, queues and workloads are those of many."""
        return self._texts.setdefault(text, text)
