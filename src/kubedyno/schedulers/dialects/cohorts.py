"""Queues as Kueue writes them: ClusterQueues that hold quota and borrow from each other within Cohorts.

Kueue counts quota, not nodes: all GPUs must be somebody's quota to be used, and none may be that of two. Below every
queue, and below the one Cohort that all are in, those with a quota get it, and those that deserve all there is share
the rest by their weights; without any such the rest is the Cohort's own, to be borrowed. Where nobody counted the GPUs,
who deserves all there is gets plenty, and lends nothing of it: it may not be there.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from kubedyno.kube.resources import KUEUE_LOCAL_QUEUES
from kubedyno.model.dialects import Surroundings
from kubedyno.model.queues import UNLIMITED, Queue, Share

ROOT_COHORT: Final = "kubedyno"
_API: Final = KUEUE_LOCAL_QUEUES.api_version
_FLAVOR: Final = "default-flavor"
_EVERY_NODE: Final = {"kubernetes.io/os": "linux"}
_GPU: Final = "nvidia.com/gpu"


class _Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that queues have a share of."""

    name: str
    share: Callable[[Queue], Share]
    unit: str
    plenty: int

    def text(self, amount: float) -> str:
        """An amount as a quantity."""
        return f"{amount:.0f}{self.unit}" if amount else "0"


_RESOURCES: Final = (
    _Resource(name="cpu", share=lambda queue: queue.cpu, unit="m", plenty=10**9),
    _Resource(name="memory", share=lambda queue: queue.memory, unit="M", plenty=10**9),
    _Resource(name=_GPU, share=lambda queue: queue.gpu, unit="", plenty=10**6),
)


class _Division:
    """One resource, divided among the queues of a tree."""

    def __init__(self, resource: _Resource, below: dict[str | None, list[Queue]], amount: float | None) -> None:
        self.resource = resource
        self.parts: dict[str, float | None] = {}
        """What a queue and all below it have as quota; None: nobody knows how much that is."""
        self.rests: dict[str | None, float] = {}
        """What of it belongs to none below; None is the root."""
        self._below = below
        self._divide(None, amount)

    def _divide(self, name: str | None, amount: float | None) -> None:
        queues = self._below.get(name, [])
        quotas = {queue.name: self.resource.share(queue).quota for queue in queues}
        entitled = [queue for queue in queues if quotas[queue.name] == UNLIMITED]
        bounded = sum(quota for quota in quotas.values() if quota != UNLIMITED)
        rest = None if amount is None else max(0.0, amount - bounded)
        self.rests[name] = 0.0 if entitled else rest or 0.0
        parts = dict.fromkeys((queue.name for queue in entitled), rest) if rest is None else _split(rest, entitled)
        for queue in queues:
            part = parts[queue.name] if queue.name in parts else quotas[queue.name]
            limit = self.resource.share(queue).limit
            if limit != UNLIMITED:
                part = limit if part is None else min(part, limit)
            self.parts[queue.name] = part
            self._divide(queue.name, part)

    def of_cohort(self, queue: Queue) -> dict[str, str]:
        """The quota that is lent to all below it, and what they may borrow together."""
        return {"nominalQuota": self.resource.text(self.rests[queue.name]), **self._beyond(queue)}

    def of_queue(self, queue: Queue) -> dict[str, str]:
        """The quota of a ClusterQueue; one that others are below has none, but may have had some before them."""
        if self._below.get(queue.name):
            return {"nominalQuota": "0", "borrowingLimit": "0"}
        part = self.parts[queue.name]
        if part is None:
            return {"nominalQuota": self.resource.text(self.resource.plenty), "lendingLimit": "0"}
        return {"nominalQuota": self.resource.text(part), **self._beyond(queue)}

    def _beyond(self, queue: Queue) -> dict[str, str]:
        """How much may be borrowed, so that there is never more than the limit."""
        limit = self.resource.share(queue).limit
        part = self.parts[queue.name]
        if limit == UNLIMITED or part is None:
            return {}
        return {"borrowingLimit": self.resource.text(limit - part)}


