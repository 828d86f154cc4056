"""Volumes and their claims: protected while in use, with a default class, grown only where that is possible."""

from collections.abc import Iterable

from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import STORAGE_CLASSES, Resource

_PROTECTION = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
    ("scheduling.k8s.io", "podgroups"): "scheduling.k8s.io/podgroup-protection",
}
PROTECTED = frozenset(_PROTECTION)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def protect(obj: Object, resource: Resource) -> None:
    """Have the finalizer that keeps an object until nobody uses it."""
    finalizer = _PROTECTION[resource.group, resource.plural]
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


def default_storage_class(claim: Object, request: Asked) -> None:
    """DefaultStorageClass: a claim that names no class gets the default one; `spec` is replaced."""
    if _CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}) or "storageClassName" in claim["spec"]:
        return
    name = default_class_name(request.lookup.list(STORAGE_CLASSES, ""), _DEFAULT_ANNOTATIONS)
    if name is not None:
        claim["spec"] = {**claim["spec"], "storageClassName": name}


def default_class_name(classes: Iterable[Object], annotations: tuple[str, ...]) -> str | None:
    """The class that an annotation marks as the default: the newest of them, then the first by name."""
    defaults: dict[str, list[str]] = {}
    for each in classes:
        metadata = each["metadata"]
        marks = metadata.get("annotations") or {}
        if any(marks.get(annotation) == "true" for annotation in annotations):
            defaults.setdefault(metadata.get("creationTimestamp") or "", []).append(metadata["name"])
    return min(defaults[max(defaults)]) if defaults else None


def check_growth(new: Object, old: Object, request: Asked) -> None:
    """PersistentVolumeClaimResize: only a bound claim grows, and only if its class lets it."""
    if _storage(new) <= _storage(old):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise forbidden(request, "Only bound persistent volume claims can be expanded")
    name = claim_class(new)
    found = request.lookup.get(STORAGE_CLASSES, "", name) if name and name == claim_class(old) else None
    if not (found or {}).get("allowVolumeExpansion"):
        raise forbidden(
            request,
            "only dynamically provisioned pvc can be resized and "
            "the storageclass that provisions the pvc must support resize",
        )


def claim_class(claim: Object) -> str:
    """The storage class of a claim, be it in the annotation of old or in the spec."""
    annotated = (claim["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return str(claim["spec"].get("storageClassName", "") if annotated is None else annotated)


def _storage(claim: Object) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0"))
