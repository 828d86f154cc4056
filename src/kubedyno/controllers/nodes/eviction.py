"""Taint eviction: pods leave nodes with NoExecute taints that they do not tolerate, or tolerate for a while."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers import podstatus
from kubedyno.controllers.engine import BY_NODE, Engine
from kubedyno.controllers.podfacts import is_deleting, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import tolerates
from kubedyno.kube.resources import NODES, PODS

COMPONENT = "taint-eviction-controller"

_WORKERS = 8

Taints = list[dict[str, Any]]


def no_execute(node: Object | None) -> Taints:
    """The taints of a node that concern pods that run there."""
    if node is None:
        return []
    return [taint for taint in (node.get("spec") or {}).get("taints") or () if taint["effect"] == "NoExecute"]


def seconds_tolerated(pod: Object, taints: Taints) -> float | None:
    """How long a pod may stay with these taints: 0 when it must go at once, None when it may stay for good."""
    used: list[Mapping[str, Any]] = []
    tolerations = (pod.get("spec") or {}).get("tolerations") or ()
    for taint in taints:
        fitting = next((entry for entry in tolerations if tolerates(entry, taint)), None)
        if fitting is None:
            return 0.0
        used.append(fitting)
    limits = [entry["tolerationSeconds"] for entry in used if entry.get("tolerationSeconds") is not None]
    return max(0.0, float(min(limits))) if limits else None


class _Planned(msgspec.Struct, frozen=True):
    uid: str
    since_ns: int
    due_ns: int


class TaintEvictionController:
    """Deletes pods when the time that they tolerate their node's taints is over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._nodes = engine.informer(NODES)
        self._pods = engine.informer(PODS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._planned: dict[Key, _Planned] = {}
        self._nodes.subscribe(self._node_changed)
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off pods."""
        self._engine.work(COMPONENT, self._queue, self._sync, workers=_WORKERS)

    def _node_changed(self, change: Change) -> None:
        if no_execute(change.old) != no_execute(change.new):
            for pod in self._pods.by_index(BY_NODE, change.key[1]):
                self._queue.add(meta.key(pod))

    def _pod_changed(self, change: Change) -> None:
        old, new = (((state or {}).get("spec") or {}) for state in (change.old, change.new))
        is_same = old.get("nodeName") == new.get("nodeName") and old.get("tolerations") == new.get("tolerations")
        if change.new is None or not is_same:
            node_name = change.object["spec"].get("nodeName")
            if change.key in self._planned or (node_name and no_execute(self._nodes.get(("", node_name)))):
                self._queue.add(change.key)

    async def _sync(self, key: Key) -> None:
        pod, planned = self._pods.get(key), self._planned.get(key)
        if pod is None or (planned is not None and planned.uid != uid(pod)):
            self._cancel(key)
        if pod is None or is_deleting(pod):
            self._planned.pop(key, None)
            return
        taints = no_execute(self._nodes.get(("", pod["spec"].get("nodeName") or "")))
        stay_s = seconds_tolerated(pod, taints) if taints else None
        if stay_s is None:
            self._cancel(key)
            return
        now_ns = self._engine.now_ns()
        planned = self._planned.get(key)
        # Time that a pod has tolerated already counts, also when its taints change meanwhile.
        since_ns = planned.since_ns if planned is not None else now_ns
        due_ns = since_ns + round(stay_s * NS_PER_S) if stay_s else now_ns
        if planned is not None:
            due_ns = min(due_ns, planned.due_ns)
        self._planned[key] = _Planned(uid(pod), since_ns, due_ns)
        if due_ns > now_ns:
            self._queue.add_after(key, (due_ns - now_ns) / NS_PER_S)
            return
        self._tell(key, "Marking for deletion Pod")
        await self._evict(key, pod)
        self._planned.pop(key, None)

    async def _evict(self, key: Key, pod: Object) -> None:
        message = "Taint manager: deleting due to NoExecute taint"
        condition = podstatus.disruption(pod, "DeletionByTaintManager", message, now_ns=self._engine.now_ns())
        try:
            await self._engine.client.patch(
                PODS,
                key[1],
                podstatus.patch(pod, condition),
                kind="strategic",
                namespace=key[0],
                subresource="status",
            )
            await self._engine.client.delete(PODS, key[1], namespace=key[0], uid=uid(pod))
        except ApiError as error:
            if not error.is_not_found:
                raise

    def _cancel(self, key: Key) -> None:
        if self._planned.pop(key, None) is not None:
            self._tell(key, "Cancelling deletion of Pod")

    def _tell(self, key: Key, what: str) -> None:
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": key[0], "name": key[1]}}
        self._engine.event(COMPONENT, about, "Normal", "TaintManagerEviction", f"{what} {key[0]}/{key[1]}")
