"""The part of a pod that the kubelet's managers look at."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity

_NANOS_PER_UNIT = 10**9
_LARGEST_INT64 = 2**63 - 1
_HUGE_PAGES = "hugepages-"


class Container(msgspec.Struct, frozen=True):
    """Requests and limits by resource. `init` runs before the app containers; a `sidecar` is one that stays.

    `claimed` are extended resources that a ResourceClaim serves: no device plugin is asked for them.
    """

    name: str
    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}
    init: bool = False
    sidecar: bool = False
    claimed: AbstractSet[str] = frozenset()

    @property
    def passes(self) -> bool:
        """Whether it is gone before the app containers start, so that they may have what it had."""
        return self.init and not self.sidecar


class Pod(msgspec.Struct, frozen=True):
    """A pod; `containers` are in the order in which they are started. `pod_level`: it has resources of its own."""

    uid: str
    containers: Sequence[Container]
    guaranteed: bool = False
    pod_level: bool = False

    @property
    def pinned(self) -> bool:
        """Whether CPU and memory managers look at it at all."""
        return self.guaranteed and not self.pod_level

    @classmethod
    def read(cls, pod: Object) -> "Pod":
        """The pod of an API object, with the QoS class that the API server gave it."""
        spec, status = pod.get("spec") or {}, pod.get("status") or {}
        mappings = (status.get("extendedResourceClaimStatus") or {}).get("requestMappings") or ()
        containers = [_container(written, mappings, init=True) for written in spec.get("initContainers") or ()]
        containers += [_container(written, mappings, init=False) for written in spec.get("containers") or ()]
        own = spec.get("resources") or {}
        return cls(
            uid=pod["metadata"]["uid"],
            containers=containers,
            guaranteed=status.get("qosClass") == "Guaranteed",
            pod_level=_has_pod_level_resources(own),
        )

    def longest_need(self, amounts: Callable[[Container], Mapping[str, int]]) -> dict[str, int]:
        """What all containers need at the moment when they need the most, by resource.

        App containers and sidecars run together; an init container runs beside the sidecars before it.
        """
        running: dict[str, int] = {}
        peak: dict[str, int] = {}
        for container in self.containers:
            for name, amount in amounts(container).items():
                if container.passes:
                    peak[name] = max(peak.get(name, 0), running.get(name, 0) + amount)
                else:
                    running[name] = running.get(name, 0) + amount
        return {name: max(peak.get(name, 0), running.get(name, 0)) for name in peak | running}


def exclusive_cpus(pod: Pod, container: Container) -> int:
    """The CPUs that the static policy pins: whole ones of a Guaranteed pod; 0 if it stays in the shared pool."""
    asked = container.requests.get("cpu")
    if not pod.guaranteed or asked is None:
        return 0
    # Both round up there: what is less than a millicore short of a whole CPU counts as whole.
    return asked.to_int() if asked.to_int() * 1000 == asked.milli() else 0


def memory_requests(container: Container) -> dict[str, int] | None:
    """Bytes of memory and huge pages; None where an amount is no whole number of bytes."""
    amounts = {}
    for name, asked in container.requests.items():
        if name != "memory" and not name.startswith(_HUGE_PAGES):
            continue
        if asked.nanos % _NANOS_PER_UNIT or asked.nanos // _NANOS_PER_UNIT > _LARGEST_INT64:
            return None
        amounts[name] = asked.nanos // _NANOS_PER_UNIT
    return amounts


def _container(written: Mapping[str, Any], mappings: Sequence[Mapping[str, str]], *, init: bool) -> Container:
    resources = written.get("resources") or {}
    return Container(
        name=written["name"],
        requests=_quantities(resources.get("requests")),
        limits=_quantities(resources.get("limits")),
        init=init,
        sidecar=init and written.get("restartPolicy") == "Always",
        claimed={claim["resourceName"] for claim in mappings if claim["containerName"] == written["name"]},
    )


def _quantities(written: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(amount) for name, amount in (written or {}).items()}


def _has_pod_level_resources(own: Mapping[str, Any]) -> bool:
    """Only cpu, memory and huge pages count as resources of the pod."""
    names = {*(own.get("requests") or {}), *(own.get("limits") or {})}
    return any(name in {"cpu", "memory"} or name.startswith(_HUGE_PAGES) for name in names)
