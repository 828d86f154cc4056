"""Rules of claims to volumes: PersistentVolumeClaim and the templates of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.amounts import amount_problems, basic_amount, is_native, positive_amount
from kubedyno.kinds.rules.differences import difference
from kubedyno.kinds.rules.fields import (
    annotation_problems,
    formatted,
    immutable,
    label_problems,
    required_fields,
)
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required
from kubedyno.kube.quantities import Quantity

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE: Final = "ReadWriteOncePod"
_VOLUME_MODES: Final = ("Block", "Filesystem")
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATUSES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip
_TEMPLATE_METADATA: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


def access_mode_problems(modes: Sequence[str], path: str) -> Iterator[Problem]:
    """How a volume may be mounted."""
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(path, mode, _ACCESS_MODES)
    if _ALONE in modes and any(mode in _ACCESS_MODES and mode != _ALONE for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def volume_mode_problems(mode: str | None, path: str) -> Iterator[Problem]:
    """Whether a volume is a file system or a device."""
    if mode is not None and mode not in _VOLUME_MODES:
        yield not_supported(path, mode, _VOLUME_MODES)


def claim_template_problems(template: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A template of claims, of which only labels, annotations and spec are taken."""
    metadata = template.get("metadata") or {}
    yield from annotation_problems(metadata.get("annotations"), f"{path}.metadata.annotations")
    yield from label_problems(metadata.get("labels"), f"{path}.metadata.labels")
    for name in _TEMPLATE_METADATA:
        if metadata.get(name):
            shown = "uID" if name == "uid" else name
            yield forbidden(f"{path}.metadata.{shown}", "cannot be set")
    yield from claim_spec_problems(template.get("spec") or {}, f"{path}.spec")


