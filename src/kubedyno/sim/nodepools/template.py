"""From a NodePool's template to its nodes: the Node objects, and how one that is there follows a changed template.

What a pool last wrote on a node stands there as an annotation. A change is the difference between that and the
template of today, so that what others wrote meanwhile stays: labels, taints of the node lifecycle, lost devices.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.patches import merge_diff
from kubedyno.kube.placement import taint_identity
from kubedyno.sim import marks
from kubedyno.sim.nodepools.definition import NODE_POOLS
from kubedyno.sim.pools import ranges
from kubedyno.sim.pools.nodes import HOSTNAME, node_name

WRITTEN: Final = "kubedyno/nodepool"
"""Annotation of a node: what its NodePool last wrote on it, as JSON."""

# In a template they would be the same for all nodes, which no two nodes of a cluster have in common.
_OF_ONE_NODE: Final = {"spec": ("podCIDR", "podCIDRs"), "status": ("addresses",)}
# The kubelet's to say once the node is there.
_ONLY_AT_FIRST: Final = "conditions"
_PLATFORM: Final = (
    ("kubernetes.io/arch", "architecture", "amd64"),
    ("kubernetes.io/os", "operatingSystem", "linux"),
)


class Template:
    """The template of one NodePool in one generation. `text` is what the annotation of its nodes says."""

    def __init__(self, pool: Object) -> None:
        self.pool = pool["metadata"]["name"]
        self._owner = owner_reference(pool)
        self._said = _said(pool)
        self._first = {name: entry for name, entry in _part(pool, "status").items() if name == _ONLY_AT_FIRST}
        self.text = msgspec.json.encode(self._said, order="deterministic").decode()

    def node(self, index: int, *, slot: int) -> Object:
        """The Node of that index; `slot` is the number of its addresses and of those of its pods."""
        name = node_name(self.pool, index)
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {**self._said["labels"], HOSTNAME: name},
                "annotations": {**self._said["annotations"], WRITTEN: self.text},
                "ownerReferences": [self._owner],
            },
            "spec": {**self._said["spec"], **ranges.spec_of(slot)},
            "status": {**self._said["status"], **self._first, "addresses": ranges.addresses(name, slot)},
        }

    def is_on(self, node: Object) -> bool:
        """Whether the node has been made what the template says."""
        return meta.annotations(node).get(WRITTEN) == self.text and meta.controller_owner(node) is not None

    def status_patch(self, node: Object) -> Object | None:
        """What makes the node's status what the template says, as a merge patch; None when that has not changed."""
        status = merge_diff(_written(node).get("status") or {}, self._said["status"])
        return {"status": status} if status else None

    def node_patch(self, node: Object) -> Object:
        """What makes the rest of the node what the template says, as a merge patch.

        It tells that all is written, so it comes last. Of the node it needs annotations, owners, taints and version.
        """
        before = _written(node)
        metadata = merge_diff(
            {part: before.get(part) or {} for part in ("labels", "annotations")},
            {part: self._said[part] for part in ("labels", "annotations")},
        )
        metadata.setdefault("annotations", {})[WRITTEN] = self.text
        if not before:
            metadata.setdefault("labels", {})[HOSTNAME] = node["metadata"]["name"]
        spec = merge_diff(before.get("spec") or {}, self._said["spec"])
        if "taints" in spec:
            live = (node.get("spec") or {}).get("taints") or []
            spec["taints"] = _merged_taints(live, (before.get("spec") or {}).get("taints") or [], spec["taints"])
        if meta.controller_owner(node) is None:
            metadata["ownerReferences"] = [*meta.owner_references(node), self._owner]
        if "taints" in spec or "ownerReferences" in metadata:
            # Lists are written as a whole: only as they were read.
            metadata["resourceVersion"] = node["metadata"]["resourceVersion"]
        return {"metadata": metadata, **({"spec": spec} if spec else {})}


def owner_reference(pool: Object) -> Object:
    """The reference of a node to its pool, which collects it when the pool is gone."""
    metadata = pool["metadata"]
    return {
        "apiVersion": NODE_POOLS.api_version,
        "kind": NODE_POOLS.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _said(pool: Object) -> Object:
    """What the template says of all nodes alike."""
    metadata = _part(pool, "metadata")
    spec, status = (
        {name: entry for name, entry in _part(pool, part).items() if name not in (*_OF_ONE_NODE[part], _ONLY_AT_FIRST)}
        for part in ("spec", "status")
    )
    spec["taints"] = _with_kwoks(spec.get("taints") or [])
    # The API server would take the capacity for an absent allocatable at first, but not follow its changes.
    if capacity := status.get("capacity") or status.get("allocatable"):
        status["capacity"] = _as_texts(capacity)
        status["allocatable"] = _as_texts(status.get("allocatable") or capacity)
    told = status.get("nodeInfo") or {}
    platform = {label: told.get(field) or usual for label, field, usual in _PLATFORM}
    labels = {**platform, **(metadata.get("labels") or {}), marks.NODE_POOL: pool["metadata"]["name"]}
    labels.pop(HOSTNAME, None)
    return {
        "labels": labels,
        "annotations": {**(metadata.get("annotations") or {}), marks.FAKE: "fake"},
        "spec": spec,
        "status": status,
    }


def _part(pool: Object, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ((pool.get("spec") or {}).get("nodeTemplate") or {}).get(name) or {}
    filled: Mapping[str, Any] = _without_nulls(found)
    return filled


def _without_nulls(value: Any) -> Any:
    """A null in a template says nothing; in a merge patch it would."""
    if isinstance(value, dict):
        return {name: _without_nulls(entry) for name, entry in value.items() if entry is not None}
    return value


def _as_texts(quantities: Mapping[str, Any]) -> dict[str, str]:
    """Quantities may be written as numbers (`cpu: 32`)."""
    return {name: str(quantity) for name, quantity in quantities.items()}


def _with_kwoks(taints: list[Object]) -> list[Object]:
    """The kwok-operator adds KWOK's taint to all nodes; here a template may have it, too."""
    fake = {"key": marks.FAKE, "value": "fake", "effect": "NoSchedule"}
    return taints if taint_identity(fake) in map(taint_identity, taints) else [*taints, fake]


def _merged_taints(live: list[Object], before: list[Object], wanted: list[Object]) -> list[Object]:
    """The node's taints with ours changed; those of others keep their place."""
    ours = {taint_identity(taint) for taint in (*before, *wanted)}
    return [*(taint for taint in live if taint_identity(taint) not in ours), *wanted]


def _written(node: Object) -> Object:
    """The annotation; empty on a node that the kwok-operator made, or with an annotation that somebody spoilt."""
    try:
        return msgspec.json.decode(meta.annotations(node).get(WRITTEN) or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return {}
