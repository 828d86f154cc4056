"""Rules of the capacities of devices: how much of one may be asked for when several claims share it."""

import itertools
from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.device_lists import unique
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, required
from kubedyno.kube.quantities import Quantity

_MOST_OPTIONS: Final = 10


def capacity_problems(capacity: Object, path: str, *, shared: bool) -> Iterator[Problem]:
    """What is wrong with a capacity; a policy is only for devices that several claims may share."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    path = f"{path}.requestPolicy"
    if not shared:
        yield forbidden(path, "allowMultipleAllocations must be true")
        return
    values, bounds, default = policy.get("validValues") or [], policy.get("validRange"), policy.get("default")
    whole = Quantity.parse(capacity.get("value", "0"))
    if values and bounds is not None:
        said = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield forbidden(path, said)
    elif not values and bounds is None:
        return
    elif default is None:
        name = "validValues" if values else "validRange"
        yield required(f"{path}.default", f"required when {name} is defined")
    elif values:
        yield from _options(Quantity.parse(default), whole, [*map(Quantity.parse, values)], f"{path}.validValues")
    else:
        yield from _range(Quantity.parse(default), whole, bounds or {}, f"{path}.validRange")


def _options(default: Quantity, whole: Quantity, values: list[Quantity], path: str) -> Iterator[Problem]:
    for index, (value, following) in enumerate(itertools.pairwise(values)):
        if value > following:
            yield invalid(f"{path}[{index + 1}]", str(following), "values must be sorted in ascending order")

    def option(value: Quantity, at: str) -> Iterator[Problem]:
        if value > whole:
            yield invalid(at, str(value), f"option is larger than capacity value: {whole}")

    yield from unique(values, _MOST_OPTIONS, option, path, lambda value: str(value.to_int()))
    if default not in values or len(values) > _MOST_OPTIONS:
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(default: Quantity, whole: Quantity, bounds: Object, path: str) -> Iterator[Problem]:
    if bounds.get("min") is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    least = Quantity.parse(bounds["min"])
    most = None if bounds.get("max") is None else Quantity.parse(bounds["max"])
    if least > whole:
        yield invalid(f"{path}.min", str(least), f"min is larger than capacity value: {whole}")
    if default < least:
        yield invalid(f"{path}.min", str(default), f"default is less than min: {least}")
    if most is not None:
        if least > most:
            yield invalid(f"{path}.max", str(least), f"min is larger than max: {most}")
        if most > whole:
            yield invalid(f"{path}.max", str(most), f"max is larger than capacity value: {whole}")
        if default > most:
            yield invalid(f"{path}.max", str(default), f"default is more than max: {most}")
    if bounds.get("step") is not None:
        ends = [default] if most is None else [default, most]
        yield from _steps(Quantity.parse(bounds["step"]), least, whole, ends, f"{path}.step")


def _steps(step: Quantity, least: Quantity, whole: Quantity, ends: list[Quantity], path: str) -> Iterator[Problem]:
    first = least + step
    if first > whole:
        yield invalid(path, str(step), f"one step {first} is larger than capacity value: {whole}")
    for end in ends:
        if step.to_int() and (end.to_int() - least.to_int()) % step.to_int():
            yield invalid(path, str(end), f"value is not a multiple of a given step ({step}) from ({least})")
