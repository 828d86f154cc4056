"""How gangs fared: how long each waited as a whole, and what incomplete ones held meanwhile. Pure."""

from collections.abc import Iterator, Sequence

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.lives import Lives, PodLife
from kubedyno.measure.quality.spans import Span
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import distribution, single

_TAKEN = frozenset({"evicted", "failed"})
"""Ends that leave a gang with fewer than it had; who finished or was deleted on purpose is not missed."""


def gangs_of(lives: Lives) -> dict[str, list[PodLife]]:
    """The pods of each gang by its key; gangs of which one pod may run alone are none."""
    found: dict[str, list[PodLife]] = {}
    for pod in lives.pods:
        if pod.group is not None and pod.least > 1:
            found.setdefault(pod.group, []).append(pod)
    return found


def ready_ns(pods: Sequence[PodLife]) -> int | None:
    """When a gang could start at the earliest: so many pods as it needs were there; None: they never were."""
    least = pods[0].least
    created = sorted(pod.created_ns for pod in pods)
    return created[least - 1] if len(created) >= least else None


def complete_ns(pods: Sequence[PodLife]) -> int | None:
    """When a gang first had so many pods bound at a time as it needs; None: never."""
    count = 0
    for moment_ns, change in _changes(pods):
        count += change
        if count >= pods[0].least:
            return moment_ns
    return None


def _changes(pods: Sequence[PodLife]) -> list[tuple[int, int]]:
    """When members came and were taken away; at one moment those who go, go first."""
    changes = []
    for pod in pods:
        if pod.bound_ns is None:
            continue
        changes.append((pod.bound_ns, 1))
        if pod.ended_ns is not None and pod.end in _TAKEN:
            changes.append((pod.ended_ns, -1))
    return sorted(changes)


def gang_quality(lives: Lives, span: Span, *, lag_s: float) -> Iterator[Measurement]:
    """Latency of each gang, and GPU-seconds that gangs held while they were incomplete; nothing without gangs."""
    gangs = gangs_of(lives)
    if not gangs:
        return
    latencies = []
    for pods in gangs.values():
        ready, complete = ready_ns(pods), complete_ns(pods)
        if ready is not None and complete is not None and span.since_ns <= complete <= span.until_ns:
            latencies.append(max(0, complete - max(ready, span.since_ns)) / NS_PER_S)
    latency = distribution("gang latency", "s", latencies, error=lag_s)
    if latency is not None:
        yield latency
    held = {key: held_incomplete(pods, span) for key, pods in gangs.items()}
    lagging = lag_s * sum(pod.gpus for key, pods in gangs.items() if held[key] for pod in pods)
    yield single("GPU-seconds held by incomplete gangs", "GPU s", sum(held.values()), error=lagging)


def held_incomplete(pods: Sequence[PodLife], span: Span) -> float:
    """GPU-seconds within the span during which a gang held GPUs but had fewer members than it needs."""
    steps: list[tuple[int, int, float]] = []  # when, change of members, change of GPUs held
    for pod in pods:
        if pod.bound_ns is None:
            continue
        steps.append((pod.bound_ns, 1, pod.gpus))
        if pod.ended_ns is not None:
            steps.append((pod.ended_ns, -1 if pod.end in _TAKEN else 0, -pod.gpus))
    steps.sort()
    seconds, members, gpus, before_ns = 0.0, 0, 0.0, span.since_ns
    for moment_ns, change, change_of_gpus in [*steps, (span.until_ns, 0, 0.0)]:
        until_ns = min(max(moment_ns, span.since_ns), span.until_ns)
        if members < pods[0].least and gpus > 0:
            seconds += gpus * (until_ns - before_ns) / NS_PER_S
        before_ns = until_ns
        members += change
        gpus += change_of_gpus
    return seconds
