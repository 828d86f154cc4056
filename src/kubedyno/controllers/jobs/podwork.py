"""Which pods a Job that goes on wants: bodies to create, victims to delete, or when to ask again."""

from collections.abc import Sequence

import msgspec

from kubedyno.controllers.jobs import backoff, indexes
from kubedyno.controllers.jobs.ledger import TRACKING, Ledger
from kubedyno.controllers.podcontrol import indexed_generate_name, pod_of_template
from kubedyno.controllers.podfacts import is_terminating, removal_order
from kubedyno.kube.codec import Object

AT_ONCE = 500
"""Pods that one sync creates or deletes at most, as in Kubernetes."""

_ENV = "JOB_COMPLETION_INDEX"


class PodWork(msgspec.Struct, frozen=True):
    """Pods to delete (their finalizers go first, they are not counted), or to create; `wait_s` until then."""

    delete: Sequence[Object] = ()
    create: Sequence[Object] = ()
    wait_s: float = 0.0


def wanted(ledger: Ledger) -> PodWork:
    """What to do about the pods of a Job that is not over."""
    if ledger.is_suspended:
        return PodWork(delete=_victims(ledger, ledger.active))
    parallelism: int = ledger.spec.get("parallelism", 1)
    if ledger.completions is None:
        want = ledger.active if ledger.succeeded > 0 else parallelism
    else:
        want = max(0, min(parallelism, ledger.completions - ledger.succeeded))
    victims = _victims(ledger, max(0, ledger.active - want))[:AT_ONCE]
    if victims:
        return PodWork(delete=victims)
    missing = want - ledger.active - (ledger.terminating if ledger.replaces_failed_only else 0)
    return _creations(ledger, min(missing, AT_ONCE)) if missing > 0 else PodWork()


def _creations(ledger: Ledger, count: int) -> PodWork:
    if ledger.limit_per_index is None:
        wait_s = backoff.remaining_s(ledger.failures, ledger.now_ns)
        if wait_s > 0:
            return PodWork(wait_s=wait_s)
    if not ledger.is_indexed:
        return PodWork(create=[_body(ledger)] * count)
    chosen = indexes.first_free(_taken(ledger), count, ledger.completions or 0)
    if ledger.limit_per_index is not None:
        waits = [backoff.remaining_of_index_s(ledger.delayed.get(index), ledger.now_ns) for index in chosen]
        now = [index for index, wait_s in zip(chosen, waits, strict=True) if wait_s == 0]
        if not now and waits:
            return PodWork(wait_s=min(waits))
        chosen = now
    return PodWork(create=[_indexed_body(ledger, index) for index in chosen])


def _taken(ledger: Ledger) -> set[int]:
    taken = ledger.succeeded_indexes | indexes.of_pods(ledger.active_pods) | (ledger.failed_indexes or set())
    if ledger.replaces_failed_only:
        taken |= indexes.of_pods(filter(is_terminating, ledger.pods))
    return taken


def _victims(ledger: Ledger, at_least: int) -> list[Object]:
    """The pods to delete: duplicates of an index and pods without a proper one always, then the least missed."""
    victims: list[Object] = []
    left = ledger.active_pods
    if ledger.is_indexed:
        by_index: dict[int, list[Object]] = {}
        for pod in ledger.active_pods:
            index = ledger.index_of(pod)
            if index is None:
                victims.append(pod)
            else:
                by_index.setdefault(index, []).append(pod)
        left = []
        for index in sorted(by_index):
            *duplicates, kept = sorted(by_index[index], key=removal_order)
            victims += duplicates
            left.append(kept)
    if len(victims) < at_least:
        victims += sorted(left, key=removal_order)[: at_least - len(victims)]
    return victims


def _body(ledger: Ledger) -> Object:
    pod = pod_of_template(ledger.job, ledger.spec["template"])
    finalizers = pod["metadata"].setdefault("finalizers", [])
    if TRACKING not in finalizers:
        finalizers.append(TRACKING)
    return pod


def _indexed_body(ledger: Ledger, index: int) -> Object:
    pod = _body(ledger)
    name, metadata, spec = ledger.job["metadata"]["name"], pod["metadata"], pod["spec"]
    metadata["generateName"] = indexed_generate_name(name, index)
    annotations = metadata.setdefault("annotations", {})
    annotations[indexes.COMPLETION_INDEX] = str(index)
    metadata.setdefault("labels", {})[indexes.COMPLETION_INDEX] = str(index)
    spec["hostname"] = f"{name}-{index}"
    for container in [*(spec.get("initContainers") or ()), *spec["containers"]]:
        env = container.setdefault("env", [])
        if all(entry["name"] != _ENV for entry in env):
            path = f"metadata.labels['{indexes.COMPLETION_INDEX}']"
            env.append({"name": _ENV, "valueFrom": {"fieldRef": {"fieldPath": path}}})
    if ledger.limit_per_index is not None:
        annotations.update(_failure_counts(ledger, ledger.delayed.get(index)))
    return pod


def _failure_counts(ledger: Ledger, replaced: Object | None) -> dict[str, str]:
    """The failures of an index live in the annotations of its pods: each successor carries one more."""
    if replaced is None:
        return {indexes.FAILURE_COUNT: "0"}
    counts = ledger.ruling(replaced).counts
    failures = indexes.failures(replaced) + counts
    ignored = indexes.ignored_failures(replaced) + (not counts)
    found = {indexes.FAILURE_COUNT: str(failures)}
    if ignored > 0:
        found[indexes.IGNORED_FAILURE_COUNT] = str(ignored)
    return found
