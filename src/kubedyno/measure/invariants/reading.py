"""Objects of the API read as facts. Fields may be plain data, or JSON that nobody has decoded yet."""

import functools
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kubedyno.kinds.admission import totals
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import NodeSelector, required_affinity
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import (
    CORE_EVENTS,
    COSCHEDULING_POD_GROUPS,
    JOBS,
    KAI_BIND_REQUESTS,
    KAI_POD_GROUPS,
    KAI_QUEUES,
    KAI_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from kubedyno.measure.invariants.facts import (
    PLACES,
    Ask,
    ClaimFacts,
    DecisionFacts,
    Device,
    EvictionFacts,
    Facts,
    GroupFacts,
    GroupKey,
    JobFacts,
    Key,
    NodeFacts,
    PodFacts,
    PriorityFacts,
    QueueFacts,
    Shares,
    SliceFacts,
    SubgroupFacts,
    TopologyFacts,
)
from kubedyno.measure.recorder import number
from kubedyno.model import keys

TOPOLOGIES: Final = (KUEUE_TOPOLOGIES, KAI_TOPOLOGIES)
"""The versions of each kind, the newest first: all say the same."""
API_GROUPS: Final = (KAI_POD_GROUPS.group, POD_GROUPS.group, COSCHEDULING_POD_GROUPS.group)
"""That have a PodGroup."""

_PRIORITY_LABEL: Final = "priorityClassName"
_RESERVATIONS: Final = frozenset({"kai-resource-reservation", "runai-reservation"})
_PREEMPTED_BY: Final = re.compile(r"Preempted by \w+ (\S+)")
_MILLIONS: Final = 10**9
"""Thousandths of bytes in a million of bytes."""


def version_of(obj: Object) -> int:
    """The version as a number, which orders all changes of a server; 0 where it is none."""
    return number(obj["metadata"].get("resourceVersion") or "")


def read_pod(obj: Object, known: PodFacts | None = None) -> PodFacts:
    """A pod; `known` is an earlier state of it."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    namespace = sys.intern(metadata.get("namespace") or "")
    unschedulable, disruption = False, None
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled":
            unschedulable = condition.get("status") == "False" and condition.get("reason") == "Unschedulable"
        elif condition["type"] == "DisruptionTarget" and condition.get("status") == "True":
            disruption = condition.get("reason") or ""
    shares = keys.FRACTION_ANNOTATION in annotations or keys.GPU_MEMORY_ANNOTATION in annotations
    reserves = labels.get("app") in _RESERVATIONS
    generation = metadata.get("generation") or 0
    if known is not None and known.generation == generation != 0:
        ask, owner = known.ask, known.owner
    else:
        controller = meta.controller_owner(obj) if metadata.get("ownerReferences") else None
        ask, owner = _ask(_asked(spec)), controller.get("uid") if controller is not None else None
    return PodFacts(
        uid=metadata["uid"],
        namespace=namespace,
        name=metadata["name"],
        generation=generation,
        node=sys.intern(spec["nodeName"]) if spec.get("nodeName") else None,
        phase=sys.intern(status.get("phase") or "Pending"),
        deleting="deletionTimestamp" in metadata,
        unschedulable=unschedulable,
        disruption=disruption,
        ask=ask,
        group=_group_of(namespace, spec, labels, annotations),
        subgroup=labels.get(keys.SUBGROUP_LABEL) or "",
        queue=labels.get(keys.QUEUE_LABEL),
        priority=spec.get("priority"),
        priority_class=labels.get(_PRIORITY_LABEL) or spec.get("priorityClassName"),
        preemptibility=labels.get(keys.PREEMPTIBILITY_LABEL),
        fraction=_number(annotations.get(keys.FRACTION_ANNOTATION)) if shares else 0.0,
        gpu_memory=int(_number(annotations.get(keys.GPU_MEMORY_ANNOTATION))) if shares else 0,
        gpu_groups=_gpu_groups(labels) if shares or reserves else (),
        reserves=reserves,
        workload=labels.get(keys.WORKLOAD_LABEL),
        owner=owner,
        claimed=_claimed(status["extendedResourceClaimStatus"]) if "extendedResourceClaimStatus" in status else (),
    )


def _claimed(extended: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Resources that a scheduler found in devices, by a claim that it made for the pod."""
    mappings = (extended or {}).get("requestMappings") or ()
    return tuple(sorted({sys.intern(one["resourceName"]) for one in mappings}))


def _group_of(
    namespace: str, spec: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str]
) -> GroupKey | None:
    native = (spec.get("schedulingGroup") or {}).get("podGroupName")
    if native:
        return POD_GROUPS.group, namespace, native
    if annotations.get(keys.GROUP_ANNOTATION):
        return KAI_POD_GROUPS.group, namespace, annotations[keys.GROUP_ANNOTATION]
    if labels.get(keys.COSCHEDULING_LABEL):
        return COSCHEDULING_POD_GROUPS.group, namespace, labels[keys.COSCHEDULING_LABEL]
    return None


