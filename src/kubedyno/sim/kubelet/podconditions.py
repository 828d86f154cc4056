"""The conditions that a kubelet keeps on a pod, as parts of a strategic merge patch; words are those of 1.36."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import containers
from kubedyno.sim.kubelet.containers import Shape

OWN: Final = frozenset({"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"})

_Told = tuple[str, str, str]
"""Status, reason and message."""
_TRUE: Final[_Told] = ("True", "", "")
_FALSE: Final[_Told] = ("False", "", "")
_NOT_READY_AT_END: Final[Mapping[str, _Told]] = {
    "Succeeded": ("False", "PodCompleted", ""),
    "Failed": ("False", "PodFailed", ""),
}


def conditions(
    pod: Object,
    shape: Shape,
    regular: Sequence[Object],
    initial: Sequence[Object],
    *,
    phase: str,
    has_sandbox: bool | None,
    now: str,
) -> list[Object]:
    """The conditions that a pod with these statuses of containers must get, in a kubelet's order.

    Those that say already what they should are left out. None for the sandbox: as it was.
    """
    before = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    generation = pod["metadata"].get("generation")
    containers_ready = _containers_ready(shape, regular, initial, phase)
    told = (
        ("PodReadyToStartContainers", _sandbox(has_sandbox, before.get("PodReadyToStartContainers"))),
        ("Initialized", _initialised(shape, regular, initial, phase)),
        ("Ready", _ready(containers_ready, pod["spec"].get("readinessGates"), before)),
        ("ContainersReady", containers_ready),
    )
    found = (_condition(before.get(type_), type_, says, now, generation) for type_, says in told)
    return [condition for condition in found if condition is not None]


def is_ready(status: Object) -> bool:
    """Whether the pod says that it and its containers are ready."""
    said = [one for one in status.get("conditions") or () if one["type"] in ("Ready", "ContainersReady")]
    return len(said) == 2 and said[0]["status"] == said[1]["status"] == "True"  # noqa: PLR2004 - both are there


def _condition(before: Object | None, type_: str, told: _Told, now: str, generation: int | None) -> Object | None:
    """The condition as a part of a patch: its time changes with its status only. None: it says so already."""
    status, reason, message = told
    condition: Object = {"type": type_, "status": status}
    if generation:
        condition["observedGeneration"] = generation
    if before is None:
        condition["lastTransitionTime"] = now
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        return condition
    # A server that does not know generations of conditions drops them: then they are not missed.
    changes = bool(generation) and before.get("observedGeneration") not in {None, generation}
    if before["status"] != status:
        condition["lastTransitionTime"] = now
        changes = True
    for name, text in (("reason", reason), ("message", message)):
        if (before.get(name) or "") != text:
            condition[name] = text or None
            changes = True
    return condition if changes else None


def _sandbox(has_sandbox: bool | None, before: Object | None) -> _Told:
    if has_sandbox is None:
        return _TRUE if before is None or before["status"] == "True" else _FALSE
    return _TRUE if has_sandbox else _FALSE


def _initialised(shape: Shape, regular: Sequence[Object], initial: Sequence[Object], phase: str) -> _Told:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if not shape.initial or any("running" in one["state"] or "terminated" in one["state"] for one in regular):
        return _TRUE
    states: dict[str, Object] = defaultdict(dict, {one["name"]: one["state"] for one in initial})
    incomplete = [
        one.name
        for one in shape.initial
        if not ("running" in states[one.name] if one.is_sidecar else containers.has_ended_well(states[one.name]))
    ]
    if not incomplete:
        return _TRUE
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"


def _containers_ready(shape: Shape, regular: Sequence[Object], initial: Sequence[Object], phase: str) -> _Told:
    if ended := _NOT_READY_AT_END.get(phase):
        return ended
    up = {one["name"] for which in (regular, initial) for one in which if "running" in one["state"]}
    unready = [name for name in shape.serving if name not in up]
    if not unready:
        return _TRUE
    return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"


def _ready(containers_ready: _Told, gates: Iterable[Mapping[str, str]] | None, before: Mapping[str, Any]) -> _Told:
    """As its containers, but not before all gates are open; who opens them is not the kubelet."""
    if not gates or containers_ready[0] != "True":
        return containers_ready
    problems = []
    for gate in gates:
        type_ = gate["conditionType"]
        if type_ not in before:
            problems.append(f'corresponding condition of pod readiness gate "{type_}" does not exist.')
        elif (status := before[type_]["status"]) != "True":
            problems.append(f'the status of pod readiness gate "{type_}" is not "True", but {status}')
    return ("False", "ReadinessGatesNotReady", ", ".join(problems)) if problems else _TRUE
