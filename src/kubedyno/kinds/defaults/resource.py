"""Defaults of claims, devices and taints (dynamic resource allocation), the same in all versions."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

_VERSIONS = ("v1", "v1beta2")

CONSTANTS: Constants = {
    f"resource.{version}.{type_name}": defaults
    for version in _VERSIONS
    for type_name, defaults in {
        "ExactDeviceRequest": {"allocationMode": "ExactCount"},
        "DeviceSubRequest": {"allocationMode": "ExactCount"},
        "NodeAllocatableResourceMapping": {"allocationMultiplier": "1"},
    }.items()
}


def _request(request: Object) -> None:
    if request["allocationMode"] == "ExactCount":
        request.setdefault("count", 1)


FUNCTIONS: Functions = {
    f"resource.{version}.{type_name}": _request
    for version in _VERSIONS
    for type_name in ("ExactDeviceRequest", "DeviceSubRequest")
}


def stamp(obj: Object, kind: str, now: str) -> None:
    """Say since when devices are tainted where nothing is said."""
    spec = obj["spec"]
    if kind == "ResourceSlice":
        for device in spec.get("devices") or ():
            for taint in device.get("taints") or ():
                taint.setdefault("timeAdded", now)
    elif kind == "DeviceTaintRule":
        spec["taint"].setdefault("timeAdded", now)
