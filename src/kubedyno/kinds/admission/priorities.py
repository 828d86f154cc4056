"""Priority: the number behind a priority class, in pods and pod groups; one class at most is the default."""

from typing import Any

from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PRIORITY_CLASSES


def admit_pod_priority(pod: Object, request: Asked) -> None:
    """Write class, priority and preemption policy into a new pod's spec, which is replaced."""
    spec = dict(pod["spec"])
    pod["spec"] = spec
    name, priority, policy = _established(spec, request)
    if spec.get("priority") not in (None, priority):
        raise forbidden(
            request,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name",
        )
    if policy is not None and spec.get("preemptionPolicy") not in (None, policy):
        raise forbidden(
            request,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    if name:
        spec["priorityClassName"] = name
    spec["priority"] = priority
    if policy is not None:
        spec["preemptionPolicy"] = policy


def keep_pod_priority(new: Object, old: Object) -> None:
    """An update that leaves them out keeps priority and preemption policy."""
    kept = {
        field: old["spec"][field]
        for field in ("priority", "preemptionPolicy")
        if field in old["spec"] and field not in new["spec"]
    }
    if kept:
        new["spec"] = {**new["spec"], **kept}


def admit_group_priority(group: Object, request: Asked) -> None:
    """The same for a pod group, whose `spec` is replaced."""
    spec = dict(group.get("spec") or {})
    group["spec"] = spec
    name, priority, _ = _established(spec, request)
    if spec.get("priority") not in (None, priority):
        raise forbidden(
            request,
            f"priority set in the pod group ({spec['priority']}) must match the priority computed ({priority}) "
            "based on the priority class set in the spec",
        )
    spec["priority"] = priority
    if name:
        spec["priorityClassName"] = name


def check_default_class(new: Object, request: Asked, *, creating: bool) -> None:
    """Refuse a second class that is the default for all pods."""
    if not new.get("globalDefault"):
        return
    default = _default_class(request)
    if default is None:
        return
    name = default["metadata"]["name"]
    if creating or name != new["metadata"]["name"]:
        raise forbidden(request, f"PriorityClass {name} is already marked as default. Only one default can exist")


def _established(spec: Object, request: Asked) -> tuple[str, int, Any]:
    """Name, number and preemption policy of the class that applies."""
    name = spec.get("priorityClassName")
    if name:
        found = request.lookup.get(PRIORITY_CLASSES, "", name)
        if found is None:
            raise forbidden(request, f"no PriorityClass with name {name} was found")
    else:
        found = _default_class(request)
        if found is None:
            return "", 0, "PreemptLowerPriority"
    return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy")


def _default_class(request: Asked) -> Object | None:
    """The default; of several, which a race may leave, the least."""
    defaults = [each for each in request.lookup.list(PRIORITY_CLASSES, "") if each.get("globalDefault")]
    return min(defaults, key=lambda each: int(each.get("value", 0)), default=None)
