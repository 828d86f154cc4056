"""The row of a pod: how many containers are ready, one word for its state, and how often it was restarted."""

from typing import Any

import msgspec

from kubedyno.kinds.tables.ages import since
from kubedyno.kinds.tables.printing import Printer, age, at, columns, condition_status, name
from kubedyno.kube.codec import Object

_TERMINAL = frozenset({"Succeeded", "Failed"})
_DONE = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


class _Restarts(msgspec.Struct):
    """How often containers were restarted, and when the last of them ended (RFC 3339, empty: never)."""

    count: int = 0
    last: str = ""

    def add(self, status: Object) -> None:
        """Count those of one container."""
        self.count += status.get("restartCount") or 0
        # Times of one format and zone are ordered like their texts.
        self.last = max(self.last, at(status, "lastState.terminated.finishedAt") or "")

    def shown(self, now_ns: int) -> str:
        """`3 (5m ago)`."""
        return f"{self.count} ({since(self.last, now_ns)} ago)" if self.count and self.last else str(self.count)


class _Summary(msgspec.Struct):
    """What the walk through a pod's container statuses finds."""

    reason: str
    ready: int = 0
    restarts: _Restarts = msgspec.field(default_factory=_Restarts)


def _cells(pod: Object, now_ns: int) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    init = {entry.get("name"): entry for entry in spec.get("initContainers") or ()}
    sidecars = {name for name, entry in init.items() if entry.get("restartPolicy") == "Always"}
    found = _Summary(reason=_overall_reason(pod, status))
    sidecar_restarts = _Restarts()
    initializing = _walk_init(status, sidecars, len(init), found, sidecar_restarts)
    if not initializing or condition_status(pod, "Initialized") == "True":
        found.restarts = sidecar_restarts
        _walk_main(pod, status, found)
    if at(pod, "metadata.deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            found.reason = "Unknown"
        elif status.get("phase") not in _TERMINAL:
            found.reason = "Terminating"
    total = len(spec.get("containers") or ()) + len(sidecars)
    ips = status.get("podIPs") or ()
    return [
        name(pod, now_ns),
        f"{found.ready}/{total}",
        found.reason,
        found.restarts.shown(now_ns),
        age(pod, now_ns),
        (ips[0].get("ip") if ips else "") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(pod, spec),
    ]


def _overall_reason(pod: Object, status: Object) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return status.get("reason") or at(pod, "status.phase") or ""


def _walk_init(status: Object, sidecars: set[Any], total: int, found: _Summary, of_sidecars: _Restarts) -> bool:
    """Look at init containers up to the first that is neither done nor a running sidecar; whether there is one."""
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        found.restarts.add(container)
        is_sidecar = container.get("name") in sidecars
        if is_sidecar:
            of_sidecars.add(container)
        terminated, waiting = at(container, "state.terminated"), at(container, "state.waiting") or {}
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            found.ready += bool(container.get("ready"))
            continue
        if terminated is not None:
            found.reason = f"Init:{_ended(terminated)}"
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            found.reason = f"Init:{waiting['reason']}"
        else:
            found.reason = f"Init:{index}/{total}"
        return True
    return False


def _walk_main(pod: Object, status: Object, found: _Summary) -> None:
    """Look at the main containers from the last to the first: the first that has something to say has the last word."""
    has_running, error = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        found.restarts.add(container)
        terminated = at(container, "state.terminated")
        if waiting := at(container, "state.waiting.reason"):
            found.reason = waiting
        elif terminated is not None:
            found.reason = _ended(terminated)
            error = found.reason if terminated.get("exitCode") else error
        elif container.get("ready") and at(container, "state.running") is not None:
            has_running = True
            found.ready += 1
    if found.reason == "Completed":
        if has_running and _is_ready(pod):
            found.reason = "Running"
        elif error:
            found.reason = error
        elif has_running:
            found.reason = "NotReady"


def _ended(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode') or 0}"


def _is_ready(pod: Object) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in at(pod, "status.conditions") or ()
    )


def _readiness_gates(pod: Object, spec: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    met = sum(condition_status(pod, gate.get("conditionType") or "") == "True" for gate in gates)
    return f"{met}/{len(gates)}"


def _conditions(pod: Object) -> list[Object]:
    phase = at(pod, "status.phase")
    if phase not in _DONE:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _DONE[phase]}]


PRINTERS = {
    "pods": Printer(
        columns=columns(
            "Name", "Ready", "Status", "Restarts", "Age", "IP+", "Node+", "Nominated Node+", "Readiness Gates+"
        ),
        cells=_cells,
        conditions=_conditions,
    )
}
