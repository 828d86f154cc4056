"""What evictions cost and what they brought, and how soon the hopeless were told. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.lives import Lives, PodLife
from kubedyno.measure.quality.spans import Span
from kubedyno.measure.records import Measurement
from kubedyno.measure.statistics import distribution, single


def eviction_quality(lives: Lives, span: Span) -> Iterator[Measurement]:
    """Evicted pods, evictions for each GPU that somebody else then got, and GPUs that nobody took; none: nothing.

    A GPU counts as reclaimed when a pod of another workload was bound to the victim's node after the eviction.
    """
    victims = [
        pod
        for pod in lives.pods
        if pod.end == "evicted" and pod.ended_ns is not None and span.since_ns <= pod.ended_ns <= span.until_ns
    ]
    if not victims:
        return
    yield single("evicted pods", "pods", float(len(victims)))
    evicted = sum(pod.gpus for pod in victims)
    got = reclaimed_gpus(lives, victims)
    if got:
        yield single("evictions per reclaimed GPU", "pods/GPU", len(victims) / got)
    if evicted:
        yield single("GPUs evicted for nothing", "GPUs", evicted - got)


def reclaimed_gpus(lives: Lives, victims: list[PodLife]) -> float:
    """How many of the victims' GPUs pods of other workloads got, node by node, in the order of time."""
    freed: defaultdict[str, list[PodLife]] = defaultdict(list)
    for victim in victims:
        if victim.node is not None:
            freed[victim.node].append(victim)
    taken = 0.0
    for node, pods in _bound_by_node(lives, freed).items():
        waiting = sorted(freed[node], key=lambda pod: pod.ended_ns or 0)
        left = [victim.gpus for victim in waiting]
        for pod in pods:
            wants = pod.gpus
            for place, victim in enumerate(waiting):
                if (victim.ended_ns or 0) > (pod.bound_ns or 0):
                    break
                if wants and left[place] and not _is_same(victim, pod):
                    share = min(wants, left[place])
                    left[place] -= share
                    wants -= share
                    taken += share
    return taken


def _is_same(victim: PodLife, pod: PodLife) -> bool:
    """Whether a pod takes the victim's place in the same workload."""
    if victim.workload is not None or pod.workload is not None:
        return victim.workload == pod.workload
    return victim.group is not None and victim.group == pod.group


def _bound_by_node(lives: Lives, nodes: defaultdict[str, list[PodLife]]) -> dict[str, list[PodLife]]:
    """Pods that were bound to these nodes, in the order of their binding."""
    found: dict[str, list[PodLife]] = {}
    for pod in lives.pods:
        if pod.node in nodes and pod.bound_ns is not None and pod.node is not None and pod.gpus:
            found.setdefault(pod.node, []).append(pod)
    for pods in found.values():
        pods.sort(key=lambda pod: pod.bound_ns or 0)
    return found


def hopelessness(lives: Lives, *, lag_s: float) -> Iterator[Measurement]:
    """How long it took until the scheduler said that a gang or a lone pod fits nowhere; nothing if it never did."""
    created: dict[str, int] = {}
    declared: dict[str, int] = {}
    for pod in lives.pods:
        whom = pod.group or pod.uid
        if pod.unschedulable_ns is not None:
            declared[whom] = min(pod.unschedulable_ns, declared.get(whom, pod.unschedulable_ns))
            created[whom] = min(pod.created_ns, created.get(whom, pod.created_ns))
    waits = ((declared[whom] - created[whom]) / NS_PER_S for whom in declared)
    found = distribution("time to declare unschedulable", "s", waits, error=lag_s)
    if found is not None:
        yield found
