"""Rules of label selectors, wherever they occur in objects."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.fields import formatted, label_problems
from kubedyno.kinds.rules.texts import label_key, label_value
from kubedyno.kit.errors import UsageError
from kubedyno.kube.problems import Problem, forbidden, invalid, required
from kubedyno.kube.selectors import LabelSelector

_WITH_VALUES: Final = {"In", "NotIn"}
_WITHOUT_VALUES: Final = {"Exists", "DoesNotExist"}


def selector_problems(selector: Mapping[str, Any] | None, path: str, *, any_value: bool = False) -> Iterator[Problem]:
    """What is wrong with a label selector; an absent one is right.

    `any_value` forgives values that no label can have: the server does so on update where it once stored such.
    """
    if selector is None:
        return
    yield from label_problems(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        yield from _requirement_problems(requirement, f"{path}.matchExpressions[{index}]", any_value=any_value)


def _requirement_problems(requirement: Mapping[str, Any], path: str, *, any_value: bool) -> Iterator[Problem]:
    operator = requirement.get("operator", "")
    values = requirement.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES:
        if values:
            yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    yield from formatted(key, f"{path}.key", label_key)
    if not any_value:
        for index, value in enumerate(values):
            yield from formatted(value, f"{path}.values[{index}]", label_value)


def has_impossible_value(selector: Mapping[str, Any] | None) -> bool:
    """Whether an expression of the selector names a value that no label can have."""
    expressions = (selector or {}).get("matchExpressions") or ()
    return any(label_value(value) for entry in expressions for value in entry.get("values") or ())


def compiled(selector: Mapping[str, Any] | None) -> LabelSelector | None:
    """The selector to match with; None when it is wrong."""
    try:
        return LabelSelector.from_object(selector)
    except UsageError:
        return None


def is_empty(selector: Mapping[str, Any]) -> bool:
    """Whether the selector is there but selects by nothing."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
