"""A cluster that is told to a watchdog change by change, as a real API server would tell it."""

import itertools
from typing import Any

from kubedyno.client.watching import ChangeType
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import (
    CORE_EVENTS,
    COSCHEDULING_POD_GROUPS,
    KAI_BIND_REQUESTS,
    KAI_POD_GROUPS,
    KAI_QUEUES,
    NODES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIMS,
    Resource,
)
from kubedyno.measure.invariants.observing import Watched
from kubedyno.measure.invariants.reading import TOPOLOGIES

NAMESPACE = "ns"
BEGAN_NS = 1_800_000_000 * NS_PER_S

Change = tuple[Resource, ChangeType, dict[str, Any], int]


class Told:
    """Objects by name, versions from one counter, and a clock that is moved by hand; changes go to `watched`.

    With `is_deferred` they are only collected in `changes`.
    """

    def __init__(self, *, is_deferred: bool = False) -> None:
        self.watched = Watched(namespaces={NAMESPACE})
        self.now_ns = BEGAN_NS
        self.changes: list[Change] = []
        self.objects: dict[tuple[str, str], tuple[Resource, dict[str, Any]]] = {}
        self._is_deferred = is_deferred
        self._versions = itertools.count(100)
        self._uids = itertools.count(1)

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now_ns += round(seconds * NS_PER_S)

    def tell(self, resource: Resource, kind: ChangeType, obj: dict[str, Any]) -> None:
        """A change happens now."""
        metadata = {**obj["metadata"], "resourceVersion": str(next(self._versions))}
        obj = {**obj, "metadata": metadata}
        key = resource.full_name, metadata["name"]
        if kind == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = resource, obj
        if self._is_deferred:
            self.changes.append((resource, kind, obj, self.now_ns))
        else:
            self.watched.change(resource, kind, obj, self.now_ns)

    def make(self, resource: Resource, name: str, **fields: Any) -> dict[str, Any]:
        """A new object; `metadata` among the fields adds to its own."""
        metadata = {"name": name, "uid": f"uid-{next(self._uids)}", "generation": 1, **fields.pop("metadata", {})}
        if resource.namespaced:
            metadata.setdefault("namespace", NAMESPACE)
        obj = {"metadata": metadata, **fields}
        self.tell(resource, "ADDED", obj)
        return obj

    def get(self, resource: Resource, name: str) -> dict[str, Any]:
        """An object as it is."""
        return self.objects[resource.full_name, name][1]

    def change(self, resource: Resource, name: str, **fields: dict[str, Any]) -> None:
        """Fields of `metadata`, `spec` or `status` become these."""
        obj = dict(self.get(resource, name))
        for part, values in fields.items():
            obj[part] = {**obj.get(part, {}), **values}
        self.tell(resource, "MODIFIED", obj)

    def delete(self, resource: Resource, name: str) -> None:
        """It is gone."""
        self.tell(resource, "DELETED", self.get(resource, name))

    def node(self, name: str, *, gpus: int = 8, labels: dict[str, str] | None = None, **spec: Any) -> None:
        """A node with GPUs, 32 CPUs, 256 GiB and room for 110 pods."""
        has = {"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        self.make(NODES, name, metadata={"labels": labels or {}}, spec=spec, status={"allocatable": has})

    def pod(
        self,
        name: str,
        *,
        gpus: int = 1,
        cpu: str = "1",
        group: str | None = None,
        metadata: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """A pod that waits for a node."""
        wanted = {"cpu": cpu, "memory": "1Gi"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
        metadata = {"labels": {"kubedyno/workload": name.partition("-")[0]}, **(metadata or {})}
        if group is not None:
            metadata["annotations"] = {"pod-group-name": group, **metadata.get("annotations", {})}
        self.make(
            PODS,
            name,
            metadata=metadata,
            spec={"containers": [{"name": "main", "resources": {"requests": wanted}}], **spec},
            status={"phase": "Pending"},
        )

    def bind(self, pod: str, node: str, *, runs: bool = True) -> None:
        """A scheduler binds a pod; its kubelet starts it."""
        self.change(PODS, pod, spec={"nodeName": node})
        if runs:
            self.change(PODS, pod, status={"phase": "Running"})

    def place(self, name: str, node: str, **how: Any) -> None:
        """A pod that is bound at once."""
        self.pod(name, **how)
        self.bind(name, node)

    def terminate(self, pod: str) -> None:
        """Somebody deletes a pod that takes its time."""
        self.change(PODS, pod, metadata={"deletionTimestamp": "2027-01-15T08:00:00Z"})

    def group(self, name: str, least: int, *, queue: str = "team", **spec: Any) -> None:
        """A PodGroup of KAI."""
        self.make(KAI_POD_GROUPS, name, spec={"minMember": least, "queue": queue, **spec})

    def native_group(self, name: str, least: int, **spec: Any) -> None:
        """A PodGroup of Kubernetes."""
        self.make(POD_GROUPS, name, spec={"schedulingPolicy": {"gang": {"minCount": least}}, **spec})

    def coscheduling_group(self, name: str, least: int) -> None:
        """A PodGroup of the coscheduling plugin."""
        self.make(COSCHEDULING_POD_GROUPS, name, spec={"minMember": least})

    def queue(self, name: str, *, quota: float = -1, limit: float = -1, parent: str | None = "root") -> None:
        """A queue with these figures of GPUs; there already: it is changed."""
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
        spec = {"resources": {"gpu": gpu, "cpu": free, "memory": free}} | ({"parentQueue": parent} if parent else {})
        if (KAI_QUEUES.full_name, name) in self.objects:
            self.change(KAI_QUEUES, name, spec=spec)
        else:
            self.make(KAI_QUEUES, name, spec=spec)

    def topology(self, name: str, *levels: str) -> None:
        """A topology, outermost level first."""
        self.make(TOPOLOGIES[0][-1], name, spec={"levels": [{"nodeLabel": level} for level in levels]})

    def claim(self, name: str, *devices: str) -> None:
        """A claim that has devices of one pool."""
        results = [{"driver": "gpu.example.com", "pool": "pool", "device": device} for device in devices]
        self.make(RESOURCE_CLAIMS, name, status={"allocation": {"devices": {"results": results}}})

    def decide(self, pod: str, node: str) -> None:
        """KAI's decision, which its binder carries out later."""
        self.make(KAI_BIND_REQUESTS, pod, spec={"podName": pod, "selectedNode": node})

    def tell_eviction(self, victim: str, *, by: str, action: str, kind: str = "PodGroup") -> None:
        """KAI's event on the group of a victim."""
        uid = self.get(KAI_POD_GROUPS if kind == "PodGroup" else PODS, victim)["metadata"]["uid"]
        self.make(
            CORE_EVENTS,
            f"{victim}.{next(self._uids)}",
            metadata={
                "annotations": {
                    "evictor-action-type": action,
                    "evictor-pod-group-name": by,
                    "evictor-pod-group-namespace": NAMESPACE,
                }
            },
            reason="Evict",
            involvedObject={"kind": kind, "namespace": NAMESPACE, "name": victim, "uid": uid},
        )

    def excuse(self, workload: str) -> None:
        """Whoever sent a workload is about to take it away."""
        self.watched.excuse([workload], self.now_ns)

    def end(self, *, after_s: float = 0.0) -> list[str]:
        """The names of the rules that were broken, when so much time has passed without any news."""
        self.sleep(after_s)
        self.watched.watchdog.end(self.now_ns)
        return [violation.invariant for violation in self.watched.violations()]
