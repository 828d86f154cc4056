"""Rules of limit ranges."""

from collections.abc import Iterator, Mapping
from typing import Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.amounts import container_resource_name_problems, may_overcommit, resource_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, required
from kubedyno.kube.quantities import Quantity

_TYPES: Final = {"Pod", "Container", "PersistentVolumeClaim"}
_REQUEST: Final = "defaultRequest"
# The lower one, the higher one, at which of them and with what value the problem is told.
_ORDERED: Final = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", _REQUEST, _REQUEST, _REQUEST, "min value {} is greater than default request value {}"),
    (_REQUEST, "max", _REQUEST, _REQUEST, "default request value {} is greater than max value {}"),
    (_REQUEST, "default", _REQUEST, _REQUEST, "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)
_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000

Amounts = Mapping[str, Mapping[str, Quantity]]


def _create(limit_range: Object) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, limit in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        at = f"spec.limits[{index}]"
        kind = limit.get("type", "")
        yield from _type_problems(kind, f"{at}.type")
        if kind in seen:
            yield duplicate(f"{at}.type", kind)
        seen.add(kind)
        yield from _limit_problems(limit, kind, at)


def _type_problems(kind: str, path: str) -> Iterator[Problem]:
    if wrong := list(formatted(kind, path, texts.label_key)):
        yield from wrong
    elif "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _limit_problems(limit: Object, kind: str, path: str) -> Iterator[Problem]:
    name_check = container_resource_name_problems if kind in {"Pod", "Container"} else resource_name_problems
    amounts: dict[str, dict[str, Quantity]] = {}
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        given: Mapping[str, str] = limit.get(part) or {}
        if kind == "Pod" and part in {"default", "defaultRequest"}:
            if given:
                yield forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            given = {}
        if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            yield from _storage_problems(amounts, path)
        for name in given:
            yield from name_check(name, f"{path}.{part}[{name}]")
        amounts[part] = {name: Quantity.parse(amount) for name, amount in given.items()}
    for name in dict.fromkeys(name for given in amounts.values() for name in given):
        yield from _amount_problems(name, amounts, path)


def _storage_problems(amounts: Amounts, path: str) -> Iterator[Problem]:
    if "storage" not in amounts["min"] and "storage" not in amounts["max"]:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", detail)


def _amount_problems(name: str, amounts: Amounts, path: str) -> Iterator[Problem]:
    for lower, higher, told_at, shown, detail in _ORDERED:
        low, high = amounts[lower].get(name), amounts[higher].get(name)
        if low is not None and high is not None and low > high:
            value = str(amounts[shown][name])
            yield invalid(f"{path}.{told_at}[{name}]", value, detail.format(low, high))
    yield from _ratio_problems(name, amounts, path)
    default, request = amounts["default"].get(name), amounts["defaultRequest"].get(name)
    if not may_overcommit(name) and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", str(request), detail)


def _ratio_problems(name: str, amounts: Amounts, path: str) -> Iterator[Problem]:
    ratio = amounts["maxLimitRequestRatio"].get(name)
    if ratio is None:
        return
    at = f"{path}.maxLimitRequestRatio[{name}]"
    if ratio < Quantity.parse("1"):
        yield invalid(at, str(ratio), f"ratio {ratio} is less than 1")
    low, high = amounts["min"].get(name), amounts["max"].get(name)
    if low is None or high is None or low.is_zero():
        return
    fine = all(amount.to_int() < _MAX_MILLI_VALUE for amount in (ratio, low, high))
    asked = ratio.milli() / 1000 if fine else float(ratio.to_int())
    largest = high.milli() / low.milli() if fine else high.to_int() / low.to_int()
    if asked > largest:
        yield invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {largest:f}")


def _update(new: Object, _old: Object) -> Iterator[Problem]:
    return _create(new)


RULES: Final = {("", "LimitRange"): Rules(create=_create, update=_update)}
