"""What a kubelet says of a pod: the statuses of its steps, as merge patches."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, Literal

from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

DURATION = "kubedyno/duration"
"""The annotation that says how long a pod works (`30s`); without it, it works until it is deleted."""

Step = Literal["run", "succeed", "delete", "none"]

_WORKING = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def next_step(pod: Object) -> tuple[Step, float]:
    """What happens to a bound pod next, and after how many seconds from the start of its present step."""
    if pod["metadata"].get("deletionTimestamp"):
        return "delete", 0.0
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Pending":
        return "run", 0.0
    written = meta.annotations(pod).get(DURATION)
    if phase == "Running" and written:
        try:
            return "succeed", max(parse_duration_s(written), 0.0)
        except UsageError:
            return "none", 0.0  # what cannot be read is no duration: the pod runs on
    return "none", 0.0


def forget_unneeded(pod: Object) -> None:
    """Cut a pod down to what `next_step`, `running` and `succeeded` read, in place: there may be many thousands."""
    pod["metadata"].pop("managedFields", None)
    pod["metadata"].pop("labels", None)
    spec, status = pod["spec"], pod.get("status") or {}
    for name in [name for name in spec if name not in _NEEDED_SPEC]:
        del spec[name]
    if status.get("phase") != "Pending" and DURATION not in meta.annotations(pod):
        # Nothing but its deletion can follow.
        pod["spec"] = {"nodeName": spec.get("nodeName", "")}
        pod["status"] = {"phase": status.get("phase")}
        return
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for name in [name for name in container if name not in _NEEDED_OF_CONTAINER]:
            del container[name]


_NEEDED_SPEC = frozenset({"nodeName", "containers", "initContainers", "readinessGates"})
_NEEDED_OF_CONTAINER = frozenset({"name", "image"})


def running(pod: Object, *, now: str, host_ip: str, pod_ip: str) -> Object:
    """The status of a pod whose containers all run."""
    spec = pod["spec"]
    status: Object = {
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": "Running",
        "startTime": now,
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "conditions": _conditions(pod, [*_WORKING, *_gates(spec)], "True", now),
        "containerStatuses": [_running_container(one, now) for one in spec["containers"]],
    }
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [_initial_container(one, now) for one in spec["initContainers"]]
    return status


def succeeded(pod: Object, *, now: str) -> Object:
    """The status of a pod whose containers all ended well."""
    before = pod["status"]
    return {
        "phase": "Succeeded",
        "conditions": _conditions(pod, ["ContainersReady", "Ready"], "False", now, reason="PodCompleted"),
        "containerStatuses": [_ended_container(one, now) for one in before.get("containerStatuses") or ()],
    }


def pod_address(cidr: str, index: int) -> str:
    """The address of the pod with that index on its node; addresses of a full range are used again."""
    network = IPv4Network(cidr)
    return str(network[1 + index % (network.num_addresses - 2)])


def _gates(spec: Mapping[str, Any]) -> list[str]:
    return [gate["conditionType"] for gate in spec.get("readinessGates") or ()]


def _conditions(pod: Object, types: list[str], status: str, now: str, reason: str = "") -> list[Object]:
    """The pod's conditions with these changed; a condition that stays keeps the time of its transition."""
    known = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    for type_ in types:
        before = known.get(type_)
        if before is None or before["status"] != status:
            known[type_] = {
                "type": type_,
                "status": status,
                "lastProbeTime": None,
                "lastTransitionTime": now,
                **({"reason": reason} if reason else {}),
            }
    return list(known.values())


def _container(name: str, image: str, *, ready: bool, state: Object) -> Object:
    return {"name": name, "image": image, "imageID": "", "ready": ready, "restartCount": 0, "state": state}


def _running_container(container: Object, now: str) -> Object:
    state = {"running": {"startedAt": now}}
    return {**_container(container["name"], container["image"], ready=True, state=state), "started": True}


def _initial_container(container: Object, now: str) -> Object:
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return _container(container["name"], container["image"], ready=True, state={"terminated": ended})


def _ended_container(before: Object, now: str) -> Object:
    started = ((before.get("state") or {}).get("running") or {}).get("startedAt", now)
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": now}
    state = {"terminated": ended}
    return {**_container(before["name"], before["image"], ready=False, state=state), "started": False}
