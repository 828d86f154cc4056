"""Rows of nodes and of what namespaces hold beside workloads: settings, accounts, events, quotas, devices."""

from collections.abc import Mapping
from typing import Any

from kubedyno.kinds.tables.ages import since
from kubedyno.kinds.tables.printing import (
    AGE,
    NAME,
    Cell,
    Printer,
    ago,
    at,
    columns,
    containers,
    count,
    labels,
    number,
    printer,
    text,
    truth,
)
from kubedyno.kube.codec import Object

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_COMPONENT_STATES = {"True": "Healthy", None: "Unknown"}

# Where the two event kinds keep the same things.
_CORE_EVENT = {
    "object": "involvedObject",
    "source": "source",
    "message": "message",
    "first": "firstTimestamp",
    "last": "lastTimestamp",
    "count": "count",
}
_NEW_EVENT = {
    "object": "regarding",
    "source": "deprecatedSource",
    "message": "note",
    "first": "deprecatedFirstTimestamp",
    "last": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}


def _node_status(node: Object, _now_ns: int) -> str:
    # Of conditions with one type the last counts here.
    found = {entry.get("type"): entry.get("status") for entry in at(node, "status.conditions") or ()}
    ready = "Unknown"
    if "Ready" in found:
        ready = "Ready" if found["Ready"] == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if at(node, "spec.unschedulable") else ready


def _roles(node: Object, _now_ns: int) -> str:
    found = set()
    for key, value in (at(node, "metadata.labels") or {}).items():
        if key.startswith(_ROLE_PREFIX):
            found.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL:
            found.add(value)
    return ",".join(sorted(found - {""})) or "<none>"


def _address(type_: str) -> Cell:
    def cell(node: Object, _now_ns: int) -> str:
        addresses = at(node, "status.addresses") or ()
        return next((entry.get("address") or "" for entry in addresses if entry.get("type") == type_), "<none>")

    return cell


def _kernel(node: Object, _now_ns: int) -> str:
    info = at(node, "status.nodeInfo") or {}
    kernel, architecture = info.get("kernelVersion") or "<unknown>", info.get("architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


def _config_map_size(obj: Object, _now_ns: int) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _event(fields: Mapping[str, str]) -> Printer:
    """The row of an event, whose fields are named differently in its two groups."""

    def cells(event: Object, now_ns: int) -> list[Any]:
        first = since(event.get(fields["first"]) or event.get("eventTime"), now_ns)
        last = since(event[fields["last"]], now_ns) if event.get(fields["last"]) else first
        total = event.get(fields["count"]) or 1
        series = event.get("series")
        if series is not None:
            last, total = since(series.get("lastObservedTime"), now_ns), series.get("count") or 0
        target = event.get(fields["object"]) or {}
        kind, name = (target.get("kind") or "").lower(), target.get("name")
        source = event.get(fields["source"]) or {}
        component = source.get("component") or event.get("reportingComponent") or event.get("reportingController")
        instance = source.get("host") or event.get("reportingInstance")
        return [
            last,
            event.get("type") or "",
            event.get("reason") or "",
            f"{kind}/{name}" if name else kind,
            target.get("fieldPath") or "",
            f"{component or ''}, {instance}" if instance else component or "",
            (event.get(fields["message"]) or "").strip(),
            first,
            total,
            at(event, "metadata.name") or "",
        ]

    return Printer(
        columns=columns(
            *("Last Seen", "Type", "Reason", "Object", "Subobject+"),
            *("Source+", "Message", "First Seen+", "Count+", "Name+"),
        ),
        cells=cells,
    )


def _quota(of_limits: bool) -> Cell:
    """What a quota's resources are used, of limits or of all others."""

    def cell(quota: Object, _now_ns: int) -> str:
        hard, used = at(quota, "status.hard") or {}, at(quota, "status.used") or {}
        return ", ".join(
            f"{resource}: {used.get(resource) or '0'}/{hard[resource]}"
            for resource in sorted(hard)
            if resource.startswith("limits.") is of_limits
        )

    return cell


def _component(field: str) -> Cell:
    def cell(obj: Object, _now_ns: int) -> str:
        healthy = next((entry for entry in obj.get("conditions") or () if entry.get("type") == "Healthy"), None)
        if field == "status":
            return _COMPONENT_STATES.get(healthy and healthy.get("status"), "Unhealthy")
        return (healthy or {}).get(field) or ""

    return cell


def _claim_state(claim: Object, _now_ns: int) -> str:
    is_deleted = bool(at(claim, "metadata.deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if at(claim, "status.allocation") is not None:
        states.append("allocated")
        if at(claim, "status.reservedFor"):
            states.append("reserved")
    elif not is_deleted:
        states.append("pending")
    return ",".join(states)


_WIDE_CONTAINERS = tuple((written.removesuffix("+"), cell) for written, cell in containers("template"))

PRINTERS = {
    "nodes": printer(
        NAME,
        ("Status", _node_status),
        ("Roles", _roles),
        AGE,
        ("Version", text("status.nodeInfo.kubeletVersion")),
        ("Internal-IP+", _address("InternalIP")),
        ("External-IP+", _address("ExternalIP")),
        ("OS-Image+", text("status.nodeInfo.osImage", "<unknown>")),
        ("Kernel-Version+", _kernel),
        ("Container-Runtime+", text("status.nodeInfo.containerRuntimeVersion", "<unknown>")),
    ),
    "namespaces": printer(NAME, ("Status", text("status.phase")), AGE),
    "serviceaccounts": printer(NAME, AGE),
    "configmaps": printer(NAME, ("Data", _config_map_size), AGE),
    "secrets": printer(NAME, ("Type", text("type")), ("Data", count("data")), AGE),
    "events": _event(_CORE_EVENT),
    "events.events.k8s.io": _event(_NEW_EVENT),
    "resourcequotas": printer(NAME, ("Request", _quota(of_limits=False)), ("Limit", _quota(of_limits=True)), AGE),
    "podtemplates": printer(NAME, *_WIDE_CONTAINERS, ("Pod Labels", labels("template.metadata.labels"))),
    "componentstatuses": printer(
        NAME, ("Status", _component("status")), ("Message", _component("message")), ("Error", _component("error"))
    ),
    "leases.coordination.k8s.io": printer(NAME, ("Holder", text("spec.holderIdentity")), AGE),
    "priorityclasses.scheduling.k8s.io": printer(
        NAME,
        ("Value:integer", number("value")),
        ("Global-Default:boolean", truth("globalDefault")),
        AGE,
        ("PreemptionPolicy", text("preemptionPolicy")),
    ),
    "runtimeclasses.node.k8s.io": printer(NAME, ("Handler", text("handler")), AGE),
    "resourceclaims.resource.k8s.io": printer(NAME, ("State", _claim_state), AGE),
    "resourceclaimtemplates.resource.k8s.io": printer(NAME, AGE),
    "deviceclasses.resource.k8s.io": printer(NAME, AGE),
    "resourceslices.resource.k8s.io": printer(
        NAME, ("Node", text("spec.nodeName")), ("Driver", text("spec.driver")), ("Pool", text("spec.pool.name")), AGE
    ),
    "devicetaintrules.resource.k8s.io": printer(
        NAME,
        ("Key", text("spec.taint.key")),
        ("Value", text("spec.taint.value")),
        ("Effect", text("spec.taint.effect")),
        ("TimeAdded", ago("spec.taint.timeAdded", "")),
        AGE,
    ),
}