def _gpu_groups(labels: Mapping[str, str]) -> tuple[str, ...]:
    """One label for one shared GPU, a label each for several."""
    one = keys.SHARED_GPU_LABEL
    several = sorted(value for name, value in labels.items() if name.startswith(f"{one}/"))
    return tuple(several) or ((labels[one],) if one in labels else ())


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


_ASKING: Final = ("nodeSelector", "affinity", "tolerations", "overhead", "resources")


def _asked(spec: Mapping[str, Any]) -> tuple[tuple[bytes, ...], ...]:
    """What a spec says of what it needs, as bytes: few pods differ in it, so it is understood once for many."""
    return (
        tuple(_bytes(spec.get(field)) for field in _ASKING),
        tuple(_bytes(one.get("resources")) for one in spec.get("containers") or ()),
        *(
            (_bytes(one.get("resources")), b"sidecar" if one.get("restartPolicy") == "Always" else b"")
            for one in spec.get("initContainers") or ()
        ),
    )


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    return bytes(value) if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)


def _plain(text: bytes) -> Any:
    return msgspec.json.decode(text) if text else None


@functools.lru_cache(maxsize=4096)
def _ask(asked: tuple[tuple[bytes, ...], ...]) -> Ask:
    fields, containers, *starting = asked
    spec = dict(zip(_ASKING, map(_plain, fields), strict=True))
    spec["containers"] = [{"name": str(at), "resources": _plain(one)} for at, one in enumerate(containers)]
    spec["initContainers"] = [
        {"name": f"init-{at}", "resources": _plain(text), "restartPolicy": "Always" if kind else None}
        for at, (text, kind) in enumerate(starting)
    ]
    amounts = {name: one.milli() for name, one in totals.pod_requests({"spec": spec}, with_status=False).items()}
    affinity = required_affinity(spec)
    requests = (*((name, amount) for name, amount in sorted(amounts.items()) if amount), (PLACES, 1000))
    return Ask(
        requests,
        tuple(sorted((spec["nodeSelector"] or {}).items())),
        NodeSelector.read(affinity) if affinity is not None else None,
        tuple(spec["tolerations"] or ()),
        dict(requests),
    )


def _node(obj: Object) -> NodeFacts:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return NodeFacts(
        name=obj["metadata"]["name"],
        labels=dict(meta.labels(obj)),
        allocatable=dict(_amounts(_bytes(status.get("allocatable")))),
        taints=tuple(spec.get("taints") or ()),
        unschedulable=bool(spec.get("unschedulable")),
    )


@functools.lru_cache(maxsize=256)
def _amounts(written: bytes) -> tuple[tuple[str, int], ...]:
    return tuple((name, Quantity.parse(amount).milli()) for name, amount in (_plain(written) or {}).items())


