"""Pods: a fresh status, gates told as a condition, selectors that take labels over, the three ways to change one."""

from collections.abc import Mapping
from typing import Any

from kubedyno.kinds.strategies.keeping import bump_generation, keep
from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kinds.strategies.strategy import KEPT_FOR_STATUS, Occasion, Strategy
from kubedyno.kube.codec import Object

_GATED = "Scheduling is blocked due to non-empty scheduling gates"
_OPERATORS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def set_condition(status: Object, type_: str, now: str, /, **said: str) -> None:
    """Have a condition say this, in place; it keeps its transition time while its `status` stays.

    The conditions before are not changed: their list may belong to a stored object.
    """
    conditions: list[Object] = list(status.get("conditions") or ())
    place = next((index for index, entry in enumerate(conditions) if entry.get("type") == type_), len(conditions))
    condition = {"type": type_, **said, "lastProbeTime": None, "lastTransitionTime": now}
    if place < len(conditions):
        if conditions[place].get("status") == said["status"]:
            condition["lastTransitionTime"] = conditions[place].get("lastTransitionTime")
        conditions[place] = condition
    else:
        conditions.append(condition)
    status["conditions"] = conditions


def _create(pod: Object, occasion: Occasion) -> None:
    spec = pod.get("spec") or {}
    status: Object = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        set_condition(status, "PodScheduled", occasion.now, status="False", reason="SchedulingGated", message=_GATED)
    status["qosClass"] = qos_class(pod)
    pod["status"] = status
    if "topologySpreadConstraints" in spec or "affinity" in spec:
        pod["spec"] = _with_labels_taken_over(spec, pod["metadata"].get("labels") or {})


def _with_labels_taken_over(spec: Object, labels: Mapping[str, str]) -> Object:
    """The spec in which `matchLabelKeys` became requirements on the values that the pod's own labels have."""
    spec = dict(spec)
    if "topologySpreadConstraints" in spec:
        spec["topologySpreadConstraints"] = [_narrowed(each, labels) for each in spec["topologySpreadConstraints"]]
    if "affinity" in spec:
        affinity = dict(spec["affinity"])
        for side in ("podAffinity", "podAntiAffinity"):
            if side in affinity:
                affinity[side] = {strength: _narrowed_all(terms, labels) for strength, terms in affinity[side].items()}
        spec["affinity"] = affinity
    return spec


def _narrowed_all(terms: list[Object], labels: Mapping[str, str]) -> list[Object]:
    return [
        {**term, "podAffinityTerm": _narrowed(term["podAffinityTerm"], labels)}
        if "podAffinityTerm" in term
        else _narrowed(term, labels)
        for term in terms
    ]


def _narrowed(term: Object, labels: Mapping[str, str]) -> Object:
    """The term with more requirements; one without a selector matches nothing and stays as it is."""
    if "labelSelector" not in term:
        return term
    selector = term["labelSelector"]
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for keys, operator in _OPERATORS
        for key in term.get(keys) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}


def _update_status(new: Object, old: Object, _occasion: Occasion) -> None:
    before: Object = old.get("status") or {}
    status: Object = dict(new.get("status") or {})
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and before.get(field):
            status[field] = before[field]
    if status.get("conditions"):
        status["conditions"] = _observed(status["conditions"], before.get("conditions") or [])
    new["status"] = status


def _observed(conditions: list[Object], before: list[Object]) -> list[Object]:
    """The conditions, with the generation that each was last said of where it does not tell."""
    known: dict[str, list[int]] = {}
    for entry in before:
        known.setdefault(entry["type"], []).append(entry.get("observedGeneration", 0))
    observed = []
    for entry in conditions:
        generations = known.get(entry["type"])
        generation = generations.pop(0) if generations else 0
        if generation and not entry.get("observedGeneration"):
            entry = {**entry, "observedGeneration": generation}  # noqa: PLW2901 - the entry as it is to be
        observed.append(entry)
    return observed


PODS = Strategy(on_create=_create, kept_by_status=("ownerReferences", "deletionTimestamp"), on_status=_update_status)


def update_ephemeral_containers(new: Object, old: Object) -> None:
    """Of a PUT to `ephemeralcontainers`, keep those containers only."""
    added: Any = (new.get("spec") or {}).get("ephemeralContainers")
    new["spec"] = (
        {**old["spec"], "ephemeralContainers": added} if added else _without(old["spec"], "ephemeralContainers")
    )
    _finish_subresource(new, old)


def update_resize(new: Object, old: Object) -> None:
    """Of a PUT to `resize`, keep resources and resize policies only.

    Containers that came, went or changed places are left as they are, for the rules to refuse.
    """
    wanted, before = new.get("spec") or {}, old["spec"]
    groups = ("containers", "initContainers")
    if any(len(wanted.get(group) or ()) != len(before.get(group) or ()) for group in groups):
        bump_generation(new, old, ("spec",))
        return
    spec = dict(before)
    keep(spec, wanted, "resources")
    for group in groups:
        if wanted.get(group):
            spec[group] = _resized(wanted[group], before[group])
    new["spec"] = spec
    _finish_subresource(new, old)


def _resized(wanted: list[Object], before: list[Object]) -> list[Object]:
    resized = []
    for container, old in zip(wanted, before, strict=True):
        if container["name"] != old["name"]:
            return wanted
        merged = dict(old)
        keep(merged, container, "resources")
        keep(merged, container, "resizePolicy")
        resized.append(merged)
    return resized


def _finish_subresource(new: Object, old: Object) -> None:
    keep(new, old, "status")
    for field in KEPT_FOR_STATUS:
        keep(new["metadata"], old["metadata"], field)
    bump_generation(new, old, ("spec",))


def _without(spec: Object, field: str) -> Object:
    return {name: value for name, value in spec.items() if name != field}
