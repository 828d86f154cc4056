"""RuntimeClass: a pod has the overhead of its runtime, and goes where that runs."""

from kubedyno.kinds.admission import tolerations
from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import by_kind

_CLASSES = by_kind("node.k8s.io/v1", "RuntimeClass")
_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def admit_runtime(pod: Object, request: Asked) -> None:
    """Write overhead, node selector and tolerations of the class into a new pod's spec, which is replaced."""
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if name is None:
        return
    found = request.lookup.get(_CLASSES, "", name)
    if found is None:
        raise forbidden(request, f'pod rejected: RuntimeClass "{name}" not found')
    spec = dict(spec)
    pod["spec"] = spec
    if "overhead" in found:
        overhead = found["overhead"].get("podFixed") or {}
        if spec.get("overhead") and not _equal(spec["overhead"], overhead):
            raise forbidden(request, _MISMATCH)
        if overhead:
            spec["overhead"] = dict(overhead)
    if "scheduling" in found:
        _set_scheduling(spec, found["scheduling"], request)


def check_overhead(pod: Object, request: Asked) -> None:
    """Refuse an overhead that is not that of the class, once everybody has changed the pod."""
    spec = pod["spec"]
    if "overhead" not in spec and "runtimeClassName" not in spec:
        return
    name = spec.get("runtimeClassName")
    found = request.lookup.get(_CLASSES, "", name) if name is not None else None
    if found is not None and "overhead" in found:
        if not _equal(spec.get("overhead") or {}, found["overhead"].get("podFixed") or {}):
            raise forbidden(request, _MISMATCH)
    elif "overhead" in spec:
        raise forbidden(request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")


def _set_scheduling(spec: Object, scheduling: Object, request: Asked) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            where = "runtimeClass.scheduling.nodeSelector"
            said = f"{where}[{key}] = {value}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            raise forbidden(request, f"conflict: {said}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    merged = tolerations.merged(spec.get("tolerations") or [], scheduling.get("tolerations") or [])
    if merged:
        spec["tolerations"] = merged


def _equal(first: dict[str, str], second: dict[str, str]) -> bool:
    return {name: Quantity.parse(amount) for name, amount in first.items()} == {
        name: Quantity.parse(amount) for name, amount in second.items()
    }
