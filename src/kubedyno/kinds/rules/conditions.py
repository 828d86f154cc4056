"""Rules of lists of conditions in statuses."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.texts import byte_length, condition_reason, label_key
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_long

_STATUSES: Final = ("False", "True", "Unknown")
_REASON_LIMIT: Final = 1024
_MESSAGE_LIMIT: Final = 32 * 1024


def condition_problems(conditions: Sequence[Object] | None, path: str) -> Iterator[Problem]:
    """What is wrong with conditions of the common type."""
    seen: set[Any] = set()
    for index, condition in enumerate(conditions or ()):
        type_ = condition.get("type", "")
        if type_ in seen:
            yield duplicate(f"{path}[{index}].type", type_)
        seen.add(type_)
        yield from _one_problems(condition, f"{path}[{index}]")


def _one_problems(condition: Object, path: str) -> Iterator[Problem]:
    yield from formatted(condition.get("type", ""), f"{path}.type", label_key)
    if condition.get("status", "") not in _STATUSES:
        yield not_supported(f"{path}.status", condition.get("status", ""), _STATUSES)
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    reason = condition.get("reason", "")
    if not reason:
        yield required(f"{path}.reason")
    else:
        yield from formatted(reason, f"{path}.reason", condition_reason)
        if byte_length(reason) > _REASON_LIMIT:
            yield too_long(f"{path}.reason", _REASON_LIMIT)
    if byte_length(condition.get("message", "")) > _MESSAGE_LIMIT:
        yield too_long(f"{path}.message", _MESSAGE_LIMIT)
