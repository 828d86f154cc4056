"""ReplicaSets: pods are created until there are enough, and the least missed deleted when there are too many.

ReplicationControllers are the same by an older name: their selector is a plain mapping, and their status tells less.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.adopting import claimed
from kubedyno.controllers.engine import BY_CONTROLLER, Engine
from kubedyno.controllers.expecting import Expectations, Written
from kubedyno.controllers.podcontrol import PodControl, pod_of_template
from kubedyno.controllers.podfacts import (
    controller_of,
    is_active,
    is_deleting,
    is_ready,
    is_terminating,
    ready_since_ns,
    removal_order,
    uid,
)
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.replicas import conditions
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from kubedyno.kube.selectors import LabelSelector

COMPONENTS: Final = {
    REPLICA_SETS: "replicaset-controller",
    REPLICATION_CONTROLLERS: "replication-controller",
}
"""Whose events they are, for each kind of set."""

AT_ONCE = 500
_GATHER_S = 0.05
"""Changes of pods are gathered for a moment: a set of a thousand pods must not be counted a thousand times."""
_WORKERS = 5
_COST = "controller.kubernetes.io/pod-deletion-cost"


class Difference(msgspec.Struct, frozen=True):
    """How many pods to create, or which to delete."""

    create: int = 0
    delete: Sequence[Object] = ()


def difference(replica_set: Object, active: Sequence[Object], related: Iterable[Object]) -> Difference:
    """What is between the pods there are and those that are wanted.

    `related` are the pods of all sets of the same owner: of two equal pods the one with more of them on its node goes.
    """
    surplus = len(active) - replica_set["spec"].get("replicas", 1)
    if surplus <= 0:
        return Difference(create=min(-surplus, AT_ONCE))
    count = min(surplus, AT_ONCE)
    if count == len(active):
        return Difference(delete=active)
    on_node: dict[str, int] = {}
    for pod in related:
        if is_active(pod) and pod["spec"].get("nodeName"):
            on_node[pod["spec"]["nodeName"]] = on_node.get(pod["spec"]["nodeName"], 0) + 1

    def order(pod: Object) -> tuple[Any, ...]:
        is_bound, phase, ready, *rest = removal_order(pod)
        rank = on_node.get(pod["spec"].get("nodeName") or "", 0)
        return (is_bound, phase, ready, _cost(pod), -rank, *rest)

    return Difference(delete=sorted(active, key=order)[:count])


def _cost(pod: Object) -> int:
    try:
        return int(meta.annotations(pod).get(_COST, "0"))
    except ValueError:
        return 0


def available(pod: Object, min_ready_s: int, now_ns: int) -> bool:
    """Whether a pod has been ready for long enough."""
    if not is_ready(pod):
        return False
    since_ns = ready_since_ns(pod)
    return min_ready_s == 0 or (since_ns > 0 and since_ns + min_ready_s * NS_PER_S <= now_ns)


def status_of(replica_set: Object, pods: Sequence[Object], failure: str | None, *, now_ns: int) -> Object:
    """The status of a set with these pods; `failure` is why pods could not be created or deleted."""
    spec = replica_set["spec"]
    active = [pod for pod in pods if is_active(pod)]
    template = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    min_ready_s = spec.get("minReadySeconds") or 0
    status: Object = meta.copied(replica_set.get("status") or {})
    failed = conditions.get(status, "ReplicaFailure")
    if failure is not None and failed is None:
        reason = "FailedCreate" if len(active) < spec.get("replicas", 1) else "FailedDelete"
        conditions.put(
            status,
            {
                "type": "ReplicaFailure",
                "status": "True",
                "lastTransitionTime": seconds_text(now_ns),
                "reason": reason,
                "message": failure,
            },
        )
    elif failure is None and failed is not None:
        conditions.drop(status, "ReplicaFailure")
    status.update(
        replicas=len(active),
        fullyLabeledReplicas=sum(template.items() <= meta.labels(pod).items() for pod in active),
        readyReplicas=sum(map(is_ready, active)),
        availableReplicas=sum(available(pod, min_ready_s, now_ns) for pod in active),
        terminatingReplicas=sum(map(is_terminating, pods)),
        observedGeneration=replica_set["metadata"].get("generation", 0),
    )
    return conditions.without_zeros(status)


class ReplicaSetController:
    """Keeps as many pods as wanted, for one kind of set."""

    def __init__(self, engine: Engine, resource: Resource = REPLICA_SETS) -> None:
        self._engine = engine
        self._resource = resource
        self._component = COMPONENTS[resource]
        self._sets = engine.informer(resource)
        self._pods = engine.informer(PODS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._expectations = Expectations(engine.clock)
        self._control = PodControl(engine, self._component, self._expectations)
        self._written = Written()
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off sets."""
        self._engine.work(self._component, self._queue, self._sync, workers=_WORKERS)

    def _set_changed(self, change: Change) -> None:
        if change.new is None:
            self._expectations.forget(change.key)
            self._written.forget(change.key)
        self._queue.add(change.key)

    def _pod_changed(self, change: Change) -> None:
        pod = change.object
        owner = controller_of(pod)
        if owner is None:
            # Only at its birth or when it lost its owner or labels changed may a set want it.
            is_gone = change.new is None
            if not is_gone and (change.old is None or _claim_facts(change.old) != _claim_facts(pod)):
                self._wake_selecting(pod)
            return
        if owner["kind"] != self._resource.kind:
            return
        key = (change.key[0], owner["name"])
        if change.type == "ADDED":
            self._expectations.created(key)
        if change.new is None or is_deleting(change.new):
            self._expectations.deleted(key, uid(pod))
        self._queue.add_after(key, _GATHER_S)

    def _wake_selecting(self, pod: Object) -> None:
        labels = meta.labels(pod)
        if not labels:
            return
        for found in self._sets.items:
            if found["metadata"]["namespace"] == pod["metadata"]["namespace"] and self._selector(found).matches(labels):
                self._queue.add_after(meta.key(found), _GATHER_S)

    async def _sync(self, key: Key) -> None:
        found = self._sets.get(key)
        if found is None or self._written.is_newer_than(key, found):
            return
        replica_set = {**found, "apiVersion": self._resource.api_version, "kind": self._resource.kind}
        are_met = self._expectations.are_met(key)
        pods = await claimed(self._engine, replica_set, self._selector(found), PODS)
        failure: ApiError | Unreachable | None = None
        if are_met and not is_deleting(found):
            failure = await self._manage(replica_set, pods)
        said = None
        if failure is not None:
            said = failure.message if isinstance(failure, ApiError) else str(failure)
        now_ns = self._engine.now_ns()
        status = status_of(replica_set, pods, said, now_ns=now_ns)
        if self._resource is REPLICATION_CONTROLLERS:
            status.pop("terminatingReplicas", None)  # a field that theirs does not have
        if status != conditions.without_zeros(found.get("status") or {}):
            answer = await self._engine.client.update(
                self._resource, {**replica_set, "status": status}, subresource="status"
            )
            self._written.note(key, answer)
        if failure is not None:
            raise failure
        self._look_again(key, found, pods, now_ns)

    def _look_again(self, key: Key, replica_set: Object, pods: Sequence[Object], now_ns: int) -> None:
        """A ready pod becomes available by time alone."""
        min_ready_s = replica_set["spec"].get("minReadySeconds") or 0
        waits = [
            ready_since_ns(pod) + min_ready_s * NS_PER_S - now_ns
            for pod in pods
            if is_active(pod) and is_ready(pod) and not available(pod, min_ready_s, now_ns)
        ]
        if waits:
            self._queue.add_after(key, max(min(waits), 1) / NS_PER_S)

    async def _manage(self, replica_set: Object, pods: Sequence[Object]) -> ApiError | Unreachable | None:
        work = difference(replica_set, [pod for pod in pods if is_active(pod)], self._related(replica_set, pods))
        if work.delete:
            return (await self._control.delete(replica_set, work.delete))[1]
        if work.create:
            body = pod_of_template(replica_set, replica_set["spec"]["template"])
            return (await self._control.create(replica_set, [body] * work.create))[1]
        return None

    def _selector(self, replica_set: Object) -> LabelSelector:
        selector = replica_set["spec"].get("selector")
        return LabelSelector.from_object(
            {"matchLabels": selector} if self._resource is REPLICATION_CONTROLLERS else selector
        )

    def _related(self, replica_set: Object, pods: Sequence[Object]) -> list[Object]:
        owner = controller_of(replica_set)
        if owner is None:
            return list(pods)
        siblings = self._sets.by_index(BY_CONTROLLER, owner["uid"])
        return [pod for sibling in siblings for pod in self._pods.by_index(BY_CONTROLLER, uid(sibling))]


def replication_controllers(engine: Engine) -> ReplicaSetController:
    """The controller of ReplicationControllers."""
    return ReplicaSetController(engine, REPLICATION_CONTROLLERS)


def _claim_facts(pod: Object) -> tuple[Any, ...]:
    return meta.labels(pod), controller_of(pod)
