"""Rules of StatefulSets."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.fields import annotation_problems, formatted, label_problems
from kubedyno.kinds.rules.internals import internal, invalid_printed, label_selector
from kubedyno.kinds.rules.numbers import (
    MORE_THAN_REPLICAS,
    count_or_percent,
    not_above,
    not_above_all,
    not_decremented,
    not_negative,
    share,
)
from kubedyno.kinds.rules.pod_annotations import annotation_state_problems
from kubedyno.kinds.rules.pod_templates import pod_template_problems
from kubedyno.kinds.rules.selectors import compiled, is_empty
from kubedyno.kinds.rules.texts import dns1123_label
from kubedyno.kinds.rules.workload_templates import (
    long_running_problems,
    required_selector_problems,
    template_labels,
    unmatched_labels,
)
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

_MUTABLE: Final = frozenset(
    {
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    }
)


def stateful_set_problems(obj: Object) -> Iterator[Problem]:
    """What is wrong with a new one."""
    return _stateful_set_spec(obj.get("spec") or {}, is_new=True)


def _stateful_set_spec(spec: Object, *, is_new: bool) -> Iterator[Problem]:
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        yield required("spec.podManagementPolicy")
    elif policy not in {"OrderedReady", "Parallel"}:
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for name in ("whenDeleted", "whenScaled"):
            if retention.get(name, "") not in {"Retain", "Delete"}:
                path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
                yield not_supported(path, retention.get(name, ""), ["Retain", "Delete"])
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from not_negative(spec.get("ordinals") or {}, "spec.ordinals", "start")
    if is_new and spec.get("serviceName"):
        yield from formatted(spec["serviceName"], "spec.serviceName", dns1123_label)
    yield from required_selector_problems(spec, "statefulset")
    yield from _stateful_set_template(spec)
    yield from long_running_problems(spec, "StatefulSet")


def _stateful_set_strategy(strategy: Object) -> Iterator[Problem]:
    path = "spec.updateStrategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "":
            yield required(path)
        case "OnDelete":
            if rolling is not None:
                printed = internal("apps.RollingUpdateStatefulSetStrategy", rolling)
                yield invalid_printed(
                    f"{path}.rollingUpdate", printed, "only allowed for updateStrategy 'RollingUpdate'"
                )
        case "RollingUpdate":
            if rolling is not None:
                yield from _stateful_set_rolling_update(rolling, f"{path}.rollingUpdate")
        case _:
            printed = internal("apps.StatefulSetUpdateStrategy", strategy)
            yield invalid_printed(path, printed, "must be 'RollingUpdate' or 'OnDelete'")


def _stateful_set_rolling_update(rolling: Object, path: str) -> Iterator[Problem]:
    yield from not_negative(rolling, path, "partition")
    unavailable = rolling.get("maxUnavailable")
    if unavailable is None:
        return
    yield from count_or_percent(unavailable, f"{path}.maxUnavailable")
    if share(unavailable) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "cannot be 0")
    yield from not_above_all(unavailable, f"{path}.maxUnavailable")


def _stateful_set_template(spec: Object) -> Iterator[Problem]:
    selector = spec.get("selector")
    matcher = compiled(selector)
    if matcher is None:
        yield invalid_printed("spec.selector", label_selector(selector or {}), "")
        return
    if (selector is None or not is_empty(selector)) and not matcher.matches(template_labels(spec)):
        yield unmatched_labels(spec)
    yield from pod_template_problems(_as_the_controller_fills_it(spec), "spec.template")
    # The server goes over these once more than over those of other kinds.
    yield from label_problems(template_labels(spec), "spec.template.labels")
    template = spec.get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    yield from annotation_problems(annotations, "spec.template.annotations")
    yield from annotation_state_problems(annotations, template.get("spec") or {}, "spec.template.annotations")


def _as_the_controller_fills_it(spec: Object) -> Object:
    """The template with the volumes of the claim templates, and without the names that the controller overwrites."""
    template = spec.get("template") or {}
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in {"subdomain", "hostname"}}
    claims = {(entry.get("metadata") or {}).get("name", "") for entry in spec.get("volumeClaimTemplates") or ()}
    if claims:
        own = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
        pod["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)] + own
    return {**template, "spec": pod}


def stateful_set_update_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with a changed one."""
    yield from _stateful_set_spec(new.get("spec") or {}, is_new=False)
    if _fixed_part(new) != _fixed_part(old):
        yield forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


def _fixed_part(obj: Object) -> Object:
    return {name: value for name, value in (obj.get("spec") or {}).items() if name not in _MUTABLE}


def stateful_set_status_problems(new: Object, old: Object) -> Iterator[Problem]:
    """What is wrong with a new status."""
    status = new.get("status") or {}
    counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from not_negative(status, "status", "replicas", *counts, "observedGeneration", "collisionCount")
    yield from not_above(status, "status", "replicas", MORE_THAN_REPLICAS, *counts)
    yield from not_above(
        status, "status", "readyReplicas", "cannot be greater than status.readyReplicas", "availableReplicas"
    )
    yield from not_decremented(status, old.get("status") or {}, "status", "collisionCount")
