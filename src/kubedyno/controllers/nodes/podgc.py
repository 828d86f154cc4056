"""Pods that nobody will ever end: of nodes that are gone or out of service, and deleted ones that never had a node."""

from collections.abc import Iterable
from functools import partial

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.controllers import podstatus
from kubedyno.controllers.engine import BY_NODE, Engine, all_of
from kubedyno.controllers.podfacts import is_deleting, is_finished, name
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS

COMPONENT = "pod-garbage-collector-controller"

_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class Lost(msgspec.Struct, frozen=True):
    """A pod to end by force; `is_orphan` when its node is gone."""

    pod: Object
    is_orphan: bool = False


def hopeless(pods: Iterable[Object], nodes: dict[str, Object]) -> list[Lost]:
    """Terminating pods without a node, or on a node that is out of service."""
    found = []
    for pod in pods:
        if not is_deleting(pod):
            continue
        node_name = (pod.get("spec") or {}).get("nodeName")
        if not node_name or (node_name in nodes and _is_out_of_service(nodes[node_name])):
            found.append(Lost(pod))
    return found


def _is_out_of_service(node: Object) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return not meta.is_condition_true(node, "Ready") and any(taint["key"] == _OUT_OF_SERVICE for taint in taints)


class PodGarbageCollector:
    """Looks for such pods now and then; a missing node is given some time to come back."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pods = engine.informer(PODS)
        self._nodes = engine.informer(NODES)
        self._missing_since_ns: dict[str, int] = {}

    def start(self) -> None:
        """Look every period."""
        self._engine.every(self._engine.settings.pod_gc_period_s, self._collect, COMPONENT)

    async def _collect(self) -> None:
        nodes = {name(node): node for node in self._nodes.items}
        lost = hopeless(self._pods.items, nodes)
        for gone in await self._gone_nodes(nodes):
            lost += [Lost(pod, is_orphan=True) for pod in self._pods.by_index(BY_NODE, gone)]
        await all_of([partial(self._end, entry) for entry in lost])

    async def _gone_nodes(self, nodes: dict[str, Object]) -> list[str]:
        """Nodes that pods speak of and that have been missing for long enough."""
        now_ns = self._engine.now_ns()
        missing = dict.fromkeys(
            bound for pod in self._pods.items if (bound := pod["spec"].get("nodeName")) and bound not in nodes
        )
        self._missing_since_ns = {entry: self._missing_since_ns.get(entry, now_ns) for entry in missing}
        quarantine_ns = self._engine.settings.pod_gc_quarantine_s * NS_PER_S
        return [
            entry
            for entry, since_ns in self._missing_since_ns.items()
            if now_ns - since_ns >= quarantine_ns and not await self._exists(entry)
        ]

    async def _exists(self, node_name: str) -> bool:
        try:
            await self._engine.client.get(NODES, node_name)
        except ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return True

    async def _end(self, lost: Lost) -> None:
        pod, metadata = lost.pod, lost.pod["metadata"]
        try:
            if not is_finished(pod):
                condition = None
                if lost.is_orphan:
                    message, now_ns = "PodGC: node no longer exists", self._engine.now_ns()
                    condition = podstatus.disruption(pod, "DeletionByPodGC", message, now_ns=now_ns)
                generation = metadata.get("generation", 0)
                await self._engine.client.patch(
                    PODS,
                    name(pod),
                    podstatus.patch(pod, condition, phase="Failed", observedGeneration=generation),
                    kind="strategic",
                    namespace=metadata["namespace"],
                    subresource="status",
                )
            await self._engine.client.delete(PODS, name(pod), namespace=metadata["namespace"], grace_s=0)
        except ApiError as error:
            if not error.is_not_found:
                raise
