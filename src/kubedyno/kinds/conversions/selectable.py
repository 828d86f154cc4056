"""The fields that objects of a built-in kind can be selected by, beside their name and namespace."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubedyno.kube.resources import Resource


class SelectableField(NamedTuple):
    """A field of the field selectors of one version."""

    name: str
    """What the selector calls it."""
    path: str
    """Where it stands in the stored object; `a|b` is `a`, or `b` where `a` is empty."""
    absent: str
    """The text that an absent field is compared as."""


def _same(*names: str) -> tuple[SelectableField, ...]:
    return tuple(SelectableField(name, name, "") for name in names)


_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_REFERENCE: Final = tuple(f"involvedObject.{name}" for name in _REFERENCE)
_SLICES: Final = _same("spec.nodeName", "spec.driver")

_FIELDS: Final[Mapping[tuple[str, str], tuple[SelectableField, ...]]] = {
    ("v1", "Pod"): (
        *_same("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        SelectableField("spec.host", "spec.nodeName", ""),
        SelectableField("spec.hostNetwork", "spec.hostNetwork", "false"),
        *_same("status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
    ),
    ("v1", "Node"): (SelectableField("spec.unschedulable", "spec.unschedulable", "false"),),
    ("v1", "Namespace"): _same("status.phase"),
    ("v1", "Secret"): _same("type"),
    ("v1", "Service"): _same("spec.clusterIP", "spec.type"),
    ("v1", "ReplicationController"): (SelectableField("status.replicas", "status.replicas", "0"),),
    ("v1", "Event"): (
        *_same(*_EVENT_REFERENCE, "reason", "reportingComponent", "type"),
        SelectableField("source", "source.component|reportingComponent", ""),
    ),
    ("events.k8s.io/v1", "Event"): (
        *(SelectableField(f"regarding.{name}", f"involvedObject.{name}", "") for name in _REFERENCE),
        SelectableField("reportingController", "reportingComponent", ""),
        *_same("reason", "type"),
    ),
    ("batch/v1", "Job"): (SelectableField("status.successful", "status.succeeded", "0"),),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): _same("spec.signerName"),
    ("resource.k8s.io/v1", "ResourceSlice"): _SLICES,
    ("resource.k8s.io/v1beta2", "ResourceSlice"): _SLICES,
}


def selectable_fields(resource: Resource) -> tuple[SelectableField, ...]:
    """What field selectors of this version know beside `metadata.name` and `metadata.namespace`; often nothing."""
    return _FIELDS.get((resource.api_version, resource.kind), ())


def field_text(obj: Mapping[str, Any], field: SelectableField) -> str:
    """What a selector compares: the field of a stored object as text. Lists and maps are the empty text."""
    for path in field.path.split("|"):
        value: Any = obj
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int) and value != "":
            return str(value)
    return field.absent


def unselectable(resource: Resource, name: str) -> str | None:
    """What the server says of a selector by that field; None when it can be selected by."""
    known = selectable_fields(resource)
    if name == "metadata.name" or any(field.name == name for field in known):
        return None
    # Kinds without fields of their own take a namespace even where they have none.
    if name == "metadata.namespace" and (resource.namespaced or not known):
        return None
    if not known:
        return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if resource.kind == "Job":
        return f'field label "{name}" not supported for Job'
    if resource.kind == "ResourceSlice":
        return f"field label not supported for {resource.api_version}, Kind={resource.kind}: {name}"
    return f"field label not supported: {name}"
