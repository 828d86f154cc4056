"""Rules of resource quotas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubedyno.kinds.rules.amounts import amount_problems, is_standard_of_quotas, quota_resource_name_problems
from kubedyno.kinds.rules.fields import IMMUTABLE
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required

_OF_PODS: Final = {
    "pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory",
}  # fmt: skip
# Which resources a scope can bound.
_SCOPES: Final[Mapping[str, set[str]]] = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": {"pods"},
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "VolumeAttributesClass": {"persistentvolumeclaims", "requests.storage"},
}
_EXISTING: Final = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONTRARY: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _amounts_problems(amounts: Mapping[str, str] | None, path: str) -> Iterator[Problem]:
    for name, amount in (amounts or {}).items():
        yield from quota_resource_name_problems(name, f"{path}[{name}]")
        yield from amount_problems(name, amount, f"{path}[{name}]")


def _spec_problems(spec: Object) -> Iterator[Problem]:
    hard = spec.get("hard") or {}
    yield from _amounts_problems(hard, "spec.hard")
    standard = [name for name in hard if is_standard_of_quotas(name)]
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for _ in range(_unfit(scope, standard)):
            yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _CONTRARY:
        if pair <= set(scopes):
            yield invalid("spec.scopes", scopes, "conflicting scopes")
    if (selector := spec.get("scopeSelector")) is not None:
        yield from _selector_problems(selector, spec, standard)


def _unfit(scope: str, names: Sequence[str]) -> int:
    """How many of the resources the scope cannot bound."""
    return sum(name not in _SCOPES.get(scope, names) for name in names)


def _selector_problems(selector: Object, spec: Object, standard: Sequence[str]) -> Iterator[Problem]:
    path = "spec.scopeSelector.matchExpressions"
    expressions = selector.get("matchExpressions") or ()
    shown = {"MatchExpressions": [_shown(expression) for expression in expressions] or None}
    for expression in expressions:
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        values = expression.get("values") or ()
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in range(_unfit(scope, standard)):
            yield invalid(path, shown, "unsupported scope applied to resource")
        if scope in _EXISTING and operator != "Exists":
            yield invalid(f"{path}.operator", operator, _MUST_EXIST)
        yield from _operator_problems(operator, values, path)
    scopes = {expression.get("scopeName", "") for expression in expressions}
    for pair in _CONTRARY:
        if pair <= scopes:
            # The server shows the other list of scopes here.
            yield invalid(path, spec.get("scopes"), "conflicting scopes")


def _operator_problems(operator: str, values: Sequence[str], path: str) -> Iterator[Problem]:
    if operator in {"In", "NotIn"}:
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{path}.values", detail)
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(f"{path}.values", values, detail)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _shown(expression: Object) -> Object:
    """A requirement as the server prints its own type."""
    texts = {name: expression.get(key, "") for name, key in (("ScopeName", "scopeName"), ("Operator", "operator"))}
    return {**texts, "Values": expression.get("values")}


def _status_problems(quota: Object) -> Iterator[Problem]:
    status = quota.get("status") or {}
    yield from _amounts_problems(status.get("hard"), "status.hard")
    yield from _amounts_problems(status.get("used"), "status.used")


def _create(quota: Object) -> Iterator[Problem]:
    yield from _spec_problems(quota.get("spec") or {})
    yield from _status_problems(quota)


def _update(new: Object, old: Object) -> Iterator[Problem]:
    spec = new.get("spec") or {}
    yield from _spec_problems(spec)
    scopes = spec.get("scopes")
    if set(scopes or ()) != set((old.get("spec") or {}).get("scopes") or ()):
        yield invalid("spec.scopes", scopes, IMMUTABLE)


def _update_status(new: Object, _old: Object) -> Iterator[Problem]:
    if not (new.get("metadata") or {}).get("resourceVersion"):
        yield required("resourceVersion")
    yield from _status_problems(new)


RULES: Final = {("", "ResourceQuota"): Rules(create=_create, update=_update, update_status=_update_status)}
