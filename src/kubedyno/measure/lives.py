"""The lives of pods and nodes during a trial, as the watch stream told them: what quality is computed from."""

import msgspec


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
