"""The lives of pods, claims and nodes during a trial, as the watch stream told them: what quality is computed from."""

import msgspec

from kubedyno.measure.invariants.facts import Device


class PodLife(msgspec.Struct, kw_only=True):
    """One pod, from its creation on; times are ns since the epoch as their news arrived, None: not seen."""

    uid: str
    namespace: str
    name: str
    workload: str | None
    group: str | None
    """Key of the gang that it belongs to: `kind/namespace/name` of its PodGroup; None: it belongs to none."""
    least: int
    """How many pods of its gang must run together; 1 for a pod without."""
    queue: str | None
    gpus: float
    """Whole ones, fractions and devices of claims together."""
    priority: int
    created_ns: int
    unschedulable_ns: int | None = None
    """When its scheduler first said that it fits nowhere."""
    bound_ns: int | None = None
    node: str | None = None
    running_ns: int | None = None
    ended_ns: int | None = None
    """When it no longer held its node: it finished, or was gone."""
    end: str | None = None
    """`succeeded`, `failed`, `evicted` (the scheduler took it away) or `deleted` (somebody else did)."""
    job: str | None = None
    """Key of the Job that made it: `Job/namespace/name`; None: none did."""
    abreast: int = 1
    """How many pods that Job runs at a time; 1 for a pod without."""


class Allocation(msgspec.Struct, kw_only=True):
    """A time in which a claim had its devices; ns since the epoch, until None: it still has."""

    since_ns: int
    until_ns: int | None = None
    devices: tuple[Device, ...]
    """Its own and those that it has a part of; without those that it may only look at."""


class ClaimLife(msgspec.Struct, kw_only=True):
    """One claim of devices, from its creation on; times are as those of pods."""

    uid: str
    namespace: str
    name: str
    created_ns: int
    allocations: list[Allocation]
    """One after the other: most claims have one."""
    reserved_ns: int | None = None
    """When a pod was first allowed to use it."""
    pod: str | None = None
    """uid of that pod."""
    gone_ns: int | None = None


class NodeLife(msgspec.Struct, kw_only=True):
    """One node, from when it was there until it was gone."""

    name: str
    gpus: float
    labels: dict[str, str]
    seen_ns: int
    gone_ns: int | None = None


class QueueLife(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a queue: what it deserves from a moment on; figures are GPUs, -1 is unlimited."""

    name: str
    parent: str | None
    quota: float
    over_quota_weight: float
    limit: float
    priority: int
    since_ns: int


class Lives(msgspec.Struct, kw_only=True):
    """Everything that lived during a trial."""

    pods: list[PodLife]
    nodes: list[NodeLife]
    queues: list[QueueLife]
    """All states of all queues, in the order of their time."""
    levels: tuple[str, ...] = ()
    """Label keys of the topology's levels, outermost first."""
    claims: list[ClaimLife] = []
