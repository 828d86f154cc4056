"""Nobody is evicted who has the right to stay."""

from collections.abc import Iterator

from kubedyno.measure.invariants.departures import Departure
from kubedyno.measure.invariants.facts import EvictionFacts, GroupFacts, PodFacts
from kubedyno.measure.invariants.ledger import Path
from kubedyno.measure.invariants.reading import API_GROUPS
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import World

_ENDING = "stalegangeviction"
"""The end of a gang that lost pods: nobody gains by it."""


class VictimWithRight(Rule):
    """Judged by who the scheduler says it made room for. A victim of nobody in particular is only looked at for itself.

    Queues are compared as KAI does, where their ways to the root part: the victim's queue there must have been beyond
    what it deserves in some resource.
    """

    name = "victim with a right to stay"
    meaning = (
        "Nobody is evicted who is not preemptible, whose queue has no more than it deserves (by another queue), "
        "or by a workload of the same queue whose priority is not higher."
    )

    def departed(self, world: World, departure: Departure) -> Iterator[Breach]:
        """Look at what the evictor may do."""
        told = departure.eviction
        if departure.cause != "evicted" or departure.pod.node is None:
            return
        if told is not None and told.action == _ENDING:
            return
        why = _right(world, departure, told)
        if why:
            yield Breach(
                departure.pod.title, departure.pod.node, f"the pod was evicted{_by(told)}: {why}", at_ns=departure.at_ns
            )


def _right(world: World, departure: Departure, told: EvictionFacts | None) -> str:
    """Why the pod might stay; empty: it had no such right."""
    pod = departure.pod
    if departure.fixed:
        return f"it is not preemptible, its priority is {departure.priority}"
    evictor = _evictor(world, told) if told is not None and told.action != "consolidation" else None
    if evictor is None:
        return ""
    priority, queue = evictor
    own = world.queue_of(pod)
    if queue is None or own is None or queue == own:
        is_lower = priority <= departure.priority
        return f"its priority is {departure.priority}, that of its evictor {priority}" if is_lower else ""
    level = parting(world.path(own), world.path(queue))
    if level is not None and not departure.over.get(level, True):
        return f"{departure.figures.get(level, f'queue {level}')} and was not beyond that"
    return ""


def parting(victim: Path, evictor: Path) -> str | None:
    """The queue of the victim, or above it, that has no part in the evictor's; None: there is none."""
    shared = set(evictor)
    return next((queue for queue in reversed(victim) if queue not in shared), None)


def _evictor(world: World, told: EvictionFacts) -> tuple[int, str | None] | None:
    """Priority and queue of whom room was made for; None: nobody knows."""
    group: GroupFacts | None = None
    pod: PodFacts | None = None
    if told.evictor is not None:
        group = next((world.groups[key] for api in API_GROUPS if (key := (api, *told.evictor)) in world.groups), None)
        found = world.pods.get(world.by_key.get(told.evictor, ""))
        pod = found.facts if found is not None else None
    elif told.evictor_uid is not None:
        of_uid = world.group_uids.get(told.evictor_uid)
        group = world.groups.get(of_uid) if of_uid is not None else None
        found = world.pods.get(told.evictor_uid)
        pod = found.facts if found is not None else None
    if group is not None:
        priority = world.priority_of_group(group)
        return (priority, group.queue) if priority is not None else None
    return (world.priority_of(pod), world.queue_of(pod)) if pod is not None else None


def _by(told: EvictionFacts | None) -> str:
    if told is None:
        return ""
    action = f" ({told.action})" if told.action else ""
    if told.evictor is not None:
        return f" for {told.evictor[0]}/{told.evictor[1]}{action}"
    return f" for {told.evictor_uid}{action}" if told.evictor_uid else action
