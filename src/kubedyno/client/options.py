"""What a request says beside its object: query parameters, patch types, delete options."""

from collections.abc import Mapping
from typing import Any, Literal

from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

PatchType = Literal["json", "merge", "strategic", "apply"]

PATCH_TYPES: Mapping[PatchType, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML
}

Propagation = Literal["Background", "Foreground", "Orphan"]
FieldValidation = Literal["Ignore", "Warn", "Strict"]


def query(**parameters: str | None) -> dict[str, str]:
    """The parameters that are set."""
    return {name: value for name, value in parameters.items() if value is not None}


def write_query(field_manager: str | None, field_validation: FieldValidation | None, dry_run: bool) -> dict[str, str]:
    """The parameters of a write; a dry run goes through admission and is not stored."""
    return query(fieldManager=field_manager, fieldValidation=field_validation, dryRun="All" if dry_run else None)


def namespace_of(resource: Resource, obj: Mapping[str, Any], given: str | None) -> str | None:
    """The namespace to write to: the one given, else the object's own, None for a cluster-wide resource."""
    if given is not None or not resource.namespaced:
        return given
    namespace: str | None = (obj.get("metadata") or {}).get("namespace")
    return namespace


def delete_options(
    propagation: Propagation | None, grace_s: int | None, dry_run: bool, preconditions: Mapping[str, str]
) -> bytes:
    """The body of a DELETE; `grace_s` 0 deletes a pod at once, without its kubelet."""
    options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if preconditions:
        options["preconditions"] = dict(preconditions)
    if dry_run:
        options["dryRun"] = ["All"]
    return codec.encode(options)
