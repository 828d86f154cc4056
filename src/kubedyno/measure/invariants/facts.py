"""What the invariants know of each kind of object: no more than they judge by. Amounts are thousandths of units."""

from typing import Final, TypeAlias

import msgspec

from kubedyno.kube.placement import NodeSelector

GPU: Final = "nvidia.com/gpu"
PLACES: Final = "pods"
"""The resource that every pod takes one of."""

Key: TypeAlias = tuple[str, str]
"""(namespace, name)."""
GroupKey: TypeAlias = tuple[str, str, str]
"""(API group, namespace, name) of a PodGroup."""
Shares: TypeAlias = tuple[float, float, float]
"""Of GPUs, thousandths of CPUs, and millions of bytes."""
SHARED: Final = ("GPUs", "mCPU", "MB of memory")
"""What `Shares` are of."""
Device: TypeAlias = tuple[str, str, str]
"""(driver, pool, device)."""


class Ask(msgspec.Struct, frozen=True, eq=False):
    """What a pod asks of a node. Pods of one template share theirs."""

    requests: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    affinity: NodeSelector | None
    tolerations: tuple[dict[str, str], ...]
    amounts: dict[str, int]
    """The requests by resource."""

    def amount(self, resource: str) -> int:
        """How much of one resource."""
        return self.amounts.get(resource, 0)


class PodFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A state of a pod."""

    uid: str
    namespace: str
    name: str
    generation: int
    """Of its spec; 0: the server does not count."""
    node: str | None
    phase: str
    deleting: bool
    unschedulable: bool
    """Whether its scheduler says that it fits nowhere."""
    disruption: str | None
    """Why somebody takes it away, as its condition says."""
    ask: Ask
    group: GroupKey | None
    subgroup: str
    queue: str | None
    """As its label says."""
    priority: int | None
    priority_class: str | None
    preemptibility: str | None
    fraction: float
    """Part of each shared GPU that it asks for; 0: it shares none."""
    gpu_memory: int
    """The same in MiB, where that is how it asks."""
    gpu_groups: tuple[str, ...]
    """The shared GPUs that it was given."""
    reserves: bool
    """Whether it reserves a GPU for the fractions of others."""
    workload: str | None
    owner: str | None
    """uid of its controller."""
    claimed: tuple[str, ...] = ()
    """Resources of its requests that devices stand for, by a claim of its own: its node need not have them."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def holds(self) -> bool:
        """Whether it takes up its node: until it has ended or is gone, though it may be terminating."""
        return self.node is not None and not self.finished

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"Pod {self.namespace}/{self.name}"

    @property
    def shared_gpus(self) -> float:
        """How many shared GPUs' worth it asks for."""
        return self.fraction * max(1, len(self.gpu_groups))


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a node, as far as schedulers must heed it."""

    name: str
    labels: dict[str, str]
    allocatable: dict[str, int]
    taints: tuple[dict[str, str], ...]
    unschedulable: bool


class SubgroupFacts(msgspec.Struct, frozen=True):
    """A part of a gang."""

    least: int
    required: str | None
    """All of it in one domain of this level: the key of a node label."""


class GroupFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a gang."""

    key: GroupKey
    uid: str
    least: int
    subgroups: dict[str, SubgroupFacts]
    """Those that pods belong to; empty: it has none."""
    required: str | None
    topology: str | None
    queue: str | None
    priority: int | None
    priority_class: str | None
    preemptibility: str | None
    may_shrink: bool
    """Whether single pods of it may be evicted once enough have started."""
    ends_stale: bool
    """Whether its scheduler is to end it when too few of its pods are left, whoever took them."""

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"PodGroup {self.key[1]}/{self.key[2]}"


class QueueFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a queue; -1 is unlimited."""

    name: str
    parent: str | None
    quota: Shares
    over_quota_weight: float
    """Of GPUs."""
    limit: Shares
    priority: int


class ClaimFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a claim of devices."""

    uid: str
    key: Key
    devices: tuple[Device, ...]
    """Those that were given to it, and to it alone."""
    reserved_for: tuple[str, ...]
    """uids of pods."""
    allocated: bool = False
    """Whether it was given what it asks for, be that no device of its own."""
    shares: tuple[Device, ...] = ()
    """Devices that it has a part of."""


class SliceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Devices of a node."""

    name: str
    node: str | None
    devices: int


class JobFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A Job, as far as it says how many pods it has."""

    uid: str
    key: Key
    abreast: int
    """How many pods it runs at a time, while enough are left to be done."""


class TopologyFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The levels of a topology, outermost first: keys of node labels."""

    name: str
    levels: tuple[str, ...]


class PriorityFacts(msgspec.Struct, frozen=True):
    """What a priority class is worth."""

    name: str
    value: int


class DecisionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A pod has been given a node, and is about to be bound."""

    uid: str
    pod: Key
    node: str
    failed: bool


class EvictionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler tells of somebody that it evicts, and for whom."""

    kind: str
    """Of whom it speaks: `Pod` or `PodGroup`."""
    key: Key
    uid: str
    action: str
    """`reclaim`, `preempt`, `consolidation`, `stalegangeviction`; empty: it does not say."""
    evictor: Key | None
    """Of the group (of the pod, where that has none) that room is made for."""
    evictor_uid: str | None


Facts: TypeAlias = (
    PodFacts
    | NodeFacts
    | GroupFacts
    | QueueFacts
    | ClaimFacts
    | SliceFacts
    | JobFacts
    | TopologyFacts
    | PriorityFacts
    | DecisionFacts
    | EvictionFacts
)