def _kai_group(obj: Object) -> GroupFacts:
    spec = obj.get("spec") or {}
    written = spec.get("subGroups") or ()
    parents = {one.get("parent") for one in written}
    constraint = spec.get("topologyConstraint") or {}
    subgroups = {
        one["name"]: SubgroupFacts(
            one.get("minMember") or 1, (one.get("topologyConstraint") or {}).get("requiredTopologyLevel") or None
        )
        for one in written
        if one["name"] not in parents
    }
    return GroupFacts(
        key=_group_key(KAI_POD_GROUPS, obj),
        uid=obj["metadata"]["uid"],
        least=sum(one.least for one in subgroups.values()) if subgroups else spec.get("minMember") or 1,
        subgroups=subgroups,
        required=constraint.get("requiredTopologyLevel") or None,
        topology=constraint.get("topology") or None,
        queue=spec.get("queue") or None,
        priority=None,
        priority_class=spec.get("priorityClassName") or None,
        preemptibility=spec.get("preemptibility") or None,
        may_shrink=False,
        ends_stale=True,
    )


def _native_group(obj: Object) -> GroupFacts:
    spec = obj.get("spec") or {}
    levels = [one.get("key") for one in (spec.get("schedulingConstraints") or {}).get("topology") or ()]
    return GroupFacts(
        key=_group_key(POD_GROUPS, obj),
        uid=obj["metadata"]["uid"],
        least=((spec.get("schedulingPolicy") or {}).get("gang") or {}).get("minCount") or 1,
        subgroups={},
        required=levels[0] if levels else None,
        topology=None,
        queue=None,
        priority=spec.get("priority"),
        priority_class=spec.get("priorityClassName") or None,
        preemptibility=None,
        may_shrink=spec.get("disruptionMode") != "PodGroup",
        ends_stale=False,
    )


def _coscheduling_group(obj: Object) -> GroupFacts:
    return GroupFacts(
        key=_group_key(COSCHEDULING_POD_GROUPS, obj),
        uid=obj["metadata"]["uid"],
        least=(obj.get("spec") or {}).get("minMember") or 1,
        subgroups={},
        required=None,
        topology=None,
        queue=None,
        priority=None,
        priority_class=None,
        preemptibility=None,
        may_shrink=True,
        ends_stale=False,
    )


def _group_key(resource: Resource, obj: Object) -> GroupKey:
    return resource.group, obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


def _queue(obj: Object) -> QueueFacts:
    spec = obj.get("spec") or {}
    resources = spec.get("resources") or {}
    return QueueFacts(
        name=obj["metadata"]["name"],
        parent=spec.get("parentQueue") or None,
        quota=_shares(resources, "quota", default=0.0),
        over_quota_weight=float((resources.get("gpu") or {}).get("overQuotaWeight") or 0),
        limit=_shares(resources, "limit", default=-1.0),
        priority=100 if spec.get("priority") is None else spec["priority"],
    )


def _shares(resources: Mapping[str, Any], field: str, *, default: float) -> Shares:
    gpu, cpu, memory = ((resources.get(name) or {}).get(field, default) for name in ("gpu", "cpu", "memory"))
    return float(gpu), float(cpu), float(memory)


def _claim(obj: Object) -> ClaimFacts:
    status = obj.get("status") or {}
    allocation = status.get("allocation")
    devices: list[Device] = []
    shares: list[Device] = []
    for one in ((allocation or {}).get("devices") or {}).get("results") or ():
        if not one.get("adminAccess"):
            # Devices that allow it are given to several, each with an id of its share.
            given = shares if one.get("shareID") else devices
            given.append((one.get("driver") or "", one.get("pool") or "", one.get("device") or ""))
    return ClaimFacts(
        uid=obj["metadata"]["uid"],
        key=_key(obj),
        devices=tuple(devices),
        reserved_for=tuple(one.get("uid") or "" for one in status.get("reservedFor") or ()),
        allocated=allocation is not None,
        shares=tuple(shares),
    )


