"""Deleting: how long a pod has to end, and what becomes of the dependents by default."""

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

_ENDED = ("Succeeded", "Failed")
_ORPHANING = {("", "replicationcontrollers"), ("batch", "jobs")}
_UNCOLLECTED = {("", "events"), ("events.k8s.io", "events")}


def is_graceful(resource: Resource) -> bool:
    """Whether objects of this kind are given time to end: pods only."""
    return resource.group == "" and resource.plural == "pods"


def grace_period_s(pod: Object, options: Object) -> int:
    """Seconds that a pod not yet being deleted has to end, with these DeleteOptions; 0 is at once."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in _ENDED:
        return 0
    period = options.get("gracePeriodSeconds")
    if period is None:
        period = spec.get("terminationGracePeriodSeconds", 0)
    return 1 if period < 0 else int(period)


def collection_finalizers(obj: Object, resource: Resource, options: Object) -> list[str]:
    """The finalizers of an object once its deletion with these DeleteOptions began.

    `orphan` and `foregroundDeletion` make the garbage collector act before the object goes.
    """
    before: list[str] = obj["metadata"].get("finalizers") or []
    others = [finalizer for finalizer in before if finalizer not in ("orphan", "foregroundDeletion")]
    policy = _propagation(before, resource, options)
    if policy == "Orphan":
        after = [*others, "orphan"]
    elif policy == "Foreground":
        after = [*others, "foregroundDeletion"]
    else:
        after = others
    return before if set(after) == set(before) else after


def _propagation(finalizers: list[str], resource: Resource, options: Object) -> str:
    if (resource.group, resource.plural) in _UNCOLLECTED:
        return "Background"
    if options.get("orphanDependents") is not None:
        return "Orphan" if options["orphanDependents"] else "Background"
    if options.get("propagationPolicy"):
        return str(options["propagationPolicy"])
    if "orphan" in finalizers:
        return "Orphan"
    if "foregroundDeletion" in finalizers:
        return "Foreground"
    return "Orphan" if (resource.group, resource.plural) in _ORPHANING else "Background"