def _split(amount: float, queues: list[Queue]) -> dict[str, float | None]:
    """Whole parts of an amount by weight, or alike where nobody has any; what is left over goes to the first."""
    weights = [queue.gpu.over_quota_weight for queue in queues]
    if not sum(weights):
        weights = [1.0] * len(queues)
    parts = [amount * weight // sum(weights) for weight in weights]
    if parts:
        parts[0] += amount - sum(parts)
    return {queue.name: part for queue, part in zip(queues, parts, strict=True)}


def written(queues: tuple[Queue, ...], around: Surroundings) -> list[dict[str, Any]]:
    """The objects of all queues, in the order in which they can be created."""
    if not queues:
        return []
    below = _by_parent(queues)
    divisions = [_Division(resource, below, around.gpus if resource.name == _GPU else None) for resource in _RESOURCES]
    flavor = "-".join(filter(None, (_FLAVOR, around.topology, around.suffix)))
    root = "-".join(filter(None, (ROOT_COHORT, around.suffix)))

    def groups(quota: Callable[[_Division], dict[str, str]]) -> list[dict[str, Any]]:
        resources = [{"name": division.resource.name, **quota(division)} for division in divisions]
        names = [resource["name"] for resource in resources]
        return [{"coveredResources": names, "flavors": [{"name": flavor, "resources": resources}]}]

    rest = groups(lambda division: {"nominalQuota": division.resource.text(division.rests[None])})
    found = [_flavor(flavor, around.topology), _object("Cohort", root, {"resourceGroups": rest})]
    found += (_cohort(queue, root, groups(_quota_of_cohort(queue))) for queue in queues if below.get(queue.name))
    for queue in queues:
        found += (
            _cluster_queue(queue, root, groups(_quota_of_queue(queue))),
            _object("LocalQueue", queue.name, {"clusterQueue": queue.name}, namespace=around.namespace),
        )
    return found


def _by_parent(queues: Iterable[Queue]) -> dict[str | None, list[Queue]]:
    """What is directly below each queue; a parent that is not there is the root."""
    there = {queue.name for queue in queues}
    below: dict[str | None, list[Queue]] = {}
    for queue in queues:
        below.setdefault(queue.parent if queue.parent in there else None, []).append(queue)
    return below


def _quota_of_cohort(queue: Queue) -> Callable[[_Division], dict[str, str]]:
    return lambda division: division.of_cohort(queue)


def _quota_of_queue(queue: Queue) -> Callable[[_Division], dict[str, str]]:
    return lambda division: division.of_queue(queue)


def _flavor(name: str, topology: str | None) -> dict[str, Any]:
    """The kind of nodes that quota is for: all of them. With a Topology Kueue looks for room on them itself."""
    return _object("ResourceFlavor", name, {"nodeLabels": _EVERY_NODE, "topologyName": topology} if topology else None)


def _cohort(queue: Queue, root: str, groups: list[dict[str, Any]]) -> dict[str, Any]:
    spec = {"parentName": queue.parent or root, "fairSharing": _weight(queue), "resourceGroups": groups}
    return _object("Cohort", queue.name, spec)


def _cluster_queue(queue: Queue, root: str, groups: list[dict[str, Any]]) -> dict[str, Any]:
    spec = {
        "cohort": queue.parent or root,
        "namespaceSelector": {},
        "fairSharing": _weight(queue),
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": groups,
    }
    return _object("ClusterQueue", queue.name, spec)


def _weight(queue: Queue) -> dict[str, str]:
    return {"weight": f"{queue.gpu.over_quota_weight:g}"}


def _object(kind: str, name: str, spec: dict[str, Any] | None, *, namespace: str | None = None) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        **({"spec": spec} if spec else {}),
    }
