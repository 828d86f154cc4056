"""Services: addresses and node ports are given to them, and taken away again when the type needs none.

One family of addresses (IPv4) is served, as in a cluster with one service range.
"""

from typing import Any, Protocol

from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube import problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem

_EXPOSED = ("NodePort", "LoadBalancer")
_HEADLESS = "None"


class Unavailable(Exception):
    """The wanted address or port cannot be had; the text is the server's reason."""


class Allocator(Protocol):
    """Who knows the addresses and ports that are taken. Both raise `Unavailable`."""

    def cluster_ip(self, wanted: str | None) -> str:
        """An address: the wanted one, or a free one."""

    def node_port(self, wanted: int | None) -> int:
        """A port: the wanted one, or a free one."""


def allocate(new: Object, old: Object | None, allocator: Allocator) -> None:
    """Give a service its addresses and ports: before it is prepared and checked, as in the real server.

    What an update left out it keeps. What is no longer used is free once the new state is stored.
    """
    spec = dict(new.get("spec") or {})
    new["spec"] = spec
    before: Object = (old or {}).get("spec") or {}
    name = new["metadata"].get("name", "")
    _keep_allocated(spec, before)
    _pair_addresses(spec, before)
    if spec.get("type") != "ExternalName":
        _choose_family(spec, before)
        if not before or before.get("type") == "ExternalName":
            _give_address(spec, name, allocator)
    if spec.get("type") in _EXPOSED:
        _give_ports(spec, before, name, allocator)
    if _checks_health(spec) and not _checks_health(before):
        spec["healthCheckNodePort"] = allocator.node_port(spec.get("healthCheckNodePort"))


def _refuse(name: str, problem: Problem) -> Refused:
    return Refused(problems.invalid_status("Service", "", name, [problem]))


def _keep_allocated(spec: Object, before: Object) -> None:
    if not before:
        return
    if before.get("type") != "ExternalName" and spec.get("type") != "ExternalName":
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if before.get("type") in _EXPOSED and spec.get("type") in _EXPOSED:
        known = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        named = {port.get("nodePort") for port in spec.get("ports") or ()} & set(known.values())
        spec["ports"] = [
            port if port.get("nodePort") or not (kept := known.get(port.get("name", ""))) or kept in named
            else {**port, "nodePort": kept}
            for port in spec.get("ports") or ()
        ]  # fmt: skip
    if _checks_health(before) and _checks_health(spec):
        spec.setdefault("healthCheckNodePort", before.get("healthCheckNodePort"))


def _pair_addresses(spec: Object, before: Object) -> None:
    """`clusterIP` and the first of `clusterIPs` are one; a client that knows only the first may change it."""
    one, several = spec.get("clusterIP"), spec.get("clusterIPs")
    if one and not several:
        spec["clusterIPs"] = [one]
    elif before and before.get("clusterIP") != one and before.get("clusterIPs") == several:
        if one:
            spec["clusterIPs"] = [one, *(several or [])[1:]]
        else:
            spec.pop("clusterIPs", None)


def _choose_family(spec: Object, before: Object) -> None:
    headless_without_pods = spec.get("clusterIP") == _HEADLESS and not spec.get("selector")
    if "ipFamilyPolicy" not in spec:
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or (
            "RequireDualStack" if headless_without_pods else "SingleStack"
        )
    families = spec.get("ipFamilies") or ["IPv4"]
    if headless_without_pods and spec["ipFamilyPolicy"] != "SingleStack" and len(families) == 1:
        families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
    spec["ipFamilies"] = families


def _give_address(spec: Object, name: str, allocator: Allocator) -> None:
    addresses: list[str] = spec.get("clusterIPs") or []
    if addresses and addresses[0] == _HEADLESS:
        return
    wanted = addresses[0] if addresses else None
    try:
        given = allocator.cluster_ip(wanted)
    except Unavailable as unavailable:
        what = f"failed to allocate IP {wanted}" if wanted else "failed to allocate IP"
        shown = addresses or [""]
        raise _refuse(name, problems.invalid("spec.clusterIPs", shown, f"{what}: {unavailable}")) from None
    spec["clusterIP"], spec["clusterIPs"] = given, [given]


