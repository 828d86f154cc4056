"""PodResizeValidator: a pod on a node can grow only to what the node has."""

from kubedyno.kinds.admission import totals
from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import NODES
from kubedyno.kube.status import Cause

_ZERO = Quantity.parse(0)


def check_resize(new: Object, old: Object, request: Asked) -> None:
    """Refuse to resize a pod beyond its node, or on a node of another system."""
    name = new["spec"].get("nodeName")
    if not name or new["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    node = request.lookup.get(NODES, "", name)
    if node is None:
        raise forbidden(request, f'node "{name}" not found')
    system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
    if system != "linux":
        why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
        raise forbidden(request, why, causes=(Cause("UnsupportedPlatform"),))
    allocatable = totals.parsed((node.get("status") or {}).get("allocatable"))
    requests = totals.pod_requests(new, with_status=False)
    told = []
    for resource, show in (("cpu", Quantity.milli), ("memory", Quantity.to_int)):
        wanted, there = requests.get(resource, _ZERO), allocatable.get(resource, _ZERO)
        if wanted > there:
            told.append(f"{resource}, requested: {show(wanted)}, allocatable: {show(there)}")
    if told:
        why = f"node didn't have enough allocatable resources: {'; '.join(told)}"
        raise forbidden(request, why, causes=(Cause("NodeCapacity"),))
