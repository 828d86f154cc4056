"""Objects of one version as objects of another: what is stored is one version, what is asked for may be another.

Objects are normalised before and after, as `kube.normalizing` does it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kubedyno.kinds.conversions.autoscalers import as_v1, as_v2
from kubedyno.kinds.conversions.events import as_core_event, as_new_event
from kubedyno.kinds.conversions.selectable import SelectableField, field_text, selectable_fields, unselectable
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import BUILT_IN, CORE_EVENTS, EVENTS, Resource, by_kind

__all__ = [
    "SelectableField",
    "converted",
    "field_text",
    "selectable_fields",
    "storage_resource",
    "unselectable",
]

Conversion = Callable[[Object], Object]

_AUTOSCALER: Final = "HorizontalPodAutoscaler"
_AUTOSCALERS: Final = by_kind("autoscaling/v2", _AUTOSCALER)

# Kinds that have two versions in which fields differ. Those of resource.k8s.io differ in nothing but the version.
_CONVERSIONS: Final[Mapping[tuple[str, str, str], Conversion]] = {
    ("Event", "v1", "events.k8s.io/v1"): as_new_event,
    ("Event", "events.k8s.io/v1", "v1"): as_core_event,
    (_AUTOSCALER, "autoscaling/v1", "autoscaling/v2"): as_v2,
    (_AUTOSCALER, "autoscaling/v2", "autoscaling/v1"): as_v1,
}


def converted(obj: Object, target: Resource) -> Object:
    """The object in the version of `target`, which is a resource of the same kind; `obj` stays as it is."""
    conversion = _CONVERSIONS.get((target.kind, obj.get("apiVersion", ""), target.api_version))
    body = conversion(obj) if conversion is not None else obj
    return {**body, "apiVersion": target.api_version, "kind": target.kind}


def _stored() -> dict[Resource, Resource]:
    """Resources that are kept in another version than their own."""
    stored = {EVENTS: CORE_EVENTS, by_kind("autoscaling/v1", _AUTOSCALER): _AUTOSCALERS}
    devices = {resource.kind: resource for resource in BUILT_IN if resource.api_version == "resource.k8s.io/v1"}
    for resource in BUILT_IN:
        if resource.api_version == "resource.k8s.io/v1beta2" and resource.kind in devices:
            stored[resource] = devices[resource.kind]
    return stored


_STORED: Final[Mapping[Resource, Resource]] = _stored()


def storage_resource(resource: Resource) -> Resource:
    """The version in which objects of the resource are kept; itself for nearly all."""
    return _STORED.get(resource, resource)