def _give_ports(spec: Object, before: Object, name: str, allocator: Allocator) -> None:
    """Give each port its node port; on creation, ports of one number (for two protocols) share theirs."""
    may_allocate = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
    had = {port.get("nodePort") for port in before.get("ports") or ()} if before.get("type") in _EXPOSED else set()
    wishes = {port["port"]: port["nodePort"] for port in reversed(spec.get("ports") or ()) if port.get("nodePort")}
    by_port: dict[int, int] = {}
    ports = []
    for index, port in enumerate(spec.get("ports") or ()):
        wanted = port.get("nodePort") or (None if had else by_port.get(port["port"]) or wishes.get(port["port"]))
        if wanted is None and not may_allocate:
            ports.append(port)
            continue
        taken = had | set(by_port.values())
        try:
            given = wanted if wanted in taken and wanted is not None else allocator.node_port(wanted)
        except Unavailable as unavailable:
            field = f"spec.ports[{index}].nodePort"
            raise _refuse(name, problems.invalid(field, wanted, str(unavailable))) from None
        by_port.setdefault(port["port"], given)
        ports.append({**port, "nodePort": given})
    spec["ports"] = ports


def _checks_health(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _create(service: Object, _occasion: Occasion) -> None:
    service["status"] = {"loadBalancer": {}}
    service["spec"] = _without_inner_policy(service.get("spec") or {})


def _update(new: Object, old: Object, _occasion: Occasion) -> None:
    """Drop what the new type has no use for, unless the user changed it too (the rules then refuse it)."""
    spec, before = _without_inner_policy(new["spec"]), old["spec"]
    new["spec"] = spec
    if before.get("type") != "ExternalName" and spec.get("type") == "ExternalName":
        _drop_if_same(spec, before, "clusterIP", "clusterIPs")
        _drop_if_same(spec, before, "ipFamilies")
        _drop_if_same(spec, before, "ipFamilyPolicy")
    if before.get("type") in _EXPOSED and spec.get("type") not in _EXPOSED and _node_ports(spec) == _node_ports(before):
        spec["ports"] = [
            {name: value for name, value in port.items() if name != "nodePort"} for port in spec.get("ports") or ()
        ]
    if _checks_health(before) and not _checks_health(spec):
        _drop_if_same(spec, before, "healthCheckNodePort")
    if _reached_from_outside(before) and not _reached_from_outside(spec):
        _drop_if_same(spec, before, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        if before.get("type") == "LoadBalancer":
            _drop_if_same(spec, before, "allocateLoadBalancerNodePorts")
            _drop_if_same(spec, before, "loadBalancerClass")
        new["status"] = {**(new.get("status") or {}), "loadBalancer": {}}


def _without_inner_policy(spec: Object) -> Object:
    """A copy; what is only a name elsewhere has no traffic within the cluster."""
    if spec.get("type") != "ExternalName":
        return dict(spec)
    return {name: value for name, value in spec.items() if name != "internalTrafficPolicy"}


def _drop_if_same(spec: Object, before: Object, *fields: str) -> None:
    if all(spec.get(field) == before.get(field) for field in fields):
        for field in fields:
            spec.pop(field, None)


def _node_ports(spec: Object) -> list[Any]:
    return [port.get("nodePort") for port in spec.get("ports") or ()]


def _reached_from_outside(spec: Object) -> bool:
    return spec.get("type") in _EXPOSED or bool(spec.get("type") == "ClusterIP" and spec.get("externalIPs"))


SERVICES = Strategy(starts_at_1=False, bumped_by=(), creates_on_update=True, on_create=_create, on_update=_update)
