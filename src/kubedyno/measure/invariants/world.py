"""The cluster as the watch streams have told it so far: what rules judge by. Changes come in the order of versions."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.invariants.facts import (
    GPU,
    ClaimFacts,
    EvictionFacts,
    GroupFacts,
    GroupKey,
    Key,
    NodeFacts,
    PodFacts,
    QueueFacts,
    Shares,
    TopologyFacts,
)
from kubedyno.measure.invariants.ledger import Charge, Ledger, Path
from kubedyno.measure.invariants.reading import megabytes
from kubedyno.model.workloads import NON_PREEMPTIBLE_FROM, PRIORITIES, TRAIN

_DEEPEST: Final = 16
"""Of queues: a circle of parents is not followed for ever."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long others may take, in seconds."""

    reaction_s: float = 2.0
    """A scheduler may act on what was true so long ago: it decides, then binds."""
    filling_s: float = 60.0
    """Between two pods of a gang that starts."""
    stale_s: float = 90.0
    """A gang that lost pods may stay so long: KAI grants it 60 s, and then needs a cycle."""
    evidence_s: float = 10.0
    """An event may tell so much later of what happened."""
    usage_s: float = 60.0
    """Victims are chosen by the use of queues at most so long ago."""


class Pod(msgspec.Struct, eq=False):
    """A pod that is there."""

    facts: PodFacts
    was_placed: bool
    """Whether it had a node when it was first seen: no scheduler was seen to choose it."""
    decided_ns: int | None = None
    """When its scheduler was seen to have chosen its node, where it tells before it binds."""
    counted: bool = False
    """Whether it counts for its gang and its queue: it holds a node and is not on its way out."""


class Node(msgspec.Struct, eq=False):
    """A node, and what it was before, as long as that matters."""

    facts: NodeFacts | None
    """None: it is gone."""
    before: list[tuple[int, NodeFacts]]
    """When a state ended, and the state."""
    used: Counter[str]
    pods: dict[str, Pod]

    def states(self, since_ns: int) -> Iterator[NodeFacts]:
        """What it is, and all that it was since then."""
        if self.facts is not None:
            yield self.facts
        for ended_ns, facts in reversed(self.before):
            if ended_ns < since_ns:
                return
            yield facts


class Gang(msgspec.Struct, eq=False):
    """The pods of a group that count."""

    counted: Counter[str]
    """By the name of their sub-group."""
    finished: int = 0
    evicted: int = 0
    was_whole: bool = False


