"""What a pod must be given by NUMA zones, as its kubelet's managers read it. Pure."""

from collections.abc import Mapping

import msgspec

from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kube.codec import Object
from kubedyno.model.numa.pods import Container, Pod, exclusive_cpus, memory_requests


class Request(msgspec.Struct, frozen=True):
    """Thousandths by resource, of a container or of all together; `passes`: it ends before the others start."""

    amounts: tuple[tuple[str, int], ...]
    passes: bool = False


class Demand(msgspec.Struct, frozen=True, cache_hash=True):
    """What the containers ask for in their order, and what is needed at once when that is most.

    Whole CPUs of Guaranteed pods, their memory and huge pages, and of all pods what device plugins may serve. Which of
    it counts on a node depends on what its zones list.
    """

    containers: tuple[Request, ...]
    whole: Request


def demand_of(spec: Object) -> Demand | None:
    """The demand of a pod with such a spec; None: no zone is ever asked."""
    spec = {field: value for field, value in spec.items() if value is not None}
    told = {"metadata": {"uid": ""}, "spec": spec, "status": {"qosClass": qos_class({"spec": spec})}}
    pod = Pod.read(told)
    requests = tuple(
        Request(tuple(sorted(amounts.items())), container.passes)
        for container in pod.containers
        if (amounts := _amounts(pod, container))
    )
    if not requests:
        return None
    whole = pod.longest_need(lambda container: _amounts(pod, container))
    return Demand(requests, Request(tuple(sorted(whole.items()))))


def _amounts(pod: Pod, container: Container) -> dict[str, int]:
    found: Mapping[str, int] = {}
    if pod.pinned:
        found = {"cpu": exclusive_cpus(pod, container), **(memory_requests(container) or {})}
    # Extended resources have the domain of who offers them before their names.
    devices = {name: asked.to_int() for name, asked in container.limits.items() if "/" in name}
    return {name: 1000 * amount for name, amount in (*found.items(), *devices.items()) if amount}
