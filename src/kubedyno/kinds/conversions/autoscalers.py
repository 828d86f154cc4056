"""HorizontalPodAutoscalers of autoscaling/v1 and v2: what v1 cannot say is kept in annotations."""

from typing import Any, Final

import msgspec

from kubedyno.kinds.conversions.metrics import sources_as_v1, sources_as_v2, statuses_as_v1, statuses_as_v2
from kubedyno.kube.codec import Object

_PREFIX: Final = "autoscaling.alpha.kubernetes.io"
_METRICS: Final = f"{_PREFIX}/metrics"
_CURRENT: Final = f"{_PREFIX}/current-metrics"
_BEHAVIOR: Final = f"{_PREFIX}/behavior"
_CONDITIONS: Final = f"{_PREFIX}/conditions"
_OURS: Final = frozenset(
    {
        _METRICS,
        _CURRENT,
        _BEHAVIOR,
        _CONDITIONS,
        f"{_PREFIX}/scale-down-tolerance",
        f"{_PREFIX}/scale-up-tolerance",
    }
)
_DEFAULT_CPU_PERCENT: Final = 80
_SHARED_SPEC: Final = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_CONDITION_ORDER: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_RULE_NAMES: Final = (
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
)
_POLICY_NAMES: Final = (("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds"))


def _encoded(value: Any) -> str:
    """JSON as Go writes it, with the signs that HTML is afraid of escaped."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cpu(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _cpu_percent(metric: Object, part: str) -> int | None:
    """The utilisation of CPU that a metric aims at (`target`) or saw (`current`), if it is of that."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get(part) or {}).get("averageUtilization")
    return found


def as_v1(obj: Object) -> Object:
    """An autoscaler of v2 as one of v1."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    annotations = _without_ours(obj)
    others = [metric for metric in metrics if _cpu_percent(metric, "target") is None]
    if others:
        annotations[_METRICS] = _encoded(sources_as_v1(others))
    if current:
        annotations[_CURRENT] = _encoded(statuses_as_v1(current))
    if spec.get("behavior") is not None:
        annotations[_BEHAVIOR] = _encoded(_behavior_as_internal(spec["behavior"]))
    if status.get("conditions"):
        annotations[_CONDITIONS] = _encoded([_condition(entry) for entry in status["conditions"]])
    new_spec = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    new_status = {"currentReplicas": 0, "desiredReplicas": 0}
    new_status |= {name: status[name] for name in _SHARED_STATUS if name in status}
    aims = [percent for metric in metrics if (percent := _cpu_percent(metric, "target")) is not None]
    if aims:
        new_spec["targetCPUUtilizationPercentage"] = aims[0]
    seen = [percent for metric in current if (percent := _cpu_percent(metric, "current")) is not None]
    if seen:
        new_status["currentCPUUtilizationPercentage"] = seen[-1]
    return {**obj, "metadata": _annotated(obj, annotations), "spec": new_spec, "status": new_status}


def as_v2(obj: Object) -> Object:
    """An autoscaler of v1 as one of v2; annotations that cannot be read are dropped."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    given = (obj.get("metadata") or {}).get("annotations") or {}
    new_spec = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    # Version 2 leaves out the one count when it is zero, and never the other.
    new_status: Object = {"desiredReplicas": 0}
    new_status |= {name: status[name] for name in _SHARED_STATUS if status.get(name)}
    percent = spec.get("targetCPUUtilizationPercentage")
    own = [_cpu(percent)] if percent is not None else []
    others = _decoded(given.get(_METRICS), list)
    metrics = [*sources_as_v2(others or []), *own]
    new_spec["metrics"] = metrics or [_cpu(_DEFAULT_CPU_PERCENT)]
    behavior = _behavior_as_v2(_decoded(given.get(_BEHAVIOR), dict) or {})
    if behavior:
        new_spec["behavior"] = behavior
    current = _decoded(given.get(_CURRENT), list)
    seen = status.get("currentCPUUtilizationPercentage")
    if current is not None:
        new_status["currentMetrics"] = statuses_as_v2(current)
    elif seen is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": seen}}
        new_status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    else:
        new_status["currentMetrics"] = None
    conditions = _decoded(given.get(_CONDITIONS), list)
    if conditions:
        new_status["conditions"] = conditions
    return {**obj, "metadata": _annotated(obj, _without_ours(obj)), "spec": new_spec, "status": new_status}


def _decoded(text: str | None, type_: type) -> Any:
    try:
        return None if text is None else msgspec.json.decode(text, type=type_)
    except msgspec.DecodeError:
        return None


def _without_ours(obj: Object) -> dict[str, str]:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return {name: value for name, value in annotations.items() if name not in _OURS}


def _annotated(obj: Object, annotations: dict[str, str]) -> Object:
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name != "annotations"}
    return {**metadata, "annotations": annotations} if annotations else metadata


def _condition(condition: Object) -> Object:
    return {name: condition[name] for name in _CONDITION_ORDER if name in condition}


def _behavior_as_internal(behavior: Object) -> Object:
    """As the server's own type prints it: Go's names, and null for what is absent."""
    found: Object = {}
    for name, key in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")):
        rules = behavior.get(key)
        if rules is None:
            found[name] = None
            continue
        found[name] = {go: rules.get(public) for go, public in _RULE_NAMES}
        if rules.get("policies") is not None:
            found[name]["Policies"] = [
                {go: entry.get(public) for go, public in _POLICY_NAMES} for entry in rules["policies"]
            ]
    return found


def _behavior_as_v2(behavior: Object) -> Object:
    found: Object = {}
    for name, key in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")):
        rules = behavior.get(name)
        if rules is None:
            continue
        found[key] = {public: rules[go] for go, public in _RULE_NAMES if rules.get(go) is not None}
        if rules.get("Policies") is not None:
            found[key]["policies"] = [
                {public: entry[go] for go, public in _POLICY_NAMES} for entry in rules["Policies"]
            ]
    return found
