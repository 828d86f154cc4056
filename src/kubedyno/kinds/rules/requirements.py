"""Rules of what containers and pods ask for: requests, limits, claims."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.amounts import (
    amount_problems,
    container_resource_name_problems,
    huge_pages_problems,
    is_huge_pages,
    may_overcommit,
    pod_resource_name_problems,
)
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_found, required
from kubedyno.kube.quantities import Quantity

NameCheck = Callable[[str, str], Iterable[Problem]]
Amounts = Mapping[str, str]


def container_requirement_problems(
    requirements: Mapping[str, Any], path: str, claim_names: Collection[str] = ()
) -> Iterator[Problem]:
    """The `resources` of a container; `claim_names` are those of the pod's resource claims."""
    yield from _requirement_problems(requirements, path, container_resource_name_problems)
    yield from _claim_problems(requirements.get("claims") or (), f"{path}.claims", claim_names)


def pod_requirement_problems(spec: Object, path: str, claim_names: Collection[str]) -> Iterator[Problem]:
    """The `resources` of a pod as a whole; `path` is that of the pod's spec."""
    requirements = spec.get("resources")
    if requirements is None:
        return
    at = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(at, "may not be set for a windows pod")
        return
    if requirements.get("claims") is not None:
        yield forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level")
    yield from _requirement_problems(requirements, at, pod_resource_name_problems)
    yield from _claim_problems(requirements.get("claims") or (), f"{at}.claims", claim_names)
    yield from _consistency_problems(spec, requirements, at)


def _requirement_problems(requirements: Mapping[str, Any], path: str, name_check: NameCheck) -> Iterator[Problem]:
    limits: Amounts = requirements.get("limits") or {}
    requests: Amounts = requirements.get("requests") or {}
    for name, amount in limits.items():
        at = f"{path}.limits[{name}]"
        yield from name_check(name, at)
        yield from amount_problems(name, amount, at)
        if is_huge_pages(name):
            yield from huge_pages_problems(name, amount, at)
    for name, amount in requests.items():
        at = f"{path}.requests[{name}]"
        yield from name_check(name, at)
        yield from amount_problems(name, amount, at)
        yield from _bound_problems(name, amount, limits.get(name), path)
        if is_huge_pages(name):
            yield from huge_pages_problems(name, amount, at)
    named = limits.keys() | requests.keys()
    if any(map(is_huge_pages, named)) and not named & {"cpu", "memory"}:
        yield forbidden(path, "HugePages require cpu or memory")


def _bound_problems(name: str, amount: str, limit: str | None, path: str) -> Iterator[Problem]:
    if limit is None:
        if not may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    asked, bound = Quantity.parse(amount), Quantity.parse(limit)
    if asked != bound and not may_overcommit(name):
        yield invalid(f"{path}.requests", str(asked), f"must be equal to {name} limit of {bound}")
    elif asked > bound:
        yield invalid(f"{path}.requests", str(asked), f"must be less than or equal to {name} limit of {bound}")


def _claim_problems(claims: Iterable[Object], path: str, claim_names: Collection[str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield required(at)
            continue
        if name in seen:
            yield duplicate(at, name)
        else:
            key = f"{name}/{request}" if request else name
            if request:
                yield from formatted(request, f"{at}.request", texts.dns1123_label)
            if key in seen:
                yield duplicate(at, key)
            elif not request:
                yield from (duplicate(at, name) for other in seen if other.startswith(f"{name}/"))
            seen.add(key)
        if name not in claim_names:
            yield _unknown_claim(at, name, claim_names)


def _unknown_claim(path: str, name: str, claim_names: Collection[str]) -> Problem:
    problem = not_found(path, name)
    known = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
    message = f"{problem.message}: must be one of the names in pod.spec.resourceClaims{known}"
    return msgspec.structs.replace(problem, message=message)


def _consistency_problems(spec: Object, requirements: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """What the containers ask for together must fit into what the pod asks for."""
    requests: Amounts = requirements.get("requests") or {}
    limits: Amounts = requirements.get("limits") or {}
    for name, total in _aggregated(spec, "requests").items():
        if name in requests and total > Quantity.parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            yield invalid(f"{path}.requests[{name}]", str(Quantity.parse(requests[name])), detail)
    for name, total in _aggregated(spec, "limits").items():
        if is_huge_pages(name) and name in limits and total > Quantity.parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            yield invalid(f"{path}.limits[{name}]", str(Quantity.parse(limits[name])), detail)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, written in ((container.get("resources") or {}).get("limits") or {}).items():
            limit = Quantity.parse(written)
            if name in limits and limit > (bound := Quantity.parse(limits[name])):
                at = f"{path}.containers[{index}][{name}].limits"
                yield invalid(at, str(limit), f"must be less than or equal to pod limits of {bound}")


def _aggregated(spec: Object, part: str) -> dict[str, Quantity]:
    """Requests or limits of all containers together, as the scheduler counts them."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, part))
    sidecars: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        needed = _amounts(container, part)
        if container.get("restartPolicy") == "Always":
            _add(total, needed)
            _add(sidecars, needed)
            needed = dict(sidecars)
        else:
            _add(needed, sidecars)
        _raise_to(largest, needed)
    _raise_to(total, largest)
    return total


def _amounts(container: Object, part: str) -> dict[str, Quantity]:
    written: Amounts = (container.get("resources") or {}).get(part) or {}
    return {name: Quantity.parse(amount) for name, amount in written.items()}


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
