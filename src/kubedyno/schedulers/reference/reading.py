"""Objects of the API as the reference scheduler understands them: pure, one function for each kind."""

from typing import Any, Final

import msgspec

from kubedyno.controllers import claimfacts
from kubedyno.controllers.podfacts import is_finished, phase
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import COSCHEDULING_POD_GROUPS, KAI_POD_GROUPS, POD_GROUPS
from kubedyno.model import keys
from kubedyno.model.queues import UNLIMITED, Queue, Share
from kubedyno.model.workloads import NON_PREEMPTIBLE_FROM, PRIORITIES, TRAIN, Closeness
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.fitting import Needs
from kubedyno.schedulers.reference.jobs import JobKey, Key, Subgroup
from kubedyno.schedulers.reference.volumes import claims_of

NAMES: Final = frozenset({"default-scheduler", "kubedyno"})
"""The `schedulerName`s it answers to: it is the only scheduler of its lab, so it is the default one."""

_PREEMPTIBILITY: Final = {"preemptible": True, "non-preemptible": False}

POD: Final = "Pod"
KAI: Final = KAI_POD_GROUPS.full_name
NATIVE: Final = POD_GROUPS.full_name
COSCHEDULING: Final = COSCHEDULING_POD_GROUPS.full_name
"""The first part of the keys of jobs."""

USUAL_PRIORITY: Final = PRIORITIES[TRAIN]
"""Of what is in a queue and names no priority class, as in KAI."""


class PodFacts(msgspec.Struct):
    """What is kept of a pod."""

    key: Key
    uid: str
    needs: Needs
    job: JobKey
    subgroup: str
    queue: str | None
    priority: int
    preemptible: bool | None
    """None: as its priority says."""
    created: str
    node: str
    """Empty: it has none."""
    is_ours: bool
    """It is for this scheduler to place, or was."""
    is_waiting: bool
    """It can be placed: nothing holds it back."""
    is_going: bool
    is_running: bool
    is_finished: bool
    has_succeeded: bool
    claims: tuple[Key, ...]
    """For volumes."""
    device_claims: tuple[Key, ...]
    """For devices; those that are not made yet have no name."""
    shared_gpu: str
    said: str
    """What its status says about why it waits."""


class GroupFacts(msgspec.Struct, frozen=True):
    """What is kept of a PodGroup, of whatever API."""

    key: JobKey
    uid: str
    api_version: str
    queue: str | None
    priority_class: str
    priority: int | None
    """None: that of its class, or of its pods."""
    preemptible: bool | None
    """None: as its priority says."""
    created: str
    groups: tuple[Subgroup, ...]
    closeness: Closeness | None
    has_condition: bool = False
    """It says that it cannot be scheduled."""


