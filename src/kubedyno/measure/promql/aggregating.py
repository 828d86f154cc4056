"""Aggregations: a vector put together by labels."""

import math
from collections.abc import Callable, Iterator
from typing import Final

from kubedyno.kube.gotemplate.floats import float_text
from kubedyno.measure.promql.nodes import Aggregate
from kubedyno.measure.promql.problems import Misfit
from kubedyno.measure.promql.quantiles import quantile
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector, identity, total, variance


def _largest(values: list[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _smallest(values: list[float]) -> float:
    return min((value for value in values if not math.isnan(value)), default=math.nan)


_SUMMARIES: Final[dict[str, Callable[[list[float]], float]]] = {
    "sum": total,
    "min": _smallest,
    "max": _largest,
    "avg": lambda values: total(values) / len(values),
    "count": lambda values: float(len(values)),
    "group": lambda _: 1.0,
    "stddev": lambda values: math.sqrt(variance(values)),
    "stdvar": variance,
}


def aggregated(node: Aggregate, vector: Vector, parameter: float | str | None) -> Vector:
    """The vector of an aggregation, groups in the order in which they appear first."""
    if isinstance(parameter, str):
        counted = tuple(Sample({**sample.labels, parameter: _written(sample.value)}, 1.0) for sample in vector)
        labels = node.labels if node.without else (*node.labels, parameter)
        return tuple(
            Sample(group, float(len(members))) for group, members in _groups(counted, labels, without=node.without)
        )
    groups = _groups(vector, node.labels, without=node.without)
    if parameter is None:
        summary = _SUMMARIES[node.operator]
        return tuple(Sample(group, summary([member.value for member in members])) for group, members in groups)
    if node.operator == "quantile":
        return tuple(
            Sample(group, quantile(parameter, [member.value for member in members])) for group, members in groups
        )
    return tuple(sample for _, members in groups for sample in _first(node.operator, members, parameter))


def _groups(vector: Vector, names: tuple[str, ...], *, without: bool) -> Iterator[tuple[Labels, list[Sample]]]:
    found: dict[frozenset[tuple[str, str]], tuple[Labels, list[Sample]]] = {}
    left_out = {*names, NAME}
    for sample in vector:
        labels = sample.labels
        if without:
            group = {name: value for name, value in labels.items() if name not in left_out}
        else:
            group = {name: labels[name] for name in names if name in labels}
        found.setdefault(identity(group), (group, []))[1].append(sample)
    yield from found.values()


def _first(operator: str, members: list[Sample], count: float) -> list[Sample]:
    """The largest or the smallest ones with all their labels, in order; NaN only where there is nothing else."""
    if math.isnan(count):
        raise Misfit(f"{operator!r} cannot choose NaN elements: its first argument must be a number")
    sign = -1.0 if operator == "topk" else 1.0
    ordered = sorted(members, key=lambda sample: (math.isnan(sample.value), sign * sample.value))
    return ordered[: int(max(0.0, min(count, len(ordered))))]


def _written(value: float) -> str:
    """A value as a label: without an exponent, in as few digits as tell it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return ("-" if math.copysign(1.0, value) < 0 else "") + float_text(abs(value), "f", None)
