"""What a kubelet says of a pod as a whole: phase, conditions and addresses, as strategic merge patches of `status`.

A patch holds what changes and nothing that belongs to others: no condition of the scheduler or of readiness gates, no
metadata. Conditions merge by their type, so those that are not named stay. Words are those of Kubernetes 1.36.

Patches share parts with each other (`containers`): they are to be sent, not changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from kubedyno.kinds.admission import totals
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.kubelet import containers, podconditions
from kubedyno.sim.kubelet.containers import Container, Shape, stamp_ns
from kubedyno.sim.kubelet.plans import JOB_TYPE, Plan


class Addresses(Protocol):
    """The addresses of a pod. Asked again for the same pod, they are the same."""

    @property
    def host_ips(self) -> Sequence[str]:
        """Of its node."""
        ...

    def pod_ips(self) -> Sequence[str]:
        """Of its own; asked for only when it needs them."""
        ...


def accepted(pod: Object, *, now: str, addresses: Addresses) -> Object:
    """The kubelet has taken the pod on; nothing runs yet."""
    shape, uid = containers.shape_of(pod["spec"]), pod["metadata"]["uid"]
    regular, initial = (
        [containers.waiting(one, uid, shape.creating) for one in which] for which in (shape.listed, shape.initial)
    )
    status = _addressed(pod, addresses, own=bool(pod["spec"].get("hostNetwork")))
    status["startTime"] = now
    return status | _report(pod, shape, regular, initial, now=now, phase="Pending", has_sandbox=False)


def initialising(pod: Object, *, now: str, addresses: Addresses) -> Object:
    """The pod has its network, and its first init container runs."""
    shape, uid = containers.shape_of(pod["spec"]), pod["metadata"]["uid"]
    regular = [containers.waiting(one, uid, shape.creating) for one in shape.listed]
    first, *others = shape.initial
    initial = [
        containers.running(first, uid, now),
        *(containers.waiting(one, uid, shape.creating) for one in others),
    ]
    status = _addressed(pod, addresses, own=True)
    return status | _report(pod, shape, regular, initial, now=now, phase="Pending", has_sandbox=True)


def running(pod: Object, *, now: str, addresses: Addresses, turns: Sequence[str]) -> Object:
    """All containers run. `turns` are the stamps at which the init containers began, one after another."""
    shape, uid = containers.shape_of(pod["spec"]), pod["metadata"]["uid"]
    status = _addressed(pod, addresses, own=True)
    if not (pod.get("status") or {}).get("startTime"):
        status["startTime"] = now
    regular = [containers.running(one, uid, now) for one in shape.listed]
    initial = [
        containers.running(one, uid, began) if one.is_sidecar else containers.completed(one, uid, began, ended)
        for one, began, ended in zip(shape.initial, turns, (*turns[1:], now), strict=False)
    ]
    return status | _report(pod, shape, regular, initial, now=now, phase="Running", has_sandbox=True)


def worked(pod: Object, plan: Plan, due: frozenset[str], *, now: str) -> Object:
    """The regular containers named in `due` end, or are started again; the pod ends with its last container."""
    uid, status, policy = pod["metadata"]["uid"], pod["status"], pod["spec"].get("restartPolicy", "Always")
    shape = containers.shape_of(pod["spec"])
    regular = [
        containers.changed(one, pod, before, plan, now=now) if one.name in due else containers.again(one, uid, before)
        for one, before in _matched(shape.listed, status["containerStatuses"])
    ]
    codes = [_final_code(one["state"], policy) for one in regular]
    if None in codes:
        known = _matched(shape.initial, status.get("initContainerStatuses") or ())
        initial = [containers.again(one, uid, before) for one, before in known]
        return _report(pod, shape, regular, initial, now=now, phase="Running", has_sandbox=True)
    # Sidecars are asked to end when the last regular container has.
    initial = _stopped_initial(pod, shape, code=containers.SIGTERMED, now=now)
    phase = "Failed" if any(codes) else "Succeeded"
    return _report(pod, shape, regular, initial, now=now, phase=phase, has_sandbox=False)


def stopped(pod: Object, *, code: int, now: str, reason: str = "", message: str = "") -> Object:
    """The pod is ended from outside: what runs ends with exit code `code`, and nothing is started again."""
    uid, shape = pod["metadata"]["uid"], containers.shape_of(pod["spec"])
    known = {one["name"]: one for one in (pod.get("status") or {}).get("containerStatuses") or ()}
    # Where init containers never came to their end, it was not the turn of the others.
    is_initialised = not shape.initial or any(map(containers.has_run, known.values()))
    regular = [
        containers.stopped(
            one,
            uid,
            known.get(one.name) or containers.waiting(one, uid, shape.creating),
            code=code,
            now=now,
            has_turn=is_initialised,
        )
        for one in shape.listed
    ]
    initial = _stopped_initial(pod, shape, code=code, now=now)
    well = not reason and all(containers.has_ended_well(one["state"]) for one in regular)
    told = {"reason": reason, "message": message} if reason else {}
    phase = "Succeeded" if well else "Failed"
    return told | _report(pod, shape, regular, initial, now=now, phase=phase, has_sandbox=False)


def corrected(pod: Object, *, now: str) -> Object | None:
    """What the status of a pod whose containers run must say otherwise; None: nothing.

    Others change it: the node lifecycle controller takes `Ready` away from pods of nodes that it has not heard of,
    conditions of readiness gates come and go, and a new generation of the pod is to be acknowledged.
    """
    status = pod["status"]
    generation, seen = pod["metadata"].get("generation"), status.get("observedGeneration")
    # A server that does not know the field drops it: then it is not missed.
    is_behind = seen is not None and seen != generation
    if not is_behind and not pod["spec"].get("readinessGates") and podconditions.is_ready(status):
        return None
    uid, shape = pod["metadata"]["uid"], containers.shape_of(pod["spec"])
    regular, initial = status["containerStatuses"], status.get("initContainerStatuses") or []
    if is_behind:
        regular = [containers.again(one, uid, before) for one, before in _matched(shape.listed, regular)]
        initial = [containers.again(one, uid, before) for one, before in _matched(shape.initial, initial)]
        return _report(pod, shape, regular, initial, now=now, phase=status["phase"], has_sandbox=None)
    told = podconditions.conditions(pod, shape, regular, initial, phase=status["phase"], has_sandbox=None, now=now)
    return {"conditions": told} if told else None


def started_ns(pod: Object) -> int | None:
    """When the containers of a pod started (wall time of that second); None when none runs."""
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        if began := one["state"].get("running"):
            return stamp_ns(began["startedAt"])
    return None


def is_anything_running(status: Object) -> bool:
    """Whether any container runs."""
    return any(
        "running" in one["state"]
        for which in ("containerStatuses", "initContainerStatuses")
        for one in status.get(which) or ()
    )


def _matched(which: Iterable[Container], statuses: Iterable[Object]) -> list[tuple[Container, Object]]:
    """Containers with their statuses, as far as they have one."""
    known = {one["name"]: one for one in statuses}
    return [(container, known[container.name]) for container in which if container.name in known]


def _final_code(state: Object, policy: str) -> int | None:
    """With what the container ended for good; None: it runs, or will again."""
    ended = state.get("terminated")
    code: int | None = None if ended is None else ended["exitCode"]
    return None if code is None or containers.is_restarted(code, policy) else code


def _stopped_initial(pod: Object, shape: Shape, *, code: int, now: str) -> list[Object]:
    """Init containers of a pod that ends; those after the last one that ever ran never had their turn."""
    uid = pod["metadata"]["uid"]
    known = {one["name"]: one for one in (pod.get("status") or {}).get("initContainerStatuses") or ()}
    before = [known.get(one.name) or containers.waiting(one, uid, shape.creating) for one in shape.initial]
    last = max((number for number, one in enumerate(before) if containers.has_run(one)), default=0)
    return [
        containers.stopped(container, uid, status, code=code, now=now, has_turn=number <= last)
        for number, (container, status) in enumerate(zip(shape.initial, before, strict=True))
    ]


def _addressed(pod: Object, addresses: Addresses, *, own: bool) -> Object:
    """The addresses that the pod does not have yet; `own`: with those of its own network."""
    known = pod.get("status") or {}
    status: Object = {}
    if not known.get("hostIPs") and (host := addresses.host_ips):
        status["hostIP"] = host[0]
        status["hostIPs"] = [{"ip": ip} for ip in host]
    if own and not known.get("podIPs"):
        ips = addresses.host_ips if pod["spec"].get("hostNetwork") else addresses.pod_ips()
        if ips:
            status["podIP"] = ips[0]
            status["podIPs"] = [{"ip": ip} for ip in ips]
    return status


def _report(
    pod: Object,
    shape: Shape,
    regular: list[Object],
    initial: list[Object],
    *,
    now: str,
    phase: str,
    has_sandbox: bool | None,
) -> Object:
    """Phase, generation, conditions and statuses of containers. None for the sandbox: as it was."""
    status: Object = {"phase": phase}
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    told = podconditions.conditions(pod, shape, regular, initial, phase=phase, now=now, has_sandbox=has_sandbox)
    if told:
        status["conditions"] = told
    status["containerStatuses"] = regular
    if initial:
        status["initContainerStatuses"] = initial
    if resources := pod["spec"].get("resources"):
        # Resources of the pod as a whole are followed like those of containers.
        status["resources"] = resources
        asked = totals.pod_requests({"spec": pod["spec"]}, with_status=False)
        status["allocatedResources"] = {name: str(amount) for name, amount in asked.items()}
    return status


_NEEDED_OF_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
)
_NEEDED_ANNOTATIONS: Final = (marks.START, marks.DURATION, marks.STOP, marks.EXIT_CODE)
_NEEDED_OF_SPEC: Final = (
    "nodeName",
    "restartPolicy",
    "readinessGates",
    "activeDeadlineSeconds",
    "terminationGracePeriodSeconds",
    "hostNetwork",
    "resources",
    "overhead",
)
_NEEDED_OF_CONTAINER: Final = ("name", "image", "resources", "restartPolicy")
_NEEDED_OF_STATUS: Final = ("phase", "observedGeneration", "startTime", "hostIPs", "podIP", "podIPs")
_NEEDED_OF_CONTAINER_STATUS: Final = ("name", "state", "lastState", "restartCount", "allocatedResourcesStatus")


def forget_unneeded(pod: Object) -> None:
    """Cut a pod down to what plans and decisions about it read, in place: there may be many thousands."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    kept = _only(metadata, _NEEDED_OF_METADATA)
    if annotations := _only(metadata.get("annotations") or {}, _NEEDED_ANNOTATIONS):
        kept["annotations"] = annotations
    if labels := _only(metadata.get("labels") or {}, (JOB_TYPE,)):
        kept["labels"] = labels
    cut = _only(spec, _NEEDED_OF_SPEC)
    for which in ("containers", "initContainers"):
        if spec.get(which):
            cut[which] = [_only(one, _NEEDED_OF_CONTAINER) for one in spec[which]]
    left = _only(status, _NEEDED_OF_STATUS)
    for which in ("containerStatuses", "initContainerStatuses"):
        if status.get(which):
            left[which] = [_only(one, _NEEDED_OF_CONTAINER_STATUS) for one in status[which]]
    read = podconditions.OWN.union(gate["conditionType"] for gate in spec.get("readinessGates") or ())
    left["conditions"] = [one for one in status.get("conditions") or () if one["type"] in read]
    pod.clear()
    pod.update(metadata=kept, spec=cut, status=left)


def _only(members: Mapping[str, Any], names: Iterable[str]) -> Object:
    return {name: members[name] for name in names if name in members}
