"""Patches of a pod's status that add or change one condition and leave the others where they are."""

from typing import Any

from kubedyno.controllers.podfacts import uid
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object


def disruption(pod: Object, reason: str, message: str, *, now_ns: int) -> dict[str, Any]:
    """The condition of a pod that is taken away from its owner."""
    before = meta.condition(pod, "DisruptionTarget")
    is_same = before is not None and before.get("status") == "True" and before.get("lastTransitionTime")
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "observedGeneration": pod["metadata"].get("generation", 0),
        "lastTransitionTime": before["lastTransitionTime"] if before and is_same else seconds_text(now_ns),
    }


def patch(pod: Object, condition: dict[str, Any] | None = None, **status: Any) -> Object:
    """A strategic patch of this very pod's status; a new condition goes behind the others."""
    fields: Object = dict(status)
    if condition is not None:
        types = [entry["type"] for entry in (pod.get("status") or {}).get("conditions") or ()]
        order = [*types, *([condition["type"]] if condition["type"] not in types else [])]
        fields["$setElementOrder/conditions"] = [{"type": type_} for type_ in order]
        fields["conditions"] = [condition]
    return {"metadata": {"uid": uid(pod)}, "status": fields}
