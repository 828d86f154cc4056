"""Disruption budgets: how many pods there should be, how many are healthy, and how many may be disturbed."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import BY_NAMESPACE, Engine
from kubedyno.controllers.podfacts import controller_of, is_deleting, is_ready, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.replicas.rollout import replicas, scaled
from kubedyno.controllers.stamps import seconds_since, seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    UnknownResource,
    by_kind,
)
from kubedyno.kube.selectors import LabelSelector

COMPONENT = "controllermanager"

_DELETION_TIMEOUT_S = 120
"""A pod whose eviction was granted counts as gone for so long, until its deletion is seen."""
_GATHER_S = 0.05


class Unscalable(Exception):
    """The owner of a pod tells no number of pods that there should be."""


class Expected(msgspec.Struct, frozen=True):
    """How many pods there should be, how many of them healthy; pods without an owner, where that matters."""

    pods: int
    healthy: int
    unmanaged: Sequence[str] = ()


def expected(budget: Object, pods: Sequence[Object], scales: dict[str, int]) -> Expected:
    """What a budget expects; `scales` has the wanted number of pods of each owner by its uid."""
    spec = budget["spec"]
    if spec.get("maxUnavailable") is None and not isinstance(spec.get("minAvailable"), str):
        return Expected(len(pods), spec.get("minAvailable") or 0)
    total = sum(scales.values())
    unmanaged = [name(pod) for pod in pods if controller_of(pod) is None]
    if spec.get("maxUnavailable") is not None:
        return Expected(total, max(0, total - scaled(spec["maxUnavailable"], total, up=True)), unmanaged)
    return Expected(total, scaled(spec["minAvailable"], total, up=True), unmanaged)


def needs_scales(budget: Object) -> bool:
    """Whether the owners of the pods must be asked."""
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def status_of(budget: Object, pods: Sequence[Object], wanted: Expected, *, now_ns: int) -> Object:
    """The status of a budget whose selector finds these pods."""
    before = budget.get("status") or {}
    disrupted = {
        name(pod): stamp
        for pod in pods
        if not is_deleting(pod) and (stamp := (before.get("disruptedPods") or {}).get(name(pod)))
        if seconds_since(stamp, now_ns) <= _DELETION_TIMEOUT_S
    }
    healthy = sum(is_ready(pod) and not is_deleting(pod) and name(pod) not in disrupted for pod in pods)
    allowed = max(0, healthy - wanted.healthy) if wanted.pods > 0 else 0
    generation = budget["metadata"].get("generation", 0)
    status: Object = {
        "observedGeneration": generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": wanted.healthy,
        "expectedPods": wanted.pods,
    }
    if disrupted:
        status["disruptedPods"] = disrupted
    reason = "SufficientPods" if allowed else "InsufficientPods"
    status["conditions"] = _conditions(before, reason, "", is_true=allowed > 0, generation=generation, now_ns=now_ns)
    return status


def failed_status(budget: Object, message: str, *, now_ns: int) -> Object:
    """The status when the expected number cannot be told: nothing may be disturbed."""
    before = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, **(budget.get("status") or {})}
    generation = before.get("observedGeneration", 0)
    conditions = _conditions(before, "SyncFailed", message, is_true=False, generation=generation, now_ns=now_ns)
    return {**before, "disruptionsAllowed": 0, "conditions": conditions}


def _conditions(
    before: Object, reason: str, message: str, *, is_true: bool, generation: int, now_ns: int
) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "type": "DisruptionAllowed",
        "status": str(is_true),
        "lastTransitionTime": seconds_text(now_ns),
        "reason": reason,
        "message": message,
    }
    if generation:
        entry["observedGeneration"] = generation
    found = []
    for old in before.get("conditions") or ():
        if old["type"] != entry["type"]:
            found.append(old)
        elif old["status"] == entry["status"]:
            entry["lastTransitionTime"] = old["lastTransitionTime"]
    return [*found, entry]


class DisruptionController:
    """Keeps the status of disruption budgets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._budgets = engine.informer(POD_DISRUPTION_BUDGETS)
        self._pods = engine.informer(PODS)
        self._owners = {
            resource.kind: engine.informer(resource) for resource in (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS)
        }
        self._queue: WorkQueue[Key] = engine.queue()
        self._budgets.subscribe(self._budget_changed)
        self._pods.subscribe(self._pod_changed)
        for informer in self._owners.values():
            informer.subscribe(self._owner_changed)

    def start(self) -> None:
        """Work off budgets."""
        self._engine.work(COMPONENT, self._queue, self._sync)

    def _budget_changed(self, change: Change) -> None:
        if change.new is not None:
            self._queue.add(change.key)

    def _pod_changed(self, change: Change) -> None:
        for budget in self._budgets.by_index(BY_NAMESPACE, change.key[0]):
            states = [state for state in (change.old, change.new) if state is not None]
            if any(_selector(budget).matches(meta.labels(state)) for state in states):
                self._queue.add_after(meta.key(budget), _GATHER_S)

    def _owner_changed(self, change: Change) -> None:
        """Another wanted number changes what is expected."""
        if change.old is not None and change.new is not None and replicas(change.old) == replicas(change.new):
            return
        for budget in self._budgets.by_index(BY_NAMESPACE, change.key[0]):
            if needs_scales(budget):
                self._queue.add_after(meta.key(budget), _GATHER_S)

    async def _sync(self, key: Key) -> None:
        found = self._budgets.get(key)
        if found is None:
            return
        budget = {**found, "apiVersion": POD_DISRUPTION_BUDGETS.api_version, "kind": POD_DISRUPTION_BUDGETS.kind}
        selector = _selector(budget)
        pods = [pod for pod in self._pods.by_index(BY_NAMESPACE, key[0]) if selector.matches(meta.labels(pod))]
        if not pods:
            self._engine.event(COMPONENT, budget, "Normal", "NoPods", "No matching pods found")
        now_ns = self._engine.now_ns()
        try:
            wanted = expected(budget, pods, self._scales(pods) if needs_scales(budget) else {})
        except Unscalable as error:
            why = f"Failed to calculate the number of expected pods: {error}"
            self._engine.event(COMPONENT, budget, "Warning", "CalculateExpectedPodCountFailed", why)
            status = failed_status(budget, str(error), now_ns=now_ns)
        else:
            status = status_of(budget, pods, wanted, now_ns=now_ns)
        if status != found.get("status"):
            await self._engine.client.update(POD_DISRUPTION_BUDGETS, {**budget, "status": status}, subresource="status")
        stamps = (status.get("disruptedPods") or {}).values()
        if stamps:
            oldest_s = max(seconds_since(stamp, now_ns) for stamp in stamps)
            self._queue.add_after(key, max(0.0, _DELETION_TIMEOUT_S - oldest_s) + 1.0)

    def _scales(self, pods: Iterable[Object]) -> dict[str, int]:
        """The wanted number of pods per owner: of a Deployment where a ReplicaSet has one."""
        found: dict[str, int] = {}
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                continue
            owner = self._owner(pod["metadata"]["namespace"], reference, name(pod))
            above = controller_of(owner)
            if above is not None and above["kind"] == DEPLOYMENTS.kind:
                owner = self._owner(pod["metadata"]["namespace"], above, name(pod))
            found[uid(owner)] = replicas(owner)
        return found

    def _owner(self, namespace: str, reference: dict[str, Any], pod: str) -> Object:
        informer = self._owners.get(reference["kind"])
        owner = informer.get((namespace, reference["name"])) if informer is not None else None
        if owner is not None and uid(owner) == reference["uid"]:
            return owner
        try:
            resource = by_kind(reference["apiVersion"], reference["kind"])
        except UnknownResource:
            raise Unscalable(f'found no controllers for pod "{pod}"') from None
        if "scale" not in resource.subresources:
            raise Unscalable(f"{resource.full_name} does not implement the scale subresource")
        raise Unscalable(f'found no controllers for pod "{pod}"')


def _selector(budget: Object) -> LabelSelector:
    return LabelSelector.from_object(budget["spec"].get("selector"))
