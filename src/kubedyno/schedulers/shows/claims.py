"""What claims show: for devices and for volumes."""

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import created


def resource_claim(obj: Object) -> list[Shown]:
    """A ResourceClaim: created, allocated, and reserved with the first that reserved it."""
    status = obj.get("status") or {}
    found = [created(obj)]
    allocation = status.get("allocation")
    if allocation is not None:
        found.append(Shown("allocated", allocation.get("allocationTimestamp") or ""))
    holders = status.get("reservedFor")
    if holders:
        found.append(Shown("reserved", "", holders[0].get("name") or ""))
    return found


def volume_claim(obj: Object) -> list[Shown]:
    """A PersistentVolumeClaim: created, and bound with its volume."""
    found = [created(obj)]
    if (obj.get("status") or {}).get("phase") == "Bound":
        found.append(Shown("bound", "", obj["spec"].get("volumeName") or ""))
    return found
