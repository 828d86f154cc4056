"""Rules of services."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.addresses import cidr_problems, endpoint_ip_problems, ip_problems, parsed
from kubedyno.kinds.rules.containers import protocol_problems
from kubedyno.kinds.rules.fields import formatted, label_problems, port_number_or_name, required_formatted
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.service_addresses import (
    cluster_ip_change_problems,
    cluster_ip_problems,
    family_change_problems,
    is_headless,
)
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import annotations
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_supported, required

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_LONGEST_AFFINITY_S: Final = 86400
_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_IP_MODES: Final = ("Proxy", "VIP")


def _create(service: Object) -> Iterator[Problem]:
    return _state_problems(service, None)


def _update(new: Object, old: Object) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    yield from cluster_ip_change_problems(spec, before)
    yield from family_change_problems(spec, before)
    name = "loadBalancerClass"
    if spec.get("type") == before.get("type") == "LoadBalancer" and spec.get(name) != before.get(name):
        yield invalid(f"spec.{name}", spec.get(name), "may not change once set")
    yield from _class_problems(spec)
    if _needs_health_check(spec) and _needs_health_check(before):
        port = "healthCheckNodePort"
        if spec.get(port, 0) != before.get(port, 0):
            yield forbidden(f"spec.{port}", "field is immutable")
    yield from _state_problems(new, old)


def _state_problems(service: Object, old: Object | None) -> Iterator[Problem]:
    spec, before = service.get("spec") or {}, (old or {}).get("spec") or {}
    given = annotations(service)
    if _MODE in given and _HINTS in given and given[_MODE] != given[_HINTS]:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid(f"metadata.annotations[{_MODE}]", given[_MODE], detail)
    yield from _type_problems(spec)
    yield from _port_problems(spec)
    yield from label_problems(spec.get("selector"), "spec.selector")
    yield from _affinity_problems(spec)
    yield from cluster_ip_problems(spec, before.get("clusterIPs") or ())
    for index, address in enumerate(spec.get("externalIPs") or ()):
        at = f"spec.externalIPs[{index}]"
        wrong = list(ip_problems(at, address, before.get("externalIPs") or ()))
        yield from wrong or endpoint_ip_problems(at, address)
    if not spec.get("type"):
        yield required("spec.type")
    elif spec["type"] not in _TYPES:
        yield not_supported("spec.type", spec["type"], _TYPES)
    yield from _repeated_port_problems(spec)
    yield from _source_range_problems(service, old)
    allocate = spec.get("allocateLoadBalancerNodePorts")
    balanced = spec.get("type") == "LoadBalancer"
    if allocate is not None and not balanced:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)
    if allocate is None and balanced:
        yield required("allocateLoadBalancerNodePorts")
    yield from _class_problems(spec)
    yield from _traffic_problems(spec)


def _type_problems(spec: Object) -> Iterator[Problem]:
    kind, headless = spec.get("type"), is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in {"LoadBalancer", "NodePort"}:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
        external = spec.get("externalName", "").removesuffix(".")
        yield from required_formatted(external, "spec.externalName", texts.dns1123_subdomain)


def _port_problems(spec: Object) -> Iterator[Problem]:
    ports = spec.get("ports") or ()
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"spec.ports[{index}]"
        name = port.get("name", "")
        if name:
            yield from formatted(name, f"{at}.name", texts.dns1123_label)
            if name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        elif len(ports) > 1:
            yield required(f"{at}.name")
        for told in texts.port_number(port.get("port", 0)):
            yield invalid(f"{at}.port", port.get("port", 0), told)
        yield from protocol_problems(port.get("protocol"), f"{at}.protocol")
        yield from port_number_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        if (protocol := port.get("appProtocol")) is not None:
            yield from formatted(protocol, f"{at}.appProtocol", texts.label_key)


def _affinity_problems(spec: Object) -> Iterator[Problem]:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    if not affinity:
        yield required("spec.sessionAffinity")
    elif affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    told = "when session affinity type is ClientIP"
    timeout = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if config is None:
        yield required(path, told)
    elif config.get("clientIP") is None:
        yield required(f"{path}.clientIP", told)
    elif timeout is None:
        yield required(f"{path}.clientIP.timeoutSeconds", told)
    elif not 0 < timeout <= _LONGEST_AFFINITY_S:
        detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY_S}"
        yield invalid(f"{path}.clientIP.timeoutSeconds", timeout, detail)


def _repeated_port_problems(spec: Object) -> Iterator[Problem]:
    ports = spec.get("ports") or ()
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    on_nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        if number := port.get("nodePort"):
            key = port.get("protocol", ""), number
            if key in on_nodes:
                yield duplicate(f"spec.ports[{index}].nodePort", number)
            on_nodes.add(key)
    own: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = port.get("protocol", ""), port.get("port", 0)
        if key in own:
            told = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1]}
            yield duplicate(f"spec.ports[{index}]", {**told, "TargetPort": 0, "NodePort": 0})
        own.add(key)


def _source_range_problems(service: Object, old: Object | None) -> Iterator[Problem]:
    spec, before = service.get("spec") or {}, (old or {}).get("spec") or {}
    balanced = spec.get("type") == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        path = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden(path, _ONLY_BALANCED)
        accepted = [written.strip() for written in before.get("loadBalancerSourceRanges") or ()]
        for index, written in enumerate(ranges):
            yield from cidr_problems(f"{path}[{index}]", written.strip(), accepted)
    elif (written := annotations(service).get(_RANGES)) is not None:
        path = f"metadata.annotations[{_RANGES}]"
        if not balanced:
            yield forbidden(path, _ONLY_BALANCED)
        if (old is None or annotations(old).get(_RANGES) != written) and written.strip():
            for cidr in written.strip().split(","):
                yield from cidr_problems(path, cidr.strip())


def _class_problems(spec: Object) -> Iterator[Problem]:
    name = spec.get("loadBalancerClass")
    if name is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from formatted(name, "spec.loadBalancerClass", texts.label_key)
    else:
        yield forbidden("spec.loadBalancerClass", _ONLY_BALANCED)


def _traffic_problems(spec: Object) -> Iterator[Problem]:
    policy = spec.get("externalTrafficPolicy", "")
    kind, at = spec.get("type"), "spec.externalTrafficPolicy"
    if kind not in {"LoadBalancer", "NodePort"} and not (kind == "ClusterIP" and spec.get("externalIPs")):
        if policy:
            yield invalid(at, policy, "may only be set for externally-accessible services")
    elif not policy:
        yield required(at)
    elif policy not in _POLICIES:
        yield not_supported(at, policy, _POLICIES)
    yield from _health_check_problems(spec)
    inside, at = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if inside is None and kind in {"NodePort", "LoadBalancer", "ClusterIP"}:
        yield required(at)
    if inside is not None and inside not in _POLICIES:
        yield not_supported(at, inside, _POLICIES)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def _health_check_problems(spec: Object) -> Iterator[Problem]:
    port, at = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if not _needs_health_check(spec):
        if port:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid(at, port, detail)
    elif not port:
        yield required(at)
    else:
        yield from (invalid(at, port, told) for told in texts.port_number(port))


def _needs_health_check(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _update_status(new: Object, old: Object) -> Iterator[Problem]:
    entries, before = _ingress(new), _ingress(old)
    path = "status.loadBalancer.ingress"
    if (new.get("spec") or {}).get("type") != "LoadBalancer":
        if entries:
            yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    accepted = [entry["ip"] for entry in before if entry.get("ip")]
    for index, entry in enumerate(entries):
        yield from _ingress_problems(entry, accepted, f"{path}[{index}]")


def _ingress(service: Object) -> Sequence[Mapping[str, Any]]:
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    entries: Sequence[Mapping[str, Any]] = balancer.get("ingress") or ()
    return entries


def _ingress_problems(entry: Mapping[str, Any], accepted: Sequence[str], path: str) -> Iterator[Problem]:
    address, mode, hostname = entry.get("ip"), entry.get("ipMode"), entry.get("hostname")
    if address:
        yield from ip_problems(f"{path}.ip", address, accepted)
    if mode is None:
        if address:
            yield required(f"{path}.ipMode", "must be specified when `ip` is set")
    elif not address:
        yield forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
    elif mode not in _IP_MODES:
        yield not_supported(f"{path}.ipMode", mode, _IP_MODES)
    if hostname:
        yield from formatted(hostname, f"{path}.hostname", texts.dns1123_subdomain)
        if parsed(hostname) is not None:
            yield invalid(f"{path}.hostname", hostname, "must be a DNS name, not an IP address")


RULES: Final = {("", "Service"): Rules(create=_create, update=_update, update_status=_update_status)}
