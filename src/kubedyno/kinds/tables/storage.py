"""Rows of volumes, claims, and what provides them."""

from collections.abc import Iterable

from kubedyno.kinds.tables.printing import AGE, NAME, Cell, at, count, given, name, printer, text, truth
from kubedyno.kube.codec import Object

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes_text(modes: Iterable[str] | None) -> str:
    found = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _volume_modes(volume: Object, _now_ns: int) -> str:
    return _modes_text(at(volume, "spec.accessModes"))


def _phase(obj: Object, _now_ns: int) -> str:
    return "Terminating" if at(obj, "metadata.deletionTimestamp") else at(obj, "status.phase") or ""


def _claim_ref(volume: Object, _now_ns: int) -> str:
    claim = at(volume, "spec.claimRef")
    return "" if claim is None else f"{claim.get('namespace') or ''}/{claim.get('name') or ''}"


def _storage_class(obj: Object, _now_ns: int) -> str:
    annotations = at(obj, "metadata.annotations") or {}
    return annotations[_OLD_CLASS] if _OLD_CLASS in annotations else at(obj, "spec.storageClassName") or ""


def _bound(cell: Cell) -> Cell:
    """What is told only of a claim that has its volume."""
    return lambda claim, now_ns: cell(claim, now_ns) if at(claim, "spec.volumeName") else ""


def _claim_modes(claim: Object, _now_ns: int) -> str:
    return _modes_text(at(claim, "status.accessModes"))


def _class_name(obj: Object, now_ns: int) -> str:
    annotations = at(obj, "metadata.annotations") or {}
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return f"{name(obj, now_ns)} (default)" if is_default else name(obj, now_ns)


def _audiences(driver: Object, _now_ns: int) -> str:
    requests = at(driver, "spec.tokenRequests")
    return "<unset>" if requests is None else ",".join(entry.get("audience") or "" for entry in requests)


def _lifecycle_modes(driver: Object, _now_ns: int) -> str:
    return ",".join(at(driver, "spec.volumeLifecycleModes") or ()) or "<none>"


_ATTRIBUTES_CLASS = ("VolumeAttributesClass", given("spec.volumeAttributesClassName", "<unset>"))
_VOLUME_MODE = ("VolumeMode+", given("spec.volumeMode", "<unset>"))

PRINTERS = {
    "persistentvolumes": printer(
        NAME,
        ("Capacity", text("spec.capacity.storage", "0")),
        ("Access Modes", _volume_modes),
        ("Reclaim Policy", text("spec.persistentVolumeReclaimPolicy")),
        ("Status", _phase),
        ("Claim", _claim_ref),
        ("StorageClass", _storage_class),
        _ATTRIBUTES_CLASS,
        ("Reason", text("status.reason")),
        AGE,
        _VOLUME_MODE,
    ),
    "persistentvolumeclaims": printer(
        NAME,
        ("Status", _phase),
        ("Volume", text("spec.volumeName")),
        ("Capacity", _bound(text("status.capacity.storage", "0"))),
        ("Access Modes", _bound(_claim_modes)),
        ("StorageClass", _storage_class),
        _ATTRIBUTES_CLASS,
        AGE,
        _VOLUME_MODE,
    ),
    "storageclasses.storage.k8s.io": printer(
        ("Name", _class_name),
        ("Provisioner", text("provisioner")),
        ("ReclaimPolicy", given("reclaimPolicy", "Delete")),
        ("VolumeBindingMode", given("volumeBindingMode", "Immediate")),
        ("AllowVolumeExpansion", truth("allowVolumeExpansion")),
        AGE,
    ),
    "volumeattachments.storage.k8s.io": printer(
        NAME,
        ("Attacher", text("spec.attacher")),
        ("PV", text("spec.source.persistentVolumeName")),
        ("Node", text("spec.nodeName")),
        ("Attached:boolean", truth("status.attached")),
        AGE,
    ),
    "volumeattributesclasses.storage.k8s.io": printer(NAME, ("DriverName", text("driverName")), AGE),
    "csidrivers.storage.k8s.io": printer(
        NAME,
        ("AttachRequired:boolean", truth("spec.attachRequired", default=True)),
        ("PodInfoOnMount:boolean", truth("spec.podInfoOnMount")),
        ("StorageCapacity:boolean", truth("spec.storageCapacity")),
        ("TokenRequests", _audiences),
        ("RequiresRepublish:boolean", truth("spec.requiresRepublish")),
        ("Modes", _lifecycle_modes),
        AGE,
    ),
    "csinodes.storage.k8s.io": printer(NAME, ("Drivers:integer", count("spec.drivers")), AGE),
}
