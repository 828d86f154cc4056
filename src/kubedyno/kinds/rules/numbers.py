"""Rules of numbers in objects: counts that are not negative, and counts that may be a share in percent."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.fields import NOT_NEGATIVE, formatted
from kubedyno.kinds.rules.texts import percent
from kubedyno.kube.problems import Problem, invalid

_ALL_PERCENT: Final = 100
MORE_THAN_REPLICAS: Final = "cannot be greater than status.replicas"
"""What is said of a count of pods in a status."""


def not_negative(fields: Mapping[str, Any], path: str, *names: str) -> Iterator[Problem]:
    """A problem for each of the named fields that is there and negative."""
    for name in names:
        value = fields.get(name)
        if value is not None and value < 0:
            yield invalid(f"{path}.{name}" if path else name, value, NOT_NEGATIVE)


def not_above(fields: Mapping[str, Any], path: str, bound: str, said: str, *names: str) -> Iterator[Problem]:
    """A problem for each of the named counts that is above the count `bound`; an absent one is 0."""
    for name in names:
        value = fields.get(name) or 0
        if value > (fields.get(bound) or 0):
            yield invalid(f"{path}.{name}", value, said)


def not_decremented(new: Mapping[str, Any], old: Mapping[str, Any], path: str, name: str) -> Iterator[Problem]:
    """A problem when a count that only grows has shrunk or gone."""
    before, now = old.get(name), new.get(name)
    if before is not None and (now is None or now < before):
        yield invalid(f"{path}.{name}", now or 0, "cannot be decremented")


def count_or_percent(value: int | str, path: str) -> Iterator[Problem]:
    """A count that is not negative, or a text like `5%`."""
    if isinstance(value, str):
        yield from formatted(value, path, percent)
    elif value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def share(value: int | str | None) -> int:
    """The number before the percent sign, or the count; a text that is neither counts as Go reads it, or as 0."""
    if isinstance(value, str):
        match = re.fullmatch(r"([+-]?[0-9]+)%?", value)
        return int(match[1]) if match else 0
    return value or 0


def not_above_all(value: int | str, path: str) -> Iterator[Problem]:
    """A share of more than 100% is one too many."""
    if isinstance(value, str) and not percent(value) and share(value) > _ALL_PERCENT:
        yield invalid(path, value, "must not be greater than 100%")
