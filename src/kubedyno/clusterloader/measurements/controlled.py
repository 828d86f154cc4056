"""How many pods controlling objects want, and have: kept up to date by news of both. Pure."""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kubedyno.clusterloader.measurements.pods import PodState, pod_state
from kubedyno.kube import meta
from kubedyno.kube.codec import Object


class Controller(msgspec.Struct, kw_only=True):
    """A controlling object and what it is to come to."""

    name: str
    """With its kind and namespace."""
    uid: str
    desired: int | None
    """Pods that are to run; None: it does not say yet."""
    template: Mapping[str, Any]
    """What the specs of its pods must have; empty: it was never changed, and they all have it."""
    spec: Mapping[str, Any]
    since_ns: int
    """When this is wanted from."""
    is_deleted: bool = False
    is_done: bool = False
    states: dict[str, PodState] = {}
    counts: Counter[PodState] = msgspec.field(default_factory=Counter)


class Tracking:
    """Controlling objects, what stands between them and their pods (ReplicaSets), and the pods."""

    def __init__(self, *, margin: int = 0, checks_updates: bool = True) -> None:
        self.controllers: dict[str, Controller] = {}
        self._open: dict[str, Controller] = {}
        """Those that have not come to what they want."""
        self._newest: list[tuple[int, str]] = []
        """A heap of since when controlling objects want what they want (negative) and their uids, some outdated."""
        self._margin = margin
        self._checks_updates = checks_updates
        self._pods: dict[str, dict[str, Object]] = {}
        """By the uid of the direct owner, then by their own."""
        self._between: dict[str, str] = {}
        """The controlling object of what stands between, by uid."""

    def controller_changed(self, obj: Object, now_ns: int, *, is_deleted: bool) -> None:
        """News of a controlling object. What it wants counts from the moment at which it wants it."""
        uid = obj["metadata"]["uid"]
        spec = obj.get("spec", {})
        known = self.controllers.get(uid)
        if known is None or known.spec != spec or known.is_deleted != is_deleted:
            known = self.controllers[uid] = Controller(
                name=_name(obj),
                uid=uid,
                desired=None,
                template=self._template(obj),
                spec=spec,
                since_ns=now_ns,
                is_deleted=is_deleted,
            )
            heapq.heappush(self._newest, (-now_ns, uid))
            self._recount(known)
        known.desired = 0 if is_deleted else desired_of(obj)
        known.is_done = known.is_done or _has_completed(obj)
        self._judge(known)

    def between_changed(self, obj: Object, *, is_deleted: bool) -> None:
        """News of a ReplicaSet, which belongs to a Deployment."""
        uid, owner = obj["metadata"]["uid"], _owner(obj)
        if is_deleted:
            self._between.pop(uid, None)
        elif owner and self._between.get(uid) != owner:
            self._between[uid] = owner
        if owner in self.controllers:
            self._recount(self.controllers[owner])

    def pod_changed(self, pod: Object, *, is_deleted: bool) -> None:
        """News of a pod."""
        owner, uid = _owner(pod), pod["metadata"]["uid"]
        if not owner:
            return
        pods = self._pods.setdefault(owner, {})
        if is_deleted:
            pods.pop(uid, None)
        else:
            pods[uid] = pod
        controller = self.controllers.get(self._between.get(owner, owner))
        if controller is not None:
            self._set(controller, uid, None if is_deleted else self._state(controller, pod))
            self._judge(controller)

    def unfinished(self) -> list[Controller]:
        """Those that have not come to what they want."""
        return list(self._open.values())

    def newest_since_ns(self) -> int | None:
        """Since when the one of these is wanted that was asked for last; None: there are none."""
        while self._newest:
            since_ns, uid = -self._newest[0][0], self._newest[0][1]
            if uid in self._open and self._open[uid].since_ns == since_ns:
                return since_ns
            heapq.heappop(self._newest)
        return None

    def pods_of(self, controller: Controller) -> Iterator[Object]:
        """All its pods, directly or not."""
        between = [uid for uid, owner in self._between.items() if owner == controller.uid]
        for owner in (controller.uid, *between):
            yield from self._pods.get(owner, {}).values()

    def _template(self, obj: Object) -> Mapping[str, Any]:
        if not self._checks_updates or (obj["metadata"].get("generation") or 1) <= 1:
            return {}
        template: Mapping[str, Any] = (obj.get("spec", {}).get("template") or {}).get("spec") or {}
        return template

    def _recount(self, controller: Controller) -> None:
        controller.states, controller.counts = {}, Counter()
        for pod in self.pods_of(controller):
            self._set(controller, pod["metadata"]["uid"], self._state(controller, pod))
        self._judge(controller)

    def _state(self, controller: Controller, pod: Object) -> PodState:
        """An outdated pod is one that is still on its way, to its end."""
        state = pod_state(pod)
        if state is PodState.READY and not contains(pod.get("spec", {}), controller.template):
            return PodState.COMING
        return state

    @staticmethod
    def _set(controller: Controller, uid: str, state: PodState | None) -> None:
        before = controller.states.pop(uid, None)
        if before is not None:
            controller.counts[before] -= 1
        if state is not None:
            controller.states[uid] = state
            controller.counts[state] += 1

    def _judge(self, controller: Controller) -> None:
        if not controller.is_done:
            controller.is_done = self._has_come(controller)
        if controller.is_done:
            self._open.pop(controller.uid, None)
        else:
            self._open[controller.uid] = controller

    def _has_come(self, controller: Controller) -> bool:
        """Whether it has what it wants now."""
        if controller.desired is None:
            return False
        if controller.is_deleted:
            return not controller.states
        ready, coming = controller.counts[PodState.READY], controller.counts[PodState.COMING]
        return abs(ready - controller.desired) <= self._margin and coming <= self._margin


def desired_of(obj: Object) -> int | None:
    """How many pods are to run of an object at a time; None: a DaemonSet of which nobody has counted the nodes yet."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    match obj.get("kind"):
        case "Job":
            return int(spec.get("parallelism", 1))
        case "DaemonSet":
            is_counted = status.get("observedGeneration", 0) >= obj["metadata"].get("generation", 0)
            return int(status.get("desiredNumberScheduled", 0)) if is_counted else None
    return int(spec.get("replicas") or 0)


def contains(whole: Any, part: Any) -> bool:
    """Whether all of a part is in the whole, which may have more: other keys, other members of lists."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(contains(whole.get(key), below) for key, below in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(contains(one, below) for one in whole) for below in part)
    return bool(whole == part)


def _has_completed(obj: Object) -> bool:
    """A Job that is complete has had its pods, be it for so short a time that nobody saw all of them run at once."""
    return obj.get("kind") == "Job" and meta.is_condition_true(obj, "Complete")


def _owner(obj: Object) -> str:
    return str((meta.controller_owner(obj) or {}).get("uid", ""))


def _name(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{obj.get('kind', 'object')} {metadata.get('namespace', '')}/{metadata['name']}"
