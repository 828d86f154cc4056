"""What a workload is meant to be, before any scheduler's dialect writes it down."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubedyno.model.features import Feature
from kubedyno.model.keys import WORKLOAD_LABEL

TRAIN: Final = "train"
"""The usual priority."""
PRIORITIES: Final = {TRAIN: 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""KAI's priority classes, which scenarios use on every scheduler: from 100 on work is not preemptible there."""
NON_PREEMPTIBLE_FROM: Final = 100

DURATION: Final = "kubedyno/duration"
"""Annotation of a pod: how long it works; simulated kubelets read it."""
DEVICE_CLASS: Final = "gpu.nvidia.com"
"""DeviceClass of whole GPUs: NVIDIA's driver has it, and so have simulated nodes."""
_CLAIM: Final = "gpus"
"""Name of a pod's claim."""


class Closeness(msgspec.Struct, frozen=True, kw_only=True):
    """How close together pods are to be; levels are keys of node labels."""

    topology: str
    """Name of the Topology object: of the pool that made it."""
    required: str | None = None
    """All in one domain of this level, or none starts."""
    preferred: str | None = None
    """In as few domains of this level as can be."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a gang: alike pods that are counted, and placed, by themselves."""

    name: str
    pods: int
    least: int | None = None
    """So many at least must start; None: all."""
    gpus: int = 1
    closeness: Closeness | None = None


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """`pods` alike pods of `gpus` GPUs each; as a gang at least `least` of them start or none does."""

    name: str
    namespace: str = "default"
    queue: str | None = None
    pods: int = 1
    least: int | None = None
    """So many of a gang must start, the rest may; None: all."""
    gpus: int = 1
    fraction: float | None = None
    """Part of one GPU for each pod, instead of `gpus`."""
    claims: int = 0
    """GPUs by DRA claims for each pod, instead of `gpus`."""
    cpu: str = "1"
    memory: str = "1Gi"
    priority: str = TRAIN
    """Name of a priority class."""
    preemptible: bool | None = None
    """Against what its priority says; None: as its priority says."""
    closeness: Closeness | None = None
    groups: tuple[Group, ...] = ()
    """Instead of `pods`, `least` and `gpus`: the parts of the gang."""
    as_job: bool = False
    """One pod that something replaces when it is evicted: a Job. Others are gone for good."""
    runs_for: str = ""
    """How long its pods work, a duration or a distribution (`20s`); empty: until they are deleted."""
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, str], ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    """Of its pods."""
    spec: dict[str, Any] = {}
    """Fields of the spec of its pods, over those that follow from the others: what a shape has no words for."""

    @property
    def is_gang(self) -> bool:
        """Whether its pods belong together."""
        return self.pod_count > 1

    @property
    def pod_count(self) -> int:
        """How many pods it has."""
        return sum(group.pods for group in self.groups) if self.groups else self.pods

    @property
    def gpu_count(self) -> float:
        """How many GPUs all of its pods take."""
        if self.groups:
            return sum(group.pods * group.gpus for group in self.groups)
        return self.pods * (self.fraction if self.fraction is not None else self.claims or self.gpus)

    @property
    def least_pods(self) -> int:
        """How many pods must start together."""
        if self.groups:
            return sum(group.pods if group.least is None else group.least for group in self.groups)
        return self.pods if self.least is None else self.least

    def features(self) -> Iterator[Feature]:
        """What a scheduler must be able to express for it."""
        if self.is_gang:
            yield "gangs"
        if self.least_pods < self.pod_count:
            yield "elastic-gangs"
        if self.groups:
            yield "sub-groups"
        wishes = [wish for wish in (self.closeness, *(group.closeness for group in self.groups)) if wish is not None]
        if any(wish.required for wish in wishes):
            yield "required-topology"
        if any(wish.preferred for wish in wishes):
            yield "preferred-topology"
        if self.fraction is not None:
            yield "fractions"
        if self.claims:
            yield "devices"
        if self.preemptible is False or PRIORITIES.get(self.priority, 0) >= NON_PREEMPTIBLE_FROM:
            yield "non-preemptible"


def pod(workload: Workload, index: int, *, scheduler_name: str, group: Group | None = None) -> dict[str, Any]:
    """A plain pod of the workload, or of one of its groups; dialects add what groups it."""
    stem = workload.name if group is None else f"{workload.name}-{group.name}"
    annotations = dict(workload.annotations)
    if workload.runs_for:
        annotations[DURATION] = workload.runs_for
    spec: dict[str, Any] = {
        "schedulerName": scheduler_name,
        "priorityClassName": workload.priority,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "simulated", "resources": _resources(workload, group)}],
    }
    if workload.node_selector:
        spec["nodeSelector"] = dict(workload.node_selector)
    if workload.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in workload.tolerations]
    if workload.claims:
        spec["resourceClaims"] = [{"name": _CLAIM, "resourceClaimTemplateName": workload.name}]
    spec |= workload.spec
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{stem}-{index}",
            "namespace": workload.namespace,
            "labels": {WORKLOAD_LABEL: workload.name, **workload.labels},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": spec,
    }


def claim_template(workload: Workload) -> dict[str, Any]:
    """What the DRA claims of the workload's pods are made from; it must be there before they are."""
    request = {"name": _CLAIM, "exactly": {"deviceClassName": DEVICE_CLASS, "count": workload.claims}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": workload.name,
            "namespace": workload.namespace,
            "labels": {WORKLOAD_LABEL: workload.name, **workload.labels},
        },
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def _resources(workload: Workload, group: Group | None) -> dict[str, Any]:
    amounts = {"cpu": workload.cpu, "memory": workload.memory}
    has_whole = group is not None or not (workload.claims or workload.fraction is not None)
    gpus = (group or workload).gpus
    if gpus and has_whole:
        amounts["nvidia.com/gpu"] = str(gpus)
    found: dict[str, Any] = {"requests": amounts, "limits": dict(amounts)}
    if workload.claims:
        found["claims"] = [{"name": _CLAIM}]
    return found
