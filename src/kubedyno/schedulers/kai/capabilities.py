"""What the KAI that a server has definitions for can express: releases differ in the fields of their kinds.

The API server drops fields that a definition lacks, so a workload that needs them would silently become another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import KAI_POD_GROUPS, KAI_QUEUES, Resource
from kubedyno.model.features import Feature

_FIELDS: Final[tuple[tuple[Resource, str, tuple[Feature, ...]], ...]] = (
    (KAI_POD_GROUPS, "spec.minMember", ("gangs", "elastic-gangs")),
    (KAI_POD_GROUPS, "spec.subGroups.minMember", ("sub-groups",)),
    (KAI_POD_GROUPS, "spec.topologyConstraint.requiredTopologyLevel", ("required-topology",)),
    (KAI_POD_GROUPS, "spec.topologyConstraint.preferredTopologyLevel", ("preferred-topology",)),
    (KAI_QUEUES, "spec.resources.gpu.quota", ("quotas", "reclaim")),
)
"""Fields, by the kind that has them, and what cannot be said without."""
_TOPOLOGIES: Final = ("topologies.kueue.x-k8s.io", "topologies.kai.scheduler")
"""Kinds that tell KAI the levels of a topology; releases read one or the other."""
_OF_TOPOLOGIES: Final[tuple[Feature, ...]] = ("required-topology", "preferred-topology")


def lacking(definitions: Iterable[Object]) -> dict[Feature, str]:
    """What cannot be expressed where these CustomResourceDefinitions are all that is served, and why."""
    known = {definition["metadata"]["name"]: definition for definition in definitions}
    found: dict[Feature, str] = {}
    for resource, path, features in _FIELDS:
        definition = known.get(resource.full_name)
        if definition is None:
            found |= dict.fromkeys(features, f"{resource.full_name} is not installed here")
        elif not _has(definition, resource.version, path):
            why = f"{resource.kind} {resource.api_version} has no field {path} here"
            found |= dict.fromkeys(features, why)
    if not any(name in known for name in _TOPOLOGIES):
        found |= dict.fromkeys(_OF_TOPOLOGIES, f"neither of {' and '.join(_TOPOLOGIES)} is installed here")
    return found


def _has(definition: Object, version: str, path: str) -> bool:
    """Whether a version has a field; lists are passed through to their items."""
    for served in _served(definition, version):
        level: Mapping[str, Any] = served
        for name in path.split("."):
            level = level.get("items") or level
            if level.get("x-kubernetes-preserve-unknown-fields"):
                return True
            level = (level.get("properties") or {}).get(name) or {}
            if not level:
                break
        if level:
            return True
    return False


def _served(definition: Object, version: str) -> Iterator[Mapping[str, Any]]:
    for one in definition["spec"]["versions"]:
        if one["name"] == version and one.get("served"):
            yield (one.get("schema") or {}).get("openAPIV3Schema") or {}
