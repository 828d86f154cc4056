"""Rules of the group networking.k8s.io: NetworkPolicy, Ingress and IngressClass."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.addresses import cidr_problems, parsed
from kubedyno.kinds.rules.domains import domain_prefixed_path_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import immutable
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kinds.rules.texts import (
    byte_length,
    dns1123_label,
    dns1123_subdomain,
    path_segment,
    port_name,
    port_number,
    wildcard_dns1123_subdomain,
)
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required, too_long

_GROUP: Final = "networking.k8s.io"
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_CONTROLLER_LIMIT: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


# --- NetworkPolicy --------------------------------------------------------------------------------------------


def _network_policy(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    yield from selector_problems(spec.get("podSelector") or {}, "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for place, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port(port, f"{path}.ports[{place}]")
            for place, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{path}.{peers}[{place}]")
    types = spec.get("policyTypes") or []
    if len(types) > len(_POLICY_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, type_ in enumerate(types):
        if type_ not in _POLICY_TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", type_, _POLICY_TYPES)


def _network_policy_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _network_policy(new)


def _policy_port(port: Object, path: str) -> Iterator[Problem]:
    if port.get("protocol") is not None and port["protocol"] not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
    number, end = port.get("port"), port.get("endPort")
    if number is None:
        if end is not None:
            yield invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(number, str):
        if end is not None:
            yield invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
        yield from formatted(number, f"{path}.port", port_name)
    else:
        for told in port_number(number):
            yield invalid(f"{path}.port", number, told)
        if end is not None:
            if end < number:
                yield invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
            for told in port_number(end):
                yield invalid(f"{path}.endPort", end, told)


def _peer(peer: Object, path: str) -> Iterator[Problem]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in given:
        if name != "ipBlock":
            yield from selector_problems(peer[name], f"{path}.{name}")
        elif not peer[name].get("cidr"):
            yield required(f"{path}.ipBlock.cidr")
        else:
            yield from cidr_problems(f"{path}.ipBlock.cidr", peer[name]["cidr"])
    if not given:
        yield required(path, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        yield forbidden(path, "may not specify both ipBlock and another peer")


# --- Ingress --------------------------------------------------------------------------------------------------


def _ingress(obj: Object) -> Iterator[Problem]:
    yield from _ingress_spec(obj.get("spec") or {})
    annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    class_name = (obj.get("spec") or {}).get("ingressClassName")
    if annotation is not None and class_name is not None and annotation != class_name:
        said = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, said)


def _ingress_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _ingress_spec(new.get("spec") or {})


def _ingress_spec(spec: Object) -> Iterator[Problem]:
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _ingress_rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(tls.get("hosts") or ()):
            yield from _host(host, f"spec.tls[{index}].hosts[{place}]")
        if tls.get("secretName"):
            yield from formatted(tls["secretName"], f"spec.tls[{index}].secretName", dns1123_subdomain)
    if spec.get("ingressClassName") is not None:
        yield from formatted(spec["ingressClassName"], "spec.ingressClassName", dns1123_subdomain)


def _host(host: str, path: str) -> Iterator[Problem]:
    return formatted(host, path, wildcard_dns1123_subdomain if "*" in host else dns1123_subdomain)


def _ingress_rule(rule: Object, path: str) -> Iterator[Problem]:
    host = rule.get("host", "")
    if host:
        if parsed(host) is not None:
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from _host(host, f"{path}.host")
    if rule.get("http") is None:
        return
    paths = rule["http"].get("paths") or ()
    if not paths:
        yield required(f"{path}.http.paths")
    for index, entry in enumerate(paths):
        yield from _ingress_path(entry, f"{path}.http.paths[{index}]")


def _ingress_path(entry: Object, path: str) -> Iterator[Problem]:
    type_, text = entry.get("pathType"), entry.get("path", "")
    if type_ is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if type_ not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", type_, _PATH_TYPES)
    elif not text.startswith("/") and (text or type_ != "ImplementationSpecific"):
        yield invalid(f"{path}.path", text, "must be an absolute path")
    if type_ in {"Exact", "Prefix"}:
        for sequence in _BAD_SEQUENCES:
            if sequence in text:
                yield invalid(f"{path}.path", text, f"must not contain '{sequence}'")
        for end in _BAD_ENDS:
            if text.endswith(end):
                yield invalid(f"{path}.path", text, f"cannot end with '{end}'")
    yield from _backend(entry.get("backend") or {}, f"{path}.backend")


def _backend(backend: Object, path: str) -> Iterator[Problem]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _typed_reference(resource, f"{path}.resource")
    elif service is None:
        yield invalid(path, "", "resource or service backend is required")
    else:
        if not service.get("name"):
            yield required(f"{path}.service.name")
        else:
            yield from formatted(service["name"], f"{path}.service.name", dns1123_label)
        yield from _service_port(service.get("port") or {}, path)


def _service_port(port: Object, path: str) -> Iterator[Problem]:
    name, number = port.get("name"), port.get("number")
    if name and number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from formatted(name, f"{path}.service.port.name", port_name)
    elif number:
        for told in port_number(number):
            yield invalid(f"{path}.service.port.number", number, told)
    else:
        yield required(path, "port name or number is required")


def _typed_reference(reference: Object, path: str) -> Iterator[Problem]:
    if reference.get("apiGroup") is not None:
        yield from formatted(reference["apiGroup"], f"{path}.apiGroup", dns1123_subdomain)
    for name in ("kind", "name"):
        if not reference.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from formatted(reference[name], f"{path}.{name}", path_segment)


# --- IngressClass ---------------------------------------------------------------------------------------------


def _ingress_class(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    controller = spec.get("controller", "")
    if byte_length(controller) > _CONTROLLER_LIMIT:
        yield too_long("spec.controller", _CONTROLLER_LIMIT)
    yield from domain_prefixed_path_problems(controller, "spec.controller")
    parameters, path = spec.get("parameters"), "spec.parameters"
    if parameters is None:
        return
    yield from _typed_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield required(f"{path}.scope")
    elif scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        yield from formatted(namespace, f"{path}.namespace", dns1123_label)


def _ingress_class_update(new: Object, old: Object) -> Iterator[Problem]:
    controller = (new.get("spec") or {}).get("controller", "")
    yield from immutable("spec.controller", controller, (old.get("spec") or {}).get("controller", ""))
    yield from _ingress_class(new)


RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "NetworkPolicy"): Rules(create=_network_policy, update=_network_policy_update),
    (_GROUP, "Ingress"): Rules(create=_ingress, update=_ingress_update),
    (_GROUP, "IngressClass"): Rules(create=_ingress_class, update=_ingress_class_update),
}
"""By group and kind."""
