"""Rules of how a pod wants to be spread over the cluster."""

from collections.abc import Iterator, Sequence
from typing import Final

from kubedyno.kinds.rules.affinity import label_keys_problems
from kubedyno.kinds.rules.fields import positive
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required

_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES: Final = ("Honor", "Ignore")


def spread_problems(constraints: Sequence[Object], path: str) -> Iterator[Problem]:
    """The `topologySpreadConstraints` of a pod."""
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        yield from positive(constraint.get("maxSkew"), f"{at}.maxSkew")
        key, action = _key_and_action(constraint)
        if not key:
            yield required(f"{at}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS)
        if (key, action) in map(_key_and_action, constraints[index + 1 :]):
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        yield from _domain_problems(constraint.get("minDomains"), action, f"{at}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := constraint.get(name)) is not None and policy not in _POLICIES:
                yield not_supported(f"{at}.{name}", policy, _POLICIES)
        yield from label_keys_problems(constraint, at)
        yield from selector_problems(constraint.get("labelSelector"), f"{at}.labelSelector")


def _key_and_action(constraint: Object) -> tuple[str, str]:
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")


def _domain_problems(domains: int | None, action: str, path: str) -> Iterator[Problem]:
    if domains is None:
        return
    yield from positive(domains, path)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid(path, domains, detail)