def _slice(obj: Object) -> SliceFacts:
    spec = obj.get("spec") or {}
    return SliceFacts(
        name=obj["metadata"]["name"], node=spec.get("nodeName") or None, devices=len(spec.get("devices") or ())
    )


def _job(obj: Object) -> JobFacts:
    spec = obj.get("spec") or {}
    parallelism, completions = (spec.get(field) for field in ("parallelism", "completions"))
    abreast = 1 if parallelism is None else parallelism
    return JobFacts(
        uid=obj["metadata"]["uid"],
        key=_key(obj),
        abreast=abreast if completions is None else min(abreast, completions),
    )


def _topology(obj: Object) -> TopologyFacts:
    levels = (obj.get("spec") or {}).get("levels") or ()
    return TopologyFacts(name=obj["metadata"]["name"], levels=tuple(one["nodeLabel"] for one in levels))


def _priority(obj: Object) -> PriorityFacts:
    return PriorityFacts(obj["metadata"]["name"], obj.get("value") or 0)


def _decision(obj: Object) -> DecisionFacts:
    spec = obj.get("spec") or {}
    return DecisionFacts(
        uid=obj["metadata"]["uid"],
        pod=(obj["metadata"].get("namespace") or "", spec.get("podName") or obj["metadata"]["name"]),
        node=spec.get("selectedNode") or "",
        failed=(obj.get("status") or {}).get("phase") == "Failed",
    )


def _eviction(obj: Object) -> EvictionFacts | None:
    """An event that tells of an eviction, as KAI or as kube-scheduler writes it; None: it tells of something else."""
    if obj.get("reason") not in {"Evict", "Preempted"}:
        return None
    subject, annotations = obj.get("involvedObject") or {}, meta.annotations(obj)
    evictor, evictor_uid, action = None, None, annotations.get("evictor-action-type") or ""
    if annotations.get("evictor-pod-group-name"):
        namespace = annotations.get("evictor-pod-group-namespace") or subject.get("namespace") or ""
        evictor = namespace, annotations["evictor-pod-group-name"]
    if obj["reason"] == "Preempted":
        action = "preempt"
        told = _PREEMPTED_BY.match(obj.get("message") or "")
        evictor_uid = (obj.get("related") or {}).get("uid") or (told[1] if told else None)
    return EvictionFacts(
        kind=subject.get("kind") or "",
        key=(subject.get("namespace") or "", subject.get("name") or ""),
        uid=subject.get("uid") or "",
        action=action,
        evictor=evictor,
        evictor_uid=evictor_uid,
    )


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace") or "", obj["metadata"]["name"]


_READ_BY: Final[tuple[tuple[Resource, Callable[[Object], Facts | None]], ...]] = (
    (PODS, read_pod),
    (NODES, _node),
    (KAI_POD_GROUPS, _kai_group),
    (POD_GROUPS, _native_group),
    (COSCHEDULING_POD_GROUPS, _coscheduling_group),
    (KAI_QUEUES, _queue),
    (RESOURCE_CLAIMS, _claim),
    (RESOURCE_SLICES, _slice),
    (JOBS, _job),
    *((versions[0], _topology) for versions in TOPOLOGIES),
    (PRIORITY_CLASSES, _priority),
    (KAI_BIND_REQUESTS, _decision),
    (CORE_EVENTS, _eviction),
)
READERS: Final = {(resource.group, resource.kind): read for resource, read in _READ_BY}
"""How each kind is read, by API group and kind: all versions alike."""


def read(resource: Resource, obj: Object) -> Facts | None:
    """What is known of an object; None: nothing that matters here."""
    reader = READERS.get((resource.group, resource.kind))
    return reader(obj) if reader is not None else None


def megabytes(amount: int) -> float:
    """Thousandths of bytes as millions of bytes."""
    return amount / _MILLIONS
