"""Metrics of autoscalers in the words of autoscaling/v2, and in those of v1, which keeps them in annotations.

The shapes of v1 are tables: where a field of v1 stands in v2, in the order in which Go writes them.
"""

from typing import Any, Final

import msgspec

from kubedyno.kube.codec import Object


class _Field(msgspec.Struct, frozen=True):
    """A field of v1 and its path in v2; one without a `zero` is left out when it is absent."""

    name: str
    path: tuple[str, ...]
    zero: Any = None


def _fields(*rows: str) -> tuple[_Field, ...]:
    """Rows read `v1Name v2.path [zero]`."""
    fields = []
    for row in rows:
        name, path, *zero = row.split()
        fields.append(_Field(name, tuple(path.split(".")), zero[0] if zero else None))
    return tuple(fields)


_SOURCES: Final = {
    "object": _fields(
        "target describedObject",
        "metricName metric.name",
        "targetValue target.value 0",
        "selector metric.selector",
        "averageValue target.averageValue",
    ),
    "pods": _fields("metricName metric.name", "targetAverageValue target.averageValue 0", "selector metric.selector"),
    "resource": _fields(
        "name name", "targetAverageUtilization target.averageUtilization", "targetAverageValue target.averageValue"
    ),
    "containerResource": _fields(
        "name name",
        "targetAverageUtilization target.averageUtilization",
        "targetAverageValue target.averageValue",
        "container container",
    ),
    "external": _fields(
        "metricName metric.name",
        "metricSelector metric.selector",
        "targetValue target.value",
        "targetAverageValue target.averageValue",
    ),
}
_STATUSES: Final = {
    "object": _fields(
        "target describedObject",
        "metricName metric.name",
        "currentValue current.value 0",
        "selector metric.selector",
        "averageValue current.averageValue",
    ),
    "pods": _fields("metricName metric.name", "currentAverageValue current.averageValue 0", "selector metric.selector"),
    "resource": _fields(
        "name name",
        "currentAverageUtilization current.averageUtilization",
        "currentAverageValue current.averageValue 0",
    ),
    "containerResource": _fields(
        "name name",
        "currentAverageUtilization current.averageUtilization",
        "currentAverageValue current.averageValue 0",
        "container container",
    ),
    "external": _fields(
        "metricName metric.name",
        "metricSelector metric.selector",
        "currentValue current.value 0",
        "currentAverageValue current.averageValue",
    ),
}


def sources_as_v1(metrics: list[Object]) -> list[Object]:
    """What an autoscaler looks at, in the words of v1."""
    return [_as_v1(metric, _SOURCES) for metric in metrics]


def statuses_as_v1(metrics: list[Object]) -> list[Object]:
    """What an autoscaler saw, in the words of v1."""
    return [_as_v1(metric, _STATUSES) for metric in metrics]


def sources_as_v2(metrics: list[Object]) -> list[Object]:
    """The reverse; the type of each target follows from what is given."""
    found = [_as_v2(metric, _SOURCES) for metric in metrics]
    for metric in found:
        for kind in _SOURCES.keys() & metric.keys():
            _type_target(kind, metric[kind].setdefault("target", {}))
    return found


def statuses_as_v2(metrics: list[Object]) -> list[Object]:
    """The reverse of `statuses_as_v1`."""
    return [_as_v2(metric, _STATUSES) for metric in metrics]


def _type_target(kind: str, target: Object) -> None:
    if kind in {"resource", "containerResource"}:
        target["type"] = "AverageValue" if target.get("averageUtilization") is None else "Utilization"
    elif kind == "pods":
        target["type"] = "AverageValue"
    elif kind == "external":
        target["type"] = "AverageValue" if target.get("value") is None else "Value"
    elif target.get("averageValue") is None:
        target["type"] = "Value"
    else:
        target["type"] = "AverageValue"
        # Version 1 cannot leave the value out.
        if target.get("value") == "0":
            del target["value"]


def _as_v1(metric: Object, shapes: dict[str, tuple[_Field, ...]]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for kind, fields in shapes.items():
        if metric.get(kind) is None:
            continue
        source: Object = {}
        for field in fields:
            value: Any = metric[kind]
            for step in field.path:
                value = (value or {}).get(step)
            if value is None:
                value = field.zero
            if value is not None:
                source[field.name] = _in_go_order(value)
        found[kind] = source
    return found


def _in_go_order(value: Any) -> Any:
    """References and selectors with their fields in the order in which the annotation has them."""
    if not isinstance(value, dict):
        return value
    found = {name: value[name] for name in ("kind", "name", "apiVersion") if name in value}
    if value.get("matchLabels"):
        found["matchLabels"] = dict(sorted(value["matchLabels"].items()))
    if value.get("matchExpressions"):
        found["matchExpressions"] = [
            {name: entry[name] for name in ("key", "operator", "values") if entry.get(name)}
            for entry in value["matchExpressions"]
        ]
    return found


def _as_v2(metric: Object, shapes: dict[str, tuple[_Field, ...]]) -> Object:
    found: Object = {"type": metric.get("type", "")}
    for kind, fields in shapes.items():
        if metric.get(kind) is None:
            continue
        source: Object = {}
        for field in fields:
            value = metric[kind].get(field.name, field.zero)
            if value is None:
                continue
            holder = source
            for step in field.path[:-1]:
                holder = holder.setdefault(step, {})
            holder[field.path[-1]] = value
        found[kind] = source
    return found
