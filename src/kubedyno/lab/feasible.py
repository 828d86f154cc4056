"""Whether nodes are too few for a shape, and what its pods take: arithmetic for messages, not for decisions."""

from collections.abc import Iterable, Sequence

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.model.workloads import Workload

_GPUS = "nvidia.com/gpu"


def gpus_of(shape: Workload, pod_name: str) -> float:
    """The GPUs that one pod of a shape takes; of a shape with groups, by the group that the pod's name tells."""
    if not shape.groups:
        return shape.gpu_count / shape.pods
    for group in shape.groups:
        if f"-{group.name}-" in pod_name:
            return group.gpus
    return shape.gpu_count / shape.pod_count


def told(shapes: Iterable[Workload], nodes: Sequence[Object]) -> str:
    """Why some shape can never fit these nodes, however empty they are; empty: it could."""
    room = [_gpus(node) for node in nodes]
    if not room:
        return "there are no nodes"
    largest, total = max(room), sum(room)
    for shape in {(shape.gpus, shape.pods, shape.least, shape.groups): shape for shape in shapes}.values():
        each = max((group.gpus for group in shape.groups), default=shape.gpus)
        if each > largest:
            return f"a pod of {shape.name} wants {each} GPUs, and no node has more than {largest}"
        least = _least_gpus(shape)
        if least > total:
            return f"{shape.name} wants {least} GPUs at once, and all nodes together have {total}"
    return ""


def _least_gpus(shape: Workload) -> int:
    if shape.groups:
        return sum((group.pods if group.least is None else group.least) * group.gpus for group in shape.groups)
    return shape.least_pods * shape.gpus


def _gpus(node: Object) -> int:
    return Quantity.parse(((node.get("status") or {}).get("allocatable") or {}).get(_GPUS) or "0").to_int()