def pod_facts(pod: Object) -> PodFacts:
    """What is kept of a Pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    labels, node, going = meta.labels(pod), spec.get("nodeName") or "", bool(metadata.get("deletionTimestamp"))
    ours = spec.get("schedulerName") in NAMES
    queue = labels.get(keys.QUEUE_LABEL)
    return PodFacts(
        (metadata["namespace"], metadata["name"]),
        metadata["uid"],
        fitting.needs_of(pod),
        _job_of(pod),
        labels.get(keys.SUBGROUP_LABEL, ""),
        queue,
        _pod_priority(spec, queue),
        _PREEMPTIBILITY.get(labels.get(keys.PREEMPTIBILITY_LABEL, "")),
        metadata["creationTimestamp"],
        node,
        ours,
        ours and not node and not going and not spec.get("schedulingGates") and phase(pod) == "Pending",
        going,
        phase(pod) == "Running",
        is_finished(pod),
        phase(pod) == "Succeeded",
        claims_of(pod),
        _device_claims(pod),
        labels.get(keys.SHARED_GPU_LABEL, ""),
        _said(pod),
    )


def _device_claims(pod: Object) -> tuple[Key, ...]:
    """An entry whose claim turned out not to be needed has a status without a name."""
    made = {one["name"]: one for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
    return tuple(
        (pod["metadata"]["namespace"], claimfacts.claim_name(pod, entry) or "")
        for entry in claimfacts.entries(pod)
        if entry["name"] not in made or made[entry["name"]].get("resourceClaimName")
    )


def _job_of(pod: Object) -> JobKey:
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    named = (
        (NATIVE, (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")),
        (KAI, meta.annotations(pod).get(keys.GROUP_ANNOTATION)),
        (COSCHEDULING, meta.labels(pod).get(keys.COSCHEDULING_LABEL)),
    )
    for kind, group in named:
        if group:
            return kind, namespace, group
    return POD, namespace, name


def _pod_priority(spec: Object, queue: str | None) -> int:
    if queue is not None and not spec.get("priorityClassName"):
        return USUAL_PRIORITY
    return int(spec.get("priority") or 0)


def _said(pod: Object) -> str:
    entry = meta.condition(pod, "PodScheduled")
    return str(entry.get("message", "")) if entry is not None and entry.get("status") == "False" else ""


def is_preemptible(priority: int) -> bool:
    """Whether work of a priority may be a victim, where it does not say so itself."""
    return priority < NON_PREEMPTIBLE_FROM


def kai_group(group: Object) -> GroupFacts:
    """A PodGroup of KAI."""
    spec = group.get("spec") or {}
    # Sub-groups that others name as their parent have no pods of their own.
    parents = {one.get("parent") for one in spec.get("subGroups") or ()}
    subgroups = tuple(
        Subgroup(one["name"], int(one.get("minMember") or 1), _kai_closeness(one.get("topologyConstraint")))
        for one in spec.get("subGroups") or ()
        if one["name"] not in parents
    )
    conditions = (group.get("status") or {}).get("schedulingConditions") or ()
    return GroupFacts(
        (KAI, *_names(group)),
        group["metadata"]["uid"],
        KAI_POD_GROUPS.api_version,
        spec.get("queue") or meta.labels(group).get(keys.QUEUE_LABEL),
        spec.get("priorityClassName") or "",
        None,
        _PREEMPTIBILITY.get(spec.get("preemptibility") or ""),
        group["metadata"]["creationTimestamp"],
        subgroups or (Subgroup("", int(spec.get("minMember") or 1)),),
        _kai_closeness(spec.get("topologyConstraint")),
        has_condition=bool(conditions),
    )


def _kai_closeness(written: Any) -> Closeness | None:
    wish = written or {}
    required, preferred = wish.get("requiredTopologyLevel") or None, wish.get("preferredTopologyLevel") or None
    if not wish.get("topology") or not (required or preferred):
        return None
    return Closeness(topology=wish["topology"], required=required, preferred=preferred)


def native_group(group: Object) -> GroupFacts:
    """A PodGroup of Kubernetes' own; without a gang policy one pod is enough."""
    spec = group.get("spec") or {}
    least = ((spec.get("schedulingPolicy") or {}).get("gang") or {}).get("minCount", 1)
    levels = [one["key"] for one in (spec.get("schedulingConstraints") or {}).get("topology") or ()]
    return GroupFacts(
        (NATIVE, *_names(group)),
        group["metadata"]["uid"],
        POD_GROUPS.api_version,
        meta.labels(group).get(keys.QUEUE_LABEL),
        spec.get("priorityClassName") or "",
        spec.get("priority"),
        None,
        group["metadata"]["creationTimestamp"],
        (Subgroup("", int(least)),),
        Closeness(topology="", required=levels[0]) if levels else None,
    )


def coscheduling_group(group: Object) -> GroupFacts:
    """A PodGroup of the scheduler plugins."""
    return GroupFacts(
        (COSCHEDULING, *_names(group)),
        group["metadata"]["uid"],
        COSCHEDULING_POD_GROUPS.api_version,
        meta.labels(group).get(keys.QUEUE_LABEL),
        "",
        None,
        None,
        group["metadata"]["creationTimestamp"],
        (Subgroup("", int((group.get("spec") or {}).get("minMember") or 1)),),
        None,
    )


def _names(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def queue_of(queue: Object) -> Queue:
    """A Queue of KAI; a resource that it says nothing about has neither quota nor limit of its own."""
    spec = queue.get("spec") or {}
    resources = spec.get("resources") or {}
    priority = spec.get("priority")
    return Queue(
        name=queue["metadata"]["name"],
        parent=spec.get("parentQueue") or None,
        gpu=_share(resources.get("gpu")),
        cpu=_share(resources.get("cpu")),
        memory=_share(resources.get("memory")),
        priority=100 if priority is None else int(priority),
    )


def _share(written: Any) -> Share:
    if not written:
        return Share()
    return Share(
        quota=float(written.get("quota", 0)),
        over_quota_weight=float(written.get("overQuotaWeight", 0)),
        limit=float(written.get("limit", UNLIMITED)),
    )


def levels_of(topology: Object) -> tuple[str, ...]:
    """The labels of a Topology's levels, the outermost first."""
    return tuple(level["nodeLabel"] for level in (topology.get("spec") or {}).get("levels") or ())
