"""Rules of the group autoscaling: HorizontalPodAutoscaler, whatever version it comes in."""

import re
from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.conversions.autoscalers import as_v2
from kubedyno.kinds.rules.amounts import container_resource_name_problems, nonnegative_amount
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.numbers import not_negative
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.texts import dns1123_label, path_segment
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required
from kubedyno.kube.quantities import Quantity

_LONGEST_PERIOD_S: Final = 1800
_LONGEST_WINDOW_S: Final = 3600
_SELECTIONS: Final = ("Disabled", "Max", "Min")
_POLICIES: Final = ("Percent", "Pods")
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TARGETS: Final = ("Utilization", "Value", "AverageValue")


def _as_v2(obj: Object) -> Object:
    return as_v2(obj) if obj.get("apiVersion") == "autoscaling/v1" else obj


def _autoscaler(obj: Object) -> Iterator[Problem]:
    return _spec(_as_v2(obj).get("spec") or {}, None)


def _autoscaler_update(new: Object, old: Object) -> Iterator[Problem]:
    return _spec(_as_v2(new).get("spec") or {}, _as_v2(old).get("spec") or {})


def _autoscaler_status(new: Object, _old: Object) -> Iterator[Problem]:
    return not_negative(new.get("status") or {}, "status", "currentReplicas", "desiredReplicas")


def _spec(spec: Object, before: Object | None) -> Iterator[Problem]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    bound = 0 if before is not None and before.get("minReplicas") == 0 else 1
    if least is not None and least < bound:
        yield invalid("spec.minReplicas", least, f"must be greater than or equal to {bound}")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target, former = spec.get("scaleTargetRef") or {}, (before or {}).get("scaleTargetRef") or {}
    known = before is not None and all(target.get(name) == former.get(name) for name in ("apiVersion", "kind"))
    core = target.get("kind") == "ReplicationController"
    yield from _reference(target, "spec.scaleTargetRef", any_version=known, any_group=core)
    yield from _metrics(spec, least)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            yield from _scaling_rules(rules, f"spec.behavior.{name}")


def _reference(reference: Object, path: str, *, any_version: bool, any_group: bool) -> Iterator[Problem]:
    for name in ("kind", "name"):
        if not reference.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from formatted(reference[name], f"{path}.{name}", path_segment)
    version = reference.get("apiVersion", "")
    if any_version:
        return
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif not any_group and not re.match("[^/]+/", version):
        yield invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


# --- metrics --------------------------------------------------------------------------------------------------


def _metrics(spec: Object, least: int | None) -> Iterator[Problem]:
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in {"Object", "External"} for metric in metrics):
        said = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", said)


def _metric(metric: Object, path: str) -> Iterator[Problem]:
    type_ = metric.get("type", "")
    if not type_:
        yield required(f"{path}.type", "must specify a metric source type")
    if type_ not in _SOURCES:
        yield not_supported(f"{path}.type", type_, sorted(_SOURCES))
    given = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if given:
        yield from _source(given[0], metric[given[0]], f"{path}.{given[0]}")
    if type_ not in _SOURCES:
        yield not_supported(f"{path}.type", type_, sorted(_SOURCES))
    elif _SOURCES[type_] not in given:
        yield required(f"{path}.{_SOURCES[type_]}", "must populate information for the given metric source")
    if len(given) != 1:
        for name in sorted(given):
            if name != _SOURCES.get(type_):
                yield forbidden(f"{path}.{name}", "must populate the given metric source only")


def _source(kind: str, source: Object, path: str) -> Iterator[Problem]:
    target = source.get("target") or {}
    value, average = target.get("value"), target.get("averageValue")
    if kind in {"resource", "containerResource"}:
        yield from _resource_source(kind, source, path)
        return
    if kind == "object":
        described = source.get("describedObject") or {}
        yield from _reference(described, f"{path}.describedObject", any_version=False, any_group=True)
    name = (source.get("metric") or {}).get("name", "")
    if not name:
        yield required(f"{path}.metric.name", "must specify a metric name")
    else:
        yield from formatted(name, f"{path}.metric.name", path_segment)
    yield from _target(target, f"{path}.target")
    if kind == "pods":
        if average is None:
            yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")
    elif value is None and average is None:
        said = "must set either a target value or averageValue"
        if kind == "external":
            said = "must set either a target value for metric or a per-pod target"
        yield required(f"{path}.target.averageValue", said)
    elif kind == "external" and value is not None and average is not None:
        said = "may not set both a target value for metric and a per-pod target"
        yield forbidden(f"{path}.target.value", said)


def _resource_source(kind: str, source: Object, path: str) -> Iterator[Problem]:
    name, container = source.get("name", ""), source.get("container", "")
    if not name:
        yield required(f"{path}.name", "must specify a resource name")
    elif kind == "containerResource":
        yield from container_resource_name_problems(name, f"{path}.name")
    if kind == "containerResource":
        if not container:
            yield required(f"{path}.container", "must specify a container")
        else:
            yield from formatted(container, f"{path}.container", dns1123_label)
    target = source.get("target") or {}
    yield from _target(target, f"{path}.target")
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        said = "must set either a target raw value or a target utilization"
        yield required(f"{path}.target.averageUtilization", said)
    elif utilization is not None and average is not None:
        said = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.target.averageValue", said)


def _target(target: Object, path: str) -> Iterator[Problem]:
    type_ = target.get("type", "")
    if not type_:
        yield required(f"{path}.type", "must specify a metric target type")
    if type_ not in _TARGETS:
        yield invalid(f"{path}.type", type_, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and Quantity.parse(target[name]).nanos <= 0:
            yield invalid(f"{path}.{name}", str(Quantity.parse(target[name])), "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


# --- behaviour ------------------------------------------------------------------------------------------------


def _scaling_rules(rules: Object, path: str) -> Iterator[Problem]:
    window, selection = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        yield invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW_S:
        said = f"must be less than or equal to {_LONGEST_WINDOW_S}"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, said)
    if selection is not None and selection not in _SELECTIONS:
        yield not_supported(f"{path}.selectPolicy", selection, _SELECTIONS)
    policies = rules.get("policies") or ()
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        yield from _scaling_policy(policy, f"{path}.policies[{index}]")
    if rules.get("tolerance") is not None:
        yield from nonnegative_amount(rules["tolerance"], f"{path}.tolerance")


def _scaling_policy(policy: Object, path: str) -> Iterator[Problem]:
    if policy.get("type", "") not in _POLICIES:
        yield not_supported(f"{path}.type", policy.get("type", ""), _POLICIES)
    value, period = policy.get("value", 0), policy.get("periodSeconds", 0)
    if value <= 0:
        yield invalid(f"{path}.value", value, "must be greater than zero")
    if period <= 0:
        yield invalid(f"{path}.periodSeconds", period, "must be greater than zero")
    if period > _LONGEST_PERIOD_S:
        yield invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_LONGEST_PERIOD_S}")


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): Rules(
        create=_autoscaler, update=_autoscaler_update, update_status=_autoscaler_status
    ),
}
"""By group and kind."""