class World:
    """All that is known. Only the watchdog changes it."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.pods: dict[str, Pod] = {}
        self.by_key: dict[Key, str] = {}
        self.shares_gpus = False
        """Whether any pod ever asked for a part of a GPU."""
        self.accepted: set[Key] = set()
        """Pods that the API has accepted, as whoever sent them says."""
        self.seen: set[Key] = set()
        """Pods that were there at any time."""
        self.nodes: dict[str, Node] = {}
        self.gangs: dict[GroupKey, Gang] = {}
        self.groups: dict[GroupKey, GroupFacts] = {}
        self.group_uids: dict[str, GroupKey] = {}
        self.queues: dict[str, QueueFacts] = {}
        self.earlier_queues: dict[str, tuple[int, QueueFacts]] = {}
        """What a queue was until when."""
        self.claims: dict[str, ClaimFacts] = {}
        self.topologies: dict[str, TopologyFacts] = {}
        self.priorities: dict[str, int] = dict(PRIORITIES)
        self.evictions: dict[tuple[str, Key], tuple[int, EvictionFacts]] = {}
        """The last that was told of a pod or a group, by its kind and key, and when."""
        self.held = Ledger(self._quota)
        """By pods with a node."""
        self.reach = Ledger(self._quota)
        """By those, and by pods that are about to get one."""
        self.fixed = Ledger(self._quota)
        """By pods with a node that nobody may take away."""

    def since(self, at_ns: int, patience_s: float) -> int:
        """So long before."""
        return at_ns - round(patience_s * NS_PER_S)

    def states(self, pod: Pod, at_ns: int) -> Iterator[NodeFacts]:
        """All that the node of a pod was when its scheduler may have chosen it, or has been since."""
        decided_ns = at_ns if pod.decided_ns is None else min(at_ns, pod.decided_ns)
        return self.nodes[pod.facts.node or ""].states(self.since(decided_ns, self.patience.reaction_s))

    def node(self, name: str) -> Node:
        """A node by name, known or not."""
        found = self.nodes.get(name)
        if found is None:
            found = self.nodes[name] = Node(None, [], Counter(), {})
        return found

    def allocatable(self, pod: Pod, resource: str, at_ns: int) -> int | None:
        """The most that the node of a pod had of a resource, as its scheduler may have known it; None: no node."""
        return max((one.allocatable.get(resource, 0) for one in self.states(pod, at_ns)), default=None)

    def group_of(self, pod: PodFacts) -> GroupFacts | None:
        """The gang of a pod."""
        return self.groups.get(pod.group) if pod.group is not None else None

    def queue_of(self, pod: PodFacts) -> str | None:
        """The queue of a pod: that of its group, else its own."""
        group = self.group_of(pod)
        return (group.queue if group is not None and group.queue is not None else None) or pod.queue

    def path(self, queue: str | None) -> Path:
        """A queue and those above it."""
        found: list[str] = []
        while queue is not None and len(found) < _DEEPEST:
            found.append(queue)
            facts = self.queues.get(queue)
            queue = facts.parent if facts is not None else None
        return tuple(found)

    def priority_of(self, pod: PodFacts) -> int:
        """The priority of a pod: that of its group where groups have one."""
        group = self.group_of(pod)
        told = self.priority_of_group(group) if group is not None else None
        if told is not None:
            return told
        if pod.queue is not None and pod.priority_class:
            return self.priorities.get(pod.priority_class, 0)
        return pod.priority or (PRIORITIES[TRAIN] if pod.queue is not None else 0)

    def priority_of_group(self, group: GroupFacts) -> int | None:
        """The priority that a group itself has; None: its pods have their own."""
        if group.queue is not None:
            return self.priorities.get(group.priority_class or TRAIN, 0)
        return group.priority

    def is_fixed(self, pod: PodFacts) -> bool:
        """Whether nobody may take its node away from a pod; only queues give that right."""
        if self.queue_of(pod) is None:
            return False
        group = self.group_of(pod)
        told = (group.preemptibility if group is not None else None) or pod.preemptibility
        return told == "non-preemptible" if told else self.priority_of(pod) >= NON_PREEMPTIBLE_FROM

    def gpus_of(self, pod: PodFacts) -> float:
        """Whole GPUs and parts of them."""
        if pod.gpu_memory and not pod.fraction:
            return self._part(pod) * max(1, len(pod.gpu_groups))
        return pod.ask.amount(GPU) / 1000 + pod.shared_gpus

    def portion(self, pod: PodFacts) -> float:
        """Which part of each of its shared GPUs a pod takes."""
        return pod.fraction or self._part(pod)

    def charge_of(self, pod: PodFacts) -> Charge:
        """What a pod takes of its queue."""
        shares: Shares = self.gpus_of(pod), float(pod.ask.amount("cpu")), megabytes(pod.ask.amount("memory"))
        return Charge(self.path(self.queue_of(pod)), shares)

    def domain(self, node: str, group: GroupFacts, level: str) -> tuple[str | None, ...]:
        """The domain of a node at a level: its labels down to there; None where it has no such label."""
        facts = self.nodes[node].facts if node in self.nodes else None
        labels = facts.labels if facts is not None else {}
        topology = self.topologies.get(group.topology or "")
        levels = topology.levels if topology is not None and level in topology.levels else (level,)
        return tuple(labels.get(key) for key in levels[: levels.index(level) + 1])

    def _part(self, pod: PodFacts) -> float:
        node = self.nodes.get(pod.node or "")
        memory = (node.facts.labels.get("nvidia.com/gpu.memory") if node is not None and node.facts else None) or ""
        return pod.gpu_memory / int(memory) if memory.isdecimal() and int(memory) else 0.0

    def _quota(self, queue: str) -> Shares | None:
        facts = self.queues.get(queue)
        return facts.quota if facts is not None else None
