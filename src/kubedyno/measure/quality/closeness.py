"""Over how many topology domains each gang was spread, against the fewest that would have done. Pure.

The fewest are those of the moment when the gang was complete: what was free then, its own places included. Gangs of
unlike pods are left out: how few domains could hold them is no matter of counting.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from kubedyno.measure.lives import Lives, PodLife
from kubedyno.measure.quality.gangs import complete_ns, gangs_of
from kubedyno.measure.quality.spans import Span
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import distribution

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EPSILON: Final = 1e-6
_NO_DOMAIN: Final = -1


def closeness(lives: Lives, span: Span) -> Iterator[Measurement]:
    """For each level above the node: domains spanned by gangs, and how many more than needed; nothing without gangs."""
    levels = _levels(lives)
    gangs = _alike(gangs_of(lives), span)
    if not levels or not gangs:
        return
    spanned: dict[str, list[float]] = {level: [] for level in levels}
    beyond: dict[str, list[float]] = {level: [] for level in levels}
    names = {node.name: place for place, node in enumerate(lives.nodes)}
    domains = {level: _domains(lives, level) for level in levels}
    for pods, free in _states(lives, gangs, names):
        places = _places(pods, names)
        for level, of_nodes in domains.items():
            least = fewest(free, of_nodes, gpus=pods[0].gpus, pods=len(pods))
            touched = {int(of_nodes[place]) for place in places} - {_NO_DOMAIN}
            if least is not None and touched:
                spanned[level].append(float(len(touched)))
                beyond[level].append(float(len(touched) - least))
    for level in levels:
        for name, samples in ((f"domains spanned, {level}", spanned), (f"domains beyond the fewest, {level}", beyond)):
            found = distribution(name, "domains", samples[level])
            if found is not None:
                yield found


def _levels(lives: Lives) -> list[str]:
    """Levels whose domains hold more than one node."""
    return [
        level
        for level in lives.levels
        if 0 < len({node.labels[level] for node in lives.nodes if level in node.labels}) < len(lives.nodes)
    ]


def _alike(gangs: Mapping[str, Sequence[PodLife]], span: Span) -> list[tuple[int, list[PodLife]]]:
    """Gangs of alike pods that were completed in the span: when, and the pods that were bound by then, in order."""
    found = []
    for pods in gangs.values():
        complete = complete_ns(pods)
        if complete is None or not span.since_ns <= complete <= span.until_ns or len({pod.gpus for pod in pods}) > 1:
            continue
        if pods[0].gpus <= 0:
            continue
        there = [pod for pod in pods if _holds(pod, complete)]
        found.append((complete, there))
    return sorted(found, key=itemgetter(0))


def _holds(pod: PodLife, moment_ns: int) -> bool:
    return pod.bound_ns is not None and pod.bound_ns <= moment_ns and (pod.ended_ns is None or pod.ended_ns > moment_ns)


def _domains(lives: Lives, level: str) -> "NDArray[np.int64]":
    """The number of each node's domain; -1: it is in none."""
    import numpy as np  # noqa: PLC0415 - takes a while to load

    numbers: dict[str, int] = {}
    return np.array(
        [
            numbers.setdefault(node.labels[level], len(numbers)) if level in node.labels else _NO_DOMAIN
            for node in lives.nodes
        ],
        dtype=np.int64,
    )


def _states(
    lives: Lives, gangs: Sequence[tuple[int, list[PodLife]]], names: Mapping[str, int]
) -> Iterator[tuple[list[PodLife], "NDArray[np.float64]"]]:
    """Each gang with the free GPUs of the nodes when it was complete, its own counted as free; one array for all."""
    import numpy as np  # noqa: PLC0415 - takes a while to load

    free = np.zeros(len(lives.nodes))
    changes: list[tuple[int, int, float]] = []
    for place, node in enumerate(lives.nodes):
        changes.append((node.seen_ns, place, node.gpus))
        if node.gone_ns is not None:
            changes.append((node.gone_ns, place, -node.gpus))
    for pod in lives.pods:
        place_of_pod = _place(pod, names)
        if pod.bound_ns is not None and place_of_pod is not None:
            changes.append((pod.bound_ns, place_of_pod, -pod.gpus))
            if pod.ended_ns is not None:
                changes.append((pod.ended_ns, place_of_pod, pod.gpus))
    changes.sort(key=itemgetter(0))
    done = 0
    for moment_ns, pods in gangs:
        while done < len(changes) and changes[done][0] <= moment_ns:
            free[changes[done][1]] += changes[done][2]
            done += 1
        own = _places(pods, names)
        np.add.at(free, own, pods[0].gpus)
        yield pods, free
        np.add.at(free, own, -pods[0].gpus)


def _place(pod: PodLife, names: Mapping[str, int]) -> int | None:
    return names.get(pod.node) if pod.node is not None else None


def _places(pods: Sequence[PodLife], names: Mapping[str, int]) -> list[int]:
    return [place for pod in pods if (place := _place(pod, names)) is not None]


def fewest(free: "NDArray[np.float64]", domains: "NDArray[np.int64]", *, gpus: float, pods: int) -> int | None:
    """The least number of domains that can hold so many alike pods; None: all together cannot."""
    import numpy as np  # noqa: PLC0415 - takes a while to load

    fit = np.floor(np.maximum(free, 0.0) / gpus + _EPSILON)
    inside = domains != _NO_DOMAIN
    places = np.sort(np.bincount(domains[inside], weights=fit[inside]))[::-1]
    needed = int(np.searchsorted(np.cumsum(places), pods, side="left")) + 1
    return needed if needed <= places.size else None
