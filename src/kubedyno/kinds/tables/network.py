"""Rows of services, endpoints, ingresses and addresses."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.tables.printing import (
    AGE,
    NAME,
    at,
    columns,
    first_few,
    given,
    labels,
    listed,
    name,
    printer,
    selector,
    text,
)
from kubedyno.kube.codec import Object

_SHOWN = 3
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _cluster_ip(service: Object, _now_ns: int) -> str:
    ips = at(service, "spec.clusterIPs") or ()
    return ips[0] if ips else "<none>"


def _external_ip(service: Object, _now_ns: int) -> str:
    type_, external = at(service, "spec.type"), at(service, "spec.externalIPs") or []
    if type_ in {"ClusterIP", "NodePort"}:
        return ",".join(external) or "<none>"
    if type_ == "LoadBalancer":
        return ",".join([*_load_balancer(service), *external]) or "<pending>"
    return (at(service, "spec.externalName") or "") if type_ == "ExternalName" else "<unknown>"


def _load_balancer(obj: Object) -> list[str]:
    """Where a load balancer listens."""
    found = {entry.get("ip") or entry.get("hostname") or "" for entry in at(obj, "status.loadBalancer.ingress") or ()}
    return sorted(found - {""})


def _ports(service: Object, _now_ns: int) -> str:
    return ",".join(map(_port, at(service, "spec.ports") or ())) or "<none>"


def _port(port: Mapping[str, Any]) -> str:
    through = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{through}/{port.get('protocol') or ''}"


def _endpoints(obj: Object, _now_ns: int) -> str:
    if not obj.get("subsets"):
        return "<none>"
    found: list[str] = []
    for subset in obj["subsets"]:
        addresses = [entry.get("ip") or "" for entry in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            found += addresses
        for port in ports or ():
            found += [f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses]
    return first_few(found, _SHOWN, len(found))


def _few_or_unset(found: Iterable[str]) -> str:
    texts = list(found)
    return first_few(texts, _SHOWN, len(texts)) or "<unset>"


def _slice_ports(obj: Object, _now_ns: int) -> str:
    return _few_or_unset(_slice_port(port) for port in obj.get("ports") or ())


def _slice_port(port: Mapping[str, Any]) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    found = port.get("name")
    return "*" if found is None else found


def _slice_endpoints(obj: Object, _now_ns: int) -> str:
    return _few_or_unset(
        address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()
    )


def _hosts(ingress: Object, _now_ns: int) -> str:
    rules = at(ingress, "spec.rules") or ()
    hosts: list[str] = []
    for index, rule in enumerate(rules):
        if len(hosts) == _SHOWN:
            # The rules without a host count too, as in the original.
            return f"{','.join(hosts)} + {len(rules) - _SHOWN} more..." if index < len(rules) else ",".join(hosts)
        hosts += [rule["host"]] if rule.get("host") else []
    return ",".join(hosts) or "*"


def _address(ingress: Object, _now_ns: int) -> str:
    return ",".join(_load_balancer(ingress))


def _ingress_ports(ingress: Object, _now_ns: int) -> str:
    return "80, 443" if at(ingress, "spec.tls") else "80"


def _class_name(obj: Object, now_ns: int) -> str:
    is_default = (at(obj, "metadata.annotations") or {}).get(_DEFAULT_CLASS) == "true"
    return f"{name(obj, now_ns)} (default)" if is_default else name(obj, now_ns)


def _parameters(obj: Object, _now_ns: int) -> str:
    found = at(obj, "spec.parameters")
    if found is None:
        return "<none>"
    kind = f"{found['kind']}.{found['apiGroup']}" if found.get("apiGroup") is not None else found["kind"]
    return f"{kind}/{found['name']}"


def _parent(address: Object, _now_ns: int) -> str:
    parent = at(address, "spec.parentRef")
    if parent is None:
        return "<none>"
    resource = (parent.get("resource") or "").lower()
    kind = f"{resource}.{parent['group'].lower()}" if parent.get("group") else resource
    return "/".join(filter(None, (kind, parent.get("namespace"), parent.get("name"))))


PRINTERS = {
    "services": printer(
        NAME,
        ("Type", text("spec.type")),
        ("Cluster-IP", _cluster_ip),
        ("External-IP", _external_ip),
        ("Port(s)", _ports),
        AGE,
        ("Selector+", labels("spec.selector")),
    ),
    "endpoints": printer(NAME, ("Endpoints", _endpoints), AGE),
    "endpointslices.discovery.k8s.io": printer(
        NAME, ("AddressType", text("addressType")), ("Ports", _slice_ports), ("Endpoints", _slice_endpoints), AGE
    ),
    "ingresses.networking.k8s.io": printer(
        NAME,
        ("Class", given("spec.ingressClassName", "<none>")),
        ("Hosts", _hosts),
        ("Address", _address),
        ("Ports", _ingress_ports),
        AGE,
    ),
    "ingressclasses.networking.k8s.io": printer(
        ("Name", _class_name), ("Controller", text("spec.controller")), ("Parameters", _parameters), AGE
    ),
    "networkpolicies.networking.k8s.io": printer(NAME, ("Pod-Selector", selector("spec.podSelector")), AGE),
    # The server tells the age of an address too, but no column for it.
    "ipaddresses.networking.k8s.io": msgspec.structs.replace(
        printer(NAME, ("ParentRef", _parent), AGE), columns=columns("Name", "ParentRef")
    ),
    "servicecidrs.networking.k8s.io": printer(NAME, ("CIDRs", listed("spec.cidrs")), AGE),
}
