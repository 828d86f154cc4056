"""Rules of the group apps: Deployment, ReplicaSet, StatefulSet, DaemonSet and ControllerRevision."""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.rules.internals import (
    immutable,
    internal,
    invalid_printed,
    label_selector,
    not_supported_printed,
)
from kubedyno.kinds.rules.numbers import (
    MORE_THAN_REPLICAS,
    count_or_percent,
    not_above,
    not_above_all,
    not_decremented,
    not_negative,
    share,
)
from kubedyno.kinds.rules.pod_templates import pod_template_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import compiled, has_impossible_value, is_empty, selector_problems
from kubedyno.kinds.rules.stateful_sets import (
    stateful_set_problems,
    stateful_set_status_problems,
    stateful_set_update_problems,
)
from kubedyno.kinds.rules.workload_templates import (
    long_running_problems,
    required_selector_problems,
    template_labels,
    unmatched_labels,
)
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, required


def _replicated_template(spec: Object) -> Iterator[Problem]:
    """The selector and the template of a ReplicaSet or Deployment; both are told of as ReplicaSets."""
    yield from required_selector_problems(spec, "deployment")
    selector = spec.get("selector")
    matcher = compiled(selector)
    if matcher is None:
        yield invalid_printed("spec.selector", label_selector(selector or {}), "invalid label selector")
        return
    # An absent selector compiles to one that selects nothing, which is not empty.
    if (selector is None or not is_empty(selector)) and not matcher.matches(template_labels(spec)):
        yield unmatched_labels(spec)
    yield from pod_template_problems(spec.get("template") or {}, "spec.template")
    yield from long_running_problems(spec, "ReplicaSet")


# --- Deployment -----------------------------------------------------------------------------------------------


def _deployment(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    yield from not_negative(spec, "spec", "replicas")
    yield from _replicated_template(spec)
    yield from _deployment_strategy(spec.get("strategy") or {})
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Object) -> Iterator[Problem]:
    path = "spec.strategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "Recreate":
            if rolling is not None:
                yield forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            if rolling is None:
                yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
            else:
                yield from _deployment_rolling_update(rolling, f"{path}.rollingUpdate")
        case _:
            printed = internal("apps.DeploymentStrategy", strategy)
            yield not_supported_printed(path, printed, "Recreate", "RollingUpdate")


def _deployment_rolling_update(rolling: Object, path: str) -> Iterator[Problem]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from count_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from count_or_percent(surge, f"{path}.maxSurge")
    if share(unavailable) == 0 and share(surge) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from not_above_all(unavailable, f"{path}.maxUnavailable")


def _deployment_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _deployment(new)
    yield from _same_selector(new, old)


def _same_selector(new: Object, old: Object) -> list[Problem]:
    return immutable(
        "spec.selector",
        (new.get("spec") or {}).get("selector"),
        (old.get("spec") or {}).get("selector"),
        "LabelSelector",
    )


def _deployment_status(new: Object, old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from not_negative(
        status,
        "status",
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    yield from not_above(status, "status", "replicas", MORE_THAN_REPLICAS, *counts)
    yield from not_above(status, "status", "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")
    yield from not_decremented(status, old.get("status") or {}, "status", "collisionCount")


# --- ReplicaSet -----------------------------------------------------------------------------------------------


def _replica_set(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _replicated_template(spec)


def _replica_set_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _replica_set(new)
    yield from _same_selector(new, old)


def _replica_set_status(new: Object, _old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from not_negative(
        status,
        "status",
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    )
    counts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from not_above(status, "status", "replicas", MORE_THAN_REPLICAS, *counts)
    yield from not_above(status, "status", "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")


# --- DaemonSet ------------------------------------------------------------------------------------------------


def _daemon_set(obj: Object) -> Iterator[Problem]:
    return _daemon_set_spec(obj.get("spec") or {}, any_value=False)


def _daemon_set_spec(spec: Object, *, any_value: bool) -> Iterator[Problem]:
    selector = spec.get("selector")
    yield from selector_problems(selector, "spec.selector", any_value=any_value)
    matcher = compiled(selector)
    if matcher is not None and not matcher.matches(template_labels(spec)):
        yield unmatched_labels(spec)
    if selector is not None and is_empty(selector):
        yield invalid_printed("spec.selector", "{}", "empty selector is invalid for daemonset")
    yield from pod_template_problems(spec.get("template") or {}, "spec.template")
    yield from long_running_problems(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds")
    yield from _daemon_set_strategy(spec.get("updateStrategy") or {})
    yield from not_negative(spec, "spec", "revisionHistoryLimit")


def _daemon_set_strategy(strategy: Object) -> Iterator[Problem]:
    path = "spec.updateStrategy"
    match strategy.get("type", ""):
        case "OnDelete":
            return
        case "RollingUpdate":
            if strategy.get("rollingUpdate") is None:
                yield required(f"{path}.rollingUpdate")
            else:
                yield from _daemon_set_rolling_update(strategy["rollingUpdate"], f"{path}.rollingUpdate")
        case _:
            printed = internal("apps.DaemonSetUpdateStrategy", strategy)
            yield not_supported_printed(path, printed, "RollingUpdate", "OnDelete")


def _daemon_set_rolling_update(rolling: Object, path: str) -> Iterator[Problem]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from count_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from count_or_percent(surge, f"{path}.maxSurge")
    yield from not_above_all(unavailable, f"{path}.maxUnavailable")
    yield from not_above_all(surge, f"{path}.maxSurge")
    if share(unavailable) != 0 and share(surge) != 0:
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif share(unavailable) == 0 and share(surge) == 0:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _daemon_set_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from _same_selector(new, old)
    before = (old.get("spec") or {}).get("selector")
    yield from _daemon_set_spec(new.get("spec") or {}, any_value=has_impossible_value(before))


def _daemon_set_status(new: Object, old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from not_negative(
        status,
        "status",
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    yield from not_decremented(status, old.get("status") or {}, "status", "collisionCount")


# --- ControllerRevision ---------------------------------------------------------------------------------------


def _controller_revision(obj: Object) -> Iterator[Problem]:
    yield from not_negative(obj, "", "revision")
    data: Any = obj.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def _controller_revision_update(new: Object, old: Object) -> Iterator[Problem]:
    yield from not_negative(new, "", "revision")
    yield from immutable("data", new.get("data"), old.get("data"))


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("apps", "Deployment"): Rules(create=_deployment, update=_deployment_update, update_status=_deployment_status),
    ("apps", "ReplicaSet"): Rules(create=_replica_set, update=_replica_set_update, update_status=_replica_set_status),
    ("apps", "StatefulSet"): Rules(
        create=stateful_set_problems,
        update=stateful_set_update_problems,
        update_status=stateful_set_status_problems,
    ),
    ("apps", "DaemonSet"): Rules(create=_daemon_set, update=_daemon_set_update, update_status=_daemon_set_status),
    ("apps", "ControllerRevision"): Rules(create=_controller_revision, update=_controller_revision_update),
}
"""By group and kind."""