def claim_spec_problems(spec: Object, path: str, *, any_group: bool = False) -> Iterator[Problem]:
    """What is asked of a volume; `any_group` forgives odd API groups of sources."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from selector_problems(spec.get("selector"), f"{path}.selector")
    yield from access_mode_problems(modes, f"{path}.accessModes")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = f"{path}.resources[storage]"
    if storage is None:
        yield required(at)
    elif wrong := list(positive_amount(storage, at)):
        yield from wrong
    else:
        yield from amount_problems("storage", storage, at)
    yield from _class_problems(spec, path, "storageClassName")
    yield from volume_mode_problems(spec.get("volumeMode"), f"{path}.volumeMode")
    yield from _source_problems(spec, path, any_group=any_group)
    yield from _class_problems(spec, path, "volumeAttributesClassName")


def _class_problems(spec: Object, path: str, name: str) -> Iterator[Problem]:
    if spec.get(name):
        yield from formatted(spec[name], f"{path}.{name}", texts.dns1123_subdomain)


def _source_problems(spec: Object, path: str, *, any_group: bool) -> Iterator[Problem]:
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, given in (("dataSource", source), ("dataSourceRef", ref)):
        if given is not None:
            yield from _reference_problems(given, f"{path}.{name}", any_group=any_group)
    if ref is not None and ref.get("namespace"):
        yield from formatted(ref["namespace"], f"{path}.dataSourceRef.namespace", texts.dns1123_label)
        if source is not None:
            yield invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif source is not None and ref is not None and not _same_source(source, ref):
        yield invalid(path, {}, "must match dataSourceRef")


def _reference_problems(reference: Object, path: str, *, any_group: bool) -> Iterator[Problem]:
    yield from required_fields(reference, path, "name", "kind")
    group, kind = reference.get("apiGroup"), reference.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, kind, detail)
    if group and not any_group:
        yield from formatted(group, f"{path}.apiGroup", texts.dns1123_subdomain)


def _same_source(source: Object, ref: Object) -> bool:
    return all(source.get(name) == ref.get(name) for name in ("apiGroup", "kind", "name"))


def _create(claim: Object) -> Iterator[Problem]:
    yield from claim_spec_problems(claim.get("spec") or {}, "spec")


def _update(new: Object, old: Object) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    any_group = any((before.get(name) or {}).get("apiGroup") is not None for name in ("dataSource", "dataSourceRef"))
    yield from claim_spec_problems(spec, "spec", any_group=any_group)
    compared, kept = _comparable(new, old)
    if not _upgrades_class(new, old):
        annotation = annotations(new).get(_CLASS_ANNOTATION, "")
        yield from immutable(
            annotation, annotations(old).get(_CLASS_ANNOTATION, ""), f"metadata.annotations.{_CLASS_ANNOTATION}"
        )
    if compared != kept:
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield forbidden("spec", f"{detail}\n{difference('PersistentVolumeClaimSpec', kept, compared)}")
    size = _storage(spec)
    if size < _storage(before):
        granted = Quantity.parse(((old.get("status") or {}).get("capacity") or {}).get("storage", "0"))
        if size <= granted:
            yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")
    yield from _attributes_class_problems(new, old)


def _comparable(new: Object, old: Object) -> tuple[Object, Object]:
    """Both specs without the changes that are allowed."""
    spec, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    if not before.get("volumeName") and "volumeName" in spec:
        before["volumeName"] = spec["volumeName"]
    if _upgrades_class(new, old):
        spec.pop("storageClassName", None)
    elif _sets_class(new, old):
        spec.pop("storageClassName")
    if (new.get("status") or {}).get("phase") == "Bound":
        requests = ((before.get("resources") or {}).get("requests")) or {}
        resources = spec.get("resources") or {}
        if resources.get("requests") is not None:
            storage = requests.get("storage", "0")
            spec["resources"] = {**resources, "requests": {**resources["requests"], "storage": storage}}
        _copy(before, spec, "volumeAttributesClassName")
    return spec, before


def _copy(source: Object, target: Object, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _upgrades_class(new: Object, old: Object) -> bool:
    """Whether the class moves from the annotation of old times to the field."""
    annotation = annotations(old).get(_CLASS_ANNOTATION)
    given = (new.get("spec") or {}).get("storageClassName")
    return (
        annotation is not None
        and (old.get("spec") or {}).get("storageClassName") is None
        and given == annotation
        and annotations(new).get(_CLASS_ANNOTATION, annotation) == annotation
    )


def _sets_class(new: Object, old: Object) -> bool:
    """Whether a claim that had no class gets one."""
    given = (new.get("spec") or {}).get("storageClassName")
    annotation = annotations(old).get(_CLASS_ANNOTATION)
    before = (old.get("spec") or {}).get("storageClassName")
    return given is not None and before is None and annotation in {None, given}


def _storage(spec: Object) -> Quantity:
    return Quantity.parse(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _attributes_class_problems(new: Object, old: Object) -> Iterator[Problem]:
    name = "volumeAttributesClassName"
    given = (new.get("spec") or {}).get(name)
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if given != (old.get("spec") or {}).get(name) and current is not None and not given:
        what = "nil" if given is None else "empty string"
        detail = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield forbidden(f"spec.{name}", detail)


def _update_status(new: Object, _old: Object) -> Iterator[Problem]:
    if not (new.get("metadata") or {}).get("resourceVersion"):
        yield required("resourceVersion")
    if not (new.get("spec") or {}).get("accessModes"):
        yield required("Spec.accessModes")
    status = new.get("status") or {}
    for name, amount in (status.get("capacity") or {}).items():
        yield from basic_amount(amount, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatuses"
    for name, resizing in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _resource_key_problems(name, path)
        if resizing not in _RESIZE_STATUSES:
            yield not_supported(path, name, sorted(_RESIZE_STATUSES))
    path = "status.allocatedResources"
    for name, amount in (status.get("allocatedResources") or {}).items():
        if wrong := list(_resource_key_problems(name, path)) or list(basic_amount(amount, f"{path}[{name}]")):
            yield from wrong
        else:
            yield from amount_problems("storage", amount, f"{path}[{name}]")


def _resource_key_problems(name: str, path: str) -> Iterator[Problem]:
    if wrong := list(formatted(name, path, texts.label_key)):
        yield from wrong
    elif is_native(name) and name != "storage":
        yield not_supported(path, name, ("storage",))


RULES: Final = {
    ("", "PersistentVolumeClaim"): Rules(create=_create, update=_update, update_status=_update_status),
}
