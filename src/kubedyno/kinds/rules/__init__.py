"""What the API server says of objects that it can read but does not accept: the rules of every kind.

Objects are given normalised and defaulted, after strategies and mutating admission have had them.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from kubedyno.kinds.rules import (
    apps,
    autoscaling,
    batch,
    configs,
    coordination,
    devices,
    endpoints,
    events,
    limit_ranges,
    metadata,
    namespaces,
    networking,
    nodes,
    persistent_volumes,
    pod_templates,
    pods,
    policy,
    quotas,
    rbac,
    replication,
    runtimes,
    scheduling,
    services,
    storage,
    volume_claims,
    webhooks,
)
from kubedyno.kinds.rules.metadata_steps import CHANGE, STATE, Steps, steps_of
from kubedyno.kinds.rules.rules import Check, Comparison, Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import BUILT_IN, Resource

_MODULES: Final[tuple[ModuleType, ...]] = (
    apps, autoscaling, batch, configs, coordination, devices, endpoints, events, limit_ranges, namespaces, networking,
    nodes, persistent_volumes, pod_templates, pods, policy, quotas, rbac, replication, runtimes, scheduling, services,
    storage, volume_claims, webhooks,
)  # fmt: skip


def _merged() -> dict[tuple[str, str], Rules]:
    rules: dict[tuple[str, str], Rules] = {}
    for module in _MODULES:
        rules.update(module.RULES)
    return rules


_RULES: Final = _merged()
_SUBRESOURCES: Final[dict[tuple[str, str, str], Comparison]] = {**pods.SUBRESOURCES, **namespaces.SUBRESOURCES}
_KNOWN: Final = frozenset(BUILT_IN)


def created(obj: Object, resource: Resource, *, known_spec: bool = False) -> list[Problem]:
    """What is wrong with a new object, in the order in which the server tells it.

    `known_spec` is for pods: the same spec was found right before, so only the rest is looked at.
    """
    rules, steps = _RULES.get((resource.group, resource.kind)), _steps(resource)
    check: Check | None = rules.create if rules else None
    problems: list[Problem] = []
    for step in steps.create:
        if step == STATE:
            problems += _state(obj, resource, steps)
        elif _is_pod(resource):
            problems += pods.create_problems(obj, known_spec=known_spec)
        elif check is not None:
            problems += check(obj)
    # What every kind asks for is asked only of what the kind itself has accepted.
    return problems or list(metadata.generic_problems(obj, resource))


def updated(
    new: Object, old: Object, resource: Resource, subresource: str = "", *, known_spec: bool = False
) -> list[Problem]:
    """What is wrong with an update from the old to the new state, in the order in which the server tells it.

    `subresource` is empty for the object itself, else `status`, `finalize`, `ephemeralcontainers`, `resize`, ...
    """
    problems = [*metadata.generic_problems(new, resource), *metadata.change_problems(new, old)]
    steps = _steps(resource)
    for step in steps.update if not subresource else steps.update_status:
        if step == STATE:
            problems += _state(new, resource, steps)
        elif step == CHANGE:
            problems += metadata.change_problems(new, old)
            problems += metadata.finalizer_problems(new) if steps.standard_finalizers else ()
        elif _is_pod(resource) and not subresource:
            problems += pods.update_problems(new, old, known_spec=known_spec)
        elif (compare := _comparison(resource, subresource)) is not None:
            problems += compare(new, old)
    return problems


def _comparison(resource: Resource, subresource: str) -> Comparison | None:
    rules = _RULES.get((resource.group, resource.kind))
    if subresource in {"", "status"}:
        return None if rules is None else rules.update_status if subresource else rules.update
    return _SUBRESOURCES.get((resource.group, resource.kind, subresource))


def _steps(resource: Resource) -> Steps:
    return steps_of(resource.group, resource.kind, built_in=resource in _KNOWN)


def _is_pod(resource: Resource) -> bool:
    return resource.kind == "Pod" and not resource.group


def _state(obj: Object, resource: Resource, steps: Steps) -> Iterator[Problem]:
    yield from metadata.state_problems(obj, resource)
    if steps.standard_finalizers:
        yield from metadata.finalizer_problems(obj)
