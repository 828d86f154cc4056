"""What many kinds show alike: that they were created, and conditions that are true."""

from collections.abc import Mapping
from typing import Any, Final

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown

UNSCHEDULABLE: Final = "Unschedulable"
"""Reason of pods and native groups that were looked at, and for which there is no room."""


def created(obj: Object, detail: str = "") -> Shown:
    """That it was created, which whoever sees it knows."""
    return Shown("created", obj["metadata"].get("creationTimestamp") or "", detail)


def standing(obj: Object, told: Mapping[str, str]) -> list[Shown]:
    """Created, and the phase in `told` of each condition that is true, with its reason."""
    found = [created(obj)]
    for condition in (obj.get("status") or {}).get("conditions") or ():
        phase = told.get(condition["type"])
        if phase is not None and condition.get("status") == "True":
            found.append(Shown(phase, since(condition), condition.get("reason") or ""))
    return found


def since(condition: Mapping[str, Any]) -> str:
    """When a condition became what it is, as it is written there."""
    text: str = condition.get("lastTransitionTime") or ""
    return text
