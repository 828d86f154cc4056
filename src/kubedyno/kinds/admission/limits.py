"""LimitRanger: containers get the defaults of their namespace, and stay within its bounds."""

from collections.abc import Iterator, Mapping

from kubedyno.kinds.admission import totals
from kubedyno.kinds.admission.attributes import Asked, aggregated, forbidden
from kubedyno.kinds.admission.totals import Amounts
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import by_kind

_RANGES = by_kind("v1", "LimitRange")
_ANNOTATION = "kubernetes.io/limit-ranger"
_GROUPS = (("containers", "container"), ("initContainers", "init container"))


def admit_limits(pod: Object, request: Asked) -> None:
    """Write the default requests and limits into a new pod's containers; `spec` is replaced."""
    for limit_range in request.lookup.list(_RANGES, request.namespace):
        defaults: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
        for limit in _limits(limit_range, "Container"):
            defaults["limits"].update(limit.get("default") or {})
            defaults["requests"].update(limit.get("defaultRequest") or {})
        if defaults["limits"] or defaults["requests"]:
            _apply_defaults(pod, defaults)


def _apply_defaults(pod: Object, defaults: Mapping[str, Mapping[str, str]]) -> None:
    spec = dict(pod["spec"])
    told = []
    for group, word in _GROUPS:
        if not spec.get(group):
            continue
        containers = []
        for container in spec[group]:
            resources = dict(container.get("resources") or {})
            for kind, what in (("requests", "request"), ("limits", "limit")):
                amounts = resources.get(kind) or {}
                added = {name: amount for name, amount in defaults[kind].items() if name not in amounts}
                if added:
                    resources[kind] = {**amounts, **added}
                    told.append(f"{', '.join(sorted(added))} {what} for {word} {container['name']}")
            containers.append({**container, "resources": resources})
        spec[group] = containers
    if told:
        pod["spec"] = spec
        metadata = pod["metadata"]
        said = f"LimitRanger plugin set: {'; '.join(told)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: said}


def check_pod_limits(pod: Object, request: Asked) -> None:
    """Refuse a pod or a container out of the bounds of its namespace."""
    for limit_range in request.lookup.list(_RANGES, request.namespace):
        said: list[str] = []
        for limit in (limit_range.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                for group, _ in _GROUPS:
                    for container in pod["spec"].get(group) or ():
                        resources = container.get("resources") or {}
                        requests, limits = totals.parsed(resources.get("requests")), resources.get("limits")
                        said += _violations(limit, requests, totals.parsed(limits))
            elif limit.get("type") == "Pod":
                requests, most = totals.without_overhead(pod, "requests"), totals.without_overhead(pod, "limits")
                said += _violations(limit, requests, most)
        if said:
            raise forbidden(request, aggregated(said))


def check_claim_limits(claim: Object, request: Asked) -> None:
    """Refuse a claim on more or less storage than its namespace allows."""
    for limit_range in request.lookup.list(_RANGES, request.namespace):
        requests = totals.parsed((claim["spec"].get("resources") or {}).get("requests"))
        said: list[str] = []
        for limit in _limits(limit_range, "PersistentVolumeClaim"):
            said += _minimum(limit, requests, {})
            for name, most in totals.parsed(limit.get("max")).items():
                usage = f"maximum {name} usage per PersistentVolumeClaim is {most}"
                if name not in requests:
                    said.append(f"{usage}.  No request is specified")
                elif requests[name].milli() > most.milli():
                    said.append(f"{usage}, but request is {requests[name]}")
        if said:
            raise forbidden(request, aggregated(said))


def _limits(limit_range: Object, type_: str) -> Iterator[Object]:
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == type_:
            yield limit


def _violations(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _minimum(limit, requests, limits)
    yield from _maximum(limit, requests, limits)
    for name, most in totals.parsed(limit.get("maxLimitRequestRatio")).items():
        yield from _ratio(
            f"{name} max limit to request ratio per {limit['type']} is {most}", name, most, requests, limits
        )


def _minimum(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in totals.parsed(limit.get("min")).items():
        usage = f"minimum {name} usage per {limit['type']} is {least}"
        if name not in requests:
            yield f"{usage}.  No request is specified"
        elif requests[name].milli() < least.milli():
            yield f"{usage}, but request is {requests[name]}"
        elif name in limits and limits[name].milli() < least.milli():
            yield f"{usage}, but limit is {limits[name]}"


def _maximum(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, most in totals.parsed(limit.get("max")).items():
        usage = f"maximum {name} usage per {limit['type']} is {most}"
        if name not in limits:
            yield f"{usage}.  No limit is specified"
        elif limits[name].milli() > most.milli():
            yield f"{usage}, but limit is {limits[name]}"
        elif name in requests and requests[name].milli() > most.milli():
            yield f"{usage}, but request is {requests[name]}"


def _ratio(told: str, name: str, most: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    if name not in requests or requests[name].is_zero():
        yield f"{told}, but no request is specified or request is 0"
    elif name not in limits or limits[name].is_zero():
        yield f"{told}, but no limit is specified or limit is 0"
    else:
        ratio = limits[name].milli() / requests[name].milli()
        if ratio * 1000 > most.milli():
            yield f"{told}, but provided ratio is {ratio:f}"
