"""What a pod asks of its node, as a kubelet counts it; pods of one template are read once for all.

Of a pod's object are read: uid, name, namespace and the label `kubernetes.io/os`; of the spec: containers and init
containers (name, resources, ports, restartPolicy), resources, overhead, nodeSelector, node affinity, tolerations, os
and securityContext; of the status: qosClass and extendedResourceClaimStatus.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kinds.admission import totals
from kubedyno.kinds.rules.amounts import is_extended, is_huge_pages
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import NodeSelector, required_affinity
from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa.pods import Container, Pod

CPU: Final = "cpu"
PODS: Final = "pods"
OS_LABEL: Final = "kubernetes.io/os"

Amounts = dict[str, int]
"""Thousandths of CPUs, bytes, devices, pods."""

# In this order a kubelet looks for what is missing; it then goes through all others in no order at all.
_FIRST: Final = (CPU, "memory", "ephemeral-storage")
_COUNTED_PREFIXES: Final = ("attachable-volumes-",)
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 # an address in the API's sense, nothing listens
_REMEMBERED: Final = 8192

_encode = msgspec.json.Encoder().encode


class DeviceLimits(msgspec.Struct, frozen=True):
    """What one container asks of device plugins; one that `passes` leaves its devices to those after it."""

    container: str
    passes: bool
    counts: tuple[tuple[str, int], ...]


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What pods of one template ask for."""

    amounts: tuple[tuple[str, int], ...]
    """Effective requests that are not zero, in the order in which they are checked; one pod is not among them."""
    containers: tuple[Container, ...]
    """In the order in which they are started."""
    guaranteed: bool
    pod_level: bool
    limits: tuple[DeviceLimits, ...]
    """Of containers that ask for what could be a device plugin's."""
    selector: tuple[tuple[str, str], ...]
    affinity: NodeSelector | None
    tolerations: tuple[Mapping[str, Any], ...]
    ports: tuple[tuple[str, str, int], ...]
    """Address, protocol and number of each port of the host."""
    os: str
    """`spec.os.name`; empty: any."""
    os_label: str | None
    """The pod's own label `kubernetes.io/os`, which a kubelet looks at too."""
    strict_groups: bool

    def pod(self, uid: str) -> Pod:
        """One pod of this kind, as the topology manager sees it."""
        return Pod(uid, self.containers, guaranteed=self.guaranteed, pod_level=self.pod_level)


def needs_of(pod: Object) -> Needs:
    """What the pod asks for."""
    spec, status = pod["spec"], pod.get("status") or {}
    given = spec.get
    started = given("initContainers")
    key = [
        [(one["name"], one.get("resources"), one.get("ports")) for one in given("containers") or ()],
        [(one["name"], one.get("resources"), one.get("ports"), one.get("restartPolicy")) for one in started]
        if started
        else None,
        given("resources"),
        given("overhead"),
        given("nodeSelector"),
        required_affinity(spec) if given("affinity") else None,
        given("tolerations"),
        given("os"),
        (given("securityContext") or {}).get("supplementalGroupsPolicy"),
        status.get("qosClass"),
        status.get("extendedResourceClaimStatus"),
        (pod["metadata"].get("labels") or {}).get(OS_LABEL),
    ]
    return _read(_encode(key))


@functools.lru_cache(maxsize=_REMEMBERED)
def _read(key: bytes) -> Needs:
    apps, inits, own, overhead, selector, affinity, tolerations, os, groups, qos, claimed, os_label = (
        msgspec.json.decode(key)
    )
    containers = [dict(zip(("name", "resources", "ports"), one, strict=True)) for one in apps]
    started = [dict(zip(("name", "resources", "ports", "restartPolicy"), one, strict=True)) for one in inits or ()]
    spec = {"containers": containers, "initContainers": started, "resources": own, "overhead": overhead}
    status = {"qosClass": qos, "extendedResourceClaimStatus": claimed}
    read = Pod.read({"metadata": {"uid": ""}, "spec": spec, "status": status})
    return Needs(
        amounts=_checked(_effective(spec, read.containers)),
        containers=tuple(read.containers),
        guaranteed=read.guaranteed,
        pod_level=read.pod_level,
        limits=tuple(filter(None, map(_device_limits, read.containers))),
        selector=tuple((selector or {}).items()),
        affinity=NodeSelector.read(affinity) if affinity is not None else None,
        tolerations=tuple(tolerations or ()),
        ports=_host_ports([*(one for one in started if one["restartPolicy"] == "Always"), *containers]),
        os=(os or {}).get("name") or "",
        os_label=os_label,
        strict_groups=groups == "Strict",
    )


def _device_limits(container: Container) -> DeviceLimits | None:
    counts = tuple(
        (name, limit.to_int())
        for name, limit in container.limits.items()
        if "/" in name and name not in container.claimed
    )
    return DeviceLimits(container.name, container.passes, counts) if counts else None


def amount(name: str, quantity: Quantity) -> int:
    """The quantity as a whole number: of thousandths for CPUs, of units for all else."""
    return quantity.milli() if name == CPU else quantity.to_int()


def is_counted(name: str) -> bool:
    """Whether nodes count the resource at all; Kubernetes ignores names without a domain that it does not know."""
    return name in _FIRST or name == PODS or "/" in name or is_huge_pages(name) or name.startswith(_COUNTED_PREFIXES)


@functools.cache
def is_foreign(name: str) -> bool:
    """Whether the resource is not Kubernetes' own, so that nodes may not know it at all."""
    return is_extended(name)


def _effective(spec: Mapping[str, Any], read: Sequence[Container]) -> Mapping[str, Quantity]:
    """What the pod as a whole requests, without what ResourceClaims serve."""
    claimed = {container.name: container.claimed for container in read}
    served = {
        kind: [_without(one, claimed[one["name"]]) for one in spec[kind]] for kind in ("containers", "initContainers")
    }
    return totals.pod_requests({"spec": {**spec, **served}}, with_status=False)


def _without(container: Mapping[str, Any], names: Any) -> Mapping[str, Any]:
    if not names:
        return container
    resources = container["resources"] or {}
    kept = {name: written for name, written in (resources.get("requests") or {}).items() if name not in names}
    return {**container, "resources": {**resources, "requests": kept}}


def _checked(effective: Mapping[str, Quantity]) -> tuple[tuple[str, int], ...]:
    amounts = {name: amount(name, quantity) for name, quantity in effective.items() if is_counted(name)}
    names = [*(name for name in _FIRST if name in amounts), *sorted(set(amounts) - {*_FIRST, PODS})]
    return tuple((name, amounts[name]) for name in names if amounts[name])


def _host_ports(containers: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, int], ...]:
    """Ports of the host that are in use for as long as the pod runs."""
    return tuple(
        (port.get("hostIP") or _ANY_ADDRESS, port.get("protocol") or "TCP", port["hostPort"])
        for container in containers
        for port in container["ports"] or ()
        if port.get("hostPort", 0) > 0
    )


def conflicts(ports: Sequence[tuple[str, str, int]], used: Sequence[tuple[str, str, int]]) -> bool:
    """Whether any port is in use already; one at all addresses meets those at each."""
    return any(
        port[1:] == other[1:] and (port[0] == other[0] or _ANY_ADDRESS in {port[0], other[0]})
        for port in ports
        for other in used
    )
