"""Whether a pod may go to a node, and what is left there: pure functions on objects and numbers."""

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.controllers.podfacts import is_finished
from kubedyno.kinds.admission import totals
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import NodeSelector, is_tolerated, required_affinity
from kubedyno.kube.quantities import Quantity

GPU = "nvidia.com/gpu"
PODS = "pods"

Amounts = dict[str, int]
"""Resources in thousandths of their units."""


class Needs(msgspec.Struct, frozen=True):
    """What a pod asks of a node. Pods of one template have equal needs: they are found once for all."""

    requests: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    affinity: bytes
    """The required node affinity as JSON; empty: none."""
    tolerations: bytes
    """As JSON."""
    volumes: tuple[bytes, ...] = ()
    """Node selectors of its volumes as JSON, all of which must match."""

    @property
    def gpus(self) -> int:
        """Thousandths of GPUs."""
        return dict(self.requests).get(GPU, 0)


def needs_of(pod: Object) -> Needs:
    """The needs of a pod."""
    spec = pod["spec"]
    affinity = required_affinity(spec)
    return Needs(
        tuple(sorted(requests_of(pod).items())),
        tuple(sorted((spec.get("nodeSelector") or {}).items())),
        msgspec.json.encode(affinity) if affinity else b"",
        msgspec.json.encode(spec.get("tolerations") or []),
    )


def requests_of(pod: Object) -> Amounts:
    """What a pod takes of its node, and one place."""
    spec = pod["spec"]
    read = {
        "containers": [_read(one) for one in spec.get("containers") or ()],
        "initContainers": [_read(one) for one in spec.get("initContainers") or ()],
        "resources": spec.get("resources"),
        "overhead": spec.get("overhead"),
    }
    return dict(_requests(msgspec.json.encode(read)))


def _read(container: Mapping[str, Any]) -> Object:
    return {
        "name": container["name"],
        "resources": container.get("resources"),
        "restartPolicy": container.get("restartPolicy"),
    }


@functools.lru_cache(maxsize=1024)
def _requests(spec: bytes) -> Amounts:
    """Pods of one template are added up once."""
    asked = totals.pod_requests({"spec": msgspec.json.decode(spec)}, with_status=False)
    return {**{name: quantity.milli() for name, quantity in asked.items()}, PODS: 1000}


def allocatable_of(node: Object) -> Amounts:
    """What a node has for pods."""
    return {
        name: Quantity.parse(written).milli()
        for name, written in ((node.get("status") or {}).get("allocatable") or {}).items()
    }


def is_holding(pod: Object) -> bool:
    """Whether a pod takes up its node: it is bound and has not ended."""
    return bool(pod["spec"].get("nodeName")) and not is_finished(pod)


def admits(node: Object, needs: Needs) -> str:
    """Why a node may not be used, whatever is left on it, in kube-scheduler's words; empty: it may."""
    spec, labels = node.get("spec") or {}, meta.labels(node)
    if spec.get("unschedulable"):
        return "node(s) were unschedulable"
    tolerations = msgspec.json.decode(needs.tolerations)
    for taint in spec.get("taints") or ():
        if taint["effect"] in {"NoSchedule", "NoExecute"} and not is_tolerated(taint, tolerations):
            return "node(s) had untolerated taint(s)"
    if any(labels.get(name) != value for name, value in needs.selector):
        return "node(s) didn't match Pod's node affinity/selector"
    if needs.affinity and not _selector(needs.affinity).matches(node["metadata"]["name"], labels):
        return "node(s) didn't match Pod's node affinity/selector"
    if not reaches(node, needs.volumes):
        return "node(s) didn't match PersistentVolume's node affinity"
    return ""


def reaches(node: Object, volumes: tuple[bytes, ...]) -> bool:
    """Whether volumes with these node selectors can be mounted on a node."""
    return all(_selector(one).matches(node["metadata"]["name"], meta.labels(node)) for one in volumes)


@functools.lru_cache(maxsize=1024)
def _selector(affinity: bytes) -> NodeSelector:
    return NodeSelector.read(msgspec.json.decode(affinity))


def fits(free: Amounts, needs: Needs) -> bool:
    """Whether what is left is enough."""
    return all(amount <= free.get(name, 0) for name, amount in needs.requests if amount)


def lacking(free: Amounts, needs: Needs) -> list[str]:
    """The resources of which too little is left, in kube-scheduler's words."""
    return [
        "Too many pods" if name == PODS else f"Insufficient {name}"
        for name, amount in needs.requests
        if amount > free.get(name, 0)
    ]
