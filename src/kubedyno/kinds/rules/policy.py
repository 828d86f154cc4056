"""Rules of the group policy: PodDisruptionBudget."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.conditions import condition_problems
from kubedyno.kinds.rules.internals import internal, invalid_printed
from kubedyno.kinds.rules.numbers import count_or_percent, not_above_all, not_negative
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import has_impossible_value, selector_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, not_supported

_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")


def _budget(obj: Object) -> Iterator[Problem]:
    return _budget_spec(obj.get("spec") or {}, any_value=False)


def _budget_update(new: Object, old: Object) -> Iterator[Problem]:
    before = (old.get("spec") or {}).get("selector")
    return _budget_spec(new.get("spec") or {}, any_value=has_impossible_value(before))


def _budget_spec(spec: Object, *, any_value: bool) -> Iterator[Problem]:
    bounds = [name for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    if len(bounds) > 1:
        printed = internal("policy.PodDisruptionBudgetSpec", spec)
        yield invalid_printed("spec", printed, "minAvailable and maxUnavailable cannot be both set")
    for name in bounds:
        yield from count_or_percent(spec[name], f"spec.{name}")
        yield from not_above_all(spec[name], f"spec.{name}")
    yield from selector_problems(spec.get("selector"), "spec.selector", any_value=any_value)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)


def _budget_status(new: Object, _old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from condition_problems(status.get("conditions"), "status.conditions")
    yield from not_negative(status, "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("policy", "PodDisruptionBudget"): Rules(create=_budget, update=_budget_update, update_status=_budget_status),
}
"""By group and kind."""
