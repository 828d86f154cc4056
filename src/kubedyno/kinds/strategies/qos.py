"""The quality of service class of a pod: how much of what it uses is guaranteed to it."""

from collections.abc import Mapping

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity

_COMPUTE = ("cpu", "memory")


def qos_class(pod: Object) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, from the resources of the pod or else of its containers."""
    spec = pod.get("spec") or {}
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for resources in _resources(spec):
        _add(requests, resources.get("requests") or {})
        limited = _add(limits, resources.get("limits") or {})
        # Limits of the whole pod may be left out altogether; those of a container may not.
        if limited < len(_COMPUTE) and ("resources" not in spec or resources.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _resources(spec: Object) -> list[Object]:
    if "resources" in spec:
        return [spec["resources"] or {}]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return [container.get("resources") or {} for container in containers]


def _add(sums: dict[str, int], amounts: Mapping[str, str]) -> int:
    """Add what is more than nothing; how many of the two there were."""
    count = 0
    for name in _COMPUTE:
        nanos = Quantity.parse(amounts[name]).nanos if name in amounts else 0
        if nanos > 0:
            sums[name] = sums.get(name, 0) + nanos
            count += 1
    return count
