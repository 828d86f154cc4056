"""How gangs fared, and Jobs of several pods: how long each waited as a whole, what incomplete gangs held. Pure."""

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


def jobs_of(lives: Lives) -> dict[str, list[PodLife]]:
    """The pods of each Job that runs several at a time and whose pods belong to no gang, by its key."""
    found: dict[str, list[PodLife]] = {}
    for pod in lives.pods:
        if pod.job is not None and pod.abreast > 1 and (pod.group is None or pod.least <= 1):
            found.setdefault(pod.job, []).append(pod)
    return found


def complete_ns(pods: Sequence[PodLife]) -> int | None:
    """When a gang first had so many pods bound at a time as it needs; None: never."""
    return _assembled_ns([(pod.bound_ns, pod) for pod in pods], pods[0].least)


def _assembled_ns(arrivals: Sequence[tuple[int | None, PodLife]], wanted: int) -> int | None:
    """When so many pods had first arrived and were not taken away again; None: never."""
    changes = []
    for moment_ns, pod in arrivals:
        if moment_ns is None:
            continue
        changes.append((moment_ns, 1))
        if pod.ended_ns is not None and pod.end in _TAKEN:
            changes.append((pod.ended_ns, -1))
    count = 0
    for moment_ns, change in sorted(changes):  # at one moment those who go, go first
        count += change
        if count >= wanted:
            return moment_ns
    return None


def gang_quality(lives: Lives, span: Span, *, lag_s: float) -> Iterator[Measurement]:
    """Of gangs and of Jobs of several pods how fast they came up; what gangs held while they were incomplete.

    Nothing of what there was none of.
    """
    gangs = gangs_of(lives)
    yield from _coming_up("gang", [(pods, pods[0].least) for pods in gangs.values()], span, lag_s=lag_s)
    yield from _coming_up("Job", [(pods, pods[0].abreast) for pods in jobs_of(lives).values()], span, lag_s=lag_s)
    if not gangs:
        return
    held = {key: held_incomplete(pods, span) for key, pods in gangs.items()}
    lagging = lag_s * sum(pod.gpus for key, pods in gangs.items() if held[key] for pod in pods)
    yield single("GPU-seconds held by incomplete gangs", "GPU s", sum(held.values()), error=lagging)


def _coming_up(
    what: str, sets: Sequence[tuple[Sequence[PodLife], int]], span: Span, *, lag_s: float
) -> Iterator[Measurement]:
    """Of sets of pods, and how many make each whole: until all were bound and running, and first to last binding."""
    latencies, spreads, starts = [], [], []
    for pods, wanted in sets:
        created = sorted(pod.created_ns for pod in pods)
        if len(created) < wanted:
            continue
        ready = max(created[wanted - 1], span.since_ns)
        complete = _assembled_ns([(pod.bound_ns, pod) for pod in pods], wanted)
        if complete is not None and span.since_ns <= complete <= span.until_ns:
            first = min(pod.bound_ns for pod in pods if pod.bound_ns is not None)
            latencies.append(max(0, complete - ready) / NS_PER_S)
            spreads.append((complete - max(first, span.since_ns)) / NS_PER_S)
        running = _assembled_ns([(pod.running_ns, pod) for pod in pods], wanted)
        if running is not None and span.since_ns <= running <= span.until_ns:
            starts.append(max(0, running - ready) / NS_PER_S)
    for name, samples in (("latency", latencies), ("spread", spreads), ("start", starts)):
        made = distribution(f"{what} {name}", "s", samples, error=lag_s)
        if made is not None:
            yield made


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
